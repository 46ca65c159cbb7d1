r"""Sub-cubes from particles: the states of a block of nodes, given the rest of every particle.

In one particle the block's state x has the conditional probability

.. math:: P(x \mid x_{rest}) = w(x)\, l(x_{low})\, u(x_{up}) / z

with w the couplings within the block, and l and u the fields from outside on the first and on the
other half of its nodes (equation 18). Means over particles are matrix products of l and u.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import full, inner, load, multiply_add, polynomial, reduce_add, store
from slabfield.kernels.gibbs import accumulate
from slabfield.kernels.table import largest_of

LOG2E = np.float32(1.4426950408889634)
LN2 = np.float32(0.6931471805599453)
LOWEST = np.float32(-80.0)
FURTHEST, FURTHEST_BOTH = np.float32(25.0), np.float32(60.0)
# Weights of the states of a block, in logs from the largest, are no lower: then the sum over all in
# a particle, of which the fields alone would have a state of weight one, has a place in single
# precision, and so has what is divided by it
FLOOR = -70.0
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
TAYLOR = tuple(np.float32(1.0 / math.factorial(k)) for k in range(7))
SCALE = np.float32(2.0**-24)
# Groups of particles that are independent of each other, so that how much they differ tells the
# noise of their sum; particle t is in group t % GROUPS
GROUPS = 16
ONE_BIT, TWO_BIT, FOUR = np.int32(1), np.int32(2), np.int32(4)


@inner
def exponentiate_single(values, powers, bits):
    """Replace values of at most zero by their exponentials, to 1e-7; below e^-80 they become it.

    ``powers`` is room for powers of two, and ``bits`` the same room seen as 32-bit integers.
    """
    for t in range(values.size):
        x = values[t]
        x = LOWEST if x < LOWEST else x
        k = np.floor(multiply_add(x, LOG2E, HALF))
        values[t] = polynomial(multiply_add(k, -LN2, x), TAYLOR)
        bits[t] = np.int32(np.int32(np.int32(k) + np.int32(127)) << np.int32(23))
    for t in range(values.size):
        values[t] *= powers[t]


@inner
def fill_uniform(lanes, uniform):
    """Draw one number from (0, 1) in every particle's random lane (xoshiro128+)."""
    s0, s1, s2, s3 = lanes[0], lanes[1], lanes[2], lanes[3]
    for t in range(uniform.size):
        a, b, c, d = s0[t], s1[t], s2[t], s3[t]
        word = np.uint32(a + d)
        shifted = np.uint32(b << np.uint32(9))
        c = np.uint32(c ^ a)
        d = np.uint32(d ^ b)
        s1[t] = np.uint32(b ^ c)
        s0[t] = np.uint32(a ^ d)
        s2[t] = np.uint32(c ^ shifted)
        s3[t] = np.uint32(np.uint32(d << np.uint32(11)) | np.uint32(d >> np.uint32(21)))
        uniform[t] = (np.float32(np.int32(word >> np.uint32(8))) + HALF) * SCALE


@inner
def negative_size(field, low):
    """Fill ``low`` with -|h|."""
    for t in range(field.size):
        low[t] = -field[t] if field[t] > ZERO else field[t]


@inner
def chance_of(field, low, chance):
    """Probability of 1 in every particle, given the field h and e^-|h|."""
    for t in range(field.size):
        small = low[t]
        chance[t] = (ONE if field[t] > ZERO else small) / (ONE + small)


@inner
def joint_exponents(field, partner, weight, with_partner):
    """Keep fields within what single precision can exponentiate; add the coupling to one.

    The product of two of the exponentials has a place there too.
    """
    for t in range(field.size):
        h, g = field[t], partner[t]
        h = -FURTHEST if h < -FURTHEST else FURTHEST if h > FURTHEST else h
        g = -FURTHEST if g < -FURTHEST else FURTHEST if g > FURTHEST else g
        both = g + weight
        both = -FURTHEST_BOTH if both < -FURTHEST_BOTH else both
        both = FURTHEST_BOTH if both > FURTHEST_BOTH else both
        field[t], partner[t], with_partner[t] = h, g, both


