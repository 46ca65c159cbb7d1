"""Lattice fields: edges between nearest neighbors on a rectangular grid."""

from __future__ import annotations

import numpy as np

from slabfield.datasets.simulated import (
    N_SWEEPS,
    Method,
    RandomState,
    Simulated,
    ising_field,
    simulate,
    two_streams,
)
from slabfield.inference.elimination import MEMORY_LIMIT
from slabfield.validation import InputError, Parameter, check_positive_int


def make_lattice(
    n_rows: int,
    shape: tuple[int, int] = (10, 10),
    random_state: RandomState = None,
    *,
    coupling_scale: float = 0.5,
    bias_scale: float = 0.1,
    method: Method = "auto",
    memory_limit: int = MEMORY_LIMIT,
    n_sweeps: int = N_SWEEPS,
) -> Simulated:
    """Draw a random lattice field, and rows from it.

    Every node has an edge to the next one in its row and in its column of the lattice: 180 edges
    on 10 x 10 nodes. Ising couplings and biases are normal.

    Parameters
    ----------
    n_rows : int
        Number of rows of data.
    shape : (int, int)
        Height and width. The node at (r, c) is r * width + c.
    random_state : int, numpy.random.Generator or None
        Source of randomness. The field of a given seed does not depend on ``n_rows``.
    coupling_scale, bias_scale : float
        Standard deviations of couplings and biases, on the Ising scale.
    method, memory_limit, n_sweeps
        How rows are sampled, as in `draw_rows`. Variable elimination reaches about 18 x 18 nodes
        within the default limit, and any length at a smaller width.

    Returns
    -------
    Simulated
        ``field``, ``rows`` and the ``method`` used.

    Examples
    --------
    >>> from slabfield.datasets import make_lattice
    >>> data = make_lattice(100, random_state=0)
    >>> data.field.n_edges, data.rows.shape, data.method
    (180, (100, 100), 'elimination')
    """
    height, width = _sides(shape)
    field_rng, row_rng = two_streams(random_state)
    index = np.arange(height * width).reshape(height, width)
    edges = np.zeros((index.size, index.size), dtype=np.bool_)
    edges[index[:, :-1], index[:, 1:]] = True
    edges[index[:-1], index[1:]] = True
    field = ising_field(edges, field_rng, coupling_scale, bias_scale)
    return simulate(field, n_rows, row_rng, method, memory_limit, n_sweeps)


def _sides(shape: tuple[int, int]) -> tuple[int, int]:
    try:
        height, width = (check_positive_int("shape", side) for side in shape)
    except (TypeError, ValueError):
        raise InputError(
            "invalid-lattice-shape",
            "{parameter} must be a height and a width, each a whole number of at least 1; got "
            "{value}. Pass for example {example}.",
            parameter=Parameter("shape"),
            value=repr(shape),
            example=Parameter("shape", (10, 10)),
        ) from None
    return height, width
