r"""Collapsed Gibbs updates of the edges and biases of nodes with levels, on a pseudo-likelihood.

When the parameters of the pair (i, j) move by B along their centered direction, the log posterior
changes by

.. math:: \ell(B) = s \cdot B - \tfrac12 B' Q B
   - w \sum_t [\log \sum_a P_{ita} e^{V_{ia}' B V_{j x_{jt}}}
   + \log \sum_b P_{jtb} e^{V_{i x_{it}}' B V_{jb}}]

with w the weight, s and Q from the data, the slab and the priors of the biases, P the present
conditionals and V centered embeddings. It is concave. A pair with one parameter is updated as a
binary one is (:mod:`slabfield.moves.pseudo_edge_gibbs`); pairs with several, and biases, by a
Gaussian proposal at the mode and an acceptance step, as in :mod:`slabfield.moves.level_gibbs`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.group_laplace import (
    GroupLaplace,
    begin_newton,
    half_distance,
    new_group_laplace,
    propose_group,
    propose_walk,
    quadratic_terms,
    solve_newton,
    take_step,
)
from slabfield.kernels.laplace import CONVERGED_AT, MOST_STEPS
from slabfield.kernels.level_row_groups import MOST_LOG_ODDS, add_moments, fill_group_table
from slabfield.kernels.level_row_sums import (
    cumulant_sums,
    level_log_sum,
    level_moments,
    tilted_score_sums,
)
from slabfield.kernels.pseudo_sums import WIDTH
from slabfield.likelihood.level_rows import refresh, shift_fields
from slabfield.models.levels import LevelFeatures
from slabfield.moves.edge_gibbs import toggle
from slabfield.moves.evidence_sums import (
    probability_of_absence,
    record_indicator,
    record_visit,
)
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.level_gibbs import (
    center_coupling,
    center_group,
    centered_sum,
    fill_group_prior,
    level_edge_at,
    project_biases,
)
from slabfield.moves.pseudo_conditional import (
    derivatives_at,
    draw_by_series,
    draw_presence,
    value_at,
)

# Half the squared Newton decrement at which the mode of biases is accepted. Newton's method starts
# from the present biases, on which the proposal must not depend
BIASES_CONVERGED_AT = 1e-12
# Log odds of presence, to second order about zero, below which a group is first proposed with these
SCREENED_BELOW = -7.0


class LevelRowBlock(NamedTuple):
    """A block of nodes, and workspace for its updates.

    ``nodes``, ``order`` and ``edges`` are as in
    :class:`slabfield.moves.level_gibbs.LevelBlock`. ``table`` holds exponentials for pairs of
    levels, and ``first`` and ``second`` the moments of a conditional by level of the other node.
    """

    nodes: NDArray[np.int64]
    order: NDArray[np.int64]
    edges: NDArray[np.int64]
    table: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    share: NDArray[np.float64]
    partial: NDArray[np.float64]
    change: NDArray[np.float64]
    covariance: NDArray[np.float64]
    one: NDArray[np.float64]
    laplace: GroupLaplace


def new_level_row_block(features: LevelFeatures, k: int) -> LevelRowBlock:
    """Return the workspace for blocks of up to k nodes."""
    most, n_biases = int(features.n_levels.max()), features.bias_feature.shape[1]
    parameters = max(int(np.diff(features.group_start).max(initial=1)), n_biases)
    size = max(features.embedding.shape[1], n_biases)
    return LevelRowBlock(
        np.zeros(k, np.int64),
        np.arange(features.n_levels.size),
        np.zeros((k * (k - 1) // 2, 3), np.int64),
        np.zeros(most * most),
        np.zeros((most, most)),
        np.zeros((most, most * (most + 1) // 2)),
        np.zeros(most * WIDTH),
        np.zeros(most * most * (most + 3) // 2 * WIDTH),
        np.zeros(size),
        np.zeros((size, size)),
        np.ones((1, 1)),
        new_group_laplace(parameters, 1),
    )


class LevelPairRows(NamedTuple):
    """Conditionals and data of all rows, for a pair with one parameter.

    As in :class:`slabfield.likelihood.level_rows.LevelRows`. For a pair, ``sides`` is a
    :class:`Side` for each of its nodes.
    """

    probability: NDArray[np.float64]
    codes: NDArray[np.uint8]
    deviation: NDArray[np.float64]
    score: NDArray[np.float64]
    counted: NDArray[np.float64]
    bounds: NDArray[np.int64]
    times: NDArray[np.float64]
    table: NDArray[np.float64]


class Side(NamedTuple):
    """A node of a pair with one parameter.

    Its number, first level, number of levels, whether these are equally spaced, and the positions
    of its deviations and cumulants; the range of its score, and the sums over rows of the
    deviation and of its absolute fifth power.
    """

    node: int
    start: int
    n_levels: int
    even: bool
    place: int
    line: int
    span: float
    deviation: float
    fifth: float


@inner
def side_of(engine, i):
    """Return a node as a side of a pair."""
    features, score, level_count = engine.features, engine.score, engine.level_count
    start, n_levels = features.level_start[i], features.n_levels[i]
    low, high, total, fifth = score[start], score[start], 0.0, 0.0
    for a in range(start, start + n_levels):
        z = score[a]
        low, high = min(low, z), max(high, z)
        total += level_count[a] * z
        fifth += level_count[a] * abs(z * z * z * z * z)
    return Side(
        i, start, n_levels, engine.even[i], engine.coordinate[i], engine.line[i], high - low,
        total, fifth,
    )  # fmt: skip


@inner
def fill_single_table(score, one, other, a, table):
    """Fill in the exponentials of a change of a pair's only parameter, for its first side."""
    n_other = other.n_levels
    for level in range(2 if one.even else one.n_levels):
        change = a * (score[one.start + level] - score[one.start])
        for b in range(n_other):
            table[level * n_other + b] = math.exp(change * score[other.start + b])


