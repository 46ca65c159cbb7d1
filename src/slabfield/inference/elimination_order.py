"""The order of variable elimination, and the memory that it needs.

Summing out a node leaves a table over its *separator*: its neighbors among the remaining nodes,
which become neighbors of one another. Memory is exponential in the size of the largest separator
(the *width* of the order) and linear in the number of nodes. Here, sets of nodes are integers with
bit i for node i.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from slabfield.inference.factor_tables import readable_count
from slabfield.models.protocol import Field
from slabfield.validation import check_positive_int

Separator = tuple[int, ...]
Step = tuple[int, int]

MEMORY_LIMIT = 2**30
"""Default upper limit on the bytes of all tables: 1 GiB."""

BYTES_PER_NUMBER = 8


class TableTooLargeError(ValueError):
    """Raised, before allocation, where the tables of an elimination exceed the memory limit."""

    def __init__(self, needed_bytes: int, memory_limit: int, largest_table: int, n_nodes: int):
        self.needed_bytes = needed_bytes
        self.memory_limit = memory_limit
        super().__init__(
            f"Variable elimination of this field of {n_nodes} nodes does not fit the memory "
            f"limit; it needs at least {readable_bytes(needed_bytes)} (a table of "
            f"{readable_count(largest_table)} numbers and those kept beside it) and the limit is "
            f"{readable_bytes(memory_limit)}. Raise memory_limit if the machine has the "
            "memory; otherwise exact inference is out of reach here: use Gibbs sampling."
        )


class EliminationPlan(NamedTuple):
    """An elimination order and the memory that it needs, as `plan` returns them."""

    order: tuple[int, ...]
    """Nodes in the order in which they are summed out."""
    separators: tuple[Separator, ...]
    """For each of them, the nodes of its table."""
    log_partition_bytes: int
    """Peak memory of the tables in `log_partition`, in bytes."""
    sample_bytes: int
    """Peak memory of the tables in `sample`, without the draws, in bytes."""
    marginals_bytes: int
    """Peak memory of the tables in `marginals`, in bytes."""
    largest_table: int
    """Numbers in the largest table over a separator."""

    @property
    def width(self) -> int:
        """Number of nodes in the largest separator."""
        return max(map(len, self.separators), default=0)


def plan(field: Field, memory_limit: int | None = None) -> EliminationPlan:
    """Choose an elimination order and predict its memory, without doing the elimination.

    The order is that of greedy min-fill (first the node whose elimination joins the fewest pairs
    of its neighbors; of equal ones the lowest index), or the order of the node indices where that
    needs smaller tables, as it does on lattices. It depends only on the graph and on the numbers of
    states.

    Parameters
    ----------
    memory_limit : int, optional
        Raise `TableTooLargeError` at the first table that alone takes more bytes, which avoids
        planning a large dense graph to the end only to refuse it.

    Returns
    -------
    EliminationPlan
        The order, its separators, its width and the memory that each use of it needs.
    """
    limit = check_positive_int("memory_limit", memory_limit, allow_none=True)
    neighbors, n_states = _neighbor_masks(field), field.n_states.tolist()
    candidates = (_min_fill(neighbors), _in_order(neighbors, range(field.n_nodes)))
    tried = [_collect(steps, n_states, limit) for steps in candidates]
    finished = [steps for steps, complete in tried if complete]
    if limit is not None and not finished:
        table = min(_table_size(steps[-1][1], n_states) for steps, _ in tried)
        raise TableTooLargeError(BYTES_PER_NUMBER * table, limit, table, field.n_nodes)
    smallest = min(
        finished, key=lambda steps: sum(_table_size(mask, n_states) for _, mask in steps)
    )
    return _sized(smallest, n_states)


def follow(field: Field, order: Sequence[int]) -> EliminationPlan:
    """Plan the elimination of the nodes in a given order.

    Parameters
    ----------
    order : sequence of int
        Every node once.

    Returns
    -------
    EliminationPlan
        As `plan` returns it.
    """
    return _sized(list(_in_order(_neighbor_masks(field), order)), field.n_states.tolist())


def refuse_large(chosen: EliminationPlan, needed_bytes: int, memory_limit: int) -> None:
    """Raise `TableTooLargeError` if a use of the plan needs more than the limit.

    Parameters
    ----------
    needed_bytes, memory_limit : int
        The memory that it needs, and the limit.
    """
    if needed_bytes > memory_limit:
        raise TableTooLargeError(
            needed_bytes, memory_limit, chosen.largest_table, len(chosen.order)
        )


def _min_fill(neighbors: Sequence[int]) -> Iterator[Step]:
    """Eliminate greedily the node that joins the fewest pairs; yield it and its separator."""
    masks = list(neighbors)
    missing = [_missing_pairs(masks, node) for node in range(len(masks))]
    left = set(range(len(masks)))
    while left:
        node = min(left, key=lambda i: (missing[i], i))
        left.remove(node)
        separator = masks[node]
        affected = separator
        if missing[node]:
            for other in _members(separator):
                affected |= masks[other]
        _join(masks, node)
        for other in _members(affected & ~(1 << node)):
            missing[other] = _missing_pairs(masks, other)
        yield node, separator


def _in_order(neighbors: Sequence[int], order: Iterable[int]) -> Iterator[Step]:
    """Eliminate the nodes in the given order; yield each with its separator."""
    masks = list(neighbors)
    for node in order:
        separator = masks[node]
        _join(masks, node)
        yield node, separator


def _collect(
    steps: Iterable[Step], n_states: Sequence[int], memory_limit: int | None
) -> tuple[list[Step], bool]:
    """Collect the steps up to the first table over the limit; return whether these are all."""
    taken = []
    for step in steps:
        taken.append(step)
        table_bytes = BYTES_PER_NUMBER * _table_size(step[1], n_states)
        if memory_limit is not None and table_bytes > memory_limit:
            return taken, False
    return taken, True


def _sized(steps: Sequence[Step], n_states: Sequence[int]) -> EliminationPlan:
    order = tuple(node for node, _ in steps)
    position = {node: i for i, node in enumerate(order)}
    separators = tuple(
        tuple(sorted(_members(mask), key=position.__getitem__, reverse=True)) for _, mask in steps
    )
    forward = _forward_bytes(order, separators, n_states, keep=True)
    return EliminationPlan(
        order,
        separators,
        log_partition_bytes=_forward_bytes(order, separators, n_states, keep=False),
        sample_bytes=forward,
        marginals_bytes=max(forward, _backward_bytes(order, separators, n_states)),
        largest_table=max((_table_size(mask, n_states) for _, mask in steps), default=1),
    )


def _forward_bytes(
    order: Sequence[int], separators: Sequence[Separator], n_states: Sequence[int], keep: bool
) -> int:
    """Peak memory of the forward pass, in bytes.

    A step holds a table for each state of its node in addition to the pending messages and, where
    log odds are kept, one for its own message. One table remains as that message, and the others
    as log odds if kept.
    """
    peak = messages = kept = 0
    incoming: Counter[int] = Counter()
    for node, separator in zip(order, separators, strict=True):
        table = _table_bytes(separator, n_states)
        peak = max(peak, messages + kept + (n_states[node] + keep) * table)
        messages -= incoming[node]
        if separator:
            messages += table
            incoming[separator[-1]] += table
        kept += (n_states[node] - 1) * table if keep else 0
    return peak


def _backward_bytes(
    order: Sequence[int], separators: Sequence[Separator], n_states: Sequence[int]
) -> int:
    """Peak memory of the backward pass, in bytes: log odds and joint tables still needed.

    A step holds the marginal of its separator, the joint table with its node and, for the pair
    means of binary nodes, tables of half the joint table's size.
    """
    log_odds = sum(
        (n_states[node] - 1) * _table_bytes(separator, n_states)
        for node, separator in zip(order, separators, strict=True)
    )
    n_children = Counter(separator[-1] for separator in separators if separator)
    peak = cliques = 0
    size: dict[int, int] = {}
    for node, separator in zip(reversed(order), reversed(separators), strict=True):
        table = _table_bytes(separator, n_states)
        peak = max(peak, log_odds + cliques + (n_states[node] + 2) * table)
        if separator:
            n_children[separator[-1]] -= 1
            cliques -= 0 if n_children[separator[-1]] else size[separator[-1]]
        log_odds -= (n_states[node] - 1) * table
        size[node] = n_states[node] * table
        cliques += size[node] if n_children[node] else 0
    return peak


def _table_size(mask: int, n_states: Sequence[int]) -> int:
    """Return the number of joint states of a set of nodes."""
    return prod(n_states[node] for node in _members(mask))


def _table_bytes(separator: Separator, n_states: Sequence[int]) -> int:
    return BYTES_PER_NUMBER * prod(n_states[node] for node in separator)


def _neighbor_masks(field: Field) -> list[int]:
    return [sum(1 << int(j) for j in row.nonzero()[0]) for row in field.edges]


def _members(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _missing_pairs(masks: Sequence[int], node: int) -> int:
    """Count the pairs of the node's neighbors that are not neighbors of each other."""
    adjacent = masks[node]
    return sum((adjacent & ~masks[other]).bit_count() - 1 for other in _members(adjacent)) // 2


def _join(masks: list[int], node: int) -> None:
    """Remove a node and make its neighbors neighbors of one another."""
    adjacent = masks[node]
    for other in _members(adjacent):
        masks[other] = (masks[other] | adjacent) & ~(1 << other) & ~(1 << node)
    masks[node] = 0


def readable_bytes(n_bytes: int) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> from slabfield.inference.elimination_order import readable_bytes
    >>> readable_bytes(2**30), readable_bytes(2**100)
    ('1,073,741,824 bytes', '2^100 bytes')
    """
    return f"{readable_count(n_bytes)} bytes"
