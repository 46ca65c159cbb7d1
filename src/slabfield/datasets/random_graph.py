"""Fields on random graphs of a given mean degree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def make_random(
    n_rows: int,
    n_nodes: int,
    mean_degree: float = 4.0,
    random_state: RandomState = None,
    *,
    coupling_scale: float = 0.5,
    bias_scale: float = 0.1,
    method: Method = "auto",
    memory_limit: int = MEMORY_LIMIT,
    n_sweeps: int = N_SWEEPS,
) -> Simulated:
    """Draw a field on a random graph, and rows from it.

    Every pair of nodes has an edge independently with the same probability, such that a node has
    ``mean_degree`` neighbors on average (an Erdos-Renyi graph). Ising couplings and biases are
    normal.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_nodes : int
        Number of nodes.
    mean_degree : float
        Expected number of neighbors of a node, at most ``n_nodes - 1``.
    random_state : int, numpy.random.Generator or None
        Source of randomness. The field of a given seed does not depend on ``n_rows``.
    coupling_scale, bias_scale : float
        Standard deviations of couplings and biases, on the Ising scale.
    method, memory_limit, n_sweeps
        How rows are sampled, as in `draw_rows`. With the default degree and limit, exact sampling
        reaches about 110 nodes; beyond, pass ``method="gibbs"``.

    Returns
    -------
    Simulated
        ``field``, ``rows`` and the ``method`` used.

    Examples
    --------
    >>> from slabfield.datasets import make_random
    >>> data = make_random(100, n_nodes=40, mean_degree=3.0, random_state=0)
    >>> data.rows.shape, data.method
    ((100, 40), 'elimination')
    """
    field_rng, row_rng = two_streams(random_state)
    edges = random_edges(n_nodes, mean_degree, field_rng)
    field = ising_field(edges, field_rng, coupling_scale, bias_scale)
    return simulate(field, n_rows, row_rng, method, memory_limit, n_sweeps)


def random_edges(n_nodes: int, mean_degree: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the edges of a random graph, above the diagonal of a (D, D) matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.random_graph import random_edges
    >>> int(random_edges(4, 3.0, np.random.default_rng(0)).sum())
    6
    """
    n_nodes = check_positive_int("n_nodes", n_nodes, low=2)
    if not 0 <= mean_degree <= n_nodes - 1:
        raise InputError(
            "mean-degree-out-of-range",
            "{parameter} must be from 0 to {n_nodes} - 1 = {limit}; found {value}. Lower it, or "
            "ask for more nodes.",
            parameter=Parameter("mean_degree"),
            n_nodes=Parameter("n_nodes"),
            limit=n_nodes - 1,
            value=mean_degree,
        )
    return np.triu(rng.random((n_nodes, n_nodes)) < mean_degree / (n_nodes - 1), 1)
