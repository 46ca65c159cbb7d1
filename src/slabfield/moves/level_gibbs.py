r"""Collapsed Gibbs updates of the edges and biases of nodes with levels, in blocks of nodes.

For the parameters of one pair, the likelihood depends on the rest of the field only through the
table of the pair's levels. Where a pair has one parameter (binary and ordinal nodes), its presence
is drawn with the parameter integrated out, then the parameter, exactly (equation 35). Where it has
several (nominal nodes), presence and parameters are proposed together from a Laplace approximation
and accepted or rejected (equation 36).

Embeddings are *centered*: when a coupling moves, the biases of its two nodes move along, so that
the feature that changes is the product of deviations from the means in the data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.cell_conditional import (
    Cells,
    integrate,
    log_density_from_mode,
    log_truncated_integral,
    new_cells,
    sample_log_concave,
    sample_truncated,
)
from slabfield.kernels.group_laplace import (
    GroupLaplace,
    find_group_mode,
    half_distance,
    log_density,
    new_group_laplace,
    propose_group,
    tilt_group,
    walk_far_group,
)
from slabfield.kernels.laplace import Laplace, new_laplace
from slabfield.kernels.level_table import multiply_node, multiply_pair, node_cells, pair_cells
from slabfield.kernels.logistic import dot
from slabfield.kernels.univariate import LEAST
from slabfield.models.levels import LevelFeatures
from slabfield.moves.bounded_updates import HALF_RANGE, MOST_WIDTH
from slabfield.moves.edge_gibbs import MOST_EDGES, UNDECIDED, toggle
from slabfield.moves.evidence_sums import record_indicator, record_visit
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.particle_noise import (
    MOST_SHARE,
    cell_noise,
    corrected_probabilities,
    draw_presence,
)

# Rows of a level that no row has, in the proposal of its bias; and counts that are rounding errors
UNSEEN_COUNT, LEAST_COUNT = 0.1, 1e-6


class LevelBlock(NamedTuple):
    """A block of nodes with levels, the table of its cells, and workspace for its updates.

    ``edges`` lists the edges of the block: the number of the edge, and the places of its ends in
    ``nodes``. ``table`` is (cells, groups of particles), and ``level`` the level of every node in
    each cell. ``order`` lists all nodes. ``undecided``, ``chosen``, ``start``, ``laplace`` and
    ``moved``, the biases of the block's nodes after a flip, are workspace of flips; ``cells`` and
    ``group`` that of single edges.
    """

    nodes: NDArray[np.int64]
    order: NDArray[np.int64]
    table: NDArray[np.float64]
    level: NDArray[np.int64]
    pair: NDArray[np.float64]
    cells: Cells
    group: GroupLaplace
    edges: NDArray[np.int64]
    undecided: NDArray[np.int64]
    chosen: NDArray[np.int64]
    start: NDArray[np.int64]
    laplace: Laplace
    moved: NDArray[np.float64]
    residual: NDArray[np.float64]
    shift: NDArray[np.float64]
    before: NDArray[np.float64]


def new_level_block(features: LevelFeatures, k: int, n_groups: int) -> LevelBlock:
    """Return the workspace for blocks of up to k nodes."""
    levels = np.sort(features.n_levels)[::-1]
    most_cells = int(np.prod(levels[:k]))
    pairs, parameters = int(levels[:2].prod()), int(np.diff(features.group_start).max(initial=1))
    parameters, n_edges = max(parameters, features.bias_feature.shape[1]), k * (k - 1) // 2
    return LevelBlock(
        np.zeros(k, np.int64),
        np.arange(features.n_levels.size),
        np.zeros((most_cells, n_groups)),
        np.zeros((k, most_cells), np.int64),
        np.zeros((pairs, n_groups)),
        new_cells(pairs),
        new_group_laplace(parameters, pairs),
        np.zeros((n_edges, 3), np.int64),
        np.zeros(n_edges, np.int64),
        np.zeros(MOST_EDGES, np.int64),
        np.zeros(n_edges + 1, np.int64),
        new_laplace(n_edges * int(np.diff(features.group_start).max(initial=1)), most_cells),
        np.zeros((k, features.bias_feature.shape[1])),
        np.zeros((2, n_groups)),
        np.zeros(features.bias_feature.shape[1]),
        np.zeros(parameters),
    )


class LevelEdge(NamedTuple):
    """Number of an edge, its nodes i < j, their places in the block, and its first parameter."""

    number: int
    i: int
    j: int
    place_i: int
    place_j: int
    begin: int
    n_parameters: int


@inner
def level_edge_at(edges, nodes, group_start, place):
    """Return the edge at a place in the block's list, its nodes in ascending order."""
    number, low, high = edges[place, 0], edges[place, 1], edges[place, 2]
    if nodes[low] > nodes[high]:
        low, high = high, low
    begin = group_start[number]
    return LevelEdge(
        number, nodes[low], nodes[high], low, high, begin, group_start[number + 1] - begin
    )


