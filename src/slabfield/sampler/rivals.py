r"""Edges that change only together: found by the data and the field, before any is tried.

Edges i - k and j - k explain the same where i and j go together. Then one stands for the other, and
each looks decided while the other is there; or neither says much alone, and both do. Where k and l
go together too, i - k and j - l may stand for i - l and j - k. And where j - k stays, i - k may be
able to come or go only if the coupling of j - k follows. For all such edges at once the
log-likelihood is taken as quadratic about the field without them, which gives the log odds of every
set of them (equation 26).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.likelihood.cubes import ParticleCubes
from slabfield.models.protocol import Sums
from slabfield.moves.state import ChainState
from slabfield.sampler.iteration import settle

Array = NDArray[np.floating]
Integers = NDArray[np.int64]
Ends = tuple[Integers, Integers]
Edges = tuple[tuple[int, int], ...]


class Rivals(NamedTuple):
    """Edges that change together, and nodes of these and of others that follow."""

    edges: Edges
    nodes: tuple[int, ...]


Found = tuple[float, Rivals]
"""Rivals, after how much less likely the field is when they have changed."""


# Correlation from which two nodes go together, and with how many others a node does at most
LEAST_TIE, MOST_TIES = 0.3, 30
# Edges change together where what they would become is less likely than what they are by no more
# than this in log odds, where some of them are there and where none is; and where all other ways
# are less likely than the likelier of the two by this at least
MOST_LOSS, MOST_LOSS_ABSENT, LEAST_DEEP = 9.0, 7.0, 2.0
RIVALS_PER_NODE = 2
# Of how many states they are looked for in, and in how many of these they are found, at least
LOOKS, FOUND = 8, 2
# Gibbs sweeps of the particles over which covariances are averaged, and between those that count
AVERAGED, BETWEEN = 32, 4


class Surroundings(NamedTuple):
    """Covariances in the data and under the field, couplings, what goes together; all (D, D)."""

    n_rows: float
    covariance: Array
    slope: Array
    coupling: Array
    tied: NDArray[np.bool_]
    prior_odds: float
    slab: float


def field_covariance(engine: ParticleCubes, state: ChainState, rng: np.random.Generator) -> Array:
    """Covariances of all nodes under the state's field, by particles that are swept on."""
    states = engine.states
    d, n_particles = states.shape
    joint, mean = np.zeros((d, d), np.float32), np.zeros(d, np.float32)
    for sweep in range(AVERAGED):
        settle(engine, state, rng)
        if sweep % BETWEEN == BETWEEN - 1:
            single = states.astype(np.float32)
            joint += (single @ single.T) / n_particles
            mean += single.mean(axis=1)
    n = AVERAGED // BETWEEN
    joint /= n
    joint -= np.outer(mean / n, mean / n)
    return joint


def find_rivals(sums: Sums, fitted: Array, state: ChainState, ends: Ends) -> list[Rivals]:
    """Find edges that change together, or with couplings that follow, or hardly at all.

    Parameters
    ----------
    sums : Sums
        Of the data.
    fitted : array (n_nodes, n_nodes)
        Covariances under the state's field, as :func:`field_covariance` has them.
    state : ChainState
        Couplings and hyper-parameters now.
    ends : pair of arrays
        Nodes of every edge.

    Returns
    -------
    list of Rivals
        Those of one edge, of two and of four; of each kind, those first that would become likelier,
        or lose least.
    """
    around = look_about(sums, fitted, state, ends)
    together, alone = find_pairs(around)
    most = RIVALS_PER_NODE * len(fitted)
    found = [sorted(kind)[:most] for kind in (together + find_fours(around), alone)]
    return [rivals for kind in found for _, rivals in kind]


def found_again(looks: list[list[Rivals]]) -> list[Rivals]:
    """Rivals that were found in several states, in the order in which they first were."""
    forms: dict[tuple[Any, ...], Rivals] = {}
    times: Counter[tuple[Any, ...]] = Counter()
    for found in looks:
        for rivals in found:
            edges = sorted((min(edge), max(edge)) for edge in rivals.edges)
            these = (*edges, *sorted(rivals.nodes))
            forms.setdefault(these, rivals)
            times[these] += 1
    return [rivals for these, rivals in forms.items() if times[these] >= FOUND]


def look_about(sums: Sums, fitted: Array, state: ChainState, ends: Ends) -> Surroundings:
    """Lay out as matrices what the odds of edges depend on."""
    n, d = sums.n_rows, sums.bias.size
    mean = (sums.bias + 0.5) / (n + 1.0)
    covariance, coupling = np.zeros((d, d), np.float32), np.zeros((d, d), np.float32)
    covariance[ends] = sums.coupling / n - mean[ends[0]] * mean[ends[1]]
    coupling[ends] = state.coupling
    covariance, coupling = covariance + covariance.T, coupling + coupling.T
    slope, spread = np.float32(n) * (covariance - fitted), mean * (1 - mean)
    deviation = np.sqrt(spread).astype(np.float32)
    strength = np.abs(covariance) / deviation[:, None] / deviation
    least = np.partition(strength, max(d - MOST_TIES, 0), axis=1)[:, max(d - MOST_TIES, 0)]
    strong = strength >= np.maximum(least, LEAST_TIE)[:, None]
    tied = strong | strong.T
    covariance[np.diag_indices(d)] = spread
    p0, sigma0 = state.hyper
    prior_odds = math.log(max(p0, 1e-12) / max(1 - p0, 1e-12))
    return Surroundings(n, covariance, slope, coupling, tied, prior_odds, sigma0**-2)


