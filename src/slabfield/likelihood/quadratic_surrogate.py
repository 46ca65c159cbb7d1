r"""The quadratic surrogate of N log Z of a small field (equation 29)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner, jit
from slabfield.kernels.block_table import couplings_among, edge_number, exact_block_table
from slabfield.kernels.logistic import dot
from slabfield.kernels.state_table import BLOCK, fill_table, superset_sums, total_of

Array = NDArray[np.float64]


class QuadraticSurrogate(NamedTuple):
    """Gradient at zero and Hessian of the quadratic form, biases first, then couplings.

    With the biases integrated out, the Hessian of the couplings is ``marginal_hessian``. Given the
    couplings, the biases have mean bias_covariance bias_score - bias_regression^T coupling and
    covariance ``bias_covariance``, with Cholesky factor ``bias_factor``. ``count`` holds the
    numbers of transitions proposed and accepted. The other fields are workspace.
    """

    gradient: Any
    hessian: Any
    marginal_hessian: Any
    bias_regression: Any
    bias_covariance: Any
    bias_factor: Any
    count: Any
    table: Any
    row: Any
    bias_score: Any
    present: Any
    order: Any
    inside: Any
    factor: Any
    normal: Any
    bias: Any
    coupling: Any


def new_surrogate(d: int) -> QuadraticSurrogate:
    """Return an empty surrogate, with its workspace, for a field of d nodes."""
    n = d * (d - 1) // 2
    return QuadraticSurrogate(
        np.zeros(d + n), np.zeros((d + n, d + n)), np.zeros((n, n)), np.zeros((n, d)),
        np.zeros((d, d)), np.zeros((d, d)), np.zeros(2, np.int64), np.zeros((n + 1, n + 1)),
        np.zeros(n + 1), np.zeros(d), np.zeros(n, np.bool_), np.arange(n), np.zeros(n, np.int32),
        np.zeros((n, n)), np.zeros(d + n), np.zeros(d), np.zeros(n),
    )  # fmt: skip


def fit_surrogate(
    surrogate: QuadraticSurrogate,
    bias: Array,
    coupling: Array,
    n_rows: float,
    bias_precision: float,
) -> bool:
    """Fit the quadratic form to N log Z at some fields, one per row; return whether it is proper.

    Its Hessian is the mean of theirs, and its gradient at their mean is the mean of theirs: it is
    close to the best quadratic fit over these fields, not just a Taylor expansion at one of them.
    """
    d = bias.shape[1]
    mean, joint = mean_moments(bias, coupling)
    hessian = n_rows * joint
    center = np.concatenate([bias.mean(axis=0), coupling.mean(axis=0)])
    surrogate.hessian[:] = hessian
    surrogate.gradient[:] = n_rows * mean - hessian @ center
    try:
        surrogate.bias_covariance[:] = np.linalg.inv(hessian[:d, :d] + bias_precision * np.eye(d))
        surrogate.bias_factor[:] = np.linalg.cholesky(surrogate.bias_covariance)
    except np.linalg.LinAlgError:
        return False
    cross_hessian = hessian[d:, :d]
    surrogate.bias_regression[:] = cross_hessian @ surrogate.bias_covariance
    surrogate.marginal_hessian[:] = hessian[d:, d:] - surrogate.bias_regression @ cross_hessian.T
    return bool(np.all(np.isfinite(surrogate.marginal_hessian)))


@jit
def mean_moments(bias, coupling):
    """Mean over fields of the mean and covariance of all features: nodes, then pairs of nodes."""
    n_fields, d = bias.shape
    size = d + coupling.shape[1]
    sets = np.zeros(size, np.int64)
    matrix = np.zeros((d, d))
    for j in range(d):
        sets[j] = 1 << j
        for i in range(j):
            sets[d + edge_number(d, i, j)] = (1 << i) | (1 << j)
    padded_size = max(1 << d, BLOCK)
    weights, scratch = np.zeros(padded_size), np.zeros(padded_size)
    mean, joint = np.zeros(size), np.zeros((size, size))
    for field in range(n_fields):
        for j in range(d):
            for i in range(j):
                matrix[j, i] = coupling[field, edge_number(d, i, j)]
        weights[:] = 0.0
        fill_table(weights[: 1 << d], scratch, bias[field], matrix)
        superset_sums(weights)
        share = 1.0 / weights[0]
        for a in range(size):
            one = share * weights[sets[a]]
            mean[a] += one / n_fields
            for b in range(a + 1):
                both = share * weights[sets[a] | sets[b]]
                joint[a, b] += (both - one * share * weights[sets[b]]) / n_fields
    for a in range(size):
        for b in range(a):
            joint[b, a] = joint[a, b]
    return mean, joint


@inner
def log_partition_of(engine, bias, coupling, table):
    """Log partition function of a field; ``table`` is a buffer for the table of a block."""
    k = min(bias.size, engine.work[0].shape[0])
    for i in range(bias.size):
        engine.nodes[i] = i
    couplings_among(coupling, bias.size, engine.nodes, engine.matrix)
    scale = exact_block_table(bias, engine.matrix, k, engine.work, table)
    return scale + math.log(total_of(table[: 1 << k].reshape(1 << k)))


@inner
def log_surrogate_ratio(engine, table, n_rows, bias, coupling, inside, n):
    """Surrogate minus N log Z, up to a constant; ``inside`` lists the n present edges."""
    surrogate, d, total = engine.surrogate, bias.size, 0.0
    for i in range(d):
        total += bias[i] * (surrogate.gradient[i] + 0.5 * dot(surrogate.hessian[i, :d], bias))
    for a in range(n):
        row = surrogate.hessian[d + inside[a]]
        product = surrogate.gradient[d + inside[a]] + dot(row[:d], bias)
        for b in range(n):
            product += 0.5 * row[d + inside[b]] * coupling[inside[b]]
        total += coupling[inside[a]] * product
    return total - n_rows * log_partition_of(engine, bias, coupling, table)
