"""The L1-penalized logistic regression of one node: its path, and scores of its strengths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.l1_nodes import node_path

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]

MOST_STEPS = 200
"""Upper bound on Newton steps for one strength."""


class NodePath(NamedTuple):
    """Regressions of one node for K decreasing strengths."""

    intercept: Array
    """Shape (K,)."""
    coefficient: Array
    """Shape (K, D), 0 for the node itself."""
    gap: Array
    """Relative duality gap, shape (K,)."""


def varying(columns: Bits) -> NDArray[np.bool_]:
    """Which columns, stored as the rows of the array, hold both values."""
    return np.asarray(columns.any(axis=1) & ~columns.all(axis=1))


def largest_strengths(columns: Bits) -> Array:
    """Smallest strength of each node at which all its coefficients are 0."""
    x = columns.astype(np.float64)
    correlation = np.abs(x @ (x - x.mean(axis=1, keepdims=True)).T) / x.shape[1]
    np.fill_diagonal(correlation, 0.0)
    # what a constant column of ones leaves here is rounding error, not dependence
    correlation[~varying(columns)] = 0.0
    return np.asarray(correlation.max(axis=0))


def solve_node(columns: Bits, node: int, strengths: Array, tolerance: float) -> NodePath:
    """Solve for decreasing strengths; a constant node gets only a smoothed intercept."""
    allowed = varying(columns)
    if not allowed[node]:
        n_rows, ones = columns.shape[1], int(columns[node].sum())
        smoothed = np.log((ones + 0.5) / (n_rows - ones + 0.5))
        shape = (strengths.size, columns.shape[0])
        zeros = np.zeros(strengths.size)
        return NodePath(np.full(strengths.size, smoothed), np.zeros(shape), zeros)
    allowed[node] = False
    found = node_path(columns, node, allowed, strengths, tolerance, MOST_STEPS)
    return NodePath(*found[:3])


def mean_losses(path: NodePath, columns: Bits, node: int) -> Array:
    """Mean logistic loss of the node over the rows, for each strength."""
    eta = path.intercept[:, None] + path.coefficient @ columns.astype(np.float64)
    losses: Array = (np.logaddexp(0.0, eta) - columns[node] * eta).mean(axis=1)
    return losses


def information(path: NodePath, columns: Bits, node: int, gamma: float) -> Array:
    r"""Extended Bayesian information criterion of each strength (BIC if gamma is 0).

    .. math:: -2 \ell + k \log N + 2 \gamma k \log(D - 1)

    with k the number of nonzero coefficients (Chen & Chen 2008; Foygel Barber & Drton 2015).
    """
    n_nodes, n_rows = columns.shape
    size = np.count_nonzero(path.coefficient, axis=1)
    penalty = np.log(n_rows) + 2 * gamma * np.log(max(n_nodes - 1, 1))
    return np.asarray(2 * n_rows * mean_losses(path, columns, node) + penalty * size)


def held_out_losses(
    folds: list[tuple[Bits, Bits]], node: int, strengths: Array, tolerance: float
) -> Array:
    """Mean held-out loss of each strength over the folds, (training, held-out) columns."""
    total, n_rows = np.zeros(strengths.size), 0
    for train, held_out in folds:
        path = solve_node(train, node, strengths, tolerance)
        total += mean_losses(path, held_out, node) * held_out.shape[1]
        n_rows += held_out.shape[1]
    return np.asarray(total / n_rows)


def scores(
    columns: Bits, folds: Any, node: int, strengths: Array, gamma: float, tolerance: float
) -> Array:
    """Score of each strength, lower is better: the held-out loss with folds, EBIC without."""
    if folds is not None:
        return held_out_losses(folds, node, strengths, tolerance)
    return information(solve_node(columns, node, strengths, tolerance), columns, node, gamma)
