"""Sweeps: which blocks of nodes are opened for collapsed updates, and in what order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import generic, inner
from slabfield.kernels.cube import edge_number
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes, relax
from slabfield.likelihood.engine import leave_block, open_block
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.moves import rows
from slabfield.moves.flip import NO_FLIPS, NOT_PLANNED, flip_edges, list_open, shuffle
from slabfield.moves.leap import leap
from slabfield.moves.pair import count_learnt, scale_of, update_biases, update_edges
from slabfield.moves.rare import update_rare


class Plan(NamedTuple):
    """What a sweep does: the blocks that it always updates, and how many more drawn at random.

    With no blocks, a sweep goes over all pairs of nodes. ``covered`` marks the edges that blocks of
    the plan have. ``moves`` lists flips, by the places of their edges in a block; those of block b
    are from ``move_start[b]`` to the next. ``open`` marks the edges that may be flipped besides,
    and ``n_flips`` says how often that is tried in a block. ``together`` lists, for every node, the
    nodes that come into a block with it where a sweep goes over all pairs and edges are flipped.
    """

    blocks: NDArray[np.int64]
    n_random: int
    covered: NDArray[np.bool_]
    moves: NDArray[np.int64]
    move_start: NDArray[np.int64]
    open: NDArray[np.bool_]
    n_flips: int
    together: NDArray[np.int64]


@inner
def list_edges(block, n_nodes, k, split, within_first, within_second):
    """List the edges of a block to be updated: all across its two parts, and within the parts."""
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


@generic
def update_block(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, tally, rng
):
    """Update the listed edges of a block, and the biases of its nodes first to last, once each.

    ``number`` is that of the block in the plan, or else says whether edges are flipped.
    """


@update_block.register(ExactCubes)
@update_block.register(ParticleCubes)
def update_cube(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, tally, rng
):
    """Update a block by the table of its states, all other nodes summed out."""
    open_block(engine, state, block.nodes[:k], block.mass)
    changed = update_edges(sums, prior, state, block, k, n_edges, 1.0, tally, rng)
    n_open = list_open(block.edges, n_edges, plan.open, block.open)
    flipped = flip_edges(sums, prior, state, block, k, n_edges, n_open, number, plan, tally, rng)
    update_biases(sums, prior, state, block, k, first, last, rng)
    if changed or flipped or last > first:
        leave_block(engine, state, block.nodes[:k], block.mass, rng)


@update_block.register(PseudoRows)
def update_rows(
    engine, sums, prior, state, block, k, n_edges, first, last, number, plan, tally, rng
):
    """Update a block by the conditionals of its nodes in every row."""
    scale = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    rows.update_edges(engine, sums, prior, state, block, n_edges, scale, tally, rng)
    n_open = list_open(block.edges, n_edges, plan.open, block.open)
    rows.swap_edges(engine, sums, prior, state, block, n_open, plan.n_flips, scale, rng)
    rows.update_biases(engine, sums, prior, state, block, first, last, rng)


@generic
def n_biased(engine, k):
    """Of how many nodes of a planned block, the first ones, the biases are updated."""


@n_biased.register(ExactCubes)
@n_biased.register(ParticleCubes)
def all_biased(engine, k):
    """All: once there is a table of the block, a bias costs little."""
    return k


@n_biased.register(PseudoRows)
def first_biased(engine, k):
    """One, for each is a pass over the rows; every node comes first in a block of its own."""
    return 1


@generic
def between_blocks(engine, state, number, n_blocks, rng):
    """What happens after the block of that number."""


@between_blocks.register(ExactCubes)
@between_blocks.register(PseudoRows)
def nothing_between(engine, state, number, n_blocks, rng):
    """Nothing: there are no particles."""


@between_blocks.register(ParticleCubes)
def relax_between(engine, state, number, n_blocks, rng):
    """Draw forests of the particles anew, evenly spread over the blocks."""
    before, after = number * engine.n_forests, (number + 1) * engine.n_forests
    for _ in range(after // n_blocks - before // n_blocks):
        relax(engine, state, rng)


@inner
def planned_sweep(engine, sums, prior, state, block, plan, tally, rng):
    """Update the blocks of the plan, blocks of nodes drawn at random, and rare edges one by one.

    Which blocks come does not depend on the state, so each update by itself leaves the posterior
    as it is. Edges that are most likely absent are met in random blocks only, or one by one.
    """
    n_nodes, k = state.bias.size, block.nodes.size
    last = n_biased(engine, k)
    count_learnt(prior.inclusion, state.present, block.counts)
    for m in range(plan.blocks.shape[0]):
        block.nodes[:] = plan.blocks[m]
        n_edges = list_edges(block, n_nodes, k, k, True, True)
        update_block(engine, sums, prior, state, block, k, n_edges, 0, last, m, plan, tally, rng)
        between_blocks(engine, state, m, plan.blocks.shape[0], rng)
    for _ in range(plan.n_random):
        shuffle(block.order, k, rng)
        block.nodes[:] = block.order[:k]
        n_edges = list_edges(block, n_nodes, k, k, True, True)
        update_block(
            engine, sums, prior, state, block, k, n_edges, 0, 0, NOT_PLANNED, plan, tally, rng
        )
    update_rare(engine, sums, prior, state, block, plan, tally, rng)


@inner
def bring_together(order, together):
    """Bring the nodes that go with the first one to the places after it."""
    for m in range(1, together.shape[1]):
        node, place = together[order[0], m], m
        while order[place] != node:
            place += 1
        order[m], order[place] = order[place], order[m]


@inner
def full_sweep(engine, sums, prior, state, block, plan, tally, rng):
    """Update every edge and every bias once, with flips of several, in blocks of nodes.

    The nodes are shuffled and dealt into groups of half a block; every two groups make a block, so
    that every pair of nodes meets. Edges within a group have their turn in one of its blocks. Flips
    are tried in the first block: that of a random node and of those that go with it.
    """
    n_nodes, order, most = state.bias.size, block.order, block.nodes.size
    count_learnt(prior.inclusion, state.present, block.counts)
    shuffle(order, n_nodes, rng)
    bring_together(order, plan.together)
    if n_nodes <= most:
        block.nodes[:n_nodes] = order
        n_edges = list_edges(block, n_nodes, n_nodes, n_nodes, True, True)
        update_block(
            engine, sums, prior, state, block, n_nodes, n_edges, 0, n_nodes, NOT_PLANNED, plan,
            tally, rng,
        )  # fmt: skip
        return
    half = most // 2
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
                tally, rng,
            )  # fmt: skip


@inner
def collapsed_sweep(engine, sums, prior, state, block, plan, tally, rng):
    """One sweep: over all pairs, or a leap in its place; or as planned."""
    if plan.blocks.shape[0] == 0:
        if not leap(engine, sums, prior, state, block, rng):
            full_sweep(engine, sums, prior, state, block, plan, tally, rng)
    else:
        planned_sweep(engine, sums, prior, state, block, plan, tally, rng)
