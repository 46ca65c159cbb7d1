"""A bar for every chain, with the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def chain_progress(
    n_chains: int, n_warmup: int, n_draws: int
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
            progress.add_task(f"chain {c + 1} (the first run compiles)", total=n_warmup + n_draws)
            for c in range(n_chains)
        ]

        def reporter(chain: int) -> Callable[[int], None]:
            def report(n_done: int) -> None:
                task = progress.tasks[tasks[chain]]
                total = task.total or 0
                # a run that goes on until it is enough goes on to twice as many draws
                if task.completed + n_done > total:
                    total += total - n_warmup
                progress.update(
                    tasks[chain], advance=n_done, total=total, description=f"chain {chain + 1}"
                )

            return report

        yield reporter
