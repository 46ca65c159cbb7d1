"""One column of a table: its values, its faults, and the variable it becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_rules import UNSTATED, ColumnRules
from slabfield.encoding.labels import Key, folded, label_key, numbers_in_text, value_key
from slabfield.encoding.missing_codes import AnswerRange, likely_codes
from slabfield.encoding.variables import Variable
from slabfield.validation.errors import SHOWN, listed, shown_value

Kind = Literal["bool", "number", "word", "object"]
Fault = Literal["codes", "levels", "missing", "infinite", "object", "identifier", "text", "values"]

MAX_CATEGORIES = 10
"""A column with more distinct words than this is taken for free text."""

IDENTIFIER_ROWS = 5
"""Fewest rows at which a column with a distinct value per row is taken for an identifier."""

CONVENTIONS = {
    "no": "yes",
    "nein": "ja",
    "nee": "ja",
    "nej": "ja",
    "nei": "ja",
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
    """The values of a column, without those that are missing, and what was found in them.

    Parameters
    ----------
    name : str
    values : array
        The values that are not missing.
    distinct : list
        The distinct values in order; of words that differ only in spelling, one.
    kind : {"bool", "number", "word", "object"}
    n_missing : int
    rules : ColumnRules
        What the user states about the values.
    suspected : mapping from value to int
        Likely codes for missing answers about which nothing is stated, with their counts.
    outside : mapping from value to int
        Values that are none of the stated levels, with their counts.
    spellings : mapping from str to tuple of str
        The spellings of each word that has several.
    """

    name: str
    values: NDArray[Any]
    distinct: list[Any]
    kind: Kind
    n_missing: int
    rules: ColumnRules = UNSTATED
    suspected: Mapping[Any, int] = {}
    outside: Mapping[Any, int] = {}
    spellings: Mapping[str, tuple[str, ...]] = {}

    @property
    def answers(self) -> list[Any]:
        """The distinct values that are neither likely missing codes nor outside the levels."""
        return [x for x in self.distinct if x not in self.suspected and x not in self.outside]


def read_column(
    name: str,
    values: NDArray[Any],
    missing: NDArray[np.bool_] | None = None,
    rules: ColumnRules = UNSTATED,
) -> Column:
    """Classify the values of a column; ``missing`` is its mask, if already known.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> column = read_column("sleep", np.array(["yes", None, "no"], dtype=object))
    >>> column.kind, column.distinct, column.n_missing
    ('word', ['no', 'yes'], 1)
    >>> read_column("sleep", np.array([0, 1, 9, 9])).suspected
    {9: 2}
    """
    missing = rules.missing_in(values) if missing is None else missing
    present, kind = answers_in(values[~missing] if missing.any() else values)
    n_missing = values.size - present.size
    if kind == "word":
        try:
            counts = Counter(present.tolist())
        except TypeError:  # not hashable: objects that are no values
            return Column(name, present, present[:1].tolist(), "object", n_missing, rules)
        return word_column(name, present, counts, n_missing, rules)
    distinct = _distinct(present)
    suspected, outside = _unexplained(distinct, rules)
    return Column(
        name, present, distinct, kind, n_missing, rules,
        {code: int(np.count_nonzero(present == code)) for code in suspected},
        {value: int(np.count_nonzero(present == value)) for value in outside},
    )  # fmt: skip


def word_column(
    name: str, values: NDArray[Any], counts: Mapping[Any, int], n_missing: int, rules: ColumnRules
) -> Column:
    """Return a column of words, whose spellings and their counts are known.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_rules import UNSTATED
    >>> from slabfield.encoding.columns import word_column
    >>> column = word_column("sleep", np.zeros(0), {"Yes": 1, "yes ": 2, "no": 4}, 0, UNSTATED)
    >>> column.distinct, column.spellings
    (['no', 'yes'], {'yes': ('Yes', 'yes ')})
    """
    spellings = group_spellings(counts, label_key(rules.levels or ()))
    distinct = sorted(spellings, key=str)
    suspected, outside = _unexplained(distinct, rules)

    def times(labels: Iterable[Any]) -> dict[Any, int]:
        return {label: sum(counts[raw] for raw in spellings[label]) for label in labels}

    several = {label: tuple(raw) for label, raw in spellings.items() if len(raw) > 1}
    return Column(
        name, values, distinct, "word", n_missing, rules, times(suspected), times(outside), several
    )


def group_spellings(counts: Mapping[Any, int], key: Key) -> dict[Any, list[Any]]:
    """Return the labels of a column of words, each with its spellings in order.

    The label is the most frequent spelling, without surrounding blanks.

    Examples
    --------
    >>> from slabfield.encoding.columns import group_spellings
    >>> from slabfield.encoding.labels import folded
    >>> group_spellings({"yes": 3, "Yes ": 1, "no": 4}, folded)
    {'yes': ['Yes ', 'yes'], 'no': ['no']}
    """
    groups: dict[Any, list[Any]] = {}
    for word in sorted(counts, key=str):
        groups.setdefault(key(word), []).append(word)
    return {_most_frequent(raw, counts): raw for raw in groups.values()}


def _most_frequent(spellings: Sequence[Any], counts: Mapping[Any, int]) -> Any:
    if not isinstance(spellings[0], str):
        return spellings[0]
    times: Counter[str] = Counter()
    for text in spellings:
        times[text.strip()] += counts[text]
    return max(times, key=lambda text: times[text])


def _unexplained(distinct: Sequence[Any], rules: ColumnRules) -> tuple[list[Any], list[Any]]:
    """Return likely missing codes about which nothing is stated, and values outside the levels."""
    return [] if rules.settled else likely_codes(distinct), rules.outside_levels(distinct)


def answers_in(values: NDArray[Any]) -> tuple[NDArray[Any], Kind]:
    """Return values that are not missing as an array of their kind, and the kind.

    Numbers that are all written as text are numbers: a mark for missing answers or a blank, which
    made all of the column text, may have been among them.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import answers_in
    >>> answers_in(np.array(["2", "1"], dtype=object))
    (array([2, 1]), 'number')
    """
    present, kind = typed_values(values)
    numbers = numbers_in_text(present) if kind == "word" else None
    return (present, kind) if numbers is None else (numbers, "number")


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
        try:
            return _as_numbers(values, whole=all_are(Integral)), "number"
        except OverflowError:  # whole numbers beyond the range of floats
            return values, "word"
    return values, "word"


def find_faults(column: Column, n_rows: int, threshold: float | None) -> list[Fault]:
    """Return the reasons why a column cannot be coded.

    Whether the values are too many is judged without likely codes for missing answers.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import find_faults, read_column
    >>> column = read_column("age", np.array([21, 34, 34]))
    >>> find_faults(column, n_rows=3, threshold=None)
    []
    >>> find_faults(read_column("age", np.array([21, 34, 55, -99])), n_rows=4, threshold=None)
    ['codes', 'values']
    """
    if column.kind == "object":
        return ["object"]
    faults: list[Fault] = []
    if column.suspected:
        faults.append("codes")
    if column.outside:
        faults.append("levels")
    if column.n_missing:
        faults.append("missing")
    if column.kind == "number" and not np.all(np.isfinite(column.distinct)):
        return [*faults, "infinite"]
    answers = column._replace(distinct=column.answers)
    if len(answers.distinct) <= 2 or threshold is not None:
        return faults
    if answers.kind == "word" and _reads_like_prose(answers, n_rows):
        return [*faults, "text"]
    return [*faults, "identifier" if looks_like_identifier(answers, n_rows) else "values"]


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
    rules = column.rules
    if threshold is None:
        return Variable.binary(
            column.name, _ordered(column), na_values=rules.na_values, levels=rules.levels
        )
    known = None if rules.settled or not column.distinct else AnswerRange.of(column.distinct)
    labels = f"< {threshold:g}", f">= {threshold:g}"
    return Variable.binary(column.name, labels, threshold, rules.na_values, rules.levels, known)


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


def shown_values(column: Column) -> str:
    """Format the first few answers of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column, shown_values
    >>> shown_values(read_column("grade", np.arange(8)))
    '0, 1, 2, 3, 4 and 3 more'
    """
    head = [shown_value(value) for value in column.answers[:SHOWN]]
    more = len(column.answers) - len(head)
    return f"{', '.join(head)} and {more} more" if more else listed(head)


def _distinct(values: NDArray[Any]) -> list[Any]:
    """Return the distinct numbers or truth values in order."""
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


def _ordered(column: Column) -> tuple[object, object]:
    """Return the label coded 0 and the label coded 1; None stands for a label that never occurs."""
    if column.rules.levels is not None:
        return _in_order_of_levels(column.distinct, column.rules.levels)
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


def _in_order_of_levels(distinct: Sequence[Any], levels: Sequence[object]) -> tuple[object, object]:
    """Return the labels in the order of the levels, as they are written in the column."""
    key = value_key(levels)
    written = {key(value): value for value in distinct}
    labels = [written.get(key(level), level) for level in levels]
    if len(labels) > 2:
        labels = [label for label in labels if label in distinct]
    return (labels[0], labels[1]) if len(labels) == 2 else (labels[0], None)


def _first_means_one(first: object, second: object) -> bool:
    """Whether the first of two words, in alphabetical order, is the one to code as 1."""
    before, after = folded(str(first)), folded(str(second))
    if CONVENTIONS.get(after) == before:
        return True
    if CONVENTIONS.get(before) == after:
        return False
    try:
        return float(before) > float(after)
    except ValueError:
        return False


def _means_one(value: object) -> bool:
    text = folded(str(value))
    return text in CONVENTIONS.values() or text in ("1", "1.0")
