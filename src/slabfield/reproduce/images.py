"""Gibbs samples of fields, and how like test images they are, as pieces of work (figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.gibbs import new_lanes, sweep
from slabfield.reproduce.worlds import open_world

Array = NDArray[np.float64]


def gibbs_samples(bias: Array, edges: Array, n: int, n_sweeps: int, seed: int) -> Array:
    """Draw states of one field, or as many of each of several, by Gibbs runs from fair coins.

    Parameters
    ----------
    bias : array (D,) or (K, D)
        Biases of one field, or of K.
    edges : array (n_edges,) or (K, n_edges)
        Their couplings, in the order of ``numpy.triu_indices(D, 1)``.
    n : int
        Samples of each field.
    n_sweeps : int
        Length of the runs.
    seed : int

    Returns
    -------
    array (K * n, D)
        The last states.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.reproduce.images import gibbs_samples
    >>> gibbs_samples(np.array([-50.0, 50.0]), np.zeros(1), 3, 1, seed=0).mean(axis=0)
    array([0., 1.])
    """
    rng = np.random.default_rng(seed)
    parts = []
    for one_bias, one in zip(np.atleast_2d(bias), np.atleast_2d(edges), strict=True):
        n_nodes = one_bias.size
        coupling = np.zeros((n_nodes, n_nodes), np.float32)
        coupling[np.triu_indices(n_nodes, 1)] = one
        coupling += coupling.T
        neighbours = np.array([np.delete(np.arange(n_nodes), i) for i in range(n_nodes)], np.int32)
        weights = np.take_along_axis(coupling, neighbours, axis=1)
        degree = np.full(n_nodes, n_nodes - 1)
        states = rng.integers(0, 2, (n_nodes, n)).astype(np.float32)
        lanes, work = new_lanes(n, rng), np.empty(n, np.float32)
        for _ in range(n_sweeps):
            sweep(states, one_bias, neighbours, weights, degree, lanes, work)
        parts.append(states.T)
    return np.concatenate(parts).astype(np.float64)


def moment_error(samples: Array, world: Sequence[Any]) -> float:
    """How far pairwise means of samples are from those of the test rows: rms over pairs."""
    test = open_world(world).test.astype(np.float64)
    difference = samples.T @ samples / len(samples) - test.T @ test / len(test)
    return float(np.sqrt(np.mean(difference[np.triu_indices(len(difference), 1)] ** 2)))
