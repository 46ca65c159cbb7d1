"""Flips of edges of a block while the couplings of its other edges move along.

One edge often stands for another, or two for two others, and what the others are like depends on
which it is: single updates would have to cross states that fit the data badly.
"""

from __future__ import annotations

import math

from slabfield._jit import inner, multiply_add
from slabfield.kernels.hill import (
    climb,
    factorise,
    fill_bias,
    fill_feature,
    solve_backward,
    tilted,
)
from slabfield.kernels.logistic import dot
from slabfield.kernels.table import add_times, total_of
from slabfield.moves.noise import MOST_SHARE, chance_of, noise_between
from slabfield.moves.pair import MOST_EDGES, facts_of, log_odds_of, scale_of
from slabfield.moves.reach import goes_far
from slabfield.moves.state import insert, remove

# Among how many nodes edges are flipped together
MOST_NODES = 4
# Instead of the number of a planned block: one of others, with or without flips
NOT_PLANNED, NO_FLIPS = -1, -2
# Chance of a flip that is listed
WORTH_KEEPING = 0.01


@inner
def list_open(edges, n_edges, marked, listed):
    """List the edges of a block that may be flipped; return how many."""
    count = 0
    for edge in range(n_edges):
        if marked[edges[edge, 0]]:
            listed[count] = edge
            count += 1
    return count


@inner
def shuffle(order, n_first, rng):
    """Bring a random choice of all, in random order, to the first places."""
    for m in range(n_first):
        other = m + int(rng.random() * (order.size - m))
        order[m], order[other] = order[other], order[m]


@inner
def choose_some(edges, listed, n_open, chosen, rng):
    """Choose one to four of the listed edges at random; return how many.

    Two are such that share a node, if there are any; which come does not depend on the state.
    """
    uniform = rng.random()
    size = 1 if uniform < 0.25 else 2 if uniform < 0.75 else 3 if uniform < 0.9 else MOST_EDGES
    size = min(size, n_open)
    shuffle(listed[:n_open], 1 if size == 2 else size, rng)
    if size == 2:
        low, high = edges[listed[0], 1], edges[listed[0], 2]
        count, place = 0, 0
        for m in range(1, n_open):
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
    """Choose the edges of a planned flip; return how many."""
    size = 0
    for m in range(move.size):
        if move[m] >= 0:
            chosen[size] = move[m]
            size += 1
    return size


@inner
def keep_flip(tally, number, chosen, chance):
    """List a flip that had a chance, in the place of the oldest where there is no more room."""
    row = tally.n_flips[0] % tally.flip_chance.size
    tally.flips[row] = -1
    tally.flips[row, 0] = number
    for m in range(chosen.size):
        tally.flips[row, 1 + m] = chosen[m]
    tally.flip_chance[row] = chance
    tally.n_flips[0] += 1


@inner
def may_flip(edges, chosen, inclusion, present):
    """Whether edges are free and, if more than two, not all alike and among four nodes at most."""
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
    return 0 < n_present < chosen.size and count <= MOST_NODES


@inner
def add_lanes(mass, weights):
    """Sum the table over its lanes."""
    for s in range(weights.size):
        weights[s] = total_of(mass[s])


@inner
def spread_over(mass, factor, lanes):
    """Sum every lane of the table, each state times a factor."""
    for t in range(lanes.size):
        lanes[t] = 0.0
    for s in range(factor.size):
        for t in range(lanes.size):
            lanes[t] = multiply_add(factor[s], mass[s, t], lanes[t])


@inner
def scale_states(mass, factor):
    """Multiply every state of the table by a factor, in all lanes."""
    for s in range(factor.size):
        for t in range(mass.shape[1]):
            mass[s, t] *= factor[s]


@inner
def look_around(sums, state, block, k, n_edges, scale):
    """Fill in what is known of the hill at the state there is; tell whether its top was found."""
    hill, edges, nodes, data_mean = block.hill, block.edges, block.nodes, block.data_mean
    n_rows, slab_precision, _, bias_precision = scale
    now, n = hill.now, k
    for b in range(k):
        now[b] = state.bias[nodes[b]]
        hill.linear[b], hill.precision[b] = sums.bias[nodes[b]], bias_precision
        hill.order[b] = b
        fill_bias(hill.features[b], b)
    for e in range(n_edges):
        alpha, low, high, i, j, u, v = facts_of(edges, nodes, data_mean, e)
        now[k + e] = state.coupling[alpha]
        now[low] += u * now[k + e]
        now[high] += v * now[k + e]
        hill.linear[k + e] = sums.coupling[alpha] - u * sums.bias[i] - v * sums.bias[j]
        hill.precision[k + e] = slab_precision
        fill_feature(hill.features[k + e], low, high, u, v)
        if state.present[alpha]:
            hill.order[n] = k + e
            n += 1
    hill.mode[0, : k + n_edges] = now[: k + n_edges]
    hill.weights[:] = 0.0
    add_lanes(block.mass[: 1 << k], hill.weights[: 1 << k])
    return climb(hill, k + n_edges, n, n_rows, hill.mode[0], hill.steepness[0]) > -math.inf


