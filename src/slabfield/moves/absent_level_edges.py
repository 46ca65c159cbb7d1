r"""Thinned updates of unlikely edges between nodes with levels: those that no block contains.

Where an edge is absent, its two nodes are independent given all others, so that the moments of its
features are means of products of the conditional moments of its ends. They give a quadratic
approximation of the log evidence, and from it the probability of a visit
(:mod:`slabfield.moves.absent_edges` does the same for binary nodes).
"""

from __future__ import annotations

import math

from slabfield._jit import full, inner, load, reduce_add
from slabfield.kernels.block_particles import GROUPS, group_products
from slabfield.kernels.block_table import edge_number
from slabfield.kernels.gibbs import accumulate
from slabfield.kernels.level_conditionals import node_moments, weigh_levels
from slabfield.likelihood.level_blocks import cell_levels
from slabfield.likelihood.level_particles import LevelParticles, sweep_all, write_block_neighbors
from slabfield.likelihood.protocols import leave_block, open_block
from slabfield.moves.absent_edges import ALWAYS_VISIT, LARGE_CHANGE, update_absent
from slabfield.moves.block_flip import shuffle
from slabfield.moves.evidence_sums import record_visit
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.level_gibbs import (
    centered_sum,
    level_edge_at,
    project_biases,
    update_level_edges,
)
from slabfield.moves.particle_noise import corrected_probabilities

# Visit probability: factor on the screened inclusion probability, and lower bound; the quadratic
# approximation is rougher than the one for binary nodes
VISIT_FACTOR, LEAST_VISIT = 3.0, 1e-3


@inner
def update_moments(engine, state, i):
    """Compute the conditional moments of a node's embedding in every particle."""
    work, features = engine.work, engine.features
    work.outdated[i] = False
    for u in range(features.embedding_size[i]):
        p = engine.row_start[i] + u
        accumulate(
            work.field[u], work.field.dtype.type(0), engine.neighbors[p], engine.weights[p],
            engine.degree[p], engine.embedded,
        )  # fmt: skip
    rows = work.rows[: features.n_levels[i]]
    weigh_levels(features, state.bias, i, work.field, rows, work.buffer, work.powers)
    for u in range(features.embedding_size[i]):
        p = engine.row_start[i] + u
        node_moments(features, i, u, rows, work.mean[p], work.square[p])


@inner
def screen_level_edge(engine, sums, prior, state, block, edge, n):
    """Approximate probabilities of presence and absence of an absent edge, and their noise.

    The noise is the variance of the log odds. The log density is quadratic in the edge's
    parameters at zero, whose features count as uncorrelated.
    """
    features, work, i, j = engine.features, engine.work, edge.i, edge.j
    n_rows, n_parameters = sums.n_rows, edge.n_parameters
    scale = state.hyper[1] if n_parameters == 1 else state.hyper[state.hyper.size - 1]
    slab, products, evidence, noise = scale**-2, block.residual[0], 0.0, 0.0
    for u in range(features.embedding_size[i]):
        for v in range(features.embedding_size[j]):
            p, q = engine.row_start[i] + u, engine.row_start[j] + v
            group_products(work.square[p], work.square[q], products)
            square = reduce_add(load(products, 0, GROUPS)) / n
            group_products(work.mean[p], work.mean[q], products)
            by_group = load(products, 0, GROUPS)
            total = reduce_add(by_group)
            mean, error = total / n, by_group - full(total / GROUPS, GROUPS)
            variance = (n_rows / n) ** 2 * reduce_add(error * error) * GROUPS / (GROUPS - 1.0)
            center_i, center_j = features.center[i, u], features.center[j, v]
            own = center_j * center_j * features.embedding_precision[i, u, u]
            own += center_i * center_i * features.embedding_precision[j, v, v]
            precision = slab + prior.bias_precision * own
            along = center_j * project_biases(features, state.bias, i, u)
            along += center_i * project_biases(features, state.bias, j, v)
            gradient = centered_sum(features, sums, edge, u, v) - n_rows * mean
            gradient += prior.bias_precision * along
            curvature = n_rows * max(square - mean * mean, 0.0) + precision
            shift = variance / curvature
            evidence += 0.5 * gradient * gradient / curvature
            evidence += 0.5 * math.log(slab / curvature) - 0.5 * math.log1p(shift)
            noise += variance * (gradient / curvature) ** 2 / (1.0 + shift)
    odds = evidence + log_odds(prior.inclusion, state.hyper[0], edge.number)
    probability, absence = corrected_probabilities(odds, noise)
    return probability, absence, noise


@update_absent.register(LevelParticles)
def update_absent_levels(engine, sums, prior, state, block, plan, inclusion_stats, rng):
    """Screen all pairs in random order, and fully update the few that are visited.

    Then all particles are swept once: small changes of couplings have not yet redrawn any.
    """
    work, features, order = engine.work, engine.features, block.order
    n_nodes, n = order.size, engine.states.shape[1]
    shuffle(order, n_nodes, rng)
    work.outdated[:] = True
    for q in range(1, n_nodes):
        for p in range(q):
            i, j = min(order[p], order[q]), max(order[p], order[q])
            alpha = edge_number(n_nodes, i, j)
            if plan.covered[alpha] or prior.inclusion[alpha] == 0.0:
                continue
            if work.outdated[i]:
                update_moments(engine, state, i)
            if work.outdated[j]:
                update_moments(engine, state, j)
            block.nodes[0], block.nodes[1] = i, j
            block.edges[0, 0], block.edges[0, 1], block.edges[0, 2] = alpha, 0, 1
            edge, visit = level_edge_at(block.edges, block.nodes, features.group_start, 0), 1.0
            if not state.present[alpha] and prior.inclusion[alpha] != 1.0:
                probability, absence, noise = screen_level_edge(
                    engine, sums, prior, state, block, edge, n
                )
                if probability < ALWAYS_VISIT:
                    visit = VISIT_FACTOR * probability * math.exp(math.sqrt(noise)) + LEAST_VISIT
                    visit = min(visit, 1.0)
                if rng.random() >= visit:
                    record_visit(
                        inclusion_stats, prior.inclusion, state.hyper[0], alpha, probability,
                        absence,
                    )  # fmt: skip
                    continue
            update_level_pair(engine, sums, prior, state, block, edge, visit, inclusion_stats, rng)
    sweep_all(engine, state)


@inner
def update_level_pair(engine, sums, prior, state, block, edge, visit, inclusion_stats, rng):
    """Run the full update of one edge in a block of its own.

    After a small change the lists of neighbors are updated, and the particles follow at the next
    sweep.
    """
    features, nodes, work = engine.features, block.nodes[:2], engine.work
    table, largest = block.table[: cell_levels(features, nodes, block.level)], 0.0
    before = block.before[: edge.n_parameters]
    before[:] = state.coupling[edge.begin : edge.begin + edge.n_parameters]
    open_block(engine, state, nodes, table)
    if not update_level_edges(
        features, sums, prior, state, block, 1, table, block.level, visit, inclusion_stats, rng
    ):
        return
    for p in range(edge.n_parameters):
        largest = max(largest, abs(state.coupling[edge.begin + p] - before[p]))
    if largest > LARGE_CHANGE:
        leave_block(engine, state, nodes, table, rng)
        work.outdated[:] = True
    else:
        write_block_neighbors(engine, state, nodes)
        work.outdated[edge.i], work.outdated[edge.j] = True, True
