"""How much memory a run takes at its peak, worked out before it begins."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

from slabfield.checks import CodedTable, InputError
from slabfield.checks.machine import available_memory, check_memory_limit, shown_bytes
from slabfield.sampler.data import MOST_ROWS, ROWS_AT_A_TIME
from slabfield.sampler.keep import PART_ENTRIES
from slabfield.sampler.particles import MOST_PARTICLES
from slabfield.sampler.plan import FULL_NODES
from slabfield.sampler.settings import Settings

# Present edges that are expected of a draw: all of a small field, and so many a node in a large one
EDGES_PER_NODE = 10
# A draw's present edge: coupling, number and mark, held in parts, put together, and once more for
# all chains; then as it is looked at
BYTES_PER_PRESENT_EDGE = 60
# Per chain and candidate edge: states, tallies, plans, windows, and what plans are made of
BYTES_PER_EDGE = 120
# Held once, whatever the size: buffers of readers and of linear algebra, pieces of summaries
ANYHOW = 60_000_000


class Memory(NamedTuple):
    """Bytes that a run takes at its peak, beyond the program itself.

    Attributes
    ----------
    data : int
        The coded table, and what merging equal rows and summing over them needs.
    chains : int
        States and engines of all chains.
    draws : int
        What is kept of the chains.
    """

    data: int
    chains: int
    draws: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.chains + self.draws


def memory_needed(
    n_rows: int, n_nodes: int, settings: Settings, n_chains: int, n_draws: int
) -> Memory:
    """Work out the peak memory of a run.

    Parameters
    ----------
    n_rows, n_nodes : int
        Size of the table, with its different rows counted only.
    settings : Settings
        The engine, and numbers of particles.
    n_chains, n_draws : int
        Chains, and draws kept of each.

    Examples
    --------
    >>> from slabfield.sampler.memory import memory_needed
    >>> from slabfield.sampler.settings import gold_standard
    >>> memory_needed(1_000_000, 16, gold_standard(), 4, 1000).total < 500e6
    True
    """
    d, n_edges = n_nodes, n_nodes * (n_nodes - 1) // 2
    words = -(-d // 64)
    at_a_time = min(n_rows, ROWS_AT_A_TIME)
    data = n_rows * (3 * d + d // 8 + 24 * words + 48) + 24 * at_a_time * d + ANYHOW
    each = BYTES_PER_EDGE * n_edges + _engine(n_rows, d, settings)
    present = min(n_edges, EDGES_PER_NODE * d)
    kept = n_draws * (BYTES_PER_PRESENT_EDGE * present + 4 * 8 * (d + 3))
    dense = 10 * min(PART_ENTRIES, max(n_draws, 1) * n_edges)
    return Memory(data, n_chains * each, n_chains * (kept + dense))


def _engine(n_rows: int, d: int, settings: Settings) -> int:
    """Bytes of one chain's engine, and of the rough answer before it."""
    on_rows = 8 * (3 * d + 5)
    if settings.engine == "pseudo":
        # rows are repeated, or counted and filled up, where that takes no more than twice as many
        return 2 * (n_rows + 8 * isqrt(2 * n_rows)) * (on_rows + 9 * d)
    if settings.engine == "exact":
        return 32 * (1 << d) + 40 * (d * (d - 1) // 2) ** 2
    if settings.scheme != "collapsed":
        return settings.n_particles * (8 * d + 64) + (4 * d * n_rows if settings.restart else 0)
    n_particles = settings.n_particles or MOST_PARTICLES
    rough = min(n_rows, MOST_ROWS) * on_rows if d > FULL_NODES else 0
    # particles are copied when their number changes
    return n_particles * (12 * d + 160) + 8 * d * d + rough


def check_memory(
    n_rows: int,
    n_nodes: int,
    settings: Settings,
    n_chains: int,
    n_draws: int,
    limit: int | None = None,
) -> Memory:
    """Return what a run takes; refuse one that does not fit, and say what would.

    Parameters
    ----------
    n_rows, n_nodes, settings, n_chains, n_draws
        As for :func:`memory_needed`.
    limit : int, optional
        Bytes that the run may take; what is available now where it is left out.

    Examples
    --------
    >>> from slabfield.sampler.memory import check_memory
    >>> from slabfield.sampler.settings import gold_standard
    >>> check_memory(100, 12, gold_standard(), 4, 1000).total < 100e6
    True
    """
    need = memory_needed(n_rows, n_nodes, settings, n_chains, n_draws)
    given = limit is not None
    room = limit if limit is not None else available_memory()
    if room is None or need.total <= room:
        return need

    def fits(rows: int, nodes: int, draws: int) -> bool:
        return memory_needed(rows, nodes, settings, n_chains, draws).total <= room

    advice = []
    draws = _most(n_draws, lambda draws: fits(n_rows, n_nodes, draws))
    if draws > 0:
        advice.append(f"n_draws={draws}")
    rows = _most(n_rows, lambda rows: fits(rows, n_nodes, n_draws))
    if rows > 1:
        advice.append(f"{rows:,} different rows")
    nodes = _most(n_nodes, lambda nodes: fits(n_rows, nodes, n_draws))
    if nodes > 1:
        advice.append(f"{nodes} columns")
    what = f"It would fit with {' or with '.join(advice)}" if advice else "Find a larger machine"
    raise InputError(
        f"This run would take {shown_bytes(need.total)} of memory ({shown_bytes(need.data)} for "
        f"the data, {shown_bytes(need.chains)} for {n_chains} chains and "
        f"{shown_bytes(need.draws)} for {n_draws} draws of each); found {shown_bytes(room)} "
        f"{'allowed (max_memory)' if given else 'available'}. {what}; "
        f"{'or allow more' if given else 'max_memory says otherwise if this is wrong'}."
    )


def state_memory(
    table: CodedTable, settings: Settings, n_chains: int, max_memory: object, aloud: bool
) -> Memory:
    """Check what a run on a table takes, and say it: to the log, and aloud on standard error.

    Parameters
    ----------
    table : CodedTable
        The data.
    settings : Settings
        Of the run.
    n_chains : int
        Chains that are run.
    max_memory : int, str or None
        What the run may take, as the user says it.
    aloud : bool
        Whether to write on standard error.

    Examples
    --------
    >>> from slabfield.checks import code_binary
    >>> from slabfield.sampler.memory import state_memory
    >>> from slabfield.sampler.settings import gold_standard
    >>> state_memory(code_binary([[0, 1], [1, 0]]), gold_standard(), 4, "2GB", False).data > 0
    True
    """
    limit, (n_rows, n_nodes) = check_memory_limit(max_memory), table.rows.shape
    need = check_memory(n_rows, n_nodes, settings, n_chains, settings.n_draws, limit)
    text = f"{settings.n_draws} draws of {n_chains} chains take up to {shown_bytes(need.total)}."
    logging.getLogger("slabfield").info(text)
    if aloud:
        print(text, file=sys.stderr)
    return need


def _most(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number below ``upper`` that fits, or 0; what fits, less fits too."""
    low, high = 0, upper
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
