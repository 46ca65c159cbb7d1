"""The general log-linear model: tables of features over any cliques, of any number of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slabfield.models.interactions import Integers, Interactions
from slabfield.models.protocol import Array, Model, Sums


class FeatureTable(NamedTuple):
    """The nodes of an interaction, and its features for every joint state of these nodes.

    ``values`` has one axis for each node and a last axis for the parameters of the group.
    """

    nodes: tuple[int, ...]
    values: Array


class Cliques(NamedTuple):
    """A log-linear model as flat arrays, for compiled loops."""

    n_states: Integers
    bias_start: Integers
    group_start: Integers
    clique_start: Integers
    clique_nodes: Integers
    clique_strides: Integers
    table_start: Integers
    tables: Array
    node_start: Integers
    node_interactions: Integers


@dataclass(frozen=True, eq=False)
class LogLinear(Model):
    """Nodes with any number of states, and interactions defined by tables of feature values.

    Node i has ``states[i] - 1`` biases, one for the indicator of each of its states 1, 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.models.loglinear import FeatureTable, LogLinear
    >>> triple = np.zeros((2, 2, 2, 1))
    >>> triple[1, 1, 1, 0] = 1
    >>> model = LogLinear((2, 2, 2), [FeatureTable((0, 1, 2), triple)])
    >>> model.sums([[1, 1, 1], [1, 0, 1]]).coupling
    array([1.])
    """

    states: Sequence[int]
    tables: Sequence[FeatureTable]

    def __post_init__(self) -> None:
        for nodes, values in self.tables:
            expected = tuple(self.states[i] for i in nodes)
            if np.shape(values)[:-1] != expected or len(set(nodes)) != len(nodes):
                raise ValueError(
                    f"The table of interaction {nodes} must have one axis for each of its distinct "
                    f"nodes and a last one for its parameters, {expected} and k; found "
                    f"{np.shape(values)}. Pass values[x_1, x_2, ..., k]."
                )

    @cached_property
    def interactions(self) -> Interactions:
        """One interaction for each table."""
        return Interactions.of_cliques(
            len(self.states),
            (nodes for nodes, _ in self.tables),
            (np.shape(values)[-1] for _, values in self.tables),
        )

    @property
    def n_states(self) -> Integers:
        """Number of states of every node."""
        return np.array(self.states, dtype=np.int64)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.states)

    @property
    def n_scales(self) -> int:
        """One slab for all interactions, as in the paper."""
        return 1

    @property
    def n_biases(self) -> int:
        """One bias for every state of every node except its first."""
        return int(np.sum(self.n_states - 1))

    @cached_property
    def single_binary(self) -> bool:
        """Whether every group is one parameter of a 0/1 feature and every node has two states."""
        features = all(np.shape(v)[-1] == 1 and np.isin(v, (0, 1)).all() for _, v in self.tables)
        return features and bool(np.all(self.n_states == 2))

    def statistics(self, rows: ArrayLike) -> tuple[Array, Array]:
        """Indicators of the states and values of all features, for each row."""
        x = np.asarray(rows, dtype=np.int64)
        indicators = [x[:, i] == v for i, k in enumerate(self.states) for v in range(1, k)]
        features = [
            np.asarray(values, dtype=np.float64)[tuple(x[:, i] for i in nodes)]
            for nodes, values in self.tables
        ]
        return np.column_stack(indicators).astype(np.float64), np.column_stack(features)

    def sums(self, rows: ArrayLike) -> Sums:
        """Sums of the features over the rows."""
        biases, couplings = self.statistics(rows)
        return Sums(float(len(biases)), biases.sum(axis=0), couplings.sum(axis=0))

    def weighted_sums(self, rows: ArrayLike, weights: Array) -> Sums:
        """Sums of the features over the rows, each times its weight."""
        biases, couplings = self.statistics(rows)
        return Sums(float(weights.sum()), weights @ biases, weights @ couplings)

    def log_potential(self, rows: ArrayLike, bias: Array, coupling: Array) -> Array:
        """Unnormalized log probability of each row (equation 2)."""
        biases, couplings = self.statistics(rows)
        total: Array = biases @ bias + couplings @ coupling
        return total

    def conditional(self, node: int, rows: ArrayLike, bias: Array, coupling: Array) -> Array:
        """Probability of each state of a node given the rest of each row."""
        x = np.array(rows, dtype=np.int64)
        logits = []
        for value in range(self.states[node]):
            x[:, node] = value
            logits.append(self.log_potential(x, bias, coupling))
        table = np.column_stack(logits)
        table = np.exp(table - table.max(axis=1, keepdims=True))
        probabilities: Array = table / table.sum(axis=1, keepdims=True)
        return probabilities

    @cached_property
    def cliques(self) -> Cliques:
        """The model as flat arrays, for compiled loops."""
        strides, tables, touching = [], [], [[] for _ in self.states]  # type: ignore[var-annotated]
        table_start = [0]
        for alpha, (nodes, values) in enumerate(self.tables):
            table = np.ascontiguousarray(values, dtype=np.float64)
            strides.extend(s // table.itemsize for s in table.strides[:-1])
            tables.append(table.ravel())
            table_start.append(table_start[-1] + table.size)
            for i in nodes:
                touching[i].append(alpha)
        return Cliques(
            self.n_states,
            np.concatenate([[0], np.cumsum(self.n_states - 1)]).astype(np.int64),
            self.interactions.group_start,
            self.interactions.node_start,
            self.interactions.nodes,
            np.array(strides, dtype=np.int64),
            np.array(table_start, dtype=np.int64),
            np.concatenate([*tables, np.zeros(0)]),
            np.cumsum([0, *(len(t) for t in touching)]).astype(np.int64),
            np.array([a for t in touching for a in t], dtype=np.int64),
        )
