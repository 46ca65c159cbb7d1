"""Row weights: sample weights, and counts of equal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.row_layout import RowLayout
from slabfield.validation.errors import InputError, Parameter, shown_value

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]

# Bits of the words by which packed rows are compared
WORD_BITS = 64


def check_weights(sample_weight: Any, n_rows: int) -> Array:
    """Return sample weights as an array, after checking that they are valid and not all zero.

    Parameters
    ----------
    sample_weight : sequence of numbers
        One weight for each row; a single number applies to all rows.
    n_rows : int
        Number of rows.

    Returns
    -------
    array of float64

    Examples
    --------
    >>> from slabfield.encoding import check_weights
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
            "weights-not-numbers",
            "{parameter} must hold a number for each row; got {value}. Pass a list or an array of "
            "numbers, or leave it out.",
            parameter=Parameter("sample_weight"),
            value=shown_value(sample_weight),
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InputError(
            "wrong-number-of-weights",
            "{parameter} must hold one number for each row of {X}, that is {n_rows} (Sample "
            "weights must be 1D array or scalar); found shape {shape}. Pass a list of as many "
            "numbers as there are rows.",
            parameter=Parameter("sample_weight"),
            X=Parameter("X"),
            n_rows=n_rows,
            shape=weights.shape,
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise InputError(
            "invalid-weights",
            "{parameter} must hold finite numbers of at least 0; found {weight:g} for row {row}"
            "{more}. Correct them, or give 0 to rows that are not to count.",
            parameter=Parameter("sample_weight"),
            weight=float(weights[bad[0]]),
            row=int(bad[0]),
            more=f" and {bad.size - 1} more like it" if bad.size > 1 else "",
        )
    if not weights.any():
        raise InputError(
            "weights-all-zero",
            "{parameter} must be above 0 for some rows; found only zeros. Leave it out to weight "
            "all rows equally.",
            parameter=Parameter("sample_weight"),
        )
    return weights


def merge_rows(rows: Bits, weights: Array | None = None) -> tuple[Bits, Array]:
    """Return the distinct rows in sorted order, with their counts or total weights.

    The result does not depend on the order of the input, nor on whether equal rows come one by one
    or counted. Rows of weight 0 are dropped.

    Parameters
    ----------
    rows : array of uint8, shape (N, D)
        Rows of codes.
    weights : array of float64, optional
        One for each row; by default 1.

    Returns
    -------
    rows : array of uint8
        The distinct rows.
    weights : array of float64
        Total weight of the rows equal to each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.row_weights import merge_rows
    >>> rows, counts = merge_rows(np.array([[1, 0], [0, 1], [1, 0]], dtype=np.uint8))
    >>> rows.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [1.0, 2.0])
    """
    layout = RowLayout((rows.max(axis=0, initial=0).astype(np.int64) + 1).tolist())
    packed, counts = merge_packed(layout.pack(rows), weights)
    return layout.unpack(packed), counts


def merge_packed(packed: Bits, weights: Array | None = None) -> tuple[Bits, Array]:
    """Merge rows that are packed into bytes (`RowLayout.pack`), as `merge_rows` does.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.row_weights import merge_packed
    >>> packed, counts = merge_packed(np.array([[7], [3], [7]], dtype=np.uint8))
    >>> packed.ravel().tolist(), counts.tolist()
    ([3, 7], [1.0, 2.0])
    """
    if weights is None:
        weights = np.ones(len(packed))
    elif not weights.all():
        packed, weights = packed[weights > 0], weights[weights > 0]
    words = _as_words(packed)
    # sorted by the first word, then by the second, and so on
    order = np.lexsort(words[::-1])
    differs = np.zeros(order.size, np.bool_)
    differs[:1] = True
    for word in words:
        ordered = word[order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(differs)
    return packed[order[first]], np.add.reduceat(weights[order], first)


def replicate_rows(rows: Bits, weights: Array, max_rows: int) -> Bits:
    """Replicate rows in proportion to their weights, up to `max_rows` (systematic resampling).

    If the weights are whole numbers and their sum is at most ``max_rows``, every row occurs exactly
    as often as its weight says. Otherwise the number of copies of a row differs from its share by
    less than one.

    Parameters
    ----------
    rows : array of uint8, shape (N, D)
    weights : array of float64, shape (N,)
    max_rows : int
        Largest number of rows to return.

    Returns
    -------
    array of uint8

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.row_weights import replicate_rows
    >>> rows = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    >>> replicate_rows(rows, np.array([1.0, 3.0]), max_rows=100).tolist()
    [[0, 1], [1, 0], [1, 0], [1, 0]]
    >>> len(replicate_rows(rows, np.array([1e6, 3e6]), max_rows=100))
    100
    """
    cumulative = np.cumsum(weights)
    n = int(np.clip(np.ceil(cumulative[-1]), 1, max_rows))
    positions = (np.arange(n) + 0.5) * (cumulative[-1] / n)
    chosen = np.minimum(np.searchsorted(cumulative, positions, side="right"), len(rows) - 1)
    return np.ascontiguousarray(rows[chosen])


def _as_words(packed: Bits) -> list[NDArray[np.uint64]]:
    """Return packed rows as columns of words, which sort in the same order as the rows."""
    width = WORD_BITS // 8
    padded = np.zeros((len(packed), -(-packed.shape[1] // width) * width), np.uint8)
    padded[:, : packed.shape[1]] = packed
    words = padded.view(">u8")
    return [words[:, k].astype(np.uint64) for k in range(words.shape[1])]
