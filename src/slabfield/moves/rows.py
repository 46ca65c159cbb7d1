r"""Collapsed updates of the edges and biases within a block, on a weighted pseudo-likelihood.

When a centred coupling moves by a, so that the biases of its ends move by -a u and -a v, the log
posterior moves by

.. math:: \ell(a) = s a - q a^2 / 2 - w \sum_t
   [\log(1 + p_{it} (e^{a (x_{jt} - u)} - 1)) + \log(1 + p_{jt} (e^{a (x_{it} - v)} - 1))]

(equation 21): w is the weight, s and q take in the data, the slab and the priors of the biases, and
p are the conditional probabilities now. It is log-concave. Presence is drawn with the coupling
integrated out by the trapezoidal rule, then the coupling, exactly, by rejection.

Most edges are absent and stay so. For them a Taylor series of fourth order about zero, with a bound
on its error, tells how likely presence is; only where a random number does not lie clear of that is
more worked out.
"""

from __future__ import annotations

import math

from slabfield._jit import inner
from slabfield.kernels.rows import log_sum, power_sums, shift_field, tilted_sums
from slabfield.likelihood.pseudo import refresh
from slabfield.moves.pair import facts_of, log_odds_of, turn
from slabfield.moves.state import insert, remove

# Couplings stay within this: the slab is cut there. Biases move by at most twice as much at a time
MOST_COUPLING = 20.0
# Largest fifth derivative of log(1 + e^h); and the error of a log evidence, and of a probability,
# up to which the series about zero is made use of
FIFTH = 0.1277
MOST_ERROR = 0.3
MOST_DOUBT = 5e-3
# Step of an integral in standard deviations; lower points of it, in logs from the top, do not count
STEP = 1.25
LEAST = -13.0

# Handed on, as in the updates on tables, are plain arrays and numbers: ``rows`` (p, x and
# what rows count); of an edge or bias its ``sides`` (the two nodes and
# their centres) and its ``shape`` (weight, s, q, and the interval in which it may move). A bias is
# a coupling, with centre -1, to the node after the last, which is 0 in all rows and has no
# conditional.


@inner
def value_at(a, rows, sides, shape):
    r""":math:`\ell(a)`."""
    p, x, _, bounds, times = rows
    i, j, u, v = sides
    weight, slope, precision, _, _ = shape
    low = math.exp(-u * a)
    change = math.exp((1.0 - u) * a) - low
    total = log_sum(p, x, i, j, low - 1.0, change, bounds, times)
    if j < p.shape[0]:
        low = math.exp(-v * a)
        change = math.exp((1.0 - v) * a) - low
        total += log_sum(p, x, j, i, low - 1.0, change, bounds, times)
    return slope * a - 0.5 * precision * a * a - weight * total


@inner
def side_slopes(a, p, x, counted, i, j, u):
    """First and second derivative of what one conditional adds, at a."""
    low = math.exp(-u * a)
    change = math.exp((1.0 - u) * a) - low
    s, v, sx, vx = tilted_sums(p, x, counted, i, j, low - 1.0, change)
    return sx - u * s, (1.0 - 2.0 * u) * vx + u * u * v


@inner
def slopes_at(a, rows, sides, shape):
    r"""First derivative of :math:`\ell`, and minus the second."""
    p, x, counted = rows[0], rows[1], rows[2]
    i, j, u, v = sides
    weight, slope, precision, _, _ = shape
    first, second = side_slopes(a, p, x, counted, i, j, u)
    if j < p.shape[0]:
        other, other2 = side_slopes(a, p, x, counted, j, i, v)
        first, second = first + other, second + other2
    return slope - precision * a - weight * first, precision + weight * second


