"""Chains on many machines, through Dask distributed; the draws are those of one machine.

A chain runs in rounds of a few seconds. Each is a task that is sent the state of the chain and
sends back the state it came to, with the draws it made; the data wait on every worker. A worker
that dies costs at most a round: Dask gives it to another, which makes the same draws again.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from math import inf
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from slabfield._jit import COMPILED, source_fingerprint
from slabfield.checks import InputError, InputWarning
from slabfield.checks.errors import shown_value
from slabfield.sampler.checkpoint import ChainFile
from slabfield.sampler.connect import address_of, workers_of
from slabfield.sampler.run import ChainRun, Packed, Report
from slabfield.sampler.settings import Settings
from slabfield.sampler.warmup import Problem

if TYPE_CHECKING:
    from distributed import Client

# Seconds of a round, and more for a state so large that sending it takes a twentieth of the time
ROUND_SECONDS, BYTES_A_SECOND = 2.0, 5e6
# Seconds between two looks at whether there are workers, when nothing comes back
LOOK_EVERY = 2.0
# Tasks in a row that may get lost, with the data they need, before it is given up
MOST_LOST = 10


class Timer:
    """In place of a chain's file on a worker: has the chain stop after some seconds.

    It first lets one chunk be done, whatever the time: every round gets on.
    """

    def __init__(self, seconds: float) -> None:
        self.until, self.stop, self.looked = time.monotonic() + seconds, self, False

    def asked(self) -> bool:
        """Whether to stop."""
        looked, self.looked = self.looked, True
        return looked and time.monotonic() >= self.until

    def due(self) -> bool:
        """Whether it is time to write: never, states are written where they come together."""
        return False

    def load(self) -> None:
        """Read nothing."""

    def save(self, tree: Any, arrays: Any) -> None:
        """Write nothing."""


class State:
    """A packed state; a class of its own, so that Dask does not look into it."""

    def __init__(self, packed: Packed) -> None:
        self.packed = packed

    @property
    def n_bytes(self) -> int:
        """Size of the arrays."""
        return sum(array.nbytes for array in self.packed[1].values())


class Task(NamedTuple):
    """What a round needs beside the data and the state: small, and the same in every round."""

    settings: Settings
    seed: int
    chain: int
    code: str


@cache
def prepare_worker() -> str:
    """Have matrix products take one thread from now on; return which code this process runs.

    More threads would change the last bits of draws.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
    return source_fingerprint(COMPILED)


def run_round(
    problem: Problem, task: Task, state: State | None, n_draws: int, seconds: float
) -> State:
    """Run a chain on, on a worker, for some seconds or until so many draws are made."""
    code = prepare_worker()
    if code != task.code:
        raise InputError(
            "Workers of a cluster must run the same versions of Python, numba and slabfield as "
            f"the process that asks them to; found the code {code} there and {task.code} here. "
            "Install the same versions on all machines."
        )
    file: Any = Timer(seconds)
    if state is None:
        run = ChainRun(problem, task.settings, task.seed, task.chain, _silent, file)
    else:
        run = ChainRun.from_state(problem, task.settings, file, state.packed)
        run.warm_up(_silent, time.thread_time())
    run.extend(n_draws, _silent)
    return State(run.packed())


def _silent(n_done: int) -> None:
    pass


class Link:
    """A chain as it is known here: its last state that came back, and all its draws."""

    def __init__(
        self, problem: Problem, task: Task, file: ChainFile | None, report: Report,
        run: ChainRun | None,
    ) -> None:  # fmt: skip
        self.problem, self.task, self.file, self.report = problem, task, file, report
        self.run, self.changed = run, False

    def over(self, n_draws: int, deadline: float) -> bool:
        """Whether there is nothing more to do."""
        run = self.run
        if run is None:
            return False
        if time.monotonic() >= deadline and not run.warm:
            run.end_warm_up()
            self.changed = True
        if self.file is not None and self.file.stop.asked():
            return True
        late = run.keeper.n_draws > 0 and time.monotonic() >= deadline
        return run.warm and (late or run.keeper.n_draws >= n_draws)

    def next_round(self, n_draws: int, deadline: float) -> tuple[Task, State | None, int, float]:
        """Return what :func:`run_round` is given beside the data."""
        run = self.run
        seconds = min(ROUND_SECONDS, max(deadline - time.monotonic(), 0.0))
        if run is None:
            return self.task, None, 0, seconds
        state = State(run.packed(with_draws=False))
        if deadline == inf:
            seconds += state.n_bytes / BYTES_A_SECOND
        return self.task, state, n_draws - run.keeper.n_draws if run.warm else 0, seconds

    def take(self, found: State) -> None:
        """Take what a round came to."""
        before = 0 if self.run is None else self.run.n_warmed + self.run.keeper.n_draws
        if self.run is None:
            settings = self.task.settings
            self.run = ChainRun.from_state(self.problem, settings, self.file, found.packed)
        else:
            self.run.take(found.packed)
        self.changed = True
        self.report(self.run.n_warmed + self.run.keeper.n_draws - before)
        self.run.save_if_due()


