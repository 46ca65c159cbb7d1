"""Scores of levels: the numbers by which couplings multiply them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def standard_scores(n_levels: int) -> NDArray[np.float64]:
    r"""Equally spaced scores, :math:`a \sqrt{3 / (K^2 - 1)}` for level a of K: 0 and 1 for two.

    With them a coupling of one means about the same correlation whatever the number of levels.

    Examples
    --------
    >>> from slabfield.encoding.scores import standard_scores
    >>> standard_scores(5).round(3)
    array([0.   , 0.354, 0.707, 1.061, 1.414])
    """
    scores: NDArray[np.float64] = np.arange(n_levels) * np.sqrt(3.0 / (n_levels**2 - 1.0))
    return scores


def level_scores(
    rule: str | Sequence[float], positions: Sequence[int], n_places: int
) -> tuple[float, ...]:
    """Return the scores of the levels at these positions, of so many places.

    Parameters
    ----------
    rule : {"standard", "raw", "range"} or sequence of numbers
        Standard scores, the positions themselves, positions scaled to [0, 1], or one number for
        each level or for each place.
    positions : sequence of int
        Place of each level.
    n_places : int
        Number of places, those of levels that never occur included.

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> from slabfield.encoding.scores import level_scores
    >>> level_scores("range", (0, 1, 4), 5), level_scores([0, 2, 3, 7, 9], (0, 1, 4), 5)
    ((0.0, 0.25, 1.0), (0.0, 2.0, 9.0))
    """
    if not isinstance(rule, str) and len(rule) == len(positions):
        return tuple(map(float, rule))
    by_place: dict[str, NDArray[np.float64]] = {
        "standard": standard_scores(n_places),
        "raw": np.arange(n_places, dtype=np.float64),
        "range": np.arange(n_places) / (n_places - 1.0),
    }
    scores = by_place[rule] if isinstance(rule, str) else rule
    return tuple(float(scores[position]) for position in positions)
