"""Block flips: reversible jumps on sets of edges, with proposals from Laplace approximations.

One edge often substitutes for another, or two for two others, and the couplings of the remaining
edges depend on which it is: single-edge updates would have to cross states that fit the data badly.
A flip toggles one to four edges of a block while the biases and couplings of the block move along
(equation 23).
"""

from __future__ import annotations

import math

from slabfield._jit import generic, inner, multiply_add
from slabfield.kernels.laplace import (
    factorize,
    fill_bias,
    fill_feature,
    newton_mode,
    solve_backward,
    tilted,
)
from slabfield.kernels.logistic import dot
from slabfield.kernels.state_table import add_times, total_of
from slabfield.moves.bounded_updates import leaves_support
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.edge_gibbs import Block, edge_at, scale_of
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.particle_noise import MOST_SHARE, corrected_probability, noise_between

# Edges of a random flip, at most, and nodes that three or more of them may span
MOST_RANDOM, MOST_NODES = 4, 4
# In place of the number of a scheduled block: any other block, with or without flips
NOT_PLANNED, NO_FLIPS = -1, -2
# Acceptance probability from which a flip is recorded as a candidate for the schedule
LEAST_RECORDED = 0.01


@inner
def list_undecided(edges, n_edges, marked, listed):
    """List the edges of a block that may be flipped; return their number."""
    count = 0
    for edge in range(n_edges):
        if marked[edges[edge, 0]]:
            listed[count] = edge
            count += 1
    return count


@inner
def shuffle(order, n_first, rng):
    """Move a random sample of all entries, in random order, to the first ``n_first`` places."""
    for m in range(n_first):
        other = m + int(rng.random() * (order.size - m))
        order[m], order[other] = order[other], order[m]


@inner
def choose_some(edges, listed, n_undecided, chosen, rng):
    """Choose one to four of the listed edges at random; return their number.

    Two edges are chosen to share a node, if possible. The choice does not depend on the state.
    """
    uniform = rng.random()
    size = 1 if uniform < 0.25 else 2 if uniform < 0.75 else 3 if uniform < 0.9 else MOST_RANDOM
    size = min(size, n_undecided)
    shuffle(listed[:n_undecided], 1 if size == 2 else size, rng)
    if size == 2:
        low, high = edges[listed[0], 1], edges[listed[0], 2]
        count, place = 0, 0
        for m in range(1, n_undecided):
            first, second = edges[listed[m], 1], edges[listed[m], 2]
            if first in (low, high) or second in (low, high):
                count += 1
                if rng.random() * count < 1.0:
                    place = m
        size = 1 if count == 0 else 2
        listed[size - 1], listed[place] = listed[place], listed[size - 1]
    for m in range(size):
        chosen[m] = listed[m]
    return size


@inner
def next_planned(move, chosen):
    """Choose the edges of a scheduled flip; return their number."""
    size = 0
    for m in range(move.size):
        if move[m] >= 0:
            chosen[size] = move[m]
            size += 1
    return size


@inner
def record_candidate(inclusion_stats, number, chosen, probability):
    """Record a flip and its acceptance probability; a full buffer overwrites the oldest entry."""
    row = inclusion_stats.n_flips[0] % inclusion_stats.flip_probability.size
    inclusion_stats.flips[row] = -1
    inclusion_stats.flips[row, 0] = number
    for m in range(chosen.size):
        inclusion_stats.flips[row, 1 + m] = chosen[m]
    inclusion_stats.flip_probability[row] = probability
    inclusion_stats.n_flips[0] += 1


@inner
def may_flip(edges, chosen, planned, inclusion, present):
    """Whether no edge is forced or forbidden and, for three or more, the flip is allowed.

    Three or more edges must not be all present or all absent, and may span at most four nodes, if
    the flip was not planned.
    """
    nodes, free, n_present = 0, True, 0
    for m in range(chosen.size):
        edge = chosen[m]
        nodes |= (1 << edges[edge, 1]) | (1 << edges[edge, 2])
        free = free and inclusion[edges[edge, 0]] != 0.0 and inclusion[edges[edge, 0]] != 1.0
        n_present += present[edges[edge, 0]]
    if not free or chosen.size < 3:
        return free
    count = 0
    while nodes:
        nodes &= nodes - 1
        count += 1
    return 0 < n_present < chosen.size and (planned or count <= MOST_NODES)


@inner
def sum_groups(table, weights):
    """Sum the table over the particle groups."""
    for s in range(weights.size):
        weights[s] = total_of(table[s])


