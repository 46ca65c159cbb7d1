r"""Joint table of a block of nodes: its marginal distribution, all other nodes summed out.

For a block S of k nodes, the conditional of the couplings and biases *within* S depends on the rest
of the field only through the 2^k probabilities of the states of S (equation 18). They are computed
once for a block; each update within it then multiplies parts of a small table.

``table`` is (2^k, groups): bit b of a row index is the state of the block's node b. Sums over all
states of the other nodes need one group. Sums over particles have several groups, of different
particles, and the variance between groups estimates the Monte Carlo variance of their sum.

Given the states of the other nodes, a node of S has field h, its couplings within S excluded. Its
two states have weights 1 and e^h; both are divided by the larger, so that neither overflows.
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import full, inner, load, multiply_add, reduce_add
from slabfield.kernels.state_table import NARROW, exponentiate, largest_of


@inner
def rest_weights(bias, matrix, k, log_weight, scratch):
    """Fill in the log weights of all states of the nodes from k on, by doubling."""
    log_weight[0] = 0.0
    for m in range(bias.size - k):
        size = 1 << m
        scratch[0] = bias[k + m]
        for j in range(m):
            half, change = 1 << j, matrix[k + m, k + j]
            upper = scratch[half:]
            for t in range(half):
                upper[t] = scratch[t] + change
        upper = log_weight[size:]
        for t in range(size):
            upper[t] = log_weight[t] + scratch[t]


@inner
def rest_fields(bias, matrix, k, fields, low, log_weight):
    """Fill in the fields h of the first k nodes, and -|h|, in all states of the other nodes.

    The larger log weight of a node's two states, max(h, 0), is added to the log weight of the rest.
    """
    n_rest = bias.size - k
    for b in range(k):
        row, small = fields[b], low[b]
        row[0] = bias[b]
        for j in range(n_rest):
            half, change = 1 << j, matrix[b, k + j]
            upper = row[half:]
            for t in range(half):
                upper[t] = row[t] + change
        for t in range(1 << n_rest):
            field = row[t]
            positive = field > 0
            small[t] = -field if positive else field
            log_weight[t] += field if positive else 0.0


@inner
def branch(source, target, field, low):
    """Add a node: ``target`` gets the weights with the node at 1, ``source`` those at 0.

    The larger weight of the node's two states is one, the smaller is ``low``, e^-|h|.
    """
    for t in range(source.size):
        before, small, positive = source[t], low[t], field[t] > 0
        target[t] = before if positive else before * small
        source[t] = before * small if positive else before


@inner
def edge_number(n_nodes, i, j):
    """Index of edge i < j in the order of ``triu_indices(n_nodes, 1)``."""
    return i * n_nodes - i * (i + 1) // 2 + (j - i - 1)


@inner
def couplings_among(coupling, n_nodes, nodes, matrix):
    """Fill ``matrix`` with the couplings among the given nodes."""
    for b in range(nodes.size):
        matrix[b, b] = 0.0
        for c in range(b):
            i, j = min(nodes[b], nodes[c]), max(nodes[b], nodes[c])
            value = coupling[edge_number(n_nodes, i, j)]
            matrix[b, c] = value
            matrix[c, b] = value


@inner
def block_energy(shift, matrix, energy):
    """Fill ``energy`` with the log weights of all states, from couplings and biases ``shift``."""
    energy[0] = 0.0
    for b in range(shift.size):
        for s in range(1 << b):
            total = energy[s] + shift[b]
            for c in range(b):
                if (s >> c) & 1:
                    total += matrix[b, c]
            energy[(1 << b) + s] = total


@inner
def eight_dots(one, two, p, q, r, s):
    """Dot products of each of two rows with four others."""
    whole = one.size - one.size % NARROW
    a, b, c, d = full(0.0, NARROW), full(0.0, NARROW), full(0.0, NARROW), full(0.0, NARROW)
    e, f, g, h = full(0.0, NARROW), full(0.0, NARROW), full(0.0, NARROW), full(0.0, NARROW)
    for t in range(0, whole, NARROW):
        x, y = load(one, t, NARROW), load(two, t, NARROW)
        value = load(p, t, NARROW)
        a, e = multiply_add(x, value, a), multiply_add(y, value, e)
        value = load(q, t, NARROW)
        b, f = multiply_add(x, value, b), multiply_add(y, value, f)
        value = load(r, t, NARROW)
        c, g = multiply_add(x, value, c), multiply_add(y, value, g)
        value = load(s, t, NARROW)
        d, h = multiply_add(x, value, d), multiply_add(y, value, h)
    first = reduce_add(a), reduce_add(b), reduce_add(c), reduce_add(d)
    second = reduce_add(e), reduce_add(f), reduce_add(g), reduce_add(h)
    for t in range(whole, one.size):
        first = (
            multiply_add(one[t], p[t], first[0]), multiply_add(one[t], q[t], first[1]),
            multiply_add(one[t], r[t], first[2]), multiply_add(one[t], s[t], first[3]),
        )  # fmt: skip
        second = (
            multiply_add(two[t], p[t], second[0]), multiply_add(two[t], q[t], second[1]),
            multiply_add(two[t], r[t], second[2]), multiply_add(two[t], s[t], second[3]),
        )  # fmt: skip
    return first, second


@inner
def multiply_rows(upper, lower, product):
    """Fill ``product`` with upper times lower transposed; their row counts are powers of two.

    With fewer than two upper or four lower rows, some rows are used more than once.
    """
    n_upper, n_lower = product.shape
    for a in range(0, n_upper, 2):
        b = min(a + 1, n_upper - 1)
        for c in range(0, n_lower, 4):
            d, e, f = min(c + 1, n_lower - 1), min(c + 2, n_lower - 1), min(c + 3, n_lower - 1)
            first, second = eight_dots(upper[a], upper[b], lower[c], lower[d], lower[e], lower[f])
            product[a, f], product[a, e], product[a, d], product[a, c] = (
                first[3], first[2], first[1], first[0],
            )  # fmt: skip
            product[b, f], product[b, e], product[b, d], product[b, c] = (
                second[3], second[2], second[1], second[0],
            )  # fmt: skip


@inner
def exact_block_table(bias, matrix, k, work, table):
    """Fill ``table`` with the weights of the states of the first k nodes, the others summed out.

    ``bias`` and ``matrix`` (the couplings) list the block's nodes first; ``work`` comes from
    :func:`new_exact_workspace`. Returns the log of the factor that the weights were divided by.

    The weights of the states of either half of the block, in every state of the rest, are built by
    doubling; the sum over the rest is then a matrix product.
    """
    fields, log_weight, scratch, low, lower_buffer, upper_buffer, energy, product_buffer = work
    n_rest = bias.size - k
    size, first = 1 << n_rest, k // 2
    lower = lower_buffer[: size << first].reshape((1 << first, size))
    upper = upper_buffer[: size << (k - first)].reshape((1 << (k - first), size))
    rest_weights(bias, matrix, k, log_weight, scratch)
    rest_fields(bias, matrix, k, fields, low, log_weight)
    weights, bits = log_weight[:size], scratch.view(np.int64)
    largest = largest_of(weights)
    exponentiate(weights, largest, scratch, bits)
    lower[0] = weights
    upper[0] = 1.0
    for b in range(k):
        row, field = low[b, :size], fields[b, :size]
        exponentiate(row, 0.0, scratch, bits)
        half, place = (lower, b) if b < first else (upper, b - first)
        for s in range(1 << place):
            branch(half[s], half[(1 << place) + s], field, row)
    product = product_buffer[: 1 << k].reshape((1 << (k - first), 1 << first))
    multiply_rows(upper, lower, product)
    block_energy(np.zeros(k), matrix, energy)
    states = energy[: 1 << k]
    largest_inside = largest_of(states)
    exponentiate(states, largest_inside, scratch, bits)
    for s in range(1 << k):
        table[s, 0] = product[s >> first, s & ((1 << first) - 1)] * states[s]
    return largest + largest_inside


def new_exact_workspace(n_nodes: int, least: int, k: int) -> tuple[np.ndarray, ...]:
    """Return workspace for :func:`exact_block_table` of blocks of ``least`` to k nodes."""
    size = 1 << (n_nodes - least)
    return (
        np.zeros((k, size)),
        np.zeros(size),
        np.zeros(max(size, 1 << k)),
        np.zeros((k, size)),
        np.zeros(size << (k // 2)),
        np.zeros(size << (k - k // 2)),
        np.zeros(1 << k),
        np.zeros(1 << k),
    )


@inner
def pair_marginal(table, k, low, high, sums):
    """Sum the table, by group, where nodes low < high are (0,0), (1,0), (0,1) and (1,1)."""
    a, b = 1 << low, 1 << high
    groups = table.shape[1]
    if groups == 1 and a >= NARROW:
        states = table.reshape(table.size)
        w00, w10, w01, w11 = (
            full(0.0, NARROW),
            full(0.0, NARROW),
            full(0.0, NARROW),
            full(0.0, NARROW),
        )
        for outer in range(0, 1 << k, 2 * b):
            for middle in range(outer, outer + b, 2 * a):
                for s in range(middle, middle + a, NARROW):
                    w00 += load(states, s, NARROW)
                    w10 += load(states, s + a, NARROW)
                    w01 += load(states, s + b, NARROW)
                    w11 += load(states, s + a + b, NARROW)
        sums[0, 0], sums[1, 0] = reduce_add(w00), reduce_add(w10)
        sums[2, 0], sums[3, 0] = reduce_add(w01), reduce_add(w11)
        return
    if groups == 1:
        s00, s10, s01, s11 = 0.0, 0.0, 0.0, 0.0
        for outer in range(0, 1 << k, 2 * b):
            for middle in range(outer, outer + b, 2 * a):
                for s in range(middle, middle + a):
                    s00 += table[s, 0]
                    s10 += table[s + a, 0]
                    s01 += table[s + b, 0]
                    s11 += table[s + a + b, 0]
        sums[0, 0], sums[1, 0], sums[2, 0], sums[3, 0] = s00, s10, s01, s11
        return
    sums[:] = 0.0
    for outer in range(0, 1 << k, 2 * b):
        for middle in range(outer, outer + b, 2 * a):
            for s in range(middle, middle + a):
                for t in range(groups):
                    sums[0, t] += table[s, t]
                    sums[1, t] += table[s + a, t]
                    sums[2, t] += table[s + b, t]
                    sums[3, t] += table[s + a + b, t]


@inner
def node_marginal(table, k, node, sums):
    """Sum the table where a node of the block is 0 (first row of ``sums``) and 1 (last row)."""
    a = 1 << node
    if table.shape[1] == 1:
        zero, one = 0.0, 0.0
        for outer in range(0, 1 << k, 2 * a):
            for s in range(outer, outer + a):
                zero += table[s, 0]
                one += table[s + a, 0]
        sums[0, 0], sums[3, 0] = zero, one
        return
    sums[:] = 0.0
    for outer in range(0, 1 << k, 2 * a):
        for s in range(outer, outer + a):
            for t in range(table.shape[1]):
                sums[0, t] += table[s, t]
                sums[3, t] += table[s + a, t]


@inner
def reweight_pair(table, k, low, high, first, second, both):
    """Multiply the table where only ``low`` is 1, where only ``high`` is, and where both are."""
    a, b = 1 << low, 1 << high
    for outer in range(0, 1 << k, 2 * b):
        for middle in range(outer, outer + b, 2 * a):
            for s in range(middle, middle + a):
                for t in range(table.shape[1]):
                    table[s + a, t] *= first
                    table[s + b, t] *= second
                    table[s + a + b, t] *= both


@inner
def reweight_node(table, k, node, factor):
    """Multiply the table where a node of the block is 1."""
    a = 1 << node
    for outer in range(0, 1 << k, 2 * a):
        for s in range(outer + a, outer + 2 * a):
            for t in range(table.shape[1]):
                table[s, t] *= factor
