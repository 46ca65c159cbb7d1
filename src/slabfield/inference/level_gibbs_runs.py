"""Gibbs runs of fields whose nodes have levels, which can continue with another field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.energy_gibbs import sweep_levels
from slabfield.models.energy_field import EnergyField
from slabfield.models.interactions import Integers
from slabfield.models.protocol import Array, Field


class LevelGibbsRuns:
    """States of independent Gibbs runs, which start from uniformly random states.

    Parameters
    ----------
    n_states : array of int, shape (D,)
        Number of levels of every node.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of randomness.

    Attributes
    ----------
    states : array of uint8, shape (D, n_runs)
        Codes of levels, one column for each run.
    """

    def __init__(self, n_states: Integers, n_runs: int, rng: np.random.Generator) -> None:
        self.states = rng.integers(0, n_states[:, None], (len(n_states), n_runs), dtype=np.uint8)
        self._rng = rng

    def advance(self, field: Field, n_sweeps: int) -> None:
        """Run Gibbs sweeps of all states under the field."""
        self.mean_conditionals(EnergyField.of(field), n_sweeps)

    def mean_conditionals(self, energies: EnergyField, n_sweeps: int) -> Array:
        """Run Gibbs sweeps, and average conditional probabilities over runs and sweeps.

        Returns
        -------
        array of shape (S,)
            The mean of every level of every node.
        """
        sums = np.zeros(energies.node.size)
        if sums.size:
            sweep_levels(
                self.states, energies.start, energies.node, energies.pair, 1.0,
                *neighbor_table(energies.edges), n_sweeps, self._rng, sums,
            )  # fmt: skip
        means: Array = sums / max(n_sweeps * self.states.shape[1], 1)
        return means


def neighbor_table(edges: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Neighbors of every node, padded with zeros to (D, width), and their number."""
    degree = edges.sum(axis=1).astype(np.int64)
    neighbors = np.zeros((len(edges), max(int(degree.max(initial=0)), 1)), np.int64)
    for i, adjacent in enumerate(edges):
        neighbors[i, : degree[i]] = np.flatnonzero(adjacent)
    return neighbors, degree
