"""Chains with particles: start, adaptation of the plan and of the particles, diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slabfield.adaptation.block_schedule import (
    FLIPS_PER_NODE,
    FULL_NODES,
    MIXED_FLIPS_PER_SWEEP,
    SCOUTING_FLIPS,
    all_pairs_plan,
    flips_needed,
    planned_for_particles,
    with_moves,
)
from slabfield.adaptation.edge_swaps import (
    SEARCH_STATES,
    SwapCandidate,
    field_covariance,
    find_swaps,
    found_repeatedly,
)
from slabfield.adaptation.particle_tuning import (
    FIRST_SWEEPS,
    MOST_PARTICLES,
    PLAIN_SWEEPS,
    Particles,
    first_number,
    moment_misfit,
    noise_of,
    sweep_share,
    tuned_particles,
    two_start_discrepancy,
    whole_groups,
)
from slabfield.adaptation.starts import remove_free, sparse_state_of, start_from_data, state_of
from slabfield.chains.collapsed_chain import CollapsedChain, run_sweeps, with_new_stats
from slabfield.chains.engine_parts import particle_parts
from slabfield.chains.pseudo_chain import pseudo_pilot, row_bytes
from slabfield.chains.row_sums import MOST_ROWS
from slabfield.configuration import Settings
from slabfield.kernels.pattern_gibbs import Clusters
from slabfield.likelihood.blocks import ParticleBlocks, ParticleWorkspace
from slabfield.likelihood.protocols import copied_particles, more_particles
from slabfield.models.protocol import Model
from slabfield.moves.edge_gibbs import InclusionStats, new_inclusion_stats
from slabfield.moves.iteration import advance_engine
from slabfield.problem import Problem
from slabfield.validation.memory_limit import give_back_memory

KINDS: tuple[type, ...] = (ParticleBlocks, ParticleWorkspace, Clusters)

# A chain in the dense mode has more than this share of all edges
DENSE_SHARE = 0.25
# It also has more than this many times the edges of the pilot state
DENSE_RATIO = 3.0
# Sweeps before each search for swaps
SWEEPS_PER_SEARCH = 2


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with particles, half of them started from rows and half from noise.

    Where a sweep does not visit all pairs, a pseudo-likelihood pilot run makes the first plan.
    """
    model, weighted = problem.model, problem.model.n_nodes <= FULL_NODES
    state, pilot = start_from_data(problem, kind, rng), None
    if not weighted:
        pilot_chain = pseudo_pilot(problem, rng)
        pilot, pilot_stats = sparse_state_of(pilot_chain.state, model), pilot_chain.inclusion_stats
        del pilot_chain
        give_back_memory()
        if kind in ("pseudo", "half"):
            state = state_of(pilot, model)
            remove_free(state, problem, 0.5 if kind == "half" else 0.0, rng)
    n = whole_groups(settings.n_particles or first_number(problem.sums.n_rows))
    n_sweeps = settings.n_sweeps or FIRST_SWEEPS
    engine, block = parts = particle_parts(model, problem, n, n_sweeps, weighted, rng)
    if settings.n_sweeps == 0:
        engine = engine._replace(n_sweeps=sweep_share(engine) * n_sweeps)
    initialize_particles(engine, problem, rng)
    if pilot is None:
        plan = all_pairs_plan(parts.block_nodes, problem)
        inclusion_stats = new_inclusion_stats(model.n_interactions)
    else:
        plan = planned_for_particles(problem, pilot_stats, parts.block_nodes, pilot.edges)
        inclusion_stats = flip_recording_stats(model)
    return CollapsedChain(
        problem, settings, engine, state, block, plan, inclusion_stats, rng, pilot
    )


def initialize_particles(engine: Particles, problem: Problem, rng: np.random.Generator) -> None:
    """Start half of the particles at rows of the data, and the others at random."""
    n, half = engine.states.shape[1], engine.states.shape[1] // 2
    engine.states[:, :half] = problem.rows[rng.integers(0, len(problem.rows), half)].T
    for i, n_levels in enumerate(problem.model.n_states):
        engine.states[i, half:] = rng.integers(0, n_levels, n - half)
    engine.importance[:] = 1.0