class Cluster:
    """Runs chains through a Dask client."""

    def __init__(self, client: Client) -> None:
        self.client, self.code = client, source_fingerprint(COMPILED)
        self._sent: tuple[Problem | None, Any] = (None, None)
        self.told = False

    def start(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        files: Sequence[ChainFile | None],
        reports: Sequence[Report],
        until: float = inf,
    ) -> list[ChainRun]:
        """Start chains, or read them from their files, and warm them up, or until some time."""
        links = []
        for chain, (file, report) in enumerate(zip(files, reports, strict=True)):
            run = ChainRun.from_file(problem, settings, file) if file is not None else None
            if run is not None:
                report(run.n_warmed + run.keeper.n_draws)
            task = Task(settings, seed, chain, self.code)
            links.append(Link(problem, task, file, report, run))
        return self._run(links, 0, until)

    def extend(
        self, runs: list[ChainRun], n_draws: int, reports: Sequence[Report], deadline: float
    ) -> list[ChainRun]:
        """Run chains on until each has so many draws in all, or the clock is past a time."""
        links = [
            # the seed is of use at the start only
            Link(run.problem, Task(run.settings, 0, chain, self.code), run.file, report, run)
            for chain, (run, report) in enumerate(zip(runs, reports, strict=True))
        ]
        return self._run(links, n_draws, deadline)

    def _run(self, links: list[Link], n_draws: int, deadline: float) -> list[ChainRun]:
        """Run rounds of all chains, each as soon as the one before it has come back."""
        came: SimpleQueue[Any] = SimpleQueue()
        at_work: dict[Any, Link] = {}
        n_lost = 0
        waiting = [link for link in links if not link.over(n_draws, deadline)]
        try:
            while waiting or at_work:
                for link in waiting:
                    future = self._submit(link.problem, link.next_round(n_draws, deadline))
                    at_work[future] = link
                    future.add_done_callback(came.put)
                future = self._next(came)
                link, found = at_work.pop(future), self._found(future)
                if found is not None:
                    link.take(found)
                n_lost = n_lost + 1 if found is None else 0
                self._check_alive(n_lost)
                waiting = [] if link.over(n_draws, deadline) else [link]
        finally:
            if at_work:
                with suppress(Exception):
                    self.client.cancel(list(at_work), force=True)
        for link in links:
            if link.changed and link.run is not None:
                link.run.save()
        return [link.run for link in links if link.run is not None]

    def _submit(self, problem: Problem, told: tuple[Any, ...]) -> Any:
        with warnings.catch_warnings():
            # Dask would rather have large states wait on a worker, but there they die with it
            warnings.filterwarnings("ignore", "(?s).*Sending large graph", UserWarning)
            return self.client.submit(run_round, self._data(problem), *told, pure=False)

    def _data(self, problem: Problem) -> Any:
        """Send the data to every worker, once; a worker that comes later has them from another."""
        sent, future = self._sent
        if sent is not problem or future.status != "finished":
            while self._alone():
                time.sleep(LOOK_EVERY)
            (future,) = self.client.scatter([problem], broadcast=True, hash=False)
            self._sent = problem, future
        return future

    def _next(self, came: SimpleQueue[Any]) -> Any:
        """Wait for the next task."""
        while True:
            try:
                return came.get(timeout=LOOK_EVERY)
            except Empty:
                self._alone()

    def _alone(self) -> bool:
        """Whether there is no worker; that is told once."""
        self._check_alive(0)
        alone = not workers_of(self.client)
        if alone and not self.told:
            self.told = True
            warnings.warn(
                f"The cluster at {address_of(self.client)} has lost all its workers; the run waits "
                "for others. Start some: dask worker ADDRESS.",
                InputWarning,
                stacklevel=2,
            )
        return alone

    def _found(self, future: Any) -> State | None:
        """Return what a task came to; None if it got lost with data on a worker that died."""
        from distributed import CancelledError, KilledWorker

        try:
            found: State = future.result()
            return found
        except CancelledError:
            self._sent = None, None
            return None
        except KilledWorker as error:
            raise InputError(
                "A chain must not take its worker down with it; every worker that it was given to "
                f"died: {error}. Give workers more memory (dask worker --memory-limit)."
            ) from None
        except ImportError as error:
            raise InputError(
                "Workers of a cluster must have slabfield installed; found "
                f"{shown_value(str(error))}. Install slabfield[dask] on all machines."
            ) from None

    def _check_alive(self, n_lost: int) -> None:
        if self.client.status != "running" or n_lost > MOST_LOST:
            raise InputError(
                "The cluster must be there while chains run; the one at "
                f"{address_of(self.client)} was lost. Start it again; a run with a checkpoint goes "
                "on from there."
            )
