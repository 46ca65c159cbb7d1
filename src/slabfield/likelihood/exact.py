"""Exact engines: the weights of all states of a small field."""

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
from slabfield.kernels.table import (
    BLOCK,
    fill_table,
    scale_where,
    sum_where,
    superset_sums,
    total_of,
)
from slabfield.likelihood import engine as interface
from slabfield.models.binary import BinaryPairwise
from slabfield.models.loglinear import Cliques, LogLinear

Array = NDArray[np.float64]

# From this many edges on, one transform of the table is cheaper than sums for each
MANY = 6


class BinaryTable(NamedTuple):
    """Weights of all 2^D states of a binary pairwise field.

    ``centre`` holds a mean of every node: when a jump moves the coupling of i and j by d, the bias
    of i moves by -d centre_j and that of j by -d centre_i (equation 17), so that the means of the
    nodes stay near where they were. ``sums`` has room for the sums over all sets of nodes that are
    1, and ``total`` holds: the sum of the weights; the log of the scale that was divided out; how
    many edges were looked at since the table last changed (after ``MANY`` of them, ``sums`` are
    those of the weights now); the edge last looked at, or -1, and the probabilities of its ends. A
    table smaller than a block of the kernels is filled up with zeros.
    """

    first: Any
    second: Any
    centre: Any
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


def exact_engine(model: BinaryPairwise | LogLinear, centre: Array) -> BinaryTable | StateTable:
    """Return the exact engine of a model; the caller has checked that it is small enough.

    ``centre`` is the data's mean of every bias feature.
    """
    size = int(np.prod(model.n_states))
    if isinstance(model, BinaryPairwise):
        first, second = model.ends
        matrix = np.zeros((model.n_nodes, model.n_nodes))
        room = max(size, BLOCK)
        return BinaryTable(
            first,
            second,
            centre,
            np.zeros(room),
            np.zeros(room),
            matrix,
            np.zeros(BLOCK),
            np.zeros(7),
        )
    return StateTable(model.cliques, all_states(model.n_states), np.ones(size), np.zeros(2))


@interface.advance.register(BinaryTable)
def advance(engine, state, rng):
    """Fill the table anew."""
    engine.matrix[:] = 0.0
    for k in range(state.n_members[0]):
        edge = state.members[k]
        engine.matrix[engine.second[edge], engine.first[edge]] = state.coupling[edge]
    weights = engine.weights[: 1 << state.bias.size]
    engine.total[1] = fill_table(weights, engine.sums, state.bias, engine.matrix)
    engine.total[0] = total_of(weights)
    look_again(engine)


@inner
def look_again(engine):
    """Forget what was looked at: the table has changed."""
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
    """All single and pair means from one transform of the table."""
    transform(engine)
    sums = engine.sums
    for i in range(bias_mean.size):
        bias_mean[i] = sums[1 << i] / sums[0]
    for k in range(state.n_members[0]):
        edge = state.members[k]
        both = (1 << engine.first[edge]) | (1 << engine.second[edge])
        coupling_mean[edge] = sums[both] / sums[0]


@inner
def pair_chances(engine, edge):
    """Probabilities that both ends of an edge are 1, only the first, and only the second."""
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
    """Moments of the centred feature, its mean counted from where the plain one's is.

    Taking the coupling out multiplies the weight of every state of the ends by a known factor.
    """
    u, v = engine.centre[engine.first[alpha]], engine.centre[engine.second[alpha]]
    both, only_first, only_second = pair_chances(engine, alpha)
    a = state.coupling[alpha]
    neither = max(1.0 - both - only_first - only_second, 0.0)
    both *= math.exp(-a * (1 - u - v))
    only_first *= math.exp(a * v)
    only_second *= math.exp(a * u)
    total = both + only_first + only_second + neither
    centred = (both * (1 - u - v) - only_first * v - only_second * u) / total
    square = (both * (1 - u - v) ** 2 + only_first * v * v + only_second * u * u) / total
    mean[0] = centred + 2 * u * v
    covariance[0, 0] = max(square - centred * centred, 0.0)


@inner
def growth_of(engine, alpha, change, to_first, to_second):
    """By what share the sum of the weights grows."""
    both, only_first, only_second = pair_chances(engine, alpha)
    growth = both * math.expm1(change + to_first + to_second)
    return growth + only_first * math.expm1(to_first) + only_second * math.expm1(to_second)


@interface.log_ratio.register(BinaryTable)
def log_ratio(engine, sums, prior, state, alpha, target):
    """Exact, equation 11 for the centred feature."""
    i, j = engine.first[alpha], engine.second[alpha]
    change = target[0] - state.coupling[alpha]
    to_first, to_second = -change * engine.centre[j], -change * engine.centre[i]
    growth = growth_of(engine, alpha, change, to_first, to_second)
    gain = sums.coupling[alpha] * change + sums.bias[i] * to_first + sums.bias[j] * to_second
    squares = to_first * (2 * state.bias[i] + to_first)
    squares += to_second * (2 * state.bias[j] + to_second)
    return gain - sums.n_rows * math.log1p(growth) - 0.5 * prior.bias_precision * squares, 0.0


@interface.set_group.register(BinaryTable)
def set_group(engine, state, alpha, target):
    """Multiply the parts of the table, and move the biases of the ends."""
    i, j = engine.first[alpha], engine.second[alpha]
    change = target[0] - state.coupling[alpha]
    to_first, to_second = -change * engine.centre[j], -change * engine.centre[i]
    engine.total[0] *= 1.0 + growth_of(engine, alpha, change, to_first, to_second)
    scale_where(engine.weights, i, i, math.exp(to_first))
    scale_where(engine.weights, j, j, math.exp(to_second))
    scale_where(engine.weights, i, j, math.exp(change))
    state.bias[i] += to_first
    state.bias[j] += to_second
    look_again(engine)


@interface.log_partition.register(BinaryTable)
def log_partition(engine):
    """Log of the sum of the weights, at their scale."""
    return math.log(engine.total[0]) + engine.total[1]


@interface.advance.register(StateTable)
def advance_states(engine, state, rng):
    """Fill the table anew."""
    most = -math.inf
    for s in range(engine.weights.size):
        engine.weights[s] = column_potential(
            engine.cliques, state.bias, state.coupling, state.present, engine.states, s
        )
        most = max(most, engine.weights[s])
    for s in range(engine.weights.size):
        engine.weights[s] = math.exp(engine.weights[s] - most)
    engine.total[0] = total_of(engine.weights)
    engine.total[1] = most


@interface.gradient_means.register(StateTable)
def gradient_means_states(engine, state, bias_mean, coupling_mean):
    """Weighted sums over all states."""
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
    """Moments under weights from which the group has been taken out."""
    zero = np.zeros(mean.size)
    weights = np.empty_like(engine.weights)
    for s in range(weights.size):
        weights[s] = engine.weights[s] * math.exp(features_shift(engine, alpha, s, state, zero))
    weighted_moments(engine.cliques, alpha, engine.states, weights, mean, covariance)


@interface.log_ratio.register(StateTable)
def log_ratio_states(engine, sums, prior, state, alpha, target):
    """Exact: the mean of exp(change . f) over all states."""
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
    """Multiply the weight of every state."""
    for s in range(engine.weights.size):
        engine.weights[s] *= math.exp(features_shift(engine, alpha, s, state, target))
    engine.total[0] = total_of(engine.weights)


@interface.log_partition.register(StateTable)
def log_partition_states(engine):
    """Log of the sum of the weights, at their scale."""
    return math.log(engine.total[0]) + engine.total[1]
