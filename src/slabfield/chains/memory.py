"""Estimate of the peak memory of a run, made before it starts."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slabfield.chains.chain_run import scheme_of
from slabfield.chains.draw_buffer import PART_ENTRIES
from slabfield.chains.row_sums import ROWS_AT_A_TIME
from slabfield.configuration import Settings
from slabfield.encoding import CodedTable
from slabfield.validation import InputError, Message, Parameter
from slabfield.validation.memory_limit import available_memory, check_memory_limit, shown_bytes

# Present edges expected in a draw, per node; at most all edges
EDGES_PER_NODE = 10
# Bytes of a present edge of a draw: coupling, index and indicator, stored in parts, joined, copied
# once more for all chains, and summarized
BYTES_PER_PRESENT_EDGE = 60
# Bytes per chain and candidate edge: state, statistics (of which 320 in batches), plan,
# windows, and workspace of plans
BYTES_PER_EDGE = 430
# Share of the memory above which a run says how much it takes
LARGE_SHARE = 0.5
# Bytes that do not depend on the size: buffers of readers and of linear algebra, parts of summaries
FIXED_BYTES = 60_000_000


class Memory(NamedTuple):
    """Bytes that a run takes at its peak, beyond the program itself.

    Attributes
    ----------
    data : int
        The encoded table, and the workspace to merge and sum its rows.
    chains : int
        States and engines of all chains.
    draws : int
        Draws of all chains.
    """

    data: int
    chains: int
    draws: int

    @property
    def total(self) -> int:
        """Sum of the three."""
        return self.data + self.chains + self.draws


def memory_needed(
    n_rows: int, n_levels: Sequence[int], settings: Settings, n_chains: int, n_draws: int
) -> Memory:
    """Estimate the peak memory of a run.

    Parameters
    ----------
    n_rows : int
        Rows of the table; equal rows count once.
    n_levels : sequence of int
        Number of levels of every node.
    n_chains, n_draws : int
        Number of chains, and of draws per chain.
    """
    d = len(n_levels)
    n_edges = d * (d - 1) // 2
    words = -(-d // 64)
    at_a_time = min(n_rows, ROWS_AT_A_TIME)
    data = n_rows * (3 * d + d // 8 + 24 * words + 48) + 24 * at_a_time * d + FIXED_BYTES
    each = BYTES_PER_EDGE * n_edges + scheme_of(settings).engine_bytes(n_rows, n_levels, settings)
    present = min(n_edges, EDGES_PER_NODE * d)
    n_biases = sum(n_levels) - d
    kept = n_draws * (BYTES_PER_PRESENT_EDGE * present + 4 * 8 * (n_biases + 3))
    dense = 10 * min(PART_ENTRIES, max(n_draws, 1) * n_edges)
    return Memory(data, n_chains * each, n_chains * (kept + dense))


def check_memory(
    n_rows: int,
    n_levels: Sequence[int],
    settings: Settings,
    n_chains: int,
    n_draws: int,
    limit: int | None = None,
) -> Memory:
    """Return the peak memory of a run; raise InputError with advice if it does not fit.

    Parameters
    ----------
    n_rows, n_levels, settings, n_chains, n_draws
        As for :func:`memory_needed`.
    limit : int, optional
        Bytes that the run may take; by default the memory that is available now.
    """
    need, n_nodes = memory_needed(n_rows, n_levels, settings, n_chains, n_draws), len(n_levels)
    given = limit is not None
    allowed = limit if limit is not None else available_memory()
    if allowed is None or need.total <= allowed:
        return need

    def fits(rows: int, nodes: int, draws: int) -> bool:
        some = n_levels[:nodes]
        return memory_needed(rows, some, settings, n_chains, draws).total <= allowed

    draws = _most(n_draws, lambda draws: fits(n_rows, n_nodes, draws))
    rows = _most(n_rows, lambda rows: fits(rows, n_nodes, n_draws))
    nodes = _most(n_nodes, lambda nodes: fits(n_rows, nodes, n_draws))
    maximum = {"max_memory": Parameter("max_memory")}
    raise InputError(
        "not-enough-memory",
        "This run would take {total} of memory ({for_data} for the data, {for_chains} for "
        "{n_chains} chains and {for_draws} for {n_draws} draws of each); found {allowed} {source}. "
        "{advice}; {otherwise}.",
        total=shown_bytes(need.total),
        for_data=shown_bytes(need.data),
        for_chains=shown_bytes(need.chains),
        n_chains=n_chains,
        for_draws=shown_bytes(need.draws),
        n_draws=n_draws,
        allowed=shown_bytes(allowed),
        source=Message("memory-limit", "allowed ({max_memory})", maximum) if given else "available",
        advice=_fitting(draws, rows, nodes),
        otherwise="or allow more"
        if given
        else Message("memory-available", "set {max_memory} if that is wrong", maximum),
    )


def _fitting(draws: int, rows: int, nodes: int) -> Message:
    """Return advice on what would fit; a run needs a draw, two rows and two columns."""
    parts = []
    if draws > 0:
        parts.append("{draws}")
    if rows > 1:
        parts.append("{rows:,} different rows")
    if nodes > 1:
        parts.append("{nodes} columns")
    if not parts:
        return Message("nothing-fits", "Find a larger machine")
    fields = {"draws": Parameter("n_draws", draws), "rows": rows, "nodes": nodes}
    return Message("what-fits", f"It would fit with {' or with '.join(parts)}", fields)


def state_memory(
    table: CodedTable, settings: Settings, n_chains: int, max_memory: object, verbose: bool
) -> Memory:
    """Check the memory of a run on a table, and log it; a large share is also printed.

    Parameters
    ----------
    max_memory : int, str or None
        Memory that the run may take, as the user gave it.
    verbose : bool
        Whether to print to standard error that the run may take most of the memory.
    """
    limit, n_levels = check_memory_limit(max_memory), [v.n_levels for v in table.variables]
    need = check_memory(len(table.rows), n_levels, settings, n_chains, settings.n_draws, limit)
    text = f"{settings.n_draws} draws of {n_chains} chains take up to {shown_bytes(need.total)}"
    logging.getLogger("slabfield").info("%s.", text)
    allowed = limit if limit is not None else available_memory()
    if verbose and allowed is not None and need.total > LARGE_SHARE * allowed:
        print(f"{text} of the {shown_bytes(allowed)} of memory.", file=sys.stderr)
    return need


def _most(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number below ``upper`` that fits, or 0, by bisection."""
    low, high = 0, upper
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
