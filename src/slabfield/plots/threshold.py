"""Which edges a picture shows if nobody says."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

THRESHOLDS = (0.5, 0.9, 0.99)
MOST_EDGES_A_NODE = 3


class HasProbability(Protocol):
    """What a threshold is chosen for; a ``Posterior`` is one."""

    @property
    def inclusion_probability(self) -> NDArray[np.float64]:
        """Posterior probability of each edge, shape (D, D)."""


def readable_threshold(posterior: HasProbability) -> float:
    """Choose the lowest of a few thresholds that leaves no more than a few edges a node.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from slabfield.plots.threshold import readable_threshold
    >>> readable_threshold(SimpleNamespace(inclusion_probability=np.full((20, 20), 0.7)))
    0.9
    """
    probability = posterior.inclusion_probability
    for threshold in THRESHOLDS:
        if (probability >= threshold).sum() <= 2 * MOST_EDGES_A_NODE * len(probability):
            return threshold
    return THRESHOLDS[-1]
