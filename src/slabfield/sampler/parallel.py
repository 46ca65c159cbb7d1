"""Several chains at once, through joblib; the draws do not depend on how they are spread."""

from __future__ import annotations

import os
from collections.abc import Callable

from slabfield.sampler.run import ChainResult, Report, run_chain
from slabfield.sampler.settings import Settings
from slabfield.sampler.warmup import Problem


def run_chains(
    problem: Problem,
    settings: Settings,
    n_chains: int,
    seed: int,
    n_jobs: int | None = None,
    reporter: Callable[[int], Report] | None = None,
) -> list[ChainResult]:
    """Run chains 0, 1, ..., each with random numbers of its own.

    Parameters
    ----------
    n_jobs : int or None
        Chains at a time; None takes as many as there are cores. Compiled code lets go of the
        interpreter, so threads are enough.
    reporter : callable, optional
        Given the number of a chain, returns what is told of the draws it has made since.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    def report_of(chain: int) -> Report:
        return reporter(chain) if reporter is not None else lambda _: None

    if n_jobs is None:
        n_jobs = min(n_chains, os.cpu_count() or 1)
    tasks = (
        delayed(run_chain)(problem, settings, seed, chain, report_of(chain))
        for chain in range(n_chains)
    )
    # One BLAS thread a chain: more get in each other's way, and would change the last bits of draws
    with threadpool_limits(1, user_api="blas"):
        results: list[ChainResult] = Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    return results
