"""Whatever a table comes as, opened into named columns; its shape is checked here."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.checks.errors import InputError, check_width, listed


class OpenedTable(NamedTuple):
    """Named columns of equal length."""

    names: list[str]
    columns: list[NDArray[Any]]
    has_names: bool


def open_table(X: Any, fewest_rows: int = 2) -> OpenedTable:
    """Open an array, list of lists, data frame or sparse matrix, and check its shape.

    A data frame may be of pandas, or of any library that narwhals knows (polars, pyarrow, modin,
    ...); a lazy one is collected. A table to learn from has two rows at least, and two columns; of
    rows that come later one will do.

    Examples
    --------
    >>> from slabfield.checks.opening import open_table
    >>> open_table([[0, 1], [1, 1]]).names
    ['x0', 'x1']
    """
    other = _as_other_frame(X)
    if other is not None:
        return _open_other_frame(other, fewest_rows)
    frame = _as_frame(X)
    if frame is None:
        array = _as_array(X)
        _check_shape(array.shape, fewest_rows)
        names = [f"x{k}" for k in range(array.shape[1])]
        return OpenedTable(names, [array[:, k] for k in range(array.shape[1])], False)
    _check_shape(frame.shape, fewest_rows)
    names = [str(name) for name in frame.columns]
    _check_names(names)
    columns = [np.asarray(frame.iloc[:, k]) for k in range(len(names))]
    _check_real(columns)
    return OpenedTable(names, columns, all(isinstance(name, str) for name in frame.columns))


def _check_names(names: list[str]) -> None:
    twice = [repr(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"Each column must have a name of its own; found more than one column named "
            f"{listed(twice)}. Rename or drop all but one."
        )
    halves = [
        ascii(name) for name in names if any("\ud800" <= letter <= "\udfff" for letter in name)
    ]
    if halves:
        raise InputError(
            "Names of columns must be text that a file can hold; found half characters "
            f"(surrogates) in {listed(halves)}. Rename these columns."
        )


def _as_other_frame(X: Any) -> Any:
    """Return X as a narwhals frame if it is a data frame of another library than pandas."""
    # asked of the class: a lazy frame would have to look for its columns
    if hasattr(X, "iloc") or not hasattr(type(X), "columns"):
        return None
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _open_other_frame(frame: Any, fewest_rows: int) -> OpenedTable:
    _check_shape(frame.shape, fewest_rows)
    _check_names(frame.columns)
    columns = [_values_of(frame[name]) for name in frame.columns]
    _check_real(columns)
    return OpenedTable(list(frame.columns), columns, True)


def _values_of(series: Any) -> NDArray[Any]:
    """Return the values of a narwhals series, with None where one is missing."""
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        return np.asarray(series.to_numpy())
    return np.array([*series.to_list(), None], dtype=object)[:-1]


def _as_frame(X: Any) -> Any:
    """Return X as a pandas data frame if it is one, or makes itself one; else None."""
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
            f"X must be a table: an array, a list of rows or a data frame; got "
            f"{type(X).__name__}. Read a file first, for example with pandas.read_csv."
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
    """Keep every entry as it is: NumPy would write numbers beside words as text."""
    rows = list(X)
    lengths = [len(row) for row in rows if hasattr(row, "__len__") and not isinstance(row, str)]
    if len(lengths) == len(rows) and len(set(lengths)) > 1:
        odd = next(k for k, length in enumerate(lengths) if length != lengths[0])
        raise InputError(
            f"Every row of X must have as many entries as the first; row 0 has {lengths[0]} and "
            f"row {odd} has {lengths[odd]}. Make the rows equally long."
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
            "Complex data not supported: X must hold two values a column, and complex numbers "
            "have no order; found complex numbers. Pass their real parts, or 0 and 1."
        )


def _check_shape(shape: tuple[int, ...], fewest_rows: int) -> None:
    if len(shape) != 2:
        kind = "one number" if not shape else f"an array of {len(shape)} dimension(s)"
        raise InputError(
            f"X must be a table with rows and columns (Expected 2D array); found {kind}, of shape "
            f"{shape}. Reshape your data so that each row is a case and each column a node."
        )
    n_rows, n_columns = shape
    check_width(n_columns)
    # of further rows, as many columns are expected as the fitted table had
    if n_columns < 2 and fewest_rows > 1:
        raise InputError(
            f"X must have at least two columns, for there to be an edge; found {n_columns} "
            f"feature(s) (shape={shape}) while a minimum of 2 is required. Pass a table with a "
            "column for each node."
        )
    if n_rows < fewest_rows:
        least = "one row" if fewest_rows == 1 else "two rows, for there to be something to learn"
        raise InputError(
            f"X must have at least {least}; found {n_rows} sample(s) (shape={shape}) while a "
            f"minimum of {fewest_rows} is required. Pass a table with a row for each case."
        )
