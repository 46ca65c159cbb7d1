r"""Sums over the rows of the data that a weighted pseudo-likelihood needs.

When the field of a node moves by :math:`d_t` in row t, its conditionals change by

.. math:: \sum_t x_t d_t - \log(1 + p_t (e^{d_t} - 1)), \quad p_t = \sigma(h_t)

with p taken before. For a coupling that moves by a, centred at u, d is -u a in the rows in which
the other node is 0, and (1 - u) a where it is 1: two exponentials for all rows. The factors of
several rows are multiplied before a logarithm is taken, so that none is needed for each row.

The rows of a node are (SEGMENTS, m): factors are multiplied across segments. Rows that only fill
up the last segment have p = 0 and x = 0, and add nothing to any sum.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import fast, inner
from slabfield.kernels.table import exponentiate

SEGMENTS = 8
# Mantissas, each between 1 and 2, that are multiplied before a logarithm
MANTISSAS = 512
MANTISSA_MASK = (1 << 52) - 1
ONE_BITS = 1023 << 52
# Fields beyond this count as this, in a probability
MOST_FIELD = 700.0


@fast
def multiply_rows(p, x, low, change, room):
    """Fill ``room`` with products of 1 + p (low + x change) across segments."""
    p0, p1, p2, p3, p4, p5, p6, p7 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
    x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    for t in range(p.shape[1]):
        first = (1.0 + p0[t] * (low + x0[t] * change)) * (1.0 + p1[t] * (low + x1[t] * change))
        second = (1.0 + p2[t] * (low + x2[t] * change)) * (1.0 + p3[t] * (low + x3[t] * change))
        third = (1.0 + p4[t] * (low + x4[t] * change)) * (1.0 + p5[t] * (low + x5[t] * change))
        fourth = (1.0 + p6[t] * (low + x6[t] * change)) * (1.0 + p7[t] * (low + x7[t] * change))
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
def log_sum(p, x, low, change, room):
    r"""Sum over rows of :math:`\log(1 + p (e^d - 1))`, where e^d - 1 is low + x change.

    No |d| may exceed 80, so that products of eight factors stay within double precision.
    """
    products = room[: p.shape[1]]
    multiply_rows(p, x, low, change, products)
    exponents = take_exponents(products.view(np.int64))
    total = exponents * math.log(2.0)
    for begin in range(0, products.size, MANTISSAS):
        total += math.log(product_of(products[begin : begin + MANTISSAS]))
    return total


@fast
def tilted_sums(p, x, low, change):
    """Sums of p and p (1 - p) after fields moved: over all rows, and where x is 1."""
    s, v, sx, vx = 0.0, 0.0, 0.0, 0.0
    for t in range(p.size):
        factor = low + x[t] * change
        tilted = p[t] * (1.0 + factor) / (1.0 + p[t] * factor)
        spread = tilted - tilted * tilted
        s += tilted
        v += spread
        sx += x[t] * tilted
        vx += x[t] * spread
    return s, v, sx, vx


@fast
def power_sums(p, x):
    """Sums of p, p^2, p^3 and p^4 over the rows in which x is 1."""
    s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0
    for t in range(p.size):
        q1 = x[t] * p[t]
        q2 = q1 * p[t]
        q3 = q2 * p[t]
        s1 += q1
        s2 += q2
        s3 += q3
        s4 += q3 * p[t]
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
def fill_probability(field, p, powers, n_rows):
    """Fill p with the logistic function of the field, and with zeros beyond the rows."""
    negative_of(field, p)
    exponentiate(p, 0.0, powers, powers.view(np.int64))
    invert(p)
    p[n_rows:] = 0.0


@fast
def total_powers(p, total):
    """Fill ``total`` with the sums of p, p^2, p^3 and p^4."""
    s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0
    for t in range(p.size):
        q2 = p[t] * p[t]
        s1 += p[t]
        s2 += q2
        s3 += q2 * p[t]
        s4 += q2 * q2
    total[0], total[1], total[2], total[3] = s1, s2, s3, s4
