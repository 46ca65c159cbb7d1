"""Short vectors of fixed width, for compiled loops that sum: one order of summation everywhere.

A sum that the compiler may reorder becomes vector code in one place and scalar code in another,
depending on the processor and even on where arrays lie in memory; its last bits, and with them
draws, would depend on that. Here the partial sums are written out: :func:`load` takes ``width``
numbers of an array, arithmetic goes element by element, and :func:`reduce_add` adds the halves of a
vector until one number is left. Every processor does the same additions in the same order,
whatever the width of its registers.

Products that are added at once go through :func:`multiply_add`, which rounds once where the
processor can and twice where it cannot: on one processor always the same.

Called from Python, the functions work on NumPy arrays of the same width, so that the plain version
of a kernel (``.py_func``) is the same algorithm.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def load(array: Any, start: int, width: int) -> Any:
    """Return ``width`` numbers of a contiguous array, from ``start`` on; integers as doubles."""
    vector = array[start : start + width]
    return vector.astype(np.float64) if vector.dtype.kind in "iu" else vector.copy()


def store(array: Any, start: int, vector: Any) -> None:
    """Write a vector into a contiguous array, from ``start`` on; single numbers become doubles."""
    array[start : start + vector.size] = vector


def full(value: Any, width: int) -> Any:
    """Return a vector of one number."""
    return np.full(width, value, np.asarray(value).dtype)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return elements of one vector where a condition holds, and else of another."""
    return np.where(condition, yes, no)


def maximum(one: Any, other: Any) -> Any:
    """Return the larger of two vectors, element by element."""
    return np.where(one > other, one, other)


def multiply_add(one: Any, other: Any, added: Any) -> Any:
    """Return one * other + added, of numbers or vectors; rounded once where the processor can."""
    return one * other + added


def polynomial(x: Any, coefficients: tuple[Any, ...]) -> Any:
    """Return a polynomial of a number or vector, by Horner's rule; the constant comes first."""
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = multiply_add(value, x, coefficient)
    return value


def exponents(vector: Any) -> Any:
    """Return, as integers, the powers of two that positive numbers are at least."""
    return np.frexp(vector)[1].astype(np.int64) - 1


def mantissas(vector: Any) -> Any:
    """Return positive numbers divided by the powers of two of :func:`exponents`: from 1 to 2."""
    return 2.0 * np.frexp(vector)[0]


def _halves(vector: Any, width: int, combine: Callable[[Any, Any], Any]) -> Any:
    while vector.size > width:
        vector = combine(vector[: vector.size // 2], vector[vector.size // 2 :])
    return vector


def fold_add(vector: Any, width: int) -> Any:
    """Return a narrower vector with the same sum: halves are added until so many are left."""
    return _halves(vector, width, operator.add)


def fold_multiply(vector: Any, width: int) -> Any:
    """Return a narrower vector with the same product, in the order of :func:`fold_add`."""
    return _halves(vector, width, operator.mul)


def reduce_add(vector: Any) -> Any:
    """Return the sum of a vector's elements, in the order of :func:`fold_add`."""
    return _halves(vector, 1, operator.add)[0]


def reduce_multiply(vector: Any) -> Any:
    """Return the product of a vector's elements, in the order of :func:`fold_add`."""
    return _halves(vector, 1, operator.mul)[0]


def reduce_max(vector: Any) -> Any:
    """Return the largest of a vector's elements, none of which is NaN."""
    return _halves(vector, 1, maximum)[0]