@inner
def weighted_group_sums(table, factor, groups):
    """Sum the table over its states, group by group, each state times a factor."""
    for t in range(groups.size):
        groups[t] = 0.0
    for s in range(factor.size):
        for t in range(groups.size):
            groups[t] = multiply_add(factor[s], table[s, t], groups[t])


@inner
def reweight_states(table, factor):
    """Multiply every state of the table by a factor, in all groups."""
    for s in range(factor.size):
        for t in range(table.shape[1]):
            table[s, t] *= factor[s]


@generic
def fill_parameters(block, features, sums, prior, state, k, n_edges):
    """Fill in the block's parameters: values, sums, precisions and features; return their numbers.

    The biases come first; the parameters of edge e of the block begin at ``start[e]``. Returned are
    the number of biases, the number of all parameters and the number of cells of the table.
    """


@generic
def log_density_of(block, features, sums, prior, state, values, log_sum, k, n_edges):
    """Log posterior of the block's parameters given the structure, up to a constant.

    ``laplace.gradient`` receives the biases as the field has them, not centered.
    """


@generic
def store_parameters(block, features, state, k, n_edges):
    """Write the proposed parameters to the state."""


@fill_parameters.register(Block)
def fill_binary_parameters(block, features, sums, prior, state, k, n_edges):
    """Fill in one bias for every node, and one coupling for every edge."""
    laplace, edges, nodes, data_mean = block.laplace, block.edges, block.nodes, block.data_mean
    _, slab_precision, _, bias_precision = scale_of(
        sums.n_rows, state.hyper[1], prior.bias_precision
    )
    now = laplace.now
    for b in range(k):
        now[b] = state.bias[nodes[b]]
        laplace.linear[b], laplace.precision[b] = sums.bias[nodes[b]], bias_precision
        fill_bias(laplace.features[b], b)
    block.start[0] = k
    for e in range(n_edges):
        alpha, low, high, i, j, u, v = edge_at(edges, nodes, data_mean, e)
        now[k + e] = state.coupling[alpha]
        now[low] += u * now[k + e]
        now[high] += v * now[k + e]
        laplace.linear[k + e] = sums.coupling[alpha] - u * sums.bias[i] - v * sums.bias[j]
        laplace.precision[k + e] = slab_precision
        fill_feature(laplace.features[k + e], low, high, u, v)
        block.start[e + 1] = k + e + 1
    return k, k + n_edges, 1 << k


@log_density_of.register(Block)
def log_binary_density(block, features, sums, prior, state, values, log_sum, k, n_edges):
    """Log posterior of biases and couplings, up to a constant."""
    laplace, edges, nodes, data_mean = block.laplace, block.edges, block.nodes, block.data_mean
    n_rows, slab_precision, _, bias_precision = scale_of(
        sums.n_rows, state.hyper[1], prior.bias_precision
    )
    bias, linear, total = laplace.gradient, laplace.linear, -n_rows * log_sum
    for b in range(k):
        bias[b] = values[b]
        total += values[b] * linear[b]
    for e in range(n_edges):
        value = values[k + e]
        if value != 0.0:
            _, low, high, _, _, u, v = edge_at(edges, nodes, data_mean, e)
            bias[low] -= u * value
            bias[high] -= v * value
            total += value * (linear[k + e] - 0.5 * slab_precision * value)
    for b in range(k):
        total -= 0.5 * bias_precision * bias[b] * bias[b]
    return total


@store_parameters.register(Block)
def store_binary_parameters(block, features, state, k, n_edges):
    """Write biases and couplings to the state."""
    for b in range(k):
        state.bias[block.nodes[b]] = block.laplace.gradient[b]
    for e in range(n_edges):
        state.coupling[block.edges[e, 0]] = block.laplace.values[k + e]


@inner
def find_present_mode(block, table, state, n_biases, n_all, n_edges, n_rows):
    """Find the mode of the present structure; return whether it was found."""
    laplace, n = block.laplace, n_biases
    for b in range(n_biases):
        laplace.order[b] = b
    for e in range(n_edges):
        if state.present[block.edges[e, 0]]:
            for q in range(block.start[e], block.start[e + 1]):
                laplace.order[n] = q
                n += 1
    laplace.mode[0, :n_all] = laplace.now[:n_all]
    laplace.weights[:] = 0.0
    sum_groups(table, laplace.weights[: table.shape[0]])
    return (
        newton_mode(laplace, n_all, n, n_rows, laplace.mode[0], laplace.neg_hessian[0]) > -math.inf
    )


@inner
def slab_precision_of(state, n_parameters):
    """Precision of the slab of an edge: that of edges with several parameters may be another."""
    return state.hyper[1 if n_parameters == 1 else state.hyper.size - 1] ** -2


