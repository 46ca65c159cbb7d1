"""Probabilities of single nodes given whatever else of a row is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, softmax

from slabfield import checks
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows
from slabfield.models.field import BinaryField

Bools = NDArray[np.bool_]
Nodes = NDArray[np.intp]

MOST_ENUMERATED = 12
"""Most unknown nodes joined to each other whose 2^12 states are summed; more are sampled."""

ENTRIES_AT_ONCE = 2**21
"""Rows times states that are held at a time."""

N_PARTICLES, N_BURN_IN, N_SWEEPS = 8, 100, 200
"""Gibbs runs for each row, their sweeps thrown away and those averaged, where nodes are sampled."""


def node_probabilities(
    model: Evaluable,
    rows: ArrayLike,
    unknown: ArrayLike | None = None,
    nodes: Sequence[int] | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Array:
    """Probability that each node is 1, given what is known of the other nodes of its row.

    Other unknown nodes of the row are summed out: exactly where no more than 12 of them hang
    together by edges, and else by Gibbs sampling (8 runs of 200 sweeps for each field and row).

    Parameters
    ----------
    model : BinaryField, fitted estimator, or sequence of these
        Of a sequence, the probabilities are averaged.
    rows : array of shape (N, D)
        States, 0 or 1; of unknown entries anything of the two.
    unknown : array of bool, shape (N, D), optional
        Entries that are not known. None: all are known.
    nodes : sequence of int, optional
        Only these nodes. None: all.
    random_state : int, Generator or None
        For the Gibbs sampling, where there is any.

    Returns
    -------
    array of shape (N, D), or (N, number of nodes asked for)
        The probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import node_probabilities
    >>> from slabfield.models.field import BinaryField
    >>> field = BinaryField([0.0, 0.0], [[0, np.log(3)], [np.log(3), 0]])
    >>> node_probabilities(field, [[1, 1], [0, 0]]).round(3)
    array([[0.75, 0.75],
           [0.5 , 0.5 ]])
    >>> node_probabilities(field, [[1, 1]], unknown=[[True, True]]).round(3)
    array([[0.667, 0.667]])
    """
    fields = as_fields(model)
    n_nodes = fields[0].n_nodes
    hidden = _check_unknown(unknown, (len(np.asarray(rows)), n_nodes))
    known = np.where(hidden, 0, np.asarray(rows))
    x = check_rows(known, n_nodes).astype(np.float64)
    asked = np.arange(n_nodes) if nodes is None else np.asarray(nodes, dtype=np.intp)
    patterns, which = np.unique(hidden, axis=0, return_inverse=True)
    members = [np.flatnonzero(which.ravel() == k) for k in range(len(patterns))]
    rng = np.random.default_rng(random_state)
    total = np.zeros((len(x), asked.size))
    for field in fields:
        local = field.bias + x @ field.coupling
        found = expit(local[:, asked])
        for pattern, some in zip(patterns, members, strict=True):
            if pattern.any():
                _sum_out(field, x, local, np.flatnonzero(pattern), some, asked, found, rng)
        total += found
    return total / len(fields)


def _sum_out(
    field: BinaryField,
    x: Array,
    local: Array,
    hidden: Nodes,
    some: Nodes,
    asked: Nodes,
    found: Array,
    rng: np.random.Generator,
) -> None:
    """Correct ``found`` for the nodes of some rows that touch hidden ones, the same in all."""
    coupling = field.coupling
    part = np.full(field.n_nodes, -1)
    part[hidden] = connected_components(coupling[np.ix_(hidden, hidden)] != 0, directed=False)[1]
    known = {}
    for column, node in enumerate(asked):
        own = int(part[node])
        if own >= 0:  # hidden: all of its part at once
            inside = np.flatnonzero(part == own)
            if inside.size > 1 and own not in known:
                given = local[np.ix_(some, inside)]
                known[own] = _means(given, coupling[np.ix_(inside, inside)], rng)
            if inside.size > 1:
                found[some, column] = known[own][:, np.searchsorted(inside, node)]
            continue
        touched = np.unique(part[hidden[coupling[node, hidden] != 0]])
        if touched.size:  # itself hidden, for once, with all the parts it holds together
            inside = np.concatenate([[node], np.flatnonzero(np.isin(part, touched))])
            given = local[np.ix_(some, inside)] - np.outer(x[some, node], coupling[node, inside])
            found[some, column] = _means(given, coupling[np.ix_(inside, inside)], rng)[:, 0]


def _means(local: Array, coupling: Array, rng: np.random.Generator) -> Array:
    """Means of the nodes of small fields, one for each row of biases, that share couplings."""
    size = len(coupling)
    if size > MOST_ENUMERATED:
        return _sampled_means(local, coupling, rng)
    states = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(np.float64)
    pairs = 0.5 * np.einsum("si,ij,sj->s", states, coupling, states)
    means = np.empty_like(local)
    step = max(1, ENTRIES_AT_ONCE // len(states))
    for begin in range(0, len(local), step):
        here = slice(begin, begin + step)
        means[here] = softmax(local[here] @ states.T + pairs, axis=1) @ states
    return means


def _sampled_means(local: Array, coupling: Array, rng: np.random.Generator) -> Array:
    """Means of conditional probabilities along Gibbs runs."""
    n_rows, size = local.shape
    bias = np.repeat(local, N_PARTICLES, axis=0)
    states = rng.integers(0, 2, bias.shape).astype(np.float64)
    total = np.zeros_like(bias)
    for sweep in range(N_BURN_IN + N_SWEEPS):
        for i in range(size):
            chance = expit(bias[:, i] + states @ coupling[i])
            states[:, i] = rng.random(len(chance)) < chance
            if sweep >= N_BURN_IN:
                total[:, i] += chance
    mean: Array = total.reshape(n_rows, N_PARTICLES, size).mean(axis=1) / N_SWEEPS
    return mean


def _check_unknown(unknown: ArrayLike | None, shape: tuple[int, int]) -> Bools:
    if unknown is None:
        return np.zeros(shape, np.bool_)
    hidden = np.asarray(unknown)
    if hidden.shape != shape or hidden.dtype != np.bool_:
        raise checks.InputError(
            "The mask of unknown entries must be True and False, as large as the table, "
            f"{shape}; found an array of shape {hidden.shape} and type {hidden.dtype}. Pass for "
            "example numpy.isnan(X)."
        )
    return hidden
