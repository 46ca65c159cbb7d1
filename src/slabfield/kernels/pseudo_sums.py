r"""Sums over the rows of the data for a weighted pseudo-likelihood.

When the field of a node changes by :math:`d_t` in row t, its log conditional changes by

.. math:: \sum_t x_t d_t - \log(1 + p_t (e^{d_t} - 1)), \quad p_t = \sigma(h_t)

with p before the change. For a coupling that changes by a, centered at u, d is -u a in the rows in
which the other node is 0, and (1 - u) a where it is 1: two exponentials serve all rows. Factors of
many rows are multiplied before a logarithm is taken.

Arrays hold all rows of a node contiguously, (D, n). Rows that occur several times in the data are
stored once with a count, ``times``; rows of equal count are stored together, from one of ``bounds``
to the next, all multiples of ``WIDTH``. Padding has p = 0 and x = 0, and adds nothing to any sum.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import (
    exponents,
    full,
    inner,
    load,
    mantissas,
    multiply_add,
    reduce_add,
    reduce_multiply,
)
from slabfield.kernels.state_table import LN2, exponentiate

# Number of rows processed at a time (vector width)
WIDTH = 8
# Number of vectors of factors multiplied before exponents and mantissas are separated, and number
# of vectors of mantissas, each between 1 and 2, multiplied before a logarithm is taken
FACTORS, MANTISSAS = 8, 512
# Largest -h that is exponentiated in the probability 1 / (1 + e^-h)
MOST_FIELD = 700.0


@inner
def log_sum(p, x, i, j, low, change, bounds, times):
    r"""Sum over rows of :math:`\log(1 + p_i (e^d - 1))`, where e^d - 1 is low + x_j change.

    No |d| may exceed 80, so that products of eight factors stay within double precision.
    """
    total, ps, xs = 0.0, p[i], x[j]
    for part in range(times.size):
        end = bounds[part + 1]
        for begin in range(bounds[part], end, MANTISSAS * FACTORS * WIDTH):
            stop = min(end, begin + MANTISSAS * FACTORS * WIDTH)
            total += times[part] * log_product(ps, xs, low, change, begin, stop)
    return total


@inner
def log_product(p, x, low, change, begin, end):
    """Logarithm of the product of 1 + p (low + x change) over rows, begin to end."""
    step = FACTORS * WIDTH
    whole = end - (end - begin) % step
    powers, product = full(0, WIDTH), full(1.0, WIDTH)
    for t in range(begin, whole, step):
        first = factor_at(p, x, low, change, t) * factor_at(p, x, low, change, t + WIDTH)
        second = factor_at(p, x, low, change, t + 2 * WIDTH)
        second *= factor_at(p, x, low, change, t + 3 * WIDTH)
        third = factor_at(p, x, low, change, t + 4 * WIDTH)
        third *= factor_at(p, x, low, change, t + 5 * WIDTH)
        fourth = factor_at(p, x, low, change, t + 6 * WIDTH)
        fourth *= factor_at(p, x, low, change, t + 7 * WIDTH)
        factors = (first * second) * (third * fourth)
        powers += exponents(factors)
        product *= mantissas(factors)
    left = full(1.0, WIDTH)
    for t in range(whole, end, WIDTH):
        left *= factor_at(p, x, low, change, t)
    powers += exponents(left)
    product *= mantissas(left)
    powers += exponents(product)
    return LN2 * reduce_add(powers) + math.log(reduce_multiply(mantissas(product)))


@inner
def factor_at(p, x, low, change, t):
    """1 + p (low + x change) in the rows from t on."""
    return multiply_add(load(p, t, WIDTH), multiply_add(load(x, t, WIDTH), change, low), 1.0)


@inner
def tilted_sums(p, x, counts, i, j, low, change):
    """Sums of p and p (1 - p) after a change of fields, over all rows and where x is 1.

    ``counts[t]`` is the count of row t.
    """
    ps, xs = p[i], x[j]
    s, v, sx, vx = full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH)
    for t in range(0, ps.size, WIDTH):
        probability, one, count = load(ps, t, WIDTH), load(xs, t, WIDTH), load(counts, t, WIDTH)
        factor = multiply_add(one, change, low)
        tilted = multiply_add(probability, factor, probability)
        tilted /= multiply_add(probability, factor, 1.0)
        variance = count * (tilted - tilted * tilted)
        tilted *= count
        s += tilted
        v += variance
        sx = multiply_add(one, tilted, sx)
        vx = multiply_add(one, variance, vx)
    return reduce_add(s), reduce_add(v), reduce_add(sx), reduce_add(vx)


@inner
def sums_of_powers(p, counts):
    """Sums of p, p^2, p^3 and p^4; ``counts[t]`` is the count of row t."""
    s1, s2, s3, s4 = full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH)
    for t in range(0, p.size, WIDTH):
        value = load(p, t, WIDTH)
        q1 = load(counts, t, WIDTH) * value
        q2 = q1 * value
        q3 = q2 * value
        s1 += q1
        s2 += q2
        s3 += q3
        s4 = multiply_add(q3, value, s4)
    return reduce_add(s1), reduce_add(s2), reduce_add(s3), reduce_add(s4)


@inner
def power_sums(p, ones, i, j):
    """Sums of p, p^2, p^3 and p^4 of node i over the rows in which node j is 1.

    ``ones[j]`` is the count of these rows, and 0 in the others.
    """
    return sums_of_powers(p[i], ones[j])


@inner
def shift_field(field, x, low, change):
    """Add low + x change to a field, in place."""
    for t in range(field.size):
        field[t] += multiply_add(x[t], change, low)


@inner
def negative_of(field, target):
    """Fill ``target`` with minus the field, at most MOST_FIELD."""
    for t in range(field.size):
        value = -field[t]
        target[t] = MOST_FIELD if value > MOST_FIELD else value


@inner
def invert(values):
    """Replace e^-h by 1 / (1 + e^-h)."""
    for t in range(values.size):
        values[t] = 1.0 / (1.0 + values[t])


@inner
def fill_probability(field, p, powers, padding):
    """Fill p with the logistic function of the field, and with zeros in the padding."""
    negative_of(field, p)
    exponentiate(p, 0.0, powers, powers.view(np.int64))
    invert(p)
    for t in padding:
        p[t] = 0.0


@inner
def total_powers(p, counts, total):
    """Fill ``total`` with the sums of p, p^2, p^3 and p^4; ``counts[t]`` is the count of row t."""
    total[0], total[1], total[2], total[3] = sums_of_powers(p, counts)
