"""Which blocks of nodes a sweep updates: all pairs where they are few, else the likely ones."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.cube import edge_number
from slabfield.likelihood.cubes import MOST_NODES
from slabfield.models.protocol import Sums
from slabfield.moves.pair import MOST_EDGES, Tally
from slabfield.moves.state import ChainState
from slabfield.moves.sweep import Plan
from slabfield.sampler.rivals import Rivals, rival_blocks
from slabfield.sampler.warmup import Problem

# Nodes of a block on particles
PARTICLE_BLOCK = MOST_NODES
# Up to this many nodes a sweep goes over all pairs
FULL_NODES = 24
# and where that is cheap, on the rows of the data
FULL_NODES_ON_ROWS = 64
# Likely edges that a plan looks after, a node; the others are met in random blocks
EDGES_PER_NODE = 4
LIKELY = 0.02
# On rows, random blocks, as a share of the others; every pair is met once in RAREST sweeps, or more
# often
RANDOM_SHARE = 0.6
RAREST = 40
# Edges closer than this to certain are not flipped, unless it was seen that they can be: flips
# whose chances, in the last part of warm-up, added up to SEEN are planned, where they had most
DECIDED, SEEN = 0.02, 0.2
# Room to list flips, a node
FLIPS_PER_NODE = 200
# Flips tried in a block; while it is seen which can be; besides those planned, or before; and at
# most, where a sweep goes over all pairs
N_FLIPS, WATCHED_FLIPS, MORE_FLIPS, MOST_FLIPS = 8, 16, 2, 30
# Flips of unlike edges wanted where a sweep goes over all pairs: in a sweep, and on rows in a block
FLIPS_A_SWEEP, FLIPS_A_BLOCK = 0.5, 2.0

Flip = tuple[int, tuple[int, ...]]
"""A flip that is planned: the number of a block, and the places of edges in it."""

PLACES = [(low, high) for high in range(PARTICLE_BLOCK) for low in range(high)]
"""Nodes of a block that the edge at each place is between, by their places."""


def no_plan(k: int, sums: Sums, ends: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Plan:
    """Return the plan of going over all pairs, all of them open.

    A node goes with those that it is correlated with most in the data: their edges are what may
    stand for each other.
    """
    score = screen(sums, ends)
    every = np.ones(score.size, np.bool_)
    blocks = np.zeros((0, k), np.int64)
    moves = list_moves([], len(blocks))
    return Plan(blocks, 0, every, *moves, every, N_FLIPS, most_tied(score, ends, sums.bias.size, k))


def most_tied(
    score: NDArray[np.float64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
) -> NDArray[np.int64]:
    """List for every node itself and the k - 1 others that have the highest scores with it."""
    ties = np.full((n_nodes, n_nodes), np.inf)
    ties[ends] = score
    ties.T[ends] = score
    return np.ascontiguousarray(np.argsort(-ties, axis=1, kind="stable")[:, :k])


def flips_worth(chance: NDArray[np.float64], wanted: float) -> int:
    """Flips to try so that in about so many of them some of two edges are present and some not."""
    density = float(np.mean(chance))
    mixed = max(2 * density * (1 - density), 1e-9)
    return int(np.clip(round(wanted / mixed), 1, MOST_FLIPS))


def screen(sums: Sums, ends: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
    """Squared correlation of every pair in the data, times rows: what a first plan goes by."""
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    first, second = ends
    joint = sums.coupling / sums.n_rows - mean[first] * mean[second]
    spread = mean * (1 - mean)
    score: NDArray[np.float64] = sums.n_rows * joint**2 / (spread[first] * spread[second])
    return score


def make_plan(
    worth: NDArray[np.float64],
    chance: NDArray[np.float64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
) -> Plan:
    """Cover the most promising edges by blocks of k nodes; others are met in random blocks.

    Parameters
    ----------
    worth : array (n_edges,)
        By what edges are ranked.
    chance : array (n_edges,)
        Estimates of inclusion probabilities; all edges of at least ``LIKELY`` are covered.
    """
    most = min(EDGES_PER_NODE * n_nodes, worth.size)
    chosen = np.union1d(np.argpartition(-worth, most - 1)[:most], np.flatnonzero(chance >= LIKELY))
    chosen = chosen[np.argsort(-worth[chosen], kind="stable")]
    first, second = ends[0][chosen], ends[1][chosen]
    stars = star_blocks(first, second, n_nodes, k, k - 1)
    left = ~covered_by(stars, n_nodes, worth.size)[chosen]
    blocks = np.concatenate([stars, cover(first[left], second[left], n_nodes, k)])
    edges_per_block = k * (k - 1) // 2
    n_random = max(int(RANDOM_SHARE * len(blocks)), worth.size // (edges_per_block * RAREST))
    covered = covered_by(blocks, n_nodes, worth.size)
    moves = list_moves([], len(blocks))
    return Plan(blocks, n_random, covered, *moves, undecided(chance), N_FLIPS, blocks[:0])


def plan_for_particles(
    score: NDArray[np.float64],
    chance: NDArray[np.float64],
    present: NDArray[np.integer],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
    rivals: Sequence[Rivals] = (),
) -> Plan:
    """Cover all likely edges by blocks, undecided ones with what they depend on; others are rare.

    Every node has a block, with those of its edges that are most undecided, and the nodes that are
    tied most to these. Rivals are brought into one block, and flips of both are planned there. All
    edges are open, so that it can be seen which other flips have a chance.

    Parameters
    ----------
    score : array (n_edges,)
        Squared correlations, as :func:`screen` has them.
    chance : array (n_edges,)
        Estimates of inclusion probabilities.
    present : array of int
        Edges that are present now.
    rivals : sequence of Rivals
        Edges that change together, as :func:`slabfield.sampler.rivals.find_rivals` has them.
    """
    chosen = np.flatnonzero(undecided(chance))
    chosen = chosen[np.argsort(-(chance * (1 - chance))[chosen], kind="stable")]
    first, second = ends[0][chosen], ends[1][chosen]
    ties = np.zeros((n_nodes, n_nodes), np.float32)
    i, j = ends[0][present], ends[1][present]
    ties[i, j] = ties[j, i] = score[present]
    stars = star_blocks(first, second, n_nodes, k, k // 2, ties)
    # edges that are there for certain too: one by one, each would have its surroundings seen anew
    left = (chance >= DECIDED) & ~covered_by(stars, n_nodes, chance.size)
    blocks = np.concatenate([stars, cover(ends[0][left], ends[1][left], n_nodes, k)])
    blocks = np.concatenate([blocks, rival_blocks(list(rivals), blocks, n_nodes, k)])
    # blocks in a row should have little in common: particles catch up while others have their turn
    blocks = blocks[np.random.default_rng(0).permutation(len(blocks))]
    every = np.ones(chance.size, np.bool_)
    covered = covered_by(blocks, n_nodes, chance.size)
    moves = list_moves(flips_of(rivals, blocks), len(blocks))
    return Plan(blocks, 0, covered, *moves, every, MORE_FLIPS, blocks[:0])


def planned(problem: Problem, tally: Tally, k: int) -> Plan:
    """Return a plan by what was seen of every edge, or else by its correlation in the data."""
    model = problem.model
    chance = tally.mean_chance
    score = screen(problem.sums, model.ends)
    worth = np.where(tally.visits > 0, chance * (1 - chance), score / (1e3 + score))
    worth = np.maximum(worth, 1e-3 * chance)
    return make_plan(worth, chance, model.ends, model.n_nodes, k)


def planned_for_particles(
    problem: Problem, tally: Tally, k: int, state: ChainState, rivals: Sequence[Rivals] = ()
) -> Plan:
    """Return a plan by what was seen of every edge, and by what is present."""
    model = problem.model
    score = screen(problem.sums, model.ends)
    present = state.members[: state.n_members[0]]
    chance = tally.mean_chance
    return plan_for_particles(score, chance, present, model.ends, model.n_nodes, k, rivals)


def flips_of(rivals: Sequence[Rivals], blocks: NDArray[np.int64]) -> list[Flip]:
    """Flips of rivals, all edges at once, each in the first block that has all their nodes."""
    flips = []
    for edges, nodes in rivals:
        number = int(np.argmax(np.isin(blocks, list(nodes)).sum(axis=1) == len(nodes)))
        block = blocks[number].tolist()
        at = [sorted((block.index(i), block.index(j))) for i, j in edges]
        flips.append((number, tuple(sorted(high * (high - 1) // 2 + low for low, high in at))))
    return flips


def edges_of(flip: Flip, blocks: NDArray[np.int64]) -> frozenset[tuple[int, int]]:
    """Return the edges of a flip, by their nodes."""
    number, places = flip
    block = blocks[number].tolist()
    at = [PLACES[place] for place in places]
    return frozenset((min(block[a], block[b]), max(block[a], block[b])) for a, b in at)


def list_moves(flips: Iterable[Flip], n_blocks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List planned flips in the order of their blocks; return where those of each block begin."""
    moves = sorted(flips)
    listed = np.full((len(moves), MOST_EDGES), -1, np.int64)
    for row, (_, places) in zip(listed, moves, strict=True):
        row[: len(places)] = places
    start = np.searchsorted([number for number, _ in moves], np.arange(n_blocks + 1))
    return listed, start.astype(np.int64)


