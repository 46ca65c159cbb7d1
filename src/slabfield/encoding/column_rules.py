"""What the user states about columns: codes of missing entries, levels, kinds and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.labels import as_number, map_distinct, value_key
from slabfield.validation.errors import InputError, Parameter, closest_name, listed, shown_value
from slabfield.validation.level_parameters import (
    SCORES,
    Kinds,
    Scores,
    StatedKind,
    check_kinds,
    check_scores,
)

Value: TypeAlias = str | float
Codes: TypeAlias = Value | Sequence[Value]
NaValues: TypeAlias = Codes | Mapping[str | None, Codes] | None
Levels: TypeAlias = Mapping[str, Sequence[Value]] | None


class ColumnRules(NamedTuple):
    """The codes of missing entries of a column, its levels, kind and scores.

    None where nothing is stated.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_rules import ColumnRules
    >>> ColumnRules(na_values=(9,)).missing_in(np.array([0, 9, 1]))
    array([False,  True, False])
    """

    na_values: tuple[Value, ...] | None = None
    levels: tuple[Value, ...] | None = None
    kind: StatedKind | None = None
    scores: str | tuple[float, ...] = SCORES[0]

    @property
    def settled(self) -> bool:
        """Whether all values that are not missing are stated to be answers."""
        return self.levels is not None or self.na_values == ()

    def missing_in(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the mask of missing entries: NaN, None, NaT, NA, blank text, and stated codes."""
        numeric = values.dtype.kind in "biuf"
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, np.bool_)
        if not numeric:
            import pandas as pd

            missing = np.asarray(pd.isna(values), dtype=np.bool_)
            known = values[~missing].astype(object)
            missing[~missing] = map_distinct(known, _is_blank, np.bool_)
        if self.na_values and values.dtype.kind != "b":
            if numeric:
                numbers = [as_number(code) for code in self.na_values]
                return missing | np.isin(values, [code for code in numbers if code is not None])
            key = value_key(self.na_values)
            codes = {key(code) for code in self.na_values}
            known = values[~missing].astype(object)
            missing[~missing] = map_distinct(known, lambda x: _is_among(x, codes, key), np.bool_)
        return missing

    def outside_levels(self, distinct: Iterable[Any]) -> list[Any]:
        """Return the distinct values that are none of the levels."""
        if self.levels is None:
            return []
        key = value_key(self.levels)
        levels = {key(level) for level in self.levels}
        return [value for value in distinct if key(value) not in levels]


UNSTATED = ColumnRules()
"""Rules of a column about whose values nothing is stated."""


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def _is_among(value: Any, codes: set[Any], key: Any) -> bool:
    try:
        return key(value) in codes
    except TypeError:  # not hashable, so no code
        return False


def column_rules(
    names: Sequence[str],
    na_values: NaValues = None,
    levels: Levels = None,
    kinds: Kinds = None,
    scores: Scores = SCORES[0],
) -> list[ColumnRules]:
    """Check what is stated about columns, and return it column by column.

    In a mapping of codes, kinds or scores, the key None stands for all columns that it does not
    name. Levels take precedence over codes that are stated for all columns.

    Examples
    --------
    >>> from slabfield.encoding.column_rules import column_rules
    >>> [(own.na_values, own.levels) for own in column_rules(["a", "b"], 9, {"b": [0, 9]})]
    [((9,), None), ((), (0, 9))]
    """
    named_levels = _check_levels(names, levels)
    by_column = dict(na_values) if isinstance(na_values, Mapping) else {None: na_values}
    for_others = by_column.pop(None, None)
    general = None if for_others is None else _check_codes(for_others)
    named_codes = {str(name): _check_codes(some) for name, some in by_column.items()}
    _refuse_unknown("na_values", named_codes, names)
    for name, codes in named_codes.items():
        _refuse_contradiction(name, codes, named_levels.get(name, ()))
    stated_kinds, stated_scores = check_kinds(kinds), check_scores(scores)
    _refuse_unknown("kinds", [name for name in stated_kinds if name is not None], names)
    _refuse_unknown("scores", [name for name in stated_scores if name is not None], names)
    return [
        ColumnRules(
            named_codes.get(name, _without(general, named_levels.get(name))),
            named_levels.get(name),
            stated_kinds.get(name, stated_kinds.get(None)),
            stated_scores.get(name, stated_scores[None]),
        )
        for name in names
    ]


