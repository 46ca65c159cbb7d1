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

from slabfield._jit import inner
from slabfield.kernels.pseudo_sums import log_sum, power_sums, shift_field, tilted_sums
from slabfield.likelihood.pseudolikelihood import refresh
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.edge_gibbs import edge_at, log_odds_of, toggle
from slabfield.moves.evidence_sums import add_evidence

# Largest absolute coupling: the slab is truncated there. A bias moves by at most twice this
MOST_COUPLING = 20.0
# Largest fifth derivative of log(1 + e^h)
FIFTH = 0.1277
# Largest error of the log evidence with which the series about zero is used
MOST_ERROR = 0.3
# Largest error of the inclusion probability with which the series about zero is used
MOST_PROBABILITY_ERROR = 5e-3
# Step of the trapezoidal rule, in standard deviations
STEP = 1.25
# Log density relative to the mode below which points of the trapezoidal rule are dropped
LEAST = -13.0

# As in the updates on tables, plain arrays and numbers are passed: ``rows`` (p, x, and the counts
# of rows with their parts); for an edge or bias, ``sides`` (the two nodes and their centers),
# ``shape`` (weight, s, q, and the interval in which it may move) and ``peak`` (mode, standard
# deviation, log density at the mode). A bias is a coupling, with center -1, to the node after the
# last, which is 0 in all rows and has no conditional.


@inner
def value_at(a, rows, sides, shape):
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


@inner
def derivatives_at(a, rows, sides, shape):
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
def find_peak(start, rows, sides, shape):
    r"""Mode of :math:`\ell`, the standard deviation there, and the value of :math:`\ell`.

    Newton's method inside a bracket. After a step of less than 0.02 standard deviations the mode is
    accurate to about 1e-4 of one, which suffices: the integral and the draws depend on its error
    only to second order.
    """
    low, high = shape[3], shape[4]
    a = start if low < start < high else 0.5 * (low + high)
    curvature = 1.0
    for _ in range(100):
        gradient, curvature = derivatives_at(a, rows, sides, shape)
        if gradient > 0:
            low = a
        else:
            high = a
        step = gradient / curvature
        near = step * step * curvature < 4e-4
        a = a + step
        if not low < a < high:
            a = 0.5 * (low + high)
            near = high - low < 1e-9
        if near:
            break
    return a, 1.0 / math.sqrt(curvature), value_at(a, rows, sides, shape)


@inner
def log_integral(peak, rows, sides, shape):
    r"""Log of the integral of :math:`e^{\ell}`.

    The trapezoidal rule with a step of 5/4 standard deviations: for a Gaussian its error is 1e-5,
    and 0.08 with every second point omitted. Halving the step raises the error to about its fourth
    power, so where the sums of even and odd points differ by less than 0.15 of their total the
    error is below 1e-4; otherwise the step is halved.
    """
    step = STEP * peak[1]
    even, odd = trapezoid(peak, step, 1, rows, sides, shape)
    while abs(1.0 + even - odd) > 0.15 * (1.0 + even + odd) and step > 1e-3 * peak[1]:
        # the points so far are the even ones of the finer grid
        step *= 0.5
        even = even + odd
        _, odd = trapezoid(peak, step, 2, rows, sides, shape)
    return peak[2] + math.log((1.0 + even + odd) * step)


@inner
def trapezoid(peak, step, stride, rows, sides, shape):
    """Sums of the integrand, relative to the mode, at even and odd multiples of the step.

    With a stride of two, only at odd ones. As the logarithm is concave, a line through the last two
    points shows when the next is negligible.
    """
    even, odd = 0.0, 0.0
    for side in range(2):
        direction = step if side == 0 else -step
        k, last = 1, 0.0
        while True:
            a = peak[0] + k * direction
            if not shape[3] <= a <= shape[4]:
                break
            value = value_at(a, rows, sides, shape) - peak[2]
            if not value > LEAST:
                break
            if k & 1:
                odd += math.exp(value)
            else:
                even += math.exp(value)
            if 2 * value - last < LEAST:
                break
            last = value
            k += stride
    return even, odd


