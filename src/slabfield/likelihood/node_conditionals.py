"""Cached conditionals P(x_i = 1) of nodes in every particle, for edges updated one at a time."""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.block_particles import (
    exponentiate_single,
    fill_node_probability,
    group_sums,
    joint_exponents,
    joint_probability,
    negative_size,
)
from slabfield.kernels.gibbs import accumulate, list_near
from slabfield.kernels.state_table import add_times

# Absolute coupling above which two nodes are partners: they change together
LEAST_PARTNER = np.float32(1.0)


@inner
def update_conditional(engine, state, i):
    """Compute the conditional P(x_i = 1) of a node in every particle, given its neighbors.

    A node that is strongly coupled to another hardly changes while that one is fixed; the other
    becomes its partner and is summed out.
    """
    work, states = engine.work, engine.states
    work.outdated[i] = False
    neighbors, weights, degree = engine.neighbors[i], engine.weights[i], engine.degree[i]
    bits = work.powers_of_two.view(np.int32)
    accumulate(work.field, np.float32(state.bias[i]), neighbors, weights, degree, states)
    negative_size(work.field, work.row_buffer)
    exponentiate_single(work.row_buffer, work.powers_of_two, bits)
    fill_node_probability(work.field, work.row_buffer, work.conditional[0, i])
    group_sums(work.conditional[0, i], work.conditional_sums[0, i])
    partner, coupling = -1, LEAST_PARTNER
    for m in range(degree):
        if abs(weights[m]) > abs(coupling):
            partner, coupling = neighbors[m], weights[m]
    work.partner[i] = partner
    if partner < 0:
        work.conditional[1, i] = work.conditional[0, i]
        work.conditional_sums[1, i] = work.conditional_sums[0, i]
        return
    accumulate(
        work.row_buffer2, np.float32(state.bias[partner]), engine.neighbors[partner],
        engine.weights[partner], engine.degree[partner], states,
    )  # fmt: skip
    add_times(work.field, states[partner], -coupling)
    add_times(work.row_buffer2, states[i], -coupling)
    joint_exponents(work.field, work.row_buffer2, coupling, work.row_buffer)
    exponentiate_single(work.field, work.powers_of_two, bits)
    exponentiate_single(work.row_buffer2, work.powers_of_two, bits)
    exponentiate_single(work.row_buffer, work.powers_of_two, bits)
    joint_probability(work.field, work.row_buffer2, work.row_buffer, work.conditional[1, i])
    group_sums(work.conditional[1, i], work.conditional_sums[1, i])


@inner
def are_neighbors(neighbors, degree, i, j):
    """Whether there is an edge between two nodes."""
    found = False
    for m in range(degree[i]):
        found = found or neighbors[i, m] == j
    return found


@inner
def can_sum_out_partners(partner, neighbors, degree, i, j):
    """Whether two nodes, of which one has a partner, are independent with the partners summed out.

    Independent means given all other nodes. If not, use the conditionals that are given the
    partners.
    """
    p, q = partner[i], partner[j]
    if p < 0 and q < 0:
        return False
    if p in (j, q) or q == i:
        return False
    if p >= 0 and are_neighbors(neighbors, degree, p, j):
        return False
    if q >= 0 and are_neighbors(neighbors, degree, q, i):
        return False
    return p < 0 or q < 0 or not are_neighbors(neighbors, degree, p, q)


@inner
def mark_outdated(engine, nodes):
    """Mark the conditionals that depend on nodes redrawn together with their neighbors."""
    work, neighbors = engine.work, engine.neighbors
    n_nearby = list_near(nodes, work.inside, neighbors, engine.degree, work.nearby_nodes)
    for m in range(n_nearby):
        i = work.nearby_nodes[m]
        work.outdated[i] = True
        for t in range(engine.degree[i]):
            work.outdated[neighbors[i, t]] = True


@inner
def mark_ends_outdated(engine, nodes):
    """Mark the conditionals of nodes whose fields changed, and of those whose partners they are.

    No particle was redrawn.
    """
    work, neighbors = engine.work, engine.neighbors
    for m in range(nodes.size):
        i = nodes[m]
        work.outdated[i] = True
        for t in range(engine.degree[i]):
            j = neighbors[i, t]
            work.outdated[j] = work.outdated[j] or work.partner[j] == i