@inner
def deviation_sum(features, sums, i, u):
    """Sum over the rows of coordinate u of the centered embedding of node i."""
    start = features.bias_start[i]
    total = sums.n_rows * (features.offset[i, u] - features.center[i, u])
    for r in range(features.bias_start[i + 1] - start):
        total += features.bias_of_embedding[i, r, u] * sums.bias[start + r]
    return total


@inner
def centered_sum(features, sums, edge, u, v):
    """Sum over the rows of the product of two coordinates of centered embeddings."""
    i, j = edge.i, edge.j
    raw = sums.coupling[edge.begin + u * features.embedding_size[j] + v]
    total_i = deviation_sum(features, sums, i, u) + sums.n_rows * features.center[i, u]
    total_j = deviation_sum(features, sums, j, v) + sums.n_rows * features.center[j, v]
    return (
        raw
        - features.center[j, v] * total_i
        - features.center[i, u] * total_j
        + sums.n_rows * features.center[i, u] * features.center[j, v]
    )


@inner
def project_biases(features, bias, i, u):
    """Inner product of a node's biases with coordinate u of its embedding, by prior precision."""
    start, total = features.bias_start[i], 0.0
    for r in range(features.bias_start[i + 1] - start):
        total += features.projection[i, u, r] * bias[start + r]
    return total


@inner
def move_biases(features, bias, i, u, change):
    """Move a node's biases by a multiple of coordinate u of its embedding."""
    start = features.bias_start[i]
    for r in range(features.bias_start[i + 1] - start):
        bias[start + r] += change * features.bias_of_embedding[i, r, u]


@inner
def center_coupling(features, bias, edge, u, v, change):
    """Move the biases of an edge's ends along with a change of one of its parameters."""
    move_biases(features, bias, edge.i, u, -change * features.center[edge.j, v])
    move_biases(features, bias, edge.j, v, -change * features.center[edge.i, u])


@inner
def fill_pair_feature(features, edge, u, v, feature):
    """Fill in the product of two coordinates of centered embeddings in the cells of a pair."""
    n_i, n_j = features.n_levels[edge.i], features.n_levels[edge.j]
    start_i, start_j = features.level_start[edge.i], features.level_start[edge.j]
    for a in range(n_i):
        score = features.centered[start_i + a, u]
        for b in range(n_j):
            feature[a * n_j + b] = score * features.centered[start_j + b, v]
    return n_i * n_j


@inner
def fill_weights(pair, n, weight):
    """Fill in the probabilities of the cells of a pair, summed over groups of particles."""
    total = 0.0
    for c in range(n):
        value = 0.0
        for t in range(pair.shape[1]):
            value += pair[c, t]
        weight[c] = value
        total += value
    for c in range(n):
        weight[c] /= total


