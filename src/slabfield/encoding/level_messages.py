"""Error messages about columns whose stated kind, reference or scores do not fit their levels."""

from __future__ import annotations

from collections.abc import Sequence

from slabfield.encoding.column_levels import level_order
from slabfield.encoding.columns import Column, shown_values
from slabfield.encoding.labels import tidy
from slabfield.validation.errors import SHOWN, Message, Parameter, listed, shown_value


def describe_order(bad: Sequence[Column]) -> Message:
    """Return the message about words that are to be ordinal, but have no order.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.level_messages import describe_order
    >>> print(describe_order([read_column("mood", np.array(["never", "often", "seldom"]))]))
    Levels of ordinal and Blume-Capel columns must have an order; found 'never', 'often' and \
'seldom' in column 'mood'.
    List them in their order, for example levels={'mood': ['never', 'often', 'seldom']}; or pass \
kinds={'mood': 'nominal'}.
    """
    first = bad[0]
    return Message(
        "levels-without-order",
        "Levels of ordinal and Blume-Capel columns must have an order; found {found}.\n"
        "List them in their order, for example {levels}; or pass {nominal}.",
        {
            "found": _joined([f"{shown_values(c)} in column {c.name!r}" for c in bad]),
            "levels": Parameter("levels", {first.name: list(first.answers)}),
            "nominal": Parameter("kinds", {column.name: "nominal" for column in bad[:SHOWN]}),
        },
    )


def describe_few(bad: Sequence[Column]) -> Message:
    """Return the message about Blume-Capel columns of one or two levels.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.level_messages import describe_few
    >>> print(describe_few([read_column("mood", np.array([0, 1]))]))
    Blume-Capel columns must have three or more levels; found 0 and 1 in column 'mood'.
    Leave it out of kinds: a column of two values is binary.
    """
    return Message(
        "too-few-levels",
        "Blume-Capel columns must have three or more levels; found {found}.\n"
        "Leave {it} out of {kinds}: a column of two values is binary.",
        {
            "found": _joined([f"{shown_values(c)} in column {c.name!r}" for c in bad]),
            "it": "it" if len(bad) == 1 else "them",
            "kinds": Parameter("kinds"),
        },
    )


def describe_references(bad: Sequence[Column]) -> Message:
    """Return the message about references of Blume-Capel columns that are none of their levels."""
    found, first = [], bad[0]
    for column in bad:
        order = level_order(column)
        levels = [shown_value(level) for level in (order.labels if order else ())]
        reference = column.rules.kind.reference if column.rules.kind else None
        found.append(
            f"{shown_value(reference)} for column {column.name!r}, which has "
            f"{listed(levels, shown=len(levels))}"
        )
    order = level_order(first)
    labels = order.labels if order else ()
    return Message(
        "reference-not-a-level",
        "The reference of a Blume-Capel column must be one of its levels; found {found}.\n"
        "Pass for example {kinds}.",
        {
            "found": _joined(found),
            "kinds": Parameter(
                "kinds", {first.name: ("blume-capel", labels[(len(labels) - 1) // 2])}
            ),
        },
    )


def describe_scores(bad: Sequence[Column]) -> Message:
    """Return the message about stated scores that do not fit the levels of their columns."""
    first = bad[0]
    answers = [tidy(value) for value in first.answers]
    return Message(
        "scores-do-not-fit",
        "{scores} must give an ordinal column one number for each of its levels, and a Blume-Capel "
        "column equally spaced ones; found {found}.\n{advice}",
        {
            "scores": Parameter("scores"),
            "found": _joined([_found_scores(column) for column in bad]),
            "advice": Message(
                "pass-scores",
                "Pass for example {example}, or leave the column out of {scores}.",
                {
                    "example": Parameter("scores", {first.name: list(range(len(answers)))}),
                    "scores": Parameter("scores"),
                },
            )
            if len(answers) > 2 and level_order(first) is not None
            else Message(
                "no-scores",
                "Leave the column out of {scores}: binary columns have the scores 0 and 1, nominal "
                "ones none.",
                {"scores": Parameter("scores")},
            ),
        },
    )


def _found_scores(column: Column) -> str:
    numbers = [f"{score:g}" for score in column.rules.scores if not isinstance(score, str)]
    return (
        f"{listed(numbers, shown=len(numbers))} for column {column.name!r}, which holds "
        f"{shown_values(column)}"
    )


def _joined(found: Sequence[str]) -> str:
    more = len(found) - SHOWN
    return "; ".join([*found[:SHOWN], *([f"and {more} more columns"] if more > 0 else [])])
