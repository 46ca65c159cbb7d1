"""The general log-linear model: tables of features over any cliques, of any number of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slabfield.models.protocol import Array, Integers, Sums


class Interaction(NamedTuple):
    """A clique of nodes and the values of its features for every joint state of the clique.

    ``values`` has one axis for each node of the clique and a last axis for the parameters of the
    group.
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
class LogLinear:
    """Nodes with any number of states, and interactions defined by tables of feature values.

    Node i has ``states[i] - 1`` biases, one for the indicator of each of its states 1, 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.models.loglinear import Interaction, LogLinear
    >>> triple = np.zeros((2, 2, 2, 1))
    >>> triple[1, 1, 1, 0] = 1
    >>> model = LogLinear((2, 2, 2), [Interaction((0, 1, 2), triple)])
    >>> model.sums([[1, 1, 1], [1, 0, 1]]).coupling
    array([1.])
    """

    states: Sequence[int]
    interactions: Sequence[Interaction]

    def __post_init__(self) -> None:
        for nodes, values in self.interactions:
            expected = tuple(self.states[i] for i in nodes)
            if np.shape(values)[:-1] != expected or len(set(nodes)) != len(nodes):
                raise ValueError(
                    f"The table of interaction {nodes} must have one axis for each of its distinct "
                    f"nodes and a last one for its parameters, {expected} and k; found "
                    f"{np.shape(values)}. Pass values[x_1, x_2, ..., k]."
                )

    @property
    def n_interactions(self) -> int:
        """Number of candidate interactions."""
        return len(self.interactions)

    @property
    def n_states(self) -> Integers:
        """Number of states of every node."""
        return np.array(self.states, dtype=np.int64)

    @property
    def n_biases(self) -> int:
        """One bias for every state of every node except its first."""
        return int(np.sum(self.n_states - 1))

    @cached_property
    def group_start(self) -> Integers:
        """Index in ``coupling`` at which the parameters of each interaction start."""
        sizes = [np.shape(values)[-1] for _, values in self.interactions]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def single_binary(self) -> bool:
        """Whether every group is one parameter of a 0/1 feature and every node has two states."""
        features = all(
            np.shape(v)[-1] == 1 and np.isin(v, (0, 1)).all() for _, v in self.interactions
        )
        return features and bool(np.all(self.n_states == 2))

    def group(self, interaction: int) -> slice:
        """Slice of ``coupling`` that an interaction owns."""
        return slice(int(self.group_start[interaction]), int(self.group_start[interaction + 1]))

    def statistics(self, rows: ArrayLike) -> tuple[Array, Array]:
        """Indicators of the states and values of all features, for each row."""
        x = np.asarray(rows, dtype=np.int64)
        indicators = [x[:, i] == v for i, k in enumerate(self.states) for v in range(1, k)]
        features = [
            np.asarray(values, dtype=np.float64)[tuple(x[:, i] for i in nodes)]
            for nodes, values in self.interactions
        ]
        return np.column_stack(indicators).astype(np.float64), np.column_stack(features)

    def sums(self, rows: ArrayLike) -> Sums:
        """Sums of the features over the rows."""
        biases, couplings = self.statistics(rows)
        return Sums(float(len(biases)), biases.sum(axis=0), couplings.sum(axis=0))

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
        nodes, strides, tables, touching = [], [], [], [[] for _ in self.states]  # type: ignore[var-annotated]
        clique_start, table_start = [0], [0]
        for alpha, (members, values) in enumerate(self.interactions):
            table = np.ascontiguousarray(values, dtype=np.float64)
            nodes.extend(members)
            strides.extend(s // table.itemsize for s in table.strides[:-1])
            tables.append(table.ravel())
            clique_start.append(len(nodes))
            table_start.append(table_start[-1] + table.size)
            for i in members:
                touching[i].append(alpha)
        return Cliques(
            self.n_states,
            np.concatenate([[0], np.cumsum(self.n_states - 1)]).astype(np.int64),
            self.group_start,
            np.array(clique_start, dtype=np.int64),
            np.array(nodes, dtype=np.int64),
            np.array(strides, dtype=np.int64),
            np.array(table_start, dtype=np.int64),
            np.concatenate([*tables, np.zeros(0)]),
            np.cumsum([0, *(len(t) for t in touching)]).astype(np.int64),
            np.array([a for t in touching for a in t], dtype=np.int64),
        )
