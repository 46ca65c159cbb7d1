"""Several chains at once, through joblib; the draws do not depend on how they are spread."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from math import ceil, inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from slabfield.checks.machine import give_back_memory
from slabfield.sampler.checkpoint import Checkpoint
from slabfield.sampler.cluster import Cluster
from slabfield.sampler.run import ChainResult, ChainRun, Report
from slabfield.sampler.settings import HALVES_LIMIT, NOISE_LIMIT, Settings
from slabfield.sampler.warmup import Problem

# Of the time there is, warm-up may take this share
WARMUP_SHARE = 0.5


class Reporter(Protocol):
    """What is told how far chains are."""

    def __call__(self, chain: int) -> Report:
        """Return what one chain tells of the draws it has made since, those of warm-up too."""

    def watch(self, runs: Sequence[ChainRun], n_draws: int) -> None:
        """Take the chains after warm-up, and how many draws they are to have next."""


class Limits(NamedTuple):
    """How long chains run.

    Attributes
    ----------
    most_draws : int
        With ``enough``, there are a quarter more draws until it says so, up to this many.
    enough : callable, optional
        Given the results so far, whether they are enough. None: as many draws as the settings say.
    deadline : float
        When to stop, whatever there is by then, on the clock of :func:`time.monotonic`.
    """

    most_draws: int = 0
    enough: Callable[[list[ChainResult]], bool] | None = None
    deadline: float = inf


class Outcome(NamedTuple):
    """Results of all chains, equally many draws of each; and what ended the run.

    ``stopped_by`` is "draws", "converged", "time" or "interrupt"; of an interrupted run the results
    are of those chains, and of as many draws of each, that are most together. ``runs`` can go on.
    """

    results: list[ChainResult]
    stopped_by: str
    runs: list[ChainRun]


class Unfit(Exception):
    """Raised after warm-up where an engine does not suit the data; the message says why."""


def refuse_unfit(runs: list[ChainRun]) -> None:
    """Raise :class:`Unfit` where warm-up shows that particles do not do for these data."""
    settled = [run.settled() for run in runs]
    if not any("half_against_half" in found for found in settled):
        return
    halves = float(np.median([found["half_against_half"] for found in settled]))
    noise = float(np.median([found["noise"] for found in settled]))
    if halves > HALVES_LIMIT:
        raise Unfit(
            "The particles do not mix on these data: those that started from rows of the data and "
            f"those that started from noise differ {halves:.0f} times as much as chance has it."
        )
    if noise > NOISE_LIMIT:
        raise Unfit(
            "The particles are too noisy on these data: the log odds of undecided edges vary by "
            f"{noise:.2f} (limit {NOISE_LIMIT:g}), with as many particles as can be afforded."
        )
    if all(found["trapped"] for found in settled):
        raise Unfit("Every chain fell into the dense trap, and again after a new start.")


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
    """Run chains 0, 1, ..., each with random numbers of its own.

    Parameters
    ----------
    n_jobs : int or None
        Chains at a time; None takes as many as there are cores, here or, under another backend of
        joblib, there. Compiled code lets go of the interpreter, so threads are enough.
    reporter : Reporter, optional
        What is told how far chains are.
    limits : Limits, optional
        When to stop.
    examine : callable, optional
        Given the chains after warm-up, may raise :class:`Unfit`.
    checkpoint : Checkpoint, optional
        Where chains write their states, and go on from.
    cluster : Cluster, optional
        Where chains run, all at a time.
    """
    reports = _reports(reporter, n_chains)
    files = [checkpoint.chain(settings.engine, c) if checkpoint else None for c in range(n_chains)]
    if cluster is not None:
        until = time.monotonic() + patience(limits, n_chains, n_chains)
        runs = cluster.start(problem, settings, seed, files, reports, until)
    else:
        each = patience(limits, n_chains, workers(n_jobs, n_chains))
        tasks = [(problem, settings, seed, c, reports[c], files[c], each) for c in range(n_chains)]
        runs = _at_once(n_jobs, ChainRun, tasks)
    # chains that have drawn were found fit before
    if examine is not None and all(run.warm and run.keeper.n_draws == 0 for run in runs):
        examine(runs)
    return draw_on(runs, settings.n_draws, n_jobs, reporter, limits, checkpoint, cluster)


def patience(limits: Limits | None, n_chains: int, at_a_time: int) -> float:
    """Return the seconds that the warm-up of a chain may take, so that time is left for draws."""
    if limits is None or limits.deadline == inf:
        return inf
    return WARMUP_SHARE * (limits.deadline - time.monotonic()) / ceil(n_chains / at_a_time)


def draw_on(
    runs: list[ChainRun],
    n_draws: int,
    n_jobs: int | None = None,
    reporter: Reporter | None = None,
    limits: Limits | None = None,
    checkpoint: Checkpoint | None = None,
    cluster: Cluster | None = None,
) -> Outcome:
    """Run chains on until each has so many draws in all, or as the limits say."""
    limits = limits or Limits()
    reports = _reports(reporter, len(runs))
    longest = max(run.keeper.n_draws for run in runs)
    while limits.enough is not None and n_draws < longest:
        # as many were found not to be enough before
        n_draws = min(_more(n_draws), limits.most_draws)
    while True:
        if reporter is not None:
            reporter.watch(runs, n_draws)
        done = [run.keeper.n_draws for run in runs]
        goal = n_draws
        if limits.deadline != inf:
            # in small rounds, so that no chain waits until the time is over
            goal = min(n_draws, min(done) + 16 + min(done) // 8)
        if cluster is not None:
            runs = cluster.extend(runs, n_draws, reports, limits.deadline)
        else:
            left = [goal - n for n in done]
            tasks = [(run, left[c], reports[c], limits.deadline) for c, run in enumerate(runs)]
            runs = _at_once(n_jobs, ChainRun.extend, tasks)
        shortest = min(run.keeper.n_draws for run in runs)
        late = time.monotonic() >= limits.deadline
        if shortest < n_draws and not late:
            if checkpoint is None or not checkpoint.stop.asked():
                continue
            return Outcome(_what_there_is(runs), "interrupt", runs)
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
            return Outcome(results, stopped_by, runs)
        n_draws = min(_more(n_draws), limits.most_draws)


def _more(n_draws: int) -> int:
    return n_draws + max(n_draws // 4, 1)


def _reports(reporter: Reporter | None, n_chains: int) -> list[Report]:
    return [reporter(c) if reporter is not None else _silent for c in range(n_chains)]


def _silent(n_done: int) -> None:
    pass


def _what_there_is(runs: list[ChainRun]) -> list[ChainResult]:
    """Return equally many draws of some chains, of those that are most together."""
    lengths = [run.keeper.n_draws for run in runs]
    kept = max(lengths, key=lambda length: length * sum(other >= length for other in lengths))
    together = [run for run in runs if kept > 0 and run.keeper.n_draws >= kept]
    return [run.ended(run.result(kept)) for run in together]


def _at_once(
    n_jobs: int | None, function: Callable[..., Any], tasks: list[tuple[Any, ...]]
) -> list[ChainRun]:
    """Run tasks in threads, or wherever joblib was told to; one BLAS thread each.

    More would change the last bits of draws.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    n_jobs = workers(n_jobs, len(tasks))
    calls = (delayed(_task)(os.getpid(), function, task) for task in tasks)
    with threadpool_limits(1, user_api="blas"):
        found: list[ChainRun] = Parallel(n_jobs=n_jobs, prefer="threads")(calls)
    return found


def workers(n_jobs: int | None, n_tasks: int) -> int:
    """Return how many tasks run at a time.

    None: as many as joblib was told, or else as there are cores, of wherever it runs them.
    """
    from joblib import effective_n_jobs

    told = effective_n_jobs(n_jobs)
    if n_jobs is None and told == 1:
        told = effective_n_jobs(-1)
    return int(min(n_tasks, told))


def _task(owner: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a task; a worker process ends with the one that started it, which alone hears Ctrl-C."""
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
    """Have this process, if it is someone's worker, end when the one that started it has ended."""
    if multiprocessing.parent_process() is None:
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name=f"parent of {process}", daemon=True).start()