@inner
def joint_chance(field, partner, with_partner, chance):
    """Probability of 1 with a partner summed out, from the exponentials of their fields."""
    for t in range(field.size):
        one = field[t] * (ONE + with_partner[t])
        chance[t] = one / (one + ONE + partner[t])


@inner
def group_sums(values, sums):
    """Sum the values of every group's particles."""
    total = full(ZERO, GROUPS)
    for t in range(0, values.size, GROUPS):
        total += load(values, t, GROUPS)
    store(sums, 0, total)


@inner
def group_products(one, other, sums):
    """Sum the products of two rows over every group's particles."""
    total = full(ZERO, GROUPS)
    for t in range(0, one.size, GROUPS):
        total = multiply_add(load(one, t, GROUPS), load(other, t, GROUPS), total)
    store(sums, 0, total)


@inner
def branch_single(source, target, field, low):
    """As :func:`slabfield.kernels.cube.branch`, in single precision."""
    for t in range(source.size):
        before, small, positive = source[t], low[t], field[t] > ZERO
        target[t] = before if positive else before * small
        source[t] = before * small if positive else before


@inner
def sum_products(upper, mixed, total):
    """Normaliser of every particle: the sum of upper * mixed over the rows."""
    for t in range(total.size):
        total[t] = ZERO
    for s in range(upper.shape[0]):
        for t in range(total.size):
            total[t] = multiply_add(upper[s, t], mixed[s, t], total[t])


@inner
def weigh_rows(upper, total, importance, each, scaled):
    """Fill ``scaled`` with upper * importance / total; ``each`` is room for a row."""
    for t in range(total.size):
        each[t] = importance[t] / total[t]
    for s in range(upper.shape[0]):
        for t in range(total.size):
            scaled[s, t] = upper[s, t] * each[t]


@inner
def reweigh(importance, after, before):
    """Multiply weights by after / before; return their sum and sum of squares."""
    for t in range(importance.size):
        importance[t] = importance[t] * after[t] / before[t]
    total, squares = full(ZERO, GROUPS), full(ZERO, GROUPS)
    for t in range(0, importance.size, GROUPS):
        w = load(importance, t, GROUPS)
        total += w
        squares = multiply_add(w, w, squares)
    return reduce_add(total), reduce_add(squares)


@inner
def rescale(importance, factor):
    """Multiply all weights by a number."""
    for t in range(importance.size):
        importance[t] *= factor


