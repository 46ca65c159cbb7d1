r"""Trees of nodes drawn at once: what keeps particles moving where couplings are strong.

Node by node, two nodes of coupling 6 change together once in hundreds of sweeps. In a forest that
has all edges between its nodes, the nodes can be drawn together given all others, in every
particle: fields h are summed from the leaves to the roots, a child c adding

.. math:: \log \frac{1 + e^{h_c + \theta}}{1 + e^{h_c}}

to that of its parent, and states are drawn from the roots to the leaves (equation 27; Hamze & de
Freitas 2004). Strong edges come into it first, by lot, so that each is in one before long.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import fast, inner
from slabfield.kernels.cloud import (
    FURTHEST,
    HALF,
    LN2,
    ONE,
    exponentiate_single,
    outside_field,
)
from slabfield.kernels.gibbs import accumulate, resample
from slabfield.kernels.table import add_times

TWO, ROOT_TWO = np.float32(2.0), np.float32(math.sqrt(2.0))
S3, S5, S7, S9 = (np.float32(1.0 / k) for k in (3, 5, 7, 9))
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
    if inside[i]:
        return
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
    """Choose the nodes of a forest, strong edges first; list them from roots to leaves.

    Fills ``inside``, ``order`` and ``above``, the place of every node's parent in its list of
    neighbours, or -1; returns how many nodes there are.
    """
    n_nodes, n_ends = degree.size, 0
    for i in range(n_nodes):
        n_ends += degree[i]
        inside[i], leader[i], above[i] = False, i, OUTSIDE
    strength, ends, place = np.empty(n_ends), np.empty(n_ends, np.int64), 0
    for i in range(n_nodes):
        for m in range(degree[i]):
            strength[place] = -abs(weights[i, m]) * (0.5 + rng.random())
            ends[place] = i * n_nodes + neighbours[i, m]
            place += 1
    for place in np.argsort(strength):
        join(leader, inside, ends[place] // n_nodes, neighbours, degree)
        join(leader, inside, ends[place] % n_nodes, neighbours, degree)
    for i in range(n_nodes):
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


@fast
def ratio_of(field, factor, ratio):
    """Fill ``ratio`` with (1 + e^h factor) / (1 + e^h), given e^h."""
    for t in range(field.size):
        ratio[t] = (ONE + field[t] * factor) / (ONE + field[t])


@fast
def within(field, bounded):
    """Fill ``bounded`` with a field, cut to what single precision can exponentiate."""
    for t in range(field.size):
        h = field[t]
        bounded[t] = -FURTHEST if h < -FURTHEST else FURTHEST if h > FURTHEST else h


@fast
def split_bits(bits, mantissa_bits, exponent):
    """Take positive numbers apart: mantissa, of 1 to 2, and power of two."""
    for t in range(bits.size):
        word = bits[t]
        exponent[t] = np.float32(np.int32(word >> np.int32(23)) - np.int32(127))
        mantissa_bits[t] = np.int32(word & np.int32(0x7FFFFF)) | np.int32(127 << 23)


@fast
def add_log(mantissa, exponent, target):
    """Add the logarithms of numbers taken apart, to about 1e-7."""
    for t in range(target.size):
        large = mantissa[t] > ROOT_TWO
        m = HALF * mantissa[t] if large else mantissa[t]
        power = exponent[t] + ONE if large else exponent[t]
        s = (m - ONE) / (m + ONE)
        z = s * s
        series = ONE + z * (S3 + z * (S5 + z * (S7 + z * S9)))
        target[t] += power * LN2 + TWO * s * series


@inner
def tell_parent(field, weight, target, one, two, three):
    """Add to a parent's field what its child's tree says of it; the last three are room."""
    within(field, one)
    exponentiate_single(one, two, two.view(np.int32))
    ratio_of(one, np.float32(math.exp(weight)), two)
    split_bits(two.view(np.int32), one.view(np.int32), three)
    add_log(one, three, target)


@inner
def draw_forest(states, bias, neighbours, weights, degree, lanes, fields, room, rng):
    """Draw a random forest anew in all particles, and then the other nodes one by one.

    ``fields`` (D, n) is workspace, and so is ``room``: three of n numbers, two and three of D.
    """
    one, two, three, some, some_weights, inside, leader, order, above = room
    n_inside = plant(neighbours, weights, degree, inside, leader, order, above, rng)
    for place in range(n_inside):
        i = order[place]
        outside_field(
            i, inside, bias, neighbours, weights, degree, states, some, some_weights, fields[i]
        )
    for place in range(n_inside - 1, -1, -1):
        i = order[place]
        if above[i] >= 0:
            parent, weight = neighbours[i, above[i]], weights[i, above[i]]
            tell_parent(fields[i], weight, fields[parent], one, two, three)
    for place in range(n_inside):
        i = order[place]
        if above[i] >= 0:
            add_times(fields[i], states[neighbours[i, above[i]]], weights[i, above[i]])
        resample(states[i], fields[i], lanes)
    for i in range(degree.size):
        if not inside[i]:
            accumulate(one, np.float32(bias[i]), neighbours[i], weights[i], degree[i], states)
            resample(states[i], one, lanes)
        inside[i] = False
