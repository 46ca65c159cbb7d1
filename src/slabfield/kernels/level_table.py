"""Tables of all joint states of nodes with levels, and of blocks of such nodes.

The state of D nodes is a number in mixed radix: node i changes it by ``stride[i]`` per level. The
table of a block is (cells, groups), its first node changing fastest; sums over all states of the
other nodes need one group, sums over particles several (:mod:`slabfield.kernels.block_table`).
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.block_table import edge_number
from slabfield.kernels.state_table import exponentiate, largest_of


@inner
def fill_strides(n_levels, nodes, stride):
    """Fill in the strides of nodes in their joint table; return the number of its cells."""
    size = 1
    for b in range(nodes.size):
        stride[b] = size
        size *= n_levels[nodes[b]]
    return size


@inner
def add_field(features, coupling, i, u, field):
    """Fill in coordinate u of the field on node i in all states of the nodes before it."""
    field[0] = 0.0
    size = 1
    for j in range(i):
        start, alpha = features.level_start[j], edge_number(features.n_levels.size, j, i)
        n_levels, e, first = features.n_levels[j], features.embedding_size[j], 0.0
        begin = features.group_start[alpha] + u
        width = features.embedding_size[i]
        for a in range(n_levels - 1, -1, -1):
            change = 0.0
            for v in range(e):
                change += features.embedding[start + a, v] * coupling[begin + v * width]
            if a > 0:
                part = field[a * size : (a + 1) * size]
                for t in range(size):
                    part[t] = field[t] + change
            else:
                first = change
        for t in range(size):
            field[t] += first
        size *= n_levels


@inner
def level_bias(features, bias, i, a):
    """Log weight of level a of node i from its biases."""
    total = 0.0
    start = features.bias_start[i]
    for r in range(features.bias_start[i + 1] - start):
        total += features.bias_feature[features.level_start[i] + a, r] * bias[start + r]
    return total


@inner
def fill_level_table(features, bias, coupling, table, scratch):
    """Fill in the relative weights of all joint states; return the log of their scale.

    The table grows node by node: for each level of the next node, the table so far plus the log
    weight of that level given the states of the nodes before.
    """
    table[0] = 0.0
    size = 1
    for i in range(features.n_levels.size):
        start, n_levels = features.level_start[i], features.n_levels[i]
        for a in range(n_levels - 1, -1, -1):
            weight, part = level_bias(features, bias, i, a), table[a * size : (a + 1) * size]
            for t in range(size):
                part[t] = table[t] + weight
        for u in range(features.embedding_size[i]):
            add_field(features, coupling, i, u, scratch)
            for a in range(n_levels):
                part, score = table[a * size : (a + 1) * size], features.embedding[start + a, u]
                for t in range(size):
                    part[t] += score * scratch[t]
        size *= n_levels
    shift = largest_of(table)
    exponentiate(table, shift, scratch, scratch.view(np.int64))
    return shift


@inner
def fill_offsets(n_levels, nodes, stride, offset):
    """Fill in the numbers of the joint states with the block in each of its cells, others at 0."""
    size = 1
    offset[0] = 0
    for b in range(nodes.size):
        i = nodes[b]
        for a in range(1, n_levels[i]):
            for s in range(size):
                offset[a * size + s] = offset[s] + a * stride[i]
        size *= n_levels[i]
    return size


@inner
def fill_cell_levels(n_levels, nodes, level):
    """Fill in the level of every node of a block in each of its cells."""
    size = 1
    for b in range(nodes.size):
        size *= n_levels[nodes[b]]
    stride = 1
    for b in range(nodes.size):
        n = n_levels[nodes[b]]
        for s in range(size):
            level[b, s] = s // stride % n
        stride *= n


@inner
def next_rest(n_levels, stride, inside, digits, base):
    """Step to the next joint state of the nodes outside a block; return its number, or -1."""
    for i in range(n_levels.size):
        if inside[i]:
            continue
        if digits[i] + 1 < n_levels[i]:
            digits[i] += 1
            return base + stride[i]
        base -= digits[i] * stride[i]
        digits[i] = 0
    return -1


@inner
def sum_out(table, n_levels, stride, inside, digits, offset, cells):
    """Fill in the weights of a block's cells, all other nodes summed out."""
    digits[:] = 0
    cells[:] = 0.0
    base = 0
    while base >= 0:
        for s in range(cells.size):
            cells[s] += table[base + offset[s]]
        base = next_rest(n_levels, stride, inside, digits, base)


@inner
def multiply_cells(table, n_levels, stride, inside, digits, offset, factor):
    """Multiply the weights of all joint states by the factors of their cells in a block."""
    digits[:] = 0
    base = 0
    while base >= 0:
        for s in range(factor.size):
            table[base + offset[s]] *= factor[s]
        base = next_rest(n_levels, stride, inside, digits, base)


@inner
def pair_cells(table, level, low, high, n_high, pair):
    """Fill in the table of two nodes of a block: cell (a, b) is row a * n_high + b."""
    pair[:] = 0.0
    for s in range(table.shape[0]):
        c = level[low, s] * n_high + level[high, s]
        for t in range(table.shape[1]):
            pair[c, t] += table[s, t]


@inner
def node_cells(table, level, place, cells):
    """Fill in the table of one node of a block."""
    cells[:] = 0.0
    for s in range(table.shape[0]):
        a = level[place, s]
        for t in range(table.shape[1]):
            cells[a, t] += table[s, t]


@inner
def multiply_pair(table, level, low, high, n_high, factor):
    """Multiply the cells of a block by the factors of the pairs of levels of two nodes."""
    for s in range(table.shape[0]):
        by = factor[level[low, s] * n_high + level[high, s]]
        for t in range(table.shape[1]):
            table[s, t] *= by


@inner
def multiply_node(table, level, place, factor):
    """Multiply the cells of a block by the factors of the levels of one node."""
    for s in range(table.shape[0]):
        by = factor[level[place, s]]
        for t in range(table.shape[1]):
            table[s, t] *= by
