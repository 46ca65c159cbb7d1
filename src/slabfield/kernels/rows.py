r"""Sums over the rows of the data that a weighted pseudo-likelihood needs.

When the field of a node moves by :math:`d_t` in row t, its conditionals change by

.. math:: \sum_t x_t d_t - \log(1 + p_t (e^{d_t} - 1)), \quad p_t = \sigma(h_t)

with p taken before. For a coupling that moves by a, centred at u, d is -u a in the rows in which
the other node is 0, and (1 - u) a where it is 1: two exponentials for all rows. The factors of
several rows are multiplied before a logarithm is taken, so that none is needed for each row.

Arrays hold a node's rows in one line, (D, n), or the same memory as (D, SEGMENTS, m): factors are
multiplied across segments. A row that the data have several times is held once, and counts
``times``; the m places of a segment are cut, at ``bounds``, into those of rows that count the same.
Places that only fill up the segments have p = 0 and x = 0, and add nothing to any sum.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import fast, inner
from slabfield.kernels.table import LN2, exponentiate

SEGMENTS = 8
# Mantissas, each between 1 and 2, that are multiplied before a logarithm
MANTISSAS = 512
MOST_PRODUCT = 1e300
MANTISSA_MASK = (1 << 52) - 1
ONE_BITS = 1023 << 52
# Fields beyond this count as this, in a probability
MOST_FIELD = 700.0


@fast
def multiply_rows(p, x, i, j, low, change, room):
    """Fill ``room`` with products of 1 + p_i (low + x_j change) across segments."""
    for t in range(p.shape[2]):
        first = 1.0 + p[i, 0, t] * (low + x[j, 0, t] * change)
        second = 1.0 + p[i, 1, t] * (low + x[j, 1, t] * change)
        third = 1.0 + p[i, 2, t] * (low + x[j, 2, t] * change)
        fourth = 1.0 + p[i, 3, t] * (low + x[j, 3, t] * change)
        first *= 1.0 + p[i, 4, t] * (low + x[j, 4, t] * change)
        second *= 1.0 + p[i, 5, t] * (low + x[j, 5, t] * change)
        third *= 1.0 + p[i, 6, t] * (low + x[j, 6, t] * change)
        fourth *= 1.0 + p[i, 7, t] * (low + x[j, 7, t] * change)
        room[t] = (first * second) * (third * fourth)


@fast
def take_exponents(bits):
    """Sum of the exponents of positive numbers, given by their bits; leave their mantissas."""
    total = 0
    for t in range(bits.size):
        total += (bits[t] >> 52) - 1023
        bits[t] = (bits[t] & MANTISSA_MASK) | ONE_BITS
    return total


@fast
def product_of(values):
    """Product of an array."""
    product = 1.0
    for t in range(values.size):
        product *= values[t]
    return product


@inner
def log_sum(p, x, i, j, low, change, room, bits, bounds, times):
    r"""Sum over rows of :math:`\log(1 + p_i (e^d - 1))`, where e^d - 1 is low + x_j change.

    No |d| may exceed 80, so that products of eight factors stay within double precision. ``room``
    holds as many numbers as a segment, and ``bits`` is the same room seen as integers.
    """
    multiply_rows(p, x, i, j, low, change, room)
    if times.size > 1:
        return log_parts(room, bits, bounds, times)
    total = take_exponents(bits) * LN2
    if room.size <= MANTISSAS:
        return times[0] * (total + math.log(product_of(room)))
    for begin in range(0, room.size, MANTISSAS):
        total += math.log(product_of(room[begin : begin + MANTISSAS]))
    return times[0] * total


@inner
def log_parts(room, bits, bounds, times):
    """Sum of the logarithms of positive numbers, those of each part so many times.

    Most parts are short where there are many: they are gone through one by one.
    """
    total = 0.0
    for part in range(times.size):
        exponents, product, once = 0, 1.0, 0.0
        for t in range(bounds[part], bounds[part + 1]):
            exponents += (bits[t] >> 52) - 1023
            bits[t] = (bits[t] & MANTISSA_MASK) | ONE_BITS
            product *= room[t]
            if product > MOST_PRODUCT:
                once += math.log(product)
                product = 1.0
        total += times[part] * (once + exponents * LN2 + math.log(product))
    return total


@fast
def tilted_sums(p, x, counted, i, j, low, change):
    """Sums of p and p (1 - p) after fields moved: over all rows, and where x is 1.

    Row t counts ``counted[t]``.
    """
    s, v, sx, vx = 0.0, 0.0, 0.0, 0.0
    for t in range(p.shape[1]):
        factor = low + x[j, t] * change
        tilted = p[i, t] * (1.0 + factor) / (1.0 + p[i, t] * factor)
        spread = counted[t] * (tilted - tilted * tilted)
        tilted *= counted[t]
        s += tilted
        v += spread
        sx += x[j, t] * tilted
        vx += x[j, t] * spread
    return s, v, sx, vx


@fast
def power_sums(p, ones, i, j):
    """Sums of p, p^2, p^3 and p^4 of node i over the rows in which node j is 1.

    ``ones`` is what each of these rows counts, and 0 in the others.
    """
    s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0
    for t in range(p.shape[1]):
        q1 = ones[j, t] * p[i, t]
        q2 = q1 * p[i, t]
        q3 = q2 * p[i, t]
        s1 += q1
        s2 += q2
        s3 += q3
        s4 += q3 * p[i, t]
    return s1, s2, s3, s4


@fast
def shift_field(field, x, low, change):
    """Add low + x change to a field."""
    for t in range(field.size):
        field[t] += low + x[t] * change


@fast
def negative_of(field, target):
    """Fill ``target`` with minus the field, within bounds."""
    for t in range(field.size):
        value = -field[t]
        target[t] = MOST_FIELD if value > MOST_FIELD else value


@fast
def invert(values):
    """Replace e^-h by 1 / (1 + e^-h)."""
    for t in range(values.size):
        values[t] = 1.0 / (1.0 + values[t])


@inner
def fill_probability(field, p, powers, empty):
    """Fill p with the logistic function of the field, and with zeros at empty places."""
    negative_of(field, p)
    exponentiate(p, 0.0, powers, powers.view(np.int64))
    invert(p)
    for place in empty:
        p[place] = 0.0


@fast
def total_powers(p, counted, total):
    """Fill ``total`` with the sums of p, p^2, p^3 and p^4; row t counts ``counted[t]``."""
    s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0
    for t in range(p.size):
        q1 = counted[t] * p[t]
        q2 = q1 * p[t]
        q3 = q2 * p[t]
        s1 += q1
        s2 += q2
        s3 += q3
        s4 += q3 * p[t]
    total[0], total[1], total[2], total[3] = s1, s2, s3, s4
