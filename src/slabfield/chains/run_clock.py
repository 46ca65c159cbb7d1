"""The clock of a run: it counts warm-up and sampling, and stands still during compilation."""

from __future__ import annotations

import threading
import time
from math import inf
from typing import Any

from slabfield._jit import numba

events: Any = numba.core.event


class _CompileTime(events.Listener):  # type: ignore[misc]
    """Seconds in which this process compiled code, or loaded compiled code from the disk.

    It listens to numba's compiler lock, which threads hold, or wait for, meanwhile.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth, self.begin, self.past = 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        with self.lock:
            if self.depth == 0:
                self.begin = time.monotonic()
            self.depth += 1

    def on_end(self, event: Any) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.past += time.monotonic() - self.begin

    def seconds(self) -> float:
        with self.lock:
            return self.past + (time.monotonic() - self.begin if self.depth else 0.0)


_compile_time = _CompileTime()
events.register("numba:compiler_lock", _compile_time)


def compile_seconds() -> float:
    """Return the seconds in which this process compiled code, or loaded it from the disk."""
    return _compile_time.seconds()


def _now() -> float:
    return time.monotonic() - compile_seconds()


class Stopwatch:
    """Seconds of a run without those in which this process compiled.

    A copy in another process goes on from the same time, and leaves out compilation there.

    Parameters
    ----------
    elapsed : float
        Seconds that the run took before.
    """

    def __init__(self, elapsed: float = 0.0) -> None:
        self._origin = _now() - elapsed

    def elapsed(self) -> float:
        """Return the seconds so far."""
        return _now() - self._origin

    def __getstate__(self) -> dict[str, float]:
        # monotonic clocks of two machines have nothing in common
        return {"started_at": time.time() - self.elapsed()}

    def __setstate__(self, state: dict[str, float]) -> None:
        self._origin = _now() - (time.time() - state["started_at"])


class Deadline:
    """The end of a time budget.

    Parameters
    ----------
    seconds : float
        The budget; infinite for none.
    stopwatch : Stopwatch, optional
        What has been spent of it; by default the budget begins now.

    Examples
    --------
    >>> from slabfield.chains.run_clock import NEVER, Deadline
    >>> Deadline(60.0).passed(), Deadline(-1.0).passed(), NEVER.passed()
    (False, True, False)
    """

    def __init__(self, seconds: float, stopwatch: Stopwatch | None = None) -> None:
        self.seconds, self.stopwatch = seconds, stopwatch or Stopwatch()

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.seconds < inf

    def left(self) -> float:
        """Return the seconds left."""
        return self.seconds - self.stopwatch.elapsed()

    def passed(self) -> bool:
        """Whether the budget is spent."""
        return self.left() <= 0


NEVER = Deadline(inf)
