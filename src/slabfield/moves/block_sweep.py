"""Sweeps of the default sampler: collapsed Gibbs updates of all edges, in blocks of nodes.

For every edge of a block, its presence is drawn with its coupling integrated out, and then its
coupling (:mod:`slabfield.moves.edge_gibbs`). This module decides which blocks are updated in a
sweep, and in what order; flips of several edges, updates of unlikely edges and surrogate
transitions are called from here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner, optional
from slabfield.kernels.block_table import edge_number
from slabfield.likelihood.level_blocks import LevelTable, cell_levels
from slabfield.likelihood.level_particles import LevelParticles
from slabfield.likelihood.level_rows import LevelRows
from slabfield.likelihood.protocols import (
    begin_sweep,
    between_blocks,
    leave_block,
    n_bias_updates,
    open_block,
)
from slabfield.likelihood.pseudolikelihood import PseudoRows
from slabfield.moves import absent_level_edges as absent_level_edges
from slabfield.moves import level_flip as level_flip
from slabfield.moves import pseudo_edge_gibbs
from slabfield.moves.absent_edges import update_absent
from slabfield.moves.block_flip import NO_FLIPS, NOT_PLANNED, flip_edges, list_undecided, shuffle
from slabfield.moves.edge_gibbs import scale_of, update_biases, update_edges
from slabfield.moves.level_gibbs import update_level_biases, update_level_edges
from slabfield.moves.level_pseudo_gibbs import update_level_row_biases, update_level_row_edges
from slabfield.moves.surrogate_transition import surrogate_transition


class Plan(NamedTuple):
    """What a sweep does: the blocks that it always updates, and the number of random blocks.

    Without blocks, a sweep covers all pairs of nodes. ``covered`` marks the edges that scheduled
    blocks contain. ``moves`` lists scheduled flips, as positions of edges in a block; those of
    block b are ``moves[move_start[b]:move_start[b + 1]]``. ``undecided`` marks the edges that
    random flips may include, and ``n_flips`` is the number of random flips per block. ``together``
    lists, for every node, the nodes that share a block with it where a sweep covers all pairs and
    flips edges.
    """

    blocks: NDArray[np.int64]
    n_random: int
    covered: NDArray[np.bool_]
    moves: NDArray[np.int64]
    move_start: NDArray[np.int64]
    undecided: NDArray[np.bool_]
    n_flips: int
    together: NDArray[np.int64]


@inner
def list_edges(block, n_nodes, k, split, within_first, within_second):
    """List the edges of a block to update: all between its two parts, and those within a part."""
    n_edges = 0
    for high in range(1, k):
        for low in range(high):
            across = low < split <= high
            if across or (high < split and within_first) or (low >= split and within_second):
                i, j = block.nodes[low], block.nodes[high]
                block.edges[n_edges, 0] = edge_number(n_nodes, min(i, j), max(i, j))
                block.edges[n_edges, 1] = low
                block.edges[n_edges, 2] = high
                n_edges += 1
    return n_edges


@optional
def update_block(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, inclusion_stats, rng
):
    """Update the listed edges of a block, and the biases of its nodes first to last, once each.

    By default with the table of its states, all other nodes summed out. ``number`` is the index of
    the block in the plan, or says whether edges are flipped.
    """
    open_block(engine, state, block.nodes[:k], block.table)
    changed = update_edges(sums, prior, state, block, k, n_edges, 1.0, inclusion_stats, rng)
    n_undecided = list_undecided(block.edges, n_edges, plan.undecided, block.undecided)
    flipped = flip_edges(
        None, sums, prior, state, block, block.table[: 1 << k], k, n_edges, n_undecided, number,
        plan, inclusion_stats, rng,
    )  # fmt: skip
    update_biases(sums, prior, state, block, k, first, last, rng)
    if changed or flipped or last > first:
        leave_block(engine, state, block.nodes[:k], block.table, rng)


@update_block.register(PseudoRows)
def update_rows(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, inclusion_stats, rng
):
    """Update a block with the conditionals of its nodes in every row."""
    scale = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    pseudo_edge_gibbs.update_edges(
        engine, sums, prior, state, block, n_edges, scale, inclusion_stats, rng
    )
    n_undecided = list_undecided(block.edges, n_edges, plan.undecided, block.undecided)
    pseudo_edge_gibbs.exchange_edges(
        engine, sums, prior, state, block, n_undecided, plan.n_flips, scale, rng
    )
    pseudo_edge_gibbs.update_biases(engine, sums, prior, state, block, first, last, rng)


@update_block.register(LevelTable)
@update_block.register(LevelParticles)
def update_levels(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, inclusion_stats, rng
):
    """Update a block of nodes with levels with the table of its cells."""
    features, nodes = engine.features, block.nodes[:k]
    size = cell_levels(features, nodes, block.level)
    table, level = block.table[:size], block.level
    open_block(engine, state, nodes, table)
    changed = update_level_edges(
        features, sums, prior, state, block, n_edges, table, level, 1.0, inclusion_stats, rng
    )
    n_undecided = list_undecided(block.edges, n_edges, plan.undecided, block.undecided)
    flipped = flip_edges(
        features, sums, prior, state, block, table, k, n_edges, n_undecided, number, plan,
        inclusion_stats, rng,
    )  # fmt: skip
    update_level_biases(features, sums, prior, state, block, table, level, first, last, rng)
    if changed or flipped or last > first:
        leave_block(engine, state, nodes, table, rng)


@update_block.register(LevelRows)
def update_level_rows(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, inclusion_stats, rng
):
    """Update a block of nodes with levels with their conditionals in every row."""
    update_level_row_edges(engine, sums, prior, state, block, n_edges, inclusion_stats, rng)
    update_level_row_biases(engine, sums, prior, state, block, first, last, rng)


def requirements(engine: Any) -> tuple[Any, ...]:
    """Return what sweeps require of an engine: a table of each block, or an update of its own."""
    own = update_block.overridden_by(type(engine))
    return (between_blocks, n_bias_updates, *(() if own else (open_block, leave_block)))


@inner
def planned_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng):
    """Update the scheduled blocks, blocks of random nodes, and unlikely edges one at a time.

    The choice of blocks does not depend on the state, so each update by itself leaves the posterior
    invariant. Edges that are most likely absent are updated only in random blocks or one at a time.
    """
    n_nodes, k = block.order.size, block.nodes.size
    last = n_bias_updates(engine, k)
    for m in range(plan.blocks.shape[0]):
        block.nodes[:] = plan.blocks[m]
        n_edges = list_edges(block, n_nodes, k, k, True, True)
        update_block(
            engine, sums, prior, state, block, k, n_edges, 0, last, m, plan, inclusion_stats, rng
        )
        between_blocks(engine, state, m, plan.blocks.shape[0], rng)
    for _ in range(plan.n_random):
        shuffle(block.order, k, rng)
        block.nodes[:] = block.order[:k]
        n_edges = list_edges(block, n_nodes, k, k, True, True)
        update_block(
            engine,
            sums,
            prior,
            state,
            block,
            k,
            n_edges,
            0,
            0,
            NOT_PLANNED,
            plan,
            inclusion_stats,
            rng,
        )
    update_absent(engine, sums, prior, state, block, plan, inclusion_stats, rng)


@inner
def bring_together(order, together):
    """Move the nodes listed with the first one to the places after it."""
    for m in range(1, together.shape[1]):
        node, place = together[order[0], m], m
        while order[place] != node:
            place += 1
        order[m], order[place] = order[place], order[m]


@inner
def full_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng):
    """Update every edge and every bias once, in blocks of nodes, with flips of several edges.

    The nodes are shuffled and divided into groups of half a block; every two groups make a block,
    so that every pair of nodes is in one. Edges within a group are updated in one of its blocks.
    Flips are tried in the first block: that of a random node and the nodes listed with it. If a
    block takes an odd number of nodes, that is one of its own.
    """
    order, most = block.order, block.nodes.size
    n_nodes = order.size
    begin_sweep(engine, state)
    shuffle(order, n_nodes, rng)
    bring_together(order, plan.together)
    if n_nodes <= most:
        block.nodes[:n_nodes] = order
        n_edges = list_edges(block, n_nodes, n_nodes, n_nodes, True, True)
        update_block(
            engine, sums, prior, state, block, n_nodes, n_edges, 0, n_nodes, NOT_PLANNED, plan,
            inclusion_stats, rng,
        )  # fmt: skip
        return
    half = most // 2
    if most % 2 == 1:
        block.nodes[:most] = order[:most]
        n_edges = list_edges(block, n_nodes, most, most, True, True)
        update_block(
            engine, sums, prior, state, block, most, n_edges, 0, 0, NOT_PLANNED, plan,
            inclusion_stats, rng,
        )  # fmt: skip
    n_groups = (n_nodes + half - 1) // half
    for p in range(n_groups - 1):
        block.nodes[:half] = order[p * half : (p + 1) * half]
        for q in range(p + 1, n_groups):
            begin, end = q * half, min((q + 1) * half, n_nodes)
            k = half + end - begin
            block.nodes[half:k] = order[begin:end]
            within_first = q == p + 1
            within_second = within_first and q == n_groups - 1
            n_edges = list_edges(block, n_nodes, k, half, within_first, within_second)
            update_block(
                engine, sums, prior, state, block, k, n_edges, 0 if within_first else half,
                k if within_second else half, NOT_PLANNED if begin == half else NO_FLIPS, plan,
                inclusion_stats, rng,
            )  # fmt: skip


@inner
def collapsed_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng):
    """Run one scheduled sweep, or else a surrogate transition or a sweep over all pairs."""
    if plan.blocks.shape[0] == 0:
        if not surrogate_transition(engine, sums, prior, state, block, rng):
            full_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng)
    else:
        planned_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng)
