"""Parallel chains through joblib, and the rule by which they stop.

Chains grow until they have enough draws, have converged, or are out of time. After warm-up they may
be found unfit, so that the run falls back to another likelihood. The draws do not depend on the
number of workers.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from math import ceil
from typing import Any, NamedTuple, Protocol

import numpy as np

from slabfield.chains.chain_run import ChainResult, ChainRun, Report
from slabfield.chains.checkpoint import Checkpoint
from slabfield.chains.dask_cluster import Cluster
from slabfield.chains.run_clock import NEVER, Deadline
from slabfield.configuration import DISCREPANCY_LIMIT, NOISE_LIMIT, Settings
from slabfield.problem import Problem
from slabfield.validation.memory_limit import give_back_memory

# Largest share of the time budget that warm-up may take
WARMUP_SHARE = 0.5


class Reporter(Protocol):
    """Receives the progress of chains."""

    def __call__(self, chain: int) -> Report:
        """Return the callback of a chain; it gets the number of new draws, warm-up included."""

    def watch(self, runs: Sequence[ChainRun]) -> None:
        """Receive the chains after warm-up."""

    def end(self, stopped_by: str) -> None:
        """Receive the reason why the run ended."""


class Limits(NamedTuple):
    """How long chains run.

    Attributes
    ----------
    most_draws : int
        With ``enough``, the number of draws grows by a quarter at a time, up to this many.
    enough : callable, optional
        Whether the results so far are enough. None: the number of draws in the settings.
    deadline : Deadline
        When to stop in any case.
    """

    most_draws: int = 0
    enough: Callable[[list[ChainResult]], bool] | None = None
    deadline: Deadline = NEVER


class Outcome(NamedTuple):
    """Results of all chains, with equal numbers of draws, and the reason why the run ended.

    ``stopped_by`` is "draws", "converged", "time" or "interrupt"; the results of an interrupted run
    are of the chains and the number of draws with the largest total. ``runs`` can be continued.
    """

    results: list[ChainResult]
    stopped_by: str
    runs: list[ChainRun]


class Unfit(Exception):
    """Raised after warm-up if an engine does not suit the data; the message says why."""


def refuse_unfit(runs: list[ChainRun]) -> None:
    """Raise :class:`Unfit` if the diagnostics after warm-up rule out particles for these data."""
    adapted = [run.adaptation() for run in runs]
    if not any("two_start_discrepancy" in summary for summary in adapted):
        return
    discrepancy = float(np.median([summary["two_start_discrepancy"] for summary in adapted]))
    noise = float(np.median([summary["noise"] for summary in adapted]))
    if discrepancy > DISCREPANCY_LIMIT:
        raise Unfit(
            "The particles do not mix on these data: the squared difference between particles "
            "started from the data and particles started from random states is "
            f"{discrepancy:.0f} times what sampling error explains."
        )
    if noise > NOISE_LIMIT:
        raise Unfit(
            "The particles are too noisy on these data: the log odds of undecided edges have noise "
            f"variance {noise:.2f} (limit {NOISE_LIMIT:g}) with the largest number of particles."
        )
    if all(summary["in_dense_mode"] for summary in adapted):
        raise Unfit("Every chain ended in the dense mode, even after a restart.")


def run_chains(
    problem: Problem,
    settings: Settings,
    n_chains: int,
    seed: int,
    n_jobs: int | None = None,
    reporter: Reporter | None = None,
    limits: Limits | None = None,
    examine: Callable[[list[ChainRun]], None] | None = None,
    checkpoint: Checkpoint | None = None,
    cluster: Cluster | None = None,
) -> Outcome:
    """Run chains 0, 1, ..., each with its own random stream.

    Parameters
    ----------
    n_jobs : int or None
        Chains at a time; None takes the number of cores, of this machine or of the joblib backend.
        Compiled code releases the interpreter lock, so that threads are enough.
    reporter : Reporter, optional
        Receives the progress of the chains.
    limits : Limits, optional
        When to stop.
    examine : callable, optional
        Called with the chains after warm-up; may raise :class:`Unfit`.
    checkpoint : Checkpoint, optional
        Folder to which chains write their states and from which they continue.
    cluster : Cluster, optional
        Dask cluster that runs all chains at a time.
    """
    reports = _reports(reporter, n_chains)
    files = [checkpoint.chain(settings.engine, c) if checkpoint else None for c in range(n_chains)]
    at_a_time = n_chains if cluster is not None else workers(n_jobs, n_chains)
    left = _seconds_left(limits or Limits(), cluster)
    patience = WARMUP_SHARE * left / ceil(n_chains / at_a_time)
    if cluster is not None:
        runs = cluster.start(problem, settings, seed, files, reports, patience)
    else:
        tasks = [
            (problem, settings, seed, c, reports[c], files[c], patience) for c in range(n_chains)
        ]
        runs = _at_once(n_jobs, ChainRun, tasks)
    # chains with draws passed the examination before
    if examine is not None and all(run.warm and run.buffer.n_draws == 0 for run in runs):
        examine(runs)
    return draw_on(runs, settings.n_draws, n_jobs, reporter, limits, checkpoint, cluster)


def _seconds_left(limits: Limits, cluster: Cluster | None) -> float:
    """Return the seconds until the deadline; compilation on workers does not count."""
    return limits.deadline.left() + (0.0 if cluster is None else cluster.compile_seconds)


def draw_on(
    runs: list[ChainRun],
    n_draws: int,
    n_jobs: int | None = None,
    reporter: Reporter | None = None,
    limits: Limits | None = None,
    checkpoint: Checkpoint | None = None,
    cluster: Cluster | None = None,
) -> Outcome:
    """Continue chains until each has ``n_draws`` draws in all, or until the limits stop them."""
    limits = limits or Limits()
    reports = _reports(reporter, len(runs))
    longest = max(run.buffer.n_draws for run in runs)
    while limits.enough is not None and n_draws < min(longest, limits.most_draws):
        # a resumed run: fewer draws were not enough
        n_draws = min(_more(n_draws), limits.most_draws)
    while True:
        if reporter is not None:
            reporter.watch(runs)
        done = [run.buffer.n_draws for run in runs]
        goal = n_draws
        if limits.deadline.limited:
            # short rounds: no chain is left without draws when the time is over
            goal = min(n_draws, min(done) + 16 + min(done) // 8)
        if cluster is not None:
            runs = cluster.extend(runs, n_draws, reports, limits.deadline)
        else:
            left = [goal - n for n in done]
            tasks = [(run, left[c], reports[c], limits.deadline) for c, run in enumerate(runs)]
            runs = _at_once(n_jobs, ChainRun.extend, tasks)
        shortest = min(run.buffer.n_draws for run in runs)
        late = _seconds_left(limits, cluster) <= 0
        if shortest < n_draws and not late:
            if checkpoint is None or not checkpoint.stop.requested():
                continue
            stopped_by, results = "interrupt", _largest_common(runs)
            break
        give_back_memory()
        results = [run.result(shortest) for run in runs]
        stopped_by = ""
        if late:
            stopped_by = "time"
            for run in runs:
                run.save()
        elif limits.enough is None:
            stopped_by = "draws"
        elif limits.enough(results):
            stopped_by = "converged"
        elif n_draws >= limits.most_draws:
            stopped_by = "draws"
        if stopped_by:
            results = [run.ended(result) for run, result in zip(runs, results, strict=True)]
            break
        n_draws = min(_more(n_draws), limits.most_draws)
    if reporter is not None:
        reporter.end(stopped_by)
    return Outcome(results, stopped_by, runs)


def _more(n_draws: int) -> int:
    return n_draws + max(n_draws // 4, 1)


def _reports(reporter: Reporter | None, n_chains: int) -> list[Report]:
    return [reporter(c) if reporter is not None else _silent for c in range(n_chains)]


def _silent(n_done: int) -> None:
    pass


def _largest_common(runs: list[ChainRun]) -> list[ChainResult]:
    """Return the results with the largest total of equally many draws of some chains."""
    kept = common_length([run.buffer.n_draws for run in runs])
    long_enough = [run for run in runs if kept > 0 and run.buffer.n_draws >= kept]
    return [run.ended(run.result(kept)) for run in long_enough]


def common_length(lengths: Sequence[int]) -> int:
    """Return the number of draws that gives the largest total over the chains that have it.

    Examples
    --------
    >>> from slabfield.chains.parallel import common_length
    >>> common_length([100, 100, 40, 0]), common_length([])
    (100, 0)
    """
    return max(
        lengths, key=lambda length: length * sum(other >= length for other in lengths), default=0
    )


def _at_once(
    n_jobs: int | None, function: Callable[..., Any], tasks: list[tuple[Any, ...]]
) -> list[ChainRun]:
    """Run tasks in threads, or on the configured joblib backend, with one BLAS thread each.

    More BLAS threads would change the last bits of draws.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    n_jobs = workers(n_jobs, len(tasks))
    calls = (delayed(_task)(os.getpid(), function, task) for task in tasks)
    with threadpool_limits(1, user_api="blas"):
        found: list[ChainRun] = Parallel(n_jobs=n_jobs, prefer="threads")(calls)
    return found


def workers(n_jobs: int | None, n_tasks: int) -> int:
    """Return the number of tasks that run at a time.

    None: the number configured in joblib, or else the number of cores of its backend.
    """
    from joblib import effective_n_jobs

    configured = effective_n_jobs(n_jobs)
    if n_jobs is None and configured == 1:
        configured = effective_n_jobs(-1)
    return int(min(n_tasks, configured))


def _task(owner: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a task; a worker process ignores Ctrl-C, and ends with the process that started it."""
    from threadpoolctl import threadpool_limits

    end_with_parent(os.getpid())
    if os.getpid() == owner:
        return function(*arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with threadpool_limits(1, user_api="blas"):
        return function(*arguments)


@cache
def end_with_parent(process: int) -> None:
    """End this process, if it is a worker, when its parent process has ended."""
    if multiprocessing.parent_process() is None:
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name=f"parent of {process}", daemon=True).start()
