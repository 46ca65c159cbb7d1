"""Variances and covariances of all features of an engine, for warm-up, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.pair_counts import count_all_pairs
from slabfield.likelihood.exact_moments import BinaryTable, StateTable
from slabfield.likelihood.particle_moments import BinaryParticles, CliqueParticles
from slabfield.models.protocol import Model

Array = NDArray[np.float64]
Engine = BinaryTable | StateTable | BinaryParticles | CliqueParticles
# States per batch
BATCH = 1 << 14


def _weighted_rows(engine: Engine) -> Iterator[tuple[NDArray[Any], Array]]:
    """Yield states, as rows, with their weights, in batches."""
    if isinstance(engine, BinaryTable):
        n_nodes = engine.matrix.shape[0]
        for start in range(0, engine.weights.size, BATCH):
            index = np.arange(start, min(start + BATCH, engine.weights.size))
            yield (index[:, None] >> np.arange(n_nodes)) & 1, engine.weights[index]
    elif isinstance(engine, StateTable):
        yield engine.states.T, engine.weights
    else:
        yield engine.states.T, np.ones(engine.states.shape[1])


def feature_covariance(engine: Engine, model: Model) -> Array:
    """Covariance of all features, biases first; a floor keeps every variance above zero."""
    total, first, second = 0.0, np.zeros(0), np.zeros((0, 0))
    for rows, weights in _weighted_rows(engine):
        features = np.hstack(model.statistics(rows))
        weighted = features * weights[:, None]
        total += float(weights.sum())
        if first.size == 0:
            first, second = np.zeros(features.shape[1]), np.zeros((features.shape[1],) * 2)
        first += weighted.sum(axis=0)
        second += weighted.T @ features
    mean = first / total
    covariance: Array = second / total - np.outer(mean, mean)
    covariance[np.diag_indices_from(covariance)] += _floor(engine)
    return covariance


def feature_variances(engine: Engine, model: Model) -> Array:
    """Variance of every feature, biases first; a floor keeps it above zero.

    A frequency of 0 or 1 among n particles is replaced by (count + 1/2) / (n + 1).
    """
    if isinstance(engine, BinaryParticles):
        n = engine.states.shape[1]
        counts = np.zeros(engine.first.size, np.int64)
        count_all_pairs(engine.packed, counts)
        frequency = (np.concatenate([engine.states.sum(axis=1), counts]) + 0.5) / (n + 1)
        return np.asarray(frequency * (1 - frequency), dtype=np.float64)
    total, first, second = 0.0, np.zeros(1), np.zeros(1)
    for rows, weights in _weighted_rows(engine):
        features = np.hstack(model.statistics(rows))
        total += float(weights.sum())
        first = first + weights @ features
        second = second + weights @ features**2
    return np.asarray(second / total - (first / total) ** 2 + _floor(engine))


def _floor(engine: Engine) -> float:
    if isinstance(engine, BinaryTable | StateTable):
        return 1e-6
    return 0.25 / float(engine.states.shape[1] + 1)


def row_variances(model: Model, rows: NDArray[Any]) -> Array:
    """Variance of every feature over the rows, with half a pseudo-row at each end of its range."""
    sums = model.sums(rows)
    if model.single_binary:
        frequency = (np.concatenate([sums.bias, sums.coupling]) + 0.5) / (sums.n_rows + 1)
        return np.asarray(frequency * (1 - frequency))
    features = np.hstack(model.statistics(rows))
    return np.asarray(features.var(axis=0) + 0.25 / (sums.n_rows + 1))
