r"""Sets of edges that substitute for each other, found from the data and the current field.

If nodes i and j are strongly correlated, edges i - k and j - k explain the same association. Either
one substitutes for the other, so that each looks decided while the other is present; or neither
matters alone, but both do together. If k and l are correlated too, i - k and j - l may substitute
for i - l and j - k. And while j - k stays present, i - k may be able to appear or disappear only if
the coupling of j - k changes with it. If one of a group of nodes is 1 in every row, as in one-hot
codes, a constant added to all couplings of the group with k only moves the bias of k, so that the
edges that are present may give way to those that are absent. For each set the log-likelihood is
approximated by a quadratic about the field without these edges, which gives the log odds of every
subset (equation 26).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.adaptation.associations import particle_scores, score_covariance
from slabfield.moves.chain_state import ChainState
from slabfield.moves.edge_gibbs import MOST_EDGES
from slabfield.moves.iteration import advance_engine
from slabfield.problem import Problem

Array = NDArray[np.floating]
Integers = NDArray[np.int64]
Edges = tuple[tuple[int, int], ...]


class SwapCandidate(NamedTuple):
    """Edges that change together, and their nodes and those of couplings that follow."""

    edges: Edges
    nodes: tuple[int, ...]


ScoredSwap = tuple[float, SwapCandidate]
"""The log odds that a swap loses, and the swap."""


# Absolute correlation from which two nodes are tied
LEAST_TIE = 0.3
# Ties per node, at most, unless other nodes add to them
MOST_TIES = 30
# Log odds that a swap may lose if some of its edges are present
MOST_LOSS = 9.0
# Log odds that a swap may lose if none of its edges is present
MOST_LOSS_ABSENT = 7.0
# Log odds by which all other subsets must be below the likelier end of a swap
LEAST_BARRIER = 2.0
# Nodes of a group of which one is 1 in every row: its edges with another node fit into a block
MOST_GROUPED = MOST_EDGES
# Share of the rows in which one node of such a group is 1, at least
LEAST_COVERED = 0.95
# Swaps kept per node: this many of one edge, and as many of several edges
SWAPS_PER_NODE = 2
# States of the chain in which swaps are searched
SEARCH_STATES = 8
# Number of these states in which a swap must be found
LEAST_FOUND = 2
# Gibbs sweeps of the particles that estimate covariances
COVARIANCE_SWEEPS = 32
# Sweeps from one sample of the particles to the next
SWEEPS_PER_SAMPLE = 4


class SwapContext(NamedTuple):
    """Covariance of the data, gradient, couplings and ties as (D, D) matrices, and the prior.

    ``groups`` lists the groups of nodes of which one is 1 in nearly every row.
    """

    n_rows: float
    covariance: Array
    gradient: Array
    coupling: Array
    tied: NDArray[np.bool_]
    groups: list[tuple[int, ...]]
    prior_odds: float
    slab: float


def field_covariance(engine: Any, state: ChainState, rng: np.random.Generator) -> Array:
    """Estimate the covariances of all scores under the state's field from swept particles."""
    d, n_particles = engine.states.shape
    joint, mean = np.zeros((d, d), np.float32), np.zeros(d, np.float32)
    for sweep in range(COVARIANCE_SWEEPS):
        advance_engine(engine, state, rng)
        if sweep % SWEEPS_PER_SAMPLE == SWEEPS_PER_SAMPLE - 1:
            single = particle_scores(engine)
            joint += (single @ single.T) / n_particles
            mean += single.mean(axis=1)
    n = COVARIANCE_SWEEPS // SWEEPS_PER_SAMPLE
    joint /= n
    joint -= np.outer(mean / n, mean / n)
    return joint