@inner
def resample_all(states, importance, uniform, parents, room):
    """Draw particles anew in proportion to their weights, which become one.

    One uniform number decides for all ("systematic"), group by group, so that most copies are in
    the group of the one they were copied from.
    """
    n, child, reached = importance.size, 0, 0.0
    each = n // GROUPS
    for place in range(n):
        t = place % each * GROUPS + place // each
        reached += importance[t]
        while child < n and child + uniform < reached:
            parents[child % each * GROUPS + child // each] = t
            child += 1
    while child < n:
        parents[child % each * GROUPS + child // each] = n - 1
        child += 1
    importance[:] = ONE
    for i in range(states.shape[0]):
        row = states[i]
        for t in range(n):
            room[t] = row[parents[t]]
        row[:] = room


@inner
def mix(weights, lower, mixed):
    """Fill ``mixed`` with the product of ``weights`` and ``lower``, four of its rows at a time."""
    n, size = lower.shape[1], lower.shape[0]
    for s in range(weights.shape[0]):
        if size < 4:
            for t in range(n):
                mixed[s, t] = weights[s, 0] * lower[0, t]
            for r in range(1, size):
                for t in range(n):
                    mixed[s, t] = multiply_add(weights[s, r], lower[r, t], mixed[s, t])
            continue
        for r in range(0, size, 4):
            a, b, c, d = weights[s, r], weights[s, r + 1], weights[s, r + 2], weights[s, r + 3]
            keep = ZERO if r == 0 else ONE
            for t in range(n):
                two = multiply_add(b, lower[r + 1, t], a * lower[r, t])
                four = multiply_add(d, lower[r + 3, t], multiply_add(c, lower[r + 2, t], two))
                mixed[s, t] = multiply_add(keep, mixed[s, t], four)


@inner
def add_up(scaled, lower, products):
    """Fill ``products`` with what each group adds to scaled times lower transposed.

    Of the product's entry (s, r), row s times the number of lower rows, plus r, has the sums over
    the particles of every group.
    """
    size, n = lower.shape
    nothing = full(ZERO, GROUPS)
    for r in range(0, size, 4):
        second, third = min(r + 1, size - 1), min(r + 2, size - 1)
        fourth = min(r + 3, size - 1)
        p, q, u, v = lower[r], lower[second], lower[third], lower[fourth]
        for s in range(scaled.shape[0]):
            x = scaled[s]
            a, b, c, d = nothing, nothing, nothing, nothing
            for t in range(0, n, GROUPS):
                value = load(x, t, GROUPS)
                a = multiply_add(value, load(p, t, GROUPS), a)
                b = multiply_add(value, load(q, t, GROUPS), b)
                c = multiply_add(value, load(u, t, GROUPS), c)
                d = multiply_add(value, load(v, t, GROUPS), d)
            store(products[s * size + fourth], 0, d)
            store(products[s * size + third], 0, c)
            store(products[s * size + second], 0, b)
            store(products[s * size + r], 0, a)


@inner
def scale_states(products, weights, n_states, mass):
    """Fill ``mass`` with the sums by group, each state times its weight."""
    for s in range(n_states):
        for t in range(GROUPS):
            mass[s, t] = products[s, t] * weights[s]


@inner
def pick_upper(upper, mixed, total, uniform, running, picked, chosen):
    """Draw the state of the upper half in every particle, with the other half summed out.

    ``total`` is the sum over all states; ``chosen`` gets that over the lower half, given the state
    drawn of the upper.
    """
    n, size = uniform.size, upper.shape[0]
    for t in range(n):
        running[t] = total[t] * uniform[t]
        picked[t] = 0
        chosen[t] = mixed[0, t]
    for s in range(size - 1):
        for t in range(n):
            running[t] = multiply_add(-upper[s, t], mixed[s, t], running[t])
            further = running[t] > ZERO
            picked[t] += np.int32(1) if further else np.int32(0)
            chosen[t] = mixed[s + 1, t] if further else chosen[t]


@inner
def pick_lower(lower, weights, uniform, running, upper_state, picked):
    """Draw the state of the lower half in every particle, given that of the upper half.

    ``running`` comes with the sum over all states of the lower half, given the upper's.
    """
    n, last = uniform.size, weights.shape[0] - 1
    for t in range(n):
        running[t] *= uniform[t]
        picked[t] = 0
    for s in range(lower.shape[0] - 1):
        # the weight of the upper state is found by its bits, of which there are three at most
        w0, w1 = weights[0, s], weights[min(1, last), s]
        w2, w3 = weights[min(2, last), s], weights[min(3, last), s]
        w4, w5 = weights[min(4, last), s], weights[min(5, last), s]
        w6, w7 = weights[min(6, last), s], weights[min(7, last), s]
        for t in range(n):
            state = upper_state[t]
            one, two = (state & ONE_BIT) != 0, (state & TWO_BIT) != 0
            below = (w3 if one else w2) if two else (w1 if one else w0)
            above = (w7 if one else w6) if two else (w5 if one else w4)
            weight = above if state >= FOUR else below
            running[t] = multiply_add(-lower[s, t], weight, running[t])
            picked[t] += np.int32(1) if running[t] > ZERO else np.int32(0)


@inner
def write_bit(state, picked, bit):
    """Set a node's states to a bit of the states drawn."""
    for t in range(state.size):
        state[t] = (picked[t] >> bit) & 1


@inner
def block_weights(energy, first, weights):
    """Fill ``weights`` (upper, lower) with the exponentials of the block's energies."""
    top = largest_of(energy)
    for s in range(energy.size):
        weights[s >> first, s & ((1 << first) - 1)] = np.float32(
            np.exp(max(energy[s] - top, FLOOR))
        )


@inner
def outside_field(i, inside, bias, neighbours, weights, degree, states, some, some_weights, field):
    """Field on a node in every particle: its bias, and neighbours that are not in the block."""
    count = 0
    for m in range(degree[i]):
        j = neighbours[i, m]
        if not inside[j]:
            some[count] = j
            some_weights[count] = weights[i, m]
            count += 1
    accumulate(field, np.float32(bias), some, some_weights, count, states)