def with_moves(plan: Plan, tally: Tally) -> Plan:
    """Return the plan with the flips that had a chance, each in the block where it had most.

    Those that it has already stay, whether or not they were seen to have one. What else is tried is
    among edges that are undecided by themselves.
    """
    blocks = plan.blocks
    n = min(int(tally.n_flips[0]), tally.flip_chance.size)
    seen: dict[frozenset[tuple[int, int]], dict[Flip, float]] = {}
    for (number, *places), chance in zip(
        tally.flips[:n].tolist(), tally.flip_chance[:n].tolist(), strict=True
    ):
        flip = number, tuple(sorted(p for p in places if p >= 0))
        where = seen.setdefault(edges_of(flip, blocks), {})
        where[flip] = where.get(flip, 0.0) + chance
    owner = np.repeat(np.arange(len(blocks)), np.diff(plan.move_start))
    flips = {
        edges_of(flip, blocks): flip
        for number, places in zip(owner.tolist(), plan.moves.tolist(), strict=True)
        for flip in ((number, tuple(p for p in places if p >= 0)),)
    }
    for edges, where in seen.items():
        if edges in flips or sum(where.values()) >= SEEN:
            flips[edges] = min(where, key=lambda flip: (-where[flip], flip))
    moves, start = list_moves(flips.values(), len(blocks))
    settled = undecided(tally.mean_chance)
    return plan._replace(moves=moves, move_start=start, open=settled, n_flips=MORE_FLIPS)