def find_swaps(problem: Problem, fitted: Array, state: ChainState) -> list[SwapCandidate]:
    """Find edges that change only together, or only with couplings that follow.

    Parameters
    ----------
    fitted : array (n_nodes, n_nodes)
        Covariances under the state's field, from :func:`field_covariance`.

    Returns
    -------
    list of SwapCandidate
        Swaps of two and of four edges, then of one, then of all edges of a node with a group; each
        kind sorted by the log odds lost.
    """
    context = swap_context(problem, fitted, state)
    together, alone = find_pairs(context)
    most = SWAPS_PER_NODE * len(fitted)
    kinds = (together + find_fours(context), alone, find_complements(context))
    found = [sorted(kind)[:most] for kind in kinds]
    return [swaps for kind in found for _, swaps in kind]


def found_repeatedly(searches: list[list[SwapCandidate]]) -> list[SwapCandidate]:
    """Return the swaps found in several states, in the order in which they were first found."""
    forms: dict[tuple[Any, ...], SwapCandidate] = {}
    times: Counter[tuple[Any, ...]] = Counter()
    for found in searches:
        for swaps in found:
            edges = sorted((min(edge), max(edge)) for edge in swaps.edges)
            these = (*edges, *sorted(swaps.nodes))
            forms.setdefault(these, swaps)
            times[these] += 1
    return [swaps for these, swaps in forms.items() if times[these] >= LEAST_FOUND]


def swap_context(problem: Problem, fitted: Array, state: ChainState) -> SwapContext:
    """Return the matrices on which the log odds of edges depend.

    Edges with several parameters count as absent, and their nodes are tied to no other.
    """
    model, n = problem.model, problem.sums.n_rows
    d, starts = model.n_nodes, model.group_start
    covariance = score_covariance(model, problem)
    coupling = np.where(np.diff(starts) == 1, state.coupling[starts[:-1]], 0.0)
    coupling = model.interactions.as_matrix(coupling.astype(np.float32))
    gradient = np.float32(n) * (covariance - fitted)
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.float32(1e-12)))
    correlation = np.abs(covariance) / deviation[:, None] / deviation
    np.fill_diagonal(correlation, 0.0)
    least = np.partition(correlation, max(d - MOST_TIES, 0), axis=1)[:, max(d - MOST_TIES, 0)]
    strong = correlation >= np.maximum(least, LEAST_TIE)[:, None]
    tied = strong | strong.T
    p0, sigma0 = state.hyper[:2]
    prior_odds = math.log(max(p0, 1e-12) / max(1 - p0, 1e-12))
    groups = exclusive_groups(problem)
    return SwapContext(n, covariance, gradient, coupling, tied, groups, prior_odds, sigma0**-2)


def exclusive_groups(problem: Problem) -> list[tuple[int, ...]]:
    """Return disjoint groups of two nodes or more of which one is 1 in nearly every row."""
    model, sums = problem.model, problem.sums
    if not model.single_binary:
        return []
    exclude = model.interactions.as_matrix(sums.coupling < 0.5)
    left, groups = set(range(model.n_nodes)), []
    for i in np.argsort(-sums.bias, kind="stable").tolist():
        group = [i] if i in left else []
        for j in sorted(left - {i}, key=lambda j: (-sums.bias[j], j)) if group else []:
            if exclude[j, group].all():
                group.append(j)
        if len(group) > 1 and sums.bias[group].sum() >= LEAST_COVERED * sums.n_rows:
            left -= set(group)
            groups.append(tuple(sorted(group)))
    return groups


