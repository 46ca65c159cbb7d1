"""Probabilities of groups of nodes given the rest, by enumeration of the group's states."""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.logistic import dot
from slabfield.kernels.table import fill_table, total_of


@inner
def log_sum_of_states(bias, matrix, weights, scratch):
    """Logarithm of the sum of the weights of all states of a small field."""
    shift = fill_table(weights, scratch, bias, matrix)
    return shift + math.log(total_of(weights))


@jit
def conditional_log_probabilities(bias, coupling, rows, groups, out):
    r"""Fill ``out`` with the log probability of each row's group given the rest of the row.

    .. math:: \log P(x_G \mid x_{-G}) = u(x_G) - \log \sum_{z} e^{u(z)}, \quad
        u(z) = \sum_{i \in G} h_i z_i + \sum_{i<j \in G} \theta_{ij} z_i z_j

    with h_i the bias plus what nodes outside the group add.

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
    whole = size == n_nodes  # nothing is given, so that the sum is log Z, the same for all rows
    normaliser = 0.0
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
            normaliser = log_sum_of_states(field, matrix, weights, scratch)
        out[r] = joint - normaliser