@inner
def side_log_sum(rows, a, one, other):
    """Sum over rows of the log normalizer of one conditional, after a change."""
    n = rows.counted.size
    fill_single_table(rows.score, one, other, a, rows.table)
    total = level_log_sum(
        rows.probability, one.start * n, n, one.n_levels, one.even, rows.table, rows.codes,
        other.node * n, other.n_levels, rows.bounds, rows.times,
    )  # fmt: skip
    return total + a * rows.score[one.start] * other.deviation


@value_at.register(LevelPairRows)
def pair_value(rows, a, sides, shape):
    r""":math:`\ell` after a change by a."""
    one, other = sides
    weight, linear, precision, _, _ = shape
    total = side_log_sum(rows, a, one, other) + side_log_sum(rows, a, other, one)
    return linear * a - 0.5 * precision * a * a - weight * total


@inner
def side_score_sums(rows, a, one, other):
    """First and second derivative of one conditional's contribution, after a change."""
    n = rows.counted.size
    fill_single_table(rows.score, one, other, a, rows.table)
    return tilted_score_sums(
        rows.probability, one.start * n, n, one.n_levels, one.even, rows.table, rows.codes,
        other.node * n, other.n_levels, rows.score[one.start : one.start + one.n_levels],
        rows.deviation, other.place, rows.counted,
    )  # fmt: skip


@derivatives_at.register(LevelPairRows)
def pair_derivatives(rows, a, sides, shape):
    r"""First derivative of :math:`\ell`, and minus the second, after a change by a."""
    one, other = sides
    weight, linear, precision, _, _ = shape
    first, second = side_score_sums(rows, a, one, other)
    first2, second2 = side_score_sums(rows, a, other, one)
    return (
        linear - precision * a - weight * (first + first2),
        precision + weight * (second + second2),
    )


@inner
def series_side(engine, one, other):
    """Derivatives 1 to 4 of one conditional's contribution, and the bound on the fifth."""
    first, second, third, fourth = cumulant_sums(
        engine.cumulant, one.line, engine.n, engine.deviation, other.place
    )
    span = one.span
    return first, second, third, fourth, span * span * span * span * span * other.fifth


