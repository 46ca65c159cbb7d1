"""Approximate draws by long Gibbs runs, for fields that exact methods cannot take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.models.field import BinaryField

ROWS_AT_ONCE = 1_024
"""Runs that advance together: enough to make array operations efficient, few enough for cache."""


def gibbs_rows(
    field: BinaryField, n_rows: int, rng: np.random.Generator, n_sweeps: int
) -> NDArray[np.uint8]:
    r"""Rows that are the last states of independent Gibbs runs from states of fair coins.

    .. math:: P(x_i = 1 \mid x_{-i}) = \sigma(b_i + \sum_j \theta_{ij} x_j)

    Nodes of one colour of the graph are not neighbours, so a sweep updates them together.

    Parameters
    ----------
    field : BinaryField
        What to draw from.
    n_rows : int
        Number of runs.
    rng : numpy.random.Generator
        Source of randomness.
    n_sweeps : int
        Length of each run.

    Returns
    -------
    array of shape (n_rows, D), uint8
        One state in each row.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.gibbs import gibbs_rows
    >>> from slabfield.models.field import BinaryField
    >>> field = BinaryField(bias=[-50.0, 50.0, -50.0], coupling=np.zeros((3, 3)))
    >>> gibbs_rows(field, 2, np.random.default_rng(0), n_sweeps=1)
    array([[0, 1, 0],
           [0, 1, 0]], dtype=uint8)
    """
    from scipy.sparse import csr_array

    classes = colour_classes(field)
    updates = [(nodes, csr_array(field.coupling[nodes]), field.bias[nodes]) for nodes in classes]
    rows = np.empty((n_rows, field.n_nodes), dtype=np.uint8)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        block = rows[start : start + ROWS_AT_ONCE]
        states = rng.integers(0, 2, (field.n_nodes, len(block))).astype(np.float64)
        for _ in range(n_sweeps):
            for nodes, coupling, bias in updates:
                local_field = coupling @ states + bias[:, None]
                # A standard logistic number is below h with probability sigma(h).
                states[nodes] = rng.logistic(size=local_field.shape) < local_field
        block[:] = states.T
    return rows


def colour_classes(field: BinaryField) -> list[NDArray[np.intp]]:
    """Partition the nodes into sets without an edge inside, greedily from the highest degree.

    Parameters
    ----------
    field : BinaryField
        Its edges are the graph.

    Returns
    -------
    list of arrays of int
        The nodes of each colour, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.gibbs import colour_classes
    >>> from slabfield.models.field import BinaryField
    >>> chain = BinaryField(np.zeros(5), np.eye(5, k=1) + np.eye(5, k=-1))
    >>> [nodes.tolist() for nodes in colour_classes(chain)]
    [[1, 3], [0, 2, 4]]
    """
    edges = field.edges
    colour = np.full(field.n_nodes, -1)
    for node in np.argsort(-edges.sum(axis=0), kind="stable"):
        taken = set(colour[edges[node]].tolist())
        colour[node] = next(c for c in range(field.n_nodes) if c not in taken)
    return [np.flatnonzero(colour == c) for c in range(colour.max(initial=-1) + 1)]
