"""Numbers in a form that JSON can represent."""

from __future__ import annotations

from math import isinf, isnan

import numpy as np
from numpy.typing import NDArray


def numbers(values: NDArray[np.float64], digits: int = 6) -> list[float | str | None]:
    """Round every number of an array; see :func:`number_or_text`."""
    return [number_or_text(float(value), digits) for value in values]


def number_or_text(value: float, digits: int = 6) -> float | str | None:
    """Round; NaN becomes None and infinity a string that JavaScript's Number() reads."""
    if isnan(value):
        return None
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(f"{value:.{digits}g}")
