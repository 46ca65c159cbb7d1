"""Chains on many machines through Dask distributed, with the same draws as on one machine.

A chain runs in rounds of a few seconds. Each round is a task that receives the state of the chain
and returns the next state with the new draws; the data are stored on every worker. If a worker
dies, at most one round is lost: Dask gives it to another worker, which makes the same draws again.
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

from slabfield.chains.chain_run import ChainRun, Packed, Report
from slabfield.chains.checkpoint import ChainFile
from slabfield.chains.code_fingerprint import code_fingerprint
from slabfield.chains.dask_client import address_of, workers_of
from slabfield.chains.run_clock import Deadline, compile_seconds
from slabfield.configuration import Settings
from slabfield.problem import Problem
from slabfield.validation import InputError, InputWarning
from slabfield.validation.errors import shown_value

if TYPE_CHECKING:
    from distributed import Client

# Seconds of a round
ROUND_SECONDS = 2.0
# Rounds last a second longer per this many bytes of state, so that transfer stays a small share
BYTES_PER_SECOND = 5e6
# Seconds between checks for workers while no task returns
POLL_SECONDS = 2.0
# Tasks in a row that may be lost with their data before the run is aborted
MOST_LOST = 10


class Timer:
    """Stands in for a chain's file on a worker, and stops the chain after some seconds.

    Compilation does not count. It allows at least one chunk, so that every round makes progress.
    """

    def __init__(self, seconds: float) -> None:
        self.until, self.stop, self.checked = Deadline(seconds), self, False

    def requested(self) -> bool:
        """Whether to stop."""
        checked, self.checked = self.checked, True
        return checked and self.until.passed()

    def due(self) -> bool:
        """Whether it is time to save: never, since the client saves all states."""
        return False

    def load(self) -> None:
        """Read nothing."""

    def save(self, tree: Any, arrays: Any) -> None:
        """Write nothing."""


class State:
    """A packed state, and the seconds in which the worker compiled during the round.

    It is a class of its own, so that Dask does not traverse it.
    """

    def __init__(self, packed: Packed, compile_seconds: float = 0.0) -> None:
        self.packed, self.compile_seconds = packed, compile_seconds

    @property
    def n_bytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in self.packed[1].values())


class Task(NamedTuple):
    """The small constant arguments of a round, besides the data and the state."""

    settings: Settings
    seed: int
    chain: int
    code: str


@cache
def prepare_worker() -> str:
    """Limit BLAS to one thread; return the fingerprint of the code of this process.

    More BLAS threads would change the last bits of draws.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
    return code_fingerprint()


def run_round(
    problem: Problem, task: Task, state: State | None, n_draws: int, seconds: float
) -> State:
    """Continue a chain on a worker for some seconds, or until it has made ``n_draws`` draws."""
    compiled_before, code = compile_seconds(), prepare_worker()
    if code != task.code:
        raise InputError(
            "different-versions-on-workers",
            "Workers of a cluster must run the same versions of Python, numba and slabfield as the "
            "client process; found the code {there} there and {here} here. Install the same "
            "versions on all machines.",
            there=code,
            here=task.code,
        )
    file: Any = Timer(seconds)
    if state is None:
        run = ChainRun(problem, task.settings, task.seed, task.chain, _silent, file)
    else:
        run = ChainRun.from_state(problem, task.settings, file, state.packed)
        run.warm_up(_silent, time.thread_time())
    run.extend(n_draws, _silent)
    return State(run.packed(), compile_seconds() - compiled_before)


def _silent(n_done: int) -> None:
    pass


class Link:
    """The client's copy of a chain: the last state that a worker returned, and all draws."""

    def __init__(
        self, problem: Problem, task: Task, file: ChainFile | None, report: Report,
        run: ChainRun | None,
    ) -> None:  # fmt: skip
        self.problem, self.task, self.file, self.report = problem, task, file, report
        self.run, self.changed = run, False

    def over(self, n_draws: int, late: bool) -> bool:
        """Whether the chain is done; ``late``: the time is over."""
        run = self.run
        if run is None:
            return False
        if late and not run.warm:
            run.end_warm_up(self.report)
            self.changed = True
        if self.file is not None and self.file.stop.requested():
            return True
        late = late and run.buffer.n_draws > 0
        return run.warm and (late or run.buffer.n_draws >= n_draws)

    def next_round(
        self, n_draws: int, seconds_left: float
    ) -> tuple[Task, State | None, int, float]:
        """Return the arguments of :func:`run_round` besides the data."""
        run = self.run
        seconds = min(ROUND_SECONDS, max(seconds_left, 0.0))
        if run is None:
            return self.task, None, 0, seconds
        state = State(run.packed(with_draws=False))
        if seconds_left == inf:
            seconds += state.n_bytes / BYTES_PER_SECOND
        return self.task, state, n_draws - run.buffer.n_draws if run.warm else 0, seconds

    def update(self, state: State) -> None:
        """Update the chain with the state that a round returned."""
        before = 0 if self.run is None else self.run.n_warmed + self.run.buffer.n_draws
        if self.run is None:
            settings = self.task.settings
            self.run = ChainRun.from_state(self.problem, settings, self.file, state.packed)
        else:
            self.run.update(state.packed)
        self.changed = True
        self.report(self.run.n_warmed + self.run.buffer.n_draws - before)
        self.run.save_if_due()


