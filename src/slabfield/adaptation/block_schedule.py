"""The schedule of blocks of a sweep: all pairs in small fields, else blocks of likely edges."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slabfield.adaptation.associations import association
from slabfield.adaptation.edge_swaps import SwapCandidate, swap_blocks
from slabfield.likelihood.blocks import MOST_NODES
from slabfield.models.interactions import Interactions
from slabfield.moves.block_sweep import Plan
from slabfield.moves.edge_gibbs import MOST_EDGES, InclusionStats
from slabfield.problem import Problem

# Nodes of a block with particles
PARTICLE_BLOCK = MOST_NODES
# Nodes up to which a sweep visits all pairs
FULL_NODES = 24
# The same with the pseudo-likelihood, where a pair costs less
FULL_NODES_ON_ROWS = 64
# Edges per node that planned blocks cover; random blocks visit the others
EDGES_PER_NODE = 4
# Inclusion probability from which planned blocks cover an edge in any case
LIKELY = 0.02
# With the pseudo-likelihood: number of random blocks as a share of the planned ones
RANDOM_SHARE = 0.6
# With the pseudo-likelihood: random blocks visit every pair about once in this many sweeps
SWEEPS_PER_VISIT = 40
# Edges are decided where their inclusion probability is this close to 0 or 1
DECIDED = 0.02
# Single updates mix an undecided edge if its variance given all other edges is at least this share
# of its variance; flips are for other edges
LEAST_CONDITIONAL_SHARE = 0.5
# A flip is scheduled if its acceptance probabilities add up to this in the last warm-up stage
LEAST_ACCEPTANCE_SUM = 0.2
# Flips per node that the recording buffer holds
FLIPS_PER_NODE = 200
# Random flips per block before flips are scheduled
N_FLIPS = 8
# Random flips per block while scouting in the last warm-up stage
SCOUTING_FLIPS = 16
# Random flips per block on top of the scheduled ones
EXTRA_FLIPS = 2
# Upper bound of random flips per block in sweeps over all pairs
MOST_FLIPS = 30
# Flips of a present with an absent edge wanted per sweep over all pairs
MIXED_FLIPS_PER_SWEEP = 0.5
# The same per block, with the pseudo-likelihood
MIXED_FLIPS_PER_BLOCK = 2.0

Flip = tuple[int, tuple[int, ...]]
"""A scheduled flip: the index of a block, and the positions of the edges in it."""

PLACES = [(low, high) for high in range(PARTICLE_BLOCK) for low in range(high)]
"""Positions, within a block, of the two nodes of the edge at each position."""


def all_pairs_plan(k: int, problem: Problem) -> Plan:
    """Return the plan of a sweep over all pairs, in which every edge may be flipped.

    Each node is grouped with the nodes most correlated with it in the data, since their edges are
    the ones that may substitute for each other.
    """
    model = problem.model
    score = association(model, problem)
    every = np.ones(score.size, np.bool_)
    blocks = np.zeros((0, k), np.int64)
    moves, together = list_moves([], len(blocks)), most_tied(score, model.ends, model.n_nodes, k)
    return Plan(blocks, 0, every, *moves, every, N_FLIPS, together)


def most_tied(
    score: NDArray[np.float64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
) -> NDArray[np.int64]:
    """List, for every node, itself and the k - 1 nodes with the highest scores with it."""
    ties = np.full((n_nodes, n_nodes), np.inf)
    ties[ends] = score
    ties.T[ends] = score
    return np.ascontiguousarray(np.argsort(-ties, axis=1, kind="stable")[:, :k])


def flips_needed(probability: NDArray[np.float64], wanted: float) -> int:
    """Number of random flips of which about ``wanted`` have a present and an absent edge."""
    density = float(np.mean(probability))
    mixed = max(2 * density * (1 - density), 1e-9)
    return int(np.clip(round(wanted / mixed), 1, MOST_FLIPS))


def make_plan(
    priority: NDArray[np.float64],
    probability: NDArray[np.float64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
) -> Plan:
    """Cover the edges of highest priority by blocks of k nodes; random blocks visit the others.

    Parameters
    ----------
    priority : array (n_edges,)
        Rank of the edges, highest first.
    probability : array (n_edges,)
        Estimates of inclusion probabilities; all edges of at least ``LIKELY`` are covered.
    """
    most = min(EDGES_PER_NODE * n_nodes, priority.size)
    chosen = np.union1d(
        np.argpartition(-priority, most - 1)[:most], np.flatnonzero(probability >= LIKELY)
    )
    chosen = chosen[np.argsort(-priority[chosen], kind="stable")]
    first, second = ends[0][chosen], ends[1][chosen]
    stars = star_blocks(first, second, n_nodes, k, k - 1)
    left = ~covered_by(stars, n_nodes, priority.size)[chosen]
    blocks = np.concatenate([stars, cover(first[left], second[left], n_nodes, k)])
    edges_per_block = k * (k - 1) // 2
    n_random = max(
        int(RANDOM_SHARE * len(blocks)), priority.size // (edges_per_block * SWEEPS_PER_VISIT)
    )
    covered = covered_by(blocks, n_nodes, priority.size)
    moves = list_moves([], len(blocks))
    return Plan(blocks, n_random, covered, *moves, undecided(probability), N_FLIPS, blocks[:0])


def plan_for_particles(
    score: NDArray[np.float64],
    probability: NDArray[np.float64],
    present: NDArray[np.integer],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_nodes: int,
    k: int,
    swaps: Sequence[SwapCandidate] = (),
    mixed: NDArray[np.bool_] | None = None,
) -> Plan:
    """Cover all likely edges by blocks, and undecided edges together with the nodes they depend on.

    Every node has a block with its most undecided edges and the nodes most strongly tied to these.
    The edges of a swap are put into one block, where their joint flip is scheduled. All edges but
    those that single updates mix may be flipped, so that warm-up finds out which other flips are
    likely.

    Parameters
    ----------
    score : array (n_edges,)
        Squared correlations from :func:`slabfield.adaptation.associations.association`.
    probability : array (n_edges,)
        Estimates of inclusion probabilities.
    present : array of int
        Edges that are present now.
    swaps : sequence of SwapCandidate
        Edges that change together, from :func:`slabfield.adaptation.edge_swaps.find_swaps`.
    mixed : array of bool, optional
        Edges that single updates mix; None if that is not known.
    """
    chosen = np.flatnonzero(undecided(probability))
    chosen = chosen[np.argsort(-(probability * (1 - probability))[chosen], kind="stable")]
    first, second = ends[0][chosen], ends[1][chosen]
    ties = np.zeros((n_nodes, n_nodes), np.float32)
    i, j = ends[0][present], ends[1][present]
    ties[i, j] = ties[j, i] = score[present]
    stars = star_blocks(first, second, n_nodes, k, k // 2, ties)
    # certain edges too: updated one by one, each would need a block table of its own
    left = (probability >= DECIDED) & ~covered_by(stars, n_nodes, probability.size)
    blocks = np.concatenate([stars, cover(ends[0][left], ends[1][left], n_nodes, k)])
    swaps = [swap for swap in swaps if len(swap.nodes) <= k]
    blocks = np.concatenate([blocks, swap_blocks(swaps, blocks, n_nodes, k)])
    # successive blocks should share few nodes: particles catch up while others are updated
    blocks = blocks[np.random.default_rng(0).permutation(len(blocks))]
    flippable = np.ones(probability.size, np.bool_) if mixed is None else ~mixed
    covered = covered_by(blocks, n_nodes, probability.size)
    moves = list_moves(flips_of(swaps, blocks), len(blocks))
    return Plan(blocks, 0, covered, *moves, flippable, EXTRA_FLIPS, blocks[:0])


def planned(problem: Problem, inclusion_stats: InclusionStats, k: int) -> Plan:
    """Return a plan from the statistics of visited edges and the correlations of the others."""
    model = problem.model
    probability = inclusion_stats.mean_probability
    score = association(model, problem)
    priority = np.where(
        inclusion_stats.visits > 0, probability * (1 - probability), score / (1e3 + score)
    )
    priority = np.maximum(priority, 1e-3 * probability)
    return make_plan(priority, probability, model.ends, model.n_nodes, k)


def planned_for_particles(
    problem: Problem,
    inclusion_stats: InclusionStats,
    k: int,
    present: NDArray[np.integer],
    swaps: Sequence[SwapCandidate] = (),
) -> Plan:
    """Return a plan from the inclusion statistics and the edges that are present."""
    model = problem.model
    score = association(model, problem)
    probability = inclusion_stats.mean_probability
    return plan_for_particles(
        score, probability, present, model.ends, model.n_nodes, k, swaps, mixed(inclusion_stats)
    )


def flips_of(swaps: Sequence[SwapCandidate], blocks: NDArray[np.int64]) -> list[Flip]:
    """Flips of all edges of a swap at once, each in the first block with all its nodes."""
    flips = []
    for edges, nodes in swaps:
        number = int(np.argmax(np.isin(blocks, list(nodes)).sum(axis=1) == len(nodes)))
        block = blocks[number].tolist()
        at = [sorted((block.index(i), block.index(j))) for i, j in edges]
        flips.append((number, tuple(sorted(high * (high - 1) // 2 + low for low, high in at))))
    return flips


def edges_of(flip: Flip, blocks: NDArray[np.int64]) -> frozenset[tuple[int, int]]:
    """Return the edges of a flip as pairs of nodes."""
    number, places = flip
    block = blocks[number].tolist()
    at = [PLACES[place] for place in places]
    return frozenset((min(block[a], block[b]), max(block[a], block[b])) for a, b in at)


def list_moves(flips: Iterable[Flip], n_blocks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List scheduled flips in the order of their blocks, and where those of each block start."""
    moves = sorted(flips)
    listed = np.full((len(moves), MOST_EDGES), -1, np.int64)
    for row, (_, places) in zip(listed, moves, strict=True):
        row[: len(places)] = places
    start = np.searchsorted([number for number, _ in moves], np.arange(n_blocks + 1))
    return listed, start.astype(np.int64)


