"""Tuning of the number of particles and of their sweeps during warm-up, by diagnostics.

Too few particles make log odds noisy; too few sweeps let them lag behind the parameters
(docs/maths.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from slabfield.configuration import Settings
from slabfield.kernels.block_particles import GROUPS
from slabfield.likelihood.blocks import LEAST_TREE_SWEEPS, ParticleBlocks
from slabfield.likelihood.blocks import MOST_NODES as PARTICLE_BLOCK
from slabfield.likelihood.level_particles import LevelParticles, particle_block_size
from slabfield.likelihood.protocols import more_particles, with_buffers
from slabfield.models.protocol import Sums
from slabfield.moves.chain_state import ChainState
from slabfield.moves.edge_gibbs import InclusionStats
from slabfield.moves.iteration import advance_engine, sweep_particles

Array = NDArray[np.float64]
Particles = ParticleBlocks | LevelParticles

# Fewest particles of a chain
FEWEST_PARTICLES = 512
# Most particles of a chain
MOST_PARTICLES = 16_384
# Gibbs sweeps after a block before they are tuned
FIRST_SWEEPS = 2
# Sweeps from which the autocorrelation of all nodes is estimated
AUTOCORRELATION_SWEEPS = 48
# Nodes from which it is estimated, at most
AUTOCORRELATION_NODES = 64
# Particles from which it is estimated, at most
AUTOCORRELATION_PARTICLES = 256
# Nodes of smaller variance have no usable autocorrelation
LEAST_VARIANCE = 1e-3
# Mean autocorrelation of all nodes to reach by Gibbs sweeps
TARGET_AUTOCORRELATION = 0.3
# Mean autocorrelation of the slowest nodes to reach by tree sweeps
SLOW_AUTOCORRELATION = 0.05
# Share of the nodes that count as the slowest
SLOW_SHARE = 0.05
# Fewest nodes that count as the slowest
LEAST_SLOW = 4
# Most tree sweeps per sweep of the chain
MOST_TREE_SWEEPS = 64
# Edges are clearly present or absent where their probability is this close to 1 or 0
CLEAR = 0.05
# Largest noise variance of undecided log odds in small fields, where particles have weights; it is
# for a field in which all edges are undecided, since the errors of fewer add up to less
WEIGHTED_NOISE = 0.06
# Most Gibbs sweeps after a block where particles have weights
WEIGHTED_SWEEPS = 2
# Largest noise variance of undecided log odds where particles have no weights
PLAIN_NOISE = 1.0
# Most Gibbs sweeps after a block where particles have no weights
PLAIN_SWEEPS = 8
# Largest noise of the gradients of undecided edges, as a share of the variance of a coupling
GRADIENT_NOISE = 0.25
# While this many warm-up stages are left, or more, twice the noise is allowed: plans still change
EARLY_STAGES = 3
# Sweeps at fixed parameters before the moment misfit is measured
MISFIT_BURN_IN = 32
# Samples of the particles from which the moment misfit is computed
MISFIT_SAMPLES = 4
# Sweeps from one of these samples to the next
MISFIT_SWEEPS = 8
# Without weights a node is swept after each of about this many blocks near it, which share sweeps
NEAR_BLOCKS = 8


def first_number(n_rows: float) -> int:
    """Initial number of particles: that of the rows, as a power of two within bounds."""
    wanted = 2 ** int(np.ceil(np.log2(max(n_rows, 1.0))))
    return int(min(max(wanted, 2 * FEWEST_PARTICLES), MOST_PARTICLES // 4))


def whole_groups(n_particles: int) -> int:
    """Round a number of particles up to a multiple of the number of groups."""
    return -(-n_particles // GROUPS) * GROUPS


def noise_of(inclusion_stats: InclusionStats) -> float:
    """Mean noise variance of undecided log odds; zero where there were none."""
    return float(inclusion_stats.noise[0] / max(inclusion_stats.noise[1], 1.0))


def gradient_noise_of(inclusion_stats: InclusionStats) -> float:
    """Mean gradient noise of undecided edges, r of equation 19; zero where there were none."""
    return float(inclusion_stats.noise[2] / max(inclusion_stats.noise[1], 1.0))


def autocorrelation(
    engine: Particles,
    state: ChainState,
    nodes: NDArray[np.int64],
    n_sweeps: int,
    sweep: Callable[..., None],
    rng: np.random.Generator,
) -> Array:
    """Autocorrelation of nodes over sweeps of the particles, mean over nodes and particles.

    Estimated from ``n_sweeps`` sweeps at the state's parameters; entry m is for lag m, up to half
    of them.
    """
    states = engine.states
    path = np.empty(
        (n_sweeps, nodes.size, min(states.shape[1], AUTOCORRELATION_PARTICLES)), np.float32
    )
    for t in range(n_sweeps):
        sweep(engine, state, rng)
        path[t] = states[nodes, : path.shape[2]]
    path -= path.mean(axis=(0, 2), keepdims=True)
    variance = (path**2).mean(axis=(0, 2))
    usable = variance > LEAST_VARIANCE
    by_lag = [
        (path[: n_sweeps - m] * path[m:]).mean(axis=(0, 2))[usable] / variance[usable]
        for m in range(n_sweeps // 2 + 1)
    ]
    return np.array([np.mean(row) if row.size else 0.0 for row in by_lag])


def tuned_sweeps(engine: Particles, state: ChainState, rng: np.random.Generator) -> float:
    """Gibbs sweeps after a block that reach the target autocorrelation, within bounds."""
    most = WEIGHTED_SWEEPS if engine.weighted else PLAIN_SWEEPS
    nodes = rng.permutation(len(engine.states))[:AUTOCORRELATION_NODES]
    by_lag = autocorrelation(engine, state, nodes, AUTOCORRELATION_SWEEPS, advance_engine, rng)
    low = np.flatnonzero(by_lag[: most + 1] < TARGET_AUTOCORRELATION)
    wanted = int(low[0]) if low.size else most
    return sweep_share(engine) * (wanted if engine.weighted else wanted / NEAR_BLOCKS)


@singledispatch
def sweep_share(engine: Particles) -> float:
    """Sweeps after a block as a share of those after a block of six binary nodes."""
    return 1.0


@sweep_share.register
def level_sweep_share(engine: LevelParticles) -> float:
    """Blocks of fewer nodes have fewer edges: there are more of them, which share the sweeps."""
    d, k = len(engine.states), particle_block_size(engine.features)
    if d <= k:
        return 1.0
    if engine.weighted:  # edges between the two halves of a block
        return float((k // 2) ** 2 / (PARTICLE_BLOCK // 2) ** 2)
    return k * (k - 1) / (PARTICLE_BLOCK * (PARTICLE_BLOCK - 1))


def tuned_tree_sweeps(engine: Particles, state: ChainState, rng: np.random.Generator) -> int:
    """Tree sweeps per sweep of the chain that decorrelate the slowest nodes.

    Where many nodes move only together, the parameters would otherwise fit the noise of the
    particles before the particles could follow the parameters.
    """
    engine = with_buffers(engine)
    slow = slowest_nodes(engine, state, rng)
    by_lag = autocorrelation(engine, state, slow, 2 * MOST_TREE_SWEEPS, sweep_particles, rng)
    low = np.flatnonzero(by_lag < SLOW_AUTOCORRELATION)
    return max(int(low[0]), LEAST_TREE_SWEEPS) if low.size else MOST_TREE_SWEEPS


def slowest_nodes(
    engine: Particles, state: ChainState, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Nodes of the highest autocorrelation over the fewest tree sweeps that are used."""
    before, states = engine.states.copy(), engine.states
    for _ in range(LEAST_TREE_SWEEPS):
        sweep_particles(engine, state, rng)
    product = np.array(
        [b.astype(np.int64) @ s.astype(np.int64) for b, s in zip(before, states, strict=True)]
    )
    mean, now = before.mean(axis=1), states.mean(axis=1)
    variance = before.std(axis=1) * states.std(axis=1)
    covariance = product / states.shape[1] - mean * now
    correlation = np.where(variance > LEAST_VARIANCE, covariance / np.maximum(variance, 1e-9), -1.0)
    n_slow = max(int(SLOW_SHARE * len(states)), min(LEAST_SLOW, len(states)))
    return np.argsort(-correlation, kind="stable")[:n_slow]


