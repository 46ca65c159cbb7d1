r"""Rare edges: those that no block of a plan has, looked at one by one.

Where an edge is absent its two nodes are independent given all others. With :math:`q_i` the chance
of node i in every particle, the probabilities that its update needs are means of :math:`q_i q_j`:
for all pairs, a product of a matrix with its transpose. Hardly any edge enters. A glance, by two
steps towards the mode, bounds its chance; whether a pair is looked at closely is drawn by that
bound, and the draw of the edge itself makes up for it (equation 24).
"""

from __future__ import annotations

import math

from slabfield._jit import full, generic, inner, load, multiply_add, reduce_add
from slabfield.kernels.cloud import group_products
from slabfield.kernels.cube import couplings_among, edge_number
from slabfield.kernels.gibbs import sweep
from slabfield.kernels.table import NARROW, total_of
from slabfield.likelihood.chances import apart, mark_ends_stale, mark_stale, show_chance
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes, keep_neighbours
from slabfield.likelihood.engine import leave_block, open_block
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.moves.flip import shuffle
from slabfield.moves.noise import chance_of
from slabfield.moves.pair import log_odds_of, scale_of, update_edges
from slabfield.moves.reach import WITHIN_REACH

# An edge whose chance is this at a glance is looked at closely; others in proportion to theirs
WORTH_A_LOOK = 0.02
MARGIN, LEAST_VISIT = 1.5, 1e-4
# Probabilities below this are lost in rounding
TINY = 1e-7
# A coupling that moves by more than this has the neighbours swept too
FAR = 0.5
# Nodes whose chances fit into fast memory together
TILE = 12


@inner
def lane_spread(products, first, second, u, v, mean):
    """Sum of the squares of what lanes differ by, in the sum of an edge's centred feature."""
    whole = products.size - products.size % NARROW
    sums, total = full(0.0, NARROW), 0.0
    for t in range(0, whole, NARROW):
        one, other = load(first, t, NARROW), load(second, t, NARROW)
        error = load(products, t, NARROW) - u * one - v * other - mean
        sums = multiply_add(error, error, sums)
    for t in range(whole, products.size):
        error = products[t] - u * first[t] - v * second[t] - mean
        total = multiply_add(error, error, total)
    return total + reduce_add(sums)


@inner
def glance(products, first, second, n, slope, u, v, prior_odds, n_rows, slab, precision):
    """Chance of an absent edge by two steps of Newton's method, and the noise of its log odds.

    Also tells whether its coupling would stay near zero.

    ``products``, ``first`` and ``second`` are sums by lane over n particles of the chances of both
    ends and of each; ``slope`` is that of the data and priors.
    """
    both, one, other = total_of(products) / n, total_of(first) / n, total_of(second) / n
    n_lanes, last = products.size, 1 - u - v
    mean = both - u * one - v * other
    w1, w2 = one - both, other - both
    steepness = n_rows * (w1 * u * u + w2 * v * v + both * last * last - mean * mean) + precision
    spread = lane_spread(products, first, second, u, v, mean * n / n_lanes)
    noise = (n_rows / n) ** 2 * spread * n_lanes / (n_lanes - 1.0)
    a = (slope - n_rows * mean) / steepness
    t1, t2 = w1 * math.exp(-u * a), w2 * math.exp(-v * a)
    t3 = both * math.exp(last * a)
    total = 1 - w1 - w2 - both + t1 + t2 + t3
    mean = (last * t3 - u * t1 - v * t2) / total
    square = (last * last * t3 + u * u * t1 + v * v * t2) / total
    steepness = n_rows * (square - mean * mean) + precision
    left = slope - n_rows * mean - precision * a
    evidence = slope * a - n_rows * math.log(total) - 0.5 * precision * a * a
    evidence += 0.5 * left * left / steepness + 0.5 * math.log(slab / steepness)
    shift = noise / steepness
    evidence -= 0.5 * math.log1p(shift)
    noise *= a * a / (1.0 + shift)
    near = abs(a) + 6.5 / math.sqrt(steepness) < WITHIN_REACH
    return chance_of(evidence + prior_odds, noise), noise, near


@inner
def pair_table(products, first, second, n, mass):
    """Fill the table of two nodes that are independent in every particle, lane by lane."""
    least = TINY * n / products.size
    for t in range(products.size):
        mass[3, t] = max(products[t], least)
        mass[2, t] = max(second[t] - products[t], least)
        mass[1, t] = max(first[t] - products[t], least)
        mass[0, t] = max(n / products.size - first[t] - second[t] + products[t], least)


@generic
def update_rare(engine, sums, prior, state, block, plan, tally, rng):
    """Update the edges that no block of the plan has."""


