"""The order in which variable elimination sums nodes out, and the memory that it takes.

Summing out a node leaves a table over its *separator*: the neighbours that it then has among the
nodes left, which become neighbours of one another. Memory is exponential in the largest separator
(the *width* of the order) and only linear in the number of nodes. Sets of nodes are integers
here, bit i for node i.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from slabfield.checks import check_positive_int
from slabfield.models.field import BinaryField

Separator = tuple[int, ...]
Step = tuple[int, int]

MEMORY_LIMIT = 2**30
"""Bytes of tables allowed where nothing else is said: 1 GiB."""

BYTES_PER_NUMBER = 8


class TableTooLargeError(ValueError):
    """The tables of an elimination would not fit the memory limit; nothing was allocated.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.exact import elimination
    >>> from slabfield.models.field import BinaryField
    >>> complete = BinaryField(np.zeros(60), 1 - np.eye(60))
    >>> try:
    ...     elimination.log_partition(complete)
    ... except elimination.TableTooLargeError as error:
    ...     print(error.needed_bytes > 2**30)
    True
    """

    def __init__(self, needed_bytes: int, memory_limit: int, largest_table: int, n_nodes: int):
        self.needed_bytes = needed_bytes
        self.memory_limit = memory_limit
        super().__init__(
            f"Variable elimination of this field of {n_nodes} nodes does not fit the memory "
            f"limit; it needs at least {readable_bytes(needed_bytes)} (a table of "
            f"2^{largest_table.bit_length() - 1} numbers and those kept beside it) and the limit "
            f"is {readable_bytes(memory_limit)}. Raise memory_limit if the machine has the memory; "
            "otherwise exact answers are out of reach here: use Gibbs sampling."
        )


class Plan(NamedTuple):
    """What an elimination will do, and the memory it takes, as `plan` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.exact import elimination
    >>> from slabfield.models.field import BinaryField
    >>> chosen = elimination.plan(BinaryField(np.zeros(3), 1 - np.eye(3)))
    >>> chosen.order, chosen.separators, chosen.largest_table
    ((0, 1, 2), ((2, 1), (2,), ()), 4)
    """

    order: tuple[int, ...]
    """Nodes in the order in which they are summed out."""
    separators: tuple[Separator, ...]
    """For each of them the nodes that its table is over."""
    log_partition_bytes: int
    """Most bytes of tables alive at once in `log_partition`."""
    sample_bytes: int
    """The same for `sample`, the draws themselves not counted."""
    marginals_bytes: int
    """The same for `marginals`."""

    @property
    def width(self) -> int:
        """Number of nodes in the largest separator."""
        return max(map(len, self.separators), default=0)

    @property
    def largest_table(self) -> int:
        """Numbers in the largest table, 2^width."""
        return 1 << self.width


def plan(field: BinaryField, memory_limit: int | None = None) -> Plan:
    """Choose an elimination order, and say what memory it takes. Nothing is computed.

    The order is that of greedy min-fill (the node whose elimination joins the fewest pairs of
    its neighbours first; of equal ones the lowest index), or the order of the nodes' indices
    where that needs smaller tables, as it does on lattices. It depends on the graph alone.

    Parameters
    ----------
    field : BinaryField
        Any number of nodes.
    memory_limit : int, optional
        Give up, with `TableTooLargeError`, at the first table that alone takes more bytes. It
        spares planning a large dense graph to the end only to refuse it.

    Returns
    -------
    Plan
        The order, its separators, its width and the bytes each use of it takes.

    Examples
    --------
    A chain of 1,000 nodes is eliminated from its ends, with tables over one node:

    >>> import numpy as np
    >>> from slabfield.exact import elimination
    >>> from slabfield.models.field import BinaryField
    >>> chain = BinaryField(np.zeros(1000), np.eye(1000, k=1) + np.eye(1000, k=-1))
    >>> elimination.plan(chain).width
    1
    """
    limit = check_positive_int("memory_limit", memory_limit, allow_none=True)
    neighbours = _neighbour_masks(field)
    ways = (_min_fill(neighbours), _in_order(neighbours, range(field.n_nodes)))
    tried = [_collect(steps, limit) for steps in ways]
    finished = [steps for steps, complete in tried if complete]
    if limit is not None and not finished:
        table = min(1 << steps[-1][1].bit_count() for steps, _ in tried)
        raise TableTooLargeError(BYTES_PER_NUMBER * table, limit, table, field.n_nodes)
    return _sized(min(finished, key=lambda steps: sum(1 << mask.bit_count() for _, mask in steps)))


def follow(field: BinaryField, order: Sequence[int]) -> Plan:
    """Plan to eliminate the nodes in a given order.

    Parameters
    ----------
    field : BinaryField
        Any number of nodes.
    order : sequence of int
        Every node once.

    Returns
    -------
    Plan
        As `plan` returns it.

    Examples
    --------
    Eliminating the middle of a star first joins all its ends:

    >>> import numpy as np
    >>> from slabfield.exact import planning
    >>> from slabfield.models.field import BinaryField
    >>> coupling = np.zeros((5, 5))
    >>> coupling[0, 1:] = coupling[1:, 0] = 1
    >>> star = BinaryField(np.zeros(5), coupling)
    >>> planning.follow(star, [0, 1, 2, 3, 4]).width, planning.plan(star).width
    (4, 1)
    """
    return _sized(list(_in_order(_neighbour_masks(field), order)))


def refuse_large(chosen: Plan, needed_bytes: int, memory_limit: int) -> None:
    """Raise `TableTooLargeError` where a use of the plan takes more than the limit.

    Parameters
    ----------
    chosen : Plan
        What would be done.
    needed_bytes, memory_limit : int
        What it takes, and what it may take.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.exact import planning
    >>> from slabfield.models.field import BinaryField
    >>> chosen = planning.plan(BinaryField(np.zeros(2), np.zeros((2, 2))))
    >>> planning.refuse_large(chosen, chosen.sample_bytes, memory_limit=2**20)
    """
    if needed_bytes > memory_limit:
        raise TableTooLargeError(
            needed_bytes, memory_limit, chosen.largest_table, len(chosen.order)
        )


def _min_fill(neighbours: Sequence[int]) -> Iterator[Step]:
    """Eliminate, each time, the node that joins the fewest pairs; yield it and its separator."""
    masks = list(neighbours)
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


def _in_order(neighbours: Sequence[int], order: Iterable[int]) -> Iterator[Step]:
    """Eliminate the nodes as told; yield each with its separator."""
    masks = list(neighbours)
    for node in order:
        separator = masks[node]
        _join(masks, node)
        yield node, separator


def _collect(steps: Iterable[Step], memory_limit: int | None) -> tuple[list[Step], bool]:
    """Take the steps up to the first too large table; say whether that is all of them."""
    taken = []
    for step in steps:
        taken.append(step)
        table_bytes = BYTES_PER_NUMBER << step[1].bit_count()
        if memory_limit is not None and table_bytes > memory_limit:
            return taken, False
    return taken, True


def _sized(steps: Sequence[Step]) -> Plan:
    order = tuple(node for node, _ in steps)
    position = {node: i for i, node in enumerate(order)}
    separators = tuple(
        tuple(sorted(_members(mask), key=position.__getitem__, reverse=True)) for _, mask in steps
    )
    forward = _forward_bytes(order, separators, keep=True)
    return Plan(
        order,
        separators,
        log_partition_bytes=_forward_bytes(order, separators, keep=False),
        sample_bytes=forward,
        marginals_bytes=max(forward, _backward_bytes(order, separators)),
    )


def _forward_bytes(order: Sequence[int], separators: Sequence[Separator], keep: bool) -> int:
    """Most bytes alive at once while nodes are summed out.

    A step holds two tables beside the messages not yet used and, where log odds are kept, a third
    for its own message; one table stays as that message, and one as log odds where they are kept.
    """
    peak = messages = kept = 0
    incoming: Counter[int] = Counter()
    for node, separator in zip(order, separators, strict=True):
        table = BYTES_PER_NUMBER << len(separator)
        peak = max(peak, messages + kept + (3 if keep else 2) * table)
        messages -= incoming[node]
        if separator:
            messages += table
            incoming[separator[-1]] += table
        kept += table if keep else 0
    return peak


def _backward_bytes(order: Sequence[int], separators: Sequence[Separator]) -> int:
    """Most bytes alive at once on the way back: log odds and joint tables still needed.

    A step holds its separator's probabilities, the joint table with its node (twice that) and,
    for the pair means, tables of half of it.
    """
    log_odds = sum(BYTES_PER_NUMBER << len(separator) for separator in separators)
    waiting = Counter(separator[-1] for separator in separators if separator)
    peak = cliques = 0
    size: dict[int, int] = {}
    for node, separator in zip(reversed(order), reversed(separators), strict=True):
        table = BYTES_PER_NUMBER << len(separator)
        peak = max(peak, log_odds + cliques + 4 * table)
        if separator:
            waiting[separator[-1]] -= 1
            cliques -= 0 if waiting[separator[-1]] else size[separator[-1]]
        log_odds -= table
        size[node] = 2 * table
        cliques += size[node] if waiting[node] else 0
    return peak


def _neighbour_masks(field: BinaryField) -> list[int]:
    return [sum(1 << int(j) for j in row.nonzero()[0]) for row in field.edges]


def _members(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _missing_pairs(masks: Sequence[int], node: int) -> int:
    """Count the pairs of the node's neighbours that are not neighbours themselves."""
    around = masks[node]
    return sum((around & ~masks[other]).bit_count() - 1 for other in _members(around)) // 2


def _join(masks: list[int], node: int) -> None:
    """Take a node out and make its neighbours neighbours of one another."""
    around = masks[node]
    for other in _members(around):
        masks[other] = (masks[other] | around) & ~(1 << other) & ~(1 << node)
    masks[node] = 0


def readable_bytes(n_bytes: int) -> str:
    """Write a number of bytes in full, or as a power of two where that would be too long.

    Parameters
    ----------
    n_bytes : int
        Of any size.

    Returns
    -------
    str
        For a message.

    Examples
    --------
    >>> from slabfield.exact.planning import readable_bytes
    >>> readable_bytes(2**30), readable_bytes(2**100)
    ('1,073,741,824 bytes', '2^100 bytes')
    """
    return f"{n_bytes:,} bytes" if n_bytes < 10**15 else f"2^{n_bytes.bit_length() - 1} bytes"
