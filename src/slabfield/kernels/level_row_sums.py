r"""Sums over the rows of the data for a weighted pseudo-likelihood of nodes with levels.

When the log weight of level a of a node changes by :math:`\delta_{a b}` in the rows in which
another node has level b, the log conditional of the node changes by

.. math:: \sum_t \delta_{x_t b_t} - \log \sum_a P_{t a} e^{\delta_{a b_t}}

with P its conditional before the change. Pairs of levels are few: a table of exponentials serves
all rows. It is relative to the first level, :math:`e^{\delta_{a b} - \delta_{0 b}}`. Where scores
are equally spaced, its rows are powers of the second one. Factors of many rows are multiplied
before a logarithm is taken.

Arrays are flat: ``n`` rows of a node's first level, then those of the next. Counts of rows are as
in :mod:`slabfield.kernels.pseudo_sums`. Padding has probability one of the first level and count
zero, and adds nothing to any sum.
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
    store,
    where,
)
from slabfield.kernels.pseudo_sums import FACTORS, MANTISSAS, WIDTH
from slabfield.kernels.state_table import LN2, LOWEST, exponentiate

# Largest absolute difference of two log weights in a conditional, beyond which it is cut off
MOST_LOG_WEIGHT = 600.0


@inner
def entry_of(codes, table, begin, n_other):
    """Entries of a table's row, from ``begin`` on, for a vector of levels of the other node."""
    entry = full(table[begin], WIDTH)
    for b in range(1, n_other):
        entry = where(codes >= float(b), table[begin + b], entry)
    return entry


@inner
def factor_at(probability, begin, n, n_levels, even, table, codes, start, n_other, t):
    """The sum over levels of probability times table, in the rows from t on."""
    levels = load(codes, start + t, WIDTH)
    ratio = entry_of(levels, table, n_other, n_other)
    if even:
        factor = load(probability, begin + (n_levels - 1) * n + t, WIDTH)
        for a in range(n_levels - 2, -1, -1):
            factor = multiply_add(factor, ratio, load(probability, begin + a * n + t, WIDTH))
        return factor
    factor = load(probability, begin + t, WIDTH)
    factor = multiply_add(load(probability, begin + n + t, WIDTH), ratio, factor)
    for a in range(2, n_levels):
        ratio = entry_of(levels, table, a * n_other, n_other)
        factor = multiply_add(load(probability, begin + a * n + t, WIDTH), ratio, factor)
    return factor


@inner
def level_log_product(
    probability, begin, n, n_levels, even, table, codes, start, n_other, first, last
):
    """Logarithm of the product of the factors of rows, first to last."""
    powers, product, factors, left = full(0, WIDTH), full(1.0, WIDTH), full(1.0, WIDTH), FACTORS
    # one place computes factors, so that the compiler inlines it
    for t in range(first, last, WIDTH):
        factors *= factor_at(probability, begin, n, n_levels, even, table, codes, start, n_other, t)
        left -= 1
        if left == 0:
            powers += exponents(factors)
            product *= mantissas(factors)
            factors, left = full(1.0, WIDTH), FACTORS
    powers += exponents(factors)
    product *= mantissas(factors)
    powers += exponents(product)
    return LN2 * reduce_add(powers) + math.log(reduce_multiply(mantissas(product)))


@inner
def level_log_sum(
    probability, begin, n, n_levels, even, table, codes, start, n_other, bounds, times
):
    r"""Sum over rows of :math:`\log \sum_a P_a e^{\delta_{a b} - \delta_{0 b}}`.

    ``table`` holds the exponentials, for every level a those of all b; none may be above e^80 or
    below e^-80, so that products of eight factors stay within double precision.
    """
    total = 0.0
    for part in range(times.size):
        end = bounds[part + 1]
        for first in range(bounds[part], end, MANTISSAS * FACTORS * WIDTH):
            last = min(end, first + MANTISSAS * FACTORS * WIDTH)
            total += times[part] * level_log_product(
                probability, begin, n, n_levels, even, table, codes, start, n_other, first, last
            )
    return total


