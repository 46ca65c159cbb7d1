"""Engines of the default sampler: joint tables of blocks, other nodes summed out (equation 18).

``ExactBlocks`` sums over all states of the other nodes; ``ParticleBlocks`` averages over persistent
particles, which follow every change: their block is redrawn, neighbors are swept, weights are
resampled, and tree sweeps and redraws of whole patterns mix them between blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.block_particles import (
    GROUPS,
    ONE,
    add_up,
    block_weights,
    branch_single,
    exponentiate_single,
    fill_uniform,
    mix,
    negative_size,
    outside_field,
    pick_lower,
    pick_upper,
    resample_all,
    rescale,
    reweigh,
    scale_states,
    sum_products,
    weigh_rows,
    write_bit,
)
from slabfield.kernels.block_table import (
    block_energy,
    couplings_among,
    exact_block_table,
    new_exact_workspace,
)
from slabfield.kernels.gibbs import (
    accumulate,
    fill_neighbors,
    list_near,
    new_lists,
    new_streams,
    resample,
    sweep,
)
from slabfield.kernels.pattern_gibbs import Clusters, draw_clusters, no_clusters
from slabfield.kernels.tree_gibbs import sample_forest
from slabfield.likelihood import protocols as interface
from slabfield.likelihood.quadratic_surrogate import QuadraticSurrogate, new_surrogate
from slabfield.models.binary import BinaryPairwise

# Nodes per block on particles, at most: pick_lower allows three bits for the upper half's state
MOST_NODES = 6
# Tree sweeps of the particles per sweep of the chain, at least
LEAST_TREE_SWEEPS = 8
# Effective sample size, as a share of the particles, below which they are resampled: usually, and
# where nodes exclude or imply each other, so that modes keep their weights after every block
LEAST_EFFECTIVE, LEAST_CLUSTERED = 0.5, 0.98


class ExactBlocks(NamedTuple):
    """Block tables by summation over all states of the other nodes.

    With probability ``transition_probability`` a sweep is replaced by a surrogate transition, which
    uses ``surrogate``. The other fields are workspace.
    """

    nodes: Any
    bias: Any
    matrix: Any
    work: Any
    surrogate: QuadraticSurrogate
    transition_probability: float


def block_size(n_nodes: int) -> int:
    """Nodes per block: larger blocks need fewer sums over the other nodes, but larger tables."""
    return min(n_nodes, 6 if n_nodes <= 13 else 8)


def exact_blocks(model: BinaryPairwise) -> ExactBlocks:
    """Return the exact engine of a small binary field."""
    d, k = model.n_nodes, block_size(model.n_nodes)
    return ExactBlocks(
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros((d, d)),
        new_exact_workspace(d, min(d, k // 2 + 1), k),
        new_surrogate(d),
        0.0,
    )


@interface.advance.register(ExactBlocks)
def advance(engine, state, rng):
    """Do nothing: every table is computed from the state."""


@interface.open_block.register(ExactBlocks)
def open_block(engine, state, nodes, table):
    """Sum over all states of the other nodes."""
    order, bias = engine.nodes, engine.bias
    order[: nodes.size] = nodes
    place = nodes.size
    for i in range(bias.size):
        outside = True
        for b in range(nodes.size):
            outside = outside and nodes[b] != i
        if outside:
            order[place] = i
            place += 1
    for b in range(bias.size):
        bias[b] = state.bias[order[b]]
    couplings_among(state.coupling, bias.size, order, engine.matrix)
    exact_block_table(bias, engine.matrix, nodes.size, engine.work, table)


@interface.leave_block.register(ExactBlocks)
def leave_block(engine, state, nodes, table, rng):
    """Do nothing: every table is computed from the state."""


class ParticleWorkspace(NamedTuple):
    """Workspace of the current block, and cached conditionals of all nodes in every particle.

    ``conditional`` (2, D, n) holds P(x_i = 1) given all other nodes and, in its second layer, with
    the node's ``partner`` summed out, if it has one; ``conditional_sums`` are their sums by
    particle group; ``outdated`` marks the nodes whose conditionals must be recomputed.
    ``conditional`` is allocated only while the chain runs (:func:`with_conditionals`).

    ``lower_factors`` and ``upper_factors`` are l and u of equation 18 for the two halves of the
    block, and ``lower_summed`` the sums of w l over the states of the lower half.
    ``normalizer_before`` and ``normalizer_after`` are z before and after the update of the block;
    ``row_buffer`` and ``row_buffer2`` hold one number per particle and are reused.
    """

    field: Any
    row_buffer: Any
    powers_of_two: Any
    lower_factors: Any
    upper_factors: Any
    lower_summed: Any
    row_buffer2: Any
    uniform: Any
    upper_state: Any
    lower_state: Any
    outside_neighbors: Any
    outside_weights: Any
    state_energy: Any
    state_weights: Any
    group_products: Any
    block_coupling: Any
    block_bias: Any
    inside: Any
    nearby_nodes: Any
    normalizer_before: Any
    normalizer_after: Any
    ancestors: Any
    conditional: Any
    conditional_sums: Any
    partner: Any
    outdated: Any
    tree_leader: Any
    tree_order: Any
    parent_slot: Any
    pattern_rows: Any


class ParticleBlocks(NamedTuple):
    """Block tables by averages over n persistent particles, given their nodes outside the block.

    ``states`` is (D, n), one byte each. ``neighbors`` and ``weights`` list the ``degree``
    neighbors of every node and the couplings to them. ``importance`` holds the importance weights
    of the particles, with mean one: a change of parameters within a block changes the probability
    of a particle's nodes outside it by a known factor (equation 22). The weights are all one where
    the engine is not ``weighted``. ``n_sweeps`` is the mean number of Gibbs sweeps of a block and
    its neighbors after its update, and ``n_tree_sweeps`` the number of tree sweeps per sweep of the
    chain. ``center`` holds means of the nodes; sums over a block are computed relative to them.
    """

    first: Any
    second: Any
    states: Any
    streams: Any
    neighbors: Any
    weights: Any
    degree: Any
    importance: Any
    weighted: bool
    n_sweeps: float
    n_tree_sweeps: int
    center: Any
    clusters: Clusters
    work: ParticleWorkspace


def particle_blocks(
    model: BinaryPairwise,
    n_particles: int,
    n_sweeps: float,
    k: int,
    weighted: bool,
    rng: np.random.Generator,
) -> ParticleBlocks:
    """Return particles in random states, for blocks of up to k nodes (six at most)."""
    if k > MOST_NODES:
        raise ValueError(f"blocks on particles have at most {MOST_NODES} nodes, not {k}")
    first, second = model.ends
    d, n = model.n_nodes, n_particles

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    work = ParticleWorkspace(
        zeros(n), zeros(n), zeros(n), zeros(n << (k // 2)), zeros(n << (k - k // 2)),
        zeros(n << (k - k // 2)), zeros(n), zeros(n), np.zeros(n, np.int32), np.zeros(n, np.int32),
        np.zeros(d, np.int32), zeros(d), np.zeros(1 << k),
        zeros(1 << k), zeros(1 << k, GROUPS), np.zeros((k, k)), np.zeros(k), np.zeros(d, np.bool_),
        np.zeros(d, np.int64), zeros(n), zeros(n), np.zeros(n, np.int32),
        zeros(2, 0, n), np.zeros((2, d, GROUPS)), np.zeros(d, np.int64),
        np.zeros(d, np.bool_), np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64),
        zeros(0, n),
    )  # fmt: skip
    return ParticleBlocks(
        first, second, rng.integers(0, 2, (d, n)).astype(np.uint8), new_streams(n, rng),
        *new_lists(d), zeros(n) + 1, weighted, float(n_sweeps),
        LEAST_TREE_SWEEPS, np.zeros(d), no_clusters(), work,
    )  # fmt: skip


@interface.with_buffers.register
def with_conditionals(engine: ParticleBlocks) -> ParticleBlocks:
    """Return the engine with buffers for the conditionals of nodes, if it caches them."""
    d, n = engine.states.shape
    conditional = np.empty((2, 0 if engine.weighted else d, n), np.float32)
    sizes = np.diff(engine.clusters.node_start)
    rows = np.empty((sizes.max() + 4 if sizes.size else 0, n), np.float32)
    return engine._replace(work=engine.work._replace(conditional=conditional, pattern_rows=rows))


@interface.more_particles.register
def more_binary_particles(
    engine: ParticleBlocks, n_particles: int, rng: np.random.Generator
) -> ParticleBlocks:
    """Return the engine with another number of particles, initialized as copies of the old ones."""
    model = BinaryPairwise(engine.states.shape[0])
    k = engine.work.block_bias.size
    fresh = particle_blocks(model, n_particles, engine.n_sweeps, k, engine.weighted, rng)
    copy_particles(engine, fresh)
    # the arrays of pair ends are shared between chains
    return fresh._replace(
        first=engine.first, second=engine.second, n_tree_sweeps=engine.n_tree_sweeps,
        neighbors=engine.neighbors, weights=engine.weights, degree=engine.degree,
        center=engine.center, clusters=engine.clusters,
    )  # fmt: skip


def copy_particles(engine: Any, fresh: Any) -> None:
    """Copy particles, and their weights, to an engine with another number of them.

    The two halves are not mixed: they had different starts, whose discrepancy is a diagnostic.
    """
    old, half = engine.states.shape[1] // 2, fresh.states.shape[1] // 2
    fresh.states[:, :half] = engine.states[:, np.arange(half) % old]
    fresh.states[:, half:] = engine.states[:, old + np.arange(half) % old]
    fresh.importance[:half] = engine.importance[np.arange(half) % old]
    fresh.importance[half:] = engine.importance[old + np.arange(half) % old]


@interface.copied_particles.register
def copied_binary_particles(engine: ParticleBlocks) -> ParticleBlocks:
    """Return the engine with a copy of its particles."""
    # neighbor lists are filled in when particles are swept
    neighbors, weights, degree = new_lists(len(engine.states))
    return engine._replace(
        states=engine.states.copy(), streams=engine.streams.copy(),
        neighbors=neighbors, weights=weights, degree=degree,
    )  # fmt: skip


@interface.advance.register(ParticleBlocks)
def advance_particles(engine, state, rng):
    """Run one Gibbs sweep over all nodes of all particles."""
    fill_neighbors(
        engine.first, engine.second, state.members, state.n_members[0], state.coupling,
        engine.neighbors, engine.weights, engine.degree,
    )  # fmt: skip
    sweep(
        engine.states, state.bias, engine.neighbors, engine.weights, engine.degree, engine.streams,
        engine.work.field,
    )  # fmt: skip


@interface.open_block.register(ParticleBlocks)
def open_block_particles(engine, state, nodes, table):
    """Average the conditional distribution of the block over the particles."""
    work, states = engine.work, engine.states
    n, k = states.shape[1], nodes.size
    half = k // 2
    inside, field, buffer, powers = work.inside, work.field, work.row_buffer, work.powers_of_two
    bits = powers.view(np.int32)
    neighbors, weights, degree = engine.neighbors, engine.weights, engine.degree
    lower = work.lower_factors[: n << half].reshape((1 << half, n))
    upper = work.upper_factors[: n << (k - half)].reshape((1 << (k - half), n))
    couplings_among(state.coupling, state.bias.size, nodes, work.block_coupling)
    for b in range(k):
        inside[nodes[b]] = True
        # the mean effect of the couplings within the block goes into the fields: then both stay
        # moderate, and single precision is enough
        shift = 0.0
        for c in range(k):
            shift += work.block_coupling[b, c] * engine.center[nodes[c]]
        work.block_bias[b] = -shift
    energy = work.state_energy[: 1 << k]
    block_energy(work.block_bias[:k], work.block_coupling, energy)
    lower[0] = 1.0
    upper[0] = 1.0
    for b in range(k):
        work.block_bias[b] = state.bias[nodes[b]] - work.block_bias[b]
        outside_field(
            nodes[b], inside, work.block_bias[b], neighbors, weights, degree, states,
            work.outside_neighbors, work.outside_weights, field,
        )  # fmt: skip
        negative_size(field, buffer)
        exponentiate_single(buffer, powers, bits)
        factors, place = (lower, b) if b < half else (upper, b - half)
        for s in range(1 << place):
            branch_single(factors[s], factors[(1 << place) + s], field, buffer)
    for b in range(k):
        inside[nodes[b]] = False
    inner_weights = work.state_weights[: 1 << k].reshape((1 << (k - half), 1 << half))
    block_weights(energy, half, inner_weights)
    lower_summed = work.lower_summed[: n << (k - half)].reshape((1 << (k - half), n))
    mix(inner_weights, lower, lower_summed)
    sum_products(upper, lower_summed, work.normalizer_before)
    weigh_rows(upper, work.normalizer_before, engine.importance, work.row_buffer2, lower_summed)
    add_up(lower_summed, lower, work.group_products)
    scale_states(work.group_products, work.state_weights, 1 << k, table)


@interface.leave_block.register(ParticleBlocks)
def leave_block_particles(engine, state, nodes, table, rng):
    """Redraw the block in every particle, and sweep it and its neighbors."""
    draw_block(engine, state, nodes, rng)
    work, states = engine.work, engine.states
    n_sweeps = int(engine.n_sweeps)
    if engine.n_sweeps > n_sweeps and rng.random() < engine.n_sweeps - n_sweeps:
        n_sweeps += 1
    n_nearby = list_near(nodes, work.inside, engine.neighbors, engine.degree, work.nearby_nodes)
    for _ in range(n_sweeps):
        for m in range(n_nearby):
            i = work.nearby_nodes[m]
            accumulate(
                work.field, np.float32(state.bias[i]), engine.neighbors[i], engine.weights[i],
                engine.degree[i], states,
            )  # fmt: skip
            resample(states[i], work.field, engine.streams)


@interface.between_blocks.register(ParticleBlocks)
def tree_sweeps_between(engine, state, number, n_blocks, rng):
    """Run tree sweeps of the particles, evenly distributed over the blocks."""
    before, after = number * engine.n_tree_sweeps, (number + 1) * engine.n_tree_sweeps
    for _ in range(after // n_blocks - before // n_blocks):
        interface.tree_sweep(engine, state, rng)


@interface.tree_sweep.register(ParticleBlocks)
def tree_sweep(engine, state, rng):
    """Redraw a random forest of nodes, and the patterns of all clusters, in all particles."""
    work = engine.work
    buffers = (
        work.row_buffer, work.powers_of_two, work.outside_neighbors, work.outside_weights,
        work.inside, work.tree_leader, work.tree_order, work.parent_slot,
    )  # fmt: skip
    sample_forest(
        engine.states, state.bias, engine.neighbors, engine.weights, engine.degree, engine.streams,
        work.conditional[0], buffers, rng,
    )  # fmt: skip
    draw_clusters(
        engine.clusters, engine.states, state, engine.neighbors, engine.weights, engine.degree,
        engine.streams, work.pattern_rows, work,
    )  # fmt: skip


@inner
def draw_block(engine, state, nodes, rng):
    """Redraw the block in every particle, and store the couplings within it."""
    work, states = engine.work, engine.states
    n, k = states.shape[1], nodes.size
    half = k // 2
    couplings_among(state.coupling, state.bias.size, nodes, work.block_coupling)
    for b in range(k):
        work.block_bias[b] = state.bias[nodes[b]] - work.block_bias[b]
    energy = work.state_energy[: 1 << k]
    block_energy(work.block_bias[:k], work.block_coupling, energy)
    inner_weights = work.state_weights[: 1 << k].reshape((1 << (k - half), 1 << half))
    block_weights(energy, half, inner_weights)
    lower = work.lower_factors[: n << half].reshape((1 << half, n))
    upper = work.upper_factors[: n << (k - half)].reshape((1 << (k - half), n))
    lower_summed = work.lower_summed[: n << (k - half)].reshape((1 << (k - half), n))
    mix(inner_weights, lower, lower_summed)
    sum_products(upper, lower_summed, work.normalizer_after)
    fill_uniform(engine.streams, work.uniform)
    pick_upper(
        upper,
        lower_summed,
        work.normalizer_after,
        work.uniform,
        work.row_buffer2,
        work.upper_state,
        work.row_buffer,
    )
    fill_uniform(engine.streams, work.uniform)
    pick_lower(
        lower, inner_weights, work.uniform, work.row_buffer, work.upper_state, work.lower_state
    )
    for b in range(half):
        write_bit(states[nodes[b]], work.lower_state, b)
    for b in range(half, k):
        write_bit(states[nodes[b]], work.upper_state, b - half)
    clustered = engine.clusters.node_start.size > 1
    if engine.weighted or clustered:
        total, squares = reweigh(engine.importance, work.normalizer_after, work.normalizer_before)
        rescale(engine.importance, np.float32(n / total))
        if total * total < (LEAST_CLUSTERED if clustered else LEAST_EFFECTIVE) * n * squares:
            resample_all(states, engine.importance, rng.random(), work.ancestors, work.field)
        elif clustered:
            engine.importance[:] = ONE
    write_neighbors(engine, work, nodes)


@inner
def write_neighbors(engine, work, nodes):
    """Write the couplings within a block to the lists of neighbors."""
    neighbors, weights, degree = engine.neighbors, engine.weights, engine.degree
    inside, matrix = work.inside, work.block_coupling
    for b in range(nodes.size):
        inside[nodes[b]] = True
    for b in range(nodes.size):
        i = nodes[b]
        count = 0
        for m in range(degree[i]):
            if not inside[neighbors[i, m]]:
                neighbors[i, count] = neighbors[i, m]
                weights[i, count] = weights[i, m]
                count += 1
        for c in range(nodes.size):
            if matrix[b, c] != 0.0:
                neighbors[i, count] = nodes[c]
                weights[i, count] = np.float32(matrix[b, c])
                count += 1
        degree[i] = count
    for b in range(nodes.size):
        inside[nodes[b]] = False
