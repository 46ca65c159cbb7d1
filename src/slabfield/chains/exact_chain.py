"""Chains with the exact likelihood of a small field: start, surrogate, summary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from math import prod
from typing import Any

import numpy as np

from slabfield.adaptation.block_schedule import (
    MIXED_FLIPS_PER_SWEEP,
    all_mixed,
    all_pairs_plan,
    flips_needed,
)
from slabfield.adaptation.starts import small_field_state
from slabfield.chains.collapsed_chain import CollapsedChain, with_new_stats
from slabfield.chains.draw_buffer import sizes_of
from slabfield.chains.engine_parts import LEVEL_KINDS, exact_parts
from slabfield.configuration import Settings
from slabfield.likelihood.blocks import ExactBlocks
from slabfield.likelihood.quadratic_surrogate import QuadraticSurrogate, fit_surrogate
from slabfield.moves.edge_gibbs import new_inclusion_stats
from slabfield.moves.iteration import new_record
from slabfield.problem import Problem

KINDS: tuple[type, ...] = (ExactBlocks, QuadraticSurrogate, *LEVEL_KINDS)
Levels = Sequence[int]

# States of the chain to which the quadratic surrogate is fitted
SURROGATE_STATES = 32
# Sweeps before each of these states
SWEEPS_PER_STATE = 3
# Share of sweeps that surrogate transitions replace until their acceptance rate is known
FIRST_SHARE = 0.5
# Acceptance rates that surrogate transitions must exceed, and the share of sweeps they then replace
TRANSITION_RATES = ((0.65, 0.8), (0.45, 0.5), (0.33, 0.25))
# Share of the flips that are made where single updates mix every undecided edge
SPARE_FLIPS = 0.25


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with the exact likelihood of a small field."""
    state, parts = small_field_state(problem, kind, rng), exact_parts(problem.model, problem)
    return CollapsedChain(
        problem, settings, parts.engine, state, parts.block,
        all_pairs_plan(parts.block_nodes, problem),
        new_inclusion_stats(problem.model.n_interactions), rng,
    )  # fmt: skip


def adapt(chain: CollapsedChain, parts_left: int) -> CollapsedChain:
    """Fit the surrogate, and choose the number of flips per sweep."""
    fresh, stats = with_new_stats(chain), chain.inclusion_stats
    engine = adapted_engine(chain.engine, chain, parts_left)
    wanted = MIXED_FLIPS_PER_SWEEP * (SPARE_FLIPS if all_mixed(stats) else 1.0)
    n_flips = flips_needed(stats.mean_probability, wanted)
    return fresh._replace(engine=engine, plan=chain.plan._replace(n_flips=n_flips))


@singledispatch
def adapted_engine(engine: Any, chain: CollapsedChain, parts_left: int) -> Any:
    """Adapt the engine to the states of the chain; by default there is nothing to adapt."""
    return engine


@adapted_engine.register
def with_surrogate(engine: ExactBlocks, chain: CollapsedChain, parts_left: int) -> ExactBlocks:
    """Fit the quadratic surrogate to states of the chain, if its transitions pay.

    First in the middle of warm-up; then again at its end, if the acceptance rate was high enough
    and there are undecided edges that single updates do not mix.
    """
    problem, surrogate = chain.problem, engine.surrogate
    if parts_left not in (0, 2):
        return engine
    probability = FIRST_SHARE
    if parts_left == 0 and all_mixed(chain.inclusion_stats):
        probability = 0.0
    elif parts_left == 0:
        proposed, accepted = surrogate.count
        probability = next(
            (share for rate, share in TRANSITION_RATES if accepted > rate * proposed), 0.0
        )
    if probability == 0.0:
        return engine._replace(transition_probability=0.0)
    states = new_record(SURROGATE_STATES, *sizes_of(problem.model))
    chain.iterate(states, 0, SURROGATE_STATES, SWEEPS_PER_STATE)
    n_rows, precision = problem.sums.n_rows, problem.prior.bias_precision
    fitted = fit_surrogate(surrogate, states.bias, states.coupling, n_rows, precision)
    surrogate.count[:] = 0
    return engine._replace(transition_probability=probability if fitted else 0.0)


def summary(chain: CollapsedChain) -> dict[str, Any]:
    """Return the adapted settings of the engine."""
    return engine_summary(chain.engine)


@singledispatch
def engine_summary(engine: Any) -> dict[str, Any]:
    """Return nothing, by default."""
    return {}


@engine_summary.register
def surrogate_summary(engine: ExactBlocks) -> dict[str, Any]:
    """Return how often surrogate transitions are tried, and accepted."""
    proposed, accepted = engine.surrogate.count.tolist()
    return {
        "transition_probability": engine.transition_probability,
        "acceptance_rate": accepted / max(proposed, 1),
    }


def diagnostics(chain: CollapsedChain) -> dict[str, Any]:
    """Return nothing: the likelihood is exact."""
    return {}


def engine_bytes(n_rows: int, n_levels: Levels, settings: Settings) -> int:
    """Bytes of the engine: tables of all states, and the surrogate."""
    n_nodes = len(n_levels)
    return 32 * prod(n_levels) + 40 * (n_nodes * (n_nodes - 1) // 2) ** 2
