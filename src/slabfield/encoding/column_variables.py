"""The variable that a valid column becomes: the order of its labels, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slabfield.encoding.column_levels import (
    as_written,
    kind_of,
    level_order,
    nominal_labels,
    reference_position,
)
from slabfield.encoding.columns import Column
from slabfield.encoding.labels import folded
from slabfield.encoding.missing_codes import AnswerRange
from slabfield.encoding.scores import level_scores
from slabfield.encoding.variables import Variable

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


def variable_of(column: Column, threshold: float | None) -> Variable:
    """Return the variable of a valid column: binary if it has a threshold or at most two values.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_variables import variable_of
    >>> from slabfield.encoding.columns import read_column
    >>> variable_of(read_column("sleep", np.array([1, 2, 4, 5])), None).positions
    (0, 1, 3, 4)
    >>> variable_of(read_column("place", np.array(["x", "z", "y"])), None).kind
    'nominal'
    """
    if threshold is not None or len(column.distinct) <= 2:
        return binary_variable(column, threshold)
    return level_variable(column)


def level_variable(column: Column) -> Variable:
    """Return the variable of a valid column of three or more levels.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_variables import level_variable
    >>> from slabfield.encoding.columns import read_column
    >>> level_variable(read_column("sleep", np.array([2, 1, 3]))).labels
    (1, 2, 3)
    """
    kind, rules = kind_of(column), column.rules
    if kind == "nominal":
        labels = nominal_labels(column)
        return Variable(
            column.name, kind, labels, (), na_values=rules.na_values, levels=rules.levels
        )
    order = level_order(column)
    if order is None:
        raise ValueError(f"levels of {column.name!r} without an order")
    return Variable(
        column.name,
        kind,
        order.labels,
        level_scores(rules.scores, order.positions, len(order.places)),
        na_values=rules.na_values,
        levels=rules.levels,
        positions=order.positions,
        reference=reference_position(column, order) if kind == "blume-capel" else None,
    )


def binary_variable(column: Column, threshold: float | None) -> Variable:
    """Decide which label of a valid column is coded 0, and which 1.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_variables import binary_variable
    >>> from slabfield.encoding.columns import read_column
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
    labels = as_written(levels, distinct)
    if len(labels) > 2:
        labels = tuple(label for label in labels if label in distinct)
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
