r"""The hill of a block: where its biases and couplings are most probable together, and how steep.

Given the table m of a block's states at :math:`\theta^0`, the conditional of its parameters is

.. math:: \sum_e s_e \theta_e - N \log \sum_x m(x) e^{\sum_e (\theta_e - \theta^0_e) f_e(x)}
   - \tfrac12 \sum_e \tau_e \theta_e^2

in logs: concave, of a few parameters and 2^k states, so that Newton's method finds its top in a few
steps. Couplings are centred: their features are x_i x_j - u x_i - v x_j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import full, inner, load, reduce_add, store
from slabfield.kernels.logistic import dot
from slabfield.kernels.table import add_times, exponentiate, largest_of, total_of

# Newton's method stops where half the squared step, in standard deviations, is below this
AT_THE_TOP = 1e-8
MOST_STEPS = 20
# States that are summed at a time
WIDTH = 16
# A step changes no coupling by more than this
LONGEST_STEP = 1.5


class Hill(NamedTuple):
    """Room for what is known of the parameters of a block: first its biases, then its edges.

    ``features`` (parameters, states) and ``weights``, the table at the parameters ``now``;
    ``linear``, sums of the features over the rows, and ``precision`` of the priors; ``mode`` and
    ``steepness`` of two structures, the one there is and the one proposed; ``order`` lists the
    parameters that a structure has. The others are workspace.
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
    steepness: NDArray[np.float64]
    factor: NDArray[np.float64]
    slope: NDArray[np.float64]
    mean: NDArray[np.float64]
    normal: NDArray[np.float64]
    shift: NDArray[np.float64]
    values: NDArray[np.float64]
    order: NDArray[np.int64]


def new_hill(k: int) -> Hill:
    """Return room for blocks of up to k nodes."""
    n, size = k * (k + 1) // 2, 1 << k

    def room() -> NDArray[np.float64]:
        return np.zeros(n)

    return Hill(
        np.zeros((n, size)), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size),
        room(), room(), room(), np.zeros((2, n)), np.zeros((2, n, n)), np.zeros((n, n)), room(),
        room(), room(), room(), room(), np.zeros(n, np.int64),
    )  # fmt: skip


@inner
def fill_bias(feature, node):
    """Fill in the feature of a bias in every state."""
    for s in range(feature.size):
        feature[s] = float((s >> node) & 1)


@inner
def fill_feature(feature, low, high, u, v):
    """Fill in the centred feature of an edge in every state."""
    for s in range(feature.size):
        x, y = float((s >> low) & 1), float((s >> high) & 1)
        feature[s] = x * y - u * x - v * y


@inner
def times(target, one, other):
    """Fill an array with the products of two others; return its sum."""
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
    """Fill ``power`` with the table at other parameters and ``tilt`` with its ratio to that now.

    Both up to the same factor; returned is the log of the sum of the table without that factor.
    """
    tilt[:] = 0.0
    for e in range(n_all):
        if values[e] != now[e]:
            add_times(tilt, features[e], values[e] - now[e])
    top = largest_of(tilt)
    exponentiate(tilt, top, scratch, scratch.view(np.int64))
    return top + math.log(times(power, tilt, weights))


@inner
def factorise(matrix, order, n, factor):
    """Cholesky factor of a matrix, rows and columns in the given order; return its log determinant.

    Half the log determinant of the matrix; minus infinity where it is not positive definite.
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
    """Replace a vector by the inverse of the factor times it."""
    for a in range(n):
        total = vector[a]
        for b in range(a):
            total -= factor[a, b] * vector[b]
        vector[a] = total / factor[a, a]


@inner
def solve_backward(factor, n, vector):
    """Replace a vector by the inverse of the transposed factor times it."""
    for a in range(n - 1, -1, -1):
        total = vector[a]
        for b in range(a + 1, n):
            total -= factor[b, a] * vector[b]
        vector[a] = total / factor[a, a]


@inner
def climb(hill, n_all, n, n_rows, mode, steepness):
    """Move ``mode`` of the first n of ``hill.order`` to the top; return a log determinant.

    It is that of ``hill.factor``, the factor of minus the second derivative there. Minus infinity
    is returned where the top is not reached.
    """
    features, power, order, slope = hill.features, hill.power, hill.order, hill.slope
    linear, precision, factor, scratch = hill.linear, hill.precision, hill.factor, hill.scratch
    now, weights, tilt, mean = hill.now, hill.weights, hill.tilt, hill.mean
    for _ in range(MOST_STEPS):
        tilted(mode, now, n_all, features, weights, tilt, power, scratch)
        share = n_rows / total_of(power)
        for a in range(n):
            one = order[a]
            mean[a] = share * times(scratch, power, features[one])
            for b in range(a + 1):
                steepness[one, order[b]] = share * dot(scratch, features[order[b]])
        size, longest = 0.0, 0.0
        for a in range(n):
            one = order[a]
            slope[a] = linear[one] - mean[a] - precision[one] * mode[one]
            for b in range(a + 1):
                value = steepness[one, order[b]] - mean[a] * mean[b] / n_rows
                value += precision[one] if a == b else 0.0
                steepness[one, order[b]] = value
                steepness[order[b], one] = value
        log_det = factorise(steepness, order, n, factor)
        if not log_det > -math.inf:
            return -math.inf
        solve_forward(factor, n, slope)
        for a in range(n):
            size += slope[a] * slope[a]
        solve_backward(factor, n, slope)
        for a in range(n):
            longest = max(longest, abs(slope[a]))
        shrink = min(1.0, LONGEST_STEP / max(longest, LONGEST_STEP))
        for a in range(n):
            mode[order[a]] += shrink * slope[a]
        if size < 2 * AT_THE_TOP:
            return log_det
    return -math.inf
