"""Chances of nodes to be 1 in every particle, for edges that are looked at one by one."""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.cloud import (
    chance_of,
    exponentiate_single,
    group_sums,
    joint_chance,
    joint_exponents,
    negative_size,
)
from slabfield.kernels.gibbs import accumulate, list_near
from slabfield.kernels.table import add_times

# Two nodes whose coupling is larger than this move together
LEAST_PARTNER = np.float32(1.0)


@inner
def show_chance(engine, state, i):
    """Work out the chance of a node to be 1 in every particle, given its neighbours.

    A node that is strongly coupled with another hardly moves while that one stays; it becomes its
    partner and is summed out.
    """
    work, states = engine.work, engine.states
    work.stale[i] = False
    neighbours, weights, degree = engine.neighbours[i], engine.weights[i], engine.degree[i]
    bits = work.powers.view(np.int32)
    accumulate(work.field, np.float32(state.bias[i]), neighbours, weights, degree, states)
    negative_size(work.field, work.low)
    exponentiate_single(work.low, work.powers, bits)
    chance_of(work.field, work.low, work.chance[0, i])
    group_sums(work.chance[0, i], work.chance_sums[0, i])
    partner, coupling = -1, LEAST_PARTNER
    for m in range(degree):
        if abs(weights[m]) > abs(coupling):
            partner, coupling = neighbours[m], weights[m]
    work.partner[i] = partner
    if partner < 0:
        work.chance[1, i] = work.chance[0, i]
        work.chance_sums[1, i] = work.chance_sums[0, i]
        return
    accumulate(
        work.total, np.float32(state.bias[partner]), engine.neighbours[partner],
        engine.weights[partner], engine.degree[partner], states,
    )  # fmt: skip
    add_times(work.field, states[partner], -coupling)
    add_times(work.total, states[i], -coupling)
    joint_exponents(work.field, work.total, coupling, work.low)
    exponentiate_single(work.field, work.powers, bits)
    exponentiate_single(work.total, work.powers, bits)
    exponentiate_single(work.low, work.powers, bits)
    joint_chance(work.field, work.total, work.low, work.chance[1, i])
    group_sums(work.chance[1, i], work.chance_sums[1, i])


@inner
def are_neighbours(neighbours, degree, i, j):
    """Whether there is an edge between two nodes."""
    found = False
    for m in range(degree[i]):
        found = found or neighbours[i, m] == j
    return found


@inner
def apart(partner, neighbours, degree, i, j):
    """Whether two nodes are independent given the others but for their partners, and have any.

    Where they are not, chances are to be taken that are given the partners too.
    """
    p, q = partner[i], partner[j]
    if p < 0 and q < 0:
        return False
    if p in (j, q) or q == i:
        return False
    if p >= 0 and are_neighbours(neighbours, degree, p, j):
        return False
    if q >= 0 and are_neighbours(neighbours, degree, q, i):
        return False
    return p < 0 or q < 0 or not are_neighbours(neighbours, degree, p, q)


@inner
def mark_stale(engine, nodes):
    """Mark chances that depend on nodes that were drawn anew with their neighbours as stale."""
    work, neighbours = engine.work, engine.neighbours
    n_near = list_near(nodes, work.inside, neighbours, engine.degree, work.near)
    for m in range(n_near):
        i = work.near[m]
        work.stale[i] = True
        for t in range(engine.degree[i]):
            work.stale[neighbours[i, t]] = True


@inner
def mark_ends_stale(engine, nodes):
    """Mark chances of nodes whose fields have changed as stale, and of those they are partners of.

    No particle was drawn anew.
    """
    work, neighbours = engine.work, engine.neighbours
    for m in range(nodes.size):
        i = nodes[m]
        work.stale[i] = True
        for t in range(engine.degree[i]):
            j = neighbours[i, t]
            work.stale[j] = work.stale[j] or work.partner[j] == i
