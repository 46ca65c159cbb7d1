"""slabfield with its defaults on real tables, beside rivals: writes docs/real-data.md.

Run by ``make realdata``; the data are in the folder that SLABFIELD_DATA names. There are four parts
(``--parts``): fits until converged (``fits``), other methods (``rivals``), runs four times as long
(``long``), and the speed of another commit (``rates``, with ``--before COMMIT``). Each fit is one
piece, kept on disk when it is done, so that an interrupted run goes on. The page has all pieces
that are there, and says which were not run; ``--page-only`` writes it without running any.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from real_page import page
from real_pieces import PSEUDO, ROOT, SLABFIELD, SOURCE, Pieces, fits_of, rivals_of
from real_tables import SEED, SOURCES
from two_commits import checkout

LONG_SETS = ("nltcs", "wenchuan_binary", "bnetflix", "bfi")
LONGER, LONG_SEED = 4, 2
# So many that only convergence or the time ends a run
MOST_DRAWS = 100_000


def settings_of(method: str, options: argparse.Namespace, **given: Any) -> dict[str, Any]:
    """Parameters of slabfield: defaults, but for the seed, the length and what is given."""
    likelihood = {"likelihood": "pseudo"} if method == PSEUDO else {}
    return {"random_state": SEED, "n_jobs": options.jobs, **likelihood, **given}


def run_fits(pieces: Pieces, options: argparse.Namespace) -> None:
    """Fit every table until the chains have converged, or the time is over."""
    length = {"max_draws": MOST_DRAWS, "time_budget": 60 * options.minutes / options.jobs}
    for name in options.sets:
        for method in fits_of(name):
            settings = settings_of(method, options, **length)
            pieces.make(pieces.fit(name, method), "run", name, settings=settings, scored=True)


def run_rivals(pieces: Pieces, options: argparse.Namespace) -> None:
    """Fit the other methods."""
    for name in options.sets:
        for method in rivals_of(name):
            pieces.make(
                pieces.rival(name, method), "rival", name, method=method, seed=SEED,
                has_levels=SOURCES[name].has_levels,
            )  # fmt: skip


def run_long(pieces: Pieces, options: argparse.Namespace) -> None:
    """Repeat runs with four times the draws, and another seed."""
    for name in options.long_sets:
        first = pieces.read(pieces.fit(name, SLABFIELD))
        if name in options.sets and first is not None:
            n_draws = LONGER * first["n_draws"]
            settings = settings_of(SLABFIELD, options, random_state=LONG_SEED, n_draws=n_draws)
            pieces.make(pieces.long(name), "run", name, settings=settings, scored=False)


@contextmanager
def sources_of(commit: str) -> Iterator[Path]:
    """Check a commit out for a while, and return the folder of its sources."""
    with tempfile.TemporaryDirectory() as folder:
        tree = checkout(commit, Path(folder, "before"))
        try:
            yield tree / "src"
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def run_rates(pieces: Pieces, options: argparse.Namespace) -> None:
    """Fit with a fixed number of draws before and after a commit; each goes first in turns."""
    with sources_of(pieces.before) as before:
        trees = [("before", before), ("after", SOURCE)]
        for name in options.sets:
            for k, seed in enumerate(options.seeds):
                length = {"random_state": seed, "n_draws": SOURCES[name].rate_draws}
                settings = settings_of(SLABFIELD, options, **length)
                for tree, source in trees[:: -1 if k % 2 else 1]:
                    file = pieces.rate(name, tree, seed)
                    pieces.make(file, "rate", name, source, settings=settings)


PARTS = {"fits": run_fits, "rivals": run_rivals, "long": run_long, "rates": run_rates}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SOURCES), choices=SOURCES)
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="by default all that can be run")
    parser.add_argument("--before", metavar="COMMIT", help="whose speed is compared with")
    parser.add_argument("--minutes", type=float, default=30.0, help="of one core, a run")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2], help="of rates")
    parser.add_argument("--long-sets", nargs="+", default=LONG_SETS, choices=SOURCES)
    parser.add_argument("--jobs", type=int, default=2, help="chains at a time")
    parser.add_argument("--page-only", action="store_true", help="run nothing")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "real-data.md")
    parser.add_argument("--work", type=Path, default=ROOT / "slabfield-realdata")
    options = parser.parse_args()
    if options.parts is None:
        options.parts = [part for part in PARTS if part != "rates" or options.before]
    if "rates" in options.parts and not options.before and not options.page_only:
        parser.error("rates needs --before COMMIT, whose speed is compared with")
    return options


def known_commit(options: argparse.Namespace) -> str:
    """Return the commit that is compared with: the one given, or that of the last run with one."""
    record = options.work / "before.txt"
    if options.before:
        command = ["git", "rev-parse", "--short=7", f"{options.before}^{{commit}}"]
        found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(found.stdout.strip())
    return record.read_text() if record.exists() else ""


def run(pieces: Pieces, options: argparse.Namespace) -> None:
    """Run what is asked for and not there yet."""
    folder = os.environ.get("SLABFIELD_DATA")
    if not folder:
        raise SystemExit(
            "The data must be in the folder that SLABFIELD_DATA names, as debd/nltcs.npz and so "
            "on; it is not set. Set it, and run again."
        )
    options.sets = pieces.write_tables(options.sets, Path(folder).resolve())
    for part in options.parts:
        PARTS[part](pieces, options)


def main() -> None:
    options = read_options()
    pieces = Pieces(options.work.resolve(), options.minutes, known_commit(options))
    asked = list(options.sets)
    if not options.page_only:
        run(pieces, options)
    text = page(pieces, asked, options.seeds, [n for n in options.long_sets if n in asked])
    options.out.write_text(text, encoding="utf-8")
    print(text)
    if pieces.failed:
        raise SystemExit(f"these failed, with errors above: {', '.join(pieces.failed)}")


if __name__ == "__main__":
    main()
