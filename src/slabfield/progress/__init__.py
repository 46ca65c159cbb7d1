"""Progress of running chains: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from slabfield.progress.lines import show_lines, write_line
from slabfield.progress.watch import Watch

__all__ = ["Watch", "chain_progress"]


@contextmanager
def chain_progress(
    n_chains: int, n_warmup: int, n_draws: int, auto: bool = False, deadline: float = inf
) -> Iterator[Watch]:
    """Show the progress of chains on standard error, while the context lasts.

    Parameters
    ----------
    n_chains, n_warmup, n_draws : int
        Number of chains, and warm-up draws and kept draws per chain; with ``auto``, those of the
        first round.
    auto : bool
        Whether chains continue until they have converged.
    deadline : float
        End of the time budget, on the clock of :func:`time.monotonic`.

    Yields
    ------
    Watch
        The ``reporter`` of :func:`slabfield.chains.parallel.run_chains`.
    """
    watch = Watch(n_chains, n_warmup, n_draws, auto, deadline)
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from slabfield.progress.live import show_live

        shown = show_live(watch)
    else:
        shown = show_lines(watch)
    with shown:
        yield watch
    if watch.runs:
        write_line(watch.summary())
