"""Tables of the joint states of a few nodes given the rest of each row, many rows at a time.

Digit i of the index of a joint state is the state of node i, as in ``enumeration``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from slabfield.models.energy_field import EnergyField
from slabfield.models.protocol import Array

MAX_ENTRIES = 2**21
"""Upper limit on the entries of the tables of several rows in memory: 16 MB."""


def row_slices(n_rows: int, entries_per_row: int) -> Iterator[slice]:
    """Cut rows into slices whose tables fit the limit, or of one row."""
    step = max(MAX_ENTRIES // entries_per_row, 1)
    return (slice(begin, begin + step) for begin in range(0, n_rows, step))


def row_tables(block: EnergyField, inside: Array, logits: Array) -> Array:
    """Log weights of all joint states of a block of nodes in each row.

    Parameters
    ----------
    block : EnergyField
        The nodes.
    inside : array of shape (C,)
        Log weights of the joint states from the edges inside the block.
    logits : array of shape (N, S)
        Log weights of all levels of the nodes given what is known of the rest of each row.

    Returns
    -------
    array of shape (N, C)
    """
    table = np.zeros((len(logits), 1))
    for begin, end in zip(block.start[:-1], block.start[1:], strict=True):
        table = (logits[:, begin:end, None] + table[:, None, :]).reshape(len(logits), -1)
    table += inside
    return table


def log_total(table: Array) -> Array:
    """Logarithm of the sum of the exponentials along the last axis."""
    largest = table.max(axis=-1, keepdims=True)
    total: Array = np.log(np.exp(table - largest).sum(axis=-1)) + largest[..., 0]
    return total


def node_marginals(block: EnergyField, table: Array) -> Array:
    """Probabilities of all levels of the nodes of a block, (N, S), from log weights (N, C)."""
    weights = np.exp(table - table.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    shape = (len(table), *reversed(block.n_states.tolist()))
    parts = []
    for i in range(block.n_nodes):
        others = tuple(axis for axis in range(1, len(shape)) if axis != len(shape) - 1 - i)
        parts.append(weights.reshape(shape).sum(axis=others))
    return np.concatenate(parts, axis=1)


def connected_sets(
    edges: NDArray[np.bool_], hidden: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Connected components of the hidden nodes of each row, each with the rows that have it.

    Parameters
    ----------
    edges : array of bool, shape (D, D)
    hidden : array of bool, shape (N, D)

    Yields
    ------
    nodes, rows : arrays of int
        The nodes of a component, and the rows in which they are one.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.row_tables import connected_sets
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> hidden = np.array([[1, 1, 0], [1, 0, 1]], dtype=bool)
    >>> [(nodes.tolist(), rows.tolist()) for nodes, rows in connected_sets(chain, hidden)]
    [([0], [1]), ([0, 1], [0]), ([2], [1])]
    """
    label = np.where(hidden, np.arange(len(edges)), len(edges))  # of a component: its first node
    both_hidden = [
        (i, j, rows)
        for i, j in np.argwhere(np.triu(edges)).tolist()
        if (rows := np.flatnonzero(hidden[:, i] & hidden[:, j])).size
    ]
    changed = True
    while changed:
        before = label.copy()
        for i, j, rows in both_hidden:
            label[rows, i] = label[rows, j] = np.minimum(label[rows, i], label[rows, j])
        changed = not np.array_equal(before, label)
    for first in range(len(edges)):
        rows = np.flatnonzero(label[:, first] == first)
        members, which = np.unique(label[rows] == first, axis=0, return_inverse=True)
        for k, inside in enumerate(members):
            yield np.flatnonzero(inside), rows[which.ravel() == k]
