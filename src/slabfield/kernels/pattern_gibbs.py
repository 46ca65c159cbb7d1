r"""Gibbs updates of whole patterns of a few nodes, which move particles between modes.

Where nodes exclude or imply each other (one-hot codes of a category, copies, implications), a
particle can change state only in several nodes at once. For a cluster S of such nodes the rows of
the data show few patterns on S. A particle whose state on S is one of these patterns draws a
pattern from them, given all its other nodes:

.. math:: P(x_S = p \mid x_S \in \mathcal{P}, x_R) \propto e^{E_S(p) + \sum_{i \in S} p_i h_i(x_R)}

This is a Gibbs update restricted to :math:`\mathcal{P}`, which leaves the field invariant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.block_particles import (
    ONE,
    ZERO,
    exponentiate_single,
    fill_uniform,
    outside_field,
    write_bit,
)
from slabfield.kernels.block_table import couplings_among
from slabfield.kernels.state_table import add_times

# Largest log ratio of weights that is exponentiated in single precision
MOST_EXPONENT = np.float32(60.0)


class Clusters(NamedTuple):
    """Sets of nodes that exclude or imply each other, and the patterns that rows show on them.

    Cluster c has ``nodes[node_start[c]:node_start[c + 1]]`` and the patterns from
    ``pattern_start[c]`` on; bit b of a pattern is the state of node b of the cluster.
    """

    nodes: Any
    node_start: Any
    patterns: Any
    pattern_start: Any


def no_clusters() -> Clusters:
    """Return an empty set of clusters."""
    none, start = np.zeros(0, np.int64), np.zeros(1, np.int64)
    return Clusters(none, start, none, start)


@inner
def add_code(codes, state, bit):
    """Write the states of a node into one bit of the pattern codes."""
    for t in range(codes.size):
        codes[t] += np.int32(state[t]) << bit


@inner
def exponent_of(score, current, exponent):
    """Fill in the log ratio of two weights, bounded by MOST_EXPONENT, minus MOST_EXPONENT."""
    for t in range(score.size):
        log_ratio = score[t] - current[t]
        exponent[t] = (MOST_EXPONENT if log_ratio > MOST_EXPONENT else log_ratio) - MOST_EXPONENT


@inner
def choose(weight, total, uniform, picked, code):
    """Replace the pattern picked with probability weight / (sum of weights so far)."""
    for t in range(weight.size):
        total[t] += weight[t]
        picked[t] = code if uniform[t] * total[t] < weight[t] else picked[t]


@inner
def draw_patterns(
    nodes, patterns, states, bias, coupling, neighbors, weights, degree, streams, rows, buffers
):
    """Redraw the pattern of a cluster in every particle that shows one of the patterns.

    ``rows`` is a buffer for the fields of the cluster's nodes and four more float rows. ``buffers``
    holds two integer rows, a row for powers of two, marks of nodes, and neighbor lists.
    """
    codes, picked, powers, inside, listed, listed_weights = buffers
    m, n = nodes.size, states.shape[1]
    score, current, total, uniform = rows[m], rows[m + 1], rows[m + 2], rows[m + 3]
    matrix, energy = np.zeros((m, m)), np.full(1 << m, np.nan)
    couplings_among(coupling, bias.size, nodes, matrix)
    for pattern in patterns:
        value = 0.0
        for b in range(m):
            for c in range(b):
                if (pattern >> b) & 1 and (pattern >> c) & 1:
                    value += matrix[b, c]
        energy[pattern] = value
    codes[:] = 0
    for b in range(m):
        inside[nodes[b]] = True
    for b in range(m):
        outside_field(
            nodes[b], inside, bias[nodes[b]], neighbors, weights, degree, states, listed,
            listed_weights, rows[b],
        )  # fmt: skip
        add_code(codes, states[nodes[b]], b)
    for b in range(m):
        inside[nodes[b]] = False
    for t in range(n):
        code = codes[t]
        value = energy[code]
        for b in range(m):
            if (code >> b) & 1:
                value += rows[b, t]
        current[t] = value
    total[:] = ZERO
    picked[:] = codes
    bits = powers.view(np.int32)
    for pattern in patterns:
        score[:] = np.float32(energy[pattern])
        for b in range(m):
            if (pattern >> b) & 1:
                add_times(score, rows[b], ONE)
        exponent_of(score, current, score)
        exponentiate_single(score, powers, bits)
        fill_uniform(streams, uniform)
        choose(score, total, uniform, picked, np.int32(pattern))
    for t in range(n):
        if np.isnan(current[t]):
            picked[t] = codes[t]
    for b in range(m):
        write_bit(states[nodes[b]], picked, b)


@inner
def draw_clusters(clusters, states, state, neighbors, weights, degree, streams, rows, work):
    """Redraw the patterns of all clusters in all particles, one cluster after another."""
    buffers = (
        work.upper_state, work.lower_state, work.powers_of_two, work.inside,
        work.outside_neighbors, work.outside_weights,
    )  # fmt: skip
    for c in range(clusters.node_start.size - 1):
        begin, end = clusters.node_start[c], clusters.node_start[c + 1]
        first, last = clusters.pattern_start[c], clusters.pattern_start[c + 1]
        draw_patterns(
            clusters.nodes[begin:end], clusters.patterns[first:last], states, state.bias,
            state.coupling, neighbors, weights, degree, streams, rows, buffers,
        )  # fmt: skip
