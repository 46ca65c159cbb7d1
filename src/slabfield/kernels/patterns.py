r"""Whole patterns of a few nodes drawn at once: what moves particles between modes.

Where nodes exclude or imply each other (one-hot codes of a category, copies, implications), a
particle can change only in many nodes together. For a cluster S of such nodes the patterns that
rows of the data show on S are few. A particle whose nodes of S show one of these patterns draws
another of them, or the same, given all its other nodes:

.. math:: P(x_S = p \mid x_S \in \mathcal{P}, x_R) \propto e^{E_S(p) + \sum_{i \in S} p_i h_i(x_R)}

a Gibbs update of the pattern among those of :math:`\mathcal{P}`, so that the field stays as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.cloud import ZERO, exponentiate_single, fill_uniform, outside_field
from slabfield.kernels.cube import couplings_among

MOST_EXPONENT = np.float32(60.0)


class Clusters(NamedTuple):
    """Nodes that exclude or imply each other, and the patterns that rows show on them.

    Cluster c has ``nodes[node_start[c]:node_start[c + 1]]`` and the patterns from
    ``pattern_start[c]`` on; bit b of a pattern is the state of the cluster's node b.
    """

    nodes: Any
    node_start: Any
    patterns: Any
    pattern_start: Any


def no_clusters() -> Clusters:
    """Return that no nodes exclude or imply each other."""
    none, start = np.zeros(0, np.int64), np.zeros(1, np.int64)
    return Clusters(none, start, none, start)


@inner
def add_rows(target, source):
    """Add a row to another."""
    for t in range(target.size):
        target[t] += source[t]


@inner
def add_code(codes, state, bit):
    """Add a node's states to the codes of patterns."""
    for t in range(codes.size):
        codes[t] += np.int32(state[t]) << bit


@inner
def exponent_of(score, current, exponent):
    """Fill in how much higher one log weight is than another, within bounds, less the bound."""
    for t in range(score.size):
        more = score[t] - current[t]
        exponent[t] = (MOST_EXPONENT if more > MOST_EXPONENT else more) - MOST_EXPONENT


@inner
def choose(weight, total, uniform, picked, code):
    """Take a pattern in place of those before it with its share of the weight so far."""
    for t in range(weight.size):
        total[t] += weight[t]
        picked[t] = code if uniform[t] * total[t] < weight[t] else picked[t]


@inner
def draw_patterns(
    nodes, patterns, states, bias, coupling, neighbours, weights, degree, lanes, rows, room
):
    """Draw the pattern of a cluster anew in every particle that shows one of the patterns.

    ``rows`` is room for the fields of its nodes and four more rows of numbers, and ``room`` for
    two rows of whole numbers, marks of nodes, and lists of neighbours.
    """
    codes, picked, powers, inside, some, some_weights = room
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
            nodes[b], inside, bias[nodes[b]], neighbours, weights, degree, states, some,
            some_weights, rows[b],
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
                add_rows(score, rows[b])
        exponent_of(score, current, score)
        exponentiate_single(score, powers, bits)
        fill_uniform(lanes, uniform)
        choose(score, total, uniform, picked, np.int32(pattern))
    for t in range(n):
        if np.isnan(current[t]):
            picked[t] = codes[t]
    for b in range(m):
        row = states[nodes[b]]
        for t in range(n):
            row[t] = (picked[t] >> b) & 1


@inner
def draw_clusters(clusters, states, state, neighbours, weights, degree, lanes, rows, work):
    """Draw the patterns of all clusters, one after the other, in all particles."""
    room = (
        work.upper_state, work.picked, work.powers, work.inside, work.some, work.some_weights,
    )  # fmt: skip
    for number in range(clusters.node_start.size - 1):
        begin, end = clusters.node_start[number], clusters.node_start[number + 1]
        first, last = clusters.pattern_start[number], clusters.pattern_start[number + 1]
        draw_patterns(
            clusters.nodes[begin:end], clusters.patterns[first:last], states, state.bias,
            state.coupling, neighbours, weights, degree, lanes, rows, room,
        )  # fmt: skip
