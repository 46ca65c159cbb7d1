r"""Sub-cubes from particles: the states of a block of nodes, given the rest of every particle.

In one particle the block's state x has the conditional probability

.. math:: P(x \mid x_{rest}) = w(x)\, l(x_{low})\, u(x_{up}) / z

with w the couplings within the block, and l and u the fields from outside on the first and on the
other half of its nodes (equation 18). Means over particles are matrix products of l and u.
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import fast, inner
from slabfield.kernels.gibbs import accumulate
from slabfield.kernels.table import largest_of

LOG2E = np.float32(1.4426950408889634)
LN2 = np.float32(0.6931471805599453)
LOWEST = np.float32(-80.0)
FURTHEST = np.float32(25.0)
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
C2, C3, C4, C5, C6 = (np.float32(1.0 / f) for f in (2, 6, 24, 120, 720))
SCALE = np.float32(2.0**-24)
ONE_BIT, TWO_BIT, FOUR = np.int32(1), np.int32(2), np.int32(4)


@fast
def exponentiate_single(values, powers, bits):
    """Replace values of at most zero by their exponentials, to 1e-7; below e^-80 they become it.

    ``powers`` is room for powers of two, and ``bits`` the same room seen as 32-bit integers.
    """
    for t in range(values.size):
        x = values[t]
        x = LOWEST if x < LOWEST else x
        k = np.floor(x * LOG2E + HALF)
        r = x - k * LN2
        values[t] = ONE + r * (ONE + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * C6)))))
        bits[t] = np.int32(np.int32(np.int32(k) + np.int32(127)) << np.int32(23))
    for t in range(values.size):
        values[t] *= powers[t]


@fast
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


@fast
def negative_size(field, low):
    """Fill ``low`` with -|h|."""
    for t in range(field.size):
        low[t] = -field[t] if field[t] > ZERO else field[t]


@fast
def chance_of(field, low, chance):
    """Probability of 1 in every particle, given the field h and e^-|h|."""
    for t in range(field.size):
        small = low[t]
        chance[t] = (ONE if field[t] > ZERO else small) / (ONE + small)


@fast
def joint_exponents(field, partner, weight, with_partner):
    """Keep fields within what single precision can exponentiate; add the coupling to one."""
    for t in range(field.size):
        h, g = field[t], partner[t]
        h = -FURTHEST if h < -FURTHEST else FURTHEST if h > FURTHEST else h
        g = -FURTHEST if g < -FURTHEST else FURTHEST if g > FURTHEST else g
        field[t], partner[t], with_partner[t] = h, g, g + weight


@fast
def joint_chance(field, partner, with_partner, chance):
    """Probability of 1 with a partner summed out, from the exponentials of their fields."""
    for t in range(field.size):
        one = field[t] * (ONE + with_partner[t])
        chance[t] = one / (one + ONE + partner[t])


@fast
def lane_sums(values, sums):
    """Sum the values of every lane's particles."""
    width = values.size // sums.size
    for lane in range(sums.size):
        total = ZERO
        for t in range(width):
            total += values[lane * width + t]
        sums[lane] = total


@fast
def lane_products(one, other, sums):
    """Sum the products of two rows over every lane's particles."""
    width = one.size // sums.size
    for lane in range(sums.size):
        total = ZERO
        for t in range(width):
            total += one[lane * width + t] * other[lane * width + t]
        sums[lane] = total


@fast
def branch_single(source, target, field, low):
    """As :func:`slabfield.kernels.cube.branch`, in single precision."""
    for t in range(source.size):
        before, small, positive = source[t], low[t], field[t] > ZERO
        target[t] = before if positive else before * small
        source[t] = before * small if positive else before


@fast
def sum_products(upper, mixed, total):
    """Normaliser of every particle: the sum of upper * mixed over the rows."""
    for t in range(total.size):
        total[t] = ZERO
    for s in range(upper.shape[0]):
        for t in range(total.size):
            total[t] += upper[s, t] * mixed[s, t]


@fast
def weigh_rows(upper, total, importance, each, scaled):
    """Fill ``scaled`` with upper * importance / total; ``each`` is room for a row."""
    for t in range(total.size):
        each[t] = importance[t] / total[t]
    for s in range(upper.shape[0]):
        for t in range(total.size):
            scaled[s, t] = upper[s, t] * each[t]


