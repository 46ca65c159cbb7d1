"""Speed of slabfield: writes benchmarks/RESULTS.md and a picture. Run by ``make bench``.

Times are CPU times, the least of several, and the sides of a ratio take turns in one run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from draw_speed import effective
from iteration_speed import by_nodes, by_part
from kernel_speed import gibbs, pair_counts
from ratios import record
from rivals_speed import paths
from startup_speed import startup
from timing import setting

HERE = Path(__file__).parent
PICTURE = "cost-by-nodes.png"
HEAD = """# Speed

Made by `make bench` (`benchmarks/run.py`) in one run. Read the ratios: times in nanoseconds or
seconds belong to one machine. All are CPU times; where it is not said otherwise, the least of
several repetitions, the sides of a ratio taking turns.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to see that all runs; keeps no files"
    )
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if quick else HERE
        sections = {
            "Gibbs kernel": lambda: gibbs(quick),
            "iteration by part": lambda: by_part(quick),
            "pair counts": lambda: pair_counts(quick),
            "cost by nodes": lambda: by_nodes(quick, folder / PICTURE),
            "effective draws": lambda: effective(quick),
            "L1 paths": lambda: paths(quick),
            "start-up": lambda: startup(quick),
        }
        texts = []
        for name, section in sections.items():
            start = time.perf_counter()
            texts.append(section())
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        text = HEAD + setting() + "\n\n" + "\n".join(texts)
        if not quick:
            record()
        (folder / "RESULTS.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
