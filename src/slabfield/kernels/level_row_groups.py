"""Changes of several parameters of a pair of nodes with levels, or of the biases of a node.

A node's conditional changes by features of its levels, (levels, coordinates), times features of the
levels of the other node; a node alone has one constant feature there. Parameter (u, v) is number
``u * stride + v * other_stride``.
"""

from __future__ import annotations

import math

from slabfield._jit import inner

# Largest absolute log odds ratio of two levels of one node and two of another: the slab is
# truncated there, and a change is at most twice this
MOST_LOG_ODDS = 40.0


@inner
def fill_group_table(values, feature, stride, other, other_stride, level_count, table):
    """Fill in the exponentials of a change of several parameters, relative to the first level.

    Returns the sum over rows of the change of the first level, or infinity where the change is too
    large.
    """
    n_other, total = other.shape[0], 0.0
    for b in range(n_other):
        first = 0.0
        for a in range(feature.shape[0]):
            change = 0.0
            for u in range(feature.shape[1]):
                for v in range(other.shape[1]):
                    value = values[u * stride + v * other_stride]
                    change += feature[a, u] * value * other[b, v]
            first = change if a == 0 else first
            if not abs(change - first) <= 2 * MOST_LOG_ODDS:
                return math.inf
            table[a * n_other + b] = math.exp(change - first)
        total += level_count[b] * first
    return total


@inner
def add_moments(first, second, feature, stride, other, other_stride, weight, covariance, laplace):
    """Add one conditional's part to the gradient and to the negative Hessian of parameters."""
    n_levels, size, other_size = feature.shape[0], feature.shape[1], other.shape[1]
    gradient, neg_hessian = laplace.gradient, laplace.neg_hessian
    for b in range(other.shape[0]):
        covariance[:size, :size] = 0.0
        for u in range(size):
            mean = 0.0
            for a in range(n_levels):
                mean += feature[a, u] * first[b, a]
                # row a of the covariance of levels, summed over rows, times the feature
                product = feature[a, u] * first[b, a]
                for c in range(n_levels):
                    high, low = max(a, c), min(a, c)
                    product -= second[b, high * (high + 1) // 2 + low] * feature[c, u]
                for u2 in range(size):
                    covariance[u2, u] += feature[a, u2] * product
            for v in range(other_size):
                gradient[u * stride + v * other_stride] -= weight * mean * other[b, v]
        for u in range(size):
            for v in range(other_size):
                q = u * stride + v * other_stride
                for u2 in range(size):
                    value = weight * covariance[u, u2] * other[b, v]
                    for v2 in range(other_size):
                        neg_hessian[q, u2 * stride + v2 * other_stride] += value * other[b, v2]
