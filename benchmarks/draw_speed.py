"""Effective draws of an edge indicator per CPU second: all samplers on the same block data."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reference.plain_collapsed import run_plain
from slabfield.chains.chain_run import chain_rng
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.collapsed_warmup import start_collapsed, warm_up_collapsed
from slabfield.chains.paper_chain import PaperChain, start_chain, warm_up
from slabfield.configuration import (
    Settings,
    bayes_exact,
    default_exact,
    default_particles,
    paper,
    pseudo,
)
from slabfield.datasets import make_block
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.iteration import new_record
from slabfield.posterior.convergence import array_stats
from slabfield.priors import Prior
from slabfield.problem import Problem
from timing import section, table

PLAIN = "plain loops, exact"


def effective_draws(present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Effective sample size of every indicator; zero for one that never changes."""
    effective = np.zeros(present.shape[1])
    moving = np.ptp(present.astype(np.int8), axis=0) > 0
    draws = present[None, :, moving].astype(np.float64)
    effective[moving] = array_stats().ess(draws, chain_axis=0, draw_axis=1, method="mean")
    return effective


def lengths(quick: bool, n_rows: int) -> dict[str, Settings]:
    """Samplers and how long they run."""
    samplers = {
        "default, exact": replace(default_exact(), thin=1, n_draws=8_000),
        "default, particles": replace(default_particles(), n_draws=4_000),
        "pseudo": replace(pseudo(), n_draws=4_000),
        "Bayes Exact": replace(bayes_exact(n_rows), n_draws=4_000, n_warmup=200),
        "paper": replace(paper(), n_draws=1_500, n_warmup=150),
    }
    if quick:
        return {
            name: replace(settings, n_draws=50, n_warmup=5, thin=min(settings.thin, 20))
            for name, settings in samplers.items()
        }
    return samplers


def measure(problem: Problem, settings: Settings) -> tuple[np.ndarray, float]:
    """Effective draws of every indicator, and CPU seconds of the draws, warm-up left out."""
    chain: PaperChain | CollapsedChain
    if settings.scheme == "collapsed":
        start = start_collapsed(problem, settings, chain_rng(1, 0))
        chain = warm_up_collapsed(start, lambda _: None)
    else:
        chain = warm_up(start_chain(problem, settings, chain_rng(1, 0)), lambda _: None)
    model = problem.model
    record = new_record(settings.n_draws, model.n_biases, *[model.n_interactions] * 2)
    clock = time.process_time()
    chain.iterate(record, 0, settings.n_draws, settings.thin)
    cpu_seconds = time.process_time() - clock
    return effective_draws(record.present), cpu_seconds


def rates_on(problem: Problem, quick: bool, n_rows: int) -> dict[str, tuple[float, float]]:
    """Effective draws of the median indicator, and these per CPU second, of every sampler."""
    found = {}
    seen, cpu = run_plain(problem, 50 if quick else 4_000, 5 if quick else 200, seed=1)
    found[PLAIN] = float(np.median(effective_draws(seen))), cpu
    for name, settings in lengths(quick, n_rows).items():
        draws, cpu = measure(problem, settings)
        found[name] = float(np.median(draws)), cpu
    return {name: (draws, draws / cpu) for name, (draws, cpu) in found.items()}


def effective(quick: bool) -> str:
    """Section on effective draws."""
    parts = []
    for n_rows in (100, 1_000):
        rows = []
        for seed in (1,) if quick else (1, 2, 3):
            data = make_block(n_rows, random_state=seed)
            model = BinaryPairwise(data.field.n_nodes)
            prior = Prior.standard(model.n_interactions)
            problem = Problem(model, data.rows, model.sums(data.rows), prior)
            found = rates_on(problem, quick, n_rows)
            for name, (draws, rate) in found.items():
                ratios = (
                    f"{rate / found[other][1]:.3g}" if found[other][1] > 0 else ""
                    for other in ("paper", PLAIN)
                )
                rows.append((seed, name, f"{draws:.0f}", f"{rate:.3g}", *ratios))
        head = ("data set", "sampler", "effective draws", "per CPU s", "ratio to paper",
                "ratio to plain loops")  # fmt: skip
        parts += [f"N = {n_rows}:", table(head, rows)]
    return section(
        "Effective draws per CPU second",
        "Block data, `make_block(N, random_state=seed)`, 66 candidate edges, one chain after "
        "warm-up: effective draws of the inclusion indicator of the median edge, by arviz-stats; "
        "one that never changed counts 0. Their number is itself rough where it is small, as it is "
        "for *paper* (Algorithm 1 with the paper's settings). *Plain loops* is the collapsed Gibbs "
        "sampler without blocks, centring or flips (`benchmarks/reference/plain_collapsed.py`). "
        "*pseudo* has another posterior, that of half the pseudo-likelihood.",
        *parts,
    )