def subset_log_odds(context: SwapContext, edges: list[tuple[Any, Any]]) -> dict[int, Array]:
    """Log odds of every subset of some edges against the empty set; bits of the key mark members.

    Edges are given as arrays of nodes, so that one call evaluates many sets of edges.
    """
    c, n = context.covariance, len(edges)
    # information of edges i - k and j - m: N times the covariances of i, j and of k, m
    info = [[context.n_rows * c[i, j] * c[k, m] for j, m in edges] for i, k in edges]
    gradients = [
        context.gradient[edge] + sum(info[x][y] * context.coupling[e] for y, e in enumerate(edges))
        for x, edge in enumerate(edges)
    ]
    odds: dict[int, Array] = {0: np.zeros(1)}
    for size in range(1, n + 1):
        for chosen in itertools.combinations(range(n), size):
            matrix = [[info[x][y] + (x == y) * context.slab for y in chosen] for x in chosen]
            u = [gradients[x] for x in chosen]
            total = np.full(1, size * (context.prior_odds + 0.5 * math.log(context.slab)))
            for x in range(size):
                # only rounding can bring a pivot below the slab's precision
                matrix[x][x] = np.maximum(matrix[x][x], context.slab)
                total = total + 0.5 * (u[x] ** 2 / matrix[x][x] - np.log(matrix[x][x]))
                for y in range(x + 1, size):
                    factor = matrix[y][x] / matrix[x][x]
                    u[y] = u[y] - factor * u[x]
                    for z in range(x + 1, size):
                        matrix[y][z] = matrix[y][z] - factor * matrix[x][z]
            odds[sum(1 << x for x in chosen)] = total
    return odds


def loss(odds: dict[int, Array], now: int, then: int, most: float) -> Array:
    """Log odds lost by a change from ``now`` to ``then``; infinite where that exceeds ``most``.

    Also infinite where another subset is about as likely as the likelier of the two.
    """
    best = np.maximum(odds[now], odds[then])
    rest = [value for key, value in odds.items() if key not in (now, then)]
    barrier = best - np.maximum.reduce(np.broadcast_arrays(*rest, best)[:-1])
    lost = np.maximum(odds[now] - odds[then], 0.0)
    return np.where((barrier >= LEAST_BARRIER) & (lost <= most), lost, np.inf)


def loss_alone(odds: dict[int, Array], stays: int, present: Array, alone: Array) -> Array:
    """Log odds lost when one of two edges changes and the coupling of the other follows.

    Infinite where that is too much, and where the other need not follow; ``alone`` is the log odds
    of the changing edge with all other couplings fixed.
    """
    sign = np.where(present, 1.0, -1.0)
    lost = np.maximum(sign * (odds[3] - odds[stays]), 0.0)
    most = np.where(present, MOST_LOSS, MOST_LOSS_ABSENT)
    return np.where((sign * alone - lost >= LEAST_BARRIER) & (lost <= most), lost, np.inf)


def find_pairs(context: SwapContext) -> tuple[list[ScoredSwap], list[ScoredSwap]]:
    """Find swaps of edges i - k and j - k with i and j tied: of both edges, and of one alone."""
    d, present = len(context.tied), context.coupling != 0
    found: list[ScoredSwap] = []
    found_alone: list[ScoredSwap] = []
    for i in range(d):
        j = i + 1 + np.flatnonzero(context.tied[i, i + 1 :])[:, None]
        k = np.arange(d)[None, :]
        odds = subset_log_odds(context, [(np.full_like(j, i), k), (j, k)])
        now = present[i, k] + 2 * present[j, k]
        lost = np.select(
            [now == 0, now == 1, now == 2],
            [loss(odds, 0, 3, MOST_LOSS_ABSENT), loss(odds, 1, 2, MOST_LOSS),
             loss(odds, 2, 1, MOST_LOSS)],
            loss(odds, 3, 0, MOST_LOSS),
        )  # fmt: skip
        lost[(k == i) | (k == j)] = np.inf
        for row, m in np.argwhere(np.isfinite(lost)).tolist():
            other = int(j[row, 0])
            found.append((float(lost[row, m]), SwapCandidate(((m, i), (m, other)), (m, i, other))))
        for first, bit in ((True, 2), (False, 1)):
            edge, stays = ((i, k), (j, k)) if first else ((j, k), (i, k))
            lost = loss_alone(odds, bit, present[edge], subset_log_odds(context, [edge])[1])
            lost[~present[stays] | (k == i) | (k == j)] = np.inf
            for row, m in np.argwhere(np.isfinite(lost)).tolist():
                other = int(j[row, 0])
                edges = ((m, i if first else other),)
                found_alone.append((float(lost[row, m]), SwapCandidate(edges, (m, i, other))))
    return found, found_alone


