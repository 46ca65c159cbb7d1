"""How many particles a chain has and how often they are swept: settled in warm-up, by their health.

Too few make log odds noisy, and too lazy ones lag behind the parameters (docs/maths.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.cloud import GROUPS
from slabfield.kernels.gibbs import new_lists
from slabfield.likelihood.cubes import (
    LEAST_FORESTS,
    ParticleCubes,
    more_particles,
    with_chances,
)
from slabfield.models.protocol import Sums
from slabfield.moves.pair import Tally
from slabfield.moves.state import ChainState
from slabfield.sampler.iteration import relax_all, settle
from slabfield.sampler.settings import Settings

Array = NDArray[np.float64]

FEWEST_PARTICLES, MOST_PARTICLES = 512, 16_384
FIRST_SWEEPS = 2
SEEN_SWEEPS, SEEN_NODES, SEEN_PARTICLES = 48, 64, 256
# Nodes that vary less are not looked at
LEAST_SPREAD = 1e-3
# Mean autocorrelation of nodes that counts as forgotten
FORGOTTEN = 0.3
# and that of the slowest nodes: this share of all, or so many; over sweeps with forests, of which
# there are so many at most in a sweep of the chain
SLOW_FORGOTTEN, SLOW_SHARE, LEAST_SLOW = 0.05, 0.05, 4
MOST_FORESTS = 64
# Noise variance of open log odds that warm-up aims to stay below, and Gibbs sweeps at most: with
# weights, in small fields, where all edges are open (the fewer are, the less errors add up); and
# without. Edges closer to certain than this are not open
CLEAR = 0.05
WEIGHTED_NOISE, WEIGHTED_SWEEPS = 0.06, 2
PLAIN_NOISE, PLAIN_SWEEPS = 1.0, 8
# Without weights, noise of the slopes of open edges too, as a share of the variance of a coupling
SLOPE_NOISE = 0.25
# Twice that will do while plans are still made anew, until so many parts of warm-up are left
ROUGH_PARTS = 3
# Sweeps and forests at fixed parameters, after which it is looked so many times, and so many sweeps
# apart, how far the field is from the data
HELD, LOOKS, APART = 32, 4, 8
# Without weights a node is near many blocks, and swept after each of them: in so many parts
NEAR_BLOCKS = 8


def first_number(n_rows: float) -> int:
    """Particles to begin with: as many as rows, as a power of two within bounds."""
    wanted = 2 ** int(np.ceil(np.log2(max(n_rows, 1.0))))
    return int(min(max(wanted, 2 * FEWEST_PARTICLES), MOST_PARTICLES // 4))


def whole_lanes(n_particles: int) -> int:
    """Round a number of particles up, so that all groups have as many and none is left over."""
    return -(-n_particles // GROUPS) * GROUPS


def noise_of(tally: Tally) -> float:
    """Mean noise variance of open log odds; zero where none was seen."""
    return float(tally.noise[0] / max(tally.noise[1], 1.0))


def slope_noise_of(tally: Tally) -> float:
    """Mean noise of the slopes of open edges, r of equation 19; zero where none was seen."""
    return float(tally.noise[2] / max(tally.noise[1], 1.0))


def autocorrelation(
    engine: ParticleCubes,
    state: ChainState,
    nodes: NDArray[np.int64],
    n_sweeps: int,
    sweep: Callable[..., None],
    rng: np.random.Generator,
) -> Array:
    """Autocorrelation of nodes over sweeps of the particles, mean over nodes and particles.

    Measured by so many sweeps at the state's parameters; entry m is for m of them, half at most.
    """
    states = engine.states
    path = np.empty((n_sweeps, nodes.size, min(states.shape[1], SEEN_PARTICLES)), np.float32)
    for t in range(n_sweeps):
        sweep(engine, state, rng)
        path[t] = states[nodes, : path.shape[2]]
    path -= path.mean(axis=(0, 2), keepdims=True)
    spread = (path**2).mean(axis=(0, 2))
    seen = spread > LEAST_SPREAD
    shared = [
        (path[: n_sweeps - m] * path[m:]).mean(axis=(0, 2))[seen] / spread[seen]
        for m in range(n_sweeps // 2 + 1)
    ]
    return np.array([np.mean(row) if row.size else 0.0 for row in shared])


def sweeps_to_forget(engine: ParticleCubes, state: ChainState, rng: np.random.Generator) -> float:
    """Gibbs sweeps after a block, so that nodes mostly forget where they were; within bounds."""
    most = WEIGHTED_SWEEPS if engine.weighted else PLAIN_SWEEPS
    nodes = rng.permutation(len(engine.states))[:SEEN_NODES]
    seen = autocorrelation(engine, state, nodes, SEEN_SWEEPS, settle, rng)
    forgotten = np.flatnonzero(seen[: most + 1] < FORGOTTEN)
    wanted = int(forgotten[0]) if forgotten.size else most
    return float(wanted) if engine.weighted else wanted / NEAR_BLOCKS


def forests_to_forget(engine: ParticleCubes, state: ChainState, rng: np.random.Generator) -> int:
    """Forests in a sweep of the chain, so that the slowest nodes forget where they were.

    Where many nodes move only together, all parameters follow what particles happen to show of
    them, before these can follow the parameters.
    """
    engine = with_chances(engine)
    slow = slowest_nodes(engine, state, rng)
    seen = autocorrelation(engine, state, slow, 2 * MOST_FORESTS, relax_all, rng)
    forgotten = np.flatnonzero(seen < SLOW_FORGOTTEN)
    return max(int(forgotten[0]), LEAST_FORESTS) if forgotten.size else MOST_FORESTS


def slowest_nodes(
    engine: ParticleCubes, state: ChainState, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Nodes that remember most of where they were, over as many forests as there are at least."""
    before, states = engine.states.copy(), engine.states
    for _ in range(LEAST_FORESTS):
        relax_all(engine, state, rng)
    both = np.array([np.count_nonzero(b & s) for b, s in zip(before, states, strict=True)])
    n = states.shape[1]
    mean, now = before.mean(axis=1), states.mean(axis=1)
    spread = np.sqrt(mean * (1 - mean) * now * (1 - now))
    kept = np.where(spread > LEAST_SPREAD, (both / n - mean * now) / np.maximum(spread, 1e-9), -1.0)
    n_slow = max(int(SLOW_SHARE * len(states)), min(LEAST_SLOW, len(states)))
    return np.argsort(-kept, kind="stable")[:n_slow]


