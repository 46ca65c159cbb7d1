"""Progress as plain lines, where standard error is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from threading import Event, Thread

from slabfield.progress.watch import View, Watch

# Seconds between polls of the chains
POLL_SECONDS = 0.5
# A line is written after this many seconds, or after this share of warm-up and draws
REPORT_SECONDS, REPORT_SHARE = 10.0, 0.1


@contextmanager
def show_lines(watch: Watch, delay: float = 0.0) -> Iterator[None]:
    """Write a line every ten seconds, and after every tenth of a fixed number of draws."""
    finished = Event()

    def report() -> None:
        share, at = 0.0, 0.0
        while not finished.wait(POLL_SECONDS):
            view = watch.snapshot()
            due = view.share >= share + REPORT_SHARE or view.elapsed >= at + REPORT_SECONDS
            if due and view.elapsed >= delay:
                write_line(line(view))
                share, at = view.share, view.elapsed

    thread = Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def line(view: View) -> str:
    """Format the progress of the chains as one line."""
    if not view.started:
        return f"starting, {duration(view.elapsed)} so far (the first run compiles)"
    if view.warming_up:
        done = sum(chain.warmup for chain in view.chains) / len(view.chains)
        return f"warm-up {done:.0f} of {view.n_warmup} per chain{_time(view)}"
    return ", ".join(
        [
            f"draws {_draws(view)} per chain",
            f"{view.rate:,.0f} per second",
            f"{view.n_edges:.0f} edges",
            *convergence_parts(view),
        ]
    ) + _time(view)


def convergence_parts(view: View) -> list[str]:
    """Return R-hat and effective draws, against what is wanted where that ends the run."""
    parts = [view.worst.describe(limits=view.until_converged)] if view.worst.known else []
    if view.unconverged:
        parts.append(f"{view.unconverged} not converged at the last check")
    return parts


def duration(seconds: float) -> str:
    """Format a duration with suitable units.

    Examples
    --------
    >>> from slabfield.progress.lines import duration
    >>> duration(2.6), duration(90), duration(7_300), duration(float("nan"))
    ('3 s', '1 min 30 s', '2 h 01 min', '?')
    """
    if isnan(seconds):
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def write_line(text: str) -> None:
    """Write a line to standard error."""
    print(text, file=sys.stderr, flush=True)


def _draws(view: View) -> str:
    fewest = min(chain.draws for chain in view.chains)
    return f"{fewest:,}" if view.n_draws is None else f"{fewest:,} of {view.n_draws:,}"


def _time(view: View) -> str:
    left = "" if isnan(view.seconds_left) else f", {duration(view.seconds_left)} left"
    return left or f", {duration(view.elapsed)} so far"