def _check_levels(names: Sequence[str], levels: Any) -> dict[str, tuple[Value, ...]]:
    if levels is None:
        return {}
    if not isinstance(levels, Mapping):
        raise InputError(
            "levels-not-a-mapping",
            "{levels} must be a mapping from column names to lists of all their values; got "
            "{value}. Pass for example {example}.",
            levels=Parameter("levels"),
            value=shown_value(levels),
            example=Parameter("levels", {"sleep": [1, 2, 3]}),
        )
    checked = {str(name): _as_values(some) for name, some in levels.items()}
    _refuse_unknown("levels", checked, names)
    for name, some in checked.items():
        key = value_key(some or ())
        if some is None or len(some) < 2 or len({key(value) for value in some}) < len(some):
            raise InputError(
                "invalid-levels",
                "{levels} must list two or more different numbers or texts for a column; got "
                "{value} for {column!r}. Pass for example {example}.",
                levels=Parameter("levels"),
                value=shown_value(levels.get(name, some)),
                column=name,
                example=Parameter("levels", {name: [1, 2, 3]}),
            )
    return {name: some for name, some in checked.items() if some is not None}


def _check_codes(given: Any) -> tuple[Value, ...]:
    codes = _as_values([given] if isinstance(given, str) or np.ndim(given) == 0 else given)
    if codes is None:
        raise InputError(
            "invalid-na-values",
            "{na_values} must be a number or text that stands for a missing answer, a list of "
            "these, or a mapping from column names to them; got {value}. Pass for example {one} or "
            "{named}.",
            na_values=Parameter("na_values"),
            value=shown_value(given),
            one=Parameter("na_values", [9, 99]),
            named=Parameter("na_values", {"sleep": 99}),
        )
    return codes


def _as_values(given: Any) -> tuple[Value, ...] | None:
    """Return a list of numbers and texts as a tuple, or None if it is something else."""
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        return None
    values = tuple(x.item() if isinstance(x, np.generic) else x for x in given)
    valid = all(isinstance(x, str) or as_number(x) is not None for x in values)
    return values if valid else None


def _refuse_unknown(parameter: str, named: Iterable[str], names: Sequence[str]) -> None:
    unknown = [name for name in named if name not in names]
    if unknown:
        closest = closest_name(unknown[0], names)
        raise InputError(
            "values-of-unknown-column",
            "{parameter} names {unknown}, which the table does not have; its columns are {names}. "
            "{advice}",
            parameter=Parameter(parameter),
            unknown=listed([repr(name) for name in unknown]),
            names=listed([repr(name) for name in names]),
            advice=f"Did you mean {closest!r}?" if closest else "Name columns of the table.",
        )


def _refuse_contradiction(name: str, codes: Sequence[Value], levels: Sequence[Value]) -> None:
    kept = _without(tuple(codes), tuple(levels)) or ()
    both = [shown_value(code) for code in codes if code not in kept]
    if both:
        raise InputError(
            "levels-and-missing",
            "{levels} and {na_values} must not name the same value of a column; found {values} of "
            "{column!r} in both. Remove it from one of them.",
            levels=Parameter("levels"),
            na_values=Parameter("na_values"),
            values=listed(both),
            column=name,
        )


def _without(
    codes: tuple[Value, ...] | None, levels: tuple[Value, ...] | None
) -> tuple[Value, ...] | None:
    if codes is None or levels is None:
        return codes
    key = value_key(levels)
    known = {key(level) for level in levels}
    return tuple(code for code in codes if key(code) not in known)
