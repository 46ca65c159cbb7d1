"""Imputation: Gibbs updates of missing entries given everything else (equation 25)."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import generic, inner
from slabfield.kernels.block_table import edge_number
from slabfield.kernels.gibbs import fill_neighbors
from slabfield.kernels.level_table import level_bias
from slabfield.likelihood.protocols import refresh_data
from slabfield.models.binary import BinaryPairwise
from slabfield.models.levels import LevelFeatures, PairwiseLevels


class MissingEntries(NamedTuple):
    """The missing entries of a table, and the table with their imputed values.

    Entry m is in row ``row[m]`` and column ``node[m]`` of ``x``. ``first`` and ``second`` are the
    ends of all edges; the other fields are workspace, lists of neighbors as in
    :mod:`slabfield.kernels`.
    """

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    x: NDArray[Any]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    neighbors: NDArray[np.int32]
    weights: NDArray[np.float32]
    degree: NDArray[np.int64]


class MissingLevels(NamedTuple):
    """The missing entries of a table of nodes with levels, and the table with imputed values.

    Entry m is in row ``row[m]`` and column ``node[m]`` of ``x``; ``energy`` is workspace, the log
    weights of the levels of a node.
    """

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    x: NDArray[Any]
    features: LevelFeatures
    energy: NDArray[np.float64]


@singledispatch
def new_missing_entries(model: Any, x: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    """Return the missing entries of a table, which is stored and changed in place."""
    row, node = np.nonzero(missing)
    d = model.n_nodes if row.size else 0
    first, second = BinaryPairwise(d).ends
    return MissingEntries(
        row, node, x, first, second, np.zeros((d, d), np.int32), np.zeros((d, d), np.float32),
        np.zeros(d, np.int64),
    )  # fmt: skip


@new_missing_entries.register
def new_missing_levels(
    model: PairwiseLevels, x: NDArray[Any], missing: NDArray[np.bool_]
) -> MissingLevels:
    """Return the missing entries of a table of nodes with levels."""
    row, node = np.nonzero(missing)
    energy = np.zeros(int(model.n_states.max()))
    return MissingLevels(row, node, x, model.features(x), energy)


def with_table(missing_entries: Any, x: NDArray[Any]) -> Any:
    """Return the missing entries of another copy of the table, with a workspace of its own."""
    given = ("row", "node", "x", "first", "second", "features")
    own = {
        name: part.copy() for name, part in missing_entries._asdict().items() if name not in given
    }
    return missing_entries._replace(x=x, **own)


@generic
def redraw(missing_entries, engine, sums, state, rng):
    """Draw every missing entry once, given its row and the field; update the sums."""


@redraw.register(MissingEntries)
def redraw_bits(missing_entries, engine, sums, state, rng):
    """Draw every missing entry of a binary table."""
    neighbors, weights, degree = (
        missing_entries.neighbors,
        missing_entries.weights,
        missing_entries.degree,
    )
    fill_neighbors(
        missing_entries.first, missing_entries.second, state.members, state.n_members[0],
        state.coupling, neighbors, weights, degree,
    )  # fmt: skip
    n_nodes, changed = state.bias.size, False
    for m in range(missing_entries.row.size):
        row, i = missing_entries.row[m], missing_entries.node[m]
        x = missing_entries.x[row]
        field = state.bias[i]
        for k in range(degree[i]):
            field += weights[i, k] * x[neighbors[i, k]]
        value = 1 if rng.random() * (1.0 + np.exp(-field)) < 1.0 else 0
        if value == x[i]:
            continue
        change = value - np.float64(x[i])
        x[i] = value
        sums.bias[i] += change
        for j in range(n_nodes):
            if x[j] != 0 and j != i:
                sums.coupling[edge_number(n_nodes, min(i, j), max(i, j))] += change
        changed = True
    if changed:
        refresh_data(engine, missing_entries, state, rng)


@inner
def fill_level_energy(features, state, x, i, energy):
    """Fill in the log weights of the levels of a node, given the other nodes of its row."""
    n_nodes, start = features.n_levels.size, features.level_start[i]
    for a in range(features.n_levels[i]):
        energy[a] = level_bias(features, state.bias, i, a)
    for j in range(n_nodes):
        if j == i:
            continue
        alpha = edge_number(n_nodes, min(i, j), max(i, j))
        if not state.present[alpha]:
            continue
        begin, other = features.group_start[alpha], features.level_start[j] + x[j]
        size_i, size_j = features.embedding_size[i], features.embedding_size[j]
        for u in range(size_i):
            field = 0.0
            for v in range(size_j):
                place = u * size_j + v if i < j else v * size_i + u
                field += state.coupling[begin + place] * features.embedding[other, v]
            for a in range(features.n_levels[i]):
                energy[a] += field * features.embedding[start + a, u]


@inner
def draw_level(energy, n_levels, rng):
    """Draw a level from the log weights of all levels, which are overwritten."""
    largest, total = energy[0], 0.0
    for a in range(n_levels):
        largest = max(largest, energy[a])
    for a in range(n_levels):
        energy[a] = math.exp(energy[a] - largest)
        total += energy[a]
    left, level = rng.random() * total, 0
    while level < n_levels - 1 and left >= energy[level]:
        left -= energy[level]
        level += 1
    return level


@inner
def move_level_sums(features, sums, x, i, before, after):
    """Update the sums of all features for a row in which node i goes to another level."""
    n_nodes, start, first = features.n_levels.size, features.level_start[i], features.bias_start[i]
    for r in range(features.bias_start[i + 1] - first):
        change = features.bias_feature[start + after, r] - features.bias_feature[start + before, r]
        sums.bias[first + r] += change
    for j in range(n_nodes):
        if j == i:
            continue
        begin = features.group_start[edge_number(n_nodes, min(i, j), max(i, j))]
        other = features.level_start[j] + x[j]
        size_i, size_j = features.embedding_size[i], features.embedding_size[j]
        for u in range(size_i):
            change = features.embedding[start + after, u] - features.embedding[start + before, u]
            for v in range(size_j):
                place = u * size_j + v if i < j else v * size_i + u
                sums.coupling[begin + place] += change * features.embedding[other, v]


@redraw.register(MissingLevels)
def redraw_levels(missing_entries, engine, sums, state, rng):
    """Draw every missing entry of a table of nodes with levels."""
    features, energy, changed = missing_entries.features, missing_entries.energy, False
    for m in range(missing_entries.row.size):
        i, x = missing_entries.node[m], missing_entries.x[missing_entries.row[m]]
        fill_level_energy(features, state, x, i, energy)
        level, before = draw_level(energy, features.n_levels[i], rng), int(x[i])
        if level != before:
            move_level_sums(features, sums, x, i, before, level)
            x[i] = level
            changed = True
    if changed:
        refresh_data(engine, missing_entries, state, rng)
