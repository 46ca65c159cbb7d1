"""The binary pairwise model: nodes in {0, 1}, one coupling for each pair of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from slabfield.models.field import BinaryField
from slabfield.models.interactions import Integers, Interactions
from slabfield.models.protocol import Array, Model, Sums


@dataclass(frozen=True)
class BinaryPairwise(Model):
    """All pairs of D binary nodes as candidate edges, with one coupling each.

    Examples
    --------
    >>> from slabfield.models.binary import BinaryPairwise
    >>> model = BinaryPairwise(3)
    >>> model.n_interactions, model.group(2)
    (3, slice(2, 3, None))
    >>> model.sums([[1, 1, 0], [1, 0, 1]]).coupling
    array([1., 1., 0.])
    """

    n_nodes: int

    @cached_property
    def interactions(self) -> Interactions:
        """All pairs of nodes."""
        return Interactions.pairs(self.n_nodes)

    @property
    def ends(self) -> tuple[Integers, Integers]:
        """First and second node of every edge."""
        return self.interactions.ends

    @property
    def n_states(self) -> Integers:
        """Two states for every node."""
        return np.full(self.n_nodes, 2, dtype=np.int64)

    @property
    def n_biases(self) -> int:
        """One bias for every node."""
        return self.n_nodes

    @property
    def single_binary(self) -> bool:
        """Every feature is x_i x_j."""
        return True

    def statistics(self, rows: Any) -> tuple[Array, Array]:
        """Features of each row: the states, and their products for all pairs."""
        x = np.asarray(rows, dtype=np.float64)
        first, second = self.ends
        return x, x[:, first] * x[:, second]

    def sums(self, rows: Any) -> Sums:
        """Sums over the rows, from one matrix product."""
        x = np.asarray(rows, dtype=np.float64)
        return Sums(float(len(x)), x.sum(axis=0), self.interactions.of_matrix(x.T @ x))

    def weighted_sums(self, rows: Any, weights: Array) -> Sums:
        """Weighted sums over the rows, from one matrix product."""
        x = np.asarray(rows, dtype=np.float64)
        weighted = x * weights[:, None]
        pairs = self.interactions.of_matrix(weighted.T @ x)
        return Sums(float(weights.sum()), weighted.sum(axis=0), pairs)

    def independent_biases(self, sums: Sums) -> Array:
        """Biases of the field without couplings that fits the data."""
        mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
        bias: Array = np.log(mean / (1 - mean))
        return bias

    def field(self, bias: Array, coupling: Array) -> BinaryField:
        """Field with these parameters."""
        return BinaryField(bias, self.interactions.as_matrix(coupling))

    def log_potential(self, rows: Any, bias: Array, coupling: Array) -> Array:
        """Unnormalized log probability of each row (equation 1)."""
        return self.field(bias, coupling).log_potential(rows)

    def conditional(self, node: int, rows: Any, bias: Array, coupling: Array) -> Array:
        """Probability of 0 and of 1 for a node given the rest of each row (equation 5)."""
        x = np.asarray(rows, dtype=np.float64)
        logit = bias[node] + x @ self.field(bias, coupling).coupling[node]
        one = 0.5 * (1 + np.tanh(0.5 * logit))
        return np.column_stack([1 - one, one])
