"""Effective draws of an edge indicator per CPU second: three samplers on the same block data."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from slabfield.datasets import make_block
from slabfield.models.binary import BinaryPairwise
from slabfield.priors import Prior
from slabfield.sampler.collapsed import CollapsedChain, start_collapsed, warm_up_collapsed
from slabfield.sampler.iteration import new_record
from slabfield.sampler.run import Chain, chain_rng, start_chain, warm_up
from slabfield.sampler.settings import Settings, bayes_exact, gold_standard, paper
from slabfield.sampler.warmup import Problem
from timing import section, table

N_ROWS = 100


def lengths(quick: bool) -> dict[str, Settings]:
    if quick:
        short = {"n_draws": 50, "n_warmup": 5}
        return {
            "collapsed Gibbs": replace(gold_standard(), **short),
            "Bayes Exact": replace(bayes_exact(N_ROWS), **short),
            "paper": replace(paper(), **short, thin=20),
        }
    return {
        "collapsed Gibbs": replace(gold_standard(), n_draws=4_000),
        "Bayes Exact": replace(bayes_exact(N_ROWS), n_draws=4_000, n_warmup=200),
        "paper": replace(paper(), n_draws=1_000, n_warmup=150),
    }


def effective_draws(present: np.ndarray) -> np.ndarray:
    """Effective draws of every indicator; one that never changes has shown nothing and counts 0."""
    from arviz_stats.base import array_stats

    found = np.zeros(present.shape[1])
    moving = np.ptp(present.astype(np.int8), axis=0) > 0
    draws = present[None, :, moving].astype(np.float64)
    found[moving] = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="mean")
    return found


def measure(problem: Problem, settings: Settings) -> tuple[np.ndarray, float]:
    """Effective draws of every indicator, and CPU seconds of the draws, warm-up left out."""
    chain: Chain | CollapsedChain
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


def effective(quick: bool) -> str:
    """Section on effective draws."""
    data = make_block(N_ROWS, random_state=1)
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions)
    problem = Problem(model, data.rows, model.sums(data.rows), prior)
    found = {name: (s, *measure(problem, s)) for name, s in lengths(quick).items()}
    rates = {name: np.median(draws) / cpu for name, (_, draws, cpu) in found.items()}
    rows = [
        (name, f"{s.n_draws:,}", f"{s.thin:,}", f"{cpu:.1f}", f"{np.median(draws):.0f}",
         f"{draws.min():.0f} to {draws.max():.0f}", f"{rates[name]:.3g}",
         f"{rates[name] / rates['paper']:.3g}" if rates["paper"] > 0 else "")
        for name, (s, draws, cpu) in found.items()
    ]  # fmt: skip
    head = (
        "sampler", "draws", "iterations a draw", "CPU s", "effective draws, median edge",
        "least to most", "per CPU s", "ratio to paper",
    )  # fmt: skip
    return section(
        "Effective draws per CPU second",
        f"Block data, `make_block({N_ROWS}, random_state=1)`, {model.n_interactions} candidate "
        "edges, one chain after warm-up: effective draws of the inclusion indicators, by "
        "arviz-stats; one that never changed counts 0. Their number is itself rough where it is "
        "small, as it is for *paper*.",
        table(head, rows),
    )
