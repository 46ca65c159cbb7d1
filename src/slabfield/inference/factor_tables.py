"""Flat tables over the joint states of a few nodes, with one digit of the index for each node.

The first node is the lowest digit. For binary nodes digits are bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def additive(constant: float, terms: Sequence[Array]) -> Array:
    """Table of a constant plus a function of the state of each node.

    Parameters
    ----------
    constant : float
        The constant.
    terms : sequence of arrays
        For each node, the value of its function at every state, (K,).

    Returns
    -------
    array of shape (product of the K,)
        The table.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.factor_tables import additive
    >>> additive(1.0, [np.array([0.0, 0.5]), np.array([0.0, 10.0, 20.0])])
    array([ 1. ,  1.5, 11. , 11.5, 21. , 21.5])
    """
    table = np.empty(prod(term.size for term in terms))
    table[0] = constant
    size = 1
    for term in terms:
        for state in range(1, term.size):
            np.add(table[:size], term[state], out=table[state * size : (state + 1) * size])
        if term[0] != 0.0:
            table[:size] += term[0]
        size *= term.size
    return table


def present_sums(table: Array) -> Array:
    """Sum of a table of binary nodes over the states with node i at 1, for each i; and the total.

    Parameters
    ----------
    table : array of shape (2^k,)
        Any numbers.

    Returns
    -------
    array of shape (k + 1,)
        The k sums and the total.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.factor_tables import present_sums
    >>> present_sums(np.array([0.1, 0.2, 0.3, 0.4])).round(3)
    array([0.6, 0.7, 1. ])
    """
    n_nodes = table.size.bit_length() - 1
    sums = np.empty(n_nodes + 1)
    sums[-1] = table.sum()
    for i in reversed(range(n_nodes)):
        lower, upper = table.reshape(2, -1)
        sums[i] = upper.sum()
        table = lower + upper
    return sums


def joint_probabilities(log_odds: Sequence[Array], marginal: Array) -> Array:
    """Joint probabilities of a node and of the nodes that its log odds depend on.

    Parameters
    ----------
    log_odds : sequence of K - 1 arrays of shape (n,)
        Log odds of the node's states 1, 2, ... against 0, given the others.
    marginal : array of shape (n,)
        Marginal probabilities of the others.

    Returns
    -------
    array of shape (K, n)
        A row for each state of the node. Small probabilities keep their relative accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.factor_tables import joint_probabilities
    >>> joint_probabilities([np.log([1.0, 3.0])], np.array([0.2, 0.8])).round(3)
    array([[0.1, 0.2],
           [0.1, 0.6]])
    """
    joint = np.zeros((len(log_odds) + 1, marginal.size))
    for odds in log_odds:
        np.logaddexp(joint[0], odds, out=joint[0])
    np.negative(joint[0], out=joint[0])
    for state, odds in enumerate(log_odds, start=1):
        np.add(joint[0], odds, out=joint[state])
    np.exp(joint, out=joint)
    joint *= marginal
    return joint


def runs(
    nodes: Sequence[int], subset: Sequence[int], n_states: Sequence[int]
) -> tuple[list[bool], list[int]]:
    """Split the digits of a table's index into runs of nodes all inside, or all outside, a subset.

    Parameters
    ----------
    nodes, subset : sequence of int
        The nodes of a table and a subset of them in the same order, lowest digit first.
    n_states : sequence of int
        Number of states of every node of the field.

    Returns
    -------
    inside : list of bool
        Whether each run is in the subset; the run of the highest digits comes first.
    sizes : list of int
        Number of states of each run. This is the shape with the fewest axes in which a table over
        the nodes and one over the subset broadcast.
    """
    members = frozenset(subset)
    groups = [
        (inside, prod(n_states[node] for node in group))
        for inside, group in groupby(reversed(nodes), key=members.__contains__)
    ]
    return [inside for inside, _ in groups], [size for _, size in groups]


def sum_out(
    nodes: Sequence[int], table: Array, subset: Sequence[int], n_states: Sequence[int]
) -> Array:
    """Sum a table over the nodes that are not in a subset.

    Parameters
    ----------
    nodes, subset, n_states : sequence of int
        As in `runs`.
    table : array of shape (number of joint states of the nodes,)
        Any numbers.

    Returns
    -------
    array of shape (number of joint states of the subset,)
        The table over the subset.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.factor_tables import sum_out
    >>> sum_out([1, 0], np.array([1.0, 2.0, 10.0, 20.0]), subset=[0], n_states=[2, 2])
    array([ 3., 30.])
    """
    inside, sizes = runs(nodes, subset, n_states)
    axes = tuple(axis for axis, member in enumerate(inside) if not member)
    result: Array = table.reshape(sizes).sum(axis=axes).reshape(-1)
    return result


def readable_count(n: int) -> str:
    """Format a number in full, or as the power of two below it where that would be too long.

    Examples
    --------
    >>> from slabfield.inference.factor_tables import readable_count
    >>> readable_count(2**30), readable_count(2**100)
    ('1,073,741,824', '2^100')
    """
    return f"{n:,}" if n < 10**15 else f"2^{n.bit_length() - 1}"