@update_rare.register(ExactCubes)
@update_rare.register(PseudoRows)
def update_none(engine, sums, prior, state, block, plan, tally, rng):
    """Nothing: all pairs are in blocks, of the plan or drawn at random."""


@update_rare.register(ParticleCubes)
def update_all_rare(engine, sums, prior, state, block, plan, tally, rng):
    """Glance at all pairs in random order, tile by tile, and look closely at few.

    Then all particles are swept once: edges that moved little have not moved them.
    """
    n_nodes, order = state.bias.size, block.order
    inclusion, present, covered, counts = prior.inclusion, state.present, plan.covered, block.counts
    stale, partner, chance = engine.work.stale, engine.work.partner, engine.work.chance
    chance_sums, products, data_mean = engine.work.chance_sums, block.residual[1], block.data_mean
    neighbours, degree, bias = engine.neighbours, engine.degree, state.bias
    data_sum, bias_sum, tally_chance, visits = sums.coupling, sums.bias, tally.chance, tally.visits
    n_rows, slab, _, bias_precision = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    shuffle(order, n_nodes, rng)
    stale[:] = True
    for a in range(0, n_nodes, TILE):
        for q in range(a + 1, n_nodes):
            for p in range(a, min(a + TILE, q)):
                i, j = min(order[p], order[q]), max(order[p], order[q])
                alpha = edge_number(n_nodes, i, j)
                if covered[alpha] or inclusion[alpha] == 0.0:
                    continue
                if stale[i]:
                    show_chance(engine, state, i)
                if stale[j]:
                    show_chance(engine, state, j)
                which, visit, known = 0, 1.0, not present[alpha] and inclusion[alpha] != 1.0
                if known:
                    if partner[i] >= 0 or partner[j] >= 0:
                        which = 1 if apart(partner, neighbours, degree, i, j) else 0
                    u, v = data_mean[j], data_mean[i]
                    slope = data_sum[alpha] - u * bias_sum[i] - v * bias_sum[j]
                    slope += bias_precision * (u * bias[i] + v * bias[j])
                    prior_odds = log_odds_of(
                        inclusion, counts, alpha, counts[0], prior.beta_a, prior.beta_b
                    )
                    group_products(chance[which, i], chance[which, j], products)
                    seen, noise, near = glance(
                        products, chance_sums[which, i], chance_sums[which, j], chance.shape[2],
                        slope, u, v, prior_odds, n_rows, slab,
                        slab + bias_precision * (u * u + v * v),
                    )  # fmt: skip
                    if seen < WORTH_A_LOOK and near:
                        visit = min(MARGIN * seen * math.exp(math.sqrt(noise)) + LEAST_VISIT, 1)
                    if rng.random() >= visit:
                        tally_chance[alpha] += seen
                        visits[alpha] += 1
                        continue
                update_one(
                    engine, sums, prior, state, block, tally, alpha, i, j, known, which, visit,
                    rng,
                )  # fmt: skip
    sweep(engine.states, bias, neighbours, engine.weights, degree, engine.lanes, engine.work.field)


@inner
def update_one(engine, sums, prior, state, block, tally, alpha, i, j, known, which, visit, rng):
    """Update one edge; of one that was glanced at the products of chances are known.

    Where its coupling moves little, particles are told of it and follow when they are next swept.
    """
    work, k = engine.work, 2
    block.nodes[0], block.nodes[1] = i, j
    for m in range(2):
        partner = work.partner[block.nodes[m]]
        if partner >= 0 and partner != i and partner != j and (k < 3 or partner != block.nodes[2]):
            block.nodes[k] = partner
            k += 1
    nodes = block.nodes[:k]
    block.edges[0, 0], block.edges[0, 1], block.edges[0, 2] = alpha, 0, 1
    before = state.coupling[alpha]
    seen = known and (k == 2 or which == 1)
    if seen:
        lanes = work.chance_sums[which]
        pair_table(block.residual[1], lanes[i], lanes[j], work.chance.shape[2], block.mass)
    else:
        open_block(engine, state, nodes, block.mass)
    if not update_edges(sums, prior, state, block, 2 if seen else k, 1, visit, tally, rng):
        return
    far = abs(state.coupling[alpha] - before) > FAR
    if far and seen:
        open_block(engine, state, nodes, block.mass)
    if far:
        leave_block(engine, state, nodes, block.mass, rng)
        mark_stale(engine, nodes)
    else:
        couplings_among(state.coupling, state.bias.size, nodes[:2], work.matrix)
        keep_neighbours(engine, work, nodes[:2])
        mark_ends_stale(engine, nodes[:2])
