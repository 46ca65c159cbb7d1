"""Faults of columns: why they cannot be coded."""

from __future__ import annotations

from typing import Literal

import numpy as np

from slabfield.encoding.column_levels import (
    kind_of,
    level_order,
    reference_position,
    scores_fit,
)
from slabfield.encoding.columns import Column

Fault = Literal[
    "codes", "levels", "missing", "infinite", "object", "identifier", "text", "values", "order",
    "few", "reference", "scores",
]  # fmt: skip

MAX_LEVELS = 12
"""Most levels of a column."""

IDENTIFIER_ROWS = 5
"""Fewest rows at which a column with a distinct value per row is taken for an identifier."""


def find_faults(column: Column, n_rows: int, threshold: float | None) -> list[Fault]:
    """Return the reasons why a column cannot be coded.

    Whether the values are too many is judged without likely codes for missing answers.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_faults import find_faults
    >>> from slabfield.encoding.columns import read_column
    >>> find_faults(read_column("mood", np.array([1, 2, 3, 3])), n_rows=4, threshold=None)
    []
    >>> find_faults(read_column("dose", np.array([0.5, 1, 2, -99])), n_rows=4, threshold=None)
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
    if threshold is not None:
        return faults or _faults_of_scores(column)
    answers = column._replace(distinct=column.answers)
    if len(answers.distinct) > 2:
        fault = _level_fault(answers, n_rows)
        return faults if fault is None else [*faults, fault]
    return faults or _faults_of_two(answers)


def _faults_of_two(column: Column) -> list[Fault]:
    """Return the faults of a column of at most two values, of which something else was stated."""
    stated = column.rules.kind
    if stated is not None and stated.named and stated.kind == "blume-capel":
        return ["few"]
    return _faults_of_scores(column)


def _faults_of_scores(column: Column) -> list[Fault]:
    """Return the fault of a column that has no scores of its own, but for which some are stated."""
    return [] if isinstance(column.rules.scores, str) else ["scores"]


def _level_fault(column: Column, n_rows: int) -> Fault | None:
    """Return the fault of a column of three or more values, if there is one."""
    kind, rules = kind_of(column), column.rules
    stated = rules.levels is not None or (rules.kind is not None and rules.kind.named)
    if not stated and column.kind == "word" and _reads_like_prose(column, n_rows):
        return "text"
    if not stated and looks_like_identifier(column, n_rows):
        return "identifier"
    if kind == "binary" or len(column.distinct) > MAX_LEVELS:
        return "values"
    if kind == "nominal":
        if rules.kind is None and column.categories is None and not _is_plain(column):
            return "values"
        return next(iter(_faults_of_scores(column)), None)
    order = level_order(column)
    if order is None:
        return "order" if column.kind == "word" else "values"
    if kind == "blume-capel" and reference_position(column, order) is None:
        return "reference"
    return None if scores_fit(column, order, kind) else "scores"


def _is_plain(column: Column) -> bool:
    """Whether all values are texts, numbers or truth values."""
    return all(isinstance(value, str | bool | int | float) for value in column.distinct)


def looks_like_identifier(column: Column, n_rows: int) -> bool:
    """Whether a column of words or whole numbers has a distinct value in every row.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_faults import looks_like_identifier
    >>> from slabfield.encoding.columns import read_column
    >>> looks_like_identifier(read_column("patient", np.arange(100)), n_rows=100)
    True
    """
    if n_rows < IDENTIFIER_ROWS or len(column.distinct) < n_rows:
        return False
    return column.kind == "word" or all(float(value).is_integer() for value in column.distinct)


def _reads_like_prose(column: Column, n_rows: int) -> bool:
    """Whether a column has too many distinct words for levels, or sentences that rarely repeat."""
    words_each = np.mean([len(str(value).split()) for value in column.distinct])
    if words_each > 2 and len(column.distinct) > max(3, n_rows / 2):
        return True
    return len(column.distinct) > MAX_LEVELS and not looks_like_identifier(column, n_rows)
