"""Plots of posteriors, one module each.

Each function takes a posterior, and optionally the matplotlib Axes to draw in, and returns the
Axes. None of them changes matplotlib's settings or opens a window: without ``ax`` a plot is a
figure of its own, which ``network(posterior).figure.savefig("network.png")`` writes.

Matplotlib is imported when a plot is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slabfield.plots._autocorrelation import autocorrelation
    from slabfield.plots._comparison import comparison
    from slabfield.plots._convergence import convergence
    from slabfield.plots._degree import degree
    from slabfield.plots._density import density
    from slabfield.plots._edge_forest import edge_forest
    from slabfield.plots._evidence import evidence
    from slabfield.plots._inclusion_matrix import inclusion_matrix
    from slabfield.plots._interaction_table import interaction_table
    from slabfield.plots._network import network, network_layout
    from slabfield.plots._predictive_check import predictive_check
    from slabfield.plots._rank import rank
    from slabfield.plots._trace import trace

__all__ = [
    "autocorrelation",
    "comparison",
    "convergence",
    "degree",
    "density",
    "edge_forest",
    "evidence",
    "inclusion_matrix",
    "interaction_table",
    "network",
    "network_layout",
    "predictive_check",
    "rank",
    "trace",
]

# Modules have a leading underscore: importing a module named like its function would shadow it.
_MODULES = {
    "autocorrelation": "_autocorrelation",
    "comparison": "_comparison",
    "convergence": "_convergence",
    "degree": "_degree",
    "density": "_density",
    "edge_forest": "_edge_forest",
    "evidence": "_evidence",
    "inclusion_matrix": "_inclusion_matrix",
    "interaction_table": "_interaction_table",
    "network": "_network",
    "network_layout": "_network",
    "predictive_check": "_predictive_check",
    "rank": "_rank",
    "trace": "_trace",
}


def __getattr__(name: str) -> Any:
    """Import a plot function on first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'slabfield.plots' has no attribute {name!r}")
    value = getattr(import_module(f"slabfield.plots.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List all plot functions, including those not yet imported."""
    return sorted({*globals(), *__all__})