@inner
def tilted_score_sums(
    probability, begin, n, n_levels, even, table, codes, start, n_other, score, deviation, place,
    counts,
):  # fmt: skip
    """Sums over rows of z m and z^2 v: mean and variance of the score after a change.

    z is the deviation of the other node's score, from ``place`` on; ``score`` is that of every
    level of the node.
    """
    first, second = full(0.0, WIDTH), full(0.0, WIDTH)
    for t in range(0, n, WIDTH):
        levels = load(codes, start + t, WIDTH)
        ratio = entry_of(levels, table, n_other, n_other)
        factor, total = full(1.0, WIDTH), load(probability, begin + t, WIDTH)
        mean, square = score[0] * total, score[0] * score[0] * total
        for a in range(1, n_levels):
            if even:
                factor *= ratio
            else:
                factor = entry_of(levels, table, a * n_other, n_other)
            weight = factor * load(probability, begin + a * n + t, WIDTH)
            total += weight
            weight *= score[a]
            mean += weight
            square = multiply_add(weight, score[a], square)
        mean /= total
        variance = square / total - mean * mean
        z = load(deviation, place + t, WIDTH)
        weight = z * load(counts, t, WIDTH)
        first = multiply_add(weight, mean, first)
        second = multiply_add(weight * z, variance, second)
    return reduce_add(first), reduce_add(second)


@inner
def cumulant_sums(cumulant, line, n, deviation, place):
    """Sums over rows of the k-th cumulant times the k-th power of z, for k = 1 to 4.

    ``cumulant`` holds the four cumulants of a node's score times the counts of rows, from ``line``
    on, and z is the deviation of the other node's score.
    """
    s1, s2, s3, s4 = full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH)
    for t in range(0, n, WIDTH):
        z, k = load(deviation, place + t, WIDTH), line + t
        z2 = z * z
        s1 = multiply_add(z, load(cumulant, k, WIDTH), s1)
        s2 = multiply_add(z2, load(cumulant, k + n, WIDTH), s2)
        s3 = multiply_add(z2 * z, load(cumulant, k + 2 * n, WIDTH), s3)
        s4 = multiply_add(z2 * z2, load(cumulant, k + 3 * n, WIDTH), s4)
    return reduce_add(s1), reduce_add(s2), reduce_add(s3), reduce_add(s4)


@inner
def level_moments(
    probability, begin, n, n_levels, table, codes, start, n_other, counts, first, second, share,
    partial,
):  # fmt: skip
    """Sums of the conditionals after a change, and of their products, by level of the other node.

    ``first`` (other levels, levels) and ``second`` (other levels, pairs of levels, the larger
    first). ``share`` is workspace for conditionals, and ``partial`` for vectors of sums.
    """
    n_sums = n_levels * (n_levels + 3) // 2
    partial[: n_other * n_sums * WIDTH] = 0.0
    for t in range(0, n, WIDTH):
        levels, total = load(codes, start + t, WIDTH), full(0.0, WIDTH)
        for a in range(n_levels):
            weight = load(probability, begin + a * n + t, WIDTH)
            weight *= entry_of(levels, table, a * n_other, n_other)
            store(share, a * WIDTH, weight)
            total += weight
        scale, count = 1.0 / total, load(counts, t, WIDTH)
        for a in range(n_levels):
            store(share, a * WIDTH, scale * load(share, a * WIDTH, WIDTH))
        for b in range(n_other):
            up_to = where(levels >= float(b + 1), 0.0, count)
            counted, k = where(levels >= float(b), up_to, 0.0), b * n_sums * WIDTH
            for a in range(n_levels):
                weighted = counted * load(share, a * WIDTH, WIDTH)
                store(partial, k, weighted + load(partial, k, WIDTH))
                k += WIDTH
                for other in range(a + 1):
                    sums = load(partial, k, WIDTH)
                    sums = multiply_add(weighted, load(share, other * WIDTH, WIDTH), sums)
                    store(partial, k, sums)
                    k += WIDTH
    k = 0
    for b in range(n_other):
        place = 0
        for a in range(n_levels):
            first[b, a] = reduce_add(load(partial, k, WIDTH))
            k += WIDTH
            for _ in range(a + 1):
                second[b, place] = reduce_add(load(partial, k, WIDTH))
                place += 1
                k += WIDTH


