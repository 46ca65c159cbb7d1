"""The pieces of docs/real-data.md on disk, each made by a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from real_tables import SOURCES, read_table
from timing import sampler_version

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
SLABFIELD, PSEUDO = "slabfield", "slabfield on the pseudo-likelihood"
NOT_RUN = "not run"
L1, L1_LEVELS, TREE = "L1 pseudo-likelihood", "L1 multinomial", "Chow-Liu tree"

Found = dict[str, Any]


def fits_of(name: str) -> list[str]:
    """Return how slabfield is fitted to a table."""
    source = SOURCES[name]
    return [SLABFIELD, PSEUDO] if source.is_wide and not source.has_levels else [SLABFIELD]


def rivals_of(name: str) -> list[str]:
    """Return the other methods of a table."""
    return [L1_LEVELS if SOURCES[name].has_levels else L1, TREE]


@dataclass
class Pieces:
    """Finished pieces of work in a folder.

    Attributes
    ----------
    folder : Path
    minutes : float
        Time on one core that a run may take.
    before : str
        Commit whose speed is compared with; empty if it is not known.
    failed : list of str
        Pieces whose process failed.
    """

    folder: Path
    minutes: float
    before: str = ""
    failed: list[str] = field(default_factory=list)

    def fit(self, name: str, method: str) -> Path:
        """File of a run of slabfield."""
        return self._file("fit", name, method, f"{self.minutes:g}min")

    def rival(self, name: str, method: str) -> Path:
        """File of another method."""
        return self._file("rival", name, method)

    def rate(self, name: str, tree: str, seed: int) -> Path:
        """File of a fit whose speed is measured; the tree is "before" or "after"."""
        length = f"{SOURCES[name].rate_draws}draws"
        return self._file("rate", name, tree, self.before, length, f"seed{seed}")

    def long(self, name: str) -> Path:
        """File of a run four times as long."""
        return self._file("long", name, SLABFIELD, f"{self.minutes:g}min")

    def table(self, name: str) -> Path:
        """File of a table's rows."""
        return self.folder / "tables" / f"{name}.npz"

    def _file(self, *parts: str) -> Path:
        name = "-".join([*parts, sampler_version()]).replace(" ", "_")
        return self.folder / f"{name}.json"

    def read(self, file: Path) -> Found | None:
        """Return a finished piece; None if it was not run."""
        return json.loads(file.read_text()) if file.exists() else None

    def make(self, file: Path, kind: str, name: str, source: Path = SOURCE, **job: Any) -> None:
        """Have a process make a piece, unless it is there; note it if the process fails."""
        if file.exists():
            return
        job |= {
            "kind": kind, "file": str(file), "table": str(self.table(name)), "source": str(source),
        }  # fmt: skip
        print(file.stem, flush=True)
        worker = Path(__file__).with_name("real_fits.py")
        done = subprocess.run(
            [sys.executable, str(worker), json.dumps(job)],
            env=os.environ | {"PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode:
            self.failed.append(file.stem)

    def write_tables(self, names: list[str], data: Path) -> list[str]:
        """Write the rows of tables for the processes; return those whose data are there."""
        import numpy as np

        found = []
        for name in names:
            try:
                rows = read_table(name, data)
            except FileNotFoundError as error:
                print(f"{name} is left out: {error}", flush=True)
                continue
            self.table(name).parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(self.table(name), train=rows.train, test=rows.test)
            found.append(name)
        return found
