r"""Joint table of a block of nodes, averaged over particles given the rest of each particle.

In one particle the state x of the block has the conditional probability

.. math:: P(x \mid x_{rest}) = w(x)\, l(x_{low})\, u(x_{up}) / z

where w is the weight from couplings within the block, and l and u are the weights from the fields
of nodes outside it on the lower and the upper half of its nodes (equation 18). Means over particles
are matrix products of l and u.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import full, inner, load, multiply_add, polynomial, reduce_add, store
from slabfield.kernels.gibbs import accumulate
from slabfield.kernels.state_table import largest_of

LOG2E = np.float32(1.4426950408889634)
LN2 = np.float32(0.6931471805599453)
# Smallest exponent; e^-80 is still a normal number in single precision
LOWEST = np.float32(-80.0)
# Largest magnitude of a field (log odds) that is exponentiated in single precision
FURTHEST = np.float32(25.0)
# and of a field plus a coupling: the product with another exponential then stays finite
FURTHEST_SUM = np.float32(60.0)
# Smallest log weight of a block's state, relative to the largest: the normalizer of every particle,
# and quotients by it, then stay within single precision
FLOOR = -70.0
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
TAYLOR = tuple(np.float32(1.0 / math.factorial(k)) for k in range(7))
# A 24-bit integer times this is in [0, 1)
SCALE = np.float32(2.0**-24)
# Number of independent groups of particles: the variance between groups estimates the Monte Carlo
# variance of their sum; particle t is in group t % GROUPS
GROUPS = 16
ONE_BIT, TWO_BIT, FOUR = np.int32(1), np.int32(2), np.int32(4)


@inner
def exponentiate_single(values, powers, bits):
    """Replace values below 88 by their exponentials, to 1e-7 relative and at least e^-80.

    ``powers`` is a buffer for powers of two, and ``bits`` the same memory as 32-bit integers.
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
def fill_uniform(streams, uniform):
    """Draw one uniform number on (0, 1) from the random stream of every particle (xoshiro128+)."""
    s0, s1, s2, s3 = streams[0], streams[1], streams[2], streams[3]
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
def fill_node_probability(field, low, probability):
    """Fill in the probability of 1 in every particle, given the field h and e^-|h|."""
    for t in range(field.size):
        small = low[t]
        probability[t] = (ONE if field[t] > ZERO else small) / (ONE + small)


@inner
def joint_exponents(field, partner, weight, with_partner):
    """Clip two fields, and the second plus the coupling, so that exponentials stay finite."""
    for t in range(field.size):
        h, g = field[t], partner[t]
        h = -FURTHEST if h < -FURTHEST else FURTHEST if h > FURTHEST else h
        g = -FURTHEST if g < -FURTHEST else FURTHEST if g > FURTHEST else g
        both = g + weight
        both = -FURTHEST_SUM if both < -FURTHEST_SUM else both
        both = FURTHEST_SUM if both > FURTHEST_SUM else both
        field[t], partner[t], with_partner[t] = h, g, both


@inner
def joint_probability(field, partner, with_partner, probability):
    """Fill in the probability of 1, a neighbor summed out, from the exponentials of the fields."""
    for t in range(field.size):
        one = field[t] * (ONE + with_partner[t])
        probability[t] = one / (one + ONE + partner[t])


@inner
def group_sums(values, sums):
    """Sum values over the particles of every group."""
    total = full(ZERO, GROUPS)
    for t in range(0, values.size, GROUPS):
        total += load(values, t, GROUPS)
    store(sums, 0, total)


@inner
def group_products(one, other, sums):
    """Sum the products of two rows over the particles of every group."""
    total = full(ZERO, GROUPS)
    for t in range(0, one.size, GROUPS):
        total = multiply_add(load(one, t, GROUPS), load(other, t, GROUPS), total)
    store(sums, 0, total)


@inner
def branch_single(source, target, field, low):
    """Single-precision version of :func:`slabfield.kernels.block_table.branch`."""
    for t in range(source.size):
        before, small, positive = source[t], low[t], field[t] > ZERO
        target[t] = before if positive else before * small
        source[t] = before * small if positive else before


@inner
def sum_products(upper, mixed, total):
    """Fill in the normalizer of every particle: the sum of upper * mixed over the rows."""
    for t in range(total.size):
        total[t] = ZERO
    for s in range(upper.shape[0]):
        for t in range(total.size):
            total[t] = multiply_add(upper[s, t], mixed[s, t], total[t])


