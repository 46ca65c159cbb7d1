r"""Loops of the L1-penalized pseudo-likelihood with one coupling for each edge.

.. math:: \min_{b, \theta}\; \sum_r \sum_i \log(1 + e^{\eta_{ir}}) - x_{ir} \eta_{ir}
    + 2 \lambda \sum_{i<j} |\theta_{ij}|, \quad \eta_{ir} = b_i + \sum_j \theta_{ij} x_{jr}

Every node keeps the Hessian over its own neighbors in the working set, with its bias eliminated; an
edge belongs to the Hessians of its two nodes. The Hessians are stored one after another in
``flat``: that of node i starts at ``start[i]`` and has ``degree[i]`` rows.
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.l1_nodes import MOST_PASSES, extend_gram
from slabfield.kernels.logistic import (
    dot,
    dual_curvature,
    dual_value,
    feasible,
    proxy_gap,
    soft,
    statistics,
)
from slabfield.kernels.state_table import add_times, total_of

POLISH_EVERY = 10
"""Passes of coordinate descent between runs of conjugate gradients."""
MOST_CONJUGATE = 200
"""Upper bound on conjugate gradient steps in one run."""
FLAT = 1e-14
"""Curvature that counts as zero, relative to that of the diagonal of the Hessian."""


@jit
def all_statistics(eta, columns, nodes, residual, weight, residual_sum):
    """Fill residuals and weights of the listed nodes; return the loss and the dual curvature."""
    scratch = np.zeros(eta.shape[1])
    loss, curvature = 0.0, 0.0
    for i in nodes:
        loss += statistics(eta[i], columns[i], residual[i], weight[i], scratch)
        residual_sum[i] = total_of(residual[i])
        curvature += dual_curvature(residual[i], weight[i])
    return loss, curvature


@jit
def edge_gradients(columns, residual, first, second, place_first, place_second, gradient):
    """Fill the gradient of the loss: ``gradient[i, k]`` for the k-th neighbor of node i."""
    for e in range(first.size):
        i, j = first[e], second[e]
        gradient[i, place_first[e]] = -dot(columns[j], residual[i])
        gradient[j, place_second[e]] = -dot(columns[i], residual[j])


@jit
def extend_grams(
    columns, neighbors, old_degree, degree, old_start, start, old_flat, flat, weight, margin
):
    """Copy the Hessian of every node to its new place and add the rows of new neighbors."""
    scratch = np.zeros(columns.shape[1])
    for i in range(columns.shape[0]):
        was, now = old_degree[i], degree[i]
        gram = flat[start[i] : start[i] + now * now].reshape((now, now))
        for a in range(was):
            begin = old_start[i] + a * was
            gram[a, :was] = old_flat[begin : begin + was]
        if now > was:
            total = total_of(weight[i])
            extend_gram(columns, neighbors[i], was, now, weight[i], total, gram, margin[i], scratch)


@inner
def update_gradients(gradient, gram, place, n, change):
    """Update the gradient of a node for a change in the coupling of one neighbor."""
    add_times(gradient[:n], gram[place * n : (place + 1) * n], change)


@inner
def crossing(value, direction):
    """Return the step along a direction at which a coordinate first reaches 0, and its index."""
    farthest, first = np.inf, -1
    for e in range(value.size):
        if value[e] * direction[e] < 0.0 and -value[e] / direction[e] < farthest:
            farthest, first = -value[e] / direction[e], e
    return farthest, first


@inner
def multiply_by_grams(
    direction, first, second, place_first, place_second, flat, start, degree, out
):
    """Fill ``out`` with the change of every node's gradient along a direction of the edges."""
    out[:] = 0.0
    for e in range(first.size):
        if direction[e] != 0.0:
            i, j = first[e], second[e]
            n, m = degree[i], degree[j]
            update_gradients(out[i], flat[start[i] :], place_first[e], n, direction[e])
            update_gradients(out[j], flat[start[j] :], place_second[e], m, direction[e])