@inner
def update_single(engine, rows, sums, prior, state, block, edge, inclusion_stats, rng):
    """Draw presence and the only parameter of an edge from their full conditional."""
    features, alpha, i, j = engine.features, edge.number, edge.i, edge.j
    inclusion, now = prior.inclusion, state.coupling[edge.begin]
    one, other = side_of(engine, i), side_of(engine, j)
    slab_precision = state.hyper[1] ** -2
    center_i, center_j = features.center[i, 0], features.center[j, 0]
    linear = center_j * project_biases(features, state.bias, i, 0)
    linear += center_i * project_biases(features, state.bias, j, 0)
    linear = prior.bias_precision * linear - slab_precision * now
    linear += 2.0 * engine.weight * centered_sum(features, sums, edge, 0, 0)
    precision = center_j * center_j * features.embedding_precision[i, 0, 0]
    precision += center_i * center_i * features.embedding_precision[j, 0, 0]
    precision = slab_precision + prior.bias_precision * precision
    most = MOST_LOG_ODDS / (one.span * other.span)
    shape = (engine.weight, linear, precision, -most - now, most - now)
    prior_odds, present = math.inf, state.present[alpha] != 0
    if inclusion[alpha] != 1.0:
        prior_odds = log_odds(inclusion, state.hyper[0], alpha)
        prior_odds += 0.5 * math.log(slab_precision / (2 * math.pi))
    sides = one, other
    series_one, series_other = series_side(engine, one, other), series_side(engine, other, one)
    included, odds, peak = draw_presence(
        rows, series_one, series_other, sides, shape, now, prior_odds, rng
    )
    change = -now
    if included:
        change = draw_by_series(rows, series_one, series_other, peak, sides, shape, rng)
    if inclusion[alpha] != 1.0:
        probability = 1.0 / (1.0 + math.exp(-odds))
        record_visit(
            inclusion_stats, inclusion, state.hyper[0], alpha, probability,
            probability_of_absence(odds, probability),
        )  # fmt: skip
    if included != present:
        toggle(state, alpha, included)
    if change != 0.0:
        block.change[0] = change
        state.coupling[edge.begin] = now + change if included else 0.0
        center_coupling(features, state.bias, edge, 0, 0, change)
        shift_fields(engine, i, j, block.change, 1.0)
        refresh(engine, state.bias, i)
        refresh(engine, state.bias, j)


# ---- several parameters: those of a pair, or the biases of a node


@inner
def centered_levels(features, i):
    """Centered embedding of a node, one row for each level."""
    start, n_levels = features.level_start[i], features.n_levels[i]
    return features.centered[start : start + n_levels, : features.embedding_size[i]]


@inner
def group_derivatives(engine, block, edge):
    """Fill in gradient and negative Hessian of a pair's parameters at the present mode.

    Returns whether the mode is within the range of the slab.
    """
    features, n, laplace = engine.features, engine.n, block.laplace
    size_j = features.embedding_size[edge.j]
    begin_newton(laplace, edge.n_parameters)
    for side in range(2):
        i, j = (edge.i, edge.j) if side == 0 else (edge.j, edge.i)
        stride, other_stride = (size_j, 1) if side == 0 else (1, size_j)
        feature, other = centered_levels(features, i), centered_levels(features, j)
        start, end = features.level_start[j], features.level_start[j + 1]
        if not fill_group_table(
            laplace.mode, feature, stride, other, other_stride, engine.level_count[start:end],
            block.table,
        ) < math.inf:  # fmt: skip
            return False
        level_moments(
            engine.probability, features.level_start[i] * n, n, features.n_levels[i], block.table,
            engine.codes, j * n, features.n_levels[j], engine.counted, block.first, block.second,
            block.share, block.partial,
        )  # fmt: skip
        add_moments(
            block.first, block.second, feature, stride, other, other_stride, engine.weight,
            block.covariance, laplace,
        )  # fmt: skip
    return True


@inner
def group_value(engine, block, edge, values):
    r""":math:`\ell` at some values of a pair's parameters, whose present values are zero."""
    features, n, total = engine.features, engine.n, 0.0
    size_j = features.embedding_size[edge.j]
    for side in range(2):
        i, j = (edge.i, edge.j) if side == 0 else (edge.j, edge.i)
        stride, other_stride = (size_j, 1) if side == 0 else (1, size_j)
        start, end = features.level_start[j], features.level_start[j + 1]
        first = fill_group_table(
            values, centered_levels(features, i), stride, centered_levels(features, j),
            other_stride, engine.level_count[start:end], block.table,
        )  # fmt: skip
        if not first < math.inf:
            return -math.inf
        total += first + level_log_sum(
            engine.probability, features.level_start[i] * n, n, features.n_levels[i], False,
            block.table, engine.codes, j * n, features.n_levels[j], engine.bounds, engine.times,
        )  # fmt: skip
    return quadratic_terms(values, block.laplace, edge.n_parameters) - engine.weight * total


