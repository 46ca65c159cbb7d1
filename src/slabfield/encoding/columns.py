"""One column of a table: its values, and what is found in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_rules import UNSTATED, ColumnRules
from slabfield.encoding.labels import Key, label_key, numbers_in_text
from slabfield.encoding.missing_codes import likely_codes
from slabfield.io.frames import Categories
from slabfield.validation.errors import SHOWN, listed, shown_value

Kind = Literal["bool", "number", "word", "object"]


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
    categories : Categories, optional
        The categories of a categorical column.
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
    categories: Categories | None = None

    @property
    def answers(self) -> list[Any]:
        """The distinct values that are neither likely missing codes nor outside the levels."""
        return [x for x in self.distinct if x not in self.suspected and x not in self.outside]


def read_column(
    name: str,
    values: NDArray[Any],
    missing: NDArray[np.bool_] | None = None,
    rules: ColumnRules = UNSTATED,
    categories: Categories | None = None,
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
        return word_column(name, present, counts, n_missing, rules, categories)
    distinct = _distinct(present)
    suspected, outside = _unexplained(distinct, rules)
    return Column(
        name, present, distinct, kind, n_missing, rules,
        {code: int(np.count_nonzero(present == code)) for code in suspected},
        {value: int(np.count_nonzero(present == value)) for value in outside},
        categories=categories,
    )  # fmt: skip


def word_column(
    name: str,
    values: NDArray[Any],
    counts: Mapping[Any, int],
    n_missing: int,
    rules: ColumnRules,
    categories: Categories | None = None,
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
    spellings = group_spellings(counts, spelling_key(rules, categories))
    distinct = sorted(spellings, key=str)
    suspected, outside = _unexplained(distinct, rules)

    def times(labels: Iterable[Any]) -> dict[Any, int]:
        return {label: sum(counts[raw] for raw in spellings[label]) for label in labels}

    several = {label: tuple(raw) for label, raw in spellings.items() if len(raw) > 1}
    return Column(
        name, values, distinct, "word", n_missing, rules, times(suspected), times(outside), several,
        categories,
    )  # fmt: skip


def spelling_key(rules: ColumnRules, categories: Categories | None) -> Key:
    """Return the function by which words of a column are compared.

    Examples
    --------
    >>> from slabfield.encoding.column_rules import UNSTATED
    >>> from slabfield.encoding.columns import spelling_key
    >>> spelling_key(UNSTATED, None)("Yes ")
    'yes'
    """
    return label_key(rules.levels or (categories.values if categories else ()))


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
