"""slabfield untuned beside rivals tuned by cross-validation, on real data: docs/real-data.md.

Run by ``make realdata``; the data are in the folder that SLABFIELD_DATA names. Each method on each
data set is one task, kept on disk when it is done, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import os
import textwrap
from pathlib import Path

from slabfield.reproduce.cache import Piece
from slabfield.reproduce.comparison import SLABFIELD, estimators, score_file
from slabfield.reproduce.scale import SCALES
from slabfield.reproduce.workbench import Workbench
from timing import setting, table

ROOT = Path(__file__).parents[1]
SETS = ("nltcs", "plants", "bnetflix", "dna")
N_TRAIN = 1_000
SEED = 1
PSEUDO = "slabfield on the pseudo-likelihood"


def pieces_of(file: Path, options: argparse.Namespace) -> dict[str, Piece]:
    """Return all methods on one data set; slabfield also on the faster likelihood."""
    length = [("n_draws", "auto"), ("max_draws", options.most_draws)]
    arguments = {
        "file": str(file), "n_train": N_TRAIN, "n_test": options.test_rows, "seed": SEED,
        "settings": length,
    }  # fmt: skip
    pieces = {
        name: Piece(score_file, {**arguments, "method": name}) for name in estimators(SEED, 1)
    }
    fast = {**arguments, "method": SLABFIELD, "settings": [*length, ("likelihood", "pseudo")]}
    return {SLABFIELD: pieces.pop(SLABFIELD), PSEUDO: Piece(score_file, fast), **pieces}


def section(name: str, results: dict[str, dict], shape: tuple[int, int]) -> str:
    rows = []
    for label, found in results.items():
        for k, method in enumerate(found["method"]):
            shown = str(method).replace(SLABFIELD, label) if SLABFIELD in str(method) else method
            note = "" if found["converged"] else " (not converged)"
            likelihood = f"{found['cll'][k]:.3f} ± {found['cll_error'][k]:.3f}"
            rows.append((
                -found["cll"][k], f"{shown}{note}", likelihood, f"{found['pll'][k]:.3f}",
                f"{found['density'][k]:.3f}", f"{found['cpu_seconds'][k]:.1f}",
            ))  # fmt: skip
    head = (
        "method", "conditional log-likelihood", "pseudo-log-likelihood", "density", "CPU seconds"
    )  # fmt: skip
    body = table(head, [row[1:] for row in sorted(rows)])
    return f"## {name}: {shape[1]} columns, {shape[0]:,} test rows\n\n{body}\n"


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--most-draws", type=int, default=500)
    parser.add_argument("--test-rows", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "real-data.md")
    parser.add_argument("--work", type=Path, default=ROOT / "slabfield-realdata")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    folder = os.environ.get("SLABFIELD_DATA")
    if not folder:
        raise SystemExit(
            "The data must be in the folder that SLABFIELD_DATA names, as debd/nltcs.npz and so "
            "on; it is not set. Set it, and run again."
        )
    bench = Workbench(SCALES["paper"], options.work, options.jobs)
    tasks = {
        name: pieces_of(Path(folder) / "debd" / f"{name}.npz", options) for name in options.sets
    }
    bench.finish([piece for some in tasks.values() for piece in some.values()], "real data")
    sections = []
    for name, some in tasks.items():
        results = dict(zip(some, bench.results(list(some.values()), name), strict=True))
        sections.append(section(name, results, shape_of(folder, name, options.test_rows)))
    text = "\n".join([head(options), setting() + "\n", *sections])
    options.out.write_text(text, encoding="utf-8")
    print(text)


def shape_of(folder: str, name: str, most: int) -> tuple[int, int]:
    import numpy as np

    with np.load(Path(folder) / "debd" / f"{name}.npz") as kept:
        n_rows, n_columns = kept["test"].shape
    return min(n_rows, most), n_columns


def head(options: argparse.Namespace) -> str:
    text = (
        f"Made by `make realdata` (`benchmarks/real_data.py`). All methods learn from the first "
        f"{N_TRAIN:,} training rows. slabfield is not tuned; it runs until its four chains have "
        f"converged (`n_draws='auto'`), or have {options.most_draws:,} draws each. The strengths "
        "of the L1 methods are chosen by five-fold cross-validation, and their CPU time has that "
        "in it. Likelihoods are means over test rows, higher is better: of a random group of nine "
        "columns given the others (± a standard error), and of every column given the others, "
        "summed. CPU seconds are of the fit, all chains together."
    )
    return f"# Real data\n\n{textwrap.fill(text, 100, break_on_hyphens=False)}\n"


if __name__ == "__main__":
    main()
