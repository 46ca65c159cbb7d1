"""Flips of several edges of a block at once: one stands for another, or two for two others."""

from __future__ import annotations

import math

from slabfield._jit import inner
from slabfield.moves.pair import draw_value, facts_of, give, judge, log_odds_of, scale_of, steeper
from slabfield.moves.state import insert, remove

# Among how many nodes edges are flipped together
MOST_NODES = 4


@inner
def list_open(edges, n_edges, marked, listed):
    """List the edges of a block that may be flipped together; return how many."""
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
def choose_some(listed, n_open, rng):
    """Bring two, three or four of the listed edges, at random, to the first places; how many."""
    uniform = rng.random()
    size = min(2 if uniform < 0.5 else 3 if uniform < 0.75 else 4, n_open)
    shuffle(listed[:n_open], size, rng)
    return size


@inner
def may_flip(edges, chosen, inclusion, present):
    """Whether edges are free, not all alike, and among at most four nodes: where they compete."""
    nodes, free, n_present = 0, True, 0
    for m in range(chosen.size):
        edge = chosen[m]
        nodes |= (1 << edges[edge, 1]) | (1 << edges[edge, 2])
        free = free and inclusion[edges[edge, 0]] != 0.0 and inclusion[edges[edge, 0]] != 1.0
        n_present += present[edges[edge, 0]]
    if not free or n_present == 0 or n_present == chosen.size:
        return False
    count = 0
    while nodes:
        nodes &= nodes - 1
        count += 1
    return count <= MOST_NODES


@inner
def flip_edges(sums, prior, state, block, k, n_open, n_tries, rng):
    """Draw some open edges of a block, some of them present; propose that each is what it is not.

    One edge often stands for another, or two for two others; single updates would have to cross
    states that have all or none of them. Those absent are drawn one after the other, each from its
    conditional with those still to come out; the ratio is that of the products of their evidence
    and of the evidence, in the same order, of those that leave (equation 23). Edges forced or
    forbidden stay out of it.
    """
    mass, lanes, nodes, edges = block.mass, block.sums, block.nodes, block.edges
    residual, summed, before = block.residual[0], block.residual[1], block.before
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum, data_mean = sums.coupling, sums.bias, block.data_mean
    counts, n_lanes = block.counts, lanes.shape[1]
    prior_a, prior_b = prior.beta_a, prior.beta_b
    scale = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    changed = False
    for _ in range(min(n_tries, n_open * (n_open - 1) // 2)):
        size = choose_some(block.open, n_open, rng)
        chosen = block.open[:size]
        if not may_flip(edges, chosen, inclusion, present):
            continue
        odds, count = 0.0, counts[0]
        summed[:] = 0.0
        for m in range(size - 1, -1, -1):
            facts = facts_of(edges, nodes, data_mean, chosen[m])
            alpha = facts[0]
            before[m] = coupling[alpha]
            if present[alpha]:
                evidence, _, _ = judge(
                    mass, k, lanes, residual, facts, data_sum, bias_sum, coupling, bias, scale
                )
                count -= 1 if math.isnan(inclusion[alpha]) else 0
                odds -= evidence + log_odds_of(inclusion, counts, alpha, count, prior_a, prior_b)
                summed -= residual
                give(mass, k, facts, coupling, bias, 0.0)
        for m in range(size):
            facts = facts_of(edges, nodes, data_mean, chosen[m])
            alpha = facts[0]
            if not present[alpha]:
                evidence, _, needs = judge(
                    mass, k, lanes, residual, facts, data_sum, bias_sum, coupling, bias, scale
                )
                odds += evidence + log_odds_of(inclusion, counts, alpha, count, prior_a, prior_b)
                count += 1 if math.isnan(inclusion[alpha]) else 0
                summed += residual
                give(mass, k, facts, coupling, bias, draw_value(scale[0], needs, rng))
        noise = 0.0
        if n_lanes > 1:
            for t in range(n_lanes):
                noise += summed[t] ** 2
            noise *= n_lanes / (n_lanes - 1.0)
        accepted = rng.random() * (1.0 + math.exp(-odds * steeper(noise))) < 1.0
        for m in range(size):
            facts = facts_of(edges, nodes, data_mean, chosen[m])
            alpha = facts[0]
            if not accepted:
                give(mass, k, facts, coupling, bias, before[m])
            elif present[alpha]:
                remove(state, alpha)
            else:
                insert(state, alpha)
        if accepted:
            counts[0] = count
            changed = True
    return changed