@inner
def draw_exactly(peak, rows, sides, shape, rng):
    r"""Draw a move from the density proportional to :math:`e^{\ell}`.

    Rejection from the envelope of three tangents, at the mode and one standard deviation on either
    side of it. Outside the interval nothing is accepted.
    """
    mode, sd, log_peak = peak
    if not shape[3] + sd <= mode <= shape[4] - sd:
        return min(max(mode, shape[3]), shape[4])
    rate, _ = derivatives_at(mode - sd, rows, sides, shape)
    left = mode - sd + (log_peak - value_at(mode - sd, rows, sides, shape)) / rate
    left_width = 1.0 / rate
    rate, _ = derivatives_at(mode + sd, rows, sides, shape)
    right = mode + sd + (log_peak - value_at(mode + sd, rows, sides, shape)) / rate
    right_width = -1.0 / rate
    # 90 % are accepted; the bound only prevents an endless loop on numbers that are not finite
    for _ in range(1000):
        place = rng.random() * (left_width + right - left + right_width)
        if place < right - left:
            a, envelope = left + place, 0.0
        else:
            envelope = -rng.standard_exponential()
            if place < right - left + left_width:
                a = left + envelope * left_width
            else:
                a = right - envelope * right_width
        if shape[3] <= a <= shape[4]:
            value = value_at(a, rows, sides, shape) - log_peak
            if rng.standard_exponential() > envelope - value:
                return a
    return mode


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
def log_evidence_series(one, other, shape):
    r"""Log of the integral of :math:`e^{\ell}` from four derivatives at zero, its error, the mode.

    Laplace's method at the mode of the series, with the corrections of the next order. The error is
    the largest effect of the fifth derivative at two standard deviations beyond the mode.
    """
    weight, linear, precision, _, _ = shape
    g = linear - weight * (one[0] + other[0])
    h2 = precision + weight * (one[1] + other[1])
    h3, h4 = weight * (one[2] + other[2]), weight * (one[3] + other[3])
    a = g / h2
    for _ in range(2):
        a += (g - a * (h2 + a * (0.5 * h3 + a * h4 / 6))) / (h2 + a * (h3 + 0.5 * a * h4))
    k2, k3 = h2 + a * (h3 + 0.5 * a * h4), h3 + a * h4
    if not k2 > 0.5 * h2:
        return 0.0, math.inf, 0.0
    log_peak = a * (g - a * (0.5 * h2 + a * (h3 / 6 + a * h4 / 24)))
    correction = 5 * k3 * k3 / (24 * k2 * k2 * k2) - h4 / (8 * k2 * k2)
    reach = abs(a) + 2.0 / math.sqrt(k2)
    error = weight * FIFTH * (one[4] + other[4]) * reach**5 / 120 + correction * correction
    return log_peak + 0.5 * math.log(2 * math.pi / k2) + correction, error, a


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
def probability_of_absence(odds, probability):
    """Probability that an edge is absent, not lost to rounding where presence is nearly certain."""
    return 1.0 - probability if odds < 0.0 else probability * math.exp(-odds)


