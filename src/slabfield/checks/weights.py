"""Weights of rows: those a user gives, and the counts of rows that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.checks.errors import InputError, shown_value

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]

WORD_BITS = 64


def check_weights(sample_weight: Any, n_rows: int) -> Array:
    """Return weights as an array if there is one for each row, none negative and not all zero.

    Parameters
    ----------
    sample_weight : sequence of numbers
        What was handed in; a single number stands for as many.
    n_rows : int
        How many rows there are.

    Returns
    -------
    array of float64

    Examples
    --------
    >>> from slabfield.checks import check_weights
    >>> check_weights([1, 0, 2.5], n_rows=3)
    array([1. , 0. , 2.5])
    """
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind == "c":
            raise TypeError
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"sample_weight must hold a number for each row; got {shown_value(sample_weight)}. "
            "Pass a list or an array of numbers, or leave it out."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight must hold one number for each row of X, that is {n_rows} "
            f"(Sample weights must be 1D array or scalar); found shape {weights.shape}. Pass a "
            "list of as many numbers as there are rows."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise InputError(
            f"sample_weight must hold finite numbers of at least 0; found {weights[bad[0]]:g} for "
            f"row {bad[0]}{f' and {bad.size - 1} more like it' if bad.size > 1 else ''}. Correct "
            "them, or give 0 to rows that are not to count."
        )
    if not weights.any():
        raise InputError(
            "sample_weight must be above 0 for some rows; found only zeros. Leave it out for all "
            "rows to count alike."
        )
    return weights


def merge_rows(rows: Bits, weights: Array | None = None) -> tuple[Bits, Array]:
    """Return the different rows, in one order, and how often each is there or what all weigh.

    The order is that of the rows themselves: it does not depend on the order they came in, nor on
    whether equal ones came one by one or counted. Rows of weight 0 are left out.

    Parameters
    ----------
    rows : array of uint8, shape (N, D)
        Of 0 and 1.
    weights : array of float64, optional
        One for each row; 1 each where it is left out.

    Returns
    -------
    rows : array of uint8
        The different ones.
    weights : array of float64
        The sum of the weights of the rows that are equal to each.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.checks.weights import merge_rows
    >>> rows, counts = merge_rows(np.array([[1, 0], [0, 1], [1, 0]], dtype=np.uint8))
    >>> rows.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [1.0, 2.0])
    """
    packed, counts = merge_packed(np.packbits(rows, axis=1), weights)
    return np.unpackbits(packed, axis=1, count=rows.shape[1]), counts


def merge_packed(packed: Bits, weights: Array | None = None) -> tuple[Bits, Array]:
    """Do the same for rows whose bits are packed into bytes (:func:`numpy.packbits`).

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.checks.weights import merge_packed
    >>> packed, counts = merge_packed(np.array([[7], [3], [7]], dtype=np.uint8))
    >>> packed.ravel().tolist(), counts.tolist()
    ([3, 7], [1.0, 2.0])
    """
    if weights is None:
        weights = np.ones(len(packed))
    elif not weights.all():
        packed, weights = packed[weights > 0], weights[weights > 0]
    words = _as_words(packed)
    # by the first word, then by the second, and so on
    order = np.lexsort(words[::-1])
    differs = np.zeros(order.size, np.bool_)
    differs[:1] = True
    for word in words:
        ordered = word[order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(differs)
    return packed[order[first]], np.add.reduceat(weights[order], first)


def spread_rows(rows: Bits, weights: Array, most: int) -> Bits:
    """Return rows as often as they weigh, or no more than so many, evenly spread over them.

    Where weights are whole numbers and their sum is no more than ``most``, every row is there
    exactly as often as its weight says. Otherwise each is there in proportion to its weight, but
    for less than one.

    Parameters
    ----------
    rows : array of uint8, shape (N, D)
    weights : array of float64, shape (N,)
    most : int
        How many rows to return at most.

    Returns
    -------
    array of uint8

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.checks.weights import spread_rows
    >>> rows = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    >>> spread_rows(rows, np.array([1.0, 3.0]), most=100).tolist()
    [[0, 1], [1, 0], [1, 0], [1, 0]]
    >>> len(spread_rows(rows, np.array([1e6, 3e6]), most=100))
    100
    """
    upto = np.cumsum(weights)
    n = int(np.clip(np.ceil(upto[-1]), 1, most))
    places = (np.arange(n) + 0.5) * (upto[-1] / n)
    chosen = np.minimum(np.searchsorted(upto, places, side="right"), len(rows) - 1)
    return np.ascontiguousarray(rows[chosen])


def _as_words(packed: Bits) -> list[NDArray[np.uint64]]:
    """Return packed rows as columns of whole words, which compare as the rows do."""
    width = WORD_BITS // 8
    padded = np.zeros((len(packed), -(-packed.shape[1] // width) * width), np.uint8)
    padded[:, : packed.shape[1]] = packed
    words = padded.view(">u8")
    return [words[:, k].astype(np.uint64) for k in range(words.shape[1])]
