r"""Collapsed Gibbs updates of edges and biases within a block, on a weighted pseudo-likelihood.

When a centered coupling moves by a, so that the biases of its ends move by -a u and -a v, the log
posterior changes by

.. math:: \ell(a) = s a - q a^2 / 2 - w \sum_t
   [\log(1 + p_{it} (e^{a (x_{jt} - u)} - 1)) + \log(1 + p_{jt} (e^{a (x_{it} - v)} - 1))]

(equation 21): w is the weight, s and q combine the data, the slab and the priors of the biases, and
p are the present conditional probabilities. It is log-concave. Presence is drawn with the coupling
integrated out by the trapezoidal rule, then the coupling, exactly, by rejection.

Most edges are absent and stay so. For them a Taylor series of fourth order about zero, with a bound
on its error, gives the inclusion probability; the integral is computed only if the uniform random
number is not clearly on one side of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.pseudo_sums import log_sum, power_sums, shift_field, tilted_sums
from slabfield.likelihood.pseudolikelihood import refresh
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.edge_gibbs import edge_at, toggle
from slabfield.moves.evidence_sums import add_evidence, probability_of_absence
from slabfield.moves.hyperparameters import log_odds
from slabfield.moves.pseudo_conditional import (
    derivatives_at,
    draw_exactly,
    draw_presence,
    find_peak,
    log_integral,
    value_at,
)

# Largest absolute coupling: the slab is truncated there. A bias moves by at most twice this
MOST_COUPLING = 20.0


class BinaryRows(NamedTuple):
    """Conditionals and data of all rows, the count of each, and the parts of equal counts.

    For an edge or bias, ``sides`` is the two nodes and their centers. A bias is a coupling, with
    center -1, to the node after the last, which is 0 in all rows and has no conditional.
    """

    p: NDArray[np.float64]
    x: NDArray[np.float64]
    counted: NDArray[np.float64]
    bounds: NDArray[np.int64]
    times: NDArray[np.float64]


@value_at.register(BinaryRows)
def binary_value(rows, a, sides, shape):
    r""":math:`\ell(a)`."""
    p, x, _, bounds, times = rows
    i, j, u, v = sides
    weight, linear, precision, _, _ = shape
    low = math.exp(-u * a)
    change = math.exp((1.0 - u) * a) - low
    total = log_sum(p, x, i, j, low - 1.0, change, bounds, times)
    if j < p.shape[0]:
        low = math.exp(-v * a)
        change = math.exp((1.0 - v) * a) - low
        total += log_sum(p, x, j, i, low - 1.0, change, bounds, times)
    return linear * a - 0.5 * precision * a * a - weight * total


@inner
def side_derivatives(a, p, x, counted, i, j, u):
    """First and second derivative of one conditional's contribution, at a."""
    low = math.exp(-u * a)
    change = math.exp((1.0 - u) * a) - low
    s, v, sx, vx = tilted_sums(p, x, counted, i, j, low - 1.0, change)
    return sx - u * s, (1.0 - 2.0 * u) * vx + u * u * v


@derivatives_at.register(BinaryRows)
def binary_derivatives(rows, a, sides, shape):
    r"""First derivative of :math:`\ell`, and minus the second."""
    p, x, counted = rows[0], rows[1], rows[2]
    i, j, u, v = sides
    weight, linear, precision, _, _ = shape
    first, second = side_derivatives(a, p, x, counted, i, j, u)
    if j < p.shape[0]:
        other, other2 = side_derivatives(a, p, x, counted, j, i, v)
        first, second = first + other, second + other2
    return linear - precision * a - weight * first, precision + weight * second


@inner
def series_side(p, ones, i, j, u, total, n_ones, n_rows):
    """Derivatives 1 to 4 of one conditional's contribution, at zero, and the sum of |x - u|^5."""
    m1, m2, m3, m4 = power_sums(p, ones, i, j)
    r1, r2, r3, r4 = total[i, 0] - m1, total[i, 1] - m2, total[i, 2] - m3, total[i, 3] - m4
    z, y = 1.0 - u, -u
    z2, y2 = z * z, y * y
    first = z * m1 + y * r1
    second = z2 * (m1 - m2) + y2 * (r1 - r2)
    third = z2 * z * (m1 - 3 * m2 + 2 * m3) + y2 * y * (r1 - 3 * r2 + 2 * r3)
    fourth = z2 * z2 * (m1 - 7 * m2 + 12 * m3 - 6 * m4)
    fourth += y2 * y2 * (r1 - 7 * r2 + 12 * r3 - 6 * r4)
    return first, second, third, fourth, n_ones * z2 * z2 * z - (n_rows - n_ones) * y2 * y2 * y


@inner
def edge_shape(weight, edge, data_sum, bias_sum, coupling, bias, scale):
    """Weight, linear and quadratic term of an edge's log posterior, and the allowed interval."""
    alpha, _, _, i, j, u, v = edge
    _, slab_precision, _, bias_precision = scale
    a = coupling[alpha]
    linear = weight * (2 * data_sum[alpha] - u * bias_sum[i] - v * bias_sum[j])
    linear += bias_precision * (bias[i] * u + bias[j] * v) - slab_precision * a
    precision = slab_precision + bias_precision * (u * u + v * v)
    return weight, linear, precision, -MOST_COUPLING - a, MOST_COUPLING - a


