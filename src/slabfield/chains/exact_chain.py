"""Chains with the exact likelihood of a small field: start, surrogate, summary."""

from __future__ import annotations

from typing import Any

import numpy as np

from slabfield.adaptation.block_schedule import (
    MIXED_FLIPS_PER_SWEEP,
    all_pairs_plan,
    flips_needed,
)
from slabfield.adaptation.starts import small_field_state
from slabfield.chains.collapsed_chain import CollapsedChain, sizes_of, with_new_stats
from slabfield.configuration import Settings
from slabfield.likelihood.blocks import ExactBlocks, block_size, exact_blocks
from slabfield.likelihood.quadratic_surrogate import QuadraticSurrogate, fit_surrogate
from slabfield.moves.edge_gibbs import new_block, new_inclusion_stats
from slabfield.moves.iteration import new_record
from slabfield.problem import Problem

KINDS: tuple[type, ...] = (ExactBlocks, QuadraticSurrogate)

# States of the chain to which the quadratic surrogate is fitted
SURROGATE_STATES = 32
# Sweeps before each of these states
SWEEPS_PER_STATE = 4
# Acceptance rates that surrogate transitions must exceed, and the share of sweeps they then replace
TRANSITION_RATES = ((0.4, 0.5), (0.05, 0.25))


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with the exact likelihood of a small field."""
    model = problem.model
    state, k = small_field_state(problem, kind, rng), block_size(model.n_nodes)
    block = new_block(problem.sums.bias / problem.sums.n_rows, k, 1)
    return CollapsedChain(
        problem, settings, exact_blocks(model), state, block,
        all_pairs_plan(k, problem.sums, model.ends), new_inclusion_stats(model.n_interactions), rng,
    )  # fmt: skip


def adapt(chain: CollapsedChain, parts_left: int) -> CollapsedChain:
    """Fit the surrogate, and choose the number of flips per sweep."""
    fresh = with_new_stats(chain)
    engine = with_surrogate(chain, parts_left)
    n_flips = flips_needed(chain.inclusion_stats.mean_probability, MIXED_FLIPS_PER_SWEEP)
    return fresh._replace(engine=engine, plan=chain.plan._replace(n_flips=n_flips))


def with_surrogate(chain: CollapsedChain, parts_left: int) -> ExactBlocks:
    """Fit the quadratic surrogate to states of the chain, if its transitions are accepted.

    First in the middle of warm-up; then again at its end, if the acceptance rate was high enough.
    """
    problem = chain.problem
    engine: ExactBlocks = chain.engine
    surrogate = engine.surrogate
    if parts_left not in (0, 2):
        return engine
    probability = TRANSITION_RATES[0][1]
    if parts_left == 0:
        proposed, accepted = surrogate.count
        probability = next(
            (share for rate, share in TRANSITION_RATES if accepted > rate * proposed), 0.0
        )
    if probability == 0.0:
        return engine._replace(transition_probability=0.0)
    states = new_record(SURROGATE_STATES, *sizes_of(problem))
    chain.iterate(states, 0, SURROGATE_STATES, SWEEPS_PER_STATE)
    n_rows, precision = problem.sums.n_rows, problem.prior.bias_precision
    fitted = fit_surrogate(surrogate, states.bias, states.coupling, n_rows, precision)
    surrogate.count[:] = 0
    return engine._replace(transition_probability=probability if fitted else 0.0)


def summary(chain: CollapsedChain) -> dict[str, Any]:
    """Return how often surrogate transitions are tried, and accepted."""
    proposed, accepted = chain.engine.surrogate.count.tolist()
    return {
        "transition_probability": chain.engine.transition_probability,
        "acceptance_rate": accepted / max(proposed, 1),
    }


def diagnostics(chain: CollapsedChain) -> dict[str, Any]:
    """Return nothing: the likelihood is exact."""
    return {}


def engine_bytes(n_rows: int, n_nodes: int, settings: Settings) -> int:
    """Bytes of the engine: tables of all states, and the surrogate."""
    return 32 * (1 << n_nodes) + 40 * (n_nodes * (n_nodes - 1) // 2) ** 2
