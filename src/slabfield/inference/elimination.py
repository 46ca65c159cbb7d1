"""Exact inference in fields of small treewidth, by variable elimination.

Nodes are summed out one at a time, in the order of an `EliminationPlan` (see
``elimination_order``). Each step keeps tables of the log odds of the node's states 1, 2, ...
against state 0, given its separator. The backward pass needs no more than these to sample a state
or to compute marginals. Tables hold logarithms, so that nothing overflows.

In a table over a separator (s_0, s_1, ...), digit i of the index is the state of s_i. A separator
lists the node that is eliminated first last, so that the states of this node split the table into
contiguous parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield.inference.elimination_order import (
    MEMORY_LIMIT,
    EliminationPlan,
    Separator,
    TableTooLargeError,
    follow,
    plan,
    refuse_large,
)
from slabfield.inference.factor_tables import (
    additive,
    joint_probabilities,
    present_sums,
    runs,
    sum_out,
)
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field
from slabfield.validation import check_positive_int

__all__ = [
    "MEMORY_LIMIT",
    "EliminationPlan",
    "Marginals",
    "TableTooLargeError",
    "log_partition",
    "marginals",
    "plan",
    "sample",
]

Array = NDArray[np.float64]


class Marginals(NamedTuple):
    """Exact means, as `marginals` returns them."""

    mean: Array
    """Mean of x_i, shape (D,)."""
    edges: NDArray[np.intp]
    """The edges (i, j), i < j, of the field, shape (E, 2)."""
    edge_mean: Array
    """Mean of x_i x_j of each edge, shape (E,)."""
    pairs: NDArray[np.intp]
    """The requested pairs, shape (P, 2)."""
    pair_mean: Array
    """Mean of x_i x_j of each requested pair, shape (P,)."""


def log_partition(field: Field, memory_limit: int = MEMORY_LIMIT) -> float:
    """Logarithm of the normalizing constant.

    Parameters
    ----------
    field : Field
        Any number of nodes, with a treewidth that fits the limit.
    memory_limit : int
        Upper limit on the bytes of all tables; a field that needs more is refused with
        `TableTooLargeError` before anything is allocated.
    """
    chosen = plan(field, memory_limit)
    refuse_large(chosen, chosen.log_partition_bytes, memory_limit)
    return _forward(field, chosen, keep=False)[0]


def marginals(
    field: BinaryField, pairs: ArrayLike | None = None, memory_limit: int = MEMORY_LIMIT
) -> Marginals:
    """Mean of every node, of every edge, and of any other requested pairs, of a binary field.

    Parameters
    ----------
    field : BinaryField
        Any number of nodes, with a treewidth that fits the limit.
    pairs : array of shape (P, 2), optional
        Further pairs of nodes, joined by an edge or not. Pairs that share no table cost one more
        elimination for each distinct node needed to cover them, with that node fixed at 1.
    memory_limit : int
        Upper limit on the bytes of all tables, as in `log_partition`.

    Returns
    -------
    Marginals
        ``mean``, ``edges`` with ``edge_mean``, and ``pairs`` with ``pair_mean``.
    """
    requested = _checked_pairs(pairs, field.n_nodes)
    chosen = plan(field, memory_limit)
    refuse_large(chosen, chosen.marginals_bytes, memory_limit)
    known = _backward(chosen, _forward(field, chosen, keep=True)[1])
    mean = np.diag(known).copy()
    edges = np.argwhere(np.triu(field.edges))
    unknown = [(int(i), int(j)) for i, j in requested if np.isnan(known[i, j])]
    while unknown:
        counts = Counter(node for pair in unknown for node in pair)
        node = min(counts, key=lambda i: (-counts[i], i))
        known[node] = known[:, node] = _means_with(field, chosen, node, mean[node])
        unknown = [pair for pair in unknown if node not in pair]
    return Marginals(mean, edges, known[tuple(edges.T)], requested, known[tuple(requested.T)])


def sample(
    field: Field, n: int, rng: np.random.Generator, memory_limit: int = MEMORY_LIMIT
) -> NDArray[np.uint8]:
    """Independent exact draws: eliminate forward, then sample the nodes in the opposite order.

    Parameters
    ----------
    field : Field
        Any number of nodes, with a treewidth that fits the limit.
    rng : numpy.random.Generator
        Source of randomness; n uniform numbers are taken from it for each node.
    memory_limit : int
        Upper limit on the bytes of all tables, as in `log_partition`; draws are not counted.

    Returns
    -------
    array of shape (n, D), uint8
        One state in each row.
    """
    n = check_positive_int("n", n, low=0)
    chosen = plan(field, memory_limit)
    refuse_large(chosen, chosen.sample_bytes, memory_limit)
    log_odds = _forward(field, chosen, keep=True)[1]
    n_states = field.n_states
    states = np.empty((field.n_nodes, n), dtype=np.uint8)
    index = np.empty(n, dtype=np.int64)
    for node, separator in zip(reversed(chosen.order), reversed(chosen.separators), strict=True):
        index[:] = 0
        for other in reversed(separator):
            index *= n_states[other]
            index += states[other]
        states[node] = _draw_states([odds[index] for odds in log_odds.pop()], rng.random(n))
    return np.ascontiguousarray(states.T)


def _draw_states(log_odds: list[Array], uniform: Array) -> NDArray[np.uint8]:
    """Draw states from their log odds against state 0: how many a have u < P(x >= a)."""
    at_least = list(accumulate(reversed(log_odds), np.logaddexp))[::-1]
    drawn, below = np.zeros(uniform.size, np.uint8), np.zeros(uniform.size)
    for state, log_weight in enumerate(log_odds):
        drawn += uniform < np.exp(-np.logaddexp(0.0, below - at_least[state]))
        below = np.logaddexp(below, log_weight)
    return drawn


def _forward(field: Field, chosen: EliminationPlan, keep: bool) -> tuple[float, list[list[Array]]]:
    """Sum out all nodes; return log Z and, with ``keep``, the log odds of every step."""
    total, kept, n_states = 0.0, [], field.n_states.tolist()
    incoming: defaultdict[int, list[tuple[Separator, Array]]] = defaultdict(list)
    for node, separator in zip(chosen.order, chosen.separators, strict=True):
        pairs = [field.pair_energy(node, other) for other in separator]
        tables = [
            additive(energy, [pair[state] for pair in pairs])
            for state, energy in enumerate(field.node_energy(node))
        ]
        _add_messages(tables, separator, incoming.pop(node, []), n_states)
        message, odds = _sum_states(tables, keep)
        if keep:
            kept.append(odds)
        del tables, odds
        if separator:
            incoming[separator[-1]].append((separator[:-1], message))
        else:
            total += float(message[0])
    return total, kept


def _add_messages(
    tables: list[Array],
    separator: Separator,
    messages: list[tuple[Separator, Array]],
    n_states: list[int],
) -> None:
    """Add the messages to a node to its tables, one of each of its states."""
    while messages:
        subset, message = messages.pop()
        inside, sizes = runs(separator, subset, n_states)
        for table, part in zip(tables, message.reshape(len(tables), -1), strict=True):
            view = table.reshape(sizes)
            np.add(view, part.reshape(np.where(inside, sizes, 1)), out=view)


def _sum_states(tables: list[Array], keep: bool) -> tuple[Array, list[Array]]:
    """Sum out a node; return the message to its separator and, with ``keep``, its log odds."""
    first, *others = tables
    total = first.copy() if keep else first
    for table in others:
        np.logaddexp(total, table, out=total)
    return total, [np.subtract(table, first, out=table) for table in others] if keep else []


def _backward(chosen: EliminationPlan, log_odds: list[list[Array]]) -> Array:
    """Pair means of all binary nodes that share a table, from the log odds; NaN elsewhere.

    The last member of a separator is its *parent*. A separator is a subset of its parent's clique
    (the parent and its own separator), whose joint probabilities are already computed.
    """
    pair_mean = np.full((len(chosen.order),) * 2, np.nan)
    n_states = [2] * len(chosen.order)
    n_children = Counter(separator[-1] for separator in chosen.separators if separator)
    cliques: dict[int, tuple[Separator, Array]] = {}
    for node, separator in zip(reversed(chosen.order), reversed(chosen.separators), strict=True):
        marginal = np.ones(1)
        if separator:
            parent = separator[-1]
            marginal = sum_out(*cliques[parent], separator, n_states)
            n_children[parent] -= 1
            if not n_children[parent]:
                del cliques[parent]
        joint = joint_probabilities(log_odds.pop(), marginal)
        means = present_sums(joint[1])
        pair_mean[node, [*separator, node]] = pair_mean[[*separator, node], node] = means
        if n_children[node]:
            cliques[node] = ((*separator, node), joint.reshape(-1))
        del joint, marginal
    return pair_mean


def _means_with(field: BinaryField, chosen: EliminationPlan, node: int, mean: float) -> Array:
    """Mean of the product of one node with every node, from the field with that node at 1.

    The same order without the node needs no larger tables, so it fits where the plan did.
    """
    others = np.delete(np.arange(field.n_nodes), node)
    given = BinaryField(
        field.bias[others] + field.coupling[others, node], field.coupling[np.ix_(others, others)]
    )
    shorter = follow(given, [i - (i > node) for i in chosen.order if i != node])
    result = np.full(field.n_nodes, mean)
    result[others] *= np.diag(_backward(shorter, _forward(given, shorter, keep=True)[1]))
    return result


def _checked_pairs(pairs: ArrayLike | None, n_nodes: int) -> NDArray[np.intp]:
    given = np.asarray([] if pairs is None else pairs)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if given.ndim != 2 or given.shape[1] != 2 or not np.issubdtype(given.dtype, np.integer):
        found = f"an array of shape {given.shape} and type {given.dtype}"
    elif given.min() < 0 or given.max() >= n_nodes:
        found = f"indices from {given.min()} to {given.max()}"
    else:
        return given.astype(np.intp)
    raise ValueError(
        f"pairs must be pairs of node indices from 0 to {n_nodes - 1}; found {found}. "
        "Pass an integer array of shape (P, 2)."
    )
