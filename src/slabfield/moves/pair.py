r"""Collapsed updates of the edges and biases within a block of nodes of a binary pairwise field.

For one coupling the likelihood depends on the rest of the field only through the probabilities of
the four states of its two nodes. The odds of presence with the coupling integrated out are then a
one-dimensional integral, and the coupling given presence an exact draw (equation 17).

Couplings are *centred*: when :math:`\theta_{ij}` moves by a, the biases of its ends move by
:math:`-a u` and :math:`-a v`, with u and v the means in the data of the *other* end. The change of
variables has Jacobian one; what it gains is that couplings and biases hardly depend on each other.

Where probabilities are means over particles, their noise is known from how much the lanes of the
block differ. It is taken out of the chance of presence again, and takes the place of part of the
randomness of a coupling (equation 19): on average the update is what an exact one would be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.cube import halves, quadrants, tilt, tilt_node
from slabfield.kernels.hill import Hill, new_hill
from slabfield.kernels.slab import draw_around, survey
from slabfield.moves.noise import MOST_SHARE, chance_of, noise_at
from slabfield.moves.reach import (
    REACH,
    WITHIN_REACH,
    draw_within,
    ends_of,
    odds_near_zero,
    reaches_far,
)
from slabfield.moves.state import insert, remove

# Edges that are flipped together, at most
MOST_EDGES = 4
# Log odds of at most this size count as open
OPEN = 4.0


class Block(NamedTuple):
    """A block of nodes, the table of its states, and what is looked at within it.

    ``edges`` lists the edges of the block: their number, and the places of their ends in ``nodes``;
    ``open`` which of these may be flipped together, and ``chosen`` which are; ``hill`` is room for
    what that needs.
    ``data_mean`` holds the means of all nodes in the data, and ``counts`` how many edges that share
    p0 are present, and how many there are.
    """

    nodes: NDArray[np.int64]
    order: NDArray[np.int64]
    mass: NDArray[np.float64]
    sums: NDArray[np.float64]
    residual: NDArray[np.float64]
    edges: NDArray[np.int64]
    open: NDArray[np.int64]
    chosen: NDArray[np.int64]
    hill: Hill
    data_mean: NDArray[np.float64]
    counts: NDArray[np.int64]


def new_block(data_mean: NDArray[np.float64], k: int, lanes: int) -> Block:
    """Return room for blocks of up to k nodes."""
    return Block(
        np.zeros(k, np.int64),
        np.arange(data_mean.size),
        np.zeros((1 << k, lanes)),
        np.zeros((4, lanes)),
        np.zeros((2, lanes)),
        np.zeros((k * (k - 1) // 2, 3), np.int64),
        np.zeros(k * (k - 1) // 2, np.int64),
        np.zeros(MOST_EDGES, np.int64),
        new_hill(k),
        data_mean,
        np.zeros(2, np.int64),
    )


class Tally(NamedTuple):
    """Sums of the conditional probabilities that edges are present, and numbers of visits.

    ``flips`` lists flips of edges that had a chance: the number of the block, the places of the
    edges in it (or -1), and ``flip_chance`` what it was; ``n_flips`` counts them, and where there
    is no more room the oldest go. ``noise`` is of log odds near zero: the sum of their noise
    variance, how many there were, and the sum of the noise of slopes (r of equation 19).
    """

    chance: NDArray[np.float64]
    visits: NDArray[np.int32]
    flips: NDArray[np.int32]
    flip_chance: NDArray[np.float32]
    n_flips: NDArray[np.int64]
    noise: NDArray[np.float64]

    @property
    def mean_chance(self) -> NDArray[np.float64]:
        """Mean of the conditional probabilities of every edge; zero where it was never visited."""
        return self.chance / np.maximum(self.visits, 1)


def new_tally(n_edges: int, n_flips: int = 0) -> Tally:
    """Return empty sums, and room for so many flips."""
    return Tally(
        np.zeros(n_edges),
        np.zeros(n_edges, np.int32),
        np.zeros((n_flips, 1 + MOST_EDGES), np.int32),
        np.zeros(n_flips, np.float32),
        np.zeros(1, np.int64),
        np.zeros(3),
    )


# Named tuples are not handed on inside loops: each time, references to their arrays are counted.
# What is handed on instead: ``mass``, ``lanes`` and ``edges`` of the block; an edge's ``facts``
# (number, places of its ends, their nodes, means of the data there); and ``scale``, the number of
# rows, the precision of the slab with the log of its constant, and the precision of the biases.


@inner
def facts_of(edges, nodes, data_mean, edge):
    """Number of an edge, places of its ends in the block, their nodes, and its centres."""
    low, high = edges[edge, 1], edges[edge, 2]
    i, j = nodes[low], nodes[high]
    return edges[edge, 0], low, high, i, j, data_mean[j], data_mean[i]


@inner
def pair_without(mass, k, lanes, facts, a):
    """Probabilities of the four states of an edge's ends with its coupling a out, and centres."""
    _, low, high, _, _, u, v = facts
    quadrants(mass, k, low, high, lanes)
    w0, w1, w2, w3 = 0.0, 0.0, 0.0, 0.0
    for t in range(lanes.shape[1]):
        w0 += lanes[0, t]
        w1 += lanes[1, t]
        w2 += lanes[2, t]
        w3 += lanes[3, t]
    if a != 0.0:
        by1, by2, by3 = math.exp(a * u), math.exp(a * v), math.exp(-a * (1 - u - v))
        w1, w2, w3 = w1 * by1, w2 * by2, w3 * by3
        if lanes.shape[1] > 1:
            for t in range(lanes.shape[1]):
                lanes[1, t] *= by1
                lanes[2, t] *= by2
                lanes[3, t] *= by3
    total = w0 + w1 + w2 + w3
    return w0 / total, w1 / total, w2 / total, w3 / total, u, v


