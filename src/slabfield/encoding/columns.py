"""One column of a table: its values, its faults, and which value is coded 1."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.validation.errors import SHOWN, listed, shown_value

Kind = Literal["bool", "number", "word", "object"]
Fault = Literal["missing", "infinite", "object", "identifier", "text", "values"]

MAX_CATEGORIES = 10
"""A column with more distinct words than this is taken for free text."""

IDENTIFIER_ROWS = 5
"""Fewest rows at which a column with a distinct value per row is taken for an identifier."""

CONVENTIONS = {
    "no": "yes",
    "n": "y",
    "false": "true",
    "f": "t",
    "off": "on",
    "absent": "present",
    "negative": "positive",
    "neg": "pos",
    "-": "+",
    "low": "high",
    "control": "case",
    "unexposed": "exposed",
    "disagree": "agree",
    "incorrect": "correct",
    "wrong": "right",
    "fail": "pass",
}
"""Pairs of words with a natural order; the key is coded 0, the value 1."""


class Column(NamedTuple):
    """The non-missing values of a column, its distinct values, their kind, the number missing."""

    name: str
    values: NDArray[Any]
    distinct: list[Any]
    kind: Kind
    n_missing: int


class Coding(NamedTuple):
    """A column coded as 0 and 1, with the label coded 0 and the label coded 1."""

    bits: NDArray[np.uint8]
    labels: tuple[object, object]
    rule: str
    is_plain: bool


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the mask of missing entries of a column: NaN, None, NaT or NA.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import missing_in
    >>> missing_in(np.array(["yes", None, "no"], dtype=object))
    array([False,  True, False])
    """
    if values.dtype.kind in "biu":
        return np.zeros(values.size, dtype=np.bool_)
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values), dtype=np.bool_)
    import pandas as pd

    missing: NDArray[np.bool_] = np.asarray(pd.isna(values), dtype=np.bool_)
    return missing


def read_column(
    name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None = None
) -> Column:
    """Classify the values of a column; ``missing`` is its mask, if already known.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> column = read_column("sleep", np.array(["yes", None, "no"], dtype=object))
    >>> column.kind, column.distinct, column.n_missing
    ('word', ['no', 'yes'], 1)
    """
    missing = missing_in(values) if missing is None else missing
    if values.dtype.kind == "b":
        return Column(name, values, np.unique(values).tolist(), "bool", 0)
    if values.dtype.kind in "iuf":
        present = values[~missing] if values.dtype.kind == "f" else values
        return Column(name, present, _distinct(present), "number", values.size - present.size)
    return _read_objects(name, values.astype(object), missing)


def find_fault(column: Column, n_rows: int, threshold: float | None) -> Fault | None:
    """Return the reason why a column cannot be coded, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import find_fault, read_column
    >>> column = read_column("age", np.array([21, 34, 34]))
    >>> find_fault(column, n_rows=3, threshold=None)
    >>> find_fault(read_column("age", np.array([21, 34, 55])), n_rows=3, threshold=None)
    'values'
    """
    if column.kind == "object":
        return "object"
    if column.n_missing:
        return "missing"
    if column.kind == "number" and not np.all(np.isfinite(column.distinct)):
        return "infinite"
    if len(column.distinct) <= 2 or threshold is not None:
        return None
    if column.kind == "word" and _reads_like_prose(column, n_rows):
        return "text"
    return "identifier" if looks_like_identifier(column, n_rows) else "values"


def looks_like_identifier(column: Column, n_rows: int) -> bool:
    """Whether a column of words or whole numbers has a distinct value in every row.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import looks_like_identifier, read_column
    >>> looks_like_identifier(read_column("patient", np.arange(100)), n_rows=100)
    True
    """
    if n_rows < IDENTIFIER_ROWS or len(column.distinct) < n_rows:
        return False
    return column.kind == "word" or all(float(value).is_integer() for value in column.distinct)


def code_column(column: Column, threshold: float | None) -> Coding:
    """Code a valid column as 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import code_column, read_column
    >>> coding = code_column(read_column("sleep", np.array(["No", "Yes", "No"])), None)
    >>> coding.bits, coding.rule
    (array([0, 1, 0], dtype=uint8), "1 = 'Yes', 0 = 'No'")
    """
    if threshold is not None:
        bits = (column.values >= threshold).astype(np.uint8)
        rule = f"1 = at least {threshold:g}, 0 = less than {threshold:g}"
        return Coding(bits, (f"< {threshold:g}", f">= {threshold:g}"), rule, False)
    labels = _ordered(column)
    if column.kind == "word":
        bits = np.array([value == labels[1] for value in column.values], dtype=np.uint8)
    else:
        bits = (column.values == labels[1]).astype(np.uint8)
    parts = [f"{k} = {shown_value(labels[k])}" for k in (1, 0) if labels[k] is not None]
    return Coding(bits, labels, ", ".join(parts), labels == (0, 1) and column.kind == "number")


