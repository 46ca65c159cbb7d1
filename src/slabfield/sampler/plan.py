"""Which blocks of nodes a sweep updates: all pairs where they are few, else the likely ones."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.cube import edge_number
from slabfield.models.protocol import Sums
from slabfield.moves.sweep import Plan

# Up to this many nodes a sweep goes over all pairs
FULL_NODES = 24
# and where that is cheap, on the rows of the data
FULL_NODES_ON_ROWS = 64
# Likely edges that a plan looks after, a node; the others are met in random blocks
EDGES_PER_NODE = 4
LIKELY = 0.02
# Edges that are there and certain are worth as much as others of this probability
CERTAIN = 0.01
# On rows, random blocks, as a share of the others; every pair is met once in RAREST sweeps, or more
# often
RANDOM_SHARE = 0.6
RAREST = 40
# Edges closer than this to certain are not flipped, unless it was seen that they can be together
# with others: that the chances of such flips add up to SEEN
DECIDED, SEEN = 0.02, 0.05
# Edges are rivals where their log-likelihoods, each alone, differ by no more than this, and where
# what their other ends have in common is this large a share of the larger
MOST_APART, LEAST_SHARED = 10.0, 0.5
RIVALS_PER_NODE = 2
# Flips tried in a block; while it is seen which can be; and at most, where a sweep goes over all
# pairs
N_FLIPS, FIRST_FLIPS, MOST_FLIPS = 8, 16, 30


def no_plan(k: int, n_edges: int) -> Plan:
    """Return the plan of going over all pairs, all of them open."""
    every = np.ones(n_edges, np.bool_)
    return Plan(np.zeros((0, k), np.int64), 0, every, every, N_FLIPS)


def flips_worth(chance: NDArray[np.float64]) -> int:
    """Flips to try in a block so that in about two of them some edges are present and some not."""
    density = float(np.mean(chance))
    mixed = max(2 * density * (1 - density), 1e-9)
    return int(np.clip(round(2 / mixed), 2, MOST_FLIPS))


def screen(sums: Sums, ends: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
    """Squared correlation of every pair in the data, times rows: what a first plan goes by."""
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    first, second = ends
    joint = sums.coupling / sums.n_rows - mean[first] * mean[second]
    spread = mean * (1 - mean)
    score: NDArray[np.float64] = sums.n_rows * joint**2 / (spread[first] * spread[second])
    return score


def find_rivals(
    score: NDArray[np.float64],
    present: NDArray[np.int64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
) -> NDArray[np.int64]:
    """Find pairs of edges of which one may stand for the other, the most likely to do so first.

    Two edges that share a node explain the same data where their other ends go together. While one
    is there the other has hardly a chance, and looks decided. What gives such a pair away is that
    each alone would explain the data almost as well.

    Parameters
    ----------
    score : array (n_edges,)
        Squared correlations times rows, as :func:`screen` has them: about twice what an edge alone
        adds to the log-likelihood.
    present : array of int
        Edges that are present now.

    Returns
    -------
    array (n_rivals, 3)
        The node that the two share, the other end of the one that is there, and of the one that is
        not.
    """
    first, second = ends
    square = np.zeros((n_nodes, n_nodes))
    square[first, second] = square[second, first] = score
    there = np.zeros((n_nodes, n_nodes), np.bool_)
    there[first[present], second[present]] = there[second[present], first[present]] = True
    nodes, apart = [np.zeros((0, 3), np.int64)], [np.zeros(0)]
    for i in range(n_nodes):
        mine, others = np.flatnonzero(there[i]), np.flatnonzero(~there[i])
        others = others[others != i]
        one, other = square[i, mine][:, None], square[i, others][None, :]
        loss = np.maximum(0.5 * (one - other), 0.0)
        shared = square[np.ix_(mine, others)] >= LEAST_SHARED * np.maximum(one, other)
        j, k = np.nonzero(shared & (loss <= MOST_APART))
        nodes.append(np.column_stack([np.full(j.size, i), mine[j], others[k]]))
        apart.append(loss[j, k])
    every, how = np.concatenate(nodes), np.concatenate(apart)
    return every[np.argsort(how, kind="stable")[: RIVALS_PER_NODE * n_nodes]]


def rival_blocks(
    rivals: NDArray[np.int64], blocks: NDArray[np.int64], n_nodes: int, k: int
) -> NDArray[np.int64]:
    """Blocks for those pairs of rivals that no block has together.

    A block is filled up with the others that go with the node that two edges share.
    """
    with_node: list[set[int]] = [set() for _ in range(n_nodes)]
    for b, block in enumerate(blocks.tolist()):
        for i in block:
            with_node[i].add(b)
    wanted: dict[int, list[list[int]]] = {}
    for i, *ends in rivals.tolist():
        if with_node[i] & with_node[ends[0]] & with_node[ends[1]]:
            continue
        groups = wanted.setdefault(i, [])
        for group in groups:
            if len({*group, *ends}) < k:
                group += [j for j in ends if j not in group]
                break
        else:
            groups.append(ends)
    found = []
    for i, groups in wanted.items():
        for group in groups:
            block = [i, *group]
            block += [n for n in blocks[i].tolist() if n not in block][: k - len(block)]
            block += [n for n in range(n_nodes) if n not in block][: k - len(block)]
            found.append(block)
    return np.array(found, dtype=np.int64).reshape(len(found), k)


def make_plan(
    worth: NDArray[np.float64],
    chance: NDArray[np.float64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
    rivals: NDArray[np.int64] | None = None,
) -> Plan:
    """Cover the most promising edges by blocks of k nodes.

    Parameters
    ----------
    worth : array (n_edges,)
        By what edges are ranked.
    chance : array (n_edges,)
        Estimates of inclusion probabilities; all edges of at least ``LIKELY`` are covered.
    rivals : array (n_rivals, 3), optional
        Pairs of edges that are to be in one block, for particles: other edges are then rare and
        looked at one by one, else they are met in blocks drawn at random.
    """
    most = min(EDGES_PER_NODE * n_nodes, worth.size)
    chosen = np.union1d(np.argpartition(-worth, most - 1)[:most], np.flatnonzero(chance >= LIKELY))
    chosen = chosen[np.argsort(-worth[chosen], kind="stable")]
    first, second = ends[0][chosen], ends[1][chosen]
    stars, left = star_blocks(first, second, n_nodes, k)
    rest = cover(first[left], second[left], n_nodes, k)
    blocks = np.concatenate([stars, rest])
    edges_per_block = k * (k - 1) // 2
    n_random = max(int(RANDOM_SHARE * len(blocks)), worth.size // (edges_per_block * RAREST))
    if rivals is not None:
        blocks = np.concatenate([blocks, rival_blocks(rivals, blocks, n_nodes, k)])
        n_random = 0
    return Plan(
        blocks, n_random, covered_by(blocks, n_nodes, worth.size), undecided(chance), N_FLIPS
    )


def all_open(plan: Plan) -> Plan:
    """Return the plan with all edges open, and more flips: to see which of them can be."""
    return plan._replace(open=np.ones_like(plan.open), n_flips=FIRST_FLIPS)


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
    first: NDArray[np.int64], second: NDArray[np.int64], n_nodes: int, k: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """One block a node: itself and its k - 1 most promising neighbours; and the edges left out.

    Edges come most promising first. Those that share a node stand in for each other most often,
    and can be exchanged only within a block. A node with fewer neighbours takes theirs too.
    """
    near: list[list[int]] = [[] for _ in range(n_nodes)]
    left = np.zeros(first.size, np.bool_)
    for m, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        taken = False
        for a, b in ((i, j), (j, i)):
            if len(near[a]) < k - 1:
                near[a].append(b)
                taken = True
        left[m] = not taken
    blocks = np.zeros((n_nodes, k), np.int64)
    for i in range(n_nodes):
        block = [i, *near[i]]
        further = (c for b in near[i] for c in near[b])
        for c in (*further, *range(n_nodes)):
            if len(block) == k:
                break
            if c not in block:
                block.append(c)
        blocks[i] = block
    return blocks, left


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
