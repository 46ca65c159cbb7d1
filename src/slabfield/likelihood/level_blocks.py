"""Exact engine of nodes with levels: the table of all joint states, kept during a sweep."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.level_table import (
    fill_cell_levels,
    fill_level_table,
    fill_offsets,
    multiply_cells,
    sum_out,
)
from slabfield.likelihood import protocols as interface
from slabfield.models.levels import LevelFeatures

# Cells of a block's table, at most: larger blocks need fewer passes over the joint table
MOST_CELLS = 1024


class LevelTable(NamedTuple):
    """Weights of all joint states; blocks are summed out of it, and change it when they are left.

    ``table`` and ``scratch`` are allocated only while the chain runs (:func:`with_table`). The
    other arrays are workspace of the open block.
    """

    features: LevelFeatures
    stride: Any
    table: Any
    scratch: Any
    offset: Any
    before: Any
    inside: Any
    digits: Any


def block_size(features: LevelFeatures, most_cells: int = MOST_CELLS) -> int:
    """Nodes per block, at least two: as many as fit into a table of ``most_cells``."""
    cells = np.cumprod(np.sort(features.n_levels)[::-1].astype(np.float64))
    most = max(int(np.count_nonzero(cells <= most_cells)), 2)
    return min(most, int(features.n_levels.size))


def level_table(features: LevelFeatures) -> LevelTable:
    """Return the exact engine of a small field of nodes with levels."""
    d = features.n_levels.size
    stride = np.concatenate([[1], np.cumprod(features.n_levels)[:-1]]).astype(np.int64)
    k = block_size(features)
    most = int(np.prod(np.sort(features.n_levels)[::-1][:k]))
    return LevelTable(
        features, stride, np.zeros(0), np.zeros(0), np.zeros(most, np.int64), np.zeros(most),
        np.zeros(d, np.bool_), np.zeros(d, np.int64),
    )  # fmt: skip


@interface.with_buffers.register(LevelTable)
def with_table(engine: LevelTable) -> LevelTable:
    """Return the engine with room for the table of all joint states."""
    size = int(np.prod(engine.features.n_levels))
    return engine._replace(table=np.zeros(size), scratch=np.zeros(size))


@interface.advance.register(LevelTable)
def advance(engine, state, rng):
    """Do nothing: the table is filled at the start of every sweep."""


@interface.begin_sweep.register(LevelTable)
def begin_sweep(engine, state):
    """Fill the table of all joint states."""
    fill_level_table(engine.features, state.bias, state.coupling, engine.table, engine.scratch)


@interface.open_block.register(LevelTable)
def open_block(engine, state, nodes, table):
    """Sum over all states of the other nodes."""
    features = engine.features
    engine.inside[:] = False
    for b in range(nodes.size):
        engine.inside[nodes[b]] = True
    size = fill_offsets(features.n_levels, nodes, engine.stride, engine.offset)
    cells = engine.before[:size]
    sum_out(
        engine.table, features.n_levels, engine.stride, engine.inside, engine.digits,
        engine.offset, cells,
    )  # fmt: skip
    for s in range(size):
        table[s, 0] = cells[s]


@interface.leave_block.register(LevelTable)
def leave_block(engine, state, nodes, table, rng):
    """Multiply the joint table by the changes of the block's cells."""
    features, factor = engine.features, engine.before[: table.shape[0]]
    for s in range(factor.size):
        factor[s] = table[s, 0] / factor[s]
    multiply_cells(
        engine.table, features.n_levels, engine.stride, engine.inside, engine.digits,
        engine.offset, factor,
    )  # fmt: skip


@inner
def cell_levels(features, nodes, level):
    """Fill in the levels of a block's nodes in each of its cells; return the number of cells."""
    size = 1
    for b in range(nodes.size):
        size *= features.n_levels[nodes[b]]
    fill_cell_levels(features.n_levels, nodes, level)
    return size
