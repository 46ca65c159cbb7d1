"""Variances and covariances of all features of an engine, for warm-up, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.pair_counts import count_all_pairs
from slabfield.likelihood.exact_moments import BinaryTable, StateTable
from slabfield.likelihood.particle_moments import BinaryParticles
from slabfield.models.protocol import Model

Array = NDArray[np.float64]
# States per batch
BATCH = 1 << 14


@singledispatch
def weighted_rows(engine: Any) -> Iterator[tuple[NDArray[Any], Array]]:
    """Yield states, as rows, with their weights, in batches; by default particles of weight one."""
    yield engine.states.T, np.ones(engine.states.shape[1])


@weighted_rows.register
def binary_states(engine: BinaryTable) -> Iterator[tuple[NDArray[Any], Array]]:
    """Yield all states, whose bits are the nodes."""
    n_nodes = engine.matrix.shape[0]
    for start in range(0, engine.weights.size, BATCH):
        index = np.arange(start, min(start + BATCH, engine.weights.size))
        yield (index[:, None] >> np.arange(n_nodes)) & 1, engine.weights[index]


@weighted_rows.register
def listed_states(engine: StateTable) -> Iterator[tuple[NDArray[Any], Array]]:
    """Yield the list of all states."""
    yield engine.states.T, engine.weights


@singledispatch
def variance_floor(engine: Any) -> float:
    """Smallest variance of a feature; by default that of half a particle."""
    return 0.25 / float(engine.states.shape[1] + 1)


@variance_floor.register(BinaryTable)
@variance_floor.register(StateTable)
def rounding_floor(engine: Any) -> float:
    """Only rounding is to be covered: the table is exact."""
    return 1e-6


def feature_covariance(engine: Any, model: Model) -> Array:
    """Covariance of all features, biases first; a floor keeps every variance above zero."""
    total, first, second = 0.0, np.zeros(0), np.zeros((0, 0))
    for rows, weights in weighted_rows(engine):
        features = np.hstack(model.statistics(rows))
        weighted = features * weights[:, None]
        total += float(weights.sum())
        if first.size == 0:
            first, second = np.zeros(features.shape[1]), np.zeros((features.shape[1],) * 2)
        first += weighted.sum(axis=0)
        second += weighted.T @ features
    mean = first / total
    covariance: Array = second / total - np.outer(mean, mean)
    covariance[np.diag_indices_from(covariance)] += variance_floor(engine)
    return covariance


@singledispatch
def feature_variances(engine: Any, model: Model) -> Array:
    """Variance of every feature, biases first; a floor keeps it above zero."""
    total, first, second = 0.0, np.zeros(1), np.zeros(1)
    for rows, weights in weighted_rows(engine):
        features = np.hstack(model.statistics(rows))
        total += float(weights.sum())
        first = first + weights @ features
        second = second + weights @ features**2
    return np.asarray(second / total - (first / total) ** 2 + variance_floor(engine))


@feature_variances.register
def binary_variances(engine: BinaryParticles, model: Model) -> Array:
    """Variances from counts; a frequency of 0 or 1 is replaced by (count + 1/2) / (n + 1)."""
    n = engine.states.shape[1]
    counts = np.zeros(engine.first.size, np.int64)
    count_all_pairs(engine.packed, counts)
    frequency = (np.concatenate([engine.states.sum(axis=1), counts]) + 0.5) / (n + 1)
    return np.asarray(frequency * (1 - frequency), dtype=np.float64)


def row_variances(model: Model, rows: NDArray[Any]) -> Array:
    """Variance of every feature over the rows, with half a pseudo-row at each end of its range."""
    sums = model.sums(rows)
    if model.single_binary:
        frequency = (np.concatenate([sums.bias, sums.coupling]) + 0.5) / (sums.n_rows + 1)
        return np.asarray(frequency * (1 - frequency))
    features = np.hstack(model.statistics(rows))
    return np.asarray(features.var(axis=0) + 0.25 / (sums.n_rows + 1))
