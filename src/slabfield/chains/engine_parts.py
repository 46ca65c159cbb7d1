"""Engines of collapsed chains and the blocks that go with them, by the kind of model."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from slabfield.adaptation.block_schedule import PARTICLE_BLOCK
from slabfield.adaptation.pattern_clusters import find_clusters
from slabfield.kernels.block_particles import GROUPS
from slabfield.kernels.cell_conditional import Cells
from slabfield.kernels.group_laplace import GroupLaplace
from slabfield.likelihood.blocks import block_size as exact_block_size
from slabfield.likelihood.blocks import exact_blocks, particle_blocks
from slabfield.likelihood.level_blocks import LevelTable, block_size, level_table
from slabfield.likelihood.level_particles import (
    LevelParticles,
    LevelWorkspace,
    level_particles,
    particle_block_size,
)
from slabfield.likelihood.level_rows import LevelRows, level_rows
from slabfield.likelihood.pseudolikelihood import pseudo_rows
from slabfield.models.binary import BinaryPairwise
from slabfield.models.levels import LevelFeatures, PairwiseLevels
from slabfield.models.protocol import Model
from slabfield.moves.edge_gibbs import new_block
from slabfield.moves.imputation import MissingLevels
from slabfield.moves.level_gibbs import LevelBlock, new_level_block
from slabfield.moves.level_pseudo_gibbs import LevelRowBlock, new_level_row_block
from slabfield.problem import Problem

LEVEL_KINDS: tuple[type, ...] = (
    *(LevelTable, LevelParticles, LevelWorkspace, LevelRows, LevelFeatures),
    *(LevelBlock, LevelRowBlock, Cells, GroupLaplace, MissingLevels),
)
"""The named tuples of chains of nodes with levels."""


class EngineParts(NamedTuple):
    """An engine, and the workspace of its blocks of nodes."""

    engine: Any
    block: Any

    @property
    def block_nodes(self) -> int:
        """Nodes of a block."""
        return int(self.block.nodes.size)


@singledispatch
def exact_parts(model: Model, problem: Problem) -> EngineParts:
    """Return the engine of the exact likelihood."""
    raise NotImplementedError(type(model).__name__)


@exact_parts.register
def exact_binary_parts(model: BinaryPairwise, problem: Problem) -> EngineParts:
    """Tables by sums over bits."""
    k = exact_block_size(model.n_nodes)
    return EngineParts(exact_blocks(model), new_block(_means(problem), k, 1))


@exact_parts.register
def exact_level_parts(model: PairwiseLevels, problem: Problem) -> EngineParts:
    """The table of all joint states."""
    features = _features(model, problem)
    return EngineParts(level_table(features), new_level_block(features, block_size(features), 1))


@singledispatch
def particle_parts(
    model: Model,
    problem: Problem,
    n_particles: int,
    n_sweeps: float,
    weighted: bool,
    rng: np.random.Generator,
) -> EngineParts:
    """Return particles in random states."""
    raise NotImplementedError(type(model).__name__)


@particle_parts.register
def binary_particle_parts(
    model: BinaryPairwise,
    problem: Problem,
    n_particles: int,
    n_sweeps: float,
    weighted: bool,
    rng: np.random.Generator,
) -> EngineParts:
    """Particles of bits; unless weighted, with clusters of nodes that exclude each other."""
    k, means = min(PARTICLE_BLOCK, model.n_nodes), _means(problem)
    engine = particle_blocks(model, n_particles, n_sweeps, k, weighted, rng)
    engine = engine._replace(center=means)
    if not weighted:
        engine = engine._replace(clusters=find_clusters(problem))
    return EngineParts(engine, new_block(means, k, GROUPS))


@particle_parts.register
def level_particle_parts(
    model: PairwiseLevels,
    problem: Problem,
    n_particles: int,
    n_sweeps: float,
    weighted: bool,
    rng: np.random.Generator,
) -> EngineParts:
    """Particles of nodes with levels."""
    features = _features(model, problem)
    engine = level_particles(features, model.ends, n_particles, n_sweeps, weighted, rng)
    block = new_level_block(features, particle_block_size(features), GROUPS)
    return EngineParts(engine, block)


@singledispatch
def row_parts(model: Model, problem: Problem, weight: float) -> EngineParts:
    """Return the engine of the weighted pseudo-likelihood."""
    raise NotImplementedError(type(model).__name__)


@row_parts.register
def binary_row_parts(model: BinaryPairwise, problem: Problem, weight: float) -> EngineParts:
    """Conditionals of bits."""
    times = problem.times if problem.times.size else None
    block = new_block(_means(problem), min(PARTICLE_BLOCK, model.n_nodes), 1)
    return EngineParts(pseudo_rows(model, problem.rows, weight, times), block)


@row_parts.register
def level_row_parts(model: PairwiseLevels, problem: Problem, weight: float) -> EngineParts:
    """Conditionals of levels."""
    times = problem.times if problem.times.size else None
    engine = level_rows(model, problem.rows, weight, times)
    block = new_level_row_block(engine.features, min(PARTICLE_BLOCK, model.n_nodes))
    return EngineParts(engine, block)


def _means(problem: Problem) -> Any:
    return problem.sums.bias / problem.sums.n_rows


def _features(model: PairwiseLevels, problem: Problem) -> LevelFeatures:
    return model.features(problem.rows, problem.times if problem.times.size else None)
