"""The workbench of figures: runs pieces of work, caches results, writes tables and figures."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from slabfield.chains.dask_client import everywhere
from slabfield.io.atomic import make_folder, write_atomically
from slabfield.reproduce.cache import Cache, Piece, Result
from slabfield.reproduce.scale import Scale
from slabfield.validation import InputWarning

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client
    from matplotlib.figure import Figure

# Seconds between progress lines if there is no terminal
PROGRESS_INTERVAL = 10.0


class Workbench:
    """One scale, one folder, one number of processes.

    Parameters
    ----------
    scale : Scale
        Size of the experiments.
    out : Path
        Folder of tables and figures; results of pieces are in its subfolder ``cache``.
    n_jobs : int
        Pieces run in parallel, in separate processes unless it is 1; -1: all cores.
    quiet : bool
        Whether to hide progress.
    client : distributed.Client, optional
        Cluster that runs the pieces; the results are stored on this machine.
    """

    def __init__(
        self,
        scale: Scale,
        out: Path,
        n_jobs: int = -1,
        quiet: bool = False,
        client: Client | None = None,
    ) -> None:
        make_folder(out)
        self.client = client
        self.scale, self.out, self.quiet = scale, out, quiet
        self.n_jobs = n_jobs if n_jobs > 0 else os.cpu_count() or 1
        self.cache = Cache(out / "cache")

    def results(self, pieces: Sequence[Piece], label: str) -> list[Result]:
        """Run the pieces whose results are not cached, and return all results in order.

        Parameters
        ----------
        pieces : sequence of Piece
            Pieces of work, possibly with duplicates.

        Returns
        -------
        list of dict of arrays
            One result per piece.
        """
        self.finish(pieces, label)
        return [self.cache.load(piece.key) for piece in pieces]

    def finish(self, pieces: Sequence[Piece], label: str) -> None:
        """Run the pieces whose results are not cached, in parallel, and cache the results."""
        by_key = {piece.key: piece for piece in pieces}
        missing = {key: piece for key, piece in by_key.items() if not self.cache.has(key)}
        with self._progress(label, len(missing)) as advance:
            if self.client is not None:
                self._finish_on_cluster(missing, advance)
            elif self.n_jobs == 1 or len(missing) < 2:
                for key, piece in missing.items():
                    _run(piece, key, self.cache)
                    advance()
            else:
                from joblib import Parallel, delayed

                # Unordered, so that progress is shown at once; the results are on disk
                run = Parallel(self.n_jobs, return_as="generator_unordered")
                for _ in run(
                    delayed(_run_in_process)(p, key, self.cache) for key, p in missing.items()
                ):
                    advance()

    def _finish_on_cluster(self, missing: dict[str, Piece], advance: Callable[[], None]) -> None:
        """Run pieces on a cluster; its machines need not share a disk with this one."""
        from joblib import Parallel, delayed

        with everywhere(self.client):
            run = Parallel(-1, return_as="generator_unordered")
            for key, result in run(delayed(_call)(piece, key) for key, piece in missing.items()):
                self.cache.store(key, result)
                advance()

    def table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table as ``name.csv``."""

        def write(temporary: Path) -> None:
            table.to_csv(temporary, index=False, float_format="%.6g", encoding="utf-8")

        write_atomically(self.out / f"{name}.csv", write)

    def picture(self, name: str, figure: Figure) -> None:
        """Write a figure as ``name.png`` and ``name.svg``."""
        for suffix in ("png", "svg"):

            def write(temporary: Path) -> None:
                figure.savefig(temporary, dpi=150)

            write_atomically(self.out / f"{name}.{suffix}", write)

    def say(self, text: str) -> None:
        """Print a line, unless ``quiet`` is set."""
        if not self.quiet:
            print(text, flush=True)

    @contextmanager
    def _progress(self, label: str, n_pieces: int) -> Iterator[Callable[[], None]]:
        from rich.console import Console

        if self.quiet or n_pieces == 0:
            yield lambda: None
        elif Console().is_terminal:
            with _bar(label, n_pieces) as advance:
                yield advance
        else:
            yield self._lines(label, n_pieces)

    def _lines(self, label: str, n_pieces: int) -> Callable[[], None]:
        """Report progress in plain lines, at most one per interval."""
        begin = time.monotonic()
        last_line, done = begin, 0

        def advance() -> None:
            nonlocal last_line, done
            done += 1
            now = time.monotonic()
            if now - last_line > PROGRESS_INTERVAL or done == n_pieces:
                last_line = now
                left = (now - begin) / done * (n_pieces - done)
                self.say(f"{label}: {done} of {n_pieces} pieces, about {left:.0f} s left")

        return advance


@contextmanager
def _bar(label: str, n_pieces: int) -> Iterator[Callable[[], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("time left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns) as progress:
        task = progress.add_task(label, total=n_pieces)
        yield lambda: progress.update(task, advance=1)


def _run_in_process(piece: Piece, key: str, cache: Cache) -> None:
    """Run one piece in a worker process, which leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _run(piece, key, cache)


def _run(piece: Piece, key: str, cache: Cache) -> None:
    """Run one piece and cache its result."""
    cache.store(*_call(piece, key))


def _call(piece: Piece, key: str) -> tuple[str, Result]:
    """Run one piece; return its key, too, because results arrive in any order."""
    with warnings.catch_warnings():
        # Constant columns: some pixels in small samples of images
        warnings.simplefilter("ignore", InputWarning)
        # Runs are as long as the scale says
        warnings.simplefilter("ignore", ConvergenceWarning)
        return key, piece.call()