@inner
def height(values, log_sum, block, k, n_edges, scale):
    """Log posterior of parameters given the structure, but for a constant.

    ``slope`` of the hill gets the biases as the field has them, not centred.
    """
    hill, edges, nodes, data_mean = block.hill, block.edges, block.nodes, block.data_mean
    n_rows, slab_precision, _, bias_precision = scale
    bias, linear, total = hill.slope, hill.linear, -n_rows * log_sum
    for b in range(k):
        bias[b] = values[b]
        total += values[b] * linear[b]
    for e in range(n_edges):
        value = values[k + e]
        if value != 0.0:
            _, low, high, _, _, u, v = facts_of(edges, nodes, data_mean, e)
            bias[low] -= u * value
            bias[high] -= v * value
            total += value * (linear[k + e] - 0.5 * slab_precision * value)
    for b in range(k):
        total -= 0.5 * bias_precision * bias[b] * bias[b]
    return total


@inner
def noise_of_slopes(mass, k, lanes, hill, first, n, n_rows):
    """Noise of the slopes, in standard deviations squared, of the last of n edges.

    Each along the direction in which the edges before it give way. ``hill.shift`` gets them;
    returned are how much they raise the log evidence, and their sum.
    """
    size, n_lanes, scratch, raised, total = 1 << k, lanes.size, hill.scratch, 0.0, 0.0
    share = n_rows / total_of(hill.power)
    for last in range(first, n):
        hill.slope[:last] = 0.0
        hill.slope[last] = 1.0
        solve_backward(hill.factor, last + 1, hill.slope)
        scratch[:] = 0.0
        for a in range(last + 1):
            add_times(scratch, hill.features[hill.order[a]], hill.slope[a])
        centre = dot(scratch, hill.power) * share / n_rows
        for s in range(size):
            scratch[s] = hill.tilt[s] * (scratch[s] - centre)
        spread_over(mass[:size], scratch[:size], lanes)
        noise = share * share * dot(lanes, lanes) * n_lanes / (n_lanes - 1.0)
        hill.shift[last] = min(noise, MOST_SHARE)
        raised += 0.5 * math.log1p(noise)
        total += noise
    return raised, total


@inner
def place(hill, n_all, n, kept):
    """Fill ``hill.values`` with the parameters whose distances from the top are ``hill.normal``.

    Distances are in standard deviations, each given those after it; those from ``kept`` on lie
    closer to the top by what noise has moved it.
    """
    values, slope = hill.values, hill.slope
    values[:n_all] = 0.0
    for a in range(n):
        slope[a] = hill.normal[a]
        if a >= kept:
            slope[a] *= math.sqrt(1.0 - hill.shift[a])
    solve_backward(hill.factor, n, slope)
    for a in range(n):
        values[hill.order[a]] = hill.mode[1, hill.order[a]] + slope[a]