@inner
def find_peak(start, rows, sides, shape):
    r"""Maximum of :math:`\ell`, a standard deviation there, and its height.

    Newton's method inside a bracket. After a step of less than 0.02 standard deviations the mode is
    right to about 1e-4 of one, which is enough: the integral and the draws depend on where exactly
    it is only by the square.
    """
    low, high = shape[3], shape[4]
    a = start if low < start < high else 0.5 * (low + high)
    curvature = 1.0
    for _ in range(100):
        gradient, curvature = slopes_at(a, rows, sides, shape)
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

    The trapezoidal rule with a step of 5/4 standard deviations: for a Gaussian it is off by 1e-5,
    and with every second point left out by 0.08. Halving the step raises the error to about its
    fourth power, so where the sums of even and odd points differ by less than 0.15 of both together
    it is off by less than 1e-4; where they differ by more, the step is halved.
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
    """Sums of the integrand, relative to its top, at even and odd multiples of the step.

    With a stride of two, only at odd ones. As the logarithm is concave, a line through the last two
    points tells when the next cannot count.
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
    r"""Draw from the density proportional to :math:`e^{\ell}`: how far to move.

    Rejection from the envelope of three tangents, at the mode and one standard deviation on either
    side of it. Outside the interval nothing is accepted.
    """
    mode, spread, top = peak
    if not shape[3] + spread <= mode <= shape[4] - spread:
        return min(max(mode, shape[3]), shape[4])
    rate, _ = slopes_at(mode - spread, rows, sides, shape)
    left = mode - spread + (top - value_at(mode - spread, rows, sides, shape)) / rate
    left_width = 1.0 / rate
    rate, _ = slopes_at(mode + spread, rows, sides, shape)
    right = mode + spread + (top - value_at(mode + spread, rows, sides, shape)) / rate
    right_width = -1.0 / rate
    # Nine in ten are accepted; the bound only keeps numbers beyond double precision from hanging
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
            value = value_at(a, rows, sides, shape) - top
            if rng.standard_exponential() > envelope - value:
                return a
    return mode


@inner
def series_side(p, ones, i, j, u, total, n_ones, n_rows):
    """Derivatives 1 to 4 of what one conditional adds, at zero, and the sum of |x - u|^5."""
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

    Laplace's method at the mode of the series, with the corrections of the next order. The error
    is what the fifth derivative can make at two standard deviations beyond the mode.
    """
    weight, slope, precision, _, _ = shape
    g = slope - weight * (one[0] + other[0])
    h2 = precision + weight * (one[1] + other[1])
    h3, h4 = weight * (one[2] + other[2]), weight * (one[3] + other[3])
    a = g / h2
    for _ in range(2):
        a += (g - a * (h2 + a * (0.5 * h3 + a * h4 / 6))) / (h2 + a * (h3 + 0.5 * a * h4))
    k2, k3 = h2 + a * (h3 + 0.5 * a * h4), h3 + a * h4
    if not k2 > 0.5 * h2:
        return 0.0, math.inf, 0.0
    top = a * (g - a * (0.5 * h2 + a * (h3 / 6 + a * h4 / 24)))
    more = 5 * k3 * k3 / (24 * k2 * k2 * k2) - h4 / (8 * k2 * k2)
    reach = abs(a) + 2.0 / math.sqrt(k2)
    error = weight * FIFTH * (one[4] + other[4]) * reach**5 / 120 + more * more
    return top + 0.5 * math.log(2 * math.pi / k2) + more, error, a


@inner
def edge_shape(weight, facts, data_sum, bias_sum, coupling, bias, scale):
    """Weight, linear and quadratic part of what an edge is judged by, and where it may move."""
    alpha, _, _, i, j, u, v = facts
    _, slab_precision, _, bias_precision = scale
    a = coupling[alpha]
    slope = weight * (2 * data_sum[alpha] - u * bias_sum[i] - v * bias_sum[j])
    slope += bias_precision * (bias[i] * u + bias[j] * v) - slab_precision * a
    precision = slab_precision + bias_precision * (u * u + v * v)
    return weight, slope, precision, -MOST_COUPLING - a, MOST_COUPLING - a


@inner
def give(x, field, p, counted, total, powers, empty, facts, bias, change):
    """Take note that an edge's coupling moves: biases of its ends, and fields in all rows."""
    _, _, _, i, j, u, v = facts
    if change == 0.0:
        return
    bias[i] -= u * change
    bias[j] -= v * change
    shift_field(field[i], x[j], -u * change, change)
    shift_field(field[j], x[i], -v * change, change)
    refresh(field, p, counted, total, powers, empty, i)
    refresh(field, p, counted, total, powers, empty, j)


