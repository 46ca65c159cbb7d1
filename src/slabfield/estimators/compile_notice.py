"""Notices that code is being compiled, and how long that took."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import Any

from slabfield._jit import CACHE_FOLDER, numba

logger = logging.getLogger("slabfield")

MIN_SECONDS = 2.0
"""Seconds of compilation below which there is no notice: loading from the disk is that fast."""

_announced = False
"""Whether this process has announced that it compiles; it does so once."""


@contextmanager
def notify_compiling(verbose: bool = False) -> Iterator[None]:
    """Announce within the context when compilation begins, and at its end how long it took.

    Notices are printed to standard error if ``verbose``. Otherwise they go to the logger
    ``slabfield`` at level WARNING, which Python prints to standard error by default: a minute of
    silence would look like a failure. Code that is loaded from the disk, or was compiled earlier in
    this process, causes no notice, so the notices come with the first fit after an installation.
    The beginning of compilation is announced once per process.

    Parameters
    ----------
    verbose : bool
        Print to standard error, and log at level INFO only.
    """
    timer = _CompileTimer(verbose)
    events = numba.core.event
    with events.install_listener("numba:compile", timer.listener(events)):
        yield
    timer.finish()


class _CompileTimer:
    """Total time of compilation; numba compiles one function at a time, with nested events."""

    def __init__(self, verbose: bool) -> None:
        self.verbose = verbose
        self.depth, self.begin, self.seconds = 0, 0.0, 0.0
        self.pending: Timer | None = None

    def listener(self, events: Any) -> Any:
        class Listener(events.Listener):  # type: ignore[misc]
            def on_start(_, event: Any) -> None:
                self.start()

            def on_end(_, event: Any) -> None:
                self.end()

        return Listener()

    def start(self) -> None:
        if self.depth == 0:
            self.begin = monotonic()
            if not _announced:
                self.pending = Timer(max(0.0, MIN_SECONDS - self.seconds), self.announce)
                self.pending.daemon = True
                self.pending.start()
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += monotonic() - self.begin
            if self.pending is not None:
                self.pending.cancel()

    def announce(self) -> None:
        global _announced
        if not _announced:
            _announced = True
            self.notify(
                "Compiling for this machine; the first run with each likelihood does so once, for "
                "a minute or two."
            )

    def finish(self) -> None:
        if self.seconds > 0 and self.seconds >= MIN_SECONDS:
            cached = "; later runs load it from the disk" if CACHE_FOLDER is not None else ""
            self.notify(f"Compiling took {self.seconds:.0f} s{cached}.")

    def notify(self, text: str) -> None:
        logger.log(logging.INFO if self.verbose else logging.WARNING, text)
        if self.verbose:
            print(text, file=sys.stderr)
