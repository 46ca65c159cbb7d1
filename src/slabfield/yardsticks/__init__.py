"""Reference implementations for benchmarks, and speed ratios, which carry over between machines.

``slabfield bench`` measures the ratios and compares them with ``recorded.json``, which
``benchmarks/record.py`` writes.
"""

from __future__ import annotations

from slabfield.yardsticks.measure import RATIOS, Ratio, measure_all, read_recorded

__all__ = ["RATIOS", "Ratio", "measure_all", "read_recorded"]
