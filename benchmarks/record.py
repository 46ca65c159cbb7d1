"""Records the ratios that ``slabfield bench`` shows beside those of a user's machine.

Run by ``make bench`` and by ``python benchmarks/record.py``; each ratio is the median of three.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from slabfield.yardsticks import RATIOS, measure
from timing import setting

N_RUNS = 3


def record(path: Path = measure.RECORDED, n_runs: int = N_RUNS) -> None:
    found: dict[str, list[float]] = {ratio.name: [] for ratio in RATIOS}
    for _ in range(n_runs):
        measure.plain_rate.cache_clear()
        for ratio in RATIOS:
            value = ratio.measure()
            if value is None:
                raise SystemExit(f"{ratio.name} cannot be measured here: gcc was not found.")
            found[ratio.name].append(value)
    ratios = {name: float(f"{statistics.median(values):.3g}") for name, values in found.items()}
    facts = {"made_by": "benchmarks/record.py", "setting": setting(), "ratios": ratios}
    path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
    print(measure.RECORDED.read_text(encoding="utf-8"))
