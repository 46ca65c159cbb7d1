r"""Collapsed Gibbs updates of edges, the default: presence first, then the coupling given presence.

This is the update of an edge's presence and coupling that the default sampler uses, for the edges
and biases within a block of nodes of a binary pairwise field. For one coupling, the likelihood
depends on the rest of the field only through the probabilities of the four states of its two nodes.
The odds of presence with the coupling integrated out (collapsed) are therefore a one-dimensional
integral, and the coupling given presence is an exact draw (equation 17).

Couplings are *centered*: when :math:`\theta_{ij}` moves by a, the biases of its ends move by
:math:`-a u` and :math:`-a v`, with u and v the means in the data of the *other* end. The change of
variables has Jacobian one, and makes couplings and biases nearly independent.

Where probabilities are means over particles, their noise variance is estimated from the differences
between the particle groups of the block. The inclusion probability is corrected for it, and it
replaces part of the variance of a coupling's draw (equation 19): on average the update equals the
exact one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.block_table import node_marginal, pair_marginal, reweight_node, reweight_pair
from slabfield.kernels.laplace import Laplace, new_laplace
from slabfield.kernels.univariate import integrate, sample_log_concave
from slabfield.moves.bounded_updates import (
    HALF_RANGE,
    MOST_WIDTH,
    Conditional,
    draw_within,
    is_too_wide,
    limits_of,
    restricted_evidence,
)
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.evidence_sums import (
    EvidenceSums,
    add_evidence,
    add_indicator,
    new_evidence_sums,
)
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.particle_noise import (
    MOST_SHARE,
    corrected_probabilities,
    draw_presence,
    noise_at,
)

# Edges per flip, at most
MOST_EDGES = 5
# Absolute log odds up to which an edge counts as undecided
UNDECIDED = 4.0


class Block(NamedTuple):
    """A block of nodes, the table of its states, and workspace for its updates.

    ``edges`` lists the edges of the block: the number of the edge, and the places of its ends in
    ``nodes``. ``undecided`` lists which of these may be flipped, and ``chosen`` those of one flip;
    ``laplace`` is the workspace of flips, where the parameters of edge e begin at ``start[e]``.
    ``data_mean`` holds the means of all nodes in the data.
    """

    nodes: NDArray[np.int64]
    order: NDArray[np.int64]
    table: NDArray[np.float64]
    sums: NDArray[np.float64]
    residual: NDArray[np.float64]
    edges: NDArray[np.int64]
    undecided: NDArray[np.int64]
    chosen: NDArray[np.int64]
    start: NDArray[np.int64]
    laplace: Laplace
    data_mean: NDArray[np.float64]


def new_block(data_mean: NDArray[np.float64], k: int, n_groups: int) -> Block:
    """Return the workspace for blocks of up to k nodes."""
    return Block(
        np.zeros(k, np.int64),
        np.arange(data_mean.size),
        np.zeros((1 << k, n_groups)),
        np.zeros((4, n_groups)),
        np.zeros((2, n_groups)),
        np.zeros((k * (k - 1) // 2, 3), np.int64),
        np.zeros(k * (k - 1) // 2, np.int64),
        np.zeros(MOST_EDGES, np.int64),
        np.zeros(k * (k - 1) // 2 + 1, np.int64),
        new_laplace(k * (k + 1) // 2, 1 << k),
        data_mean,
    )


class InclusionStats(NamedTuple):
    """Statistics of visits of edges, and of flips.

    ``evidence`` has the sums over visits. ``flips`` is a ring buffer of candidate flips: the number
    of the block and the places of the edges in it (or -1); ``flip_probability`` holds their
    acceptance probabilities, and ``n_flips`` counts them. ``noise`` is about the log odds of
    undecided edges: the sum of their noise variances, their number, and the sum of the noise of
    gradients (r of equation 19).
    """

    evidence: EvidenceSums
    flips: NDArray[np.int32]
    flip_probability: NDArray[np.float32]
    n_flips: NDArray[np.int64]
    noise: NDArray[np.float64]

    @property
    def visits(self) -> NDArray[np.float64]:
        """Number of visits of every edge."""
        visits: NDArray[np.float64] = self.evidence.begun[..., 3].sum(axis=0)
        return visits

    @property
    def mean_probability(self) -> NDArray[np.float64]:
        """Mean conditional inclusion probability of every edge; zero if it was never visited."""
        return self._per_visit(2)

    @property
    def conditional_variance(self) -> NDArray[np.float64]:
        """Mean variance of the presence of every edge given all others; zero if never visited."""
        return self._per_visit(4)

    def _per_visit(self, which: int) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = self.evidence.begun[..., which].sum(axis=0)
        return mean / np.maximum(self.visits, 1)


def new_inclusion_stats(n_edges: int, n_flips: int = 0) -> InclusionStats:
    """Return empty sums, and a buffer for ``n_flips`` candidate flips."""
    return InclusionStats(
        new_evidence_sums(n_edges),
        np.zeros((n_flips, 1 + MOST_EDGES), np.int32),
        np.zeros(n_flips, np.float32),
        np.zeros(1, np.int64),
        np.zeros(3),
    )


# Named tuples of arrays are not passed inside loops: each call would count references to arrays.
# Passed instead are ``table``, ``groups`` and ``edges`` of the block, and these tuples of numbers.


class Edge(NamedTuple):
    """Number of an edge, places of its ends in the block, their nodes i and j, and its centers."""

    number: int
    low: int
    high: int
    i: int
    j: int
    u: float
    v: float


class Scale(NamedTuple):
    """Number of rows, precision of the slab with the log of its constant, and of the biases."""

    n_rows: float
    slab_precision: float
    log_slab: float
    bias_precision: float


@inner
def edge_at(edges, nodes, data_mean, place):
    """Return the edge at a place in the block's list."""
    low, high = edges[place, 1], edges[place, 2]
    i, j = nodes[low], nodes[high]
    return Edge(edges[place, 0], low, high, i, j, data_mean[j], data_mean[i])


