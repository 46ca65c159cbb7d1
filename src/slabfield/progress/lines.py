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
# A line is written after this many seconds, or after this share of the draws
REPORT_SECONDS, REPORT_SHARE = 10.0, 0.1


@contextmanager
def show_lines(watch: Watch) -> Iterator[None]:
    """Write a line after every tenth of the draws, and at least every ten seconds."""
    finished = Event()

    def report() -> None:
        share, at = 0.0, 0.0
        while not finished.wait(POLL_SECONDS):
            view = watch.snapshot()
            if view.share < share:  # a further round has begun
                share = view.share
            if view.share >= share + REPORT_SHARE or view.elapsed >= at + REPORT_SECONDS:
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
        return f"starting, {view.elapsed:.0f} s so far (the first run compiles)"
    if view.warming_up:
        done = sum(chain.warmup for chain in view.chains) / len(view.chains)
        return f"warm-up {done:.0f} of {view.n_warmup} per chain{_left(view)}"
    n = len(view.chains)
    draws = sum(chain.draws for chain in view.chains)
    return (
        f"draws {draws:,} of {n * view.n_draws:,}, {view.rate:,.0f} per second, "
        f"{view.n_edges:.0f} edges{mixing(view)}{_left(view)}"
    )


def mixing(view: View) -> str:
    """Format R-hat and effective draws; empty before they are known."""
    known = "" if isnan(view.rhat) else f", R-hat {view.rhat:.3f}"
    return known + ("" if isnan(view.ess) else f", {view.ess:,.0f} effective draws")


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


def _left(view: View) -> str:
    if isnan(view.seconds_left):
        return ""
    until = "until the next convergence check" if view.auto else "left"
    return f", {duration(view.seconds_left)} {until}"
