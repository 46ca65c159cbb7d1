r"""Particles of nodes with levels: fields, conditionals of nodes, and factors of block tables.

Particles are contiguous: ``states`` is (D, n), one byte each, and ``embedded`` (coordinates, n)
holds the embedding of every node's level, so that a neighbor adds one scaled row per coordinate
to a field, as in :mod:`slabfield.kernels.gibbs`. Given the fields on its coordinates, level a of a
node has log weight :math:`G[a] \cdot \mu + V[a] \cdot h`.
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, multiply_add
from slabfield.kernels.block_particles import ONE, ZERO, exponentiate_single, fill_uniform
from slabfield.kernels.gibbs import accumulate
from slabfield.kernels.level_table import level_bias


@inner
def embed(state, values, embedded):
    """Fill in one coordinate of the embedding of a node in every particle."""
    for t in range(state.size):
        embedded[t] = values[state[t]]


@inner
def embed_node(features, row_start, i, states, embedded, values):
    """Fill in all coordinates of the embedding of a node in every particle."""
    start = features.level_start[i]
    for u in range(features.embedding_size[i]):
        for a in range(features.n_levels[i]):
            values[a] = np.float32(features.embedding[start + a, u])
        embed(states[i], values, embedded[row_start[i] + u])


@inner
def fill_level_neighbors(first, second, features, row_start, state, neighbors, weights, degree):
    """Write the parameters of present edges into padded lists of neighboring coordinates."""
    degree[:] = 0
    for k in range(state.n_members[0]):
        edge = state.members[k]
        write_edge(
            first[edge], second[edge], edge, features, row_start, state, neighbors, weights, degree
        )


@inner
def write_edge(i, j, edge, features, row_start, state, neighbors, weights, degree):
    """Append the parameters of the edge between nodes i < j to the lists of its coordinates."""
    place = features.group_start[edge]
    for u in range(features.embedding_size[i]):
        for v in range(features.embedding_size[j]):
            p, q = row_start[i] + u, row_start[j] + v
            value = np.float32(state.coupling[place])
            place += 1
            neighbors[p, degree[p]] = q
            weights[p, degree[p]] = value
            degree[p] += 1
            neighbors[q, degree[q]] = p
            weights[q, degree[q]] = value
            degree[q] += 1


@inner
def largest_row(rows, largest):
    """Fill in the largest of several rows, particle by particle."""
    for t in range(largest.size):
        largest[t] = rows[0, t]
    for a in range(1, rows.shape[0]):
        for t in range(largest.size):
            largest[t] = rows[a, t] if rows[a, t] > largest[t] else largest[t]


@inner
def weigh_levels(features, bias, i, field, rows, largest, powers):
    """Fill in the weights of the levels of a node in every particle, the largest being one.

    ``field`` holds the fields on the node's coordinates, (e, n), and ``rows`` is (K, n).
    """
    start = features.level_start[i]
    for a in range(features.n_levels[i]):
        row, own = rows[a], np.float32(level_bias(features, bias, i, a))
        for t in range(row.size):
            row[t] = own
        for u in range(features.embedding_size[i]):
            score, values = np.float32(features.embedding[start + a, u]), field[u]
            for t in range(row.size):
                row[t] = multiply_add(score, values[t], row[t])
    largest_row(rows, largest)
    bits = powers.view(np.int32)
    for a in range(rows.shape[0]):
        row = rows[a]
        for t in range(row.size):
            row[t] -= largest[t]
        exponentiate_single(row, powers, bits)


@inner
def draw_levels(rows, uniform, running, state):
    """Draw a level in every particle in proportion to weights (K, n)."""
    for t in range(state.size):
        running[t] = ZERO
    for a in range(rows.shape[0]):
        for t in range(state.size):
            running[t] += rows[a, t]
    for t in range(state.size):
        running[t] *= uniform[t]
        state[t] = 0
    for a in range(rows.shape[0] - 1):
        for t in range(state.size):
            running[t] -= rows[a, t]
            state[t] += np.uint8(1) if running[t] > ZERO else np.uint8(0)


@inner
def outside_fields(
    i, features, row_start, inside, shift, neighbors, weights, degree, embedded, listed,
    listed_weights, field,
):  # fmt: skip
    """Fill in the fields on a node's coordinates from nodes outside a block, plus a shift."""
    for u in range(features.embedding_size[i]):
        p, count = row_start[i] + u, 0
        for m in range(degree[p]):
            q = neighbors[p, m]
            if not inside[q]:
                listed[count] = q
                listed_weights[count] = weights[p, m]
                count += 1
        accumulate(field[u], np.float32(shift[u]), listed, listed_weights, count, embedded)


