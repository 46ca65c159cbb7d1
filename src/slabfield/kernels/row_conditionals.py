"""Conditional probabilities of groups of nodes given the rest, by enumeration."""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.logistic import dot
from slabfield.kernels.state_table import fill_table, total_of


@inner
def log_sum_of_states(bias, matrix, weights, scratch):
    """Log partition function of a small field."""
    shift = fill_table(weights, scratch, bias, matrix)
    return shift + math.log(total_of(weights))


@jit
def conditional_log_probabilities(bias, coupling, rows, groups, out):
    r"""Fill ``out`` with the log probability of each row's group given the rest of the row.

    .. math:: \log P(x_G \mid x_{-G}) = u(x_G) - \log \sum_{z} e^{u(z)}, \quad
        u(z) = \sum_{i \in G} h_i z_i + \sum_{i<j \in G} \theta_{ij} z_i z_j

    with h_i the bias plus the couplings to nodes outside the group.

    Parameters
    ----------
    bias : float64 (D,)
    coupling : float64 (D, D)
    rows : float64 (N, D)
    groups : int64 (N, g), the nodes of each row's group
    out : float64 (N,)
    """
    n_rows, n_nodes = rows.shape
    size = groups.shape[1]
    field, matrix = np.zeros(size), np.zeros((size, size))
    weights, scratch = np.zeros(1 << size), np.zeros(1 << size)
    whole = size == n_nodes  # no node is conditioned on: the normalizer is log Z in all rows
    log_normalizer = 0.0
    for r in range(n_rows):
        row, group = rows[r], groups[r]
        joint = 0.0
        for a in range(size):
            i = group[a]
            given = dot(coupling[i], row)
            inside = 0.0
            for b in range(size):
                matrix[a, b] = coupling[i, group[b]]
                inside += matrix[a, b] * row[group[b]]
            field[a] = bias[i] + given - inside
            joint += row[i] * (field[a] + 0.5 * inside)
        if not whole or r == 0:
            log_normalizer = log_sum_of_states(field, matrix, weights, scratch)
        out[r] = joint - log_normalizer