@inner
def move_group(engine, state, edge, group, sign):
    """Let the parameters of an edge enter the fields and biases, or leave them."""
    center_group(engine.features, state.bias, edge, group, sign)
    shift_fields(engine, edge.i, edge.j, group, sign)
    refresh(engine, state.bias, edge.i)
    refresh(engine, state.bias, edge.j)


@inner
def continue_newton(engine, block, edge, log_det, squared_decrement):
    """Run Newton's method after its first step was computed; return the final log determinant.

    Minus infinity where it does not converge.
    """
    laplace = block.laplace
    for _ in range(MOST_STEPS):
        if not log_det > -math.inf or squared_decrement < 2 * CONVERGED_AT:
            return log_det
        take_step(laplace, edge.n_parameters)
        if not group_derivatives(engine, block, edge):
            return -math.inf
        log_det, squared_decrement = solve_newton(laplace, edge.n_parameters)
    return -math.inf


@inner
def update_group(engine, sums, prior, state, block, edge, inclusion_stats, rng):
    """Update presence and all parameters of an edge by an independence sampler.

    Presence is proposed with the odds of the Laplace approximation. Where they are low already to
    second order about zero, it is proposed with those odds, and mostly no mode is needed.
    """
    features, alpha, p = engine.features, edge.number, edge.n_parameters
    inclusion, laplace = prior.inclusion, block.laplace
    group, present = state.coupling[edge.begin : edge.begin + p], state.present[alpha] != 0
    slab_precision, size_j = (
        state.hyper[state.hyper.size - 1] ** -2,
        features.embedding_size[edge.j],
    )
    if present:
        move_group(engine, state, edge, group, -1.0)
    fill_group_prior(features, prior, state, edge, slab_precision, laplace)
    for q in range(p):
        data_sum = centered_sum(features, sums, edge, q // size_j, q % size_j)
        laplace.linear[q] += 2.0 * engine.weight * data_sum
    laplace.mode[:p] = 0.0
    group_derivatives(engine, block, edge)
    log_det, squared_decrement = solve_newton(laplace, p)
    forced, odds, uniform, proposed = inclusion[alpha] == 1.0, math.inf, rng.random(), True
    prior_odds = 0.5 * p * math.log(slab_precision)
    if not forced:
        prior_odds += log_odds(inclusion, state.hyper[0], alpha)
        odds = prior_odds + 0.5 * squared_decrement - log_det
    screened = odds < SCREENED_BELOW
    if screened:
        proposed = uniform < 1.0 / (1.0 + math.exp(-odds))
        if not proposed and not present:
            record_indicator(inclusion_stats, alpha, 0.0)
            return
    log_det, at_mode = continue_newton(engine, block, edge, log_det, squared_decrement), 0.0
    converged, accepted = log_det > -math.inf, False
    if converged:
        at_mode = group_value(engine, block, edge, laplace.mode)
    if at_mode > -math.inf and converged:
        at_mode_odds = prior_odds + at_mode - log_det
        if not screened and not forced:
            odds = at_mode_odds
            proposed = uniform < 1.0 / (1.0 + math.exp(-odds))
        excess = at_mode_odds - odds if screened else 0.0
        log_weight = 0.0
        if present:
            value = group_value(engine, block, edge, group)
            if propose_walk(group, laplace, p, rng):
                walked = group_value(engine, block, edge, laplace.value)
                if -rng.standard_exponential() < walked - value:
                    group[:] = laplace.value[:p]
                    value = walked
            log_weight -= value - at_mode + excess
            log_weight -= half_distance(group, laplace, p)
        if proposed:
            log_weight += propose_group(laplace, p, rng) + excess
            log_weight += group_value(engine, block, edge, laplace.value) - at_mode
        accept = math.exp(min(log_weight, 0.0))
        if not forced:
            # waste recycling: the expected presence after the acceptance step
            expected = accept * proposed + (1.0 - accept) * present
            record_indicator(inclusion_stats, alpha, expected)
        accepted = rng.random() < accept
    elif not forced:
        record_indicator(inclusion_stats, alpha, 1.0 * present)
    if accepted:
        for q in range(p):
            group[q] = laplace.value[q] if proposed else 0.0
        if proposed != present:
            toggle(state, alpha, proposed)
    if state.present[alpha]:
        move_group(engine, state, edge, group, 1.0)


@inner
def update_level_row_edges(engine, sums, prior, state, block, n_edges, inclusion_stats, rng):
    """Update presence and parameters of the listed edges in turn."""
    features = engine.features
    rows = LevelPairRows(
        engine.probability, engine.codes, engine.deviation, engine.score, engine.counted,
        engine.bounds, engine.times, block.table,
    )  # fmt: skip
    for place in range(n_edges):
        edge = level_edge_at(block.edges, block.nodes, features.group_start, place)
        if prior.inclusion[edge.number] == 0.0:
            continue
        if edge.n_parameters == 1:
            update_single(engine, rows, sums, prior, state, block, edge, inclusion_stats, rng)
        else:
            update_group(engine, sums, prior, state, block, edge, inclusion_stats, rng)


@inner
def bias_levels(features, i):
    """Bias features of a node, one row for each level."""
    start, n_levels = features.level_start[i], features.n_levels[i]
    n_biases = features.bias_start[i + 1] - features.bias_start[i]
    return features.bias_feature[start : start + n_levels, :n_biases]


@inner
def find_bias_mode(engine, block, i, p):
    """Find the mode of the change of a node's biases; return the log determinant as others do."""
    features, laplace, n = engine.features, block.laplace, engine.n
    n_levels, feature = features.n_levels[i], bias_levels(features, i)
    laplace.mode[:p] = 0.0
    for _ in range(MOST_STEPS):
        begin_newton(laplace, p)
        if not fill_group_table(
            laplace.mode, feature, 1, block.one, 1, engine.n_rows, block.table
        ) < math.inf:  # fmt: skip
            return -math.inf
        level_moments(
            engine.probability, features.level_start[i] * n, n, n_levels, block.table,
            engine.codes, features.n_levels.size * n, 1, engine.counted, block.first,
            block.second, block.share, block.partial,
        )  # fmt: skip
        add_moments(
            block.first, block.second, feature, 1, block.one, 1, engine.weight, block.covariance,
            laplace,
        )  # fmt: skip
        log_det, squared_decrement = solve_newton(laplace, p)
        if not log_det > -math.inf or squared_decrement < 2 * BIASES_CONVERGED_AT:
            return log_det
        take_step(laplace, p)
    return -math.inf


@inner
def bias_value(engine, block, i, values, p):
    """Log posterior after a change of a node's biases, relative to the present one."""
    features, n = engine.features, engine.n
    first = fill_group_table(
        values, bias_levels(features, i), 1, block.one, 1, engine.n_rows, block.table
    )
    if not first < math.inf:
        return -math.inf
    total = first + level_log_sum(
        engine.probability, features.level_start[i] * n, n, features.n_levels[i], False,
        block.table, engine.codes, features.n_levels.size * n, 1, engine.bounds, engine.times,
    )  # fmt: skip
    return quadratic_terms(values, block.laplace, p) - engine.weight * total


@inner
def move_row_biases(engine, biases, bias, i, laplace, p):
    """Change the biases of a node, from which mode and linear terms are measured."""
    for q in range(p):
        bias[q] += laplace.value[q]
        laplace.mode[q] -= laplace.value[q]
        for r in range(p):
            laplace.linear[q] -= laplace.precision[q, r] * laplace.value[r]
    refresh(engine, biases, i)


@inner
def update_level_row_biases(engine, sums, prior, state, block, first, last, rng):
    """Update the biases of a block's nodes, first to last, by an independence sampler."""
    features, laplace = engine.features, block.laplace
    for place in range(first, last):
        i = block.nodes[place]
        begin, p = features.bias_start[i], features.bias_start[i + 1] - features.bias_start[i]
        bias = state.bias[begin : begin + p]
        for q in range(p):
            laplace.linear[q] = engine.weight * sums.bias[begin + q]
            for r in range(p):
                precision = prior.bias_precision * features.bias_precision[i, q, r]
                laplace.precision[q, r] = precision
                laplace.linear[q] -= precision * bias[r]
        if not find_bias_mode(engine, block, i, p) > -math.inf:
            continue
        block.change[:p] = 0.0
        if propose_walk(block.change, laplace, p, rng) and (
            -rng.standard_exponential() < bias_value(engine, block, i, laplace.value, p)
        ):
            move_row_biases(engine, state.bias, bias, i, laplace, p)
        gain = -half_distance(block.change, laplace, p)
        gain += propose_group(laplace, p, rng)
        gain += bias_value(engine, block, i, laplace.value, p)
        if -rng.standard_exponential() < gain:
            move_row_biases(engine, state.bias, bias, i, laplace, p)
