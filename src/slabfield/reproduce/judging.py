"""What the rules for claims share: how numbers are written, and curves read between points.

Data sets are the unit of every error bar: "0.31 +- 0.02" is a mean and an sd over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

Table: TypeAlias = Any
"""A DataFrame; the types of its columns are not told to the checker, which would guess."""

Found = tuple[str, bool | None]
"""What was measured, in words with numbers, and whether the rule is met; None: cannot say."""

L1 = ("Wain Max", "Wain Min", "MLE")
ALMOST_ALL = 0.9


def bar(values: Iterable[float], digits: int = 3) -> str:
    """Write a mean and an sd.

    Examples
    --------
    >>> from slabfield.reproduce.judging import bar
    >>> bar([1.0, 2.0], 2)
    '1.50 +- 0.71'
    """
    found = np.asarray(list(values), dtype=np.float64)
    mean = f"{found.mean():.{digits}f}"
    return f"{mean} +- {found.std(ddof=1):.{digits}f}" if found.size > 1 else mean


def rms(values: Any) -> float:
    """Root of the mean of squares."""
    return float(np.sqrt(np.mean(np.square(values))))


def at_density(path: Table, density: Any) -> Any:
    """Likelihood of a method at a density, between its settings; its last ones beyond them."""
    ordered = path.sort_values("density")
    return np.interp(density, ordered["density"], ordered["cll"])
