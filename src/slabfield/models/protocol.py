"""The protocols of models of fields, whatever their interactions, and of fields."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slabfield.models.interactions import Integers, Interactions

Array = NDArray[np.float64]


class Sums(NamedTuple):
    """Sufficient statistics of a data set: sums over the rows of every feature."""

    n_rows: float
    bias: Array
    coupling: Array


class Model(Protocol):
    """A log-linear field: nodes, biases, and interactions that own groups of parameters.

    Parameters are two flat arrays: ``bias``, always in the model, and ``coupling``, of which
    interaction alpha owns the slice ``group(alpha)``. Code that uses a model must not assume that
    a group has one parameter or that an interaction has two nodes. Models inherit from this class.
    """

    @property
    def interactions(self) -> Interactions:
        """The candidate interactions: their nodes, and the groups of parameters they own."""

    @property
    def n_states(self) -> Integers:
        """Number of states of every node."""

    @property
    def n_biases(self) -> int:
        """Number of bias parameters."""

    @property
    def single_binary(self) -> bool:
        """Whether every group is one parameter of a 0/1 feature (and every node is 0/1)."""

    def statistics(self, rows: Any) -> tuple[Array, Array]:
        """Bias features (N, n_biases) and coupling features (N, n_couplings) of each row."""

    def sums(self, rows: Any) -> Sums:
        """Sums of the features over the rows."""

    def weighted_sums(self, rows: Any, weights: Array) -> Sums:
        """Sums of the features over the rows, each times its weight."""

    def log_potential(self, rows: Any, bias: Array, coupling: Array) -> Array:
        """Unnormalized log probability of each row."""

    def conditional(self, node: int, rows: Any, bias: Array, coupling: Array) -> Array:
        """Probability of each state of a node given the rest of each row, (N, n_states[node])."""

    @property
    def n_interactions(self) -> int:
        """Number of candidate interactions."""
        return len(self.interactions)

    @property
    def n_scales(self) -> int:
        """Number of slabs: two where some interactions have one parameter and others several."""
        sizes = np.diff(self.group_start)
        return 2 if np.any(sizes == 1) and np.any(sizes > 1) else 1

    @property
    def group_start(self) -> Integers:
        """Start of the group of each interaction in ``coupling``, and the end of the last."""
        return self.interactions.group_start

    def group(self, interaction: int) -> slice:
        """Slice of ``coupling`` that an interaction owns."""
        return self.interactions.group(interaction)


class Field(Protocol):
    """A pairwise field with known parameters: binary, or of nodes with levels.

    Code that takes any field uses only what is named here, or is a generic function of
    :func:`functools.singledispatch` with a faster version for binary fields.
    """

    @property
    def n_nodes(self) -> int:
        """Number of nodes, D."""

    @property
    def n_states(self) -> Integers:
        """Number of states of every node."""

    @property
    def edges(self) -> NDArray[np.bool_]:
        """Which pairs have an edge, as a symmetric (D, D) matrix."""

    def node_energy(self, node: int) -> Array:
        """Log weight of every state of a node from its biases alone, (K,)."""

    def pair_energy(self, i: int, j: int) -> Array:
        """Log weight of every two states of a pair from its parameters alone, (K_i, K_j)."""

    def log_potential(self, rows: Any) -> Array:
        """Unnormalized log probability of each row."""


def n_joint_states(field: Field) -> int:
    """Return the number of joint states of all nodes of a field."""
    return math.prod(field.n_states.tolist())
