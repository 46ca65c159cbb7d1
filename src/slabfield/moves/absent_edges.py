r"""Thinned updates of unlikely edges: those that no scheduled block contains, one at a time.

Where an edge is absent, its two nodes are independent given all others. With :math:`q_i` the
conditional of node i in every particle, the probabilities that its update needs are means of
:math:`q_i q_j`: for all pairs, the product of a matrix with its transpose. Hardly any edge enters.
A screening step, a Newton step from zero and a quadratic at its end, gives an approximate inclusion
probability; from it a visit probability is derived. Only visited edges get the full collapsed Gibbs
update, whose inclusion probability is divided by the visit probability (equation 24).
"""

from __future__ import annotations

import math

from slabfield._jit import full, inner, load, multiply_add, optional, reduce_add
from slabfield.kernels.block_particles import group_products
from slabfield.kernels.block_table import couplings_among, edge_number
from slabfield.kernels.gibbs import sweep
from slabfield.kernels.state_table import NARROW, total_of
from slabfield.likelihood.blocks import ParticleBlocks, write_neighbors
from slabfield.likelihood.node_conditionals import (
    can_sum_out_partners,
    mark_ends_outdated,
    mark_outdated,
    update_conditional,
)
from slabfield.likelihood.protocols import leave_block, open_block
from slabfield.moves.block_flip import shuffle
from slabfield.moves.bounded_updates import MOST_WIDTH
from slabfield.moves.edge_gibbs import scale_of, update_edges
from slabfield.moves.evidence_sums import add_evidence
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.particle_noise import corrected_probability

# Screened inclusion probability from which an edge is always visited
ALWAYS_VISIT = 0.02
# Visit probability: factor on the screened inclusion probability, and lower bound
VISIT_FACTOR, LEAST_VISIT = 1.5, 1e-4
# Floor of a probability: smaller ones are lost to rounding
TINY = 1e-7
# Change of a coupling above which the block is redrawn and its neighbors are swept
LARGE_CHANGE = 0.5
# Standard deviations from the mode to where a conditional counts as ended
SDS_TO_LIMIT = 6.5
# Nodes whose conditionals fit into the cache together
TILE = 12


@inner
def group_variance(products, first, second, u, v, mean):
    """Sum of squared deviations between groups, in the sum of an edge's centered feature."""
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
def screen_edge(products, first, second, n, linear, u, v, prior_odds, n_rows, slab, precision):
    """Approximate inclusion probability of an absent edge, and the noise variance of its log odds.

    Uses a Newton step from zero and a quadratic at its end. Also returns whether the conditional of
    the coupling is narrow enough for an unrestricted update.

    ``products``, ``first`` and ``second`` are sums by group over n particles of the product of the
    conditionals of both ends, and of each; ``linear`` is the linear term of data and priors.
    """
    both, one, other = total_of(products) / n, total_of(first) / n, total_of(second) / n
    n_groups, last = products.size, 1 - u - v
    mean = both - u * one - v * other
    w1, w2 = one - both, other - both
    curvature = n_rows * (w1 * u * u + w2 * v * v + both * last * last - mean * mean) + precision
    squares = group_variance(products, first, second, u, v, mean * n / n_groups)
    noise = (n_rows / n) ** 2 * squares * n_groups / (n_groups - 1.0)
    a = (linear - n_rows * mean) / curvature
    t1, t2 = w1 * math.exp(-u * a), w2 * math.exp(-v * a)
    t3 = both * math.exp(last * a)
    total = 1 - w1 - w2 - both + t1 + t2 + t3
    mean = (last * t3 - u * t1 - v * t2) / total
    square = (last * last * t3 + u * u * t1 + v * v * t2) / total
    curvature = n_rows * (square - mean * mean) + precision
    gradient = linear - n_rows * mean - precision * a
    evidence = linear * a - n_rows * math.log(total) - 0.5 * precision * a * a
    evidence += 0.5 * gradient * gradient / curvature + 0.5 * math.log(slab / curvature)
    shift = noise / curvature
    evidence -= 0.5 * math.log1p(shift)
    noise *= a * a / (1.0 + shift)
    narrow = abs(a) + SDS_TO_LIMIT / math.sqrt(curvature) < MOST_WIDTH
    return corrected_probability(evidence + prior_odds, noise), noise, narrow


@inner
def pair_table(products, first, second, n, table):
    """Fill the table of two nodes that are independent in every particle, group by group."""
    least = TINY * n / products.size
    for t in range(products.size):
        table[3, t] = max(products[t], least)
        table[2, t] = max(second[t] - products[t], least)
        table[1, t] = max(first[t] - products[t], least)
        table[0, t] = max(n / products.size - first[t] - second[t] + products[t], least)