def adapt(chain: CollapsedChain, parts_left: int) -> CollapsedChain:
    """Tune the particles, and choose the number of flips or make a new plan.

    Before the last warm-up stage swaps are searched, and during it likely flips are recorded; at
    the end of warm-up these are scheduled in the same blocks.
    """
    stats, plan, settings = chain.inclusion_stats, chain.plan, chain.settings
    scheduled = len(plan.blocks) > 0
    swaps = search_for_swaps(chain) if scheduled and parts_left == 1 else []
    engine = tuned_particles(chain.engine, settings, chain.state, stats, parts_left, chain.rng)
    fresh = with_new_stats(chain)._replace(engine=engine)
    if not scheduled:
        n_flips = flips_needed(stats.mean_probability, MIXED_FLIPS_PER_SWEEP)
        return fresh._replace(plan=plan._replace(n_flips=n_flips))
    if parts_left == 0:
        return fresh._replace(plan=with_moves(plan, stats, chain.problem.model.n_nodes))
    present = chain.state.members[: chain.state.n_members[0]]
    plan = planned_for_particles(chain.problem, stats, plan.blocks.shape[1], present, swaps)
    if parts_left == 1:
        plan = plan._replace(n_flips=SCOUTING_FLIPS)
    return fresh._replace(plan=plan, inclusion_stats=flip_recording_stats(chain.problem.model))


def search_for_swaps(chain: CollapsedChain) -> list[SwapCandidate]:
    """Run a chain with particles for a few sweeps, and search its states for swaps.

    The log odds of a set of edges depend on all other edges, so that one state is not enough.
    """
    problem, searches = chain.problem, []
    for _ in range(SEARCH_STATES):
        run_sweeps(chain, SWEEPS_PER_SEARCH)
        fitted = field_covariance(chain.engine, chain.state, chain.rng)
        searches.append(find_swaps(problem, fitted, chain.state))
    return found_repeatedly(searches)


def flip_recording_stats(model: Model) -> InclusionStats:
    """Return empty statistics with a buffer for likely flips."""
    n_nodes = model.interactions.n_nodes
    return new_inclusion_stats(model.n_interactions, FLIPS_PER_NODE * n_nodes)


def in_dense_mode(chain: CollapsedChain) -> bool:
    """Whether a chain is in the dense mode.

    When particles lag behind, many pairs explain the same residual; the chain moves to a graph with
    most edges, all weak, and stays there. The pseudo-likelihood has no such noise: far more edges
    than in its pilot state, and a large share of all, indicate the dense mode.
    """
    if chain.pilot is None:
        return False
    n_edges, n_pilot = int(chain.state.n_members[0]), chain.pilot.edges.size
    return n_edges > max(DENSE_SHARE * chain.state.present.size, DENSE_RATIO * n_pilot)


def restarted(chain: CollapsedChain) -> CollapsedChain:
    """Return the chain at its pilot state, with more particles and more sweeps of them."""
    assert chain.pilot is not None
    n, sweeps = chain.engine.states.shape[1], chain.engine.n_sweeps
    if chain.settings.n_particles == 0:
        n = min(2 * n, MOST_PARTICLES)
    if chain.settings.n_sweeps == 0:
        sweeps = sweep_share(chain.engine) * PLAIN_SWEEPS
    engine = more_particles(chain.engine, n, chain.rng)._replace(n_sweeps=sweeps)
    initialize_particles(engine, chain.problem, chain.rng)
    fresh = chain._replace(
        engine=engine,
        state=state_of(chain.pilot, chain.problem.model),
        inclusion_stats=flip_recording_stats(chain.problem.model),
        n_restarts=chain.n_restarts + 1,
    )
    advance_engine(engine, fresh.state, chain.rng)
    return fresh


def summary(chain: CollapsedChain) -> dict[str, Any]:
    """Return the numbers of particles and sweeps, their noise, and whether they forgot starts."""
    engine, stats = chain.engine, chain.inclusion_stats
    return {
        "n_particles": int(engine.states.shape[1]),
        "n_sweeps": engine.n_sweeps,
        "n_tree_sweeps": engine.n_tree_sweeps,
        "noise": noise_of(stats) if stats.noise[1] > 0 else chain.noise,
        "two_start_discrepancy": two_start_discrepancy(engine),
        "restarts": chain.n_restarts,
        "in_dense_mode": in_dense_mode(chain),
    }


def diagnostics(chain: CollapsedChain) -> dict[str, Any]:
    """Return whether the particles of an ended chain lag behind."""
    if chain.engine.weighted:
        return {}
    particles, rng = copied_particles(chain.engine), np.random.default_rng(0)
    return {"moment_misfit": moment_misfit(particles, chain.state, chain.problem.sums, rng)}


def engine_bytes(n_rows: int, n_levels: Sequence[int], settings: Settings) -> int:
    """Bytes of the engine, copied when the number of particles changes, and of the pilot run."""
    n_particles, n_nodes = settings.n_particles or MOST_PARTICLES, len(n_levels)
    pilot = min(n_rows, MOST_ROWS) * row_bytes(n_levels) if n_nodes > FULL_NODES else 0
    # states, embeddings, conditional moments and weights of levels
    more = sum(16 * n for n in n_levels if n > 2)
    return n_particles * (12 * n_nodes + more + 160) + 8 * n_nodes * n_nodes + pilot
