"""Progress of running chains: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slabfield.chains.run_clock import NEVER, Deadline
from slabfield.io.notebook import in_notebook
from slabfield.progress.lines import show_lines, write_line
from slabfield.progress.watch import Watch

__all__ = ["Watch", "chain_progress", "is_shown"]


def is_shown(progress: bool | None) -> bool:
    """Whether progress is shown: as asked for, or with None if a person is likely to watch.

    That is in a terminal or notebook, in the main thread of a process that no other one started.

    Examples
    --------
    >>> from slabfield.progress import is_shown
    >>> is_shown(True), is_shown(False)
    (True, False)
    """
    if progress is not None:
        return bool(progress)
    if multiprocessing.parent_process() is not None:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    return _in_terminal() or in_notebook()


def _in_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def chain_progress(
    n_chains: int,
    n_warmup: int,
    n_draws: int | None,
    deadline: Deadline = NEVER,
    delay: float = 0.0,
) -> Iterator[Watch]:
    """Show the progress of chains on standard error, while the context lasts.

    Parameters
    ----------
    n_chains, n_warmup : int
        Number of chains, and warm-up draws per chain.
    n_draws : int or None
        Draws that each chain is to make; None: until the chains have converged.
    deadline : Deadline
        End of the time budget.
    delay : float
        Seconds before anything is shown; of a shorter run, nothing is.

    Yields
    ------
    Watch
        The ``reporter`` of :func:`slabfield.chains.parallel.run_chains`.
    """
    watch = Watch(n_chains, n_warmup, n_draws, deadline)
    if _in_terminal() and os.environ.get("TERM") != "dumb":
        from slabfield.progress.live import show_live

        shown = show_live(watch, delay)
    else:
        shown = show_lines(watch, delay)
    with shown:
        yield watch
    # who is interrupted learns elsewhere what is kept
    if watch.elapsed() >= delay and watch.stopped_by != "interrupt":
        write_line(watch.summary())