@inner
def gradient_noise(table, groups, laplace, first, n, n_rows):
    """Noise variance of the gradients of the last of n edges, in squared standard deviations.

    Each gradient is taken along the direction in which the parameters before it adjust.
    ``laplace.shift`` receives the variances; returned are the increase of the log evidence that
    they cause, and their sum.
    """
    size, n_groups, scratch = table.shape[0], groups.size, laplace.scratch
    raised, total = 0.0, 0.0
    share = n_rows / total_of(laplace.power)
    for last in range(first, n):
        laplace.gradient[:last] = 0.0
        laplace.gradient[last] = 1.0
        solve_backward(laplace.factor, last + 1, laplace.gradient)
        scratch[:] = 0.0
        for a in range(last + 1):
            add_times(scratch, laplace.features[laplace.order[a]], laplace.gradient[a])
        center = dot(scratch, laplace.power) * share / n_rows
        for s in range(size):
            scratch[s] = laplace.tilt[s] * (scratch[s] - center)
        weighted_group_sums(table, scratch[:size], groups)
        noise = share * share * dot(groups, groups) * n_groups / (n_groups - 1.0)
        laplace.shift[last] = min(noise, MOST_SHARE)
        raised += 0.5 * math.log1p(noise)
        total += noise
    return raised, total


@inner
def propose(laplace, n_all, n, kept):
    """Fill ``laplace.values`` with the parameters at standardized distances ``laplace.normal``.

    Distances from the mode are in standard deviations, each conditional on the parameters after it;
    from ``kept`` on they are shrunk by the share of the variance that noise of the mode
    contributes.
    """
    values, gradient = laplace.values, laplace.gradient
    values[:n_all] = 0.0
    for a in range(n):
        gradient[a] = laplace.normal[a]
        if a >= kept:
            gradient[a] *= math.sqrt(1.0 - laplace.shift[a])
    solve_backward(laplace.factor, n, gradient)
    for a in range(n):
        values[laplace.order[a]] = laplace.mode[1, laplace.order[a]] + gradient[a]


