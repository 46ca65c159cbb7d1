"""Approximate samples by long Gibbs runs, for fields beyond the reach of exact methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.models.field import BinaryField

ROWS_AT_ONCE = 1_024
"""Gibbs runs in one array: enough for efficient array operations, few enough for the cache."""


def gibbs_rows(
    field: BinaryField, n_rows: int, rng: np.random.Generator, n_sweeps: int
) -> NDArray[np.uint8]:
    r"""Sample rows as the last states of independent Gibbs runs from uniformly random states.

    .. math:: P(x_i = 1 \mid x_{-i}) = \sigma(b_i + \sum_j \theta_{ij} x_j)

    Nodes of the same color of the graph are not neighbors, so a sweep updates them together.

    Parameters
    ----------
    field : BinaryField
        The field to sample from.

    Returns
    -------
    array of shape (n_rows, D), uint8
        One state in each row.
    """
    from scipy.sparse import csr_array

    classes = color_classes(field)
    updates = [(nodes, csr_array(field.coupling[nodes]), field.bias[nodes]) for nodes in classes]
    rows = np.empty((n_rows, field.n_nodes), dtype=np.uint8)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        block = rows[start : start + ROWS_AT_ONCE]
        states = rng.integers(0, 2, (field.n_nodes, len(block))).astype(np.float64)
        for _ in range(n_sweeps):
            for nodes, coupling, bias in updates:
                local_field = coupling @ states + bias[:, None]
                # A standard logistic variate is below h with probability sigma(h).
                states[nodes] = rng.logistic(size=local_field.shape) < local_field
        block[:] = states.T
    return rows


def color_classes(field: BinaryField) -> list[NDArray[np.intp]]:
    """Color the graph greedily from the highest degree, so that neighbors have different colors.

    Returns
    -------
    list of arrays of int
        The nodes of each color, in increasing order.
    """
    edges = field.edges
    color = np.full(field.n_nodes, -1)
    for node in np.argsort(-edges.sum(axis=0), kind="stable"):
        taken = set(color[edges[node]].tolist())
        color[node] = next(c for c in range(field.n_nodes) if c not in taken)
    return [np.flatnonzero(color == c) for c in range(color.max(initial=-1) + 1)]
