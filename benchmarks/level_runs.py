"""Chains of the exact sampler for nodes with levels, assembled from their parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.configuration import default_exact
from slabfield.likelihood.level_blocks import block_size, level_table
from slabfield.models.levels import (
    NodeFeatures,
    PairwiseLevels,
    blume_capel_features,
    nominal_features,
    ordinal_features,
    standard_scores,
)
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import new_state
from slabfield.moves.edge_gibbs import new_inclusion_stats
from slabfield.moves.iteration import Record, new_record
from slabfield.moves.level_gibbs import new_level_block
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
    model = problem.model
    features = model.features(problem.rows)
    d, m, k = model.n_nodes, model.n_interactions, min(block_size(features), block_nodes)
    every = np.ones(m, dtype=bool)
    plan = Plan(
        np.zeros((0, k), np.int64), 0, every, np.zeros((0, 4), np.int64), np.zeros(1, np.int64),
        every, n_flips, np.arange(d)[:, None].copy(),
    )  # fmt: skip
    sizes = (model.n_biases, model.interactions.n_parameters, m, model.n_scales)
    chain = CollapsedChain(
        problem, default_exact(), level_table(features), new_state(*sizes),
        new_level_block(features, k, 1), plan, new_inclusion_stats(m), np.random.default_rng(seed),
    )  # fmt: skip
    chain.iterate(new_record(0, *sizes), 0, 0, n_warmup)
    chain = chain._replace(inclusion_stats=new_inclusion_stats(m))
    record = new_record(n_draws, *sizes)
    chain.iterate(record, 0, n_draws, thin)
    return Run(record, chain.inclusion_stats.mean_probability)