@inner
def flip_edges(
    features, sums, prior, state, block, table, k, n_edges, n_undecided, number, plan,
    inclusion_stats, rng,
):  # fmt: skip
    """Propose to toggle some edges of a block while its other parameters adjust; accept or reject.

    First come the flips scheduled for block ``number``, then random sets of undecided edges.

    Parameters that stay keep their standardized distances from the mode of the Laplace
    approximation, those that enter get normal ones. The proposal is accepted with the log odds of
    equation 23, by Metropolis's rule, or by Barker's where they are noisy; if the conditional is
    nearly normal, they are the log ratio of two marginal likelihoods. Edges forced or forbidden are
    never flipped. ``features`` describes nodes with levels, and is not used for binary ones.
    """
    edges, laplace, start = block.edges, block.laplace, block.start
    groups, before = block.residual[0], block.residual[1]
    present, inclusion, p0 = state.present, prior.inclusion, state.hyper[0]
    n_groups, order, now, normal = table.shape[1], laplace.order, laplace.now, laplace.normal
    values, weights, tilt, power = laplace.features, laplace.weights, laplace.tilt, laplace.power
    scratch, n_rows, n_cells = laplace.scratch, sums.n_rows, table.shape[0]
    known, changed, log_density_now, n_biases, n_all = False, False, 0.0, 0, 0
    first, n_planned = 0, 0
    if number >= 0:
        first = plan.move_start[number]
        n_planned = plan.move_start[number + 1] - first
    n_more = 0 if number == NO_FLIPS else min(plan.n_flips, n_undecided * (n_undecided + 1) // 2)
    for attempt in range(n_planned + n_more):
        if attempt < n_planned:
            size = next_planned(plan.moves[first + attempt], block.chosen)
        else:
            size = choose_some(edges, block.undecided, n_undecided, block.chosen, rng)
        chosen = block.chosen[:size]
        if not may_flip(edges, chosen, attempt < n_planned, inclusion, present):
            continue
        if not known:
            if not changed:
                n_biases, n_all, _ = fill_parameters(
                    block, features, sums, prior, state, k, n_edges
                )
                if not find_present_mode(block, table, state, n_biases, n_all, n_edges, n_rows):
                    return False
            log_sum = tilted(now, now, n_all, values, weights, tilt, power, scratch)
            log_density_now = log_density_of(
                block, features, sums, prior, state, now, log_sum, k, n_edges
            )
            if n_groups > 1:
                tilted(laplace.mode[0], now, n_all, values, weights, tilt, power, scratch)
                weighted_group_sums(table, tilt[:n_cells], before)
            known = True
        # order of the parameters: those that stay, then those that leave
        n_stay = n_biases
        for e in range(n_edges):
            stays = present[edges[e, 0]] != 0
            for m in range(size):
                stays = stays and chosen[m] != e
            if stays:
                for q in range(start[e], start[e + 1]):
                    order[n_stay] = q
                    n_stay += 1
        n_old, n_new = n_stay, n_stay
        odds, log_slabs = -log_density_now, 0.0
        laplace.mode[1, :n_all] = laplace.mode[0, :n_all]
        for m in range(size):
            alpha, begin, end = edges[chosen[m], 0], start[chosen[m]], start[chosen[m] + 1]
            if present[alpha]:
                for q in range(begin, end):
                    order[n_old] = q
                    n_old += 1
                    laplace.mode[1, q] = 0.0
                log_slabs -= (end - begin) * math.log(slab_precision_of(state, end - begin))
                odds -= log_odds(inclusion, p0, alpha)
        odds += factorize(laplace.neg_hessian[0], order, n_old, laplace.factor)
        for a in range(n_old):
            total = 0.0
            for b in range(a, n_old):
                total += laplace.factor[b, a] * (now[order[b]] - laplace.mode[0, order[b]])
            normal[a] = total
            if a >= n_stay:
                odds -= 0.5 * total * total
        noise, shift = 0.0, 0.0
        if n_groups > 1:
            tilted(laplace.mode[0], now, n_all, values, weights, tilt, power, scratch)
            raised, shift = gradient_noise(table, groups, laplace, n_stay, n_old, n_rows)
            odds += raised
        # then those that enter
        for m in range(size):
            alpha, begin, end = edges[chosen[m], 0], start[chosen[m]], start[chosen[m] + 1]
            if not present[alpha]:
                for q in range(begin, end):
                    order[n_new] = q
                    normal[n_new] = rng.standard_normal()
                    odds += 0.5 * normal[n_new] ** 2
                    laplace.shift[n_new] = 0.0
                    n_new += 1
                log_slabs += (end - begin) * math.log(slab_precision_of(state, end - begin))
                odds += log_odds(inclusion, p0, alpha)
        odds -= newton_mode(laplace, n_all, n_new, n_rows, laplace.mode[1], laplace.neg_hessian[1])
        odds += 0.5 * log_slabs
        if odds == math.inf:
            continue
        if n_groups > 1:
            # noise at the modes: distances from them do not depend on how noise has moved them
            weighted_group_sums(table, tilt[:n_cells], groups)
            noise = noise_between(groups, before, n_rows)
            raised, more = gradient_noise(table, groups, laplace, n_stay, n_new, n_rows)
            odds -= raised
            noise /= 1.0 + (shift + more) / size
        propose(laplace, n_all, n_new, n_new)
        new_sum = tilted(laplace.values, now, n_all, values, weights, tilt, power, scratch)
        if n_groups > 1 and leaves_support(weights[:n_cells], power[:n_cells]):
            continue
        odds += log_density_of(
            block, features, sums, prior, state, laplace.values, new_sum, k, n_edges
        )
        probability = corrected_probability(odds, noise)
        if (
            probability >= LEAST_RECORDED
            and number >= 0
            and inclusion_stats.flip_probability.size > 0
        ):
            record_candidate(inclusion_stats, number, chosen, probability)
        if n_groups == 1:
            probability = math.exp(min(odds, 0.0))
        if rng.random() >= probability:
            continue
        if n_groups > 1:
            propose(laplace, n_all, n_new, n_stay)
            new_sum = tilted(laplace.values, now, n_all, values, weights, tilt, power, scratch)
            log_density_of(block, features, sums, prior, state, laplace.values, new_sum, k, n_edges)
        store_parameters(block, features, state, k, n_edges)
        accept(state, block, table, n_all, chosen)
        known, changed = False, True
    return changed


@inner
def accept(state, block, table, n_all, chosen):
    """Accept the proposal: structure, table and mode."""
    laplace, n_cells = block.laplace, table.shape[0]
    laplace.now[:n_all] = laplace.values[:n_all]
    for m in range(chosen.size):
        alpha = block.edges[chosen[m], 0]
        if state.present[alpha]:
            remove(state, alpha)
        else:
            insert(state, alpha)
    reweight_states(table, laplace.tilt[:n_cells])
    sum_groups(table, laplace.weights[:n_cells])
    laplace.mode[0, :n_all] = laplace.mode[1, :n_all]
    laplace.neg_hessian[0] = laplace.neg_hessian[1]
