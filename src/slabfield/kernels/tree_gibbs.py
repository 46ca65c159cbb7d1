r"""Tree-block Gibbs updates, which keep particles mixing where couplings are strong.

In single-node updates, two nodes with coupling 6 change together once in hundreds of sweeps. The
nodes of an induced forest can be drawn jointly given all other nodes, in every particle. An upward
pass from the leaves to the roots multiplies the odds w of each parent by the message of a child c,

.. math:: \frac{1 + w_c e^{\theta}}{1 + w_c}

and a downward pass draws states from the roots to the leaves (equation 27; Hamze & de Freitas
2004). Nodes join the forest in random order, strongly coupled nodes first.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, multiply_add
from slabfield.kernels.block_particles import (
    FURTHEST,
    ONE,
    ZERO,
    exponentiate_single,
    fill_uniform,
    outside_field,
)
from slabfield.kernels.gibbs import accumulate, resample

# Bounds of odds: a factor e^FURTHEST more or less stays within single precision
LEAST_ODDS, MOST_ODDS = np.float32(1e-25), np.float32(1e25)
# Marks of nodes without a parent: not yet in a tree, and root of a tree
UNVISITED, ROOT = -2, -1


@inner
def find_set(leader, i):
    """Representative of the tree of a node (union-find with path halving)."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


@inner
def join(leader, inside, i, neighbors, degree):
    """Add a node to the forest, unless it would close a cycle."""
    for m in range(degree[i]):
        j = neighbors[i, m]
        if inside[j]:
            for t in range(m):
                k = neighbors[i, t]
                if inside[k] and find_set(leader, k) == find_set(leader, j):
                    return
    inside[i] = True
    for m in range(degree[i]):
        j = neighbors[i, m]
        if inside[j]:
            leader[find_set(leader, j)] = i


@inner
def sample_induced_forest(neighbors, weights, degree, inside, leader, order, above, rng):
    """Choose the nodes of a random induced forest; list them from roots to leaves.

    Strongly coupled nodes are likely to come first. Fills ``inside``, ``order`` and ``above``, the
    index of a node's parent in its neighbor list, or -1 at a root. Returns the number of nodes.
    """
    n_nodes = degree.size
    weakness = np.empty(n_nodes)
    for i in range(n_nodes):
        inside[i], leader[i], above[i] = False, i, UNVISITED
        squares = 0.0
        for m in range(degree[i]):
            squares += weights[i, m] * weights[i, m]
        weakness[i] = -squares * (0.5 + rng.random())
    for i in np.argsort(weakness):
        join(leader, inside, i, neighbors, degree)
    count = 0
    for root in range(n_nodes):
        if not inside[root] or above[root] != UNVISITED:
            continue
        above[root] = ROOT
        order[count] = root
        done, count = count, count + 1
        while done < count:
            i = order[done]
            done += 1
            for m in range(degree[i]):
                j = neighbors[i, m]
                if inside[j] and above[j] == UNVISITED:
                    for t in range(degree[j]):
                        if neighbors[j, t] == i:
                            above[j] = t
                    order[count] = j
                    count += 1
    return count


@inner
def bound(field):
    """Clip a field to +-FURTHEST, in place."""
    for t in range(field.size):
        h = field[t]
        field[t] = -FURTHEST if h < -FURTHEST else FURTHEST if h > FURTHEST else h


@inner
def upward_message(odds, factor, parent):
    """Multiply a parent's odds by the message of a child, within LEAST_ODDS and MOST_ODDS."""
    for t in range(odds.size):
        w = parent[t] * (multiply_add(odds[t], factor, ONE) / (ONE + odds[t]))
        parent[t] = LEAST_ODDS if w < LEAST_ODDS else MOST_ODDS if w > MOST_ODDS else w


@inner
def add_factor(odds, parent, factor):
    """Multiply the odds of a child by a factor where its parent is 1."""
    for t in range(odds.size):
        odds[t] *= factor if parent[t] > 0 else ONE


@inner
def draw_by_odds(state, odds, uniform):
    """Draw one node in every particle, given its odds of being 1."""
    for t in range(odds.size):
        state[t] = ONE if multiply_add(uniform[t], odds[t], uniform[t]) < odds[t] else ZERO


@inner
def sample_forest(states, bias, neighbors, weights, degree, streams, odds, buffers, rng):
    """Redraw a random forest jointly in all particles, then the other nodes one by one.

    ``odds`` (D, n) and ``buffers`` are workspace.
    """
    buffer, powers, listed, listed_weights, inside, leader, order, above = buffers
    n_inside = sample_induced_forest(neighbors, weights, degree, inside, leader, order, above, rng)
    for place in range(n_inside):
        i = order[place]
        outside_field(
            i, inside, bias[i], neighbors, weights, degree, states, listed, listed_weights, odds[i]
        )
        bound(odds[i])
        exponentiate_single(odds[i], powers, powers.view(np.int32))
    for place in range(n_inside - 1, -1, -1):
        i = order[place]
        if above[i] >= 0:
            upward_message(odds[i], factor_of(weights[i, above[i]]), odds[neighbors[i, above[i]]])
    for place in range(n_inside):
        i = order[place]
        if above[i] >= 0:
            add_factor(odds[i], states[neighbors[i, above[i]]], factor_of(weights[i, above[i]]))
        fill_uniform(streams, buffer)
        draw_by_odds(states[i], odds[i], buffer)
    for i in range(degree.size):
        if not inside[i]:
            accumulate(buffer, np.float32(bias[i]), neighbors[i], weights[i], degree[i], states)
            resample(states[i], buffer, streams)
        inside[i] = False


@inner
def factor_of(weight):
    """Odds ratio e^weight of a coupling, clipped to +-FURTHEST."""
    return np.float32(math.exp(min(max(weight, -FURTHEST), FURTHEST)))
