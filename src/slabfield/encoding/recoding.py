"""Coding of new rows with the labels and thresholds of the fitted table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from slabfield.io.frames import OpenedTable, open_table
from slabfield.validation.errors import InputError, InputWarning, listed, shown_value

Bools = NDArray[np.bool_]


class RecodedTable(NamedTuple):
    """Rows of 0 and 1, and the mask of their unknown entries (these are 0 in ``rows``)."""

    rows: NDArray[np.uint8]
    unknown: Bools


def code_alike(
    X: object,
    coding: Sequence[tuple[tuple[object, object], float | None]],
    *,
    names: Sequence[str] | None = None,
    model: str = "the model",
    ignored: Collection[int] = (),
    allow_missing: bool = False,
) -> RecodedTable:
    """Code a table with the labels and thresholds of another.

    Parameters
    ----------
    X : array, list of lists, data frame or sparse matrix
        As many columns as there are codings, in the same order.
    coding : list of pairs
        For each column, its two labels and its threshold, or None if it has none. Where one of the
        labels never occurred (None), every other value is coded as that label.
    names : sequence of str, optional
        Column names of the other table, if it had any; those of this one must be the same.
    model : str
        Name of the fitted model, for the messages.
    ignored : collection of int
        Columns whose entries are ignored and treated as unknown.
    allow_missing : bool
        Whether entries may be missing (NaN or None).

    Returns
    -------
    RecodedTable
        The coded rows, and the mask of unknown entries.

    Examples
    --------
    >>> from slabfield.encoding import code_alike
    >>> coding = [(("no", "yes"), None), (("< 2", ">= 2"), 2.0)]
    >>> code_alike([["yes", 5], ["no", None]], coding, allow_missing=True).rows
    array([[1, 1],
           [0, 0]], dtype=uint8)
    """
    opened = open_table(X, min_rows=1)
    if len(opened.columns) != len(coding):
        raise InputError(
            f"X has {len(opened.columns)} features, but {model} is expecting {len(coding)} "
            "features as input. Pass the columns of the table that was fitted, in their order."
        )
    _check_names(opened, names, model)
    shape = (opened.columns[0].size, len(coding))
    rows, unknown = np.zeros(shape, np.uint8), np.zeros(shape, np.bool_)
    for k, values in enumerate(opened.columns):
        if k in ignored:
            unknown[:, k] = True
            continue
        unknown[:, k] = _missing(values)
        known = ~unknown[:, k]
        rows[known, k] = _bits(opened.names[k], values[known], *coding[k])
    incomplete = [
        repr(opened.names[k]) for k in np.flatnonzero(unknown.any(axis=0)) if k not in ignored
    ]
    if incomplete and not allow_missing:
        raise InputError(
            "X must have no missing values (NaN or None) here; found some in "
            f"{'column' if len(incomplete) == 1 else 'columns'} {listed(incomplete)}. Drop the "
            "rows that have them; only predict_proba accepts them, as the entries to predict."
        )
    return RecodedTable(rows, unknown)


def _check_names(opened: OpenedTable, names: Sequence[str] | None, model: str) -> None:
    """Refuse columns with other names, or in another order, with the wording of scikit-learn."""
    if names is None or not opened.has_names:
        if opened.has_names:
            _warn(f"X has feature names, but {model} was fitted without feature names")
        elif names is not None:
            _warn(f"X does not have valid feature names, but {model} was fitted with feature names")
        return
    if list(names) == opened.names:
        return
    new = [repr(name) for name in opened.names if name not in names]
    absent = [repr(name) for name in names if name not in opened.names]
    found = [
        f"{what} {listed(some)}"
        for what, some in (("names unseen at fit time:", new), ("names now missing:", absent))
        if some
    ]
    raise InputError(
        "The feature names should match those that were passed during fit; found "
        f"{'; '.join(found) if found else 'the same names in another order'}. Pass the columns "
        f"{listed([repr(name) for name in names])}, in this order."
    )


def _warn(found: str) -> None:
    warn(
        f"{found}; columns were matched by position. Pass the same kind of table to both.",
        InputWarning,
        stacklevel=5,
    )


def _missing(values: NDArray[Any]) -> Bools:
    if values.dtype.kind in "biu":
        return np.zeros(values.size, np.bool_)
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    import pandas as pd

    return np.asarray(pd.isna(values.astype(object)), dtype=np.bool_)


def _bits(
    name: str, values: NDArray[Any], labels: tuple[object, object], threshold: float | None
) -> NDArray[np.uint8]:
    if threshold is not None:
        numbers = _as_numbers(name, values, threshold)
        return (numbers >= threshold).astype(np.uint8)
    zero, one = (_equal(values, label) for label in labels)
    if labels[0] is None:
        zero = ~one
    elif labels[1] is None:
        one = ~zero
    unexpected = values[~(zero | one)]
    if unexpected.size:
        raise InputError(
            f"Column {name!r} must hold {shown_value(labels[0])} and {shown_value(labels[1])}, as "
            f"in the table that was fitted; it also holds {shown_value(unexpected[0])}. Code it "
            "the same way, or fit with binarize, which cuts numbers in two."
        )
    return one.astype(np.uint8)


def _equal(values: NDArray[Any], label: object) -> Bools:
    if values.dtype.kind in "biuf" and isinstance(label, (bool, int, float)):
        return np.asarray(values == label)
    # one by one: NumPy compares an array with a word as a whole
    return np.array([value == label for value in values.tolist()], dtype=np.bool_)


def _as_numbers(name: str, values: NDArray[Any], threshold: float) -> NDArray[np.float64]:
    try:
        numbers = values.astype(np.float64)
        valid = values.dtype.kind in "biufO" and bool(np.all(np.isfinite(numbers)))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise InputError(
            f"Column {name!r} was cut at {threshold:g} and must hold finite numbers; it holds "
            f"{shown_value(values[0])}{' and others' if values.size > 1 else ''}. Pass numbers, "
            "without inf (infinity)."
        )
    return numbers
