"""Short vectors of fixed width for compiled sums: one order of summation everywhere.

A sum that the compiler may reorder becomes vector code in one place and scalar code in another,
depending on the processor and even on memory alignment; its last bits, and with them the draws,
would then differ. Here the partial sums are explicit: :func:`load` reads ``width`` elements of an
array, arithmetic is elementwise, and :func:`reduce_add` adds the two halves of a vector until one
number is left. Every processor does the same additions in the same order, whatever the width of its
registers.

Products that are added go through :func:`multiply_add`, which rounds once on processors with fused
multiply-add and twice on others: on a given processor the result is always the same.

Called from Python, the functions work on NumPy arrays of the same width, so that the plain version
of a kernel (``.py_func``) is the same algorithm.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def load(array: Any, start: int, width: int) -> Any:
    """Return ``width`` elements of a contiguous array from ``start`` on; integers as doubles."""
    vector = array[start : start + width]
    return vector.astype(np.float64) if vector.dtype.kind in "iu" else vector.copy()


def store(array: Any, start: int, vector: Any) -> None:
    """Write a vector into a contiguous array from ``start`` on; singles may widen to doubles."""
    array[start : start + vector.size] = vector


def full(value: Any, width: int) -> Any:
    """Return a vector with all elements equal to one number."""
    return np.full(width, value, np.asarray(value).dtype)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return elements of one vector where a condition holds, and of another elsewhere."""
    return np.where(condition, yes, no)


def maximum(one: Any, other: Any) -> Any:
    """Return the larger of two vectors, element by element."""
    return np.where(one > other, one, other)


def multiply_add(one: Any, other: Any, added: Any) -> Any:
    """Return one * other + added, for numbers or vectors; fused where the processor allows."""
    return one * other + added


def polynomial(x: Any, coefficients: tuple[Any, ...]) -> Any:
    """Return a polynomial in a number or vector, by Horner's rule; the constant comes first."""
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = multiply_add(value, x, coefficient)
    return value


def exponents(vector: Any) -> Any:
    """Return the binary exponents of positive numbers (floor of log2), as integers."""
    return np.frexp(vector)[1].astype(np.int64) - 1


def mantissas(vector: Any) -> Any:
    """Return the mantissas of positive numbers, in [1, 2), that match :func:`exponents`."""
    return 2.0 * np.frexp(vector)[0]


def _halves(vector: Any, width: int, combine: Callable[[Any, Any], Any]) -> Any:
    while vector.size > width:
        vector = combine(vector[: vector.size // 2], vector[vector.size // 2 :])
    return vector


def fold_add(vector: Any, width: int) -> Any:
    """Return a narrower vector with the same sum: halves are added until ``width`` is left."""
    return _halves(vector, width, operator.add)


def fold_multiply(vector: Any, width: int) -> Any:
    """Return a narrower vector with the same product, in the order of :func:`fold_add`."""
    return _halves(vector, width, operator.mul)


def reduce_add(vector: Any) -> Any:
    """Return the sum of the elements of a vector, in the order of :func:`fold_add`."""
    return _halves(vector, 1, operator.add)[0]


def reduce_multiply(vector: Any) -> Any:
    """Return the product of the elements of a vector, in the order of :func:`fold_add`."""
    return _halves(vector, 1, operator.mul)[0]


def reduce_max(vector: Any) -> Any:
    """Return the largest element of a vector without NaN."""
    return _halves(vector, 1, maximum)[0]
