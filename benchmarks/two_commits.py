"""Speed of two commits, side by side: ``python benchmarks/two_commits.py BEFORE [AFTER]``.

Each commit is checked out into a folder of its own, and one process of each measures the kernels of
every likelihood engine (``kernel_times.py`` of that commit, or this one's where it has none). The
two take turns; the least CPU time of all rounds counts. AFTER is the working tree by default.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import table

ROOT = Path(__file__).resolve().parents[1]
MOST_MEAN, MOST_KERNEL = 1.05, 1.25

Times = dict[str, dict[str, float]]


def checkout(commit: str, folder: Path) -> Path:
    """Check a commit out into a folder."""
    subprocess.run(
        ["git", "worktree", "add", "--detach", str(folder), commit],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def start_worker(tree: Path) -> subprocess.Popen[str]:
    """Start the process that measures the sources of a tree."""
    own = tree / "benchmarks"
    folder = own if (own / "kernel_times.py").exists() else ROOT / "benchmarks"
    paths = os.pathsep.join([str(tree / "src"), str(folder)])
    return subprocess.Popen(
        [sys.executable, str(folder / "kernel_times.py")],
        env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def one_round(worker: subprocess.Popen[str]) -> Times:
    """Have a worker measure all its kernels once."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write("round\n")
    worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("a worker has ended; its error is above")
    found: Times = json.loads(line)
    return found


def least(best: Times, found: Times) -> Times:
    """Return the lesser time of every kernel."""
    return {
        engine: {
            name: min(seconds, best.get(engine, {}).get(name, math.inf))
            for name, seconds in kernels.items()
        }
        for engine, kernels in found.items()
    }


def compare(before: Times, after: Times) -> str:
    """Lay out the times of all kernels, their ratios, and the geometric mean by engine."""
    rows: list[tuple[str, ...]] = []
    for engine in before:
        ratios = {name: after[engine][name] / before[engine][name]
                  for name in before[engine] if name in after[engine]}  # fmt: skip
        for name, ratio in ratios.items():
            each = (f"{times[engine][name] * 1e6:.2f}" for times in (before, after))
            mark = "" if ratio <= MOST_KERNEL else f"above {MOST_KERNEL}"
            rows.append((engine, name, *each, f"{ratio:.3f}", mark))
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        mark = "" if mean <= MOST_MEAN else f"above {MOST_MEAN}"
        rows.append((engine, "**geometric mean**", "", "", f"**{mean:.3f}**", mark))
    return table(("engine", "kernel", "before, µs", "after, µs", "ratio", ""), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", help="commit that is compared with")
    parser.add_argument("after", nargs="?", help="commit that is compared; else the working tree")
    parser.add_argument("--rounds", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            trees = [checkout(given.before, Path(folder, "before"))]
            trees += [checkout(given.after, Path(folder, "after")) if given.after else ROOT]
            workers = [start_worker(tree) for tree in trees]
            best: list[Times] = [{}, {}]
            for number in range(given.rounds):
                # each goes first every second time
                for which in (0, 1) if number % 2 == 0 else (1, 0):
                    best[which] = least(best[which], one_round(workers[which]))
        finally:
            subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
    print(compare(*best))


if __name__ == "__main__":
    main()