@inner
def weigh_rows(upper, total, importance, ratio, scaled):
    """Fill ``scaled`` with upper * importance / total; ``ratio`` is a buffer for one row."""
    for t in range(total.size):
        ratio[t] = importance[t] / total[t]
    for s in range(upper.shape[0]):
        for t in range(total.size):
            scaled[s, t] = upper[s, t] * ratio[t]


@inner
def reweigh(importance, after, before):
    """Multiply importance weights by after / before; return their sum and sum of squares."""
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
    """Multiply all importance weights by a factor."""
    for t in range(importance.size):
        importance[t] *= factor


@inner
def resample_all(states, importance, uniform, parents, buffer):
    """Resample particles in proportion to their importance weights, which become one.

    Systematic resampling: one uniform number for all particles. It goes group by group, so that
    most copies stay in the group of their parent.
    """
    n, child, cumulative = importance.size, 0, 0.0
    group_size = n // GROUPS
    for place in range(n):
        t = place % group_size * GROUPS + place // group_size
        cumulative += importance[t]
        while child < n and child + uniform < cumulative:
            parents[child % group_size * GROUPS + child // group_size] = t
            child += 1
    while child < n:
        parents[child % group_size * GROUPS + child // group_size] = n - 1
        child += 1
    importance[:] = ONE
    for i in range(states.shape[0]):
        row = states[i]
        for t in range(n):
            buffer[t] = row[parents[t]]
        row[:] = buffer


@inner
def mix(weights, lower, mixed):
    """Fill ``mixed`` with the matrix product of ``weights`` and ``lower``, four rows at a time."""
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
    """Fill ``products`` with scaled times lower transposed, summed separately in each group.

    Row s * (number of lower rows) + r of ``products`` holds the sums of entry (s, r), one for the
    particles of each group.
    """
    size, n = lower.shape
    zeros = full(ZERO, GROUPS)
    for r in range(0, size, 4):
        second, third = min(r + 1, size - 1), min(r + 2, size - 1)
        fourth = min(r + 3, size - 1)
        p, q, u, v = lower[r], lower[second], lower[third], lower[fourth]
        for s in range(scaled.shape[0]):
            x = scaled[s]
            a, b, c, d = zeros, zeros, zeros, zeros
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
def scale_states(products, weights, n_states, table):
    """Fill ``table`` with the sums by group, those of each state times its weight."""
    for s in range(n_states):
        for t in range(GROUPS):
            table[s, t] = products[s, t] * weights[s]


@inner
def pick_upper(upper, mixed, total, uniform, running, picked, chosen):
    """Draw the state of the upper half in every particle, the lower half summed out.

    ``total`` is the normalizer. ``chosen`` becomes the normalizer of the lower half, given the
    state drawn for the upper half.
    """
    n, size = uniform.size, upper.shape[0]
    for t in range(n):
        running[t] = total[t] * uniform[t]
        picked[t] = 0
        chosen[t] = mixed[0, t]
    for s in range(size - 1):
        for t in range(n):
            running[t] = multiply_add(-upper[s, t], mixed[s, t], running[t])
            beyond = running[t] > ZERO
            picked[t] += np.int32(1) if beyond else np.int32(0)
            chosen[t] = mixed[s + 1, t] if beyond else chosen[t]


@inner
def pick_lower(lower, weights, uniform, running, upper_state, picked):
    """Draw the state of the lower half in every particle, given the state of the upper half.

    On entry ``running`` is the normalizer of the lower half, given the upper half.
    """
    n, last = uniform.size, weights.shape[0] - 1
    for t in range(n):
        running[t] *= uniform[t]
        picked[t] = 0
    for s in range(lower.shape[0] - 1):
        # select the weight of the upper state by its bits, of which there are at most three
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
    """Set the states of a node to one bit of the block states drawn."""
    for t in range(state.size):
        state[t] = (picked[t] >> bit) & 1


@inner
def block_weights(energy, first, weights):
    """Fill ``weights`` (upper, lower) with the exponentials of the block's log weights."""
    largest = largest_of(energy)
    for s in range(energy.size):
        weights[s >> first, s & ((1 << first) - 1)] = np.float32(
            np.exp(max(energy[s] - largest, FLOOR))
        )


@inner
def outside_field(
    i, inside, bias, neighbors, weights, degree, states, listed, listed_weights, field
):
    """Fill in a node's field in every particle: bias plus neighbors outside the block."""
    count = 0
    for m in range(degree[i]):
        j = neighbors[i, m]
        if not inside[j]:
            listed[count] = j
            listed_weights[count] = weights[i, m]
            count += 1
    accumulate(field, np.float32(bias), listed, listed_weights, count, states)
