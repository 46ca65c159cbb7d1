"""Exact engines: the weights of all states of a small field."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.cliques import (
    all_states,
    column_potential,
    dot_features,
    means_in_use,
    table_row,
    weighted_moments,
)
from slabfield.kernels.slab import tilted_mean
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

# From this many edges on, one transform of the table is cheaper than a sum for each
MANY = 6


class BinaryTable(NamedTuple):
    """Weights of all 2^D states of a binary pairwise field.

    ``total`` holds the sum of the weights, the log of the scale that was divided out, the edge last
    looked at (or -1), the sum of the weights where both its ends are 1, and how many edges were
    looked at since the table last changed: after ``MANY`` of them, ``scratch`` holds the sums of
    all edges. A table smaller than a block of the kernels is filled up with zeros.
    """

    first: Any
    second: Any
    weights: Any
    scratch: Any
    matrix: Any
    block: Any
    total: Any


class StateTable(NamedTuple):
    """Weights of all joint states of a general log-linear field."""

    cliques: Cliques
    states: Any
    weights: Any
    total: Any


def exact_engine(model: BinaryPairwise | LogLinear) -> BinaryTable | StateTable:
    """Return the exact engine of a model; the caller has checked that it is small enough."""
    size = int(np.prod(model.n_states))
    if isinstance(model, BinaryPairwise):
        first, second = model.ends
        matrix = np.zeros((model.n_nodes, model.n_nodes))
        room = max(size, BLOCK)
        weights = np.zeros(room)
        return BinaryTable(
            first, second, weights, np.zeros(room), matrix, np.zeros(BLOCK), np.zeros(5)
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
    engine.total[1] = fill_table(weights, engine.scratch, state.bias, engine.matrix)
    engine.total[0] = total_of(weights)
    engine.total[2] = -1.0
    engine.total[4] = 0.0


@inner
def transform(engine):
    """Bring the sums over all sets of nodes that are 1 up to date."""
    if engine.total[4] <= MANY:
        engine.scratch[:] = engine.weights
        superset_sums(engine.scratch)
        engine.total[4] = MANY + 1.0


@interface.gradient_means.register(BinaryTable)
def gradient_means(engine, state, bias_mean, coupling_mean):
    """All single and pair means from one transform of the table."""
    sums = engine.scratch
    transform(engine)
    for i in range(bias_mean.size):
        bias_mean[i] = sums[1 << i] / sums[0]
    for k in range(state.n_members[0]):
        edge = state.members[k]
        both = (1 << engine.first[edge]) | (1 << engine.second[edge])
        coupling_mean[edge] = sums[both] / sums[0]


@inner
def pair_sum(engine, edge):
    """Sum of the weights of the states in which both ends of an edge are 1; remembers the last."""
    total = engine.total
    if total[2] != edge:
        i, j = engine.first[edge], engine.second[edge]
        if total[4] >= MANY:
            transform(engine)
            total[3] = engine.scratch[(1 << i) | (1 << j)]
        else:
            total[3] = sum_where(engine.weights, i, j, engine.block)
            total[4] += 1.0
        total[2] = edge
    return total[3]


@inner
def pair_mean(engine, edge):
    """Mean of x_i x_j now."""
    return min(pair_sum(engine, edge) / engine.total[0], 1.0)


@interface.moments_without.register(BinaryTable)
def moments_without(engine, state, alpha, mean, covariance):
    """Closed form: taking the coupling a out divides the odds of the feature by e^a."""
    mean[0] = tilted_mean(-state.coupling[alpha], pair_mean(engine, alpha))
    covariance[0, 0] = mean[0] * (1 - mean[0])


@interface.log_ratio.register(BinaryTable)
def log_ratio(engine, sums, state, alpha, target):
    """Exact, equation 11."""
    change = target[0] - state.coupling[alpha]
    growth = math.log1p(pair_mean(engine, alpha) * math.expm1(change))
    return sums.coupling[alpha] * change - sums.n_rows * growth, 0.0


@interface.set_group.register(BinaryTable)
def set_group(engine, state, alpha, target):
    """Multiply a quarter of the table."""
    growth = math.expm1(target[0] - state.coupling[alpha])
    engine.total[0] += pair_sum(engine, alpha) * growth
    scale_where(engine.weights, engine.first[alpha], engine.second[alpha], 1.0 + growth)
    engine.total[2] = -1.0
    engine.total[4] = 0.0


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
def log_ratio_states(engine, sums, state, alpha, target):
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