@inner
def set_coupling(x, field, p, counted, total, powers, empty, edge, bias, change):
    """Apply a move of a coupling to the biases of its ends and to the fields of all rows."""
    _, _, _, i, j, u, v = edge
    if change == 0.0:
        return
    bias[i] -= u * change
    bias[j] -= v * change
    shift_field(field[i], x[j], -u * change, change)
    shift_field(field[j], x[i], -v * change, change)
    refresh(field, p, counted, total, powers, empty, i)
    refresh(field, p, counted, total, powers, empty, j)


@inner
def update_edges(engine, sums, prior, state, block, n_edges, scale, inclusion_stats, rng):
    """Draw presence and coupling of the listed edges in turn, each from its full conditional.

    Presence is drawn with the coupling integrated out.
    """
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = BinaryRows(p, x, counted, engine.bounds, engine.times)
    ones, n_rows = engine.ones, engine.n_rows
    nodes, edges, data_mean = block.nodes, block.edges, block.data_mean
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum = sums.coupling, sums.bias
    p0 = state.hyper[0]
    evidence_sums = inclusion_stats.evidence.sums[inclusion_stats.evidence.batch[0]]
    for place in range(n_edges):
        edge = edge_at(edges, nodes, data_mean, place)
        alpha, _, _, i, j, u, v = edge
        if inclusion[alpha] == 0.0:
            continue
        shape = edge_shape(weight, edge, data_sum, bias_sum, coupling, bias, scale)
        sides = i, j, u, v
        forced, before, prior_odds = inclusion[alpha] == 1.0, coupling[alpha], math.inf
        if not forced:
            prior_odds = log_odds(inclusion, p0, alpha) + scale.log_slab
        included, odds, peak = draw_presence(
            rows,
            series_side(p, ones, i, j, u, total, bias_sum[j], n_rows),
            series_side(p, ones, j, i, v, total, bias_sum[i], n_rows),
            sides, shape, before, prior_odds, rng,
        )  # fmt: skip
        change = draw_exactly(rows, peak, sides, shape, rng) if included else -before
        if not forced:
            probability = 1.0 / (1.0 + math.exp(-odds))
            add_evidence(
                evidence_sums, inclusion, p0, alpha, probability,
                probability_of_absence(odds, probability),
            )  # fmt: skip
        if included != (present[alpha] != 0):
            toggle(state, alpha, included)
        coupling[alpha] = before + change if included else 0.0
        set_coupling(x, field, p, counted, total, powers, empty, edge, bias, change)


@inner
def exchange_edges(engine, sums, prior, state, block, n_undecided, n_tries, scale, rng):
    """Pick two undecided edges of a block; if exactly one is present, redraw which of them it is.

    Given that exactly one of the two is present, the odds of which one are the ratio of their
    evidence and prior odds, each computed without the other. Edges forced or forbidden are never
    swapped.
    """
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = BinaryRows(p, x, counted, engine.bounds, engine.times)
    nodes, edges, data_mean = block.nodes, block.edges, block.data_mean
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum = sums.coupling, sums.bias
    p0 = state.hyper[0]
    for _ in range(min(n_tries, n_undecided * (n_undecided - 1) // 2)):
        leaving = block.undecided[int(rng.random() * n_undecided)]
        entering = block.undecided[int(rng.random() * n_undecided)]
        if present[edges[leaving, 0]] == present[edges[entering, 0]]:
            continue
        if present[edges[entering, 0]]:
            leaving, entering = entering, leaving
        old, new = edges[leaving, 0], edges[entering, 0]
        if inclusion[old] == 1.0 or inclusion[new] == 0.0:
            continue
        edge = edge_at(edges, nodes, data_mean, leaving)
        set_coupling(x, field, p, counted, total, powers, empty, edge, bias, -coupling[old])
        coupling[old] = 0.0
        shape = edge_shape(weight, edge, data_sum, bias_sum, coupling, bias, scale)
        sides = edge.i, edge.j, edge.u, edge.v
        peak = find_peak(rows, 0.0, sides, shape)
        entering_edge = edge_at(edges, nodes, data_mean, entering)
        shape2 = edge_shape(weight, entering_edge, data_sum, bias_sum, coupling, bias, scale)
        sides2 = entering_edge.i, entering_edge.j, entering_edge.u, entering_edge.v
        peak2 = find_peak(rows, 0.0, sides2, shape2)
        odds = log_integral(rows, peak2, sides2, shape2) - log_integral(rows, peak, sides, shape)
        odds += log_odds(inclusion, p0, new) - log_odds(inclusion, p0, old)
        chosen = old
        if rng.random() * (1.0 + math.exp(-odds)) < 1.0:
            chosen, edge, shape, sides, peak = new, entering_edge, shape2, sides2, peak2
            remove(state, old)
            insert(state, new)
        value = draw_exactly(rows, peak, sides, shape, rng)
        coupling[chosen] = value
        set_coupling(x, field, p, counted, total, powers, empty, edge, bias, value)


@inner
def update_biases(engine, sums, prior, state, block, first, last, rng):
    """Draw the biases of a block's nodes, first to last, from their conditionals."""
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = BinaryRows(p, x, counted, engine.bounds, engine.times)
    bias, precision = state.bias, prior.bias_precision
    for place in range(first, last):
        i = block.nodes[place]
        reach = 2 * MOST_COUPLING
        shape = (weight, weight * sums.bias[i] - precision * bias[i], precision, -reach, reach)
        sides = i, bias.size, -1.0, 0.0
        peak = find_peak(rows, 0.0, sides, shape)
        change = draw_exactly(rows, peak, sides, shape, rng)
        bias[i] += change
        shift_field(field[i], x[i], change, 0.0)
        refresh(field, p, counted, total, powers, empty, i)
