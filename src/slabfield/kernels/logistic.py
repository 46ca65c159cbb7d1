r"""Sums over rows for L1-penalized logistic regressions on 0/1 predictors.

Predictors are rows of ``columns``, (D, N), so that each one is contiguous. Objectives are sums over
the rows, not means: the caller multiplies strengths by the number of rows.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import (
    fold_add,
    full,
    inner,
    load,
    multiply_add,
    reduce_add,
    reduce_multiply,
    store,
    where,
)
from slabfield.kernels.state_table import NARROW, WIDE, exponentiate

# Number of rows summed at a time (vector width)
WIDTH = 8
LOG_BLOCK = 64
"""Number of factors, each at most 2, multiplied before one logarithm is taken."""


@inner
def minus_absolute(predictor, out):
    """Fill ``out`` with minus the absolute values of the linear predictor."""
    for r in range(out.size):
        out[r] = -abs(predictor[r])


@inner
def finish_statistics(predictor, target, small, residual, weight):
    """Fill residuals and weights, given exp(-|predictor|); return the sum of the linear parts."""
    whole = predictor.size - predictor.size % WIDTH
    linear, total = full(0.0, WIDTH), 0.0
    for r in range(0, whole, WIDTH):
        eta, e, y = load(predictor, r, WIDTH), load(small, r, WIDTH), load(target, r, WIDTH)
        share = 1.0 / (1.0 + e)
        store(residual, r, y - where(eta >= 0.0, share, e * share))
        store(weight, r, e * share * share)
        linear += where(eta >= 0.0, eta, 0.0) - y * eta
    for r in range(whole, predictor.size):
        eta, e = predictor[r], small[r]
        share = 1.0 / (1.0 + e)
        residual[r] = target[r] - (share if eta >= 0.0 else e * share)
        weight[r] = e * share * share
        total += (eta if eta >= 0.0 else 0.0) - target[r] * eta
    return total + reduce_add(linear)


@inner
def product_of(values, start, stop):
    """Product of 1 + value over values[start:stop]."""
    whole = stop - (stop - start) % WIDTH
    products, product = full(1.0, WIDTH), 1.0
    for r in range(start, whole, WIDTH):
        products *= 1.0 + load(values, r, WIDTH)
    for r in range(whole, stop):
        product *= 1.0 + values[r]
    return product * reduce_multiply(products)


@inner
def statistics(predictor, target, residual, weight, scratch):
    r"""Fill residuals :math:`y - p` and weights :math:`p (1 - p)`; return the loss.

    .. math:: \sum_r \log(1 + e^{\eta_r}) - y_r \eta_r

    Logarithms are taken of products of 64 factors, none above 2.
    """
    n = predictor.size
    minus_absolute(predictor, scratch)
    # the residuals, filled in below, serve as the buffer for powers of two
    exponentiate(scratch, 0.0, residual, residual.view(np.int64))
    total = finish_statistics(predictor, target, scratch, residual, weight)
    for start in range(0, n, LOG_BLOCK):
        total += math.log(product_of(scratch, start, min(n, start + LOG_BLOCK)))
    return total


@inner
def dot(a, b):
    """Dot product."""
    wide, narrow = b.size - b.size % WIDE, b.size - b.size % NARROW
    sums = full(0.0, WIDE)
    for r in range(0, wide, WIDE):
        sums = multiply_add(load(a, r, WIDE), load(b, r, WIDE), sums)
    few = fold_add(sums, NARROW)
    for r in range(wide, narrow, NARROW):
        few = multiply_add(load(a, r, NARROW), load(b, r, NARROW), few)
    total = reduce_add(few)
    for r in range(narrow, b.size):
        total = multiply_add(a[r], b[r], total)
    return total


@inner
def dot_four(a, b, c, d, e):
    """Dot products of four arrays with one array."""
    whole = e.size - e.size % WIDTH
    p, q, s, t = full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH), full(0.0, WIDTH)
    for r in range(0, whole, WIDTH):
        value = load(e, r, WIDTH)
        p = multiply_add(load(a, r, WIDTH), value, p)
        q = multiply_add(load(b, r, WIDTH), value, q)
        s = multiply_add(load(c, r, WIDTH), value, s)
        t = multiply_add(load(d, r, WIDTH), value, t)
    first, second, third, fourth = reduce_add(p), reduce_add(q), reduce_add(s), reduce_add(t)
    for r in range(whole, e.size):
        first = multiply_add(a[r], e[r], first)
        second = multiply_add(b[r], e[r], second)
        third = multiply_add(c[r], e[r], third)
        fourth = multiply_add(d[r], e[r], fourth)
    return first, second, third, fourth


@inner
def dots(columns, chosen, n_chosen, values, out):
    """Fill in the dot products of chosen columns with one array, four at a time."""
    k = 0
    while k + 4 <= n_chosen:
        out[k], out[k + 1], out[k + 2], out[k + 3] = dot_four(
            columns[chosen[k]], columns[chosen[k + 1]], columns[chosen[k + 2]],
            columns[chosen[k + 3]], values,
        )  # fmt: skip
        k += 4
    while k < n_chosen:
        out[k] = dot(columns[chosen[k]], values)
        k += 1


@inner
def multiply(a, b, out):
    """Fill ``out`` with the elementwise products."""
    for r in range(out.size):
        out[r] = a[r] * b[r]


@inner
def fill_with(out, value):
    """Fill ``out`` with one value."""
    for r in range(out.size):
        out[r] = value


@inner
def soft(value, threshold):
    """Soft threshold: the v that minimizes (v - value)^2 / 2 + threshold |v|."""
    if value > threshold:
        return value - threshold
    if value < -threshold:
        return value + threshold
    return 0.0


@inner
def entropy_of(u):
    """Binary entropy in natural logarithms."""
    if u <= 0.0 or u >= 1.0:
        return 0.0
    return -u * math.log(u) - (1.0 - u) * math.log1p(-u)


@inner
def dual_value(target, residual, above, factor, shrink):
    r"""Dual objective :math:`\sum_r H(y_r - s (y_r - u_r))` at a feasible point.

    If ``above``, u is p times ``factor``; otherwise 1 - u is 1 - p times ``factor``. The residuals
    y - u then sum to 0. The scale s, ``shrink``, brings the correlations within the strength.
    """
    total = 0.0
    for r in range(target.size):
        p = target[r] - residual[r]
        u = p * factor if above else 1.0 - (1.0 - p) * factor
        total += entropy_of(target[r] - shrink * (target[r] - u))
    return total


@inner
def feasible(ones, n, probability_total):
    """Return whether to scale p (else 1 - p), and the factor, so that y - u sums to 0."""
    if probability_total >= ones:
        return True, ones / probability_total
    return False, (n - ones) / (n - probability_total)


@inner
def dual_curvature(residual, weight):
    """Curvature of the dual objective: the sum of squared residuals over weights."""
    whole = weight.size - weight.size % WIDTH
    sums, total = full(0.0, WIDTH), 0.0
    for r in range(0, whole, WIDTH):
        residuals, weights = load(residual, r, WIDTH), load(weight, r, WIDTH)
        sums += residuals * residuals / where(weights > 1e-300, weights, 1e-300)
    for r in range(whole, weight.size):
        total += residual[r] * residual[r] / max(weight[r], 1e-300)
    return total + reduce_add(sums)


@inner
def proxy_gap(values, n, gradient, offset, strength, curvature):
    """Duality gap on the working set, to second order near the optimum; needs no logarithms.

    ``offset`` is the sum of intercepts times sums of residuals, ``curvature`` that of the dual.
    """
    aligned, penalty, largest = offset, 0.0, 0.0
    for a in range(n):
        aligned -= values[a] * gradient[a]
        penalty += strength * abs(values[a])
        largest = abs(gradient[a]) if abs(gradient[a]) > largest else largest
    excess = 1.0 - strength / largest if largest > strength else 0.0
    return abs(penalty - aligned) + excess * abs(aligned) + 0.5 * excess * excess * curvature
