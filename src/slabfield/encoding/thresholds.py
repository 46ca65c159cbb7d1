"""Thresholds: where ``binarize`` cuts columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_rules import ColumnRules
from slabfield.encoding.columns import Column, median_cut
from slabfield.validation.errors import InputError, Parameter, listed, shown_value
from slabfield.validation.parameters import is_number

Array = NDArray[np.float64]
Binarize: TypeAlias = float | str | Mapping[str, float | str] | None

MEDIAN = "median"


def find_thresholds(
    columns: Sequence[Column], binarize: Binarize, weights: Array | None = None
) -> list[float | None]:
    """Return the threshold of each column, or None where it has none.

    One rule for all columns leaves those alone whose kind is stated by name.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.thresholds import find_thresholds
    >>> find_thresholds([read_column("age", np.array([21, 34, 55, 60]))], "median")
    [55.0]
    """
    if binarize is None:
        return [None] * len(columns)
    if isinstance(binarize, Mapping):
        named = {str(name): at for name, at in binarize.items()}
        return _named_thresholds(columns, named, weights)
    rule = _as_rule(binarize)
    return [
        _cut(column, rule, weights)
        if column.kind == "number" and not _has_levels(column.rules)
        else None
        for column in columns
    ]


def fixed_thresholds(
    names: Sequence[str], binarize: Binarize, rules: Sequence[ColumnRules]
) -> list[float | None]:
    """Return the thresholds of a table whose columns are not known yet.

    One number applies to every column, as in `find_thresholds`; a median would need a whole column.

    Examples
    --------
    >>> from slabfield.encoding.column_rules import UNSTATED
    >>> from slabfield.encoding.thresholds import fixed_thresholds
    >>> fixed_thresholds(["age", "sleep"], {"age": 40}, [UNSTATED, UNSTATED])
    [40.0, None]
    """
    named = {str(k): v for k, v in binarize.items()} if isinstance(binarize, Mapping) else {}
    words = [rule for rule in (binarize, *named.values()) if isinstance(rule, str)]
    if words:
        raise InputError(
            "median-in-chunks",
            "{parameter} must be numbers for a file that is read in chunks; got {value!r}. Pass "
            "for example {example}.",
            parameter=Parameter("binarize"),
            value=words[0],
            example=Parameter("binarize", 2),
        )
    _refuse_unknown(named, names)
    if isinstance(binarize, Mapping):
        _refuse_levels(
            [name for name, own in zip(names, rules, strict=True) if _has_levels(own)], named
        )
        return [_as_number(named[name]) if name in named else None for name in names]
    threshold = None if binarize is None else _as_number(binarize)
    return [None if _has_levels(own) else threshold for own in rules]


def _has_levels(rules: ColumnRules) -> bool:
    """Whether a column is stated, by name, to be of a kind that is not cut."""
    return rules.kind is not None and rules.kind.named and rules.kind.kind != "binary"


def _refuse_levels(with_levels: Sequence[str], named: Mapping[str, Any]) -> None:
    """Refuse thresholds for columns whose kind is stated."""
    both = [repr(name) for name in with_levels if name in named]
    if both:
        raise InputError(
            "threshold-and-kind",
            "{binarize} and {kinds} must not name the same column, because one cuts it in two and "
            "the other keeps its levels; found {columns} in both. Leave it out of one of them.",
            binarize=Parameter("binarize"),
            kinds=Parameter("kinds"),
            columns=listed(both),
        )


def _cut(column: Column, rule: float | str, weights: Array | None) -> float | None:
    """Return the threshold of a numeric column."""
    return median_cut(column, weights) if isinstance(rule, str) else rule


def _named_thresholds(
    columns: Sequence[Column], named: Mapping[str, Any], weights: Array | None
) -> list[float | None]:
    kinds = {column.name: column.kind for column in columns}
    _refuse_unknown(named, list(kinds))
    _refuse_levels([column.name for column in columns if _has_levels(column.rules)], named)
    words = [repr(name) for name in named if kinds[name] != "number"]
    if words:
        raise InputError(
            "threshold-for-words",
            "{parameter} needs columns of numbers; {columns} of the table {are} not. Leave {them} "
            "out of {parameter}.",
            parameter=Parameter("binarize"),
            columns=listed(words),
            are="is" if len(words) == 1 else "are",
            them="it" if len(words) == 1 else "them",
        )
    rules = {name: _as_rule(value) for name, value in named.items()}
    return [_cut(c, rules[c.name], weights) if c.name in rules else None for c in columns]


def _refuse_unknown(named: Mapping[str, Any], names: Sequence[str]) -> None:
    unknown = [repr(name) for name in named if name not in names]
    if unknown:
        raise InputError(
            "threshold-for-unknown-column",
            "{parameter} names {unknown}, which the table does not have; its columns are {names}. "
            "Name columns of the table.",
            parameter=Parameter("binarize"),
            unknown=listed(unknown),
            names=listed([repr(name) for name in names]),
        )


def _as_rule(value: object) -> float | str:
    if isinstance(value, str) and value == MEDIAN:
        return value
    return _as_number(value)


def _as_number(value: object) -> float:
    if is_number(value) and np.isfinite(float(value)):  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise InputError(
        "invalid-threshold",
        "{parameter} must be a number, 'median', or one of these for each column it names; got "
        "{value}. Pass for example {one} or {named}.",
        parameter=Parameter("binarize"),
        value=shown_value(value),
        one=Parameter("binarize", 2),
        named=Parameter("binarize", {"sleep": 2}),
    )
