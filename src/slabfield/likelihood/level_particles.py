"""Particle engine of nodes with levels: block tables by averages over persistent particles.

The counterpart of ``ParticleBlocks`` in :mod:`slabfield.likelihood.blocks` for any numbers of
levels: the states of a block's halves are rows, and its table is their matrix product.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.block_particles import (
    FLOOR,
    GROUPS,
    add_up,
    fill_uniform,
    pick_upper,
    resample_all,
    rescale,
    reweigh,
    scale_states,
    sum_products,
    weigh_rows,
)
from slabfield.kernels.block_table import edge_number
from slabfield.kernels.gibbs import new_lists, new_streams
from slabfield.kernels.level_conditionals import (
    branch_levels,
    draw_levels,
    embed_node,
    fill_level_neighbors,
    mix_cells,
    multiply_given_parent,
    outside_fields,
    pick_lower_cells,
    resample_levels,
    upward_levels,
    weigh_levels,
    write_edge,
    write_levels,
)
from slabfield.kernels.level_table import level_bias
from slabfield.kernels.tree_gibbs import sample_induced_forest
from slabfield.likelihood import protocols as interface
from slabfield.likelihood.blocks import LEAST_EFFECTIVE, copy_particles
from slabfield.likelihood.level_blocks import block_size
from slabfield.models.levels import LevelFeatures

# Cells of a block's table, at most
MOST_CELLS = 343
# Nodes of a block, at most
MOST_NODES = 6


class LevelWorkspace(NamedTuple):
    """Workspace of the open block, and of one node of all particles.

    ``lower_factors`` and ``upper_factors`` hold the weights of the states of the block's two halves
    by the fields of nodes outside it, ``lower_summed`` their sums over the lower half, and
    ``node_energy`` the log weights of the levels of its nodes that are part of these factors.
    ``mean`` and ``square`` (coordinates, n) are conditional moments of centered embeddings given
    all other nodes, and ``outdated`` marks the nodes for which they must be recomputed;
    ``level_weights`` holds weights of the levels of all nodes in a forest. These three are
    allocated only while the chain runs.
    """

    field: Any
    rows: Any
    buffer: Any
    buffer2: Any
    powers: Any
    uniform: Any
    values: Any
    values64: Any
    shift: Any
    lower_factors: Any
    upper_factors: Any
    lower_summed: Any
    node_energy: Any
    cell_energy: Any
    cell_weights: Any
    group_products: Any
    upper_state: Any
    lower_state: Any
    listed: Any
    listed_weights: Any
    inside: Any
    near: Any
    normalizer_before: Any
    normalizer_after: Any
    ancestors: Any
    mean: Any
    square: Any
    outdated: Any
    level_weights: Any
    node_neighbors: Any
    node_ties: Any
    node_degree: Any
    in_forest: Any
    tree_leader: Any
    tree_order: Any
    parent_slot: Any


class LevelParticles(NamedTuple):
    """Block tables by averages over n persistent particles, given their nodes outside the block.

    ``states`` is (D, n), one byte each, and ``embedded`` the coordinates of their embeddings; those
    of node i are rows ``row_start[i]:row_start[i + 1]``. ``neighbors`` and ``weights`` list, for
    each coordinate, the ``degree`` coordinates that it is coupled to, and the parameters. The other
    fields are those of :class:`slabfield.likelihood.blocks.ParticleBlocks`.
    """

    features: LevelFeatures
    first: Any
    second: Any
    row_start: Any
    states: Any
    embedded: Any
    streams: Any
    neighbors: Any
    weights: Any
    degree: Any
    importance: Any
    weighted: bool
    n_sweeps: float
    n_tree_sweeps: int
    work: LevelWorkspace


def particle_block_size(features: LevelFeatures) -> int:
    """Nodes per block."""
    return min(block_size(features, MOST_CELLS), MOST_NODES)


def level_particles(
    features: LevelFeatures,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_particles: int,
    n_sweeps: float,
    weighted: bool,
    rng: np.random.Generator,
) -> LevelParticles:
    """Return particles in random states."""
    d, n, k = features.n_levels.size, n_particles, particle_block_size(features)
    levels = np.sort(features.n_levels)[::-1]
    most_lower, most_upper = int(levels[: k // 2].prod()), int(levels[: k - k // 2].prod())
    cells, most = int(levels[:k].prod()), int(levels[0])
    e, row_start = features.embedding.shape[1], np.cumsum([0, *features.embedding_size])
    n_rows = int(row_start[-1])

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    work = LevelWorkspace(
        zeros(e, n), zeros(most, n), zeros(n), zeros(n), zeros(n), zeros(n), zeros(most),
        np.zeros(most), np.zeros(e), zeros(most_lower * n), zeros(most_upper * n),
        zeros(most_upper * n), np.zeros((k, most)), np.zeros(cells), zeros(cells),
        zeros(cells, GROUPS), np.zeros(n, np.int32), np.zeros(n, np.int32),
        np.zeros(n_rows, np.int32), zeros(n_rows), np.zeros(n_rows, np.bool_),
        np.zeros(d, np.int64), zeros(n), zeros(n), np.zeros(n, np.int32),
        zeros(n_rows, 0), zeros(n_rows, 0), np.zeros(d, np.bool_), zeros(0, n),
        np.zeros((d, d), np.int32), zeros(d, d), np.zeros(d, np.int64), np.zeros(d, np.bool_),
        np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64),
    )  # fmt: skip
    states = (rng.random((d, n)) * features.n_levels[:, None]).astype(np.uint8)
    return LevelParticles(
        features, *ends, row_start, states, zeros(n_rows, n), new_streams(n, rng),
        *new_lists(n_rows), zeros(n) + 1, weighted, float(n_sweeps), 0, work,
    )  # fmt: skip


@interface.more_particles.register
def more_level_particles(
    engine: LevelParticles, n_particles: int, rng: np.random.Generator
) -> LevelParticles:
    """Return the engine with another number of particles, initialized as copies of the old ones."""
    ends = engine.first, engine.second
    fresh = level_particles(
        engine.features, ends, n_particles, engine.n_sweeps, engine.weighted, rng
    )
    copy_particles(engine, fresh)
    return fresh._replace(n_tree_sweeps=engine.n_tree_sweeps)


@interface.copied_particles.register
def copied_level_particles(engine: LevelParticles) -> LevelParticles:
    """Return the engine with a copy of its particles."""
    # neighbor lists are filled in when particles are swept
    neighbors, weights, degree = new_lists(len(engine.embedded))
    return engine._replace(
        states=engine.states.copy(), embedded=engine.embedded.copy(),
        streams=engine.streams.copy(), neighbors=neighbors, weights=weights, degree=degree,
    )  # fmt: skip


@interface.with_buffers.register
def with_moments(engine: LevelParticles) -> LevelParticles:
    """Return the engine with buffers for conditional moments and forests, if it uses them."""
    n = 0 if engine.weighted else engine.states.shape[1]
    n_rows, n_levels = int(engine.row_start[-1]), int(engine.features.level_start[-1])
    return engine._replace(
        work=engine.work._replace(
            mean=np.empty((n_rows, n), np.float32),
            square=np.empty((n_rows, n), np.float32),
            level_weights=np.empty((n_levels, n), np.float32),
        )
    )


@interface.advance.register(LevelParticles)
def advance(engine, state, rng):
    """Run one Gibbs sweep over all nodes of all particles."""
    work, features = engine.work, engine.features
    fill_level_neighbors(
        engine.first, engine.second, features, engine.row_start, state, engine.neighbors,
        engine.weights, engine.degree,
    )  # fmt: skip
    for i in range(engine.states.shape[0]):
        embed_node(features, engine.row_start, i, engine.states, engine.embedded, work.values)
    sweep_all(engine, state)


@inner
def sweep_all(engine, state):
    """Resample every node of every particle once."""
    for i in range(engine.states.shape[0]):
        resample(engine, state, i)


@inner
def resample(engine, state, i):
    """Draw one node in every particle from its full conditional."""
    work = engine.work
    resample_levels(
        i, engine.features, engine.row_start, state, engine.states, engine.embedded,
        engine.neighbors, engine.weights, engine.degree, engine.streams, work.field, work.rows,
        work.buffer, work.powers, work.uniform, work.values,
    )  # fmt: skip


@inner
def mark(engine, nodes, value):
    """Mark the coordinates of a block's nodes."""
    for b in range(nodes.size):
        for p in range(engine.row_start[nodes[b]], engine.row_start[nodes[b] + 1]):
            engine.work.inside[p] = value