@inner
def update_edges(engine, sums, prior, state, block, n_edges, scale, inclusion_stats, rng):
    """Draw presence and coupling of the listed edges in turn, each from its full conditional.

    Presence is drawn with the coupling integrated out.
    """
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = p, x, counted, engine.bounds, engine.times
    ones, n_rows = engine.ones, engine.n_rows
    nodes, edges, data_mean, counts = block.nodes, block.edges, block.data_mean, block.counts
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum, probabilities, visits = (
        sums.coupling,
        sums.bias,
        inclusion_stats.probability_sum,
        inclusion_stats.visits,
    )
    prior_a, prior_b = prior.beta_a, prior.beta_b
    evidence_sums = inclusion_stats.evidence.sums[inclusion_stats.evidence.batch[0]]
    for place in range(n_edges):
        edge = edge_at(edges, nodes, data_mean, place)
        alpha, _, _, i, j, u, v = edge
        if inclusion[alpha] == 0.0:
            continue
        shape = edge_shape(weight, edge, data_sum, bias_sum, coupling, bias, scale)
        sides = i, j, u, v
        forced, before = inclusion[alpha] == 1.0, coupling[alpha]
        evidence, error, start = log_evidence_series(
            series_side(p, ones, i, j, u, total, bias_sum[j], n_rows),
            series_side(p, ones, j, i, v, total, bias_sum[i], n_rows),
            shape,
        )
        included, series_suffices, peak = forced, True, (0.0, 0.0, 0.0)
        if not forced:
            others = counts[0] - present[alpha]
            prior_odds = log_odds_of(inclusion, counts, alpha, others, prior_a, prior_b)
            prior_odds += scale.log_slab
            if before != 0.0:
                prior_odds -= value_at(-before, rows, sides, shape)
            uniform = rng.random()
            threshold = math.log(uniform / (1.0 - uniform))
            visits[alpha] += 1
            odds = evidence + prior_odds
            probability = 1.0 / (1.0 + math.exp(-odds))
            probability_error = error * probability * (1.0 - probability)
            series_suffices = (
                error < MOST_ERROR
                and probability_error < MOST_PROBABILITY_ERROR
                and abs(odds - threshold) > error
            )
            if not series_suffices:
                peak = find_peak(start, rows, sides, shape)
                odds = log_integral(peak, rows, sides, shape) + prior_odds
                probability = 1.0 / (1.0 + math.exp(-odds))
            probabilities[alpha] += probability
            add_evidence(
                evidence_sums, inclusion, counts, alpha, others, prior_a, prior_b, probability,
                probability_of_absence(odds, probability),
            )  # fmt: skip
            if series_suffices and threshold > odds and not present[alpha]:
                continue
            included = threshold < odds
        change = -before
        if included:
            if series_suffices:
                peak = find_peak(start, rows, sides, shape)
            change = draw_exactly(peak, rows, sides, shape, rng)
        if included != (present[alpha] != 0):
            toggle(state, alpha, included, math.isnan(inclusion[alpha]), counts)
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
    rows = p, x, counted, engine.bounds, engine.times
    nodes, edges, data_mean, counts = block.nodes, block.edges, block.data_mean, block.counts
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum = sums.coupling, sums.bias
    prior_a, prior_b = prior.beta_a, prior.beta_b
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
        peak = find_peak(0.0, rows, sides, shape)
        entering_edge = edge_at(edges, nodes, data_mean, entering)
        shape2 = edge_shape(weight, entering_edge, data_sum, bias_sum, coupling, bias, scale)
        sides2 = entering_edge.i, entering_edge.j, entering_edge.u, entering_edge.v
        peak2 = find_peak(0.0, rows, sides2, shape2)
        # number of present edges that share p0, with neither of the two present
        learned_old, learned_new = math.isnan(inclusion[old]), math.isnan(inclusion[new])
        others = counts[0] - (1 if learned_old else 0)
        odds = log_integral(peak2, rows, sides2, shape2) - log_integral(peak, rows, sides, shape)
        odds += log_odds_of(inclusion, counts, new, others, prior_a, prior_b)
        odds -= log_odds_of(inclusion, counts, old, others, prior_a, prior_b)
        chosen = old
        if rng.random() * (1.0 + math.exp(-odds)) < 1.0:
            chosen, edge, shape, sides, peak = new, entering_edge, shape2, sides2, peak2
            remove(state, old)
            insert(state, new)
            counts[0] = others + (1 if learned_new else 0)
        value = draw_exactly(peak, rows, sides, shape, rng)
        coupling[chosen] = value
        set_coupling(x, field, p, counted, total, powers, empty, edge, bias, value)


@inner
def update_biases(engine, sums, prior, state, block, first, last, rng):
    """Draw the biases of a block's nodes, first to last, from their conditionals."""
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = p, x, counted, engine.bounds, engine.times
    bias, precision = state.bias, prior.bias_precision
    for place in range(first, last):
        i = block.nodes[place]
        reach = 2 * MOST_COUPLING
        shape = (weight, weight * sums.bias[i] - precision * bias[i], precision, -reach, reach)
        sides = i, bias.size, -1.0, 0.0
        peak = find_peak(0.0, rows, sides, shape)
        change = draw_exactly(peak, rows, sides, shape, rng)
        bias[i] += change
        shift_field(field[i], x[i], change, 0.0)
        refresh(field, p, counted, total, powers, empty, i)
