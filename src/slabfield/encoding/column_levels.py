"""The levels of a column of three or more values: their kind, their order, their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from slabfield.encoding.columns import Column
from slabfield.encoding.labels import Key, label_key, tidy, value_key

MAX_PLACES = 100
"""Most places of whole numbers that are levels, from the lowest to the highest."""


class LevelOrder(NamedTuple):
    """All levels of a column in their order, the labels that occur, and the places of these."""

    places: tuple[Any, ...]
    labels: tuple[Any, ...]
    positions: tuple[int, ...]

    @property
    def never_seen(self) -> list[Any]:
        """The levels that never occur."""
        return [place for k, place in enumerate(self.places) if k not in self.positions]


def kind_of(column: Column) -> str:
    """Return the kind of a column of three or more values, as stated or inferred.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_levels import kind_of
    >>> from slabfield.encoding.columns import read_column
    >>> kind_of(read_column("a", np.array([1, 2, 3]))), kind_of(read_column("a", np.array(["x"])))
    ('ordinal', 'nominal')
    """
    if column.rules.kind is not None:
        return column.rules.kind.kind
    if column.rules.levels is not None:
        return "ordinal"
    if column.categories is not None:
        return "ordinal" if column.categories.ordered else "nominal"
    return "ordinal" if column.kind == "number" else "nominal"


def level_order(column: Column) -> LevelOrder | None:
    """Return the order of the levels: as stated, of the categories, or of whole numbers.

    None for words without an order, decimals, and whole numbers that are far apart. Categories
    that never occur keep their place only between those that do.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_levels import level_order
    >>> from slabfield.encoding.columns import read_column
    >>> level_order(read_column("sleep", np.array([1, 2, 4]))).never_seen
    [3]
    """
    answers = column.answers
    places: tuple[Any, ...] | None
    if column.rules.levels is not None:
        places = as_written(column.rules.levels, answers)
    elif column.categories is not None and column.categories.ordered:
        places = _categories_as_written(column)
        used = [k for k, place in enumerate(places) if place in answers]
        places = places[used[0] : used[-1] + 1] if used else ()
    else:
        places = _whole_numbers(column)
    if places is None:
        return None
    positions = tuple(k for k, place in enumerate(places) if place in answers)
    return LevelOrder(places, tuple(places[k] for k in positions), positions)


def nominal_labels(column: Column) -> tuple[Any, ...]:
    """Return the labels of a nominal column: in the order of its levels or categories, or sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_levels import nominal_labels
    >>> from slabfield.encoding.columns import read_column
    >>> nominal_labels(read_column("place", np.array(["south", "north"])))
    ('north', 'south')
    """
    answers = column.answers
    if column.rules.levels is not None:
        known = as_written(column.rules.levels, answers)
    else:
        known = _categories_as_written(column) if column.categories else tuple(map(tidy, answers))
    return tuple(label for label in known if label in answers)


def reference_position(column: Column, order: LevelOrder) -> int | None:
    """Return the position of the reference level, or None if it is no level.

    By default it is the middle one of the levels that occur, the lower of two.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_levels import level_order, reference_position
    >>> from slabfield.encoding.columns import read_column
    >>> column = read_column("sleep", np.array([1, 2, 3, 4]))
    >>> reference_position(column, level_order(column))
    1
    """
    stated = column.rules.kind
    if stated is None or stated.reference is None:
        return order.positions[(len(order.positions) - 1) // 2]
    key = value_key(order.places)
    places = [key(place) for place in order.places]
    reference = key(stated.reference)
    return places.index(reference) if reference in places else None


def scores_fit(column: Column, order: LevelOrder | None, kind: str) -> bool:
    """Whether the scores that are stated for a column, if any, can be those of its levels.

    There must be one for each level, or one for each place. Those of a Blume-Capel column must be
    equally spaced, because its biases are functions of the distance from the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_levels import level_order, scores_fit
    >>> from slabfield.encoding.columns import read_column
    >>> column = read_column("sleep", np.array([1, 2, 4]))
    >>> scores_fit(column, level_order(column), "ordinal")
    True
    """
    scores = column.rules.scores
    if isinstance(scores, str):
        return True
    if order is None or len(scores) not in (len(order.labels), len(order.places)):
        return False
    if kind != "blume-capel":
        return True
    at = order.positions if len(scores) == len(order.labels) else range(len(order.places))
    steps = np.diff(scores) / np.diff(at)
    return bool(np.allclose(steps, steps[0]))


def _categories_as_written(column: Column) -> tuple[Any, ...]:
    categories = column.categories.values if column.categories else ()
    if column.kind == "number":  # it may have been text
        return as_written(categories, column.answers)
    return as_written(categories, column.answers, label_key(categories))


def as_written(
    levels: Sequence[Any], answers: Sequence[Any], key: Key | None = None
) -> tuple[Any, ...]:
    """Return levels as they are written in the column, where they occur.

    Examples
    --------
    >>> from slabfield.encoding.column_levels import as_written
    >>> as_written(["never", "often", "9"], ["Often", 9.0])
    ('never', 'Often', 9)
    """
    key = value_key(levels) if key is None else key
    written = {key(value): value for value in answers}
    return tuple(tidy(written.get(key(level), level)) for level in levels)


def _whole_numbers(column: Column) -> tuple[int, ...] | None:
    """Return all whole numbers from the lowest to the highest, if the column is coded by them."""
    answers = column.answers
    if column.kind != "number" or not all(float(x).is_integer() for x in answers):
        return None
    lowest, highest = int(answers[0]), int(answers[-1])
    return tuple(range(lowest, highest + 1)) if highest - lowest < MAX_PLACES else None
