"""Missing entries: unknowns of the model, redrawn given everything else (equation 25)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import generic, inner
from slabfield.kernels.cube import edge_number
from slabfield.kernels.gibbs import fill_neighbours
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes
from slabfield.likelihood.engine import advance
from slabfield.likelihood.exact import BinaryTable, StateTable
from slabfield.likelihood.particles import BinaryParticles, CliqueParticles
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.models.binary import BinaryPairwise


class Unknown(NamedTuple):
    """The missing entries of a table, and the table with their present values.

    Entry m is in row ``row[m]`` and column ``node[m]`` of ``x``. ``first`` and ``second`` are the
    ends of all edges; the rest is workspace, lists of neighbours as in :mod:`slabfield.kernels`.
    """

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    x: NDArray[Any]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.float32]
    degree: NDArray[np.int64]


def new_unknown(model: Any, x: NDArray[Any], missing: NDArray[np.bool_]) -> Unknown:
    """Return the missing entries of a table, which is kept and changed in place."""
    row, node = np.nonzero(missing)
    d = model.n_nodes if row.size else 0
    first, second = BinaryPairwise(d).ends
    return Unknown(
        row, node, x, first, second, np.zeros((d, d), np.int32), np.zeros((d, d), np.float32),
        np.zeros(d, np.int64),
    )  # fmt: skip


@generic
def renew(engine, unknown, state, rng):
    """Bring an engine up to date after missing entries were redrawn."""


@renew.register(ExactCubes)
@renew.register(ParticleCubes)
@renew.register(BinaryTable)
@renew.register(StateTable)
@renew.register(BinaryParticles)
@renew.register(CliqueParticles)
def sums_are_enough(engine, unknown, state, rng):
    """Nothing: these engines do not know the data."""


@renew.register(PseudoRows)
def copy_entries(engine, unknown, state, rng):
    """Copy the entries, and work out all fields anew."""
    for m in range(unknown.row.size):
        row, i = unknown.row[m], unknown.node[m]
        engine.x[i, row] = unknown.x[row, i]
    advance(engine, state, rng)


@inner
def redraw(unknown, engine, sums, state, rng):
    """Draw every missing entry once, given its row and the field; bring the sums up to date."""
    neighbours, weights, degree = unknown.neighbours, unknown.weights, unknown.degree
    fill_neighbours(
        unknown.first, unknown.second, state.members, state.n_members[0], state.coupling,
        neighbours, weights, degree,
    )  # fmt: skip
    n_nodes, changed = state.bias.size, False
    for m in range(unknown.row.size):
        row, i = unknown.row[m], unknown.node[m]
        x = unknown.x[row]
        field = state.bias[i]
        for k in range(degree[i]):
            field += weights[i, k] * x[neighbours[i, k]]
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
        renew(engine, unknown, state, rng)