@inner
def pair_without(table, k, groups, edge, a):
    """Probabilities of the four states of an edge's ends without its coupling a, and centers."""
    u, v = edge.u, edge.v
    pair_marginal(table, k, edge.low, edge.high, groups)
    w0, w1, w2, w3 = 0.0, 0.0, 0.0, 0.0
    for t in range(groups.shape[1]):
        w0 += groups[0, t]
        w1 += groups[1, t]
        w2 += groups[2, t]
        w3 += groups[3, t]
    if a != 0.0:
        factor1, factor2, factor3 = math.exp(a * u), math.exp(a * v), math.exp(-a * (1 - u - v))
        w1, w2, w3 = w1 * factor1, w2 * factor2, w3 * factor3
        if groups.shape[1] > 1:
            for t in range(groups.shape[1]):
                groups[1, t] *= factor1
                groups[2, t] *= factor2
                groups[3, t] *= factor3
    total = w0 + w1 + w2 + w3
    return w0 / total, w1 / total, w2 / total, w3 / total, u, v


@inner
def edge_evidence(table, k, groups, residual, edge, data_sum, bias_sum, coupling, bias, scale):
    """Log evidence of presence, noise variance of it and of the gradient, and the conditional.

    The noise of the gradient, in squared standard deviations, is r of equation 19. The linear term
    of the conditional of a centered coupling includes the data, the slab and the priors of the
    biases.
    """
    alpha, _, _, i, j, u, v = edge
    n_rows, slab_precision, log_slab, bias_precision = scale
    a = coupling[alpha]
    pair = pair_without(table, k, groups, edge, a)
    linear = data_sum[alpha] - u * bias_sum[i] - v * bias_sum[j]
    linear += bias_precision * ((bias[i] + a * u) * u + (bias[j] + a * v) * v)
    precision = slab_precision + bias_precision * (u * u + v * v)
    mode, sd, evidence, around, left, right = integrate(linear, n_rows, precision, pair)
    noise, shift = 0.0, 0.0
    if residual.size > 1:
        noise, shift = noise_at(groups, n_rows, pair, mode, residual)
        shift *= sd * sd
        evidence -= 0.5 * math.log1p(shift)
    conditional = Conditional(mode, precision, min(shift, MOST_SHARE), around, left, right, pair)
    return evidence + log_slab, noise, shift, conditional


@inner
def draw_value(n_rows, conditional, rng):
    """Draw a parameter given presence, with its variance reduced by that of the noisy mode."""
    return conditional.mode + math.sqrt(1.0 - conditional.noise_share) * sample_log_concave(
        n_rows, conditional.precision, conditional.around, conditional.left, conditional.right, rng
    )


@inner
def set_coupling(table, k, edge, coupling, bias, value):
    """Set a coupling, move the biases of its ends, reweight the table; return if it changed."""
    alpha, low, high, i, j, u, v = edge
    change = value - coupling[alpha]
    if change == 0.0:
        return False
    bias[i] -= u * change
    bias[j] -= v * change
    coupling[alpha] = value
    reweight_pair(
        table, k, low, high, math.exp(-u * change), math.exp(-v * change),
        math.exp((1 - u - v) * change),
    )  # fmt: skip
    return True


