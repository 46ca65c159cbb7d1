"""Exact engines of the paper's moves: moments and likelihood ratios from a table of all states."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.cliques import (
    all_states,
    column_potential,
    dot_features,
    means_in_use,
    table_row,
    weighted_moments,
)
from slabfield.kernels.state_table import (
    BLOCK,
    fill_table,
    scale_where,
    sum_where,
    superset_sums,
    total_of,
)
from slabfield.likelihood import protocols as interface
from slabfield.models.binary import BinaryPairwise
from slabfield.models.loglinear import Cliques, LogLinear

Array = NDArray[np.float64]

# Number of edges from which one transform of the table is cheaper than separate sums
MANY = 6


class BinaryTable(NamedTuple):
    """Weights of all 2^D states of a binary pairwise field.

    ``center`` holds a mean of every node: when a jump moves the coupling of i and j by d, the bias
    of i moves by -d center_j and that of j by -d center_i (equation 17), so that the means of the
    nodes hardly change. ``sums`` is a buffer for the sums over all sets of nodes that are 1.
    ``total`` holds the sum of the weights; the log of the scale divided out of them; the number of
    edges evaluated since the table last changed (above ``MANY``, ``sums`` are those of the present
    weights); the edge evaluated last, or -1, and the probabilities of the states of its ends. A
    table smaller than a block of the kernels is padded with zeros.
    """

    first: Any
    second: Any
    center: Any
    weights: Any
    sums: Any
    matrix: Any
    block: Any
    total: Any


class StateTable(NamedTuple):
    """Weights of all joint states of a general log-linear field."""

    cliques: Cliques
    states: Any
    weights: Any
    total: Any


def exact_engine(model: BinaryPairwise | LogLinear, center: Array) -> BinaryTable | StateTable:
    """Return the exact engine of a model; the caller has checked that it is small enough.

    ``center`` is the mean of every bias feature in the data.
    """
    size = int(np.prod(model.n_states))
    if isinstance(model, BinaryPairwise):
        first, second = model.ends
        matrix = np.zeros((model.n_nodes, model.n_nodes))
        padded_size = max(size, BLOCK)
        return BinaryTable(
            first,
            second,
            center,
            np.zeros(padded_size),
            np.zeros(padded_size),
            matrix,
            np.zeros(BLOCK),
            np.zeros(7),
        )
    return StateTable(model.cliques, all_states(model.n_states), np.ones(size), np.zeros(2))


@interface.advance.register(BinaryTable)
def advance(engine, state, rng):
    """Fill the table at the parameters of the state."""
    engine.matrix[:] = 0.0
    for k in range(state.n_members[0]):
        edge = state.members[k]
        engine.matrix[engine.second[edge], engine.first[edge]] = state.coupling[edge]
    weights = engine.weights[: 1 << state.bias.size]
    engine.total[1] = fill_table(weights, engine.sums, state.bias, engine.matrix)
    engine.total[0] = total_of(weights)
    invalidate_cache(engine)


@inner
def invalidate_cache(engine):
    """Discard the cached probabilities of edges: the table has changed."""
    engine.total[2] = 0.0
    engine.total[3] = -1.0


@inner
def transform(engine):
    """Bring the sums over all sets of nodes that are 1 up to date."""
    if engine.total[2] <= MANY:
        engine.sums[:] = engine.weights
        superset_sums(engine.sums)
        engine.total[0] = engine.sums[0]
        engine.total[2] = MANY + 1.0


@interface.gradient_means.register(BinaryTable)
def gradient_means(engine, state, bias_mean, coupling_mean):
    """Compute all single and pair means from one transform of the table."""
    transform(engine)
    sums = engine.sums
    for i in range(bias_mean.size):
        bias_mean[i] = sums[1 << i] / sums[0]
    for k in range(state.n_members[0]):
        edge = state.members[k]
        both = (1 << engine.first[edge]) | (1 << engine.second[edge])
        coupling_mean[edge] = sums[both] / sums[0]


@inner
def pair_probabilities(engine, edge):
    """Return the probabilities that both ends of an edge are 1, only the first, only the second."""
    total = engine.total
    if total[3] != edge:
        i, j = engine.first[edge], engine.second[edge]
        if total[2] >= MANY:
            transform(engine)
            first, second = engine.sums[1 << i], engine.sums[1 << j]
            both = engine.sums[(1 << i) | (1 << j)]
        else:
            first = sum_where(engine.weights, i, i, engine.block)
            second = sum_where(engine.weights, j, j, engine.block)
            both = sum_where(engine.weights, i, j, engine.block)
            total[2] += 1.0
        total[3] = edge
        total[4] = min(both / total[0], 1.0)
        total[5] = max((first - both) / total[0], 0.0)
        total[6] = max((second - both) / total[0], 0.0)
    return total[4], total[5], total[6]


@interface.moments_without.register(BinaryTable)
def moments_without(engine, state, alpha, mean, covariance):
    """Fill in the moments of the centered feature; its mean is shifted to that of the plain one.

    Removing the coupling multiplies the weight of every state of the two ends by a known factor.
    """
    u, v = engine.center[engine.first[alpha]], engine.center[engine.second[alpha]]
    both, only_first, only_second = pair_probabilities(engine, alpha)
    a = state.coupling[alpha]
    neither = max(1.0 - both - only_first - only_second, 0.0)
    both *= math.exp(-a * (1 - u - v))
    only_first *= math.exp(a * v)
    only_second *= math.exp(a * u)
    total = both + only_first + only_second + neither
    centered = (both * (1 - u - v) - only_first * v - only_second * u) / total
    square = (both * (1 - u - v) ** 2 + only_first * v * v + only_second * u * u) / total
    mean[0] = centered + 2 * u * v
    covariance[0, 0] = max(square - centered * centered, 0.0)


@inner
def relative_growth(engine, alpha, change, to_first, to_second):
    """Relative change of the sum of the weights when a coupling and two biases move."""
    both, only_first, only_second = pair_probabilities(engine, alpha)
    growth = both * math.expm1(change + to_first + to_second)
    return growth + only_first * math.expm1(to_first) + only_second * math.expm1(to_second)


@interface.log_ratio.register(BinaryTable)
def log_ratio(engine, sums, prior, state, alpha, target):
    """Exact log-likelihood ratio, equation 11 for the centered feature."""
    i, j = engine.first[alpha], engine.second[alpha]
    change = target[0] - state.coupling[alpha]
    to_first, to_second = -change * engine.center[j], -change * engine.center[i]
    growth = relative_growth(engine, alpha, change, to_first, to_second)
    gain = sums.coupling[alpha] * change + sums.bias[i] * to_first + sums.bias[j] * to_second
    squares = to_first * (2 * state.bias[i] + to_first)
    squares += to_second * (2 * state.bias[j] + to_second)
    return gain - sums.n_rows * math.log1p(growth) - 0.5 * prior.bias_precision * squares, 0.0


@interface.set_group.register(BinaryTable)
def set_group(engine, state, alpha, target):
    """Multiply the parts of the table by their factors, and move the biases of the ends."""
    i, j = engine.first[alpha], engine.second[alpha]
    change = target[0] - state.coupling[alpha]
    to_first, to_second = -change * engine.center[j], -change * engine.center[i]
    engine.total[0] *= 1.0 + relative_growth(engine, alpha, change, to_first, to_second)
    scale_where(engine.weights, i, i, math.exp(to_first))
    scale_where(engine.weights, j, j, math.exp(to_second))
    scale_where(engine.weights, i, j, math.exp(change))
    state.bias[i] += to_first
    state.bias[j] += to_second
    invalidate_cache(engine)


@interface.log_partition.register(BinaryTable)
def log_partition(engine):
    """Log of the sum of the weights, with the scale restored."""
    return math.log(engine.total[0]) + engine.total[1]


@interface.advance.register(StateTable)
def advance_states(engine, state, rng):
    """Fill the table at the parameters of the state."""
    largest = -math.inf
    for s in range(engine.weights.size):
        engine.weights[s] = column_potential(
            engine.cliques, state.bias, state.coupling, state.present, engine.states, s
        )
        largest = max(largest, engine.weights[s])
    for s in range(engine.weights.size):
        engine.weights[s] = math.exp(engine.weights[s] - largest)
    engine.total[0] = total_of(engine.weights)
    engine.total[1] = largest


@interface.gradient_means.register(StateTable)
def gradient_means_states(engine, state, bias_mean, coupling_mean):
    """Compute weighted sums over all states."""
    means_in_use(
        engine.cliques, engine.states, engine.weights, state.members[: state.n_members[0]],
        bias_mean, coupling_mean,
    )  # fmt: skip


@inner
def features_shift(engine, alpha, s, state, target):
    """Change of the log weight of state s when a group goes to ``target``."""
    row = table_row(engine.cliques, alpha, engine.states, s)
    now = dot_features(
        engine.cliques, alpha, row, state.coupling, engine.cliques.group_start[alpha]
    )
    return dot_features(engine.cliques, alpha, row, target, 0) - now


@interface.moments_without.register(StateTable)
def moments_without_states(engine, state, alpha, mean, covariance):
    """Fill in the moments under the weights without the group's parameters."""
    zero = np.zeros(mean.size)
    weights = np.empty_like(engine.weights)
    for s in range(weights.size):
        weights[s] = engine.weights[s] * math.exp(features_shift(engine, alpha, s, state, zero))
    weighted_moments(engine.cliques, alpha, engine.states, weights, mean, covariance)


@interface.log_ratio.register(StateTable)
def log_ratio_states(engine, sums, prior, state, alpha, target):
    """Exact log-likelihood ratio: the mean of exp(change . f) over all states."""
    start = engine.cliques.group_start[alpha]
    gain = 0.0
    for k in range(engine.cliques.group_start[alpha + 1] - start):
        gain += sums.coupling[start + k] * (target[k] - state.coupling[start + k])
    ratio = 0.0
    for s in range(engine.weights.size):
        shift = features_shift(engine, alpha, s, state, target)
        ratio += engine.weights[s] * math.exp(shift)
    return gain - sums.n_rows * math.log(ratio / engine.total[0]), 0.0


@interface.set_group.register(StateTable)
def set_group_states(engine, state, alpha, target):
    """Multiply the weight of every state by its factor."""
    for s in range(engine.weights.size):
        engine.weights[s] *= math.exp(features_shift(engine, alpha, s, state, target))
    engine.total[0] = total_of(engine.weights)


@interface.log_partition.register(StateTable)
def log_partition_states(engine):
    """Log of the sum of the weights, with the scale restored."""
    return math.log(engine.total[0]) + engine.total[1]
