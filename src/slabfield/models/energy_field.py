"""A pairwise field as two arrays of log weights, of all levels and of all pairs of levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.models.interactions import Integers
from slabfield.models.protocol import Array, Field

Bools = NDArray[np.bool_]


class EnergyField(NamedTuple):
    """The energies of a field in two arrays, in which the levels of all nodes are columns.

    Made once for many rows. Enumeration takes it as a field.

    Attributes
    ----------
    start : array (D + 1,)
        First column of the levels of every node, and the number of columns, S.
    node : array (S,)
        Log weight of every level from the biases alone.
    pair : array (S, S)
        Log weight of every two levels of different nodes from the parameters of their pair alone;
        zero for two levels of one node.
    edges : array of bool (D, D)
        Which pairs have an edge.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.models.energy_field import EnergyField
    >>> from slabfield.models.field import BinaryField
    >>> energies = EnergyField.of(BinaryField([0.5, 0.0], [[0, 2.0], [2.0, 0]]))
    >>> energies.logits(np.array([[1, 0], [1, 1]]))
    array([[0. , 0.5, 0. , 2. ],
           [0. , 2.5, 0. , 2. ]])
    """

    start: Integers
    node: Array
    pair: Array
    edges: Bools

    @classmethod
    def of(cls, field: Field) -> EnergyField:
        """Return the energies of a field."""
        start = np.concatenate([[0], np.cumsum(field.n_states)]).astype(np.int64)
        nodes = [field.node_energy(i) for i in range(field.n_nodes)]
        pair = np.zeros((start[-1], start[-1]))
        for i, j in np.argwhere(np.triu(field.edges)).tolist():
            first, second = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
            pair[first, second] = field.pair_energy(i, j)
            pair[second, first] = pair[first, second].T
        return cls(start, np.concatenate([*nodes, np.zeros(0)]), pair, field.edges)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, D."""
        return len(self.edges)

    @property
    def n_states(self) -> Integers:
        """Number of levels of every node."""
        return np.diff(self.start)

    def node_energy(self, node: int) -> Array:
        """Log weight of every level of a node from its biases alone, (K,)."""
        return self.node[self.start[node] : self.start[node + 1]]

    def pair_energy(self, i: int, j: int) -> Array:
        """Log weight of every two levels of a pair from its parameters alone, (K_i, K_j)."""
        return self.pair[self.start[i] : self.start[i + 1], self.start[j] : self.start[j + 1]]

    def log_potential(self, rows: NDArray[np.integer]) -> Array:
        """Unnormalized log probability of each row of levels."""
        at = self.start[:-1] + rows
        both_ways = np.take_along_axis(self.logits(rows) - self.node, at, axis=1)
        total: Array = (self.node[at] + 0.5 * both_ways).sum(axis=1)
        return total

    def columns(self, nodes: Sequence[int] | Integers) -> Integers:
        """Columns of the levels of some nodes, node by node."""
        parts = [np.arange(self.start[i], self.start[i + 1]) for i in nodes]
        return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)

    def among(self, nodes: Sequence[int] | Integers) -> EnergyField:
        """Return the field of some nodes alone, in this order, without their own energies."""
        chosen, columns = np.asarray(nodes, dtype=np.int64), self.columns(nodes)
        start = np.concatenate([[0], np.cumsum(self.n_states[chosen])]).astype(np.int64)
        pair, edges = self.pair[np.ix_(columns, columns)], self.edges[np.ix_(chosen, chosen)]
        return EnergyField(start, np.zeros(columns.size), pair, edges)

    def logits(self, rows: NDArray[np.integer], unknown: Bools | None = None) -> Array:
        """Log weight of every level of every node given the known entries of each row, (N, S).

        Unknown entries, and the entry of the node itself, contribute nothing.
        """
        indicators = np.zeros((len(rows), self.node.size))
        known = 1.0 if unknown is None else np.where(unknown, 0.0, 1.0)
        np.put_along_axis(indicators, self.start[:-1] + rows, known, axis=1)
        total: Array = indicators @ self.pair
        total += self.node
        return total

    def log_softmax(self, logits: Array) -> Array:
        """Log probabilities of the levels of every node from their log weights, (N, S)."""
        if not self.node.size:
            return logits
        sizes = self.n_states
        shifted: Array = logits - np.repeat(
            np.maximum.reduceat(logits, self.start[:-1], 1), sizes, 1
        )
        totals = np.add.reduceat(np.exp(shifted), self.start[:-1], 1)
        shifted -= np.repeat(np.log(totals), sizes, 1)
        return shifted