@inner
def update_edges(sums, prior, state, block, k, n_edges, visit, inclusion_stats, rng):
    """Draw presence and coupling of the listed edges in turn, each from its full conditional.

    Presence is drawn with the coupling integrated out, then the coupling given presence, exactly.
    ``visit`` is the probability with which these absent edges are visited, one if they always are.
    Returns whether any coupling changed.
    """
    table, groups, residual, nodes, edges = (
        block.table, block.sums, block.residual[0], block.nodes, block.edges,
    )  # fmt: skip
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum, data_mean = sums.coupling, sums.bias, block.data_mean
    p0 = state.hyper[0]
    scale = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    noise_sums, changed = inclusion_stats.noise, False
    evidence_sums = inclusion_stats.evidence.sums[inclusion_stats.evidence.batch[0]]
    for place in range(n_edges):
        edge = edge_at(edges, nodes, data_mean, place)
        alpha = edge.number
        if inclusion[alpha] == 0.0:
            continue
        evidence, noise, shift, conditional = edge_evidence(
            table, k, groups, residual, edge, data_sum, bias_sum, coupling, bias, scale
        )
        included, value = inclusion[alpha] == 1.0, 0.0
        before, restricted = coupling[alpha], False
        if residual.size > 1 and is_too_wide(before, conditional):
            restricted, included = True, included or abs(before) > HALF_RANGE
            if not included:
                evidence, noise = restricted_evidence(groups, residual, scale, conditional)
                shift = 0.0
            elif inclusion[alpha] != 1.0:
                add_indicator(evidence_sums, alpha, 1.0)
        if not included:
            odds = evidence + log_odds(inclusion, p0, alpha)
            if abs(odds) < UNDECIDED:
                noise_sums[0] += noise
                noise_sums[1] += 1.0
                noise_sums[2] += shift
            probability, absence = corrected_probabilities(odds, noise / (1.0 + shift))
            add_evidence(evidence_sums, inclusion, p0, alpha, probability, absence)
            included = draw_presence(
                present[alpha] != 0, odds, probability, residual.size > 1, visit, rng
            )
        if included and restricted:
            value = before
            if inclusion[alpha] != 1.0 and abs(before) <= HALF_RANGE:
                value = draw_within(-HALF_RANGE, HALF_RANGE, scale.n_rows, conditional, rng)
            low = value - 2 * HALF_RANGE * rng.random()
            value = draw_within(low, low + 2 * HALF_RANGE, scale.n_rows, conditional, rng)
        elif included:
            value = draw_value(scale.n_rows, conditional, rng)
        if included != (present[alpha] != 0):
            toggle(state, alpha, included)
        changed = set_coupling(table, k, edge, coupling, bias, value) or changed
    return changed


@inner
def toggle(state, alpha, included):
    """Make an edge present or absent."""
    if included:
        insert(state, alpha)
    else:
        remove(state, alpha)


@inner
def scale_of(n_rows, sigma0, bias_precision):
    """Return the scale of a state."""
    precision = sigma0**-2
    log_slab = 0.5 * math.log(precision / (2 * math.pi))
    return Scale(n_rows, precision, log_slab, bias_precision)


@inner
def update_biases(sums, prior, state, block, k, first, last, rng):
    """Draw the biases of a block's nodes, first to last, from their conditionals."""
    table, groups, nodes, bias = block.table, block.sums, block.nodes, state.bias
    n_rows, precision, bias_sum = sums.n_rows, prior.bias_precision, sums.bias
    residual = block.residual[0]
    for node in range(first, last):
        i = nodes[node]
        node_marginal(table, k, node, groups)
        factor = math.exp(-bias[i])
        zero, one = 0.0, 0.0
        for t in range(groups.shape[1]):
            groups[3, t] *= factor
            zero += groups[0, t]
            one += groups[3, t]
        pair = (zero / (zero + one), 0.0, 0.0, one / (zero + one), 0.0, 0.0)
        mode, sd, _, around, left, right = integrate(bias_sum[i], n_rows, precision, pair)
        shift = 0.0
        if groups.shape[1] > 1:
            _, shift = noise_at(groups, n_rows, pair, mode, residual)
            shift = min(shift * sd * sd, MOST_SHARE)
        conditional = Conditional(mode, precision, shift, around, left, right, pair)
        low, high = limits_of(conditional)
        if groups.shape[1] > 1 and max(high, bias[i]) - min(low, bias[i]) > MOST_WIDTH:
            low = bias[i] - 2 * HALF_RANGE * rng.random()
            value = draw_within(low, low + 2 * HALF_RANGE, n_rows, conditional, rng)
        else:
            value = draw_value(n_rows, conditional, rng)
        reweight_node(table, k, node, math.exp(value - bias[i]))
        bias[i] = value