@inner
def update_single(
    features, sums, prior, state, block, table, level, edge, visit, inclusion_stats, rng
):
    """Draw presence and the only parameter of an edge from their full conditional.

    On particles, the probability and the draw are corrected for noise (equation 19), and a
    conditional that is wider than the particles support is restricted
    (:mod:`slabfield.moves.bounded_updates`).
    """
    alpha, i, j = edge.number, edge.i, edge.j
    inclusion, p0, coupling, cells = prior.inclusion, state.hyper[0], state.coupling, block.cells
    n_j, now, n_rows = features.n_levels[j], state.coupling[edge.begin], sums.n_rows
    n = fill_pair_feature(features, edge, 0, 0, cells.feature)
    pair, noisy = block.pair[:n], table.shape[1] > 1
    pair_cells(table, level, edge.place_i, edge.place_j, n_j, pair)
    if now != 0.0:
        for c in range(n):
            by = math.exp(-now * cells.feature[c])
            for t in range(pair.shape[1]):
                pair[c, t] *= by
    fill_weights(pair, n, cells.weight)
    slab_precision = state.hyper[1] ** -2
    center_i, center_j = features.center[i, 0], features.center[j, 0]
    own_i, own_j = features.embedding_precision[i, 0, 0], features.embedding_precision[j, 0, 0]
    linear = project_biases(features, state.bias, i, 0) + now * center_j * own_i
    other = project_biases(features, state.bias, j, 0) + now * center_i * own_j
    linear = prior.bias_precision * (center_j * linear + center_i * other)
    linear += centered_sum(features, sums, edge, 0, 0)
    precision = center_j * center_j * own_i + center_i * center_i * own_j
    precision = slab_precision + prior.bias_precision * precision
    mode, sd, evidence, gradient, left, right = integrate(linear, n_rows, precision, cells, n)
    noise, shift, restricted = 0.0, 0.0, False
    included, value = inclusion[alpha] == 1.0, 0.0
    if noisy:
        low = min(mode + left[1] + LEAST / (3 * left[0]), 0.0)
        high = max(mode + right[1] + LEAST / (3 * right[0]), 0.0)
        restricted = high - low > MOST_WIDTH or now < low - HALF_RANGE or now > high + HALF_RANGE
        nearest = min(max(mode, -HALF_RANGE), HALF_RANGE) if restricted else mode
        for c in range(n):
            cells.tilted[c] = math.exp(nearest * cells.feature[c])
        noise, shift = cell_noise(pair, n_rows, cells.tilted, cells.deviation)
        shift = 0.0 if restricted else shift * sd * sd
        evidence -= 0.5 * math.log1p(shift)
    if restricted and not included:
        included = abs(now) > HALF_RANGE
        if included:
            record_indicator(inclusion_stats, alpha, 1.0)
        else:
            evidence = log_truncated_integral(
                -HALF_RANGE - mode, HALF_RANGE - mode, n_rows, precision, gradient, cells, n
            )
            evidence -= log_density_from_mode(-mode, n_rows, precision, gradient, cells, n)
    if not included:
        odds = log_odds(inclusion, p0, alpha)
        odds += evidence + 0.5 * math.log(slab_precision / (2 * math.pi))
        if abs(odds) < UNDECIDED:
            inclusion_stats.noise[0] += noise
            inclusion_stats.noise[1] += 1.0
            inclusion_stats.noise[2] += shift
        probability, absence = corrected_probabilities(odds, noise / (1.0 + shift))
        record_visit(inclusion_stats, inclusion, p0, alpha, probability, absence)
        included = draw_presence(state.present[alpha] != 0, odds, probability, noisy, visit, rng)
    if included and restricted:
        value = now
        if inclusion[alpha] != 1.0 and abs(now) <= HALF_RANGE:
            value = mode + sample_truncated(
                -HALF_RANGE - mode, HALF_RANGE - mode, n_rows, precision, gradient, left, right,
                cells, n, rng,
            )  # fmt: skip
        low = value - 2 * HALF_RANGE * rng.random() - mode
        value = mode + sample_truncated(
            low, low + 2 * HALF_RANGE, n_rows, precision, gradient, left, right, cells, n, rng
        )
    elif included:
        offset = sample_log_concave(n_rows, precision, gradient, left, right, cells, n, rng)
        value = mode + math.sqrt(1.0 - min(shift, MOST_SHARE)) * offset
    if included != (state.present[alpha] != 0):
        toggle(state, alpha, included)
    change = value - now
    if change == 0.0:
        return False
    coupling[edge.begin] = value
    center_coupling(features, state.bias, edge, 0, 0, change)
    for c in range(n):
        cells.tilted[c] = math.exp(change * cells.feature[c])
    multiply_pair(table, level, edge.place_i, edge.place_j, n_j, cells.tilted)
    return True


