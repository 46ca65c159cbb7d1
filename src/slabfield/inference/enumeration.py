"""Exact inference in small fields, from the table of all joint states.

Digit i of a state's index is node i: with binary nodes, index 5 = 101 is the state in which nodes 0
and 2 are 1. Tables grow by one node at a time, so that every function here makes a few passes over
all states and holds only a few such tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield.inference.factor_tables import additive, present_sums, readable_count
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field, n_joint_states
from slabfield.validation import check_positive_int

Array = NDArray[np.float64]

MAX_NODES = 20
"""Largest number of binary nodes that are enumerated."""

MAX_STATES = 2**MAX_NODES
"""Largest number of joint states that are enumerated: a table of them takes 8 MB."""


def log_partition(field: Field) -> float:
    """Logarithm of the normalizing constant: the sum of the weights of all states.

    Parameters
    ----------
    field : Field
        At most ``MAX_STATES`` joint states.
    """
    table = log_weights(field)
    largest = table.max()
    return float(largest + np.log(np.exp(table - largest).sum()))


def probabilities(field: Field) -> Array:
    """Probability of every state.

    Parameters
    ----------
    field : Field
        At most ``MAX_STATES`` joint states.

    Returns
    -------
    array of shape (number of joint states,)
        Digit i of the index is the state of node i. The sum is 1.
    """
    table = log_weights(field)
    table -= table.max()
    np.exp(table, out=table)
    table /= table.sum()
    return table


def moments(field: BinaryField) -> tuple[Array, Array]:
    """Mean of every node and of every product of two nodes of a binary field.

    Parameters
    ----------
    field : BinaryField
        At most ``MAX_NODES`` nodes.

    Returns
    -------
    mean : array of shape (D,)
        Mean of x_i.
    pair_mean : array of shape (D, D)
        Mean of x_i x_j; the diagonal is ``mean``, because x_i x_i = x_i.
    """
    pair_mean = np.empty((field.n_nodes,) * 2)
    remaining = probabilities(field)  # of nodes 0..i, the higher ones summed out
    for i in reversed(range(field.n_nodes)):
        lower, upper = remaining.reshape(2, -1)
        pair_mean[i, : i + 1] = pair_mean[: i + 1, i] = present_sums(upper)
        remaining = lower + upper
    return np.diag(pair_mean).copy(), pair_mean


def log_likelihood(field: Field, rows: ArrayLike) -> Array:
    """Exact log probability of each row.

    Parameters
    ----------
    field : Field
        At most ``MAX_STATES`` joint states.
    rows : array of shape (n, D)
        States: codes 0, 1, ...

    Returns
    -------
    array of shape (n,)
        log P(row), normalized.
    """
    states = np.asarray(rows)
    if states.ndim != 2 or states.shape[1] != field.n_nodes:
        raise ValueError(
            f"The rows of a field of {field.n_nodes} nodes must have that many columns; found an "
            f"array of shape {states.shape}. Pass rows of shape (n, {field.n_nodes})."
        )
    n_states = field.n_states
    invalid = states[(states < 0) | (states >= n_states) | (states % 1 != 0)]
    if invalid.size:
        raise ValueError(
            f"The rows must hold only {_codes(n_states)}; they also hold "
            f"{np.unique(invalid)[:5].tolist()}. Code the values of each column as 0, 1, ..."
        )
    return field.log_potential(states) - log_partition(field)


def sample(field: Field, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Independent exact draws.

    Parameters
    ----------
    field : Field
        At most ``MAX_STATES`` joint states.
    rng : numpy.random.Generator
        Source of randomness; n uniform numbers are taken from it.

    Returns
    -------
    array of shape (n, D), uint8
        One state in each row.
    """
    n = check_positive_int("n", n, low=0)
    cumulative = np.cumsum(probabilities(field))
    cumulative /= cumulative[-1]
    # side="right" skips states of probability 0, and u < 1 keeps the index inside the table.
    index = np.searchsorted(cumulative, rng.random(n), side="right")
    return states_of(index, field.n_states)


def states_of(index: NDArray[np.int64], n_states: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the states of all nodes, (n, D), at some indices of the table of joint states."""
    stride = np.concatenate([[1], np.cumprod(n_states)[:-1]])[: len(n_states)].astype(np.int64)
    return (index[:, None] // stride % n_states).astype(np.uint8)


def log_weights(field: Field) -> Array:
    """Unnormalized log probability of all states.

    Parameters
    ----------
    field : Field
        At most ``MAX_STATES`` joint states.

    Returns
    -------
    array of shape (number of joint states,)
        Digit i of the index is the state of node i.
    """
    n_states = n_joint_states(field)
    _refuse_large(n_states, field.n_nodes)
    table = np.zeros(n_states)
    size = 1
    for i in range(field.n_nodes):
        energy = field.node_energy(i)
        pairs = [field.pair_energy(i, j) for j in range(i)]
        for state in reversed(range(energy.size)):
            own = [pair[state] for pair in pairs]
            if state or energy[0] or any(term.any() for term in own):
                added = additive(energy[state], own)
                np.add(table[:size], added, out=table[state * size : (state + 1) * size])
        size *= energy.size
    return table


def _refuse_large(n_states: int, n_nodes: int) -> None:
    if n_states > MAX_STATES:
        raise ValueError(
            f"Enumeration takes a field of at most {MAX_STATES:,} joint states, for example "
            f"{MAX_NODES} binary nodes; this one of {n_nodes} nodes has {readable_count(n_states)} "
            "states. Use slabfield.inference.elimination, which takes more nodes if the graph has "
            "a small treewidth, or Gibbs sampling."
        )


def _codes(n_states: NDArray[np.int64]) -> str:
    """Describe the codes that rows may hold."""
    if np.all(n_states == 2):
        return "0 and 1"
    return f"codes from 0 to the number of levels less one ({n_states.tolist()} levels)"