@fast
def reweigh(importance, after, before):
    """Multiply weights by after / before; return their sum and sum of squares."""
    total, squares = ZERO, ZERO
    for t in range(importance.size):
        w = importance[t] * after[t] / before[t]
        importance[t] = w
        total += w
        squares += w * w
    return total, squares


@fast
def rescale(importance, factor):
    """Multiply all weights by a number."""
    for t in range(importance.size):
        importance[t] *= factor


@inner
def resample_all(states, importance, uniform, parents, room):
    """Draw particles anew in proportion to their weights, which become one.

    One uniform number decides for all ("systematic"), so that copies stay near their places: most
    in the lane of the one they were copied from.
    """
    n, child, reached = importance.size, 0, 0.0
    for t in range(n):
        reached += importance[t]
        while child < n and child + uniform < reached:
            parents[child] = t
            child += 1
    parents[child:] = n - 1
    importance[:] = ONE
    for i in range(states.shape[0]):
        row = states[i]
        for t in range(n):
            room[t] = row[parents[t]]
        row[:] = room


@fast
def mix(weights, lower, mixed):
    """Fill ``mixed`` with the product of ``weights`` and ``lower``, four of its rows at a time."""
    n, size = lower.shape[1], lower.shape[0]
    for s in range(weights.shape[0]):
        if size < 4:
            for t in range(n):
                mixed[s, t] = weights[s, 0] * lower[0, t]
            for r in range(1, size):
                for t in range(n):
                    mixed[s, t] += weights[s, r] * lower[r, t]
            continue
        for r in range(0, size, 4):
            a, b, c, d = weights[s, r], weights[s, r + 1], weights[s, r + 2], weights[s, r + 3]
            keep = ZERO if r == 0 else ONE
            for t in range(n):
                mixed[s, t] = (
                    keep * mixed[s, t] + (a * lower[r, t] + b * lower[r + 1, t])
                    + (c * lower[r + 2, t] + d * lower[r + 3, t])
                )  # fmt: skip


@fast
def four_dots(x, p, q, r, s):
    """Products of one row with four others."""
    a, b, c, d = ZERO, ZERO, ZERO, ZERO
    for t in range(x.size):
        a += x[t] * p[t]
        b += x[t] * q[t]
        c += x[t] * r[t]
        d += x[t] * s[t]
    return a, b, c, d


@inner
def add_up(scaled, lower, begin, end, products):
    """Fill ``products`` with scaled times lower transposed, over the particles begin to end.

    Rows are cut out first: from an index that might be negative no vector code is made.
    """
    size = lower.shape[0]
    for r in range(0, size, 4):
        second, third = min(r + 1, size - 1), min(r + 2, size - 1)
        fourth = min(r + 3, size - 1)
        p, q = lower[r, begin:end], lower[second, begin:end]
        u, v = lower[third, begin:end], lower[fourth, begin:end]
        for s in range(scaled.shape[0]):
            a, b, c, d = four_dots(scaled[s, begin:end], p, q, u, v)
            products[s, fourth], products[s, third] = d, c
            products[s, second], products[s, r] = b, a


@fast
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
            running[t] -= upper[s, t] * mixed[s, t]
            further = running[t] > ZERO
            picked[t] += np.int32(1) if further else np.int32(0)
            chosen[t] = mixed[s + 1, t] if further else chosen[t]


@fast
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
            running[t] -= lower[s, t] * (above if state >= FOUR else below)
            picked[t] += np.int32(1) if running[t] > ZERO else np.int32(0)


@fast
def write_bit(state, picked, bit):
    """Set a node's states to a bit of the states drawn."""
    for t in range(state.size):
        state[t] = (picked[t] >> bit) & 1


@inner
def block_weights(energy, first, weights):
    """Fill ``weights`` (upper, lower) with the exponentials of the block's energies."""
    top = largest_of(energy)
    for s in range(energy.size):
        weights[s >> first, s & ((1 << first) - 1)] = np.float32(np.exp(energy[s] - top))


@inner
def outside_field(i, inside, bias, neighbours, weights, degree, states, some, some_weights, field):
    """Field on a node in every particle, from neighbours that are not in the block."""
    count = 0
    for m in range(degree[i]):
        j = neighbours[i, m]
        if not inside[j]:
            some[count] = j
            some_weights[count] = weights[i, m]
            count += 1
    accumulate(field, np.float32(bias[i]), some, some_weights, count, states)
