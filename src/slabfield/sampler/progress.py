"""A bar for every chain, with the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def chain_progress(
    n_chains: int, n_updates: int
) -> Iterator[Callable[[int], Callable[[int], None]]]:
    """Show one bar a chain while the context lasts; yields what makes a chain's reporter."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as progress:
        tasks = [
            progress.add_task(f"chain {chain + 1} (the first run compiles)", total=n_updates)
            for chain in range(n_chains)
        ]

        def reporter(chain: int) -> Callable[[int], None]:
            def report(n_done: int) -> None:
                progress.update(tasks[chain], advance=n_done, description=f"chain {chain + 1}")

            return report

        yield reporter
