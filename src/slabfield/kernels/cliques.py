"""Loops over a general log-linear model stored as flat tables; not optimized."""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner


@inner
def table_row(cliques, alpha, states, s):
    """Index in the tables of the first feature of interaction alpha at column s of the states."""
    row = cliques.table_start[alpha]
    for k in range(cliques.clique_start[alpha], cliques.clique_start[alpha + 1]):
        row += cliques.clique_strides[k] * states[cliques.clique_nodes[k], s]
    return row


@inner
def dot_features(cliques, alpha, row, parameters, start):
    """Sum of an interaction's features times parameters[start], parameters[start + 1], ..."""
    total = 0.0
    for k in range(cliques.group_start[alpha + 1] - cliques.group_start[alpha]):
        total += parameters[start + k] * cliques.tables[row + k]
    return total


@inner
def column_potential(cliques, bias, coupling, present, states, s):
    """Unnormalized log probability of column s of the states (equation 2)."""
    total = 0.0
    for i in range(cliques.n_states.size):
        if states[i, s] > 0:
            total += bias[cliques.bias_start[i] + states[i, s] - 1]
    for alpha in range(present.size):
        if present[alpha]:
            row = table_row(cliques, alpha, states, s)
            total += dot_features(cliques, alpha, row, coupling, cliques.group_start[alpha])
    return total


@inner
def resample_node(cliques, bias, coupling, present, states, i, s, rng):
    """Draw node i of column s from its conditional given the other nodes (Gibbs)."""
    n_states = cliques.n_states[i]
    # Gumbel-max trick: the state with the largest log weight plus Gumbel noise is an exact draw
    best, chosen = -math.inf, 0
    for value in range(n_states):
        states[i, s] = value
        logit = bias[cliques.bias_start[i] + value - 1] if value > 0 else 0.0
        for k in range(cliques.node_start[i], cliques.node_start[i + 1]):
            alpha = cliques.node_interactions[k]
            if present[alpha]:
                row = table_row(cliques, alpha, states, s)
                logit += dot_features(cliques, alpha, row, coupling, cliques.group_start[alpha])
        logit -= math.log(rng.standard_exponential())
        if logit > best:
            best, chosen = logit, value
    states[i, s] = chosen


@inner
def weighted_moments(cliques, alpha, states, weights, mean, covariance):
    """Mean and covariance of the features of an interaction over weighted columns of states."""
    size = cliques.group_start[alpha + 1] - cliques.group_start[alpha]
    mean[:] = 0.0
    covariance[:] = 0.0
    total = 0.0
    for s in range(states.shape[1]):
        row = table_row(cliques, alpha, states, s)
        total += weights[s]
        for k in range(size):
            mean[k] += weights[s] * cliques.tables[row + k]
            for m in range(size):
                product = cliques.tables[row + k] * cliques.tables[row + m]
                covariance[k, m] += weights[s] * product
    for k in range(size):
        mean[k] /= total
    for k in range(size):
        for m in range(size):
            covariance[k, m] = covariance[k, m] / total - mean[k] * mean[m]


@inner
def bias_means(cliques, states, weights, mean):
    """Weighted frequencies of the states 1, 2, ... of every node."""
    mean[:] = 0.0
    total = 0.0
    for s in range(states.shape[1]):
        total += weights[s]
        for i in range(cliques.n_states.size):
            if states[i, s] > 0:
                mean[cliques.bias_start[i] + states[i, s] - 1] += weights[s]
    mean /= total


@inner
def means_in_use(cliques, states, weights, members, bias_mean, coupling_mean):
    """Weighted means of all bias features and of the features of the listed interactions."""
    bias_means(cliques, states, weights, bias_mean)
    for alpha in members:
        start, stop = cliques.group_start[alpha], cliques.group_start[alpha + 1]
        covariance = np.empty((stop - start, stop - start))
        weighted_moments(cliques, alpha, states, weights, coupling_mean[start:stop], covariance)


def all_states(n_states: np.ndarray) -> np.ndarray:
    """All joint states as columns, (D, product of n_states)."""
    grid = np.indices(tuple(int(k) for k in n_states))
    return np.ascontiguousarray(grid.reshape(len(n_states), -1).astype(np.int64))
