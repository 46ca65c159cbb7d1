"""Where figures are made: runs pieces of work, keeps them, and writes tables and pictures."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slabfield.checks import InputWarning
from slabfield.files import make_folder, write_atomically
from slabfield.reproduce.cache import Cache, Piece, Result
from slabfield.reproduce.scale import Scale
from slabfield.sampler.connect import everywhere

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client
    from matplotlib.figure import Figure

LINES_APART = 10.0
"""Seconds between lines of progress where there is no terminal."""


class Workbench:
    """One scale, one folder, one number of processes.

    Parameters
    ----------
    scale : Scale
        How large the experiments are.
    out : Path
        Folder of tables and pictures; finished pieces are kept in ``cache`` below it.
    n_jobs : int
        Pieces done at a time, in processes of their own where it is not 1; -1: all cores.
    quiet : bool
        Whether to show no progress.
    client : distributed.Client, optional
        The cluster that does the pieces; what they come to is kept here.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.reproduce.bench import Workbench
    >>> from slabfield.reproduce.cache import Piece
    >>> from slabfield.reproduce.models import fit_path
    >>> from slabfield.reproduce.scale import SCALES
    >>> from slabfield.reproduce.worlds import World
    >>> piece = Piece(fit_path, {"world": World("block", 1, 50, 10), "method": "MLE",
    ...                          "n_strengths": 4})
    >>> with TemporaryDirectory() as folder:
    ...     bench = Workbench(SCALES["tiny"], Path(folder), n_jobs=1, quiet=True)
    ...     bench.results([piece], "an example")[0]["edges"].shape
    (4, 66)
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
        """Do what is not yet done, and return the results in order.

        Parameters
        ----------
        pieces : sequence of Piece
            What is wanted; the same piece may come twice.
        label : str
            What to call it while it runs.

        Returns
        -------
        list of dict of arrays
            One result for each piece.
        """
        self.finish(pieces, label)
        return [self.cache.load(piece.key) for piece in pieces]

    def finish(self, pieces: Sequence[Piece], label: str) -> None:
        """Do what is not yet done of some pieces, many at a time, and keep it."""
        wanted = {piece.key: piece for piece in pieces}
        missing = {key: piece for key, piece in wanted.items() if not self.cache.has(key)}
        with self._progress(label, len(missing)) as advance:
            if self.client is not None:
                self._finish_there(missing, advance)
            elif self.n_jobs == 1 or len(missing) < 2:
                for key, piece in missing.items():
                    _do(piece, key, self.cache)
                    advance()
            else:
                from joblib import Parallel, delayed

                # as they come, so that progress is shown; what is done is on disk already
                run = Parallel(self.n_jobs, return_as="generator_unordered")
                for _ in run(delayed(_do_apart)(p, key, self.cache) for key, p in missing.items()):
                    advance()

    def _finish_there(self, missing: dict[str, Piece], advance: Callable[[], None]) -> None:
        """Do pieces on a cluster; its machines need not share a disk with this one."""
        from joblib import Parallel, delayed

        with everywhere(self.client):
            run = Parallel(-1, return_as="generator_unordered")
            for key, found in run(delayed(_call)(piece, key) for key, piece in missing.items()):
                self.cache.store(key, found)
                advance()

    def table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table as ``name.csv``."""

        def write(temporary: Path) -> None:
            table.to_csv(temporary, index=False, float_format="%.6g", encoding="utf-8")

        write_atomically(self.out / f"{name}.csv", write)

    def picture(self, name: str, figure: Figure) -> None:
        """Write a picture as ``name.png`` and ``name.svg``."""
        for suffix in ("png", "svg"):

            def write(temporary: Path) -> None:
                figure.savefig(temporary, dpi=150)

            write_atomically(self.out / f"{name}.{suffix}", write)

    def say(self, text: str) -> None:
        """Print a line, unless told to be quiet."""
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
        """Tell of progress in plain lines, not too many of them."""
        begin = time.monotonic()
        told, done = begin, 0

        def advance() -> None:
            nonlocal told, done
            done += 1
            now = time.monotonic()
            if now - told > LINES_APART or done == n_pieces:
                told = now
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


def _do_apart(piece: Piece, key: str, cache: Cache) -> None:
    """Do one piece in another process, which leaves Ctrl-C to the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _do(piece, key, cache)


def _do(piece: Piece, key: str, cache: Cache) -> None:
    """Do one piece and keep its result."""
    cache.store(*_call(piece, key))


def _call(piece: Piece, key: str) -> tuple[str, Result]:
    """Do one piece; return its key too, for pieces come back in any order."""
    with warnings.catch_warnings():
        # columns that never change: a few pixels of few images
        warnings.simplefilter("ignore", InputWarning)
        return key, piece.call()