def undecided(chance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the edges that are not close to certain."""
    return (chance >= DECIDED) & (chance <= 1 - DECIDED)


def covered_by(blocks: NDArray[np.int64], n_nodes: int, n_edges: int) -> NDArray[np.bool_]:
    """Mark the edges that blocks have."""
    covered = np.zeros(n_edges, np.bool_)
    ordered = np.sort(blocks, axis=1)
    for high in range(ordered.shape[1]):
        for low in range(high):
            covered[edge_number.py_func(n_nodes, ordered[:, low], ordered[:, high])] = True
    return covered


def star_blocks(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    n_nodes: int,
    k: int,
    n_own: int,
    ties: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    """One block a node: itself, other ends of its ``n_own`` most promising edges, and what fits.

    Edges come most promising first. Those that share a node stand in for each other most often, and
    can be exchanged only within a block. What fits best is, with ``ties``, what is tied most to the
    nodes that are there, then further promising neighbours, then theirs.
    """
    near: list[list[int]] = [[] for _ in range(n_nodes)]
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        near[i].append(j)
        near[j].append(i)
    blocks = np.zeros((n_nodes, k), np.int64)
    for i in range(n_nodes):
        block = [i, *near[i][:n_own]]
        while ties is not None and len(block) < k:
            tied = ties[block].sum(axis=0)
            tied[block] = 0.0
            best = int(np.argmax(tied))
            if tied[best] <= 0.0:
                break
            block.append(best)
        further = (c for b in near[i] for c in near[b])
        for c in (*near[i], *further, *range(n_nodes)):
            if len(block) == k:
                break
            if c not in block:
                block.append(c)
        blocks[i] = block
    return blocks


def cover(
    first: NDArray[np.int64], second: NDArray[np.int64], n_nodes: int, k: int
) -> NDArray[np.int64]:
    """Blocks of k nodes such that every given edge lies within one.

    Greedy: a block starts at the node with most edges left, and grows by the node that has most
    edges left into it.
    """
    left: list[set[int]] = [set() for _ in range(n_nodes)]
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        left[i].add(j)
        left[j].add(i)
    queue = [(-len(left[i]), i) for i in range(n_nodes)]
    heapq.heapify(queue)
    blocks: list[list[int]] = []
    while queue:
        size, start = heapq.heappop(queue)
        if -size != len(left[start]):
            heapq.heappush(queue, (-len(left[start]), start))
            continue
        if size == 0:
            break
        block = [start]
        while len(block) < k:
            ties: dict[int, int] = {}
            for i in block:
                for j in left[i]:
                    if j not in block:
                        ties[j] = ties.get(j, 0) + 1
            if ties:
                block.append(max(ties, key=lambda j: (ties[j], len(left[j]))))
            else:
                block.append(next_node(queue, block, n_nodes))
        for a in block:
            left[a].difference_update(block)
        if left[start]:
            heapq.heappush(queue, (-len(left[start]), start))
        blocks.append(block)
    return np.array(blocks, dtype=np.int64).reshape(len(blocks), k)


def next_node(queue: list[tuple[int, int]], block: list[int], n_nodes: int) -> int:
    """Node to fill a block up with: one still in the queue, or else any that is not in it."""
    for _, i in queue[: 2 * len(block) + 2]:
        if i not in block:
            return i
    return next(i for i in range(n_nodes) if i not in block)