@optional
def update_absent(engine, sums, prior, state, block, plan, inclusion_stats, rng):
    """Update the edges that no block of the plan contains; by default they are in random blocks."""


@update_absent.register(ParticleBlocks)
def update_all_absent(engine, sums, prior, state, block, plan, inclusion_stats, rng):
    """Screen all pairs in random order, tile by tile, and fully update the few that are visited.

    Then all particles are swept once: small changes of couplings have not yet redrawn any.
    """
    n_nodes, order = state.bias.size, block.order
    inclusion, present, covered, p0 = prior.inclusion, state.present, plan.covered, state.hyper[0]
    outdated, partner, conditional = (
        engine.work.outdated,
        engine.work.partner,
        engine.work.conditional,
    )
    conditional_sums, products, data_mean = (
        engine.work.conditional_sums,
        block.residual[1],
        block.data_mean,
    )
    neighbors, degree, bias = engine.neighbors, engine.degree, state.bias
    data_sum, bias_sum = sums.coupling, sums.bias
    evidence_sums = inclusion_stats.evidence.sums[inclusion_stats.evidence.batch[0]]
    n_rows, slab, _, bias_precision = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    shuffle(order, n_nodes, rng)
    outdated[:] = True
    for a in range(0, n_nodes, TILE):
        for q in range(a + 1, n_nodes):
            for p in range(a, min(a + TILE, q)):
                i, j = min(order[p], order[q]), max(order[p], order[q])
                alpha = edge_number(n_nodes, i, j)
                if covered[alpha] or inclusion[alpha] == 0.0:
                    continue
                if outdated[i]:
                    update_conditional(engine, state, i)
                if outdated[j]:
                    update_conditional(engine, state, j)
                layer, visit, screened = 0, 1.0, not present[alpha] and inclusion[alpha] != 1.0
                if screened:
                    if partner[i] >= 0 or partner[j] >= 0:
                        layer = 1 if can_sum_out_partners(partner, neighbors, degree, i, j) else 0
                    u, v = data_mean[j], data_mean[i]
                    linear = data_sum[alpha] - u * bias_sum[i] - v * bias_sum[j]
                    linear += bias_precision * (u * bias[i] + v * bias[j])
                    prior_odds = log_odds(inclusion, p0, alpha)
                    group_products(conditional[layer, i], conditional[layer, j], products)
                    probability, noise, narrow = screen_edge(
                        products, conditional_sums[layer, i], conditional_sums[layer, j],
                        conditional.shape[2], linear, u, v, prior_odds, n_rows, slab,
                        slab + bias_precision * (u * u + v * v),
                    )  # fmt: skip
                    if probability < ALWAYS_VISIT and narrow:
                        visit = min(
                            VISIT_FACTOR * probability * math.exp(math.sqrt(noise)) + LEAST_VISIT, 1
                        )
                    if rng.random() >= visit:
                        add_evidence(
                            evidence_sums, inclusion, p0, alpha, probability, 1.0 - probability
                        )
                        continue
                update_one(
                    engine, sums, prior, state, block, inclusion_stats, alpha, i, j, screened,
                    layer, visit, rng,
                )  # fmt: skip
    sweep(engine.states, bias, neighbors, engine.weights, degree, engine.streams, engine.work.field)


@inner
def update_one(
    engine, sums, prior, state, block, inclusion_stats, alpha, i, j, screened, layer, visit, rng
):
    """Run the collapsed Gibbs update of one edge; a screened one has its group products computed.

    After a small change the lists of neighbors are updated, and the particles follow at the next
    sweep.
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
    cached = screened and (k == 2 or layer == 1)
    if cached:
        sums_by_group = work.conditional_sums[layer]
        pair_table(
            block.residual[1],
            sums_by_group[i],
            sums_by_group[j],
            work.conditional.shape[2],
            block.table,
        )
    else:
        open_block(engine, state, nodes, block.table)
    if not update_edges(
        sums, prior, state, block, 2 if cached else k, 1, visit, inclusion_stats, rng
    ):
        return
    large = abs(state.coupling[alpha] - before) > LARGE_CHANGE
    if large and cached:
        open_block(engine, state, nodes, block.table)
    if large:
        leave_block(engine, state, nodes, block.table, rng)
        mark_outdated(engine, nodes)
    else:
        couplings_among(state.coupling, state.bias.size, nodes[:2], work.block_coupling)
        write_neighbors(engine, work, nodes[:2])
        mark_ends_outdated(engine, nodes[:2])