@inner
def mean_field(features, state, nodes, i, shift):
    """Fill in the fields on node i from the other nodes of a block at their means."""
    shift[:] = 0.0
    for b in range(nodes.size):
        j = nodes[b]
        if j == i:
            continue
        alpha = edge_number(features.n_levels.size, min(i, j), max(i, j))
        if not state.present[alpha]:
            continue
        size_i, size_j = features.embedding_size[i], features.embedding_size[j]
        for u in range(size_i):
            for v in range(size_j):
                place = u * size_j + v if i < j else v * size_i + u
                value = state.coupling[features.group_start[alpha] + place]
                shift[u] += value * features.center[j, v]


@inner
def fill_node_energy(features, state, i, shift, energy):
    """Fill in the log weights of a node's levels from its biases and a shift of its fields."""
    start = features.level_start[i]
    for a in range(features.n_levels[i]):
        energy[a] = level_bias(features, state.bias, i, a)
        for u in range(features.embedding_size[i]):
            energy[a] += features.embedding[start + a, u] * shift[u]


@inner
def fill_cell_energy(features, state, nodes, energy):
    """Fill in the log weights of a block's cells from couplings between centered embeddings."""
    energy[0] = 0.0
    n_cells = 1
    for b in range(nodes.size):
        n_cells *= features.n_levels[nodes[b]]
    for s in range(n_cells):
        energy[s] = 0.0
    stride_b = 1
    for b in range(nodes.size):
        stride_c = 1
        for c in range(b):
            i, j, stride_i, stride_j = nodes[b], nodes[c], stride_b, stride_c
            if i > j:
                i, j, stride_i, stride_j = j, i, stride_j, stride_i
            alpha = edge_number(features.n_levels.size, i, j)
            if state.present[alpha]:
                add_pair_energy(
                    features, state.coupling, alpha, i, j, stride_i, stride_j, energy[:n_cells]
                )
            stride_c *= features.n_levels[nodes[c]]
        stride_b *= features.n_levels[nodes[b]]
    return n_cells


