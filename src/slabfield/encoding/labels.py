"""Comparison of values with labels: case, surrounding blanks, and numbers written as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = Callable[[Any], Any]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def folded(value: Any) -> Any:
    """Return text without case and surrounding blanks; other values as they are.

    Examples
    --------
    >>> from slabfield.encoding.labels import folded
    >>> folded(" Yes"), folded(2)
    ('yes', 2)
    """
    return value.strip().casefold() if isinstance(value, str) else value


def label_key(labels: Iterable[object] = ()) -> Key:
    """Return the function by which values are compared with labels.

    Values that differ only in case or surrounding blanks are one label, unless two of the labels
    differ only in case (as the genotypes AA and Aa do).

    Examples
    --------
    >>> from slabfield.encoding.labels import label_key
    >>> label_key()("Yes"), label_key(["AA", "Aa"])("Aa ")
    ('yes', 'Aa')
    """
    texts = [label for label in labels if isinstance(label, str)]
    return folded if len({folded(text) for text in texts}) == len(texts) else _stripped


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def as_number(value: object) -> float | None:
    """Return a number, or text that is one, as a float; None for anything else.

    Examples
    --------
    >>> from slabfield.encoding.labels import as_number
    >>> as_number(" 99"), as_number(99), as_number("yes"), as_number(True)
    (99.0, 99.0, None, None)
    """
    if isinstance(value, str):
        text = value.strip()  # of characters that float does not take for blanks, too
        return float(text) if NUMBER.fullmatch(text) else None
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, float, np.integer, np.floating)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if np.isfinite(number) else None
    return None


def value_key(labels: Iterable[object] = ()) -> Key:
    """Return the function by which values are compared with what the user states about a column.

    Here text that is a number equals the number, whether it comes from a file or a command line.

    Examples
    --------
    >>> from slabfield.encoding.labels import value_key
    >>> value_key()("99") == value_key()(99.0)
    True
    """
    key = label_key(labels)

    def of(value: Any) -> Any:
        number = as_number(value)
        return key(value) if number is None else number

    return of


def map_distinct(values: NDArray[Any], function: Callable[[Any], Any], dtype: Any) -> NDArray[Any]:
    """Apply a function to values, once for each that is distinct; missing ones are not expected.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.labels import map_distinct
    >>> map_distinct(np.array(["a", "bb", "a"], dtype=object), len, np.int64)
    array([1, 2, 1])
    """
    import pandas as pd

    try:
        # 1 and True are equal, but not the same
        same_type = values.dtype != object or len(set(map(type, values))) < 2
        places, found = pd.factorize(values, use_na_sentinel=False) if same_type else (None, None)
    except TypeError:  # not hashable
        places = None
    if places is None:
        return np.array([function(value) for value in values.tolist()], dtype)
    results = np.array([function(value) for value in np.asarray(found).tolist()], dtype)
    return results[places]


def numbers_in_text(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return numbers that are written as text, or None if some of the values are not.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.labels import numbers_in_text
    >>> numbers_in_text(np.array(["1", "2"], dtype=object))
    array([1, 2])
    """
    numbers = []
    for value in values.tolist():
        number = as_number(value)
        if number is None:
            return None
        numbers.append(number)
    if not numbers:
        return None
    floats = np.array(numbers, np.float64)
    whole = np.all(floats == np.floor(floats)) and np.all(np.abs(floats) < 2**53)
    return floats.astype(np.int64) if whole else floats


def tidy(value: Any) -> Any:
    """Return a whole number as an int; other values as they are.

    Examples
    --------
    >>> from slabfield.encoding.labels import tidy
    >>> tidy(2.0), tidy(2.5), tidy("2")
    (2, 2.5, '2')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value