class Cluster:
    """Runs chains through a Dask client.

    ``compile_seconds`` is the longest time that the workers of a chain have compiled; deadlines
    are extended by it.
    """

    def __init__(self, client: Client) -> None:
        self.client, self.code = client, code_fingerprint()
        self._sent: tuple[Problem | None, Any] = (None, None)
        self.warned, self.compile_seconds = False, 0.0
        self._compiled: dict[int, float] = {}

    def start(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        files: Sequence[ChainFile | None],
        reports: Sequence[Report],
        patience: float = inf,
    ) -> list[ChainRun]:
        """Start chains or read them from their files; warm them up for ``patience`` at most."""
        links = []
        for chain, (file, report) in enumerate(zip(files, reports, strict=True)):
            run = ChainRun.from_file(problem, settings, file) if file is not None else None
            if run is not None:
                report(run.n_warmed + run.buffer.n_draws)
            task = Task(settings, seed, chain, self.code)
            links.append(Link(problem, task, file, report, run))
        return self._run(links, 0, Deadline(patience - self.compile_seconds))

    def extend(
        self, runs: list[ChainRun], n_draws: int, reports: Sequence[Report], deadline: Deadline
    ) -> list[ChainRun]:
        """Continue chains until each has ``n_draws`` draws in all, or until the deadline."""
        links = [
            # the seed is used at the start only
            Link(run.problem, Task(run.settings, 0, chain, self.code), run.file, report, run)
            for chain, (run, report) in enumerate(zip(runs, reports, strict=True))
        ]
        return self._run(links, n_draws, deadline)

    def _run(self, links: list[Link], n_draws: int, deadline: Deadline) -> list[ChainRun]:
        """Run rounds of all chains, each as soon as the previous one of its chain has returned."""
        returned: SimpleQueue[Any] = SimpleQueue()
        active: dict[Any, Link] = {}
        n_lost = 0
        late = deadline.left() + self.compile_seconds <= 0
        waiting = [link for link in links if not link.over(n_draws, late)]
        try:
            while waiting or active:
                for link in waiting:
                    left = deadline.left() + self.compile_seconds
                    future = self._submit(link.problem, link.next_round(n_draws, left))
                    active[future] = link
                    future.add_done_callback(returned.put)
                future = self._next(returned)
                link, state = active.pop(future), self._result(future)
                if state is not None:
                    link.update(state)
                    self._add_compile_seconds(link.task.chain, state.compile_seconds)
                n_lost = n_lost + 1 if state is None else 0
                self._check_alive(n_lost)
                late = deadline.left() + self.compile_seconds <= 0
                waiting = [] if link.over(n_draws, late) else [link]
        finally:
            if active:
                with suppress(Exception):
                    self.client.cancel(list(active), force=True)
        for link in links:
            if link.changed and link.run is not None:
                link.run.save()
        return [link.run for link in links if link.run is not None]

    def _add_compile_seconds(self, chain: int, seconds: float) -> None:
        self._compiled[chain] = self._compiled.get(chain, 0.0) + seconds
        self.compile_seconds = max(self._compiled.values())

    def _submit(self, problem: Problem, arguments: tuple[Any, ...]) -> Any:
        with warnings.catch_warnings():
            # Dask advises to keep large states on a worker, where they would be lost with it
            warnings.filterwarnings("ignore", "(?s).*Sending large graph", UserWarning)
            return self.client.submit(run_round, self._data(problem), *arguments, pure=False)

    def _data(self, problem: Problem) -> Any:
        """Send the data to every worker, once; later workers get them from the others."""
        sent, future = self._sent
        if sent is not problem or future.status != "finished":
            while self._without_workers():
                time.sleep(POLL_SECONDS)
            (future,) = self.client.scatter([problem], broadcast=True, hash=False)
            self._sent = problem, future
        return future

    def _next(self, returned: SimpleQueue[Any]) -> Any:
        """Wait for the next task that returns."""
        while True:
            try:
                return returned.get(timeout=POLL_SECONDS)
            except Empty:
                self._without_workers()

    def _without_workers(self) -> bool:
        """Whether there is no worker; warns the first time."""
        self._check_alive(0)
        none_left = not workers_of(self.client)
        if none_left and not self.warned:
            self.warned = True
            warnings.warn(
                InputWarning(
                    "workers-lost",
                    "The cluster at {address} has lost all its workers; the run waits for others. "
                    "Start some with dask worker ADDRESS.",
                    address=address_of(self.client),
                ),
                stacklevel=2,
            )
        return none_left

    def _result(self, future: Any) -> State | None:
        """Return the result of a task; None if it was lost with the data of a dead worker."""
        from distributed import CancelledError, KilledWorker

        try:
            state: State = future.result()
            return state
        except CancelledError:
            self._sent = None, None
            return None
        except KilledWorker as error:
            raise InputError(
                "workers-died",
                "A chain must fit on a worker; every worker that it was sent to died: {error}. "
                "Give workers more memory (dask worker --memory-limit).",
                error=str(error),
            ) from None
        except ImportError as error:
            raise InputError(
                "slabfield-not-on-workers",
                "Workers of a cluster must have slabfield installed; found {error}. Install "
                "slabfield[dask] on all machines.",
                error=shown_value(str(error)),
            ) from None

    def _check_alive(self, n_lost: int) -> None:
        if self.client.status != "running" or n_lost > MOST_LOST:
            raise InputError(
                "cluster-lost",
                "The cluster must stay available while chains run; the one at {address} was lost. "
                "Start it again; a run with a checkpoint continues from there.",
                address=address_of(self.client),
            )
