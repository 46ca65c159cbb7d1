r"""Gibbs sampling and annealing of fields given by tables of energies.

``states`` is (D, n), one column for each run. Node i has rows ``start[i]:start[i + 1]`` of the
tables ``node`` (S,) and ``pair`` (S, S), one for each of its levels, and
``neighbors[i, :degree[i]]`` share an edge with it.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, jit


@inner
def fill_probabilities(i, states, start, node, pair, scale, neighbors, degree, rows):
    r"""Fill ``rows`` (K, n) with the probabilities of the levels of a node given its neighbors.

    .. math:: P(x_i = a \mid x_{-i}) \propto
        \exp\Big(e_i[a] + s \sum_j e_{ij}[a, x_j]\Big)
    """
    n, n_levels = states.shape[1], start[i + 1] - start[i]
    for a in range(n_levels):
        row, own = rows[a], node[start[i] + a]
        for t in range(n):
            row[t] = own
        for k in range(degree[i]):
            j = neighbors[i, k]
            state, energy = states[j], pair[start[i] + a, start[j] :]
            for t in range(n):
                row[t] += scale * energy[state[t]]
    for t in range(n):
        largest = rows[0, t]
        for a in range(1, n_levels):
            largest = max(largest, rows[a, t])
        total = 0.0
        for a in range(n_levels):
            rows[a, t] = math.exp(rows[a, t] - largest)
            total += rows[a, t]
        for a in range(n_levels):
            rows[a, t] /= total


@inner
def draw_levels(state, rows, n_levels, rng):
    """Draw a level in every run from probabilities (K, n)."""
    for t in range(state.size):
        left, level = rng.random() - rows[0, t], 0
        while left >= 0.0 and level + 1 < n_levels:
            level += 1
            left -= rows[level, t]
        state[t] = level


@jit
def sweep_levels(states, start, node, pair, scale, neighbors, degree, n_sweeps, rng, sums):
    """Resample all nodes of all runs several times; add their conditional probabilities to sums.

    Parameters
    ----------
    states : uint8 (D, n), changed in place
    start : int64 (D + 1,)
    node, pair : float64 (S,) and (S, S)
    scale : float, factor of the energies of pairs
    neighbors, degree : int64 (D, width) and (D,)
    n_sweeps : int
    rng : numpy.random.Generator
    sums : float64 (S,), grows by n times n_sweeps for each node
    """
    n_nodes, n = states.shape
    rows = np.empty((np.max(start[1:] - start[:-1]), n))
    for _ in range(n_sweeps):
        for i in range(n_nodes):
            fill_probabilities(i, states, start, node, pair, scale, neighbors, degree, rows)
            n_levels = start[i + 1] - start[i]
            for a in range(n_levels):
                for t in range(n):
                    sums[start[i] + a] += rows[a, t]
            draw_levels(states[i], rows, n_levels, rng)


@jit
def anneal_levels(
    states, start, base, node, pair, neighbors, degree, ladder, n_sweeps, rng, log_weight
):
    r"""Anneal runs from the independent field ``base`` to the field; fill log weights.

    At inverse temperature b the field has energies (1 - b) base + b node and b times those of
    pairs. Before the sweeps at the next temperature the log weight of every run grows by

    .. math:: (b_{t+1} - b_t) \Big[\sum_i (e_i - base_i)[x_i] + \sum_{i<j} e_{ij}[x_i, x_j]\Big]

    Parameters
    ----------
    states : uint8 (D, n), exact draws from the base; changed in place
    start : int64 (D + 1,)
    base, node, pair : float64 (S,), (S,) and (S, S)
    neighbors, degree : int64 (D, width) and (D,)
    ladder : float64 (T,), inverse temperatures from 0 to 1
    n_sweeps : int
    rng : numpy.random.Generator
    log_weight : float64 (n,), filled
    """
    n_nodes, n = states.shape
    tempered, sums = np.empty(node.size), np.zeros(node.size)
    log_weight[:] = 0.0
    for step in range(ladder.size - 1):
        b = ladder[step + 1]
        for i in range(n_nodes):
            for t in range(n):
                at = start[i] + states[i, t]
                energy = node[at] - base[at]
                for k in range(degree[i]):
                    j = neighbors[i, k]
                    if j > i:
                        energy += pair[at, start[j] + states[j, t]]
                log_weight[t] += (b - ladder[step]) * energy
        if step + 2 == ladder.size:
            break
        for s in range(node.size):
            tempered[s] = (1.0 - b) * base[s] + b * node[s]
        sweep_levels(states, start, tempered, pair, b, neighbors, degree, n_sweeps, rng, sums)