def with_moves(plan: Plan, inclusion_stats: InclusionStats, n_nodes: int) -> Plan:
    """Schedule the recorded flips of sufficient acceptance probability, each in its best block.

    Not those of edges that single updates mix. Flips that the plan has already stay. Random flips
    are then restricted to undecided edges that need them.
    """
    blocks, well_mixed = plan.blocks, mixed(inclusion_stats)
    pairs = Interactions.pairs(n_nodes)
    n = min(int(inclusion_stats.n_flips[0]), inclusion_stats.flip_probability.size)
    recorded: dict[frozenset[tuple[int, int]], dict[Flip, float]] = {}
    for (number, *places), probability in zip(
        inclusion_stats.flips[:n].tolist(),
        inclusion_stats.flip_probability[:n].tolist(),
        strict=True,
    ):
        flip = number, tuple(sorted(p for p in places if p >= 0))
        where = recorded.setdefault(edges_of(flip, blocks), {})
        where[flip] = where.get(flip, 0.0) + probability
    owner = np.repeat(np.arange(len(blocks)), np.diff(plan.move_start))
    flips = {
        edges_of(flip, blocks): flip
        for number, places in zip(owner.tolist(), plan.moves.tolist(), strict=True)
        for flip in ((number, tuple(p for p in places if p >= 0)),)
    }
    for edges, where in recorded.items():
        if edges not in flips and all(well_mixed[pairs.find(i, j)] for i, j in edges):
            continue
        if edges in flips or sum(where.values()) >= LEAST_ACCEPTANCE_SUM:
            flips[edges] = min(where, key=lambda flip: (-where[flip], flip))
    moves, start = list_moves(flips.values(), len(blocks))
    free = undecided(inclusion_stats.mean_probability) & ~well_mixed
    return plan._replace(moves=moves, move_start=start, undecided=free, n_flips=EXTRA_FLIPS)


