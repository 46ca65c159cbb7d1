"""One column of a table: its values, its faults, and the variable it becomes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.variables import Variable
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
    present, kind = typed_values(values[~missing] if missing.any() else values)
    n_missing = values.size - present.size
    try:
        return Column(name, present, _distinct(present, kind), kind, n_missing)
    except TypeError:  # not hashable: objects that are no values
        return Column(name, present, present[:1].tolist(), "object", n_missing)


def typed_values(values: NDArray[Any]) -> tuple[NDArray[Any], Kind]:
    """Return values that are not missing as an array of their kind, and the kind.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import typed_values
    >>> typed_values(np.array([2, 0.5], dtype=object))
    (array([2. , 0.5]), 'number')
    """
    if values.dtype.kind == "b":
        return values, "bool"
    if values.dtype.kind in "iuf":
        return values, "number"
    values = values.astype(object)
    types = set(map(type, values))

    def all_are(kind: type | tuple[type, ...]) -> bool:
        return bool(types) and all(issubclass(each, kind) for each in types)

    if all_are((bool, np.bool_)):
        return values.astype(bool), "bool"
    if all_are(Real):
        return _as_numbers(values, whole=all_are(Integral)), "number"
    return values, "word"


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


def binary_variable(column: Column, threshold: float | None) -> Variable:
    """Decide which label of a valid column is coded 0, and which 1.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import binary_variable, read_column
    >>> binary_variable(read_column("sleep", np.array(["No", "Yes", "No"])), None).labels
    ('No', 'Yes')
    >>> binary_variable(read_column("age", np.array([21, 34, 55])), 30.0).labels
    ('< 30', '>= 30')
    """
    if threshold is None:
        return Variable.binary(column.name, _ordered(column))
    return Variable.binary(column.name, (f"< {threshold:g}", f">= {threshold:g}"), threshold)


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


def _distinct(values: NDArray[Any], kind: Kind) -> list[Any]:
    """Return the distinct values in order."""
    if kind == "word":
        return sorted(dict.fromkeys(values.tolist()), key=str)
    zeros, ones = values == 0, values == 1
    if np.all(zeros | ones):  # without sorting
        convert = values.dtype.type
        return [convert(k).item() for k, found in ((0, zeros), (1, ones)) if found.any()]
    return list(np.unique(values).tolist())


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
