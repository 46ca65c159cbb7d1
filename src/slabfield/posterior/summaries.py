"""Basic summaries of draws: inclusion probabilities and means."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.encoding import Encoder
from slabfield.models.interactions import Interactions

Array = NDArray[np.float64]

# Smallest inclusion probability of an edge of the median probability model
LIKELY = 0.5


class Summaries:
    """Base class of the parts of a posterior.

    Attributes
    ----------
    draws : Draws
    feature_names : list of str
    settings : dict
    """

    draws: Draws
    feature_names: list[str]
    settings: dict[str, Any]
    encoder: Encoder

    @property
    def n_nodes(self) -> int:
        """Number of nodes, D."""
        return len(self.feature_names)

    @property
    def interactions(self) -> Interactions:
        """The candidate edges: all pairs of nodes."""
        return self.draws.interactions

    @cached_property
    def edge_probability(self) -> Array:
        """Inclusion probability of every edge, in the order of the interactions."""
        return self.draws.edge_probability

    @cached_property
    def visit_share(self) -> Array:
        """Share of draws in which each edge is present, in the order of the interactions."""
        return self.draws.visit_share

    @cached_property
    def inclusion_probability(self) -> Array:
        """P(edge present given the data) as a symmetric (D, D) matrix, zero on the diagonal."""
        return self.interactions.as_matrix(self.edge_probability)

    @cached_property
    def edge_mean(self) -> Array:
        """Mean of each coupling given that the edge is present; NaN if it never was."""
        count, total = self.draws.visits, self.draws.total()
        mean: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    @cached_property
    def coupling_given_presence(self) -> Array:
        """Mean of each coupling given presence, symmetric (D, D), NaN if never present."""
        return self.interactions.as_matrix(self.edge_mean)

    @cached_property
    def bias_mean(self) -> Array:
        """Posterior mean of each bias."""
        return np.asarray(self.draws.bias.mean(axis=(0, 1)), dtype=np.float64)

    @cached_property
    def density(self) -> Array:
        """Share of candidate edges present, (chain, draw)."""
        return self.draws.density
