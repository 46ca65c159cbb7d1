"""Learn Markov random fields with a spike-and-slab prior.

Heavy imports and compilation wait until a name is first used.

Examples
--------
>>> import slabfield
>>> "SpikeSlabMRF" in dir(slabfield)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slabfield import baselines, datasets, evaluate, plots, report
    from slabfield.estimators.spike_slab import SpikeSlabMRF
    from slabfield.posterior import Posterior, load_posterior

__all__ = [
    "Posterior",
    "SpikeSlabMRF",
    "__version__",
    "baselines",
    "datasets",
    "evaluate",
    "load_posterior",
    "plots",
    "report",
]

__version__: str

_HOMES = {
    "Posterior": "slabfield.posterior",
    "SpikeSlabMRF": "slabfield.estimators.spike_slab",
    "load_posterior": "slabfield.posterior",
}
_MODULES = ("baselines", "datasets", "evaluate", "plots", "report")


def __getattr__(name: str) -> Any:
    """Import a public name on first access (PEP 562)."""
    value: Any
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"slabfield.{name}")
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module 'slabfield' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, including those not yet imported."""
    return sorted({*globals(), *__all__})


def _version() -> str:
    """Return the version declared in the project file."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("slabfield")
    except PackageNotFoundError:  # running from the source tree without an installation
        return "0+unknown"