def mixed(inclusion_stats: InclusionStats) -> NDArray[np.bool_]:
    """Mark the undecided edges that single updates mix.

    The variance of an edge's presence is its mean variance given all other edges plus that of its
    conditional probability. Where the first is a large share, the edge forgets its state at every
    visit; where it is small, the edge hangs on others.
    """
    probability = inclusion_stats.mean_probability
    least = LEAST_CONDITIONAL_SHARE * probability * (1 - probability)
    return undecided(probability) & (inclusion_stats.conditional_variance >= least)


def all_mixed(inclusion_stats: InclusionStats) -> bool:
    """Whether single updates mix every undecided edge."""
    of_edges = mixed(inclusion_stats) | ~undecided(inclusion_stats.mean_probability)
    return bool(of_edges.all())


def undecided(probability: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the edges whose inclusion probability is not close to 0 or 1."""
    return (probability >= DECIDED) & (probability <= 1 - DECIDED)


def covered_by(blocks: NDArray[np.int64], n_nodes: int, n_edges: int) -> NDArray[np.bool_]:
    """Mark the edges that lie within a block."""
    covered = np.zeros(n_edges, np.bool_)
    pairs = Interactions.pairs(n_nodes)
    for high in range(blocks.shape[1]):
        for low in range(high):
            covered[pairs.find(blocks[:, low], blocks[:, high])] = True
    return covered


def star_blocks(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    n_nodes: int,
    k: int,
    n_own: int,
    ties: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    """Return one block per node: the node, the ends of its first ``n_own`` edges, and fillers.

    Edges are sorted by priority. Edges that share a node substitute for each other most often, and
    can be exchanged only within a block. The fillers are the nodes most strongly tied to the block
    (where ``ties`` are given), then further neighbors of the node, then their neighbors.
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
    """Return blocks of k nodes such that every given edge lies within one.

    Greedy: a block starts at the node with the most uncovered edges, and grows by the node with the
    most uncovered edges into it.
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
    """Return a node to fill up a block: one in the queue, or else any that is not in the block."""
    for _, i in queue[: 2 * len(block) + 2]:
        if i not in block:
            return i
    return next(i for i in range(n_nodes) if i not in block)
