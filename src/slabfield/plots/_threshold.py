"""Default threshold of the edges in a plot."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slabfield.posterior.summaries import LIKELY

THRESHOLDS = (LIKELY, 0.9, 0.99)
# Edges per node, on average, that are still readable
MAX_EDGES_PER_NODE = 3


class HasProbability(Protocol):
    """Interface of the input; a ``Posterior`` implements it."""

    @property
    def inclusion_probability(self) -> NDArray[np.float64]:
        """Posterior probability of each edge, shape (D, D)."""


def readable_threshold(posterior: HasProbability) -> float:
    """Choose the lowest threshold that leaves at most a few edges per node."""
    probability = posterior.inclusion_probability
    for threshold in THRESHOLDS:
        if (probability >= threshold).sum() <= 2 * MAX_EDGES_PER_NODE * len(probability):
            return threshold
    return THRESHOLDS[-1]
