"""Pictures, one small file each.

Importing this package imports matplotlib; ``import slabfield`` does not.
"""

from __future__ import annotations

from slabfield.plots.comparison import comparison
from slabfield.plots.network import network

__all__ = ["comparison", "network"]
