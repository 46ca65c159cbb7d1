"""Progress in plain lines, where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from threading import Event, Thread

from slabfield.progress.watch import View, Watch

LOOK_EVERY, SAY_EVERY, SAY_SHARE = 0.5, 10.0, 0.1


@contextmanager
def show_lines(watch: Watch) -> Iterator[None]:
    """Say how far the chains are, each tenth of the way but at least every ten seconds."""
    over = Event()

    def speak() -> None:
        share, at = 0.0, 0.0
        while not over.wait(LOOK_EVERY):
            view = watch.look()
            if view.share < share:  # it goes on to more draws
                share = view.share
            if view.share >= share + SAY_SHARE or view.elapsed >= at + SAY_EVERY:
                say(line(view))
                share, at = view.share, view.elapsed

    thread = Thread(target=speak, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def line(view: View) -> str:
    """Write how far the chains are.

    Examples
    --------
    >>> from slabfield.progress.lines import line
    >>> from slabfield.progress.watch import ChainView, View
    >>> chain = ChainView(warmup=200, draws=250, rate=100.0, n_edges=14)
    >>> line(View([chain] * 4, 200, 500, False, 9.0, 0.64, 400.0, 2.5, 1.0123, 310.2))
    'draws 1,000 of 2,000, 400 a second, 14 edges, R-hat 1.012, 310 effective draws, 2 s left'
    """
    if not view.started:
        return f"starting, {view.elapsed:.0f} s so far (a first run compiles)"
    if view.warming_up:
        done = sum(chain.warmup for chain in view.chains) / len(view.chains)
        return f"warm-up {done:.0f} of {view.n_warmup} a chain{_left(view)}"
    n = len(view.chains)
    draws = sum(chain.draws for chain in view.chains)
    return (
        f"draws {draws:,} of {n * view.n_draws:,}, {view.rate:,.0f} a second, "
        f"{view.n_edges:.0f} edges{mixing(view)}{_left(view)}"
    )


def mixing(view: View) -> str:
    """Write R-hat and effective draws, or nothing before they are known."""
    known = "" if isnan(view.rhat) else f", R-hat {view.rhat:.3f}"
    return known + ("" if isnan(view.ess) else f", {view.ess:,.0f} effective draws")


def duration(seconds: float) -> str:
    """Write a time in the unit it is best read in.

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


def say(text: str) -> None:
    """Write a line to standard error."""
    print(text, file=sys.stderr, flush=True)


def _left(view: View) -> str:
    if isnan(view.seconds_left):
        return ""
    until = "to the next look at convergence" if view.auto else "left"
    return f", {duration(view.seconds_left)} {until}"
