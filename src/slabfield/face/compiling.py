"""Saying that code is being compiled, and how long that took."""

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

WORTH_TELLING = 2.0
"""Seconds of compiling below which nothing is said of them: code is loaded from the disk then."""

_told = False
"""Whether this process has said that it compiles: that is said once."""


@contextmanager
def tell_of_compiling(aloud: bool = False) -> Iterator[None]:
    """Say, while the context lasts, when compiling begins and in the end how long it took.

    Both are written to the standard error stream where asked, and else go to the logger
    ``slabfield`` at level WARNING, which Python shows there too unless it is told otherwise: a
    minute of silence would look like a fault. Code that is loaded from the disk, or was compiled
    before in this process, is no reason to say anything: so it is said in the first fit after an
    installation. That compiling begins is said once in a process.

    Parameters
    ----------
    aloud : bool
        Whether to write to the standard error stream, and to log at level INFO only.

    Examples
    --------
    >>> from slabfield.face import tell_of_compiling
    >>> with tell_of_compiling():
    ...     total = 1 + 1
    """
    found = _Compiling(aloud)
    events = numba.core.event
    with events.install_listener("numba:compile", found.listener(events)):
        yield
    found.finish()


class _Compiling:
    """Whether anything was compiled, and for how long; compilation happens one at a time."""

    def __init__(self, aloud: bool) -> None:
        self.aloud = aloud
        self.depth, self.begin, self.seconds = 0, 0.0, 0.0
        self.soon: Timer | None = None

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
            if not _told:
                self.soon = Timer(max(0.0, WORTH_TELLING - self.seconds), self.begins)
                self.soon.daemon = True
                self.soon.start()
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += monotonic() - self.begin
            if self.soon is not None:
                self.soon.cancel()

    def begins(self) -> None:
        global _told
        if not _told:
            _told = True
            self.say(
                "Compiling for this machine; the first run with each likelihood does so once, for "
                "a minute or two."
            )

    def finish(self) -> None:
        if self.seconds > 0 and self.seconds >= WORTH_TELLING:
            kept = "; later runs load it from the disk" if CACHE_FOLDER is not None else ""
            self.say(f"Compiling took {self.seconds:.0f} s{kept}.")

    def say(self, text: str) -> None:
        logger.log(logging.INFO if self.aloud else logging.WARNING, text)
        if self.aloud:
            print(text, file=sys.stderr)