@inner
def judge(mass, k, lanes, residual, facts, data_sum, bias_sum, coupling, bias, scale):
    """What an edge's update needs: log evidence, noise of it and of the slope, and for a draw.

    The noise of the slope, in standard deviations squared, is r of equation 19.

    The linear part of the conditional of a centred coupling has data, slab and bias priors in it.
    """
    alpha, _, _, i, j, u, v = facts
    n_rows, slab_precision, log_slab, bias_precision = scale
    a = coupling[alpha]
    pair = pair_without(mass, k, lanes, facts, a)
    slope = data_sum[alpha] - u * bias_sum[i] - v * bias_sum[j]
    slope += bias_precision * ((bias[i] + a * u) * u + (bias[j] + a * v) * v)
    precision = slab_precision + bias_precision * (u * u + v * v)
    mode, spread, evidence, around, left, right = survey(slope, n_rows, precision, pair)
    noise, shift = 0.0, 0.0
    if residual.size > 1:
        noise, shift = noise_at(lanes, n_rows, pair, mode, residual)
        shift *= spread * spread
        evidence -= 0.5 * math.log1p(shift)
    needs = (mode, precision, min(shift, MOST_SHARE), around, left, right, pair)
    return evidence + log_slab, noise, shift, needs


@inner
def draw_value(n_rows, needs, rng):
    """Draw a parameter given presence, less spread by what its mode is already off."""
    mode, precision, shift, around, left, right, _ = needs
    return mode + math.sqrt(1.0 - shift) * draw_around(n_rows, precision, around, left, right, rng)


@inner
def give(mass, k, facts, coupling, bias, value):
    """Give an edge its coupling, its ends their biases, the block its masses; tell of a change."""
    alpha, low, high, i, j, u, v = facts
    change = value - coupling[alpha]
    if change == 0.0:
        return False
    bias[i] -= u * change
    bias[j] -= v * change
    coupling[alpha] = value
    tilt(
        mass, k, low, high, math.exp(-u * change), math.exp(-v * change),
        math.exp((1 - u - v) * change),
    )  # fmt: skip
    return True


@inner
def count_learnt(inclusion, present, counts):
    """Count the edges that share p0: those present, and all."""
    counts[:] = 0
    for alpha in range(inclusion.size):
        if math.isnan(inclusion[alpha]):
            counts[0] += present[alpha]
            counts[1] += 1


@inner
def log_odds_of(inclusion, counts, alpha, others, prior_a, prior_b):
    """Prior log odds that an edge is present; where p0 is learnt it is integrated out.

    Given the presence of all other edges, the odds are those of the Beta-binomial distribution
    (equation 20); ``others`` is how many of those that share p0 are present.
    """
    if math.isnan(inclusion[alpha]):
        return math.log((prior_a + others) / (prior_b + counts[1] - 1 - others))
    return math.log(inclusion[alpha] / (1.0 - inclusion[alpha]))


