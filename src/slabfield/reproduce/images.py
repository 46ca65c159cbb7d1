"""Gibbs samples of fields, and the error of their pairwise means (figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.gibbs import new_streams, sweep
from slabfield.models.interactions import Interactions
from slabfield.reproduce.data_sets import open_data_set

Array = NDArray[np.float64]


def gibbs_samples(bias: Array, edges: Array, n: int, n_sweeps: int, seed: int) -> Array:
    """Draw states of one or several fields by Gibbs runs that start from fair coin tosses.

    Parameters
    ----------
    bias : array (D,) or (K, D)
        Biases of one field, or of K fields.
    edges : array (n_edges,) or (K, n_edges)
        Couplings of all pairs.
    n : int
        Samples per field.

    Returns
    -------
    array (K * n, D)
        Final states of the runs.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for one_bias, one in zip(np.atleast_2d(bias), np.atleast_2d(edges), strict=True):
        n_nodes = one_bias.size
        coupling = Interactions.pairs(n_nodes).as_matrix(one.astype(np.float32))
        neighbors = np.array([np.delete(np.arange(n_nodes), i) for i in range(n_nodes)], np.int32)
        weights = np.take_along_axis(coupling, neighbors, axis=1)
        degree = np.full(n_nodes, n_nodes - 1)
        states = rng.integers(0, 2, (n_nodes, n)).astype(np.float32)
        streams, work = new_streams(n, rng), np.empty(n, np.float32)
        for _ in range(n_sweeps):
            sweep(states, one_bias, neighbors, weights, degree, streams, work)
        parts.append(states.T)
    return np.concatenate(parts).astype(np.float64)


def moment_error(samples: Array, data_set: Sequence[Any]) -> float:
    """Rms difference, over pairs, between pairwise means of samples and of test rows."""
    test = open_data_set(data_set).test.astype(np.float64)
    difference = samples.T @ samples / len(samples) - test.T @ test / len(test)
    of_pairs = Interactions.pairs(len(difference)).of_matrix(difference)
    return float(np.sqrt(np.mean(of_pairs**2)))