def find_fours(context: SwapContext) -> list[ScoredSwap]:
    """Find swaps of i - k and j - m with i - m and j - k, where i, j and k, m are tied."""
    present = context.coupling != 0
    near = [np.flatnonzero(row) for row in context.tied]
    places: list[tuple[int, int, int, int]] = []
    for i, k in np.argwhere(np.triu(present)).tolist():
        others = near[i][(near[i] > i) & ~present[near[i], k] & (near[i] != k)]
        fourths = near[k][(near[k] > i) & ~present[i, near[k]]]
        for a, b in np.argwhere(present[np.ix_(others, fourths)]).tolist():
            places.append((i, int(others[a]), k, int(fourths[b])))
    first, second, third, fourth = np.array(places, dtype=np.int64).reshape(-1, 4).T
    sides = [(first, third), (second, fourth), (first, fourth), (second, third)]
    lost = loss(subset_log_odds(context, sides), 0b0011, 0b1100, MOST_LOSS)
    return [
        (gap, SwapCandidate(((i, k), (j, m), (i, m), (j, k)), (i, k, j, m)))
        for gap, (i, j, k, m) in zip(lost.tolist(), places, strict=True)
        if math.isfinite(gap)
    ]


def find_complements(context: SwapContext) -> list[ScoredSwap]:
    """Find swaps of the edges of a node k with a group: the present for the absent ones.

    The quadratic is far from the likelihood of states that no row shows, so that it only excludes
    what is hopeless.
    """
    found: list[ScoredSwap] = []
    for group in (group for group in context.groups if len(group) <= MOST_GROUPED):
        k = np.setdiff1d(np.arange(len(context.tied)), group)
        edges = [(np.full_like(k, i), k) for i in group]
        odds = subset_log_odds(context, edges)
        table = np.array([np.broadcast_to(odds[key], k.shape) for key in range(len(odds))])
        now = sum((context.coupling[i, k] != 0) * (1 << bit) for bit, i in enumerate(group))
        lost = np.take_along_axis(table - table[::-1], now[None], axis=0)[0]
        for m in np.flatnonzero((now > 0) & (lost <= MOST_LOSS)).tolist():
            node = int(k[m])
            swap = SwapCandidate(tuple((i, node) for i in group), (node, *group))
            found.append((max(float(lost[m]), 0.0), swap))
    return found


def swap_blocks(swaps: list[SwapCandidate], blocks: Integers, n_nodes: int, k: int) -> Integers:
    """Return blocks for the swaps whose nodes no given block holds together.

    A block is filled up from the own block of its first node i, which is ``blocks[i]``.
    """
    with_node: list[set[int]] = [set() for _ in range(n_nodes)]
    for b, block in enumerate(blocks.tolist()):
        for i in block:
            with_node[i].add(b)
    wanted: dict[int, list[list[int]]] = {}
    for nodes in (list(found.nodes) for found in swaps):
        if set.intersection(*(with_node[i] for i in nodes)):
            continue
        groups = wanted.setdefault(nodes[0], [])
        for group in groups:
            if len({*group, *nodes}) <= k:
                group += [j for j in nodes if j not in group]
                break
        else:
            groups.append(nodes)
    found = []
    for i, groups in wanted.items():
        for block in groups:
            block += [n for n in blocks[i].tolist() if n not in block][: k - len(block)]
            block += [n for n in range(n_nodes) if n not in block][: k - len(block)]
            found.append(block)
    return np.array(found, dtype=np.int64).reshape(len(found), k)