def revised_particles(
    engine: ParticleCubes,
    settings: Settings,
    state: ChainState,
    tally: Tally,
    parts_left: int,
    rng: np.random.Generator,
) -> ParticleCubes:
    """Settle how many particles there are, and how often they are swept."""
    excess, n = noise_excess(tally, engine.weighted, parts_left), engine.states.shape[1]
    if settings.n_particles == 0 and excess > 1 and n < MOST_PARTICLES:
        factor = 2 if excess < 2 else 4
        engine = more_particles(engine, min(factor * n, MOST_PARTICLES), rng)
    elif settings.n_particles == 0 and excess < 1 / 3 and n > FEWEST_PARTICLES:
        engine = more_particles(engine, n // 2, rng)
    if settings.n_sweeps == 0:
        engine = engine._replace(n_sweeps=sweeps_to_forget(engine, state, rng))
    if not engine.weighted:
        engine = engine._replace(n_forests=forests_to_forget(engine, state, rng))
    return engine


def noise_excess(tally: Tally, weighted: bool, parts_left: int) -> float:
    """Noise of the particles, of log odds or of slopes, as a multiple of what there may be."""
    if weighted:
        return noise_of(tally) * open_share(tally) / WEIGHTED_NOISE
    excess = max(noise_of(tally) / PLAIN_NOISE, slope_noise_of(tally) / SLOPE_NOISE)
    return excess / 2 if parts_left >= ROUGH_PARTS else excess


def open_share(tally: Tally) -> float:
    """Share of the edges that are neither clearly present nor clearly absent; a quarter or more."""
    return max(float(np.mean(np.abs(tally.mean_chance - 0.5) < 0.5 - CLEAR)), 0.25)


def half_against_half(engine: ParticleCubes) -> float:
    """How much the two halves of the particles differ, beside how much chance would have them.

    One half started from rows of the data and the other from noise. The mean over nodes of the
    squared difference of their means over its variance: one where both halves have forgotten.
    """
    states, importance = engine.states, engine.importance
    half = states.shape[1] // 2
    one = np.average(states[:, :half], axis=1, weights=importance[:half])
    other = np.average(states[:, half:], axis=1, weights=importance[half:])
    mean = np.average(states, axis=1, weights=importance)
    variance = np.maximum(mean * (1 - mean), 1.0 / states.shape[1]) * 2 / half
    return float(np.mean((one - other) ** 2 / variance))


def misfit(engine: ParticleCubes, state: ChainState, sums: Sums, rng: np.random.Generator) -> float:
    """How far the field of a state is from the data: of what should be about one in a draw.

    Mean over present edges of the squared difference between how often both ends are 1 in the data
    and under the field, in units of the variance in as many rows. Parameters are held while
    particles are swept on: where these lag behind, parameters go further than data let them. The
    engine is swept by this; give a copy (:func:`apart`) where a chain is to go on.
    """
    engine, n = with_chances(engine), engine.states.shape[1]
    edges = state.members[: state.n_members[0]]
    if edges.size == 0:
        return 0.0
    for _ in range(HELD):
        relax_all(engine, state, rng)
    found = np.zeros(edges.size)
    for _ in range(LOOKS):
        for _ in range(APART):
            relax_all(engine, state, rng)
        for k, alpha in enumerate(edges):
            both = engine.states[engine.first[alpha]] & engine.states[engine.second[alpha]]
            found[k] += np.count_nonzero(both) / (n * LOOKS)
    wanted = (sums.coupling[edges] + 0.5) / (sums.n_rows + 1.0)
    distance = sums.n_rows * (found - wanted) ** 2 / (wanted * (1 - wanted))
    return max(float(np.mean(distance) - sums.n_rows / (n * LOOKS)), 0.0)


def apart(engine: ParticleCubes) -> ParticleCubes:
    """Return the engine with particles of its own."""
    # lists are filled in when particles are swept
    neighbours, weights, degree = new_lists(len(engine.states))
    return engine._replace(
        states=engine.states.copy(), lanes=engine.lanes.copy(),
        neighbours=neighbours, weights=weights, degree=degree,
    )  # fmt: skip