@inner
def fill_even_conditional(field, step, weight, probability, begin, ratio, powers):
    """Fill in the conditional of a node with equally spaced scores: one exponential per row.

    ``weight`` holds the weights of the levels at field zero, relative to the largest.
    """
    n, n_levels = field.size, weight.size
    most = MOST_LOG_WEIGHT / (n_levels - 1)
    for t in range(n):
        value = step * field[t]
        value = most if value > most else value
        ratio[t] = -most if value < -most else value
    exponentiate(ratio, 0.0, powers, powers.view(np.int64))
    for t in range(0, n, WIDTH):
        by, power, total = load(ratio, t, WIDTH), full(1.0, WIDTH), full(0.0, WIDTH)
        for a in range(n_levels):
            level = weight[a] * power
            store(probability, begin + a * n + t, level)
            total += level
            power *= by
        scale = 1.0 / total
        for a in range(n_levels):
            k = begin + a * n + t
            store(probability, k, scale * load(probability, k, WIDTH))


@inner
def fill_conditional(field, line, n, size, embedding, log_weight, probability, begin, most, powers):
    """Fill in the conditional of a node from its fields, one for each of ``size`` coordinates.

    ``embedding`` has one row for each level. ``most`` is workspace.
    """
    for a in range(embedding.shape[0]):
        level = probability[begin + a * n : begin + (a + 1) * n]
        for t in range(n):
            level[t] = log_weight[a]
        for u in range(size):
            score, part = embedding[a, u], field[line + u * n : line + (u + 1) * n]
            for t in range(n):
                level[t] = multiply_add(score, part[t], level[t])
        for t in range(n):
            most[t] = level[t] if a == 0 or level[t] > most[t] else most[t]
    for a in range(embedding.shape[0]):
        level = probability[begin + a * n : begin + (a + 1) * n]
        for t in range(n):
            level[t] -= most[t]
        exponentiate(level, 0.0, powers, powers.view(np.int64))
    for t in range(0, n, WIDTH):
        total = full(0.0, WIDTH)
        for a in range(embedding.shape[0]):
            total += load(probability, begin + a * n + t, WIDTH)
        scale = 1.0 / total
        for a in range(embedding.shape[0]):
            k = begin + a * n + t
            store(probability, k, scale * load(probability, k, WIDTH))


@inner
def clear_padding(probability, begin, n, n_levels, padding):
    """Give the first level probability one in the padding."""
    for t in padding:
        for a in range(n_levels):
            probability[begin + a * n + t] = 1.0 if a == 0 else 0.0


@inner
def fill_cumulants(probability, begin, n, score, counts, cumulant, line):
    """Fill in the first four cumulants of a node's score, times the counts of rows."""
    for t in range(0, n, WIDTH):
        mean = full(0.0, WIDTH)
        for a in range(score.size):
            mean = multiply_add(load(probability, begin + a * n + t, WIDTH), score[a], mean)
        m2, m3, m4 = full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH)
        for a in range(score.size):
            deviation = score[a] - mean
            square = deviation * deviation
            part = square * load(probability, begin + a * n + t, WIDTH)
            m2 += part
            m3 = multiply_add(part, deviation, m3)
            m4 = multiply_add(part, square, m4)
        count = load(counts, t, WIDTH)
        store(cumulant, line + t, count * mean)
        store(cumulant, line + n + t, count * m2)
        store(cumulant, line + 2 * n + t, count * m3)
        store(cumulant, line + 3 * n + t, count * (m4 - 3.0 * m2 * m2))


@inner
def relative_weights(log_weight):
    """Replace log weights of levels by weights relative to the largest, at least e^-700."""
    largest = log_weight[0]
    for a in range(1, log_weight.size):
        largest = max(largest, log_weight[a])
    for a in range(log_weight.size):
        log_weight[a] = math.exp(max(log_weight[a] - largest, LOWEST))
