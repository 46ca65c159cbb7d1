"""Shared parts of the rules for claims: number formats and interpolation of curves.

Error bars are over data sets: "0.31 +- 0.02" is a mean and an sd over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

# A DataFrame; Any, because a type checker would guess wrong types of columns
Table: TypeAlias = Any
# The measured numbers as text, and whether the rule is met; None if that cannot be decided
Found = tuple[str, bool | None]

L1 = ("Wain Max", "Wain Min", "MLE")
# Share that counts as "almost all"
ALMOST_ALL = 0.9


def bar(values: Iterable[float], digits: int = 3) -> str:
    """Format a mean and an sd."""
    array = np.asarray(list(values), dtype=np.float64)
    mean = f"{array.mean():.{digits}f}"
    return f"{mean} +- {array.std(ddof=1):.{digits}f}" if array.size > 1 else mean


def rms(values: Any) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def at_density(path: Table, density: Any) -> Any:
    """Likelihood of a method at a density, by linear interpolation; constant beyond the ends."""
    ordered = path.sort_values("density")
    return np.interp(density, ordered["density"], ordered["cll"])
