r"""Laplace approximation of the joint conditional of a block's biases and couplings.

Given the table m of a block's states at :math:`\theta^0`, the log conditional of its parameters is

.. math:: \sum_e s_e \theta_e - N \log \sum_x m(x) e^{\sum_e (\theta_e - \theta^0_e) f_e(x)}
   - \tfrac12 \sum_e \tau_e \theta_e^2

It is concave, with few parameters and 2^k states, so that Newton's method finds its mode in a few
steps. Couplings are centered: their features are x_i x_j - u x_i - v x_j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import full, inner, load, reduce_add, store
from slabfield.kernels.logistic import dot
from slabfield.kernels.state_table import add_times, exponentiate, largest_of, total_of

# Newton's method stops when half the squared Newton decrement (in log density) is below this
CONVERGED_AT = 1e-8
# Upper bound on Newton steps
MOST_STEPS = 20
# Number of states summed at a time (vector width)
WIDTH = 16
# Largest change of a parameter in one Newton step
LONGEST_STEP = 1.5


class Laplace(NamedTuple):
    """Laplace approximation of a block's parameters: first its biases, then its couplings.

    ``features`` (parameters, states) and ``weights``, the table at the parameters ``now``;
    ``linear``, sums of the features over the rows, and ``precision`` of the priors; ``mode`` and
    ``neg_hessian`` of the current and of the proposed structure; ``order`` lists the parameters
    of a structure. The other fields are workspace.
    """

    features: NDArray[np.float64]
    weights: NDArray[np.float64]
    tilt: NDArray[np.float64]
    power: NDArray[np.float64]
    scratch: NDArray[np.float64]
    now: NDArray[np.float64]
    linear: NDArray[np.float64]
    precision: NDArray[np.float64]
    mode: NDArray[np.float64]
    neg_hessian: NDArray[np.float64]
    factor: NDArray[np.float64]
    gradient: NDArray[np.float64]
    mean: NDArray[np.float64]
    normal: NDArray[np.float64]
    shift: NDArray[np.float64]
    values: NDArray[np.float64]
    order: NDArray[np.int64]


def new_laplace(n: int, size: int) -> Laplace:
    """Return an empty approximation with workspace for n parameters and a table of ``size``."""

    def zeros() -> NDArray[np.float64]:
        return np.zeros(n)

    return Laplace(
        np.zeros((n, size)), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size),
        zeros(), zeros(), zeros(), np.zeros((2, n)), np.zeros((2, n, n)), np.zeros((n, n)), zeros(),
        zeros(), zeros(), zeros(), zeros(), np.zeros(n, np.int64),
    )  # fmt: skip


@inner
def fill_bias(feature, node):
    """Fill in the feature of a bias in every state."""
    for s in range(feature.size):
        feature[s] = float((s >> node) & 1)


@inner
def fill_feature(feature, low, high, u, v):
    """Fill in the centered feature of an edge in every state."""
    for s in range(feature.size):
        x, y = float((s >> low) & 1), float((s >> high) & 1)
        feature[s] = x * y - u * x - v * y


@inner
def times(target, one, other):
    """Fill ``target`` with the products of two arrays; return their sum."""
    whole = target.size - target.size % WIDTH
    sums, total = full(0.0, WIDTH), 0.0
    for s in range(0, whole, WIDTH):
        product = load(one, s, WIDTH) * load(other, s, WIDTH)
        store(target, s, product)
        sums += product
    for s in range(whole, target.size):
        target[s] = one[s] * other[s]
        total += target[s]
    return total + reduce_add(sums)


@inner
def tilted(values, now, n_all, features, weights, tilt, power, scratch):
    """Fill ``power`` with the table at other parameters and ``tilt`` with its ratio to the old one.

    Both share an arbitrary factor. Returns the log of the sum of the new table without it.
    """
    tilt[:] = 0.0
    for e in range(n_all):
        if values[e] != now[e]:
            add_times(tilt, features[e], values[e] - now[e])
    largest = largest_of(tilt)
    exponentiate(tilt, largest, scratch, scratch.view(np.int64))
    return largest + math.log(times(power, tilt, weights))


@inner
def factorize(matrix, order, n, factor):
    """Fill in the Cholesky factor of a matrix whose rows and columns are taken in ``order``.

    Returns the log determinant of the factor, half that of the matrix, or minus infinity if the
    matrix is not positive definite.
    """
    log_det = 0.0
    for a in range(n):
        for b in range(a + 1):
            total = matrix[order[a], order[b]]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a > b:
                factor[a, b] = total / factor[b, b]
            elif total > 0.0:
                factor[a, a] = math.sqrt(total)
                log_det += math.log(factor[a, a])
            else:
                return -math.inf
    return log_det


@inner
def solve_forward(factor, n, vector):
    """Replace a vector by the inverse of the Cholesky factor times it."""
    for a in range(n):
        total = vector[a]
        for b in range(a):
            total -= factor[a, b] * vector[b]
        vector[a] = total / factor[a, a]


@inner
def solve_backward(factor, n, vector):
    """Replace a vector by the inverse of the transposed Cholesky factor times it."""
    for a in range(n - 1, -1, -1):
        total = vector[a]
        for b in range(a + 1, n):
            total -= factor[b, a] * vector[b]
        vector[a] = total / factor[a, a]


@inner
def newton_mode(laplace, n_all, n, n_rows, mode, neg_hessian):
    """Find the mode over the first n parameters in ``laplace.order`` by Newton's method.

    Updates ``mode`` in place. Returns the log determinant of ``laplace.factor``, the Cholesky
    factor of ``neg_hessian``, or minus infinity if the iteration does not converge.
    """
    features, power, order, gradient = (
        laplace.features,
        laplace.power,
        laplace.order,
        laplace.gradient,
    )
    linear, precision, factor, scratch = (
        laplace.linear,
        laplace.precision,
        laplace.factor,
        laplace.scratch,
    )
    now, weights, tilt, mean = laplace.now, laplace.weights, laplace.tilt, laplace.mean
    for _ in range(MOST_STEPS):
        tilted(mode, now, n_all, features, weights, tilt, power, scratch)
        share = n_rows / total_of(power)
        for a in range(n):
            one = order[a]
            mean[a] = share * times(scratch, power, features[one])
            for b in range(a + 1):
                neg_hessian[one, order[b]] = share * dot(scratch, features[order[b]])
        squared_decrement, longest = 0.0, 0.0
        for a in range(n):
            one = order[a]
            gradient[a] = linear[one] - mean[a] - precision[one] * mode[one]
            for b in range(a + 1):
                value = neg_hessian[one, order[b]] - mean[a] * mean[b] / n_rows
                value += precision[one] if a == b else 0.0
                neg_hessian[one, order[b]] = value
                neg_hessian[order[b], one] = value
        log_det = factorize(neg_hessian, order, n, factor)
        if not log_det > -math.inf:
            return -math.inf
        solve_forward(factor, n, gradient)
        for a in range(n):
            squared_decrement += gradient[a] * gradient[a]
        solve_backward(factor, n, gradient)
        for a in range(n):
            longest = max(longest, abs(gradient[a]))
        shrink = min(1.0, LONGEST_STEP / max(longest, LONGEST_STEP))
        for a in range(n):
            mode[order[a]] += shrink * gradient[a]
        if squared_decrement < 2 * CONVERGED_AT:
            return log_det
    return -math.inf
