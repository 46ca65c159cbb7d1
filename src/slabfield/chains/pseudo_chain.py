"""Chains with the weighted pseudo-likelihood: start, plan, and pilot runs for other chains."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

from slabfield.adaptation.associations import association
from slabfield.adaptation.block_schedule import (
    FULL_NODES_ON_ROWS,
    MIXED_FLIPS_PER_BLOCK,
    all_pairs_plan,
    flips_needed,
    make_plan,
    planned,
)
from slabfield.adaptation.starts import draw_start_p0, start_from_data
from slabfield.chains.collapsed_chain import CollapsedChain, run_sweeps, with_new_stats
from slabfield.chains.engine_parts import row_parts
from slabfield.configuration import Settings
from slabfield.likelihood.pseudolikelihood import PseudoRows
from slabfield.moves.block_sweep import Plan
from slabfield.moves.edge_gibbs import new_inclusion_stats
from slabfield.moves.iteration import advance_engine
from slabfield.problem import Problem

KINDS: tuple[type, ...] = (PseudoRows,)

# Sweeps of each of the two halves of a pilot run
PILOT_SWEEPS = 20


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with the weighted pseudo-likelihood."""
    parts = row_parts(problem.model, problem, settings.pseudo_weight)
    return CollapsedChain(
        problem, settings, parts.engine,
        start_from_data(problem, "empty" if kind == "pseudo" else kind, rng), parts.block,
        first_plan(problem, parts.block_nodes), new_inclusion_stats(problem.model.n_interactions),
        rng,
    )  # fmt: skip


def first_plan(problem: Problem, k: int) -> Plan:
    """Return the first plan of a chain with the pseudo-likelihood: of all pairs if they are few."""
    model = problem.model
    if model.n_nodes <= FULL_NODES_ON_ROWS:
        return all_pairs_plan(k, problem)
    score = association(model, problem)
    return make_plan(score, np.zeros(score.size), model.ends, model.n_nodes, k)


def adapt(chain: CollapsedChain, parts_left: int) -> CollapsedChain:
    """Choose the number of flips, or make a new plan.

    Edges that substitute for each other mix well without scheduled flips, which cost more.
    """
    stats, plan = chain.inclusion_stats, chain.plan
    if len(plan.blocks) == 0:
        n_flips = flips_needed(stats.mean_probability, MIXED_FLIPS_PER_BLOCK)
        return with_new_stats(chain)._replace(plan=plan._replace(n_flips=n_flips))
    plan = planned(chain.problem, stats, plan.blocks.shape[1])
    return with_new_stats(chain)._replace(plan=plan)


def summary(chain: CollapsedChain) -> dict[str, Any]:
    """Return nothing: the engine has no settings to adapt."""
    return {}


def diagnostics(chain: CollapsedChain) -> dict[str, Any]:
    """Return nothing: the pseudo-likelihood has no noise."""
    return {}


def pseudo_pilot(problem: Problem, rng: np.random.Generator) -> CollapsedChain:
    """Run a short chain with the pseudo-likelihood; its statistics are of the second half.

    It uses the rows of the problem; where they are a sample of the data, it uses their own sums.
    """
    own = problem.model.sums(problem.rows)
    same = own.n_rows == problem.sums.n_rows and np.array_equal(own.bias, problem.sums.bias)
    if not same or not np.array_equal(own.coupling, problem.sums.coupling):
        problem = problem._replace(sums=own)
    settings = Settings(engine="pseudo", scheme="collapsed", thin=1)
    chain = start(problem, settings, rng, "empty")
    draw_start_p0(chain.state, problem, rng)
    advance_engine(chain.engine, chain.state, rng)
    run_sweeps(chain, PILOT_SWEEPS)
    chain = adapt(chain, 0)
    run_sweeps(chain, PILOT_SWEEPS)
    return chain


def engine_bytes(n_rows: int, n_levels: Sequence[int], settings: Settings) -> int:
    """Bytes of the engine; rows are repeated, or padded, in at most twice as many places."""
    return 2 * (n_rows + 8 * isqrt(2 * n_rows)) * (row_bytes(n_levels) + 9 * len(n_levels))


def row_bytes(n_levels: Sequence[int]) -> int:
    """Bytes of one row: states, fields and conditionals, and for levels also their cumulants."""
    more = sum(n + 8 for n in n_levels if n > 2)
    return 8 * (3 * len(n_levels) + more + 5)