def tuned_particles(
    engine: Particles,
    settings: Settings,
    state: ChainState,
    inclusion_stats: InclusionStats,
    parts_left: int,
    rng: np.random.Generator,
) -> Particles:
    """Tune the number of particles and how often they are swept."""
    excess, n = noise_excess(inclusion_stats, engine.weighted, parts_left), engine.states.shape[1]
    if settings.n_particles == 0 and excess > 1 and n < MOST_PARTICLES:
        factor = 2 if excess < 2 else 4
        engine = more_particles(engine, min(factor * n, MOST_PARTICLES), rng)
    elif settings.n_particles == 0 and excess < 1 / 3 and n > FEWEST_PARTICLES:
        engine = more_particles(engine, n // 2, rng)
    if settings.n_sweeps == 0:
        engine = engine._replace(n_sweeps=tuned_sweeps(engine, state, rng))
    if not engine.weighted:
        engine = engine._replace(n_tree_sweeps=tuned_tree_sweeps(engine, state, rng))
    return engine


def noise_excess(inclusion_stats: InclusionStats, weighted: bool, parts_left: int) -> float:
    """Noise of the particles, in log odds or in gradients, as a multiple of its limit."""
    if weighted:
        return noise_of(inclusion_stats) * undecided_share(inclusion_stats) / WEIGHTED_NOISE
    excess = max(
        noise_of(inclusion_stats) / PLAIN_NOISE, gradient_noise_of(inclusion_stats) / GRADIENT_NOISE
    )
    return excess / 2 if parts_left >= EARLY_STAGES else excess


def undecided_share(inclusion_stats: InclusionStats) -> float:
    """Share of the edges that are neither clearly present nor clearly absent; at least 0.25."""
    return max(float(np.mean(np.abs(inclusion_stats.mean_probability - 0.5) < 0.5 - CLEAR)), 0.25)


def two_start_discrepancy(engine: Particles) -> float:
    """Difference of the two halves of the particles in units of its sampling variance.

    One half started from rows of the data, the other from noise. The mean over the levels of all
    nodes, but the first of each, of the squared difference of their shares over its variance; one
    where both halves have forgotten their start.
    """
    states, importance = indicators(engine), engine.importance
    half = states.shape[1] // 2
    one = np.average(states[:, :half], axis=1, weights=importance[:half])
    other = np.average(states[:, half:], axis=1, weights=importance[half:])
    mean = np.average(states, axis=1, weights=importance)
    variance = np.maximum(mean * (1 - mean), 1.0 / states.shape[1]) * 2 / half
    return float(np.mean((one - other) ** 2 / variance))


@singledispatch
def indicators(engine: Particles) -> NDArray[np.uint8]:
    """Whether each particle is in each level of each node but its first: the states of bits."""
    return np.asarray(engine.states)


@indicators.register
def level_indicators(engine: LevelParticles) -> NDArray[np.uint8]:
    """One row for each level."""
    n_levels = engine.features.n_levels
    rows = [engine.states[i] == a for i, n in enumerate(n_levels) for a in range(1, n)]
    return np.array(rows, dtype=np.uint8)


def moment_misfit(
    engine: Particles, state: ChainState, sums: Sums, rng: np.random.Generator
) -> float:
    """Misfit of the pair moments of a state's field to the data; about one for a posterior draw.

    Mean over the features of present edges of the squared difference between their means in the
    data and under the field, in units of its sampling variance. Parameters are held fixed while
    particles are swept: where these lag behind, parameters have moved further than the data allow.
    The particles are changed; pass a copy (``copied_particles``) if the chain continues.
    """
    engine, n = with_buffers(engine), engine.states.shape[1]
    edges = state.members[: state.n_members[0]]
    if edges.size == 0:
        return 0.0
    for _ in range(MISFIT_BURN_IN):
        sweep_particles(engine, state, rng)
    samples = []
    for _ in range(MISFIT_SAMPLES):
        for _ in range(MISFIT_SWEEPS):
            sweep_particles(engine, state, rng)
        samples.append(present_means(engine, edges))
    found = sum(mean for mean, _ in samples) / MISFIT_SAMPLES
    wanted, variance = wanted_means(engine, sums, edges, samples)
    distance = sums.n_rows * (found - wanted) ** 2 / variance
    return max(float(np.mean(distance) - sums.n_rows / (n * MISFIT_SAMPLES)), 0.0)


Moments = tuple[Array, Array]
"""Means and variances."""


@singledispatch
def present_means(engine: Particles, edges: NDArray[np.integer]) -> Moments:
    """Mean and variance over the particles of the features of present edges: both ends are 1."""
    pairs = zip(engine.first[edges], engine.second[edges], strict=True)
    both = [np.count_nonzero(engine.states[i] & engine.states[j]) for i, j in pairs]
    mean = np.array(both) / engine.states.shape[1]
    return mean, mean * (1 - mean)


@present_means.register
def present_level_means(engine: LevelParticles, edges: NDArray[np.integer]) -> Moments:
    """Products of the coordinates of embeddings."""
    found = []
    for alpha in edges:
        i, j = engine.first[alpha], engine.second[alpha]
        one, other = (
            engine.embedded[engine.row_start[node] : engine.row_start[node + 1]].astype(np.float64)
            for node in (i, j)
        )
        products = (one[:, None] * other).reshape(-1, one.shape[1])
        found.append((products.mean(axis=1), products.var(axis=1)))
    mean, variance = (np.concatenate(part) for part in zip(*found, strict=True))
    return mean, variance


@singledispatch
def wanted_means(
    engine: Particles, sums: Sums, edges: NDArray[np.integer], samples: list[Moments]
) -> Moments:
    """Means of the features of present edges in the data, and their variances in a row."""
    wanted = (sums.coupling[edges] + 0.5) / (sums.n_rows + 1.0)
    return wanted, wanted * (1 - wanted)


@wanted_means.register
def wanted_level_means(
    engine: LevelParticles, sums: Sums, edges: NDArray[np.integer], samples: list[Moments]
) -> Moments:
    """The sums of the data have no squares: the variances are those of the particles."""
    starts = engine.features.group_start
    index = np.concatenate([np.arange(starts[a], starts[a + 1]) for a in edges])
    variance = np.mean([variance for _, variance in samples], axis=0)
    return sums.coupling[index] / sums.n_rows, np.maximum(variance, 0.5 / sums.n_rows)
