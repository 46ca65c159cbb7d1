r"""Loops of the L1-penalised pseudo-likelihood with one coupling for each edge.

.. math:: \min_{b, \theta}\; \sum_r \sum_i \log(1 + e^{\eta_{ir}}) - x_{ir} \eta_{ir}
    + 2 \lambda \sum_{i<j} |\theta_{ij}|, \quad \eta_{ir} = b_i + \sum_j \theta_{ij} x_{jr}

Every node keeps the matrix of second derivatives over its own neighbours in the working set, with
its bias eliminated; an edge belongs to the matrices of its two nodes. Those matrices lie one after
another in ``flat``: that of node i starts at ``start[i]`` and has ``degree[i]`` rows.
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.logistic import (
    dot,
    dual_value,
    feasible,
    proxy_gap,
    soft,
    spread_of,
    statistics,
)
from slabfield.kernels.neighbourhood import MOST_PASSES, extend_gram
from slabfield.kernels.table import add_times, total_of

POLISH_EVERY = 10
MOST_CONJUGATE = 200
FLAT = 1e-14
"""Curvature, relative to that of the coordinates alone, that is taken for none."""


@jit
def all_statistics(eta, columns, nodes, residual, weight, residual_sum):
    """Fill residuals and weights of every listed node; return the loss and its dual's curvature."""
    scratch = np.zeros(eta.shape[1])
    loss, spread = 0.0, 0.0
    for i in nodes:
        loss += statistics(eta[i], columns[i], residual[i], weight[i], scratch)
        residual_sum[i] = total_of(residual[i])
        spread += spread_of(residual[i], weight[i])
    return loss, spread


@jit
def edge_slopes(columns, residual, first, second, place_first, place_second, slope):
    """Fill slopes of the loss: ``slope[i, k]`` for the k-th neighbour of node i."""
    for e in range(first.size):
        i, j = first[e], second[e]
        slope[i, place_first[e]] = -dot(columns[j], residual[i])
        slope[j, place_second[e]] = -dot(columns[i], residual[j])


@jit
def extend_grams(
    columns, neighbours, old_degree, degree, old_start, start, old_flat, flat, weight, margin
):
    """Copy the matrix of every node to its new place and add the rows of new neighbours."""
    scratch = np.zeros(columns.shape[1])
    for i in range(columns.shape[0]):
        was, now = old_degree[i], degree[i]
        gram = flat[start[i] : start[i] + now * now].reshape((now, now))
        for a in range(was):
            begin = old_start[i] + a * was
            gram[a, :was] = old_flat[begin : begin + was]
        if now > was:
            total = total_of(weight[i])
            extend_gram(
                columns, neighbours[i], was, now, weight[i], total, gram, margin[i], scratch
            )


@inner
def change_slopes(slope, gram, place, n, change):
    """Add what a change of one neighbour's coupling does to the slopes of a node."""
    add_times(slope[:n], gram[place * n : (place + 1) * n], change)


@inner
def crossing(value, direction):
    """How far along a direction the first nonzero coordinate reaches 0, and which one."""
    farthest, first = np.inf, -1
    for e in range(value.size):
        if value[e] * direction[e] < 0.0 and -value[e] / direction[e] < farthest:
            farthest, first = -value[e] / direction[e], e
    return farthest, first


@inner
def multiply_by_grams(
    direction, first, second, place_first, place_second, flat, start, degree, out
):
    """Fill ``out[i, k]`` with the change of every node's slopes along a direction of the edges."""
    out[:] = 0.0
    for e in range(first.size):
        if direction[e] != 0.0:
            i, j = first[e], second[e]
            n, m = degree[i], degree[j]
            change_slopes(out[i], flat[start[i] :], place_first[e], n, direction[e])
            change_slopes(out[j], flat[start[j] :], place_second[e], m, direction[e])


@inner
def pair_polish(
    first, second, place_first, place_second, flat, start, degree, slope, value, moved,
    strength, tolerance,
):  # fmt: skip
    """Conjugate gradients on the nonzero edges, signs kept, until one of them reaches 0.

    Where predictors are nearly dependent, coordinate descent creeps; this does not.
    """
    size = first.size
    left, scaled, direction = np.zeros(size), np.ones(size), np.zeros(size)
    out = np.zeros(slope.shape)
    previous = 1.0
    for e in range(size):
        if value[e] != 0.0:
            i, j, a, b = first[e], second[e], place_first[e], place_second[e]
            scaled[e] = flat[start[i] + a * degree[i] + a] + flat[start[j] + b * degree[j] + b]
            left[e] = -slope[i, a] - slope[j, b] - strength * np.sign(value[e])
    for step in range(MOST_CONJUGATE):
        largest, product = 0.0, 0.0
        for e in range(size):
            largest = max(largest, abs(left[e]))
            product += left[e] * left[e] / scaled[e]
        if largest <= tolerance:
            return
        size_squared, curvature = 0.0, 0.0
        for e in range(size):
            again = direction[e] * product / previous if step else 0.0
            direction[e] = left[e] / scaled[e] + again
            size_squared += direction[e] * direction[e] * scaled[e]
        previous = product
        multiply_by_grams(
            direction, first, second, place_first, place_second, flat, start, degree, out
        )
        for e in range(size):
            i, j = first[e], second[e]
            curvature += direction[e] * (out[i, place_first[e]] + out[j, place_second[e]])
        farthest, at = crossing(value, direction)
        length = product / curvature if curvature > FLAT * size_squared else np.inf
        if length == np.inf and at < 0:
            return
        ends = length >= farthest
        length = farthest if ends else length
        for e in range(size):
            if value[e] != 0.0:
                old = value[e]
                value[e] = 0.0 if ends and e == at else old + length * direction[e]
                moved[e] += value[e] - old
                i, j = first[e], second[e]
                left[e] -= length * (out[i, place_first[e]] + out[j, place_second[e]])
        for i in range(degree.size):
            add_times(slope[i, : degree[i]], out[i, : degree[i]], length)
        if ends:
            return


@jit
def pair_descend(
    first, second, place_first, place_second, flat, start, degree, slope, value, moved,
    strength, tolerance,
):  # fmt: skip
    """Minimise the quadratic model plus ``strength`` times the sum of magnitudes.

    ``slope`` is that of the model, and is kept so; ``value`` and ``moved`` change in place.
    Passes over nonzero edges alternate with passes over all.
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
            new = soft(old * curvature - slope[i, a] - slope[j, b], strength) / curvature
            change = new - old
            if change != 0.0:
                value[e] = new
                moved[e] += change
                change_slopes(slope[i], own, a, n, change)
                change_slopes(slope[j], other, b, m, change)
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
                    first, second, place_first, place_second, flat, start, degree, slope, value,
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
def near_gap(value, slope, offset, strength, spread):
    """Duality gap on the working set, to second order near the optimum."""
    return proxy_gap(value, value.size, slope, offset, strength, spread)


@jit
def scale_nodes(nodes, ones, n, residual_sum, above, factor):
    """For every listed node, how its probabilities are scaled to be feasible in the dual."""
    for i in nodes:
        above[i], factor[i] = feasible(ones[i], n, ones[i] - residual_sum[i])


@jit
def dual_total(nodes, columns, residual, above, factor, shrink):
    """Dual objective of all listed nodes."""
    total = 0.0
    for i in nodes:
        total += dual_value(columns[i], residual[i], above[i], factor[i], shrink)
    return total
