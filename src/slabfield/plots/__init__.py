"""Pictures, one small file each, of one family.

Each function takes a posterior, and optionally the matplotlib Axes to draw in, and returns the
Axes. None of them changes matplotlib's settings, and none shows a window: without ``ax`` a picture
is a figure of its own, which ``network(posterior).figure.savefig("network.png")`` writes.

Matplotlib is imported when a picture is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slabfield.plots.comparisons import comparison
    from slabfield.plots.degrees import degree
    from slabfield.plots.densities import density
    from slabfield.plots.forest import edge_forest
    from slabfield.plots.inclusion import inclusion_matrix
    from slabfield.plots.lags import autocorrelation
    from slabfield.plots.limits import convergence
    from slabfield.plots.networks import network
    from slabfield.plots.predictions import predictive_check
    from slabfield.plots.ranks import rank
    from slabfield.plots.traces import trace
    from slabfield.plots.verdicts import evidence

__all__ = [
    "autocorrelation",
    "comparison",
    "convergence",
    "degree",
    "density",
    "edge_forest",
    "evidence",
    "inclusion_matrix",
    "network",
    "predictive_check",
    "rank",
    "trace",
]

# No file has the name of a function: importing it would put the module in the function's place.
_HOMES = {
    "autocorrelation": "lags",
    "comparison": "comparisons",
    "convergence": "limits",
    "degree": "degrees",
    "density": "densities",
    "edge_forest": "forest",
    "evidence": "verdicts",
    "inclusion_matrix": "inclusion",
    "network": "networks",
    "predictive_check": "predictions",
    "rank": "ranks",
    "trace": "traces",
}


def __getattr__(name: str) -> Any:
    """Import a picture when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'slabfield.plots' has no attribute {name!r}")
    value = getattr(import_module(f"slabfield.plots.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the pictures, those not yet imported included."""
    return sorted({*globals(), *__all__})
