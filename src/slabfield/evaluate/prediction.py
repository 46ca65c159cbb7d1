"""Marginal probabilities of single nodes given the known entries of a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, softmax

from slabfield import validation
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows
from slabfield.models.field import BinaryField

Bools = NDArray[np.bool_]
Nodes = NDArray[np.intp]

MOST_ENUMERATED = 12
"""Largest connected set of unknown nodes whose 2^12 states are summed; larger ones are sampled."""

ENTRIES_AT_ONCE = 2**21
"""Upper limit on the entries (rows times states) of a temporary array."""

N_PARTICLES = 8
"""Number of Gibbs runs for each row, where nodes are sampled."""

N_BURN_IN = 100
"""Sweeps of each Gibbs run that are discarded."""

N_SWEEPS = 200
"""Sweeps of each Gibbs run that are averaged."""


def node_probabilities(
    model: Evaluable,
    rows: ArrayLike,
    unknown: ArrayLike | None = None,
    nodes: Sequence[int] | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Array:
    """Probability that each node is 1, given the known entries of the other nodes of its row.

    Other unknown nodes of the row are summed out: exactly where at most 12 of them are connected
    by edges, and else by Gibbs sampling (8 runs of 200 sweeps for each field and row).

    Parameters
    ----------
    model : BinaryField, fitted estimator, or sequence of these
        A sequence is a mixture: probabilities are averaged.
    rows : array of shape (N, D)
        States, 0 or 1; unknown entries are ignored.
    unknown : array of bool, shape (N, D), optional
        Which entries are unknown; None if all are known.
    nodes : sequence of int, optional
        The nodes to predict; None predicts all.
    random_state : int, Generator or None
        Source of randomness of the Gibbs sampling.

    Returns
    -------
    array of shape (N, D), or (N, len(nodes))
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
    targets = np.arange(n_nodes) if nodes is None else np.asarray(nodes, dtype=np.intp)
    patterns, which = np.unique(hidden, axis=0, return_inverse=True)
    members = [np.flatnonzero(which.ravel() == k) for k in range(len(patterns))]
    rng = np.random.default_rng(random_state)
    total = np.zeros((len(x), targets.size))
    for field in fields:
        logit = field.bias + x @ field.coupling
        probability = expit(logit[:, targets])
        for pattern, some in zip(patterns, members, strict=True):
            if pattern.any():
                _sum_out(field, x, logit, np.flatnonzero(pattern), some, targets, probability, rng)
        total += probability
    return total / len(fields)


def _sum_out(
    field: BinaryField,
    x: Array,
    logit: Array,
    hidden: Nodes,
    some: Nodes,
    targets: Nodes,
    probability: Array,
    rng: np.random.Generator,
) -> None:
    """Correct probabilities of target nodes that are, or touch, hidden nodes, for some rows.

    The hidden nodes are the same in all these rows.
    """
    coupling = field.coupling
    component = np.full(field.n_nodes, -1)
    component[hidden] = connected_components(coupling[np.ix_(hidden, hidden)] != 0, directed=False)[
        1
    ]
    known = {}
    for column, node in enumerate(targets):
        own = int(component[node])
        if own >= 0:  # hidden: the means of its whole component are computed at once
            inside = np.flatnonzero(component == own)
            if inside.size > 1 and own not in known:
                given = logit[np.ix_(some, inside)]
                known[own] = _means(given, coupling[np.ix_(inside, inside)], rng)
            if inside.size > 1:
                probability[some, column] = known[own][:, np.searchsorted(inside, node)]
            continue
        touched = np.unique(component[hidden[coupling[node, hidden] != 0]])
        if touched.size:  # known: treated as hidden here, which joins the components it touches
            inside = np.concatenate([[node], np.flatnonzero(np.isin(component, touched))])
            given = logit[np.ix_(some, inside)] - np.outer(x[some, node], coupling[node, inside])
            probability[some, column] = _means(given, coupling[np.ix_(inside, inside)], rng)[:, 0]


def _means(biases: Array, coupling: Array, rng: np.random.Generator) -> Array:
    """Means of the nodes of small fields with the same couplings, one for each row of biases."""
    size = len(coupling)
    if size > MOST_ENUMERATED:
        return _sampled_means(biases, coupling, rng)
    states = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(np.float64)
    pairs = 0.5 * np.einsum("si,ij,sj->s", states, coupling, states)
    means = np.empty_like(biases)
    step = max(1, ENTRIES_AT_ONCE // len(states))
    for begin in range(0, len(biases), step):
        here = slice(begin, begin + step)
        means[here] = softmax(biases[here] @ states.T + pairs, axis=1) @ states
    return means


def _sampled_means(biases: Array, coupling: Array, rng: np.random.Generator) -> Array:
    """Means of the conditional probabilities along Gibbs runs."""
    n_rows, size = biases.shape
    bias = np.repeat(biases, N_PARTICLES, axis=0)
    states = rng.integers(0, 2, bias.shape).astype(np.float64)
    total = np.zeros_like(bias)
    for sweep in range(N_BURN_IN + N_SWEEPS):
        for i in range(size):
            probability = expit(bias[:, i] + states @ coupling[i])
            states[:, i] = rng.random(len(probability)) < probability
            if sweep >= N_BURN_IN:
                total[:, i] += probability
    mean: Array = total.reshape(n_rows, N_PARTICLES, size).mean(axis=1) / N_SWEEPS
    return mean


def _check_unknown(unknown: ArrayLike | None, shape: tuple[int, int]) -> Bools:
    if unknown is None:
        return np.zeros(shape, np.bool_)
    hidden = np.asarray(unknown)
    if hidden.shape != shape or hidden.dtype != np.bool_:
        raise validation.InputError(
            "invalid-unknown-mask",
            "The mask of unknown entries must hold True and False and have the shape of the table, "
            "{shape}; found an array of shape {found} and type {kind}. Pass for example "
            "numpy.isnan(X).",
            shape=shape,
            found=hidden.shape,
            kind=str(hidden.dtype),
        )
    return hidden
