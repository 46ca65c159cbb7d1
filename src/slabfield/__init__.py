"""Learn Markov random fields with a spike-and-slab prior.

Nothing heavy is imported, and nothing compiled, until a name is used.

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
    from slabfield.estimator import SpikeSlabMRF
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
    "SpikeSlabMRF": "slabfield.estimator",
    "load_posterior": "slabfield.posterior",
}
_MODULES = ("baselines", "datasets", "evaluate", "plots", "report")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
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
    """List the public names, those not yet imported included."""
    return sorted({*globals(), *__all__})


def _version() -> str:
    """Return the version that the project file declares, which is where it is kept."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("slabfield")
    except PackageNotFoundError:  # run from the source tree, without having been installed
        return "0+unknown"
