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
from slabfield.kernels.slab import (
    LEAST,
    draw_around,
    draw_between,
    log_integral_between,
    survey,
    value_from_mode,
)
from slabfield.moves.state import insert, remove

# Noise variance of log odds that is corrected for, at most
MOST_NOISE = 2.0
# Edges that are flipped together, at most
MOST_EDGES = 4
# Log odds of at most this size count as open
OPEN = 4.0
# The share of the variance of a draw that noise may take the place of
MOST_SHARE = 0.9
# On particles a parameter moves by twice this at most at a time, unless all of its conditional lies
# within so much
REACH, WITHIN_REACH = 3.0, 6.0


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
def noise_at(lanes, n_rows, pair, mode, residual):
    """Noise of what an edge is judged by: of the log evidence and of the slope at the mode.

    Each lane adds to the sums over all lanes what it adds by itself, independently of the others:
    the variance of the sum is read off their differences. ``residual`` keeps what each lane adds to
    the error of the log evidence. The sums in ``lanes`` are changed to those at the mode.
    """
    n_lanes = lanes.shape[1]
    u, v = pair[4], pair[5]
    last = 1 - u - v
    by1, by2, by3 = math.exp(-u * mode), math.exp(-v * mode), math.exp(last * mode)
    before, after, feature = 0.0, 0.0, 0.0
    for t in range(n_lanes):
        before += lanes[0, t] + lanes[1, t] + lanes[2, t] + lanes[3, t]
        w1, w2, w3 = by1 * lanes[1, t], by2 * lanes[2, t], by3 * lanes[3, t]
        after += lanes[0, t] + w1 + w2 + w3
        feature += -u * w1 - v * w2 + last * w3
    mean = feature / after
    evidence, slope = 0.0, 0.0
    for t in range(n_lanes):
        at_zero = lanes[0, t] + lanes[1, t] + lanes[2, t] + lanes[3, t]
        w1, w2, w3 = by1 * lanes[1, t], by2 * lanes[2, t], by3 * lanes[3, t]
        at_mode = lanes[0, t] + w1 + w2 + w3
        residual[t] = n_rows * (at_mode / after - at_zero / before)
        evidence += residual[t] ** 2
        slope += ((-u * w1 - v * w2 + last * w3) - mean * at_mode) ** 2
    share = n_lanes / (n_lanes - 1.0)
    return share * evidence, share * (n_rows / after) ** 2 * slope


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
def chance_of(odds, noise):
    r"""Chance by log odds with normal noise of known variance: on average that by exact ones.

    The inverse of blurring the logistic function, to the third order of the variance (equation 19):
    with p the chance and :math:`d = p (1 - p)`, its second, fourth and sixth derivatives are
    :math:`d (1 - 2 p)` times 1, 1 - 12 d and 1 - 60 d + 360 d^2.
    """
    p, v = 1.0 / (1.0 + math.exp(abs(odds))), min(noise, MOST_NOISE)
    d = p * (1.0 - p)
    change = v / 2 - v * v / 8 * (1 - 12 * d) + v * v * v / 48 * (1 - 60 * d + 360 * d * d)
    p -= d * (1 - 2 * p) * change
    return p if odds < 0 else 1.0 - p


@inner
def draw_value(n_rows, needs, rng):
    """Draw a parameter given presence, less spread by what its mode is already off."""
    mode, precision, shift, around, left, right, _ = needs
    return mode + math.sqrt(1.0 - shift) * draw_around(n_rows, precision, around, left, right, rng)


@inner
def ends_of(needs):
    """Where the conditional of a parameter ends, but for a share of e^-6 or less."""
    mode, left, right = needs[0], needs[4], needs[5]
    return mode + left[1] + LEAST / (3 * left[0]), mode + right[1] + LEAST / (3 * right[0])


@inner
def reaches_far(now, needs):
    """Whether the conditional of a coupling, zero included, is wider than particles vouch for.

    Or lies farther from the coupling now.
    """
    low, high = ends_of(needs)
    low, high = min(low, 0.0), max(high, 0.0)
    return high - low > WITHIN_REACH or now < low - REACH or now > high + REACH


@inner
def odds_near_zero(lanes, residual, scale, needs):
    """Log evidence of presence with a coupling of at most ``REACH`` in size, and its noise."""
    mode, precision, _, around, _, _, pair = needs
    n_rows, log_slab = scale[0], scale[2]
    evidence = log_integral_between(-REACH - mode, REACH - mode, n_rows, precision, around)
    evidence -= value_from_mode(-mode, n_rows, precision, around)
    nearest = min(max(mode, -REACH), REACH)
    return evidence + log_slab, noise_at(lanes, n_rows, pair, nearest, residual)[0]


@inner
def draw_within(low, high, n_rows, needs, rng):
    """Draw a parameter given presence and an interval."""
    mode, precision, _, around, left, right, _ = needs
    return mode + draw_between(low - mode, high - mode, n_rows, precision, around, left, right, rng)


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
