"""Block flips of edges between nodes with levels: the block's parameters and their density.

The biases of the block's nodes are not parameters of a flip: embeddings are centered, so that
biases depend little on couplings; they move along with these (:mod:`slabfield.moves.level_gibbs`).
"""

from __future__ import annotations

from slabfield._jit import inner
from slabfield.moves.block_flip import (
    fill_parameters,
    log_density_of,
    slab_precision_of,
    store_parameters,
)
from slabfield.moves.level_gibbs import (
    LevelBlock,
    centered_sum,
    level_edge_at,
    log_bias_prior,
)


@inner
def fill_cell_feature(features, edge, u, v, level, feature):
    """Fill in the product of two coordinates of centered embeddings in the cells of a block."""
    start_i, start_j = features.level_start[edge.i], features.level_start[edge.j]
    for s in range(feature.size):
        one = features.centered[start_i + level[edge.place_i, s], u]
        feature[s] = one * features.centered[start_j + level[edge.place_j, s], v]


@fill_parameters.register(LevelBlock)
def fill_level_parameters(block, features, sums, prior, state, k, n_edges):
    """Fill in the parameters of all edges of the block."""
    laplace, q, n_cells = block.laplace, 0, 1
    for b in range(k):
        n_cells *= features.n_levels[block.nodes[b]]
    for e in range(n_edges):
        edge = level_edge_at(block.edges, block.nodes, features.group_start, e)
        size_j, precision = features.embedding_size[edge.j], 0.0
        block.start[e], precision = q, slab_precision_of(state, edge.n_parameters)
        for p in range(edge.n_parameters):
            u, v = p // size_j, p % size_j
            laplace.now[q] = state.coupling[edge.begin + p]
            laplace.linear[q] = centered_sum(features, sums, edge, u, v)
            laplace.precision[q] = precision
            fill_cell_feature(features, edge, u, v, block.level, laplace.features[q, :n_cells])
            laplace.features[q, n_cells:] = 0.0
            q += 1
    block.start[n_edges] = q
    return 0, q, n_cells


@log_density_of.register(LevelBlock)
def log_level_density(block, features, sums, prior, state, values, log_sum, k, n_edges):
    """Log posterior of the parameters of all edges, with the biases that move along."""
    laplace, moved, total = block.laplace, block.moved, -sums.n_rows * log_sum
    for b in range(k):
        begin = features.bias_start[block.nodes[b]]
        for r in range(features.bias_start[block.nodes[b] + 1] - begin):
            moved[b, r] = state.bias[begin + r]
    for e in range(n_edges):
        edge = level_edge_at(block.edges, block.nodes, features.group_start, e)
        size_j, precision = features.embedding_size[edge.j], 0.0
        precision = slab_precision_of(state, edge.n_parameters)
        for p in range(edge.n_parameters):
            u, v, q = p // size_j, p % size_j, block.start[e] + p
            value = values[q]
            total += value * (laplace.linear[q] - 0.5 * precision * value)
            change = value - laplace.now[q]
            if change != 0.0:
                move_place(features, moved[edge.place_i], edge.i, u, edge.j, v, change)
                move_place(features, moved[edge.place_j], edge.j, v, edge.i, u, change)
    for b in range(k):
        i = block.nodes[b]
        n_biases = features.bias_start[i + 1] - features.bias_start[i]
        total += log_bias_prior(features, prior.bias_precision, i, moved[b, :n_biases])
    return total


@inner
def move_place(features, moved, i, u, j, v, change):
    """Move the biases of node i along with a change of its coupling to node j."""
    by = change * features.center[j, v]
    for r in range(features.bias_start[i + 1] - features.bias_start[i]):
        moved[r] -= by * features.bias_of_embedding[i, r, u]


@store_parameters.register(LevelBlock)
def store_level_parameters(block, features, state, k, n_edges):
    """Write the parameters of all edges, and the biases that moved along, to the state."""
    for b in range(k):
        begin = features.bias_start[block.nodes[b]]
        for r in range(features.bias_start[block.nodes[b] + 1] - begin):
            state.bias[begin + r] = block.moved[b, r]
    for e in range(n_edges):
        edge = level_edge_at(block.edges, block.nodes, features.group_start, e)
        for p in range(edge.n_parameters):
            state.coupling[edge.begin + p] = block.laplace.values[block.start[e] + p]
