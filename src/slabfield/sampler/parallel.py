"""Several chains at once, through joblib; the draws do not depend on how they are spread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from slabfield.sampler.run import ChainResult, ChainRun, Report
from slabfield.sampler.settings import HALVES_LIMIT, NOISE_LIMIT, Settings
from slabfield.sampler.warmup import Problem


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
        With ``enough``, the number of draws is doubled until it says so, up to this many.
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

    ``stopped_by`` is "draws", "converged" or "time".
    """

    results: list[ChainResult]
    stopped_by: str


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
) -> Outcome:
    """Run chains 0, 1, ..., each with random numbers of its own.

    Parameters
    ----------
    n_jobs : int or None
        Chains at a time; None takes as many as there are cores. Compiled code lets go of the
        interpreter, so threads are enough.
    reporter : Reporter, optional
        What is told how far chains are.
    limits : Limits, optional
        When to stop.
    examine : callable, optional
        Given the chains after warm-up, may raise :class:`Unfit`.
    """
    from joblib import delayed

    limits = limits or Limits()
    reports = [reporter(c) if reporter is not None else lambda _: None for c in range(n_chains)]
    n_jobs = n_jobs if n_jobs is not None else min(n_chains, os.cpu_count() or 1)
    start = delayed(ChainRun)
    runs = _at_once(
        n_jobs, (start(problem, settings, seed, c, reports[c]) for c in range(n_chains))
    )
    if examine is not None:
        examine(runs)
    extend = delayed(ChainRun.extend)
    n_draws = settings.n_draws
    while True:
        if reporter is not None:
            reporter.watch(runs, n_draws)
        done = runs[0].keeper.n_draws
        # against the clock in small rounds, so that no chain waits until the time is over
        more = n_draws - done if limits.deadline == inf else min(n_draws - done, 16 + done // 8)
        runs = _at_once(
            n_jobs,
            (extend(run, more, reports[c], limits.deadline) for c, run in enumerate(runs)),
        )
        shortest = min(run.keeper.n_draws for run in runs)
        late = time.monotonic() >= limits.deadline
        if shortest < n_draws and not late:
            continue
        results = [run.result(shortest) for run in runs]
        if late:
            return Outcome(results, "time")
        if limits.enough is None:
            return Outcome(results, "draws")
        if limits.enough(results):
            return Outcome(results, "converged")
        if n_draws >= limits.most_draws:
            return Outcome(results, "draws")
        n_draws = min(2 * n_draws, limits.most_draws)


def _at_once(n_jobs: int, tasks: Iterable[Any]) -> list[ChainRun]:
    """Run tasks in threads; one BLAS thread each: more would change the last bits of draws."""
    from joblib import Parallel
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        found: list[ChainRun] = Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    return found
