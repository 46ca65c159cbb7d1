"""Compiled Gibbs runs of many states at once, which can continue with another field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.gibbs import new_streams, sweep
from slabfield.models.field import BinaryField


class GibbsRuns:
    """States of independent Gibbs runs, which start from uniformly random states.

    Parameters
    ----------
    n_nodes, n_runs : int
        Number of nodes, and number of runs.
    rng : numpy.random.Generator
        Source of randomness.

    Attributes
    ----------
    states : array of float32, shape (n_nodes, n_runs)
        Zeros and ones, one column for each run.
    """

    def __init__(self, n_nodes: int, n_runs: int, rng: np.random.Generator) -> None:
        self.states: NDArray[np.float32] = rng.integers(0, 2, (n_nodes, n_runs)).astype(np.float32)
        self._streams = new_streams(n_runs, rng)
        self._workspace = np.zeros(n_runs, np.float32)

    def advance(self, field: BinaryField, n_sweeps: int) -> None:
        """Run Gibbs sweeps of all states under the field."""
        neighbors, weights, degree = neighbor_lists(field)
        bias, single = np.array(field.bias), weights.astype(np.float32)
        for _ in range(n_sweeps):
            sweep(self.states, bias, neighbors, single, degree, self._streams, self._workspace)


def neighbor_lists(
    field: BinaryField,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Neighbors of every node, couplings to them, and their number, for compiled loops."""
    edges = field.edges
    degree = edges.sum(axis=1).astype(np.int64)
    width = max(int(degree.max(initial=0)), 1)
    neighbors, weights = np.zeros((len(degree), width), np.int32), np.zeros((len(degree), width))
    for i, adjacent in enumerate(edges):
        (found,) = np.nonzero(adjacent)
        neighbors[i, : found.size], weights[i, : found.size] = found, field.coupling[i, found]
    return neighbors, weights, degree
