"""Progress as a live table, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from slabfield.progress.lines import convergence_parts, duration
from slabfield.progress.watch import ChainView, View, Watch

# Refreshes per second
REFRESH = 4
# Width of a progress bar, in characters
BAR = 24


@contextmanager
def show_live(watch: Watch, delay: float = 0.0) -> Iterator[None]:
    """Show a table of the chains after a delay; it disappears when they are done."""
    console = Console(stderr=True)

    def current() -> RenderableType:
        return Text("", end="") if watch.elapsed() < delay else render(watch.snapshot())

    with Live(
        get_renderable=current,
        console=console,
        refresh_per_second=REFRESH,
        transient=True,
        redirect_stdout=False,
    ):
        yield


def render(view: View) -> Group:
    """Lay out the progress of the chains as a table.

    The bars are of warm-up and draws; of warm-up only if chains run until they have converged.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Chain", justify="right")
    table.add_column("")
    for heading in ("Warm-up", "Draws", "Per second", "Edges"):
        table.add_column(heading, justify="right")
    for k, chain in enumerate(view.chains):
        table.add_row(
            str(k + 1),
            ProgressBar(
                total=max(view.n_warmup + (view.n_draws or 0), 1),
                completed=chain.warmup + min(chain.draws, view.n_draws or 0),
                width=BAR,
            ),
            f"{chain.warmup:,}/{view.n_warmup:,}",
            f"{chain.draws:,}" if view.n_draws is None else f"{chain.draws:,}/{view.n_draws:,}",
            _speed(chain),
            str(chain.n_edges) if chain.n_edges >= 0 else "",
        )
    return Group(table, Text(_footer(view)))


def _speed(chain: ChainView) -> str:
    return f"{chain.rate:,.0f}" if chain.rate >= 0.5 else ""


def _footer(view: View) -> str:
    if not view.started:
        return (
            f"Starting, {duration(view.elapsed)} so far. The first run compiles for about a minute."
        )
    left = "" if isnan(view.seconds_left) else f", {duration(view.seconds_left)} left"
    known = ", ".join(convergence_parts(view))
    prefix = f"{known[0].upper()}{known[1:]}. " if known else ""
    return f"{prefix}{duration(view.elapsed)} so far{left}."
