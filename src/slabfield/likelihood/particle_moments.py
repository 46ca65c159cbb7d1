"""Particle engines of the paper's moves: moments from particles, ratios to second order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.cliques import means_in_use, resample_node, weighted_moments
from slabfield.kernels.gibbs import fill_neighbors, new_streams, sweep
from slabfield.kernels.pair_counts import count_pair, n_words, pack
from slabfield.likelihood import protocols as interface
from slabfield.models.binary import BinaryPairwise
from slabfield.models.loglinear import Cliques, LogLinear


class BinaryParticles(NamedTuple):
    """Particles of a binary pairwise field, as floats (D, n) and as bits packed into words.

    If ``restart`` has rows, every advance starts from rows drawn from it ("brief" sampling);
    otherwise it continues from the present states (persistent).
    """

    first: Any
    second: Any
    states: Any
    packed: Any
    streams: Any
    field: Any
    neighbors: Any
    weights: Any
    degree: Any
    n_sweeps: int
    restart: Any


class CliqueParticles(NamedTuple):
    """Particles of a general log-linear field, as integers (D, n), all of weight one."""

    cliques: Cliques
    states: Any
    weights: Any
    n_sweeps: int
    restart: Any


def particle_engine(
    model: BinaryPairwise | LogLinear,
    n_particles: int,
    n_sweeps: int,
    restart: NDArray[Any] | None,
    rng: np.random.Generator,
) -> BinaryParticles | CliqueParticles:
    """Return particles in random states, or particles that restart from the given rows."""
    n_states = model.n_states
    rows = np.zeros((0, n_states.size)) if restart is None else np.asarray(restart)
    start = np.floor(rng.random((n_states.size, n_particles)) * n_states[:, None])
    if isinstance(model, LogLinear):
        ones = np.ones(n_particles)
        return CliqueParticles(
            model.cliques, start.astype(np.int64), ones, n_sweeps, rows.astype(np.int64)
        )
    first, second = model.ends
    d = model.n_nodes
    return BinaryParticles(
        first,
        second,
        start.astype(np.float32),
        np.zeros((n_words(n_particles), d), np.uint64),
        new_streams(n_particles, rng),
        np.zeros(n_particles, np.float32),
        np.zeros((d, d), np.int32),
        np.zeros((d, d), np.float32),
        np.zeros(d, np.int64),
        n_sweeps,
        rows.astype(np.float32),
    )


@inner
def restart_from_rows(states, rows, rng):
    """Set every particle to a row drawn at random."""
    for s in range(states.shape[1]):
        row = int(rng.random() * rows.shape[0])
        for i in range(states.shape[0]):
            states[i, s] = rows[row, i]


@interface.advance.register(BinaryParticles)
def advance(engine, state, rng):
    """Run Gibbs sweeps of the particles at the parameters of the state."""
    fill_neighbors(
        engine.first, engine.second, state.members, state.n_members[0], state.coupling,
        engine.neighbors, engine.weights, engine.degree,
    )  # fmt: skip
    if engine.restart.shape[0] > 0:
        restart_from_rows(engine.states, engine.restart, rng)
    for _ in range(engine.n_sweeps):
        sweep(
            engine.states, state.bias, engine.neighbors, engine.weights, engine.degree,
            engine.streams, engine.field,
        )  # fmt: skip
    pack(engine.states, engine.packed)


@interface.gradient_means.register(BinaryParticles)
def gradient_means(engine, state, bias_mean, coupling_mean):
    """Compute frequencies among the particles, which are unbiased."""
    share = 1.0 / engine.states.shape[1]
    packed, members, first, second = engine.packed, state.members, engine.first, engine.second
    for i in range(bias_mean.size):
        bias_mean[i] = count_pair(packed, i, i) * share
    for k in range(state.n_members[0]):
        edge = members[k]
        coupling_mean[edge] = count_pair(packed, first[edge], second[edge]) * share


@inner
def pair_moments(engine, edge):
    """Frequency of both ends being 1 among the particles, and the variance of the feature.

    A frequency of 0 or 1 among n particles means not seen, not impossible: the variance is that of
    (count + 1/2) / (n + 1). The mean stays the plain frequency, which is unbiased.
    """
    n = engine.states.shape[1]
    count = count_pair(engine.packed, engine.first[edge], engine.second[edge])
    smooth = (count + 0.5) / (n + 1.0)
    return count / n, smooth * (1 - smooth)


@interface.moments_without.register(BinaryParticles)
def moments_without(engine, state, alpha, mean, covariance):
    """Fill in moments to first order in the coupling removed (section 4.2 of the paper)."""
    frequency, variance = pair_moments(engine, alpha)
    mean[0] = frequency - variance * state.coupling[alpha]
    covariance[0, 0] = variance


@interface.log_ratio.register(BinaryParticles)
def log_ratio(engine, sums, prior, state, alpha, target):
    """Log ratio to second order in the change (equation 9), and its variance (equation 10)."""
    frequency, variance = pair_moments(engine, alpha)
    change = target[0] - state.coupling[alpha]
    change_variance = change * change * variance
    gain = (sums.coupling[alpha] - sums.n_rows * frequency) * change
    noise = sums.n_rows * sums.n_rows * change_variance / engine.states.shape[1]
    return gain - 0.5 * sums.n_rows * change_variance, noise


@interface.set_group.register(BinaryParticles)
def set_group(engine, state, alpha, target):
    """Do nothing: the particles follow at their next advance."""


@interface.advance.register(CliqueParticles)
def advance_cliques(engine, state, rng):
    """Run Gibbs sweeps of the particles at the parameters of the state."""
    if engine.restart.shape[0] > 0:
        restart_from_rows(engine.states, engine.restart, rng)
    for _ in range(engine.n_sweeps):
        for s in range(engine.states.shape[1]):
            for i in range(engine.states.shape[0]):
                resample_node(
                    engine.cliques, state.bias, state.coupling, state.present, engine.states,
                    i, s, rng,
                )  # fmt: skip


@interface.gradient_means.register(CliqueParticles)
def gradient_means_cliques(engine, state, bias_mean, coupling_mean):
    """Compute averages over the particles."""
    means_in_use(
        engine.cliques, engine.states, engine.weights, state.members[: state.n_members[0]],
        bias_mean, coupling_mean,
    )  # fmt: skip


@inner
def group_moments(engine, alpha, mean, covariance):
    """Fill in mean and covariance of a group's features; a floor keeps variances above zero.

    The floor is that of half a pseudo-particle at each end of a range of one.
    """
    weighted_moments(engine.cliques, alpha, engine.states, engine.weights, mean, covariance)
    n = engine.states.shape[1]
    for k in range(mean.size):
        covariance[k, k] += 0.25 / (n + 1.0)


@interface.moments_without.register(CliqueParticles)
def moments_without_cliques(engine, state, alpha, mean, covariance):
    """Fill in moments to first order in the parameters removed."""
    group_moments(engine, alpha, mean, covariance)
    start = engine.cliques.group_start[alpha]
    for k in range(mean.size):
        for m in range(mean.size):
            mean[k] -= covariance[k, m] * state.coupling[start + m]


@interface.log_ratio.register(CliqueParticles)
def log_ratio_cliques(engine, sums, prior, state, alpha, target):
    """Log ratio to second order in the change, and its variance (equations 9 and 10)."""
    start = engine.cliques.group_start[alpha]
    size = engine.cliques.group_start[alpha + 1] - start
    mean, covariance = np.empty(size), np.empty((size, size))
    group_moments(engine, alpha, mean, covariance)
    gain, change_variance = 0.0, 0.0
    for k in range(size):
        change = target[k] - state.coupling[start + k]
        gain += (sums.coupling[start + k] - sums.n_rows * mean[k]) * change
        for m in range(size):
            change_variance += change * covariance[k, m] * (target[m] - state.coupling[start + m])
    noise = sums.n_rows * sums.n_rows * change_variance / engine.states.shape[1]
    return gain - 0.5 * sums.n_rows * change_variance, noise


@interface.set_group.register(CliqueParticles)
def set_group_cliques(engine, state, alpha, target):
    """Do nothing: the particles follow at their next advance."""
