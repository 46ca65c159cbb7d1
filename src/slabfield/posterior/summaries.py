"""Basic summaries of draws: inclusion probabilities and means."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.encoding import Encoder, Variable
from slabfield.models.interactions import Integers, Interactions
from slabfield.models.levels import NodeFeatures
from slabfield.models.pairwise import FEATURES
from slabfield.posterior.convergence import TOLERANCE, Convergence
from slabfield.posterior.node_names import bias_names

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
    encoder : Encoder
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

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variable of every node: its kind, and its levels."""
        return self.encoder.variables

    @cached_property
    def level_shares(self) -> list[Array] | None:
        """Share of the rows in each level, for every node; None if it is not recorded."""
        shares = self.settings.get("level_shares")
        sizes = [variable.n_levels for variable in self.variables]
        if not isinstance(shares, list) or [len(share) for share in shares] != sizes:
            return None
        return [np.array(share, dtype=np.float64) for share in shares]

    @cached_property
    def has_levels(self) -> bool:
        """Whether a node is not binary."""
        return any(variable.kind != "binary" for variable in self.variables)

    @cached_property
    def node_features(self) -> list[NodeFeatures]:
        """Bias features and embedding of the levels of every node."""
        return [FEATURES[variable.kind](variable) for variable in self.variables]

    @cached_property
    def bias_start(self) -> Integers:
        """Start of the biases of every node, and the end of the last."""
        if not self.has_levels:
            return np.arange(self.n_nodes + 1, dtype=np.int64)
        sizes = [features.bias.shape[1] for features in self.node_features]
        return np.cumsum([0, *sizes]).astype(np.int64)

    @cached_property
    def bias_names(self) -> list[str]:
        """Name of every bias, in the order of the draws.

        The node's name for a binary node; node and label, such as ``mood[3]``, for the threshold of
        a level; ``mood[linear]`` and ``mood[quadratic]`` for a Blume-Capel node.
        """
        return [
            full
            for name, variable in zip(self.feature_names, self.variables, strict=True)
            for full in bias_names(name, variable)
        ]

    @cached_property
    def level_step(self) -> Array:
        """Mean difference of the scores of adjacent levels of every node.

        1 for a nominal node of two levels, and NaN if it has more.
        """
        return np.array(
            [
                1.0 if variable.n_levels == 2 and not variable.is_scored else variable.score_step
                for variable in self.variables
            ]
        )

    @cached_property
    def edge_is_signed(self) -> NDArray[np.bool_]:
        """Whether the coupling of every edge has a sign, in the order of the interactions.

        One parameter has a sign; several, where a nominal node of three or more levels takes part,
        have a strength, their norm.
        """
        if self.interactions.n_parameters == len(self.interactions):
            return np.ones(len(self.interactions), np.bool_)
        return np.asarray(np.diff(self.interactions.group_start) == 1)

    @cached_property
    def has_sign(self) -> NDArray[np.bool_]:
        """Whether the coupling of each pair has a sign, symmetric (D, D), true on the diagonal."""
        return self.interactions.as_matrix(self.edge_is_signed, diagonal=True)

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
        """Mean of each coupling given that the edge is present; NaN if it never was.

        Of an edge without a sign (see :attr:`edge_is_signed`), the mean of its strength.
        """
        count, total = self.draws.visits, self.draws.total()
        mean: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    @cached_property
    def coupling_given_presence(self) -> Array:
        """Mean of each coupling given presence, symmetric (D, D), NaN if never present."""
        return self.interactions.as_matrix(self.edge_mean)

    @cached_property
    def parameter_mean(self) -> Array:
        """Mean of every parameter given that its edge is present; NaN if it never was.

        An edge with several parameters owns those of ``interactions.group(edge)``.
        """
        if self.interactions.n_parameters == len(self.interactions):
            return self.edge_mean
        parameters = self.draws.parameters
        total = np.bincount(parameters.indices, parameters.data, minlength=parameters.shape[1])
        count = np.repeat(self.draws.visits, np.diff(self.interactions.group_start))
        mean: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    @cached_property
    def bias_mean(self) -> Array:
        """Posterior mean of each bias, named by :attr:`bias_names`."""
        return np.asarray(self.draws.bias.mean(axis=(0, 1)), dtype=np.float64)

    @cached_property
    def convergence(self) -> Convergence:
        """R-hat and effective draws of each quantity, computed when they are asked for."""
        return Convergence(self.draws, self.settings.get("tolerance", TOLERANCE))

    @cached_property
    def density(self) -> Array:
        """Share of candidate edges present, (chain, draw)."""
        return self.draws.density
