"""Associations of nodes in the data and in particles, by which blocks and swaps are chosen."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.likelihood.level_particles import LevelParticles
from slabfield.models.binary import BinaryPairwise
from slabfield.models.levels import PairwiseLevels
from slabfield.models.protocol import Model
from slabfield.problem import Problem

Array = NDArray[np.float64]


@singledispatch
def association(model: Model, problem: Problem) -> Array:
    """Squared correlation of every pair in the data times the number of rows."""
    raise NotImplementedError(type(model).__name__)


@association.register
def binary_association(model: BinaryPairwise, problem: Problem) -> Array:
    """From the sums over all rows."""
    sums, (first, second) = problem.sums, model.ends
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    joint = sums.coupling / sums.n_rows - mean[first] * mean[second]
    variance = mean * (1 - mean)
    score: Array = sums.n_rows * joint**2 / (variance[first] * variance[second])
    return score


@association.register
def level_association(model: PairwiseLevels, problem: Problem) -> Array:
    """Sum of the squared correlations of all coordinates of the two embeddings, from the rows."""
    coordinates = [node.embedding[problem.rows[:, i]] for i, node in enumerate(model.nodes)]
    covariance = _covariance(np.hstack(coordinates), problem)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    squares = (covariance / deviation[:, None] / deviation) ** 2
    sizes = [node.embedding.shape[1] for node in model.nodes]
    owner = np.repeat(np.eye(model.n_nodes), sizes, axis=0)
    by_pair = owner.T @ squares @ owner
    score: Array = problem.sums.n_rows * model.interactions.of_matrix(by_pair)
    return score


@singledispatch
def score_covariance(model: Model, problem: Problem) -> NDArray[np.float32]:
    """Covariance of the nodes' scores in the data; zero for nodes that have no single score."""
    raise NotImplementedError(type(model).__name__)


@score_covariance.register
def binary_covariance(model: BinaryPairwise, problem: Problem) -> NDArray[np.float32]:
    """From the sums over all rows."""
    sums, ends = problem.sums, model.ends
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    covariance = np.zeros((model.n_nodes, model.n_nodes), np.float32)
    covariance[ends] = sums.coupling / sums.n_rows - mean[ends[0]] * mean[ends[1]]
    covariance = covariance + covariance.T
    covariance[np.diag_indices(model.n_nodes)] = mean * (1 - mean)
    return covariance


@score_covariance.register
def level_covariance(model: PairwiseLevels, problem: Problem) -> NDArray[np.float32]:
    """From the rows."""
    scores = [
        node.embedding[problem.rows[:, i], 0] * (node.embedding.shape[1] == 1)
        for i, node in enumerate(model.nodes)
    ]
    return _covariance(np.column_stack(scores), problem).astype(np.float32)


def _covariance(values: Array, problem: Problem) -> Array:
    weights = problem.times if problem.times.size else None
    return np.atleast_2d(np.cov(values, rowvar=False, ddof=0, aweights=weights))


@singledispatch
def particle_scores(engine: Any) -> NDArray[np.float32]:
    """Scores of all nodes in all particles, (D, n); of binary nodes their states."""
    scores: NDArray[np.float32] = engine.states.astype(np.float32)
    return scores


@particle_scores.register
def level_scores(engine: LevelParticles) -> NDArray[np.float32]:
    """Zero for nodes that have no single score."""
    single = engine.features.embedding_size == 1
    scores: NDArray[np.float32] = engine.embedded[engine.row_start[:-1]] * single[:, None]
    return scores
