"""One field of nodes with levels: numbers for every bias and every parameter of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.models.interactions import Integers
from slabfield.models.protocol import Array

if TYPE_CHECKING:
    from slabfield.models.levels import PairwiseLevels


@dataclass(frozen=True, eq=False)
class LevelField:
    """A pairwise field of nodes with levels, with known parameters (equation 34).

    Parameters
    ----------
    model : PairwiseLevels
    bias : array (n_biases,)
    coupling : array (n_parameters,)
        Parameters of all pairs, group by group. A pair is an edge where one of them is not zero.

    Examples
    --------
    >>> from slabfield.models.level_field import LevelField
    >>> from slabfield.models.levels import PairwiseLevels, ordinal_features
    >>> model = PairwiseLevels([ordinal_features([0, 1, 2]), ordinal_features([0, 1])])
    >>> field = LevelField(model, [0.0, 0.0, 0.0], [0.5])
    >>> field.pair_energy(0, 1)
    array([[0. , 0. ],
           [0. , 0.5],
           [0. , 1. ]])
    >>> field.conditional(1, [[2, 0]]).round(3)
    array([[0.269, 0.731]])
    """

    model: PairwiseLevels
    bias: Array
    coupling: Array

    def __post_init__(self) -> None:
        for name in ("bias", "coupling"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.model.n_nodes

    @property
    def n_states(self) -> Integers:
        """Number of levels of every node."""
        return self.model.n_states

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """Which pairs have a parameter that is not zero, as a symmetric (D, D) matrix."""
        present = np.logical_or.reduceat(self.coupling != 0, self.model.group_start[:-1])
        return self.model.interactions.as_matrix(present)

    @property
    def edge_strengths(self) -> Array:
        """One number for every edge, zero elsewhere, symmetric (D, D).

        The only parameter of an edge, with its sign, or the norm of several.
        """
        start = self.model.group_start[:-1]
        norms = np.sqrt(np.add.reduceat(self.coupling**2, start))
        single = np.diff(self.model.group_start) == 1
        values = np.where(single, self.coupling[start], norms)
        return self.model.interactions.as_matrix(values)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.edges)) // 2

    def node_energy(self, node: int) -> Array:
        """Log weight of every level of a node from its biases alone, (K,)."""
        start = self.model.bias_start
        energy: Array = self.model.nodes[node].bias @ self.bias[start[node] : start[node + 1]]
        return energy

    def pair_energy(self, i: int, j: int) -> Array:
        """Log weight of every two levels of a pair from its parameters alone, (K_i, K_j)."""
        if i > j:
            return self.pair_energy(j, i).T
        first, second = self.model.nodes[i].embedding, self.model.nodes[j].embedding
        group = self.coupling[self.model.group(self.model.interactions.find(i, j))]
        energy: Array = first @ group.reshape(first.shape[1], second.shape[1]) @ second.T
        return energy

    def log_potential(self, rows: Any) -> Array:
        """Unnormalized log probability of each row of levels."""
        x = np.asarray(rows, dtype=np.int64)
        total = np.zeros(len(x))
        for i in range(self.n_nodes):
            total += self.node_energy(i)[x[:, i]]
        for i, j in np.argwhere(np.triu(self.edges)):
            total += self.pair_energy(i, j)[x[:, i], x[:, j]]
        return total

    def logits(self, node: int, rows: Any) -> Array:
        """Log weight of every level of a node given the other nodes of each row, (N, K)."""
        x = np.asarray(rows, dtype=np.int64)
        total = np.tile(self.node_energy(node), (len(x), 1))
        for other in np.flatnonzero(self.edges[node]):
            total += self.pair_energy(node, int(other)).T[x[:, other]]
        return total

    def conditional(self, node: int, rows: Any) -> Array:
        """Probability of every level of a node given the other nodes of each row, (N, K)."""
        logits = self.logits(node, rows)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: Array = weights / weights.sum(axis=1, keepdims=True)
        return probabilities
