r"""Trees of nodes drawn at once: what keeps particles moving where couplings are strong.

Node by node, two nodes of coupling 6 change together once in hundreds of sweeps. In a forest that
has all edges between its nodes, the nodes can be drawn together given all others, in every
particle: odds w are multiplied from the leaves to the roots, a child c telling its parent

.. math:: \frac{1 + w_c e^{\theta}}{1 + w_c}

and states are drawn from the roots to the leaves (equation 27; Hamze & de Freitas 2004).
Strongly coupled nodes come into it first, by lot, so that each is in one before long.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, multiply_add
from slabfield.kernels.cloud import (
    FURTHEST,
    ONE,
    ZERO,
    exponentiate_single,
    fill_uniform,
    outside_field,
)
from slabfield.kernels.gibbs import accumulate, resample

# Odds within which a factor e^FURTHEST more or less still has a place in single precision
LEAST_ODDS, MOST_ODDS = np.float32(1e-25), np.float32(1e25)
OUTSIDE, WAITING = -2, -1


@inner
def top_of(leader, i):
    """Node that stands for the tree of a node."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


@inner
def join(leader, inside, i, neighbours, degree):
    """Take a node into the forest, unless it would close a ring."""
    for m in range(degree[i]):
        j = neighbours[i, m]
        if inside[j]:
            for t in range(m):
                k = neighbours[i, t]
                if inside[k] and top_of(leader, k) == top_of(leader, j):
                    return
    inside[i] = True
    for m in range(degree[i]):
        j = neighbours[i, m]
        if inside[j]:
            leader[top_of(leader, j)] = i


@inner
def plant(neighbours, weights, degree, inside, leader, order, above, rng):
    """Choose the nodes of a forest, strongly coupled ones first; list them from roots to leaves.

    Fills ``inside``, ``order`` and ``above``, the place of every node's parent in its list of
    neighbours, or -1; returns how many nodes there are.
    """
    n_nodes = degree.size
    weakness = np.empty(n_nodes)
    for i in range(n_nodes):
        inside[i], leader[i], above[i] = False, i, OUTSIDE
        squares = 0.0
        for m in range(degree[i]):
            squares += weights[i, m] * weights[i, m]
        weakness[i] = -squares * (0.5 + rng.random())
    for i in np.argsort(weakness):
        join(leader, inside, i, neighbours, degree)
    count = 0
    for root in range(n_nodes):
        if not inside[root] or above[root] != OUTSIDE:
            continue
        above[root] = WAITING
        order[count] = root
        done, count = count, count + 1
        while done < count:
            i = order[done]
            done += 1
            for m in range(degree[i]):
                j = neighbours[i, m]
                if inside[j] and above[j] == OUTSIDE:
                    for t in range(degree[j]):
                        if neighbours[j, t] == i:
                            above[j] = t
                    order[count] = j
                    count += 1
    return count


@inner
def bound(field):
    """Cut a field to what single precision can exponentiate."""
    for t in range(field.size):
        h = field[t]
        field[t] = -FURTHEST if h < -FURTHEST else FURTHEST if h > FURTHEST else h


@inner
def tell_parent(odds, factor, parent):
    """Multiply a parent's odds by what its child's tree says of it; none leave their bounds."""
    for t in range(odds.size):
        told = parent[t] * (multiply_add(odds[t], factor, ONE) / (ONE + odds[t]))
        parent[t] = LEAST_ODDS if told < LEAST_ODDS else MOST_ODDS if told > MOST_ODDS else told


@inner
def add_factor(odds, parent, factor):
    """Multiply the odds of a child by a factor where its parent is 1."""
    for t in range(odds.size):
        odds[t] *= factor if parent[t] > 0 else ONE


@inner
def draw_by_odds(state, odds, uniform):
    """Draw one node in every particle, given its odds to be 1."""
    for t in range(odds.size):
        state[t] = ONE if multiply_add(uniform[t], odds[t], uniform[t]) < odds[t] else ZERO


@inner
def draw_forest(states, bias, neighbours, weights, degree, lanes, odds, room, rng):
    """Draw a random forest anew in all particles, and then the other nodes one by one.

    ``odds`` (D, n) is workspace, and so is ``room``: two of n numbers, two and three of D.
    """
    one, two, some, some_weights, inside, leader, order, above = room
    n_inside = plant(neighbours, weights, degree, inside, leader, order, above, rng)
    for place in range(n_inside):
        i = order[place]
        outside_field(
            i, inside, bias[i], neighbours, weights, degree, states, some, some_weights, odds[i]
        )
        bound(odds[i])
        exponentiate_single(odds[i], two, two.view(np.int32))
    for place in range(n_inside - 1, -1, -1):
        i = order[place]
        if above[i] >= 0:
            tell_parent(odds[i], factor_of(weights[i, above[i]]), odds[neighbours[i, above[i]]])
    for place in range(n_inside):
        i = order[place]
        if above[i] >= 0:
            add_factor(odds[i], states[neighbours[i, above[i]]], factor_of(weights[i, above[i]]))
        fill_uniform(lanes, one)
        draw_by_odds(states[i], odds[i], one)
    for i in range(degree.size):
        if not inside[i]:
            accumulate(one, np.float32(bias[i]), neighbours[i], weights[i], degree[i], states)
            resample(states[i], one, lanes)
        inside[i] = False


@inner
def factor_of(weight):
    """Factor of odds that a coupling is, within bounds."""
    return np.float32(math.exp(min(max(weight, -FURTHEST), FURTHEST)))