@inner
def center_group(features, bias, edge, group, sign):
    """Move the biases of an edge's ends along with all its parameters, entering or leaving."""
    size_j = features.embedding_size[edge.j]
    for q in range(edge.n_parameters):
        center_coupling(features, bias, edge, q // size_j, q % size_j, sign * group[q])


@inner
def fill_group_prior(features, prior, state, edge, slab_precision, laplace):
    """Fill in the linear and quadratic terms of an absent edge's parameters from their priors."""
    i, j = edge.i, edge.j
    size_i, size_j = features.embedding_size[i], features.embedding_size[j]
    for u in range(size_i):
        for v in range(size_j):
            q = u * size_j + v
            along = features.center[j, v] * project_biases(features, state.bias, i, u)
            along += features.center[i, u] * project_biases(features, state.bias, j, v)
            laplace.linear[q] = prior.bias_precision * along
            for u2 in range(size_i):
                for v2 in range(size_j):
                    value = features.embedding_precision[i, u, u2]
                    value *= features.center[j, v] * features.center[j, v2]
                    other = features.embedding_precision[j, v, v2]
                    other *= features.center[i, u] * features.center[i, u2]
                    laplace.precision[q, u2 * size_j + v2] = prior.bias_precision * (value + other)
            laplace.precision[q, q] += slab_precision


@inner
def fill_group(features, sums, prior, state, edge, slab_precision, laplace):
    """Fill in the features, linear and quadratic terms of an edge with several parameters.

    The biases enter as they are when the edge is absent.
    """
    size_j, n = features.embedding_size[edge.j], 0
    group = state.coupling[edge.begin : edge.begin + edge.n_parameters]
    center_group(features, state.bias, edge, group, -1.0)
    fill_group_prior(features, prior, state, edge, slab_precision, laplace)
    for q in range(edge.n_parameters):
        u, v = q // size_j, q % size_j
        n = fill_pair_feature(features, edge, u, v, laplace.feature[q])
        laplace.linear[q] += centered_sum(features, sums, edge, u, v)
    return n


@inner
def group_noise(pair, n_rows, laplace, p, n):
    """Noise variance of the log evidence of a group, and mean noise of its gradient at the mode.

    The latter is in units of the conditional's variance, averaged over directions.
    """
    factor, deviation, total = laplace.share[:n], laplace.power[:n], 0.0
    noise, gradient = 0.0, 0.0
    for q in range(p):
        tilt_group(laplace.mode, laplace, p, n)
        mean = dot(factor, laplace.feature[q, :n])
        for c in range(n):
            deviation[c] = laplace.feature[q, c] - mean
            # the tilt of a cell of no weight does not matter
            factor[c] = factor[c] / laplace.weight[c] if laplace.weight[c] > 0.0 else 0.0
        noise, gradient = cell_noise(pair, n_rows, factor, deviation)
        total += gradient / laplace.neg_hessian[q, q]
    return noise, total / p


@inner
def change_group(table, level, edge, n_j, n, p, group, values, feature, by):
    """Set the parameters of an edge, and multiply the table of its block accordingly."""
    for c in range(n):
        energy = 0.0
        for q in range(p):
            energy += (values[q] - group[q]) * feature[q, c]
        by[c] = math.exp(energy)
    multiply_pair(table, level, edge.place_i, edge.place_j, n_j, by)
    group[:] = values[:p]


@inner
def update_group(
    features, sums, prior, state, block, table, level, edge, visit, inclusion_stats, rng
):
    """Update presence and all parameters of an edge by an independence sampler."""
    alpha, p, n_j = edge.number, edge.n_parameters, features.n_levels[edge.j]
    inclusion, laplace, n_rows = prior.inclusion, block.group, sums.n_rows
    group = state.coupling[edge.begin : edge.begin + p]
    slab_precision = state.hyper[state.hyper.size - 1] ** -2
    n = fill_group(features, sums, prior, state, edge, slab_precision, laplace)
    pair, by, present = block.pair[:n], block.cells.tilted, state.present[alpha] != 0
    pair_cells(table, level, edge.place_i, edge.place_j, n_j, pair)
    for c in range(n):
        energy = 0.0
        for q in range(p):
            energy -= group[q] * laplace.feature[q, c]
        by[c] = math.exp(energy)
        for t in range(pair.shape[1]):
            pair[c, t] *= by[c]
    fill_weights(pair, n, laplace.weight)
    log_det = find_group_mode(n_rows, laplace, p, n)
    proposed, accepted, walked, noise, shift = present, False, False, 0.0, 0.0
    if log_det > -math.inf:
        walked = present and walk_far_group(group, n_rows, laplace, p, n, rng)
        if walked:
            change_group(table, level, edge, n_j, n, p, group, laplace.value, laplace.feature, by)
        if table.shape[1] > 1:
            noise, shift = group_noise(pair, n_rows, laplace, p, n)
        at_mode = log_density(laplace.mode, n_rows, laplace, p, n)
        forced, odds = inclusion[alpha] == 1.0, math.inf
        if not forced:
            odds = log_odds(inclusion, state.hyper[0], alpha)
            odds += at_mode - log_det + 0.5 * p * (math.log(slab_precision) - math.log1p(shift))
            if abs(odds) < UNDECIDED:
                inclusion_stats.noise[0] += noise
                inclusion_stats.noise[1] += 1.0
                inclusion_stats.noise[2] += shift
        log_weight = 0.0
        if present:
            log_weight -= log_density(group, n_rows, laplace, p, n) - at_mode
            log_weight -= half_distance(group, laplace, p)
        probability, _ = corrected_probabilities(odds, noise / (1.0 + shift))
        proposed = forced or rng.random() * visit < probability
        if proposed:
            log_weight += propose_group(laplace, p, rng)
            log_weight += log_density(laplace.value, n_rows, laplace, p, n) - at_mode
        accept = math.exp(min(log_weight, 0.0))
        if not forced:
            # waste recycling: the expected presence after the acceptance step
            expected = accept * proposed + (1.0 - accept) * present
            record_indicator(inclusion_stats, alpha, expected)
        accepted = rng.random() < accept
    if not accepted:
        proposed = present
    if proposed != present:
        toggle(state, alpha, proposed)
    changed = accepted and (proposed or present)
    if changed:
        # the noise of the mode replaces part of the variance of the draw
        kept = math.sqrt(1.0 - min(shift, MOST_SHARE))
        for q in range(p):
            drawn = laplace.mode[q] + kept * (laplace.value[q] - laplace.mode[q])
            laplace.value[q] = drawn if proposed else 0.0
        change_group(table, level, edge, n_j, n, p, group, laplace.value, laplace.feature, by)
    center_group(features, state.bias, edge, group, 1.0)
    return changed or walked


@inner
def update_level_edges(
    features, sums, prior, state, block, n_edges, table, level, visit, inclusion_stats, rng
):
    """Update presence and parameters of the listed edges in turn; return if any changed.

    ``visit`` is the probability with which these absent edges are visited, one if they always are.
    """
    changed = False
    for place in range(n_edges):
        edge = level_edge_at(block.edges, block.nodes, features.group_start, place)
        if prior.inclusion[edge.number] == 0.0:
            continue
        if edge.n_parameters == 1:
            moved = update_single(
                features, sums, prior, state, block, table, level, edge, visit, inclusion_stats, rng
            )
        else:
            moved = update_group(
                features, sums, prior, state, block, table, level, edge, visit, inclusion_stats, rng
            )
        changed = changed or moved
    return changed


@inner
def level_count(features, sums, i, a):
    """Number of rows in level a of a node with free biases."""
    start = features.bias_start[i]
    if a > 0:
        return sums.bias[start + a - 1]
    count = sums.n_rows
    for r in range(features.bias_start[i + 1] - start):
        count -= sums.bias[start + r]
    return count


@inner
def log_bias_prior(features, bias_precision, i, bias):
    """Log prior density of the biases of a node, up to a constant."""
    total = 0.0
    for r in range(bias.size):
        for q in range(bias.size):
            total += bias[r] * features.bias_precision[i, r, q] * bias[q]
    return -0.5 * bias_precision * total


@inner
def level_noise(groups, n_rows, weight):
    """Noise of the marginal probabilities of a node's levels, as a share of their variance."""
    total, n_groups = 0.0, groups.shape[1]
    whole = 0.0
    for a in range(groups.shape[0]):
        for t in range(n_groups):
            whole += groups[a, t]
    for a in range(groups.shape[0]):
        noise = 0.0
        for t in range(n_groups):
            share = 0.0
            for b in range(groups.shape[0]):
                share += groups[b, t]
            noise += ((groups[a, t] - weight[a] * share) / whole) ** 2
        total += noise * n_rows / max(weight[a] * (1.0 - weight[a]), 1e-12)
    return min(total * n_groups / (n_groups - 1.0) / groups.shape[0], MOST_SHARE)


@inner
def update_free_biases(features, sums, prior, state, block, table, level, place, rng):
    """Draw all free biases of a node jointly: its levels' probabilities are Dirichlet (37).

    The likelihood of the biases is multinomial in the marginal probabilities of the levels; the
    normal prior enters by an acceptance step, which also makes up for the pseudo-count of levels
    that no row has.
    """
    i = block.nodes[place]
    n, begin = features.n_levels[i], features.bias_start[i]
    bias, proposal = state.bias[begin : begin + n - 1], block.shift[: n - 1]
    weight, log_factor = block.cells.weight, block.cells.tilted
    node_cells(table, level, place, block.pair[:n])
    fill_weights(block.pair[:n], n, weight)
    kept = 1.0
    if table.shape[1] > 1:
        kept = math.sqrt(1.0 - level_noise(block.pair[:n], sums.n_rows, weight))
    unseen, n_unseen, total = 0.0, 0, 0.0
    for a in range(n):
        count = level_count(features, sums, i, a)
        seen = count > LEAST_COUNT
        if not seen:
            count = UNSEEN_COUNT
        drawn = math.log(max(rng.standard_gamma(count), 1e-300))
        if kept < 1.0:
            # the noise of the marginals replaces part of the variance of the draw
            drawn = math.log(count) + kept * (drawn - math.log(count))
        total += math.exp(drawn)
        log_factor[a] = drawn - math.log(max(weight[a], 1e-30))
        if not seen:
            unseen += log_factor[a]
            n_unseen += 1
    for a in range(1, n):
        proposal[a - 1] = bias[a - 1] + log_factor[a] - log_factor[0]
    gain = log_bias_prior(features, prior.bias_precision, i, proposal)
    gain -= log_bias_prior(features, prior.bias_precision, i, bias)
    if n_unseen > 0:
        gain -= UNSEEN_COUNT * (unseen - n_unseen * math.log(total))
    if -rng.standard_exponential() < gain:
        bias[:] = proposal
        largest = log_factor[0]
        for a in range(1, n):
            largest = max(largest, log_factor[a])
        for a in range(n):
            log_factor[a] = math.exp(log_factor[a] - largest)
        multiply_node(table, level, place, log_factor)


@inner
def change_tied_biases(table, level, place, n, p, bias, values, feature, factor):
    """Set the biases of a node, and multiply the table of its block accordingly."""
    largest = -math.inf
    for a in range(n):
        factor[a] = 0.0
        for q in range(p):
            factor[a] += (values[q] - bias[q]) * feature[q, a]
        largest = max(largest, factor[a])
    for a in range(n):
        factor[a] = math.exp(factor[a] - largest)
    bias[:] = values[:p]
    multiply_node(table, level, place, factor)


@inner
def update_tied_biases(features, sums, prior, state, block, table, level, place, rng):
    """Update the biases of a node with few parameters for its levels, by a Laplace proposal."""
    i = block.nodes[place]
    n, begin = features.n_levels[i], features.bias_start[i]
    p, start, laplace = features.bias_start[i + 1] - begin, features.level_start[i], block.group
    bias, factor = state.bias[begin : begin + p], block.cells.tilted
    node_cells(table, level, place, block.pair[:n])
    for a in range(n):
        energy = 0.0
        for q in range(p):
            laplace.feature[q, a] = features.bias_feature[start + a, q]
            energy -= bias[q] * laplace.feature[q, a]
        for t in range(table.shape[1]):
            block.pair[a, t] *= math.exp(energy)
    fill_weights(block.pair[:n], n, laplace.weight)
    for q in range(p):
        laplace.linear[q] = sums.bias[begin + q]
        for r in range(p):
            laplace.precision[q, r] = prior.bias_precision * features.bias_precision[i, q, r]
    if not find_group_mode(sums.n_rows, laplace, p, n) > -math.inf:
        return
    if walk_far_group(bias, sums.n_rows, laplace, p, n, rng):
        change_tied_biases(table, level, place, n, p, bias, laplace.value, laplace.feature, factor)
    gain = -half_distance(bias, laplace, p) - log_density(bias, sums.n_rows, laplace, p, n)
    gain += propose_group(laplace, p, rng)
    gain += log_density(laplace.value, sums.n_rows, laplace, p, n)
    if -rng.standard_exponential() < gain:
        change_tied_biases(table, level, place, n, p, bias, laplace.value, laplace.feature, factor)


@inner
def update_level_biases(features, sums, prior, state, block, table, level, first, last, rng):
    """Update the biases of a block's nodes, first to last."""
    for place in range(first, last):
        if features.free[block.nodes[place]]:
            update_free_biases(features, sums, prior, state, block, table, level, place, rng)
        else:
            update_tied_biases(features, sums, prior, state, block, table, level, place, rng)
