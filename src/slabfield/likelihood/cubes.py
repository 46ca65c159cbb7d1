"""Engines that sum out all nodes but those of a block (equation 18), for collapsed updates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.cloud import (
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
from slabfield.kernels.cube import block_energy, couplings_among, exact_mass, new_exact_work
from slabfield.kernels.forest import draw_forest
from slabfield.kernels.gibbs import (
    accumulate,
    fill_neighbours,
    list_near,
    new_lanes,
    new_lists,
    resample,
    sweep,
)
from slabfield.kernels.patterns import Clusters, draw_clusters, no_clusters
from slabfield.likelihood import engine as interface
from slabfield.likelihood.bowl import Bowl, new_bowl
from slabfield.models.binary import BinaryPairwise

# Nodes of a block on particles, at most: three bits tell the state of its upper half (pick_lower)
MOST_NODES = 6
# Forests drawn in a sweep of the chain, at least
LEAST_FORESTS = 8
# Particles are drawn anew when their weights leave fewer than this share of them effective; where
# nodes exclude or imply each other they are so after every block, so that modes have their weights
LEAST_EFFECTIVE, FOLLOWED = 0.5, 0.98


class ExactCubes(NamedTuple):
    """All states of the other nodes are summed over.

    With chance ``leap_chance`` a sweep is a leap by the ``bowl``. The rest is workspace.
    """

    nodes: Any
    bias: Any
    matrix: Any
    work: Any
    bowl: Bowl
    leap_chance: float


def block_size(n_nodes: int) -> int:
    """Nodes of a block: a larger one saves sums over the others, but has a larger table."""
    return min(n_nodes, 6 if n_nodes <= 13 else 8)


def exact_cubes(model: BinaryPairwise) -> ExactCubes:
    """Return the engine of a small binary field."""
    d, k = model.n_nodes, block_size(model.n_nodes)
    return ExactCubes(
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros((d, d)),
        new_exact_work(d, min(d, k // 2 + 1), k),
        new_bowl(d),
        0.0,
    )


@interface.advance.register(ExactCubes)
def advance(engine, state, rng):
    """Nothing: every block is summed anew."""


@interface.open_block.register(ExactCubes)
def open_block(engine, state, nodes, mass):
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
    exact_mass(bias, engine.matrix, nodes.size, engine.work, mass)


@interface.leave_block.register(ExactCubes)
def leave_block(engine, state, nodes, mass, rng):
    """Nothing: every block is summed anew."""


class ParticleWork(NamedTuple):
    """Workspace of the block that is open, and of all nodes' chances to be 1 in every particle.

    ``chance`` (2, D, n) has them given all other nodes, and with the ``partner`` summed out, where
    a node has one; ``chance_sums`` their sums by lane; ``stale`` marks those to be worked out anew.
    Room for ``chance`` is there only while sweeps are made (:func:`with_chances`).
    """

    field: Any
    low: Any
    powers: Any
    lower: Any
    upper: Any
    mixed: Any
    total: Any
    uniform: Any
    upper_state: Any
    picked: Any
    some: Any
    some_weights: Any
    energy: Any
    weights: Any
    product: Any
    matrix: Any
    bias: Any
    inside: Any
    near: Any
    before: Any
    after: Any
    parents: Any
    chance: Any
    chance_sums: Any
    partner: Any
    stale: Any
    leader: Any
    tree_order: Any
    above: Any
    pattern_rows: Any


class ParticleCubes(NamedTuple):
    """Means over n persistent particles, given what they show outside the block.

    ``states`` is (D, n), a byte each. ``neighbours`` and ``weights`` list the ``degree`` neighbours
    of a node.
    ``importance`` weighs the particles, one on average: a change of parameters within a block makes
    what a particle shows outside it more or less probable, by a known factor (equation 22). They
    are all one where the engine is not ``weighted``. ``n_sweeps`` is how often the neighbours of a
    block are swept after it, on average, and ``n_forests`` how many forests are drawn in a sweep
    of the chain. ``centre`` holds means of the nodes, about which sums over a block are worked out.
    """

    first: Any
    second: Any
    states: Any
    lanes: Any
    neighbours: Any
    weights: Any
    degree: Any
    importance: Any
    weighted: bool
    n_sweeps: float
    n_forests: int
    centre: Any
    clusters: Clusters
    work: ParticleWork


def particle_cubes(
    model: BinaryPairwise,
    n_particles: int,
    n_sweeps: float,
    k: int,
    weighted: bool,
    rng: np.random.Generator,
) -> ParticleCubes:
    """Return particles in random states, for blocks of up to k nodes: six at most."""
    if k > MOST_NODES:
        raise ValueError(f"blocks on particles have {MOST_NODES} nodes at most, not {k}")
    first, second = model.ends
    d, n = model.n_nodes, n_particles

    def room(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    work = ParticleWork(
        room(n), room(n), room(n), room(n << (k // 2)), room(n << (k - k // 2)),
        room(n << (k - k // 2)), room(n), room(n), np.zeros(n, np.int32), np.zeros(n, np.int32),
        np.zeros(d, np.int32), room(d), np.zeros(1 << k),
        room(1 << k), room(1 << k, GROUPS), np.zeros((k, k)), np.zeros(k), np.zeros(d, np.bool_),
        np.zeros(d, np.int64), room(n), room(n), np.zeros(n, np.int32),
        room(2, 0, n), np.zeros((2, d, GROUPS)), np.zeros(d, np.int64),
        np.zeros(d, np.bool_), np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64),
        room(0, n),
    )  # fmt: skip
    return ParticleCubes(
        first, second, rng.integers(0, 2, (d, n)).astype(np.uint8), new_lanes(n, rng),
        *new_lists(d), room(n) + 1, weighted, float(n_sweeps),
        LEAST_FORESTS, np.zeros(d), no_clusters(), work,
    )  # fmt: skip


def with_chances(engine: ParticleCubes) -> ParticleCubes:
    """Return the engine with room for chances of nodes, if it is one that works them out."""
    d, n = engine.states.shape
    chance = np.empty((2, 0 if engine.weighted else d, n), np.float32)
    sizes = np.diff(engine.clusters.node_start)
    rows = np.empty((sizes.max() + 4 if sizes.size else 0, n), np.float32)
    return engine._replace(work=engine.work._replace(chance=chance, pattern_rows=rows))


def more_particles(
    engine: ParticleCubes, n_particles: int, rng: np.random.Generator
) -> ParticleCubes:
    """Return the engine with another number of particles, which begin as copies of the old."""
    model = BinaryPairwise(engine.states.shape[0])
    k = engine.work.bias.size
    fresh = particle_cubes(model, n_particles, engine.n_sweeps, k, engine.weighted, rng)
    old, half = engine.states.shape[1] // 2, n_particles // 2
    # the halves stay apart: they started from different places
    fresh.states[:, :half] = engine.states[:, np.arange(half) % old]
    fresh.states[:, half:] = engine.states[:, old + np.arange(half) % old]
    fresh.importance[:half] = engine.importance[np.arange(half) % old]
    fresh.importance[half:] = engine.importance[old + np.arange(half) % old]
    # numbers of nodes by pair are those that all chains have in common
    return fresh._replace(
        first=engine.first, second=engine.second, n_forests=engine.n_forests,
        neighbours=engine.neighbours, weights=engine.weights, degree=engine.degree,
        centre=engine.centre, clusters=engine.clusters,
    )  # fmt: skip


@interface.advance.register(ParticleCubes)
def advance_particles(engine, state, rng):
    """Sweep all particles once, node by node."""
    fill_neighbours(
        engine.first, engine.second, state.members, state.n_members[0], state.coupling,
        engine.neighbours, engine.weights, engine.degree,
    )  # fmt: skip
    sweep(
        engine.states, state.bias, engine.neighbours, engine.weights, engine.degree, engine.lanes,
        engine.work.field,
    )  # fmt: skip


@interface.open_block.register(ParticleCubes)
def open_block_particles(engine, state, nodes, mass):
    """Average over particles what the block may be, given the rest of each."""
    work, states = engine.work, engine.states
    n, k = states.shape[1], nodes.size
    half = k // 2
    inside, field, low, powers = work.inside, work.field, work.low, work.powers
    bits = powers.view(np.int32)
    neighbours, weights, degree = engine.neighbours, engine.weights, engine.degree
    lower = work.lower[: n << half].reshape((1 << half, n))
    upper = work.upper[: n << (k - half)].reshape((1 << (k - half), n))
    couplings_among(state.coupling, state.bias.size, nodes, work.matrix)
    for b in range(k):
        inside[nodes[b]] = True
        # what couplings within the block do on average, in the fields: then neither they nor the
        # couplings have to make up for much, and single precision is enough
        shift = 0.0
        for c in range(k):
            shift += work.matrix[b, c] * engine.centre[nodes[c]]
        work.bias[b] = -shift
    energy = work.energy[: 1 << k]
    block_energy(work.bias[:k], work.matrix, energy)
    lower[0] = 1.0
    upper[0] = 1.0
    for b in range(k):
        work.bias[b] = state.bias[nodes[b]] - work.bias[b]
        outside_field(
            nodes[b], inside, work.bias[b], neighbours, weights, degree, states, work.some,
            work.some_weights, field,
        )  # fmt: skip
        negative_size(field, low)
        exponentiate_single(low, powers, bits)
        part, place = (lower, b) if b < half else (upper, b - half)
        for s in range(1 << place):
            branch_single(part[s], part[(1 << place) + s], field, low)
    for b in range(k):
        inside[nodes[b]] = False
    inner_weights = work.weights[: 1 << k].reshape((1 << (k - half), 1 << half))
    block_weights(energy, half, inner_weights)
    mixed = work.mixed[: n << (k - half)].reshape((1 << (k - half), n))
    mix(inner_weights, lower, mixed)
    sum_products(upper, mixed, work.before)
    weigh_rows(upper, work.before, engine.importance, work.total, mixed)
    add_up(mixed, lower, work.product)
    scale_states(work.product, work.weights, 1 << k, mass)


@interface.leave_block.register(ParticleCubes)
def leave_block_particles(engine, state, nodes, mass, rng):
    """Draw the block anew in every particle, and sweep it and its neighbours."""
    draw_block(engine, state, nodes, rng)
    work, states = engine.work, engine.states
    n_sweeps = int(engine.n_sweeps)
    if engine.n_sweeps > n_sweeps and rng.random() < engine.n_sweeps - n_sweeps:
        n_sweeps += 1
    n_near = list_near(nodes, work.inside, engine.neighbours, engine.degree, work.near)
    for _ in range(n_sweeps):
        for m in range(n_near):
            i = work.near[m]
            accumulate(
                work.field, np.float32(state.bias[i]), engine.neighbours[i], engine.weights[i],
                engine.degree[i], states,
            )  # fmt: skip
            resample(states[i], work.field, engine.lanes)


@inner
def relax(engine, state, rng):
    """Draw a forest anew in all particles."""
    work = engine.work
    room = (
        work.low, work.powers, work.some, work.some_weights, work.inside, work.leader,
        work.tree_order, work.above,
    )  # fmt: skip
    draw_forest(
        engine.states, state.bias, engine.neighbours, engine.weights, engine.degree, engine.lanes,
        work.chance[0], room, rng,
    )  # fmt: skip
    draw_clusters(
        engine.clusters, engine.states, state, engine.neighbours, engine.weights, engine.degree,
        engine.lanes, work.pattern_rows, work,
    )  # fmt: skip


@inner
def draw_block(engine, state, nodes, rng):
    """Draw the block anew in every particle, and take over the couplings within it."""
    work, states = engine.work, engine.states
    n, k = states.shape[1], nodes.size
    half = k // 2
    couplings_among(state.coupling, state.bias.size, nodes, work.matrix)
    for b in range(k):
        work.bias[b] = state.bias[nodes[b]] - work.bias[b]
    energy = work.energy[: 1 << k]
    block_energy(work.bias[:k], work.matrix, energy)
    inner_weights = work.weights[: 1 << k].reshape((1 << (k - half), 1 << half))
    block_weights(energy, half, inner_weights)
    lower = work.lower[: n << half].reshape((1 << half, n))
    upper = work.upper[: n << (k - half)].reshape((1 << (k - half), n))
    mixed = work.mixed[: n << (k - half)].reshape((1 << (k - half), n))
    mix(inner_weights, lower, mixed)
    sum_products(upper, mixed, work.after)
    fill_uniform(engine.lanes, work.uniform)
    pick_upper(upper, mixed, work.after, work.uniform, work.total, work.upper_state, work.low)
    fill_uniform(engine.lanes, work.uniform)
    pick_lower(lower, inner_weights, work.uniform, work.low, work.upper_state, work.picked)
    for b in range(half):
        write_bit(states[nodes[b]], work.picked, b)
    for b in range(half, k):
        write_bit(states[nodes[b]], work.upper_state, b - half)
    clustered = engine.clusters.node_start.size > 1
    if engine.weighted or clustered:
        total, squares = reweigh(engine.importance, work.after, work.before)
        rescale(engine.importance, np.float32(n / total))
        if total * total < (FOLLOWED if clustered else LEAST_EFFECTIVE) * n * squares:
            resample_all(states, engine.importance, rng.random(), work.parents, work.field)
        elif clustered:
            engine.importance[:] = ONE
    keep_neighbours(engine, work, nodes)


@inner
def keep_neighbours(engine, work, nodes):
    """Write the couplings within a block into the lists of neighbours."""
    neighbours, weights, degree = engine.neighbours, engine.weights, engine.degree
    inside, matrix = work.inside, work.matrix
    for b in range(nodes.size):
        inside[nodes[b]] = True
    for b in range(nodes.size):
        i = nodes[b]
        count = 0
        for m in range(degree[i]):
            if not inside[neighbours[i, m]]:
                neighbours[i, count] = neighbours[i, m]
                weights[i, count] = weights[i, m]
                count += 1
        for c in range(nodes.size):
            if matrix[b, c] != 0.0:
                neighbours[i, count] = nodes[c]
                weights[i, count] = np.float32(matrix[b, c])
                count += 1
        degree[i] = count
    for b in range(nodes.size):
        inside[nodes[b]] = False
