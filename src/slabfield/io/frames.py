"""Conversion of arrays, lists and data frames to named columns, with checks of their shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.validation.errors import InputError, Parameter, check_width, listed


class Categories(NamedTuple):
    """The categories of a categorical column, and whether their order means anything."""

    values: tuple[Any, ...]
    ordered: bool


class OpenedTable(NamedTuple):
    """Named columns of equal length; ``categories`` are those of categorical columns, by name."""

    names: list[str]
    columns: list[NDArray[Any]]
    has_names: bool
    categories: Mapping[str, Categories] = {}


def open_table(X: Any, min_rows: int = 2) -> OpenedTable:
    """Open an array, list of lists, data frame or sparse matrix, and check its shape.

    A data frame may come from pandas, or from any library that narwhals supports (polars, pyarrow,
    modin, ...); a lazy one is collected. A table to learn from needs at least two rows and two
    columns; for new rows of a fitted model, one row is enough.
    """
    other = _as_narwhals(X)
    if other is not None:
        return _open_narwhals(other, min_rows)
    frame = _as_pandas(X)
    if frame is None:
        array = _as_array(X)
        _check_shape(array.shape, min_rows)
        names = [f"x{k}" for k in range(array.shape[1])]
        return OpenedTable(names, [array[:, k] for k in range(array.shape[1])], False)
    _check_shape(frame.shape, min_rows)
    names = [str(name) for name in frame.columns]
    _check_names(names)
    series = [_without_intervals(frame.iloc[:, k]) for k in range(len(names))]
    columns = [np.asarray(each) for each in series]
    _check_real(columns)
    found = {name: categories_of(each) for name, each in zip(names, series, strict=True)}
    categories = {name: each for name, each in found.items() if each is not None}
    has_names = all(isinstance(name, str) for name in frame.columns)
    return OpenedTable(names, columns, has_names, categories)


def categories_of(series: Any) -> Categories | None:
    """Return the categories of a pandas series; None if it is not categorical."""
    categories = getattr(series.dtype, "categories", None)
    if categories is None:
        return None
    return Categories(tuple(categories.tolist()), bool(series.dtype.ordered))


def _without_intervals(series: Any) -> Any:
    """Return a series whose categories are intervals, as of ``pandas.cut``, with their text."""
    categories = getattr(series.dtype, "categories", None)
    if categories is None or not hasattr(categories, "closed"):
        return series
    return series.cat.rename_categories([str(interval) for interval in categories])


def _check_names(names: list[str]) -> None:
    duplicates = [repr(name) for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise InputError(
            "duplicate-names",
            "Each column must have a name of its own; found more than one column named {names}. "
            "Rename or drop all but one.",
            names=listed(duplicates),
        )
    unpaired = [
        ascii(name) for name in names if any("\ud800" <= letter <= "\udfff" for letter in name)
    ]
    if unpaired:
        raise InputError(
            "invalid-names",
            "Column names must be valid Unicode text; found unpaired surrogates in {names}. Rename "
            "these columns.",
            names=listed(unpaired),
        )


def _as_narwhals(X: Any) -> Any:
    """Return X as a narwhals frame if it is a data frame of a library other than pandas."""
    # checked on the class: on a lazy frame the attribute would resolve the schema
    if hasattr(X, "iloc") or not hasattr(type(X), "columns"):
        return None
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _open_narwhals(frame: Any, min_rows: int) -> OpenedTable:
    _check_shape(frame.shape, min_rows)
    _check_names(frame.columns)
    columns = [_values_of(frame[name]) for name in frame.columns]
    _check_real(columns)
    found = {name: _narwhals_categories(frame[name]) for name in frame.columns}
    categories = {name: each for name, each in found.items() if each is not None}
    return OpenedTable(list(frame.columns), columns, True, categories)


def _narwhals_categories(series: Any) -> Categories | None:
    """Return the categories of an enumeration, which are ordered; None for other series."""
    import narwhals as nw

    if series.dtype != nw.Enum:
        return None
    return Categories(tuple(series.dtype.categories), True)


def _values_of(series: Any) -> NDArray[Any]:
    """Return the values of a narwhals series, with None for missing ones."""
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        return np.asarray(series.to_numpy())
    return np.array([*series.to_list(), None], dtype=object)[:-1]


def _as_pandas(X: Any) -> Any:
    """Return X as a pandas data frame if it is one or can be converted to one; else None."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return X
    if hasattr(X, "iloc"):  # a pandas Series
        return None
    if hasattr(X, "to_pandas"):
        converted = X.to_pandas()
        return converted if hasattr(converted, "columns") else None
    if hasattr(X, "__dataframe__"):
        from pandas.api.interchange import from_dataframe

        return from_dataframe(X)
    return None