@inner
def flip_edges(sums, prior, state, block, k, n_edges, n_open, number, plan, tally, rng):
    """Take some edges of a block; propose that each is what it is not, and the others follow.

    First those of the flips that are planned for the block of that number, then some open edges.

    Where a hill of the couplings is about normal, its top, steepness and height say all about it.
    The edges that stay keep their distances from the top, those that enter get theirs at random;
    the ratio is that of equation 23. Edges forced or forbidden stay out of it.
    """
    mass, edges, hill = block.mass[: 1 << k], block.edges, block.hill
    lanes, before = block.residual[0], block.residual[1]
    present, inclusion, counts = state.present, prior.inclusion, block.counts
    n_lanes, order, now, normal = mass.shape[1], hill.order, hill.now, hill.normal
    features, weights, tilt, power = hill.features, hill.weights, hill.tilt, hill.power
    scratch = hill.scratch
    prior_a, prior_b = prior.beta_a, prior.beta_b
    scale = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    n_rows, slab_precision = scale[0], scale[1]
    known, changed, altitude, n_all = False, False, 0.0, k + n_edges
    first, n_planned = 0, 0
    if number >= 0:
        first = plan.move_start[number]
        n_planned = plan.move_start[number + 1] - first
    n_more = 0 if number == NO_FLIPS else min(plan.n_flips, n_open * (n_open + 1) // 2)
    for attempt in range(n_planned + n_more):
        if attempt < n_planned:
            size = next_planned(plan.moves[first + attempt], block.chosen)
        else:
            size = choose_some(edges, block.open, n_open, block.chosen, rng)
        chosen = block.chosen[:size]
        if not may_flip(edges, chosen, inclusion, present):
            continue
        if not known:
            if not changed and not look_around(sums, state, block, k, n_edges, scale):
                return False
            log_sum = tilted(now, now, n_all, features, weights, tilt, power, scratch)
            altitude = height(now, log_sum, block, k, n_edges, scale)
            if n_lanes > 1:
                tilted(hill.mode[0], now, n_all, features, weights, tilt, power, scratch)
                spread_over(mass, tilt[: 1 << k], before)
            known = True
        # those that stay, then those that leave
        n_stay = k
        for e in range(n_edges):
            stays = present[edges[e, 0]] != 0
            for m in range(size):
                stays = stays and chosen[m] != e
            if stays:
                order[n_stay] = k + e
                n_stay += 1
        n_old, n_new, count = n_stay, n_stay, counts[0]
        odds = -altitude
        hill.mode[1, :n_all] = hill.mode[0, :n_all]
        for m in range(size):
            alpha = edges[chosen[m], 0]
            if present[alpha]:
                order[n_old] = k + chosen[m]
                n_old += 1
                hill.mode[1, k + chosen[m]] = 0.0
                count -= 1 if math.isnan(inclusion[alpha]) else 0
                odds -= log_odds_of(inclusion, counts, alpha, count, prior_a, prior_b)
        odds += factorise(hill.steepness[0], order, n_old, hill.factor)
        for a in range(n_old):
            total = 0.0
            for b in range(a, n_old):
                total += hill.factor[b, a] * (now[order[b]] - hill.mode[0, order[b]])
            normal[a] = total
            if a >= n_stay:
                odds -= 0.5 * total * total
        noise, shift = 0.0, 0.0
        if n_lanes > 1:
            tilted(hill.mode[0], now, n_all, features, weights, tilt, power, scratch)
            raised, shift = noise_of_slopes(mass, k, lanes, hill, n_stay, n_old, n_rows)
            odds += raised
        # and those that enter
        for m in range(size):
            alpha = edges[chosen[m], 0]
            if not present[alpha]:
                order[n_new] = k + chosen[m]
                normal[n_new] = rng.standard_normal()
                odds += 0.5 * normal[n_new] ** 2
                hill.shift[n_new] = 0.0
                n_new += 1
                odds += log_odds_of(inclusion, counts, alpha, count, prior_a, prior_b)
                count += 1 if math.isnan(inclusion[alpha]) else 0
        odds -= climb(hill, n_all, n_new, n_rows, hill.mode[1], hill.steepness[1])
        odds += 0.5 * (n_new - n_old) * math.log(slab_precision)
        if odds == math.inf:
            continue
        if n_lanes > 1:
            # at the tops: the distances from them do not depend on where noise has moved them
            spread_over(mass, tilt[: 1 << k], lanes)
            noise = noise_between(lanes, before, n_rows)
            raised, more = noise_of_slopes(mass, k, lanes, hill, n_stay, n_new, n_rows)
            odds -= raised
            noise /= 1.0 + (shift + more) / size
        place(hill, n_all, n_new, n_new)
        new_sum = tilted(hill.values, now, n_all, features, weights, tilt, power, scratch)
        if n_lanes > 1 and goes_far(weights[: 1 << k], power[: 1 << k]):
            continue
        odds += height(hill.values, new_sum, block, k, n_edges, scale)
        chance = chance_of(odds, noise)
        if chance >= WORTH_KEEPING and number >= 0 and tally.flip_chance.size > 0:
            keep_flip(tally, number, chosen, chance)
        if rng.random() >= chance:
            continue
        if n_lanes > 1:
            place(hill, n_all, n_new, n_stay)
            new_sum = tilted(hill.values, now, n_all, features, weights, tilt, power, scratch)
            height(hill.values, new_sum, block, k, n_edges, scale)
        accept(state, block, k, n_edges, chosen)
        counts[0] = count
        known, changed = False, True
    return changed


@inner
def accept(state, block, k, n_edges, chosen):
    """Take over what was proposed: structure, biases and couplings, table and top."""
    hill, edges = block.hill, block.edges
    n_all = k + n_edges
    for b in range(k):
        state.bias[block.nodes[b]] = hill.slope[b]
    for e in range(n_edges):
        state.coupling[edges[e, 0]] = hill.values[k + e]
    hill.now[:n_all] = hill.values[:n_all]
    for m in range(chosen.size):
        alpha = edges[chosen[m], 0]
        if state.present[alpha]:
            remove(state, alpha)
        else:
            insert(state, alpha)
    scale_states(block.mass[: 1 << k], hill.tilt[: 1 << k])
    add_lanes(block.mass[: 1 << k], hill.weights[: 1 << k])
    hill.mode[0, :n_all] = hill.mode[1, :n_all]
    hill.steepness[0] = hill.steepness[1]
