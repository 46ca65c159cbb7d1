"""Gibbs runs of many states at once, in compiled code, carried on from field to field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.gibbs import new_lanes, sweep
from slabfield.models.field import BinaryField


class GibbsRuns:
    """States of independent Gibbs runs that begin with fair coins.

    Parameters
    ----------
    n_nodes, n_runs : int
        Nodes of a state, and number of runs.
    rng : numpy.random.Generator
        Source of randomness.

    Attributes
    ----------
    states : array of float32, shape (n_nodes, n_runs)
        Zeros and ones, a column a run.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.runs import GibbsRuns
    >>> from slabfield.models.field import BinaryField
    >>> runs = GibbsRuns(2, 3, np.random.default_rng(0))
    >>> runs.advance(BinaryField([-50.0, 50.0], np.zeros((2, 2))), n_sweeps=1)
    >>> runs.states
    array([[0., 0., 0.],
           [1., 1., 1.]], dtype=float32)
    """

    def __init__(self, n_nodes: int, n_runs: int, rng: np.random.Generator) -> None:
        self.states: NDArray[np.float32] = rng.integers(0, 2, (n_nodes, n_runs)).astype(np.float32)
        self._lanes = new_lanes(n_runs, rng)
        self._work = np.zeros(n_runs, np.float32)

    def advance(self, field: BinaryField, n_sweeps: int) -> None:
        """Resample every node of every state so many times, given the others and the field."""
        neighbours, weights, degree = neighbour_lists(field)
        bias, single = np.array(field.bias), weights.astype(np.float32)
        for _ in range(n_sweeps):
            sweep(self.states, bias, neighbours, single, degree, self._lanes, self._work)


def neighbour_lists(
    field: BinaryField,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Neighbours of every node, couplings to them, and how many there are, for compiled loops.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.runs import neighbour_lists
    >>> from slabfield.models.field import BinaryField
    >>> path = BinaryField(np.zeros(3), np.eye(3, k=1) + np.eye(3, k=-1))
    >>> neighbours, weights, degree = neighbour_lists(path)
    >>> neighbours[1].tolist(), weights[1].tolist(), degree.tolist()
    ([0, 2], [1.0, 1.0], [1, 2, 1])
    """
    edges = field.edges
    degree = edges.sum(axis=1).astype(np.int64)
    width = max(int(degree.max(initial=0)), 1)
    neighbours, weights = np.zeros((len(degree), width), np.int32), np.zeros((len(degree), width))
    for i, mine in enumerate(edges):
        (found,) = np.nonzero(mine)
        neighbours[i, : found.size], weights[i, : found.size] = found, field.coupling[i, found]
    return neighbours, weights, degree
