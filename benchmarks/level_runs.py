"""Chains of the samplers for nodes with levels, assembled from their parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slabfield.adaptation.block_schedule import plan_for_particles
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.configuration import default_exact
from slabfield.encoding.scores import standard_scores
from slabfield.kernels.block_particles import GROUPS
from slabfield.likelihood.blocks import LEAST_TREE_SWEEPS
from slabfield.likelihood.level_blocks import block_size, level_table
from slabfield.likelihood.level_particles import MOST_CELLS, LevelParticles, level_particles
from slabfield.models.levels import (
    NodeFeatures,
    PairwiseLevels,
    blume_capel_features,
    nominal_features,
    ordinal_features,
)
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import new_state
from slabfield.moves.edge_gibbs import new_inclusion_stats
from slabfield.moves.iteration import Record, advance_engine, new_record
from slabfield.moves.level_gibbs import LevelBlock, new_level_block
from slabfield.priors import Prior
from slabfield.problem import Problem


def features_of(kind: str, n_levels: int) -> NodeFeatures:
    """Features of a node of kind ordinal, nominal or blume-capel, with standard scores."""
    if kind == "nominal":
        return nominal_features(n_levels)
    scores = standard_scores(n_levels)
    if kind == "blume-capel":
        return blume_capel_features(scores, range(n_levels), (n_levels - 1) // 2)
    return ordinal_features(scores)


def model_of(kinds: list[tuple[str, int]]) -> PairwiseLevels:
    """All pairs of nodes of these kinds and numbers of levels."""
    return PairwiseLevels([features_of(*kind) for kind in kinds])


def problem_of(model: Any, rows: np.ndarray, prior: Prior | None = None) -> Problem:
    """Model, data and prior, by default the standard one."""
    return Problem(model, rows, model.sums(rows), prior or Prior.standard(model.n_interactions))


class Run(NamedTuple):
    """Draws of a chain, and inclusion probabilities averaged over visits."""

    record: Record
    inclusion: np.ndarray


def run_exact(
    problem: Problem,
    n_draws: int,
    n_warmup: int,
    seed: int,
    thin: int = 1,
    block_nodes: int = 99,
    n_flips: int = 0,
) -> Run:
    """Run a chain of collapsed sweeps with the table of all joint states.

    ``n_flips`` is the number of block flips per sweep.
    """
    features = problem.model.features(problem.rows)
    k = min(block_size(features), block_nodes)
    return _run(
        problem, level_table(features), new_level_block(features, k, 1),
        all_pairs(problem.model, k, n_flips), n_draws, n_warmup, np.random.default_rng(seed), thin,
    )  # fmt: skip


def run_particles(
    problem: Problem,
    n_draws: int,
    n_warmup: int,
    seed: int,
    n_particles: int = 1024,
    probability: np.ndarray | None = None,
) -> Run:
    """Run a chain of collapsed sweeps with particles.

    With estimates of inclusion probabilities, likely edges are updated in scheduled blocks and the
    others one at a time, with tree sweeps and without importance weights, as in larger fields.
    """
    model, rng = problem.model, np.random.default_rng(seed)
    features = model.features(problem.rows)
    k = block_size(features, MOST_CELLS)
    weighted = probability is None
    engine = particles_at_rows(problem, n_particles, 1.0 if weighted else 0.25, weighted, rng)
    plan = all_pairs(model, k, 0)
    if probability is not None:
        engine = engine._replace(n_tree_sweeps=LEAST_TREE_SWEEPS)
        plan = plan_for_particles(
            np.ones(model.n_interactions), probability, np.flatnonzero(probability > 0.5),
            model.ends, model.n_nodes, k,
        )  # fmt: skip
    block = new_level_block(features, k, GROUPS)
    return _run(problem, engine, block, plan, n_draws, n_warmup, rng, 1)


def particles_at_rows(
    problem: Problem, n_particles: int, n_sweeps: float, weighted: bool, rng: np.random.Generator
) -> LevelParticles:
    """Return particles at random rows of the data."""
    model = problem.model
    features = model.features(problem.rows)
    engine = level_particles(features, model.ends, n_particles, n_sweeps, weighted, rng)
    engine.states[:] = problem.rows[rng.integers(0, len(problem.rows), n_particles)].T
    return engine


def all_pairs(model: PairwiseLevels, k: int, n_flips: int) -> Plan:
    """Return the plan of sweeps over all pairs."""
    every = np.ones(model.n_interactions, dtype=bool)
    return Plan(
        np.zeros((0, k), np.int64), 0, every, np.zeros((0, 4), np.int64), np.zeros(1, np.int64),
        every, n_flips, np.arange(model.n_nodes)[:, None].copy(),
    )  # fmt: skip


def _run(
    problem: Problem,
    engine: Any,
    block: LevelBlock,
    plan: Plan,
    n_draws: int,
    n_warmup: int,
    rng: np.random.Generator,
    thin: int,
) -> Run:
    model = problem.model
    m = model.n_interactions
    sizes = (model.n_biases, model.interactions.n_parameters, m, model.n_scales)
    chain = CollapsedChain(
        problem, default_exact(), engine, new_state(*sizes), block, plan, new_inclusion_stats(m),
        rng,
    )  # fmt: skip
    advance_engine(engine, chain.state, rng)
    chain.iterate(new_record(0, *sizes), 0, 0, n_warmup)
    chain = chain._replace(inclusion_stats=new_inclusion_stats(m))
    record = new_record(n_draws, *sizes)
    chain.iterate(record, 0, n_draws, thin)
    return Run(record, chain.inclusion_stats.mean_probability)