@inner
def update_edges(sums, prior, state, block, k, n_edges, visit, tally, rng):
    """Draw presence and coupling of the listed edges, one after the other, from their conditionals.

    With the coupling integrated out, presence has a probability of its own; the coupling given
    presence is then an exact draw. ``visit`` is how probable it was that absent edges are looked
    at, and one where they always are.
    """
    mass, lanes, residual, nodes, edges = (
        block.mass, block.sums, block.residual[0], block.nodes, block.edges,
    )  # fmt: skip
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum, data_mean = sums.coupling, sums.bias, block.data_mean
    chances, visits, counts = tally.chance, tally.visits, block.counts
    prior_a, prior_b = prior.beta_a, prior.beta_b
    scale = scale_of(sums.n_rows, state.hyper[1], prior.bias_precision)
    noise_seen, changed = tally.noise, False
    for edge in range(n_edges):
        facts = facts_of(edges, nodes, data_mean, edge)
        alpha = facts[0]
        if inclusion[alpha] == 0.0:
            continue
        evidence, noise, shift, needs = judge(
            mass, k, lanes, residual, facts, data_sum, bias_sum, coupling, bias, scale
        )
        stays, value = inclusion[alpha] == 1.0, 0.0
        before, far = coupling[alpha], False
        if residual.size > 1 and reaches_far(before, needs):
            far, stays = True, stays or abs(before) > REACH
            if not stays:
                evidence, noise = odds_near_zero(lanes, residual, scale, needs)
                shift = 0.0
            elif inclusion[alpha] != 1.0:
                chances[alpha] += 1.0
                visits[alpha] += 1
        if not stays:
            others = counts[0] - present[alpha]
            odds = log_odds_of(inclusion, counts, alpha, others, prior_a, prior_b)
            odds += evidence
            if abs(odds) < OPEN:
                noise_seen[0] += noise
                noise_seen[1] += 1.0
                noise_seen[2] += shift
            chance = chance_of(odds, noise / (1.0 + shift))
            chances[alpha] += chance
            visits[alpha] += 1
            stays = rng.random() * visit < chance
        if stays and far:
            value = before
            if inclusion[alpha] != 1.0 and abs(before) <= REACH:
                value = draw_within(-REACH, REACH, scale[0], needs, rng)
            low = value - 2 * REACH * rng.random()
            value = draw_within(low, low + 2 * REACH, scale[0], needs, rng)
        elif stays:
            value = draw_value(scale[0], needs, rng)
        if stays != (present[alpha] != 0):
            turn(state, alpha, stays, math.isnan(inclusion[alpha]), counts)
        changed = give(mass, k, facts, coupling, bias, value) or changed
    return changed


@inner
def turn(state, alpha, stays, learnt, counts):
    """Make an edge present or absent, and count it if it shares p0."""
    if stays:
        insert(state, alpha)
    else:
        remove(state, alpha)
    if learnt:
        counts[0] += 1 if stays else -1


@inner
def scale_of(n_rows, sigma0, bias_precision):
    """Numbers that every edge is judged by."""
    precision = sigma0**-2
    return n_rows, precision, 0.5 * math.log(precision / (2 * math.pi)), bias_precision


@inner
def update_biases(sums, prior, state, block, k, first, last, rng):
    """Draw the biases of a block's nodes, first to last, from their conditionals."""
    mass, lanes, nodes, bias = block.mass, block.sums, block.nodes, state.bias
    n_rows, precision, bias_sum = sums.n_rows, prior.bias_precision, sums.bias
    residual = block.residual[0]
    for node in range(first, last):
        i = nodes[node]
        halves(mass, k, node, lanes)
        factor = math.exp(-bias[i])
        none, one = 0.0, 0.0
        for t in range(lanes.shape[1]):
            lanes[3, t] *= factor
            none += lanes[0, t]
            one += lanes[3, t]
        pair = (none / (none + one), 0.0, 0.0, one / (none + one), 0.0, 0.0)
        mode, spread, _, around, left, right = survey(bias_sum[i], n_rows, precision, pair)
        shift = 0.0
        if lanes.shape[1] > 1:
            _, shift = noise_at(lanes, n_rows, pair, mode, residual)
            shift = min(shift * spread * spread, MOST_SHARE)
        needs = (mode, precision, shift, around, left, right, pair)
        low, high = ends_of(needs)
        if lanes.shape[1] > 1 and max(high, bias[i]) - min(low, bias[i]) > WITHIN_REACH:
            low = bias[i] - 2 * REACH * rng.random()
            value = draw_within(low, low + 2 * REACH, n_rows, needs, rng)
        else:
            value = draw_value(n_rows, needs, rng)
        tilt_node(mass, k, node, math.exp(value - bias[i]))
        bias[i] = value
