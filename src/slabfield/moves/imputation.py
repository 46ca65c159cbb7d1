"""Imputation: Gibbs updates of missing entries given everything else (equation 25)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.block_table import edge_number
from slabfield.kernels.gibbs import fill_neighbors
from slabfield.likelihood.protocols import refresh_data
from slabfield.models.binary import BinaryPairwise


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


def new_missing_entries(model: Any, x: NDArray[Any], missing: NDArray[np.bool_]) -> MissingEntries:
    """Return the missing entries of a table, which is stored and changed in place."""
    row, node = np.nonzero(missing)
    d = model.n_nodes if row.size else 0
    first, second = BinaryPairwise(d).ends
    return MissingEntries(
        row, node, x, first, second, np.zeros((d, d), np.int32), np.zeros((d, d), np.float32),
        np.zeros(d, np.int64),
    )  # fmt: skip


@inner
def redraw(missing_entries, engine, sums, state, rng):
    """Draw every missing entry once, given its row and the field; update the sums."""
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