@inner
def branch_levels(factors, size, rows):
    """Multiply the factors of a block's states so far by the weights of the next node's levels."""
    for a in range(rows.shape[0] - 1, -1, -1):
        row = rows[a]
        for s in range(size):
            source, target = factors[s], factors[a * size + s]
            for t in range(row.size):
                target[t] = source[t] * row[t]
    return size * rows.shape[0]


@inner
def mix_cells(weights, lower, mixed):
    """Fill ``mixed`` with the matrix product of ``weights`` and ``lower``, four rows at a time."""
    n, size = lower.shape[1], lower.shape[0]
    whole = size - size % 4
    for s in range(weights.shape[0]):
        target = mixed[s]
        for t in range(n):
            target[t] = ZERO
        for r in range(0, whole, 4):
            a, b, c, d = weights[s, r], weights[s, r + 1], weights[s, r + 2], weights[s, r + 3]
            one, two, three, four = lower[r], lower[r + 1], lower[r + 2], lower[r + 3]
            for t in range(n):
                left = multiply_add(b, two[t], multiply_add(a, one[t], target[t]))
                target[t] = multiply_add(d, four[t], multiply_add(c, three[t], left))
        for r in range(whole, size):
            a, one = weights[s, r], lower[r]
            for t in range(n):
                target[t] = multiply_add(a, one[t], target[t])


@inner
def pick_lower_cells(lower, weights, uniform, running, upper_state, picked):
    """Draw the state of the lower half in every particle, given the state of the upper half.

    On entry ``running`` is the normalizer of the lower half, given the upper half.
    """
    for t in range(uniform.size):
        running[t] *= uniform[t]
        picked[t] = 0
    for s in range(lower.shape[0] - 1):
        row = lower[s]
        for t in range(uniform.size):
            running[t] -= row[t] * weights[upper_state[t], s]
            picked[t] += np.int32(1) if running[t] > ZERO else np.int32(0)


@inner
def write_levels(state, picked, stride, n_levels):
    """Set the levels of a node to one digit of the block states drawn."""
    for t in range(state.size):
        state[t] = picked[t] // stride % n_levels


@inner
def upward_levels(rows, pair, parent, buffer):
    """Multiply the weights of a parent's levels by sums over the levels of a child.

    ``pair`` holds the weights of pairs of levels, those of the child varying fastest. The weights
    of the parent are scaled so that the largest is one.
    """
    n_child = rows.shape[0]
    for a in range(parent.shape[0]):
        row = parent[a]
        for t in range(row.size):
            total = ZERO
            for b in range(n_child):
                total = multiply_add(pair[a * n_child + b], rows[b, t], total)
            row[t] *= total
    largest_row(parent, buffer)
    for t in range(buffer.size):
        buffer[t] = ONE / buffer[t]
    for a in range(parent.shape[0]):
        for t in range(buffer.size):
            parent[a, t] *= buffer[t]


@inner
def multiply_given_parent(rows, pair, parent_state):
    """Multiply the weights of a node's levels by those of the pairs with its parent's level."""
    n_child = rows.shape[0]
    for b in range(n_child):
        row = rows[b]
        for t in range(row.size):
            row[t] *= pair[parent_state[t] * n_child + b]


@inner
def node_moments(features, i, u, rows, first, second):
    """Fill in mean and mean square of a coordinate of a node's centered embedding, by particle.

    ``rows`` are the weights of its levels.
    """
    start = features.level_start[i]
    for t in range(first.size):
        first[t], second[t] = ZERO, ZERO
    for a in range(rows.shape[0]):
        score, row = np.float32(features.centered[start + a, u]), rows[a]
        square = score * score
        for t in range(first.size):
            first[t] = multiply_add(score, row[t], first[t])
            second[t] = multiply_add(square, row[t], second[t])
    for t in range(first.size):
        total = ZERO
        for a in range(rows.shape[0]):
            total += rows[a, t]
        share = ONE / total
        first[t] *= share
        second[t] *= share


@inner
def resample_levels(
    i, features, row_start, state, states, embedded, neighbors, weights, degree, streams, field,
    rows, buffer, powers, uniform, values,
):  # fmt: skip
    """Draw one node in every particle from its full conditional."""
    for u in range(features.embedding_size[i]):
        p = row_start[i] + u
        accumulate(field[u], ZERO, neighbors[p], weights[p], degree[p], embedded)
    levels = rows[: features.n_levels[i]]
    weigh_levels(features, state.bias, i, field, levels, buffer, powers)
    fill_uniform(streams, uniform)
    draw_levels(levels, uniform, buffer, states[i])
    embed_node(features, row_start, i, states, embedded, values)
