"""Flat tables over the joint states of a few nodes, with one bit of the index for each node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def linear(constant: float, coefficients: ArrayLike) -> Array:
    """Table of a linear function of the states: a constant plus the coefficients of set bits.

    Parameters
    ----------
    constant : float
        Entry of the state in which all nodes are 0.
    coefficients : array of shape (k,)
        Coefficient of each node.

    Returns
    -------
    array of shape (2^k,)
        The table.
    """
    values = np.asarray(coefficients, dtype=np.float64)
    table = np.empty(2**values.size)
    table[0] = constant
    for i, value in enumerate(values):
        np.add(table[: 2**i], value, out=table[2**i : 2 ** (i + 1)])
    return table


def present_sums(table: Array) -> Array:
    """Sum of a table over the states in which bit i is 1, for each i, followed by the total.

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


def joint_probabilities(log_odds: Array, marginal: Array) -> Array:
    """Joint probabilities of a node and of the nodes that its log odds depend on.

    Parameters
    ----------
    log_odds : array of shape (2^k,)
        Log odds of the node given the others.
    marginal : array of shape (2^k,)
        Marginal probabilities of the others.

    Returns
    -------
    array of shape (2, 2^k)
        First row: the node at 0; second: at 1. Small probabilities keep their relative accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.factor_tables import joint_probabilities
    >>> joint_probabilities(np.log([1.0, 3.0]), np.array([0.2, 0.8])).round(3)
    array([[0.1, 0.2],
           [0.1, 0.6]])
    """
    joint = np.empty((2, log_odds.size))
    np.logaddexp(0.0, log_odds, out=joint[0])
    np.negative(joint[0], out=joint[0])
    np.add(joint[0], log_odds, out=joint[1])
    np.exp(joint, out=joint)
    joint *= marginal
    return joint


def runs(nodes: Sequence[int], subset: Sequence[int]) -> tuple[list[bool], list[int]]:
    """Split the bits of a table's index into runs of nodes that are all inside, or all outside.

    Parameters
    ----------
    nodes, subset : sequence of int
        The nodes of a table and a subset of them in the same order, bit 0 first.

    Returns
    -------
    inside : list of bool
        Whether each run is in the subset; the run of the highest bits comes first.
    sizes : list of int
        Number of states of each run. This is the shape with the fewest axes in which a table over
        the nodes and one over the subset broadcast.
    """
    members = frozenset(subset)
    groups = [
        (inside, 2 ** len(list(group)))
        for inside, group in groupby(reversed(nodes), key=members.__contains__)
    ]
    return [inside for inside, _ in groups], [size for _, size in groups]


def sum_out(nodes: Sequence[int], table: Array, subset: Sequence[int]) -> Array:
    """Sum a table over the nodes that are not in a subset.

    Parameters
    ----------
    nodes, subset : sequence of int
        As in `runs`.
    table : array of shape (2^len(nodes),)
        Any numbers.

    Returns
    -------
    array of shape (2^len(subset),)
        The table over the subset.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.inference.factor_tables import sum_out
    >>> sum_out([7, 3], np.array([1.0, 2.0, 10.0, 20.0]), subset=[3])
    array([ 3., 30.])
    """
    inside, sizes = runs(nodes, subset)
    axes = tuple(axis for axis, member in enumerate(inside) if not member)
    result: Array = table.reshape(sizes).sum(axis=axes).reshape(-1)
    return result
