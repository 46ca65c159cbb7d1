"""Notes on columns with levels: their kinds, and levels that never or hardly ever occur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_levels import level_order
from slabfield.encoding.columns import Column
from slabfield.encoding.variables import Variable
from slabfield.validation.errors import InputWarning, listed, shown_value, warn_user

KIND_NAMES = {"ordinal": "ordinal", "blume-capel": "Blume-Capel", "nominal": "nominal"}
"""Names of the kinds with levels in text."""

MOST_GROUPS = 4
"""Groups of columns with the same levels that a note describes one by one."""

LABEL_WIDTH = 20
"""Characters of a label that a note shows."""


def level_rule(variable: Variable) -> str:
    """Describe the kind and the levels of a variable.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.encoding.level_notes import level_rule
    >>> level_rule(Variable("mood", "blume-capel", (1, 2, 3), (0, 1, 2), reference=1))
    'Blume-Capel with levels 1, 2 and 3 and reference 2'
    """
    labels = [shown_value(label, LABEL_WIDTH) for label in variable.labels]
    text = f"{KIND_NAMES[variable.kind]} with levels {listed(labels, shown=len(labels))}"
    if variable.reference is None:
        return text
    return f"{text} and reference {_reference(variable, variable.reference)}"


def _reference(variable: Variable, position: int) -> str:
    """Return the reference level; one that never occurs is among the stated levels or numbers."""
    if position in variable.positions:
        return shown_value(variable.labels[variable.positions.index(position)])
    if variable.levels is not None:
        return shown_value(variable.levels[position])
    first = variable.labels[0]
    if isinstance(first, int):
        return shown_value(first + position - variable.positions[0])
    return f"at place {position + 1}"


def notes_of_levels(columns: Sequence[Column], variables: Sequence[Variable]) -> list[str]:
    """Write notes on columns with levels: their kinds, and levels that never occur.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_variables import variable_of
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.level_notes import notes_of_levels
    >>> column = read_column("sleep", np.array([1, 2, 4, 4]))
    >>> for note in notes_of_levels([column], [variable_of(column, None)]):
    ...     print(note)
    Column 'sleep' is ordinal with levels 1, 2 and 4.
    Levels that never occur are left out, and keep their place in the order: 3 of 'sleep'.
    Where a kind is wrong, state the right one.
    """
    notes = []
    for kind in KIND_NAMES:
        notes += _notes_of_kind([variable for variable in variables if variable.kind == kind])
    pairs = list(zip(columns, variables, strict=True))
    notes += _note_of_never_seen(
        [(variable.name, never_seen(column, variable)) for column, variable in pairs]
    )
    if any(variable.kind in KIND_NAMES and column.rules.kind is None for column, variable in pairs):
        notes.append("Where a kind is wrong, state the right one.")
    return notes


def _notes_of_kind(variables: Sequence[Variable]) -> list[str]:
    """Write a note for each of the most common sets of levels, and one for all others."""
    groups: dict[str, list[Variable]] = {}
    for variable in variables:
        groups.setdefault(level_rule(variable), []).append(variable)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    notes = [f"{_columns_are(group)} {rule}." for rule, group in ordered[:MOST_GROUPS]]
    others = [variable for _, group in ordered[MOST_GROUPS:] for variable in group]
    if others:
        sizes = [variable.n_levels for variable in others]
        n_levels = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else str(sizes[0])
        kind = KIND_NAMES[others[0].kind]
        notes.append(f"{_columns_are(others)} {kind} with {n_levels} levels of their own.")
    return notes


def _columns_are(variables: Sequence[Variable]) -> str:
    names = listed([repr(variable.name) for variable in variables], shown=3)
    return f"Columns {names} are" if len(variables) > 1 else f"Column {names} is"


def never_seen(column: Column, variable: Variable) -> list[Any]:
    """Return the levels of a column that never occur, and are not among the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_variables import variable_of
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.level_notes import never_seen
    >>> column = read_column("sleep", np.array([1, 2, 4, 4]))
    >>> never_seen(column, variable_of(column, None))
    [3]
    """
    stated = variable.levels is not None and len(variable.levels) > 2
    has_order = variable.is_scored and variable.kind in KIND_NAMES
    order = level_order(column) if variable.threshold is None and (stated or has_order) else None
    return [] if order is None else order.never_seen


def _note_of_never_seen(found: Sequence[tuple[str, list[Any]]]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name, levels in found:
        if levels:
            shown = listed([shown_value(level, LABEL_WIDTH) for level in levels])
            groups.setdefault(shown, []).append(repr(name))
    if not groups:
        return []
    each = [f"{levels} of {listed(names, shown=3)}" for levels, names in groups.items()]
    more = len(each) - MOST_GROUPS
    others = f"; others of {more} more column{'s' if more > 1 else ''}" if more > 0 else ""
    return [
        "Levels that never occur are left out, and keep their place in the order: "
        f"{'; '.join(each[:MOST_GROUPS])}{others}."
    ]


def warn_of_single_rows(
    rows: NDArray[np.uint8],
    missing: NDArray[np.bool_],
    variables: Sequence[Variable],
    counts: NDArray[np.float64] | None = None,
) -> None:
    """Warn of levels that occur in one row only, of columns with three or more levels.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding import Variable
    >>> from slabfield.encoding.level_notes import warn_of_single_rows
    >>> rows = np.array([[0], [1], [2]] * 2, np.uint8)
    >>> variable = Variable("mood", "ordinal", (1, 2, 3), (0, 1, 2))
    >>> warn_of_single_rows(rows, np.zeros(rows.shape, np.bool_), [variable])
    """
    found = []
    for k, variable in enumerate(variables):
        if variable.kind not in KIND_NAMES:
            continue
        known = ~missing[:, k]
        weights = None if counts is None else counts[known]
        times = np.bincount(rows[known, k], weights, minlength=variable.n_levels)
        rare = [shown_value(variable.labels[code]) for code in np.flatnonzero(times == 1)]
        if rare:
            found.append(f"{listed(rare)} of {variable.name!r}")
    if found:
        warn_user(
            InputWarning(
                "levels-of-one-row",
                "Levels should occur in several rows; found in one row only: {found}. The data say "
                "next to nothing about such a level. Merge it with a neighboring level (of a "
                "nominal column, with a similar one), unless you want this.",
                found="; ".join(found[:5]) + (f"; and {len(found) - 5} more" if found[5:] else ""),
            )
        )
