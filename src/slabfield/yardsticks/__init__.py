"""What slabfield's speed is measured against, and how: ratios, which carry over between machines.

``slabfield bench`` measures them here and shows them beside ``recorded.json``, which
``benchmarks/record.py`` writes.
"""

from __future__ import annotations

from slabfield.yardsticks.measure import RATIOS, Ratio, measure_all, read_recorded

__all__ = ["RATIOS", "Ratio", "measure_all", "read_recorded"]