@inner
def pair_polish(
    first, second, place_first, place_second, flat, start, degree, gradient, value, moved,
    strength, tolerance,
):  # fmt: skip
    """Conjugate gradients on the nonzero edges, signs kept, until one of them reaches 0.

    Coordinate descent converges slowly where predictors are nearly collinear; this does not.
    """
    size = first.size
    residual, diagonal, direction = np.zeros(size), np.ones(size), np.zeros(size)
    out = np.zeros(gradient.shape)
    previous = 1.0
    for e in range(size):
        if value[e] != 0.0:
            i, j, a, b = first[e], second[e], place_first[e], place_second[e]
            diagonal[e] = flat[start[i] + a * degree[i] + a] + flat[start[j] + b * degree[j] + b]
            residual[e] = -gradient[i, a] - gradient[j, b] - strength * np.sign(value[e])
    for step in range(MOST_CONJUGATE):
        largest, product = 0.0, 0.0
        for e in range(size):
            largest = max(largest, abs(residual[e]))
            product += residual[e] * residual[e] / diagonal[e]
        if largest <= tolerance:
            return
        size_squared, curvature = 0.0, 0.0
        for e in range(size):
            conjugate = direction[e] * product / previous if step else 0.0
            direction[e] = residual[e] / diagonal[e] + conjugate
            size_squared += direction[e] * direction[e] * diagonal[e]
        previous = product
        multiply_by_grams(
            direction, first, second, place_first, place_second, flat, start, degree, out
        )
        for e in range(size):
            i, j = first[e], second[e]
            curvature += direction[e] * (out[i, place_first[e]] + out[j, place_second[e]])
        farthest, blocking = crossing(value, direction)
        length = product / curvature if curvature > FLAT * size_squared else np.inf
        if length == np.inf and blocking < 0:
            return
        ends = length >= farthest
        length = farthest if ends else length
        for e in range(size):
            if value[e] != 0.0:
                old = value[e]
                value[e] = 0.0 if ends and e == blocking else old + length * direction[e]
                moved[e] += value[e] - old
                i, j = first[e], second[e]
                residual[e] -= length * (out[i, place_first[e]] + out[j, place_second[e]])
        for i in range(degree.size):
            add_times(gradient[i, : degree[i]], out[i, : degree[i]], length)
        if ends:
            return


@jit
def pair_descend(
    first, second, place_first, place_second, flat, start, degree, gradient, value, moved,
    strength, tolerance,
):  # fmt: skip
    """Minimize the quadratic model plus ``strength`` times the sum of magnitudes.

    ``gradient``, that of the quadratic model, ``value`` and ``moved`` are updated in place. Passes
    over nonzero edges alternate with passes over all edges.
    """
    everything = True
    for count in range(1, MOST_PASSES):
        largest = 0.0
        for e in range(first.size):
            old = value[e]
            if not everything and old == 0.0:
                continue
            i, j, a, b = first[e], second[e], place_first[e], place_second[e]
            n, m = degree[i], degree[j]
            own, other = flat[start[i] : start[i] + n * n], flat[start[j] : start[j] + m * m]
            curvature = own[a * n + a] + other[b * m + b]
            if curvature <= 0.0:
                continue
            new = soft(old * curvature - gradient[i, a] - gradient[j, b], strength) / curvature
            change = new - old
            if change != 0.0:
                value[e] = new
                moved[e] += change
                update_gradients(gradient[i], own, a, n, change)
                update_gradients(gradient[j], other, b, m, change)
                change = abs(change) * curvature
                largest = change if change > largest else largest
        if largest <= tolerance:
            if everything:
                return
            everything = True
        else:
            everything = False
            if count % POLISH_EVERY == 0:
                pair_polish(
                    first, second, place_first, place_second, flat, start, degree, gradient, value,
                    moved, strength, tolerance,
                )  # fmt: skip


@jit
def predictor_change(columns, first, second, moved, shift, change):
    """Fill ``change`` with the change of every linear predictor."""
    for i in range(change.shape[0]):
        change[i] = shift[i]
    for e in range(first.size):
        if moved[e] != 0.0:
            add_times(change[first[e]], columns[second[e]], moved[e])
            add_times(change[second[e]], columns[first[e]], moved[e])


@jit
def near_gap(value, gradient, offset, strength, curvature):
    """Duality gap on the working set, to second order near the optimum."""
    return proxy_gap(value, value.size, gradient, offset, strength, curvature)


@jit
def scale_nodes(nodes, ones, n, residual_sum, above, factor):
    """Fill in how the probabilities of the listed nodes are scaled to be dual feasible."""
    for i in nodes:
        above[i], factor[i] = feasible(ones[i], n, ones[i] - residual_sum[i])


@jit
def dual_total(nodes, columns, residual, above, factor, shrink):
    """Dual objective, summed over the listed nodes."""
    total = 0.0
    for i in nodes:
        total += dual_value(columns[i], residual[i], above[i], factor[i], shrink)
    return total