def median_cut(column: Column, weights: NDArray[np.float64] | None = None) -> float | None:
    """Return the threshold that splits a column of numbers into the most nearly equal halves.

    None for a column of 0 and 1, which needs no threshold. The threshold is one of the values, but
    not the smallest, so neither half is empty unless the column is constant. Weights, one for each
    value, are used as frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import median_cut, read_column
    >>> median_cut(read_column("age", np.array([21.0, 34.0, 34.0, 55.0, 60.0])))
    55.0
    >>> median_cut(read_column("score", np.array([0, 0, 0, 3])))
    3.0
    """
    if set(column.distinct) <= {0, 1} or not column.values.size:
        return None
    values, index = np.unique(column.values, return_inverse=True)
    if weights is not None and weights.size == column.values.size:
        counts = np.bincount(index, weights)
        values, counts = values[counts > 0], counts[counts > 0]
    else:
        counts = np.bincount(index)
    if values.size == 1:
        return float(values[0])
    at_least = np.cumsum(counts[::-1])[::-1]
    imbalance = np.abs(2 * at_least - at_least[0])
    return float(values[1 + np.argmin(imbalance[1:])])


def differ_only_in_spelling(column: Column) -> bool:
    """Whether two of a column's words differ only in case or in surrounding spaces.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import differ_only_in_spelling, read_column
    >>> differ_only_in_spelling(read_column("sleep", np.array(["Yes", "yes"])))
    True
    """
    words = {_folded(value) for value in column.distinct}
    return column.kind == "word" and len(words) < len(column.distinct)


def shown_values(column: Column) -> str:
    """Format the first few distinct values of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column, shown_values
    >>> shown_values(read_column("grade", np.arange(8)))
    '0, 1, 2, 3, 4 and 3 more'
    """
    head = [shown_value(value) for value in column.distinct[:SHOWN]]
    more = len(column.distinct) - len(head)
    return f"{', '.join(head)} and {more} more" if more else listed(head)


def _distinct(values: NDArray[Any]) -> list[Any]:
    """Return the distinct numbers in order, without sorting a column of 0 and 1."""
    zeros, ones = values == 0, values == 1
    if np.all(zeros | ones):
        kind = values.dtype.type
        return [kind(k).item() for k, found in ((0, zeros), (1, ones)) if found.any()]
    return list(np.unique(values).tolist())


def _read_objects(name: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    present = values[~missing]
    n_missing = int(np.count_nonzero(missing))
    kinds = set(map(type, present))
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        present = present.astype(bool)
        return Column(name, present, np.unique(present).tolist(), "bool", n_missing)
    if kinds and all(issubclass(kind, Real) for kind in kinds):
        present = _as_numbers(present, whole=all(issubclass(kind, Integral) for kind in kinds))
        return Column(name, present, _distinct(present), "number", n_missing)
    try:
        distinct = sorted(dict.fromkeys(present.tolist()), key=str)
    except TypeError:
        return Column(name, present, present[:1].tolist(), "object", n_missing)
    return Column(name, present, distinct, "word", n_missing)


def _as_numbers(values: NDArray[Any], whole: bool) -> NDArray[Any]:
    if whole:
        try:
            return values.astype(np.int64)
        except OverflowError:
            pass
    return values.astype(np.float64)


def _reads_like_prose(column: Column, n_rows: int) -> bool:
    """Whether a column has too many distinct words for categories, or holds sentences."""
    words_each = np.mean([len(str(value).split()) for value in column.distinct])
    if words_each > 2 and len(column.distinct) > 3:
        return True
    return len(column.distinct) > MAX_CATEGORIES and not looks_like_identifier(column, n_rows)


def _folded(value: object) -> str:
    return str(value).strip().casefold()


def _ordered(column: Column) -> tuple[object, object]:
    """Return the label coded 0 and the label coded 1; None stands for a label that never occurs."""
    if column.kind in ("bool", "number"):
        if set(column.distinct) <= {0, 1}:
            return (False, True) if column.kind == "bool" else (0, 1)
    elif len(column.distinct) == 2:
        first, second = column.distinct
        return (second, first) if _first_means_one(first, second) else (first, second)
    if len(column.distinct) == 1:
        (only,) = column.distinct
        return (None, only) if _means_one(only) else (only, None)
    return column.distinct[0], column.distinct[1]


def _first_means_one(first: object, second: object) -> bool:
    """Whether the first of two words, in alphabetical order, is the one to code as 1."""
    before, after = _folded(first), _folded(second)
    if CONVENTIONS.get(after) == before:
        return True
    if CONVENTIONS.get(before) == after:
        return False
    try:
        return float(before) > float(after)
    except ValueError:
        return False


def _means_one(value: object) -> bool:
    return _folded(value) in CONVENTIONS.values() or _folded(value) in ("1", "1.0")
