"""Exact inference in small fields, from the table of all 2^D states.

Bit i of a state's index is node i: index 5 = 101 in binary is the state in which nodes 0 and 2
are 1. Tables are built by doubling and summed by halving, so that every function here makes a few
passes over 2^D numbers and holds only a few such tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield.inference.factor_tables import linear, present_sums
from slabfield.models.field import BinaryField
from slabfield.validation import check_positive_int

Array = NDArray[np.float64]

MAX_NODES = 20
"""Largest number of nodes that is enumerated: a table of 2^20 numbers takes 8 MB."""


def log_partition(field: BinaryField) -> float:
    r"""Logarithm of the normalizing constant.

    .. math:: \log Z = \log \sum_x \exp(\sum_i b_i x_i + \sum_{i<j} \theta_{ij} x_i x_j)

    Parameters
    ----------
    field : BinaryField
        At most ``MAX_NODES`` nodes.
    """
    log_weights = _log_weights(field)
    largest = log_weights.max()
    return float(largest + np.log(np.exp(log_weights - largest).sum()))


def probabilities(field: BinaryField) -> Array:
    """Probability of every state.

    Parameters
    ----------
    field : BinaryField
        At most ``MAX_NODES`` nodes.

    Returns
    -------
    array of shape (2^D,)
        Bit i of the index is the state of node i. The sum is 1.
    """
    table = _log_weights(field)
    table -= table.max()
    np.exp(table, out=table)
    table /= table.sum()
    return table


def moments(field: BinaryField) -> tuple[Array, Array]:
    """Mean of every node and of every product of two nodes.

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


def log_likelihood(field: BinaryField, rows: ArrayLike) -> Array:
    """Exact log probability of each row.

    Parameters
    ----------
    field : BinaryField
        At most ``MAX_NODES`` nodes.
    rows : array of shape (n, D)
        States, 0 or 1.

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
    invalid = states[(states != 0) & (states != 1)]
    if invalid.size:
        raise ValueError(
            "The rows must hold only 0 and 1; they also hold "
            f"{np.unique(invalid)[:5].tolist()}. Code the two values of each column as 0 and 1."
        )
    return field.log_potential(states) - log_partition(field)


def sample(field: BinaryField, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Independent exact draws.

    Parameters
    ----------
    field : BinaryField
        At most ``MAX_NODES`` nodes.
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
    return ((index[:, None] >> np.arange(field.n_nodes)) & 1).astype(np.uint8)


def _log_weights(field: BinaryField) -> Array:
    """Unnormalized log probability of all states, by doubling the table once per node."""
    _refuse_large(field.n_nodes)
    table = np.zeros(2**field.n_nodes)
    for i in range(field.n_nodes):
        added = linear(field.bias[i], field.coupling[i, :i])  # contribution of x_i = 1
        np.add(table[: 2**i], added, out=table[2**i : 2 ** (i + 1)])
    return table


def _refuse_large(n_nodes: int) -> None:
    if n_nodes > MAX_NODES:
        raise ValueError(
            f"Enumeration takes a field of at most {MAX_NODES} nodes; this one has {n_nodes}, "
            f"which is 2^{n_nodes} states. Use slabfield.inference.elimination, which takes more "
            "nodes if the graph has a small treewidth, or Gibbs sampling."
        )