def _as_array(X: Any) -> NDArray[Any]:
    if not hasattr(X, "__array__") and not hasattr(X, "toarray") and not _has_rows(X):
        raise InputError(
            "not-a-table",
            "{X} must be a table: an array, a list of rows or a data frame; got {kind}. Read a "
            "file first, for example with pandas.read_csv.",
            X=Parameter("X"),
            kind=type(X).__name__,
        )
    if hasattr(X, "toarray"):
        X = X.toarray()
    if isinstance(X, np.ma.MaskedArray):
        unmasked = X.data.astype(object)
        unmasked[np.ma.getmaskarray(X)] = None
        X = unmasked
    if not hasattr(X, "__array__"):
        return _from_lists(X)
    array = np.asarray(X)
    _check_real([array])
    return array


def _has_rows(X: Any) -> bool:
    return hasattr(X, "__iter__") and not isinstance(X, (str, bytes, dict))


def _from_lists(X: Any) -> NDArray[Any]:
    """Keep the type of every entry: NumPy would turn numbers into text in a row with words."""
    rows = list(X)
    lengths = [len(row) for row in rows if hasattr(row, "__len__") and not isinstance(row, str)]
    if len(lengths) == len(rows) and len(set(lengths)) > 1:
        odd = next(k for k, length in enumerate(lengths) if length != lengths[0])
        raise InputError(
            "uneven-rows",
            "Every row of {X} must have as many entries as the first; row 0 has {expected} and row "
            "{row} has {found}. Make the rows equally long.",
            X=Parameter("X"),
            expected=lengths[0],
            row=odd,
            found=lengths[odd],
        )
    try:
        plain = np.asarray(rows)
        array = plain if plain.dtype.kind in "biufc" else np.array(rows, dtype=object)
    except ValueError:
        array = np.array(rows, dtype=object)
    _check_real([array])
    return array


def _check_real(arrays: list[NDArray[Any]]) -> None:
    if any(array.dtype.kind == "c" for array in arrays):
        raise InputError(
            "complex-numbers",
            "Complex data not supported: {X} must hold two values or a few levels per column, and "
            "complex numbers have no order; found complex numbers. Pass their real parts, or 0 and "
            "1.",
            X=Parameter("X"),
        )


def _check_shape(shape: tuple[int, ...], min_rows: int) -> None:
    if len(shape) != 2:
        kind = "one number" if not shape else f"an array of {len(shape)} dimension(s)"
        raise InputError(
            "not-two-dimensional",
            "{X} must be a table with rows and columns (Expected 2D array); found {kind}, of shape "
            "{shape}. Reshape your data so that each row is a case and each column a node.",
            X=Parameter("X"),
            kind=kind,
            shape=shape,
        )
    n_rows, n_columns = shape
    check_width(n_columns)
    # for new rows, the number of columns is compared with that of the fitted table
    if n_columns < 2 and min_rows > 1:
        raise InputError(
            "too-few-columns",
            "{X} must have at least two columns, for there to be an edge; found {n_columns} "
            "feature(s) (shape={shape}) while a minimum of 2 is required. Pass a table with a "
            "column for each node.",
            X=Parameter("X"),
            n_columns=n_columns,
            shape=shape,
        )
    if n_rows < min_rows:
        least = "one row" if min_rows == 1 else "two rows, for there to be something to learn"
        raise InputError(
            "too-few-rows",
            "{X} must have at least {least}; found {n_rows} sample(s) (shape={shape}) while a "
            "minimum of {min_rows} is required. Pass a table with a row for each case.",
            X=Parameter("X"),
            least=least,
            n_rows=n_rows,
            shape=shape,
            min_rows=min_rows,
        )
