"""Checks of the parameters for columns with levels: kinds and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from slabfield.validation.errors import InputError, Parameter, closest_name, listed, shown_value
from slabfield.validation.parameters import is_number

KINDS = ("binary", "ordinal", "blume-capel", "nominal")
"""Kinds of variable that models know."""

SCORES = ("standard", "raw", "range")
"""Rules for the scores of levels."""

Kind: TypeAlias = str | tuple[str, Any]
Kinds: TypeAlias = Kind | Mapping[Any, Kind] | None
ColumnScores: TypeAlias = str | Sequence[float]
Scores: TypeAlias = str | Mapping[Any, ColumnScores]


class StatedKind(NamedTuple):
    """The kind of a column as the user states it.

    Parameters
    ----------
    kind : {"binary", "ordinal", "blume-capel", "nominal"}
    reference : str or number, optional
        Label of the reference level of a Blume-Capel column.
    named : bool
        Whether it was stated for this column by name, not for all columns of three or more values.
    """

    kind: str
    reference: Any = None
    named: bool = True


def check_kinds(kinds: Any) -> dict[str | None, StatedKind]:
    """Return the kinds of columns by name; the key None stands for all other columns.

    Examples
    --------
    >>> from slabfield.validation.level_parameters import check_kinds
    >>> check_kinds({"mood": ("blume-capel", 3)})
    {'mood': StatedKind(kind='blume-capel', reference=3, named=True)}
    >>> check_kinds("nominal")
    {None: StatedKind(kind='nominal', reference=None, named=False)}
    """
    if kinds is None:
        return {}
    by_column = kinds if isinstance(kinds, Mapping) else {None: kinds}
    return {
        None if name is None else str(name): _check_kind(kind)._replace(named=name is not None)
        for name, kind in by_column.items()
    }


def _check_kind(given: Any) -> StatedKind:
    kind, *reference = given if isinstance(given, tuple | list) and given else (given,)
    if kind == "blume-capel" and len(reference) < 2:
        label = reference[0] if reference else None
        return StatedKind(kind, label.item() if isinstance(label, np.generic) else label)
    if isinstance(kind, str) and kind in KINDS and not reference:
        return StatedKind(kind)
    closest = closest_name(kind, KINDS) if isinstance(kind, str) and kind not in KINDS else None
    raise InputError(
        "unknown-kind",
        "{kinds} must give columns the kind {known}, or {pair} with the label of its reference "
        "level; got {value}. {advice}, for example {example}.",
        kinds=Parameter("kinds"),
        known=_alternatives(KINDS),
        pair="('blume-capel', label)",
        value=shown_value(given),
        advice=f"Did you mean {closest!r}? Pass it" if closest else "Pass one of these",
        example=Parameter("kinds", {"sleep": closest or "ordinal"}),
    )


def check_scores(scores: Any) -> dict[str | None, str | tuple[float, ...]]:
    """Return the scores of columns by name; the key None stands for all other columns.

    Examples
    --------
    >>> from slabfield.validation.level_parameters import check_scores
    >>> check_scores({"dose": [0, 1, 5]})
    {None: 'standard', 'dose': (0.0, 1.0, 5.0)}
    """
    by_column = scores if isinstance(scores, Mapping) else {None: scores}
    checked: dict[str | None, str | tuple[float, ...]] = {None: SCORES[0]}
    for name, rule in by_column.items():
        if isinstance(rule, str) and rule in SCORES:
            checked[None if name is None else str(name)] = rule
        elif name is None or isinstance(rule, str) or not hasattr(rule, "__iter__"):
            raise _unknown_scores(rule)
        else:
            checked[str(name)] = _check_numbers(str(name), list(rule))
    return checked


def _unknown_scores(rule: Any) -> InputError:
    closest = closest_name(rule, SCORES) if isinstance(rule, str) else None
    return InputError(
        "unknown-scores",
        "{scores} must be {known}, or a mapping from column names to lists of increasing numbers; "
        "got {value}. {advice}",
        scores=Parameter("scores"),
        known=_alternatives(SCORES),
        value=shown_value(rule),
        advice=f"Did you mean {closest!r}?" if closest else "Pass one of these.",
    )


def _check_numbers(name: str, numbers: list[Any]) -> tuple[float, ...]:
    valid = all(is_number(x) and isfinite(x) for x in numbers)
    if not valid or any(before >= after for before, after in pairwise(numbers)):
        raise InputError(
            "scores-not-increasing",
            "{scores} must be increasing numbers, one for each level; got {value} for {column!r}. "
            "Pass for example {example}.",
            scores=Parameter("scores"),
            value=listed([shown_value(x) for x in numbers], shown=12) or "none",
            column=name,
            example=Parameter("scores", {name: [0, 1, 2]}),
        )
    return tuple(map(float, numbers))


def _alternatives(words: Sequence[str]) -> str:
    return f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