@inner
def add_pair_energy(features, coupling, alpha, i, j, stride_i, stride_j, energy):
    """Add the log weights of one pair to those of a block's cells."""
    n_i, n_j = features.n_levels[i], features.n_levels[j]
    start_i, start_j = features.level_start[i], features.level_start[j]
    size_j, begin = features.embedding_size[j], features.group_start[alpha]
    for s in range(energy.size):
        a, b = s // stride_i % n_i, s // stride_j % n_j
        for u in range(features.embedding_size[i]):
            for v in range(size_j):
                product = features.centered[start_i + a, u] * features.centered[start_j + b, v]
                energy[s] += coupling[begin + u * size_j + v] * product


@inner
def fill_cell_weights(energy, n_lower, weights):
    """Fill ``weights`` (upper, lower) with the exponentials of the cells' log weights."""
    largest = energy[0]
    for s in range(energy.size):
        largest = max(largest, energy[s])
    for s in range(energy.size):
        weights[s // n_lower, s % n_lower] = np.float32(math.exp(max(energy[s] - largest, FLOOR)))


@inner
def lower_size(features, nodes):
    """Number of states of the lower half of a block."""
    size = 1
    for b in range(nodes.size // 2):
        size *= features.n_levels[nodes[b]]
    return size


@interface.open_block.register(LevelParticles)
def open_block(engine, state, nodes, table):
    """Average the conditional distribution of the block over the particles."""
    work, features, n = engine.work, engine.features, engine.states.shape[1]
    n_cells, n_lower = table.shape[0], lower_size(features, nodes)
    n_upper, half = n_cells // n_lower, nodes.size // 2
    lower = work.lower_factors[: n_lower * n].reshape((n_lower, n))
    upper = work.upper_factors[: n_upper * n].reshape((n_upper, n))
    mark(engine, nodes, True)
    lower[0] = 1.0
    upper[0] = 1.0
    size = 1
    for b in range(nodes.size):
        i = nodes[b]
        # the mean effect of the couplings within the block goes into the fields: then both stay
        # moderate, and single precision is enough
        mean_field(features, state, nodes, i, work.shift)
        outside_fields(
            i, features, engine.row_start, work.inside, work.shift, engine.neighbors,
            engine.weights, engine.degree, engine.embedded, work.listed, work.listed_weights,
            work.field,
        )  # fmt: skip
        rows = work.rows[: features.n_levels[i]]
        weigh_levels(features, state.bias, i, work.field, rows, work.buffer, work.powers)
        fill_node_energy(features, state, i, work.shift, work.node_energy[b])
        if b == half:
            size = 1
        size = branch_levels(lower if b < half else upper, size, rows)
    mark(engine, nodes, False)
    fill_cell_energy(features, state, nodes, work.cell_energy)
    weights = work.cell_weights[:n_cells].reshape((n_upper, n_lower))
    fill_cell_weights(work.cell_energy[:n_cells], n_lower, weights)
    summed = work.lower_summed[: n_upper * n].reshape((n_upper, n))
    mix_cells(weights, lower, summed)
    sum_products(upper, summed, work.normalizer_before)
    weigh_rows(upper, work.normalizer_before, engine.importance, work.buffer2, summed)
    add_up(summed, lower, work.group_products)
    scale_states(work.group_products, work.cell_weights, n_cells, table)


@interface.leave_block.register(LevelParticles)
def leave_block(engine, state, nodes, table, rng):
    """Redraw the block in every particle, and sweep it and its neighbors."""
    draw_block(engine, state, nodes, table, rng)
    work = engine.work
    n_sweeps = int(engine.n_sweeps)
    if engine.n_sweeps > n_sweeps and rng.random() < engine.n_sweeps - n_sweeps:
        n_sweeps += 1
    if n_sweeps == 0:
        return
    n_near = list_near_nodes(engine, nodes, state)
    for _ in range(n_sweeps):
        for m in range(n_near):
            resample(engine, state, work.near[m])


@inner
def draw_block(engine, state, nodes, table, rng):
    """Redraw the block in every particle, and store the couplings within it.

    What its parameters have changed since the block was opened goes into the weights of its cells.
    """
    work, features, n = engine.work, engine.features, engine.states.shape[1]
    n_cells, n_lower = table.shape[0], lower_size(features, nodes)
    n_upper, half = n_cells // n_lower, nodes.size // 2
    energy = work.cell_energy[:n_cells]
    fill_cell_energy(features, state, nodes, energy)
    stride, change = 1, work.values64
    for b in range(nodes.size):
        i = nodes[b]
        mean_field(features, state, nodes, i, work.shift)
        fill_node_energy(features, state, i, work.shift, change)
        for a in range(features.n_levels[i]):
            change[a] -= work.node_energy[b, a]
        for s in range(n_cells):
            energy[s] += change[s // stride % features.n_levels[i]]
        stride *= features.n_levels[i]
    weights = work.cell_weights[:n_cells].reshape((n_upper, n_lower))
    fill_cell_weights(energy, n_lower, weights)
    lower = work.lower_factors[: n_lower * n].reshape((n_lower, n))
    upper = work.upper_factors[: n_upper * n].reshape((n_upper, n))
    summed = work.lower_summed[: n_upper * n].reshape((n_upper, n))
    mix_cells(weights, lower, summed)
    sum_products(upper, summed, work.normalizer_after)
    fill_uniform(engine.streams, work.uniform)
    pick_upper(
        upper, summed, work.normalizer_after, work.uniform, work.buffer2, work.upper_state,
        work.buffer,
    )  # fmt: skip
    fill_uniform(engine.streams, work.uniform)
    pick_lower_cells(lower, weights, work.uniform, work.buffer, work.upper_state, work.lower_state)
    stride = 1
    for b in range(nodes.size):
        if b == half:
            stride = 1
        i = nodes[b]
        picked = work.lower_state if b < half else work.upper_state
        write_levels(engine.states[i], picked, stride, features.n_levels[i])
        stride *= features.n_levels[i]
    if engine.weighted:
        total, squares = reweigh(engine.importance, work.normalizer_after, work.normalizer_before)
        rescale(engine.importance, np.float32(n / total))
        if total * total < LEAST_EFFECTIVE * n * squares:
            resample_all(
                engine.states, engine.importance, rng.random(), work.ancestors, work.buffer
            )
            for i in range(engine.states.shape[0]):
                embed_node(
                    features, engine.row_start, i, engine.states, engine.embedded, work.values
                )
    for b in range(nodes.size):
        embed_node(
            features, engine.row_start, nodes[b], engine.states, engine.embedded, work.values
        )
    write_block_neighbors(engine, state, nodes)


@inner
def write_block_neighbors(engine, state, nodes):
    """Write the couplings within a block to the lists of neighbors."""
    features, inside = engine.features, engine.work.inside
    neighbors, weights, degree = engine.neighbors, engine.weights, engine.degree
    mark(engine, nodes, True)
    for b in range(nodes.size):
        for p in range(engine.row_start[nodes[b]], engine.row_start[nodes[b] + 1]):
            count = 0
            for m in range(degree[p]):
                if not inside[neighbors[p, m]]:
                    neighbors[p, count] = neighbors[p, m]
                    weights[p, count] = weights[p, m]
                    count += 1
            degree[p] = count
    mark(engine, nodes, False)
    for b in range(nodes.size):
        for c in range(b):
            i, j = min(nodes[b], nodes[c]), max(nodes[b], nodes[c])
            alpha = edge_number(features.n_levels.size, i, j)
            if state.present[alpha]:
                write_edge(
                    i, j, alpha, features, engine.row_start, state, neighbors, weights, degree
                )


@inner
def list_near_nodes(engine, nodes, state):
    """List the neighbors of a block's nodes, then its nodes; return the length of the list."""
    work, n_nodes, count = engine.work, engine.states.shape[0], 0
    for j in range(n_nodes):
        inside, near = False, False
        for b in range(nodes.size):
            i = nodes[b]
            inside = inside or i == j
            if i != j:
                near = near or state.present[edge_number(n_nodes, min(i, j), max(i, j))] != 0
        if near and not inside:
            work.near[count] = j
            count += 1
    for b in range(nodes.size):
        work.near[count + b] = nodes[b]
    return count + nodes.size


@interface.between_blocks.register(LevelParticles)
def tree_sweeps_between(engine, state, number, n_blocks, rng):
    """Run tree sweeps of the particles, evenly distributed over the blocks."""
    before, after = number * engine.n_tree_sweeps, (number + 1) * engine.n_tree_sweeps
    for _ in range(after // n_blocks - before // n_blocks):
        interface.tree_sweep(engine, state, rng)


@inner
def list_node_neighbors(engine, state):
    """List the neighbors of every node, with the sizes of the couplings to them."""
    work, features = engine.work, engine.features
    work.node_degree[:] = 0
    for k in range(state.n_members[0]):
        edge = state.members[k]
        i, j, total = engine.first[edge], engine.second[edge], 0.0
        for p in range(features.group_start[edge], features.group_start[edge + 1]):
            total += state.coupling[p] ** 2
        for a, b in ((i, j), (j, i)):
            work.node_neighbors[a, work.node_degree[a]] = b
            work.node_ties[a, work.node_degree[a]] = np.float32(math.sqrt(total))
            work.node_degree[a] += 1


@interface.tree_sweep.register(LevelParticles)
def level_tree_sweep(engine, state, rng):
    """Redraw a random induced forest jointly in all particles, then the other nodes one by one.

    An upward pass multiplies the weights of a parent's levels by the sums over its children's, and
    a downward pass draws levels from the roots to the leaves (equation 27).
    """
    work, features = engine.work, engine.features
    neighbors, inside = work.node_neighbors, work.in_forest
    list_node_neighbors(engine, state)
    n_inside = sample_induced_forest(
        neighbors, work.node_ties, work.node_degree, inside, work.tree_leader, work.tree_order,
        work.parent_slot, rng,
    )  # fmt: skip
    order, above = work.tree_order, work.parent_slot
    mark(engine, order[:n_inside], True)
    work.shift[:] = 0.0
    for place in range(n_inside):
        i = order[place]
        outside_fields(
            i, features, engine.row_start, work.inside, work.shift, engine.neighbors,
            engine.weights, engine.degree, engine.embedded, work.listed, work.listed_weights,
            work.field,
        )  # fmt: skip
        weigh_levels(
            features, state.bias, i, work.field, levels_of(work, features, i), work.buffer,
            work.powers,
        )  # fmt: skip
    mark(engine, order[:n_inside], False)
    for place in range(n_inside - 1, -1, -1):
        i = order[place]
        if above[i] >= 0:
            parent = neighbors[i, above[i]]
            fill_pair_weights(features, state.coupling, parent, i, work.cell_weights)
            upward_levels(
                levels_of(work, features, i), work.cell_weights, levels_of(work, features, parent),
                work.buffer,
            )  # fmt: skip
    for place in range(n_inside):
        i = order[place]
        rows = levels_of(work, features, i)
        if above[i] >= 0:
            parent = neighbors[i, above[i]]
            fill_pair_weights(features, state.coupling, parent, i, work.cell_weights)
            multiply_given_parent(rows, work.cell_weights, engine.states[parent])
        fill_uniform(engine.streams, work.uniform)
        draw_levels(rows, work.uniform, work.buffer, engine.states[i])
        embed_node(features, engine.row_start, i, engine.states, engine.embedded, work.values)
    for i in range(engine.states.shape[0]):
        if not inside[i]:
            resample(engine, state, i)
        inside[i] = False


@inner
def levels_of(work, features, i):
    """Weights of the levels of a node of the forest."""
    return work.level_weights[features.level_start[i] : features.level_start[i + 1]]


@inner
def fill_pair_weights(features, coupling, parent, child, weights):
    """Fill in e^energy of the pairs of levels of two coupled nodes, relative to the largest.

    The weight of levels a of the parent and b of the child is entry a * n_child + b.
    """
    i, j = min(parent, child), max(parent, child)
    begin = features.group_start[edge_number(features.n_levels.size, i, j)]
    n_parent, n_child = features.n_levels[parent], features.n_levels[child]
    start_i, start_j = features.level_start[i], features.level_start[j]
    size_i, size_j = features.embedding_size[i], features.embedding_size[j]
    largest = -math.inf
    for turn in range(2):
        for a in range(n_parent):
            for b in range(n_child):
                level_i, level_j = (a, b) if parent < child else (b, a)
                energy = 0.0
                for u in range(size_i):
                    for v in range(size_j):
                        product = features.embedding[start_i + level_i, u]
                        product *= features.embedding[start_j + level_j, v]
                        energy += coupling[begin + u * size_j + v] * product
                largest = max(largest, energy)
                if turn == 1:
                    relative = max(energy - largest, FLOOR)
                    weights[a * n_child + b] = np.float32(math.exp(relative))
