"""Annealed importance sampling of the normalizing constant of a binary field."""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.gibbs import sweep
from slabfield.kernels.state_table import add_times


@inner
def add_where_both(total, factor, state, other):
    """Add ``factor`` to the total of every particle in which two nodes are both 1."""
    for t in range(total.size):
        total[t] += factor * state[t] * other[t]


@jit
def anneal(states, base, bias, neighbors, weights, degree, ladder, n_sweeps, streams, log_weight):
    r"""Anneal particles from the independent field ``base`` to the field; fill log weights.

    At inverse temperature b the field has biases (1 - b) base + b bias and couplings b times the
    weights. Before the sweeps at the next temperature the log weight of every particle grows by

    .. math:: (b_{t+1} - b_t) \Big[\sum_i (bias_i - base_i) x_i
        + \sum_{i<j} \theta_{ij} x_i x_j\Big]

    Parameters
    ----------
    states : float32 (D, n), exact draws from the base; changed in place
    base, bias : float64 (D,)
    neighbors, weights : int32 and float64 (D, width), row i has ``degree[i]`` entries in use
    degree : int (D,)
    ladder : float64 (T,), inverse temperatures from 0 to 1
    n_sweeps : int
    streams : uint32 (4, n), state of the random streams; changed in place
    log_weight : float64 (n,), filled
    """
    n_nodes, n = states.shape
    field, energy = np.zeros(n, np.float32), np.zeros(n)
    scaled = np.zeros(weights.shape, np.float32)
    tempered = np.zeros(n_nodes)
    log_weight[:] = 0.0
    for t in range(ladder.size - 1):
        energy[:] = 0.0
        for i in range(n_nodes):
            add_times(energy, states[i], bias[i] - base[i])
            for k in range(degree[i]):
                j = neighbors[i, k]
                if j > i:
                    add_where_both(energy, weights[i, k], states[i], states[j])
        b = ladder[t + 1]
        for p in range(n):
            log_weight[p] += (b - ladder[t]) * energy[p]
        if t + 2 == ladder.size:
            break
        for i in range(n_nodes):
            tempered[i] = (1.0 - b) * base[i] + b * bias[i]
            for k in range(degree[i]):
                scaled[i, k] = b * weights[i, k]
        for _ in range(n_sweeps):
            sweep(states, tempered, neighbors, scaled, degree, streams, field)
