"""Block fields: groups of nodes with positive couplings inside."""

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
from slabfield.validation import check_number, check_positive_int


def make_block(
    n_rows: int,
    random_state: RandomState = None,
    *,
    n_groups: int = 3,
    group_size: int = 4,
    p_within: float = 0.8,
    p_across: float = 0.1,
    coupling_scale: float = 0.5,
    bias_scale: float = 0.1,
    method: Method = "auto",
    memory_limit: int = MEMORY_LIMIT,
    n_sweeps: int = N_SWEEPS,
) -> Simulated:
    """Draw a random block field, and rows from it.

    Nodes come in groups: 0 to 3, 4 to 7 and 8 to 11 with the defaults. An edge is present with
    one probability within a group and another across groups. Ising couplings and biases are
    normal; couplings within a group are made positive.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Source of randomness. The field of a given seed does not depend on ``n_rows``.
    n_groups, group_size : int
        Number of groups, and nodes in each.
    p_within, p_across : float
        Edge probabilities.
    coupling_scale, bias_scale : float
        Standard deviations of couplings and biases, on the Ising scale.
    method, memory_limit, n_sweeps
        How rows are sampled, as in `draw_rows`.

    Returns
    -------
    Simulated
        ``field``, ``rows`` and the ``method`` used.

    Examples
    --------
    >>> from slabfield.datasets import make_block
    >>> data = make_block(1000, random_state=0)
    >>> data.rows.shape, data.method
    ((1000, 12), 'enumeration')
    """
    check_number("p_within", p_within, 0, 1)
    check_number("p_across", p_across, 0, 1)
    group_size = check_positive_int("group_size", group_size)
    n_nodes = check_positive_int("n_groups", n_groups) * group_size
    field_rng, row_rng = two_streams(random_state)
    group = np.arange(n_nodes) // group_size
    within = group[:, None] == group[None, :]
    edges = field_rng.random((n_nodes, n_nodes)) < np.where(within, p_within, p_across)
    field = ising_field(edges, field_rng, coupling_scale, bias_scale, positive=within)
    return simulate(field, n_rows, row_rng, method, memory_limit, n_sweeps)