@inner
def update_edges(engine, sums, prior, state, block, n_edges, scale, tally, rng):
    """Draw presence and coupling of the listed edges, one after the other, from their conditionals.

    With the coupling integrated out, presence has a probability of its own.
    """
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = p, x, counted, engine.bounds, engine.times
    ones, n_rows = engine.ones, engine.n_rows
    nodes, edges, data_mean, counts = block.nodes, block.edges, block.data_mean, block.counts
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum, chances, visits = sums.coupling, sums.bias, tally.chance, tally.visits
    prior_a, prior_b = prior.beta_a, prior.beta_b
    for edge in range(n_edges):
        facts = facts_of(edges, nodes, data_mean, edge)
        alpha, i, j, u, v = facts[0], facts[3], facts[4], facts[5], facts[6]
        if inclusion[alpha] == 0.0:
            continue
        shape = edge_shape(weight, facts, data_sum, bias_sum, coupling, bias, scale)
        sides = i, j, u, v
        forced, before = inclusion[alpha] == 1.0, coupling[alpha]
        evidence, error, start = log_evidence_series(
            series_side(p, ones, i, j, u, total, bias_sum[j], n_rows),
            series_side(p, ones, j, i, v, total, bias_sum[i], n_rows),
            shape,
        )
        stays, clear, peak = forced, True, (0.0, 0.0, 0.0)
        if not forced:
            others = counts[0] - present[alpha]
            prior_odds = log_odds_of(inclusion, counts, alpha, others, prior_a, prior_b) + scale[2]
            if before != 0.0:
                prior_odds -= value_at(-before, rows, sides, shape)
            uniform = rng.random()
            threshold = math.log(uniform / (1.0 - uniform))
            visits[alpha] += 1
            odds = evidence + prior_odds
            chance = 1.0 / (1.0 + math.exp(-odds))
            doubt = error * chance * (1.0 - chance)
            clear = error < MOST_ERROR and doubt < MOST_DOUBT and abs(odds - threshold) > error
            if clear and threshold > odds and not present[alpha]:
                chances[alpha] += chance
                continue
            if not clear:
                peak = find_peak(start, rows, sides, shape)
                odds = log_integral(peak, rows, sides, shape) + prior_odds
                chance = 1.0 / (1.0 + math.exp(-odds))
            chances[alpha] += chance
            stays = threshold < odds
        change = -before
        if stays:
            if clear:
                peak = find_peak(start, rows, sides, shape)
            change = draw_exactly(peak, rows, sides, shape, rng)
        if stays != (present[alpha] != 0):
            turn(state, alpha, stays, math.isnan(inclusion[alpha]), counts)
        coupling[alpha] = before + change if stays else 0.0
        give(x, field, p, counted, total, powers, empty, facts, bias, change)


@inner
def swap_edges(engine, sums, prior, state, block, n_open, n_tries, scale, rng):
    """Draw two open edges of a block; if just one is present, settle which of them it is.

    Given that exactly one of the two is, which one it is has odds of the ratio of their evidence
    and prior odds, each judged with the other out. Edges forced or forbidden stay out of it.
    """
    x, field, p, total, powers = engine.x, engine.field, engine.p, engine.total, engine.powers
    counted, empty, weight = engine.counted, engine.empty, engine.weight
    rows = p, x, counted, engine.bounds, engine.times
    nodes, edges, data_mean, counts = block.nodes, block.edges, block.data_mean, block.counts
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum = sums.coupling, sums.bias
    prior_a, prior_b = prior.beta_a, prior.beta_b
    for _ in range(min(n_tries, n_open * (n_open - 1) // 2)):
        leaving = block.open[int(rng.random() * n_open)]
        entering = block.open[int(rng.random() * n_open)]
        if present[edges[leaving, 0]] == present[edges[entering, 0]]:
            continue
        if present[edges[entering, 0]]:
            leaving, entering = entering, leaving
        old, new = edges[leaving, 0], edges[entering, 0]
        if inclusion[old] == 1.0 or inclusion[new] == 0.0:
            continue
        facts = facts_of(edges, nodes, data_mean, leaving)
        give(x, field, p, counted, total, powers, empty, facts, bias, -coupling[old])
        coupling[old] = 0.0
        shape = edge_shape(weight, facts, data_sum, bias_sum, coupling, bias, scale)
        sides = facts[3], facts[4], facts[5], facts[6]
        peak = find_peak(0.0, rows, sides, shape)
        facts2 = facts_of(edges, nodes, data_mean, entering)
        shape2 = edge_shape(weight, facts2, data_sum, bias_sum, coupling, bias, scale)
        sides2 = facts2[3], facts2[4], facts2[5], facts2[6]
        peak2 = find_peak(0.0, rows, sides2, shape2)
        # with neither there, as many of those that share p0 are present as are without the old one
        learnt_old, learnt_new = math.isnan(inclusion[old]), math.isnan(inclusion[new])
        others = counts[0] - (1 if learnt_old else 0)
        odds = log_integral(peak2, rows, sides2, shape2) - log_integral(peak, rows, sides, shape)
        odds += log_odds_of(inclusion, counts, new, others, prior_a, prior_b)
        odds -= log_odds_of(inclusion, counts, old, others, prior_a, prior_b)
        chosen = old
        if rng.random() * (1.0 + math.exp(-odds)) < 1.0:
            chosen, facts, shape, sides, peak = new, facts2, shape2, sides2, peak2
            remove(state, old)
            insert(state, new)
            counts[0] = others + (1 if learnt_new else 0)
        value = draw_exactly(peak, rows, sides, shape, rng)
        coupling[chosen] = value
        give(x, field, p, counted, total, powers, empty, facts, bias, value)


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