def set_odds(around: Surroundings, edges: list[tuple[Any, Any]]) -> dict[int, Array]:
    """Log odds of every set of some edges against none of them; a set is told by its bits.

    Edges are given by arrays of nodes, so that many places are looked at in one go.
    """
    c, n = around.covariance, len(edges)
    # how much products of centred nodes have in common, for pairs that are tied
    info = [[around.n_rows * c[i, j] * c[k, m] for j, m in edges] for i, k in edges]
    slopes = [
        around.slope[edge] + sum(info[x][y] * around.coupling[e] for y, e in enumerate(edges))
        for x, edge in enumerate(edges)
    ]
    odds: dict[int, Array] = {0: np.zeros(1)}
    for size in range(1, n + 1):
        for chosen in itertools.combinations(range(n), size):
            matrix = [[info[x][y] + (x == y) * around.slab for y in chosen] for x in chosen]
            u = [slopes[x] for x in chosen]
            total = np.full(1, size * (around.prior_odds + 0.5 * math.log(around.slab)))
            for x in range(size):
                # no pivot is below the slab's precision but by rounding
                matrix[x][x] = np.maximum(matrix[x][x], around.slab)
                total = total + 0.5 * (u[x] ** 2 / matrix[x][x] - np.log(matrix[x][x]))
                for y in range(x + 1, size):
                    factor = matrix[y][x] / matrix[x][x]
                    u[y] = u[y] - factor * u[x]
                    for z in range(x + 1, size):
                        matrix[y][z] = matrix[y][z] - factor * matrix[x][z]
            odds[sum(1 << x for x in chosen)] = total
    return odds


def loss(odds: dict[int, Array], now: int, then: int, most: float) -> Array:
    """How much less likely than now edges are after a change; infinite where that is too much.

    It is too where some other set of them is about as likely as either.
    """
    top = np.maximum(odds[now], odds[then])
    rest = [value for key, value in odds.items() if key not in (now, then)]
    deep = top - np.maximum.reduce(np.broadcast_arrays(*rest, top)[:-1])
    lost = np.maximum(odds[now] - odds[then], 0.0)
    return np.where((deep >= LEAST_DEEP) & (lost <= most), lost, np.inf)


def loss_alone(odds: dict[int, Array], stays: int, present: Array, alone: Array) -> Array:
    """How much less likely edges are after one of two has changed, and the other has followed.

    Infinite where that is too much, and where the other need not follow; ``alone`` has the log odds
    of the one while all other couplings stay what they are.
    """
    sign = np.where(present, 1.0, -1.0)
    lost = np.maximum(sign * (odds[3] - odds[stays]), 0.0)
    most = np.where(present, MOST_LOSS, MOST_LOSS_ABSENT)
    return np.where((sign * alone - lost >= LEAST_DEEP) & (lost <= most), lost, np.inf)


def find_pairs(around: Surroundings) -> tuple[list[Found], list[Found]]:
    """Edges i - k and j - k, i and j tied: one for the other, or both at once; and one alone."""
    d, present = len(around.tied), around.coupling != 0
    found: list[Found] = []
    found_alone: list[Found] = []
    for i in range(d):
        j = i + 1 + np.flatnonzero(around.tied[i, i + 1 :])[:, None]
        k = np.arange(d)[None, :]
        odds = set_odds(around, [(np.full_like(j, i), k), (j, k)])
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
            found.append((float(lost[row, m]), Rivals(((m, i), (m, other)), (m, i, other))))
        for first, bit in ((True, 2), (False, 1)):
            edge, stays = ((i, k), (j, k)) if first else ((j, k), (i, k))
            lost = loss_alone(odds, bit, present[edge], set_odds(around, [edge])[1])
            lost[~present[stays] | (k == i) | (k == j)] = np.inf
            for row, m in np.argwhere(np.isfinite(lost)).tolist():
                other = int(j[row, 0])
                edges = ((m, i if first else other),)
                found_alone.append((float(lost[row, m]), Rivals(edges, (m, i, other))))
    return found, found_alone


def find_fours(around: Surroundings) -> list[Found]:
    """Edges i - k and j - m for i - m and j - k; i and j are tied, and k and m."""
    there = around.coupling != 0
    near = [np.flatnonzero(row) for row in around.tied]
    places: list[tuple[int, int, int, int]] = []
    for i, k in np.argwhere(np.triu(there)).tolist():
        others = near[i][(near[i] > i) & ~there[near[i], k] & (near[i] != k)]
        fourths = near[k][(near[k] > i) & ~there[i, near[k]]]
        for a, b in np.argwhere(there[np.ix_(others, fourths)]).tolist():
            places.append((i, int(others[a]), k, int(fourths[b])))
    first, second, third, fourth = np.array(places, dtype=np.int64).reshape(-1, 4).T
    sides = [(first, third), (second, fourth), (first, fourth), (second, third)]
    lost = loss(set_odds(around, sides), 0b0011, 0b1100, MOST_LOSS)
    return [
        (gap, Rivals(((i, k), (j, m), (i, m), (j, k)), (i, k, j, m)))
        for gap, (i, j, k, m) in zip(lost.tolist(), places, strict=True)
        if math.isfinite(gap)
    ]


def rival_blocks(rivals: list[Rivals], blocks: Integers, n_nodes: int, k: int) -> Integers:
    """Blocks for those rivals that no block has together.

    A block is filled up with others that go with the first of its nodes, whose own block has that
    node's number.
    """
    with_node: list[set[int]] = [set() for _ in range(n_nodes)]
    for b, block in enumerate(blocks.tolist()):
        for i in block:
            with_node[i].add(b)
    wanted: dict[int, list[list[int]]] = {}
    for nodes in (list(found.nodes) for found in rivals):
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
