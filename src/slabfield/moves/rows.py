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
from slabfield.kernels.slab import LEAST
from slabfield.likelihood.pseudo import flat, refresh
from slabfield.moves.pair import facts_of, log_odds_of
from slabfield.moves.state import insert, remove

# Couplings stay within this: the slab is cut there. Biases move by at most twice as much at a time
MOST_COUPLING = 20.0
# Largest fifth derivative of log(1 + e^h); and the error of a log evidence, and of a probability,
# up to which the series about zero is made use of
FIFTH = 0.1277
MOST_ERROR = 0.1
MOST_CHANCE_ERROR = 1e-3
# Swaps tried for each edge of a block
SWAP_SHARE = 0.25

# Handed on, as in the updates on tables, are plain arrays and numbers: of an edge or bias its
# ``sides`` (p and x of the one conditional and its centre, and of the other), its ``shape`` (weight,
# s, q, and the interval in which it may move), and ``room``.


@inner
def value_at(a, sides, shape, room):
    r""":math:`\ell(a)`."""
    p, x, u, p2, x2, v = sides
    weight, slope, precision, _, _ = shape
    low, low2 = math.exp(-u * a), math.exp(-v * a)
    total = log_sum(p, x, low - 1.0, math.exp((1.0 - u) * a) - low, room)
    if p2.size > 0:
        total += log_sum(p2, x2, low2 - 1.0, math.exp((1.0 - v) * a) - low2, room)
    return slope * a - 0.5 * precision * a * a - weight * total


@inner
def side_slopes(a, p, x, u):
    """First and second derivative of what one conditional adds, at a."""
    low = math.exp(-u * a)
    s, v, sx, vx = tilted_sums(
        p.reshape(p.size), x.reshape(p.size), low - 1.0, math.exp((1.0 - u) * a) - low
    )
    return sx - u * s, (1.0 - 2.0 * u) * vx + u * u * v


@inner
def slopes_at(a, sides, shape):
    r"""First derivative of :math:`\ell`, and minus the second."""
    p, x, u, p2, x2, v = sides
    weight, slope, precision, _, _ = shape
    first, second = side_slopes(a, p, x, u)
    if p2.size > 0:
        other, other2 = side_slopes(a, p2, x2, v)
        first, second = first + other, second + other2
    return slope - precision * a - weight * first, precision + weight * second


@inner
def find_mode(sides, shape):
    r"""Maximum of :math:`\ell` and the curvature near it: Newton's method inside a bracket.

    After a step of less than 0.02 standard deviations it is right to about 1e-4 of one, which is
    enough: the integral and the draws depend on where exactly it is only by the square.
    """
    gradient, curvature = slopes_at(0.0, sides, shape)
    reach = gradient / shape[2]
    low, high = max(shape[3], min(0.0, reach)), min(shape[4], max(0.0, reach))
    a = 0.0
    for _ in range(100):
        step = gradient / curvature
        a = a + step
        inside = low < a < high
        if not inside:
            a = 0.5 * (low + high)
        elif step * step * curvature < 4e-4:
            break
        gradient, curvature = slopes_at(a, sides, shape)
        if gradient > 0:
            low = a
        else:
            high = a
        if not high - low > 1e-9:
            break
    return a, curvature


@inner
def survey(sides, shape, room):
    r"""Mode of :math:`\ell`, a standard deviation, its height there, and the log integral.

    The trapezoidal rule as for the exact conditional: a step of one standard deviation is off by
    5e-9 for a Gaussian; where every second point by itself would tell another integral, by more
    than 2e-2, the step is halved.
    """
    mode, curvature = find_mode(sides, shape)
    spread = 1.0 / math.sqrt(curvature)
    top = value_at(mode, sides, shape, room)
    even, odd = trapezoid(mode, top, spread, 1, sides, shape, room)
    step = spread
    while abs(1.0 + even - odd) > 2e-2 * (1.0 + even + odd) and step > 1e-3 * spread:
        # the points so far are the even ones of the finer grid
        step *= 0.5
        even = even + odd
        _, odd = trapezoid(mode, top, step, 2, sides, shape, room)
    return mode, spread, top, top + math.log((1.0 + even + odd) * step)


@inner
def trapezoid(mode, top, step, stride, sides, shape, room):
    """Sums of the integrand, relative to its top, at even and odd multiples of the step.

    With a stride of two, only at odd ones.
    """
    even, odd = 0.0, 0.0
    for side in range(2):
        direction = step if side == 0 else -step
        k = 1
        while True:
            a = mode + k * direction
            if not shape[3] <= a <= shape[4]:
                break
            value = value_at(a, sides, shape, room) - top
            if not value > LEAST:
                break
            if k & 1:
                odd += math.exp(value)
            else:
                even += math.exp(value)
            k += stride
    return even, odd


@inner
def draw_exactly(found, sides, shape, room, rng):
    r"""Draw from the density proportional to :math:`e^{\ell}`: how far to move.

    Rejection from the envelope of three tangents, at the mode and one standard deviation on either
    side of it. Outside the interval nothing is accepted.
    """
    mode, spread, top, _ = found
    if not shape[3] + spread <= mode <= shape[4] - spread:
        return min(max(mode, shape[3]), shape[4])
    rate, _ = slopes_at(mode - spread, sides, shape)
    left = mode - spread + (top - value_at(mode - spread, sides, shape, room)) / rate
    left_width = 1.0 / rate
    rate, _ = slopes_at(mode + spread, sides, shape)
    right = mode + spread + (top - value_at(mode + spread, sides, shape, room)) / rate
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
            value = value_at(a, sides, shape, room) - top
            if rng.standard_exponential() > envelope - value:
                return a
    return mode


@inner
def series_side(p, x, u, total, n_ones, n_rows):
    """Derivatives 1 to 4 of what one conditional adds, at zero, and the sum of |x - u|^5."""
    m1, m2, m3, m4 = power_sums(p.reshape(p.size), x.reshape(p.size))
    r1, r2, r3, r4 = total[0] - m1, total[1] - m2, total[2] - m3, total[3] - m4
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
    r"""Log of the integral of :math:`e^{\ell}` from four derivatives at zero, and its error.

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
        return 0.0, math.inf
    top = a * (g - a * (0.5 * h2 + a * (h3 / 6 + a * h4 / 24)))
    more = 5 * k3 * k3 / (24 * k2 * k2 * k2) - h4 / (8 * k2 * k2)
    reach = abs(a) + 2.0 / math.sqrt(k2)
    error = weight * FIFTH * (one[4] + other[4]) * reach**5 / 120 + more * more
    return top + 0.5 * math.log(2 * math.pi / k2) + more, error


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
def give(x, field, p, total, room, n_rows, facts, coupling, bias, change):
    """Move an edge's coupling, its ends' biases, and their fields in all rows."""
    alpha, _, _, i, j, u, v = facts
    if change == 0.0:
        return
    bias[i] -= u * change
    bias[j] -= v * change
    shift_field(flat(field, i), flat(x, j), -u * change, change)
    shift_field(flat(field, j), flat(x, i), -v * change, change)
    refresh(field, p, total, room, n_rows, i)
    refresh(field, p, total, room, n_rows, j)


@inner
def update_edges(engine, sums, prior, state, block, n_edges, scale, tally, rng):
    """Draw presence and coupling of the listed edges, one after the other, from their conditionals.

    With the coupling integrated out, presence has a probability of its own.
    """
    x, field, p, total, room = engine.x, engine.field, engine.p, engine.total, engine.room
    weight, n_rows = engine.weight, engine.n_rows
    nodes, edges, data_mean, counts = block.nodes, block.edges, block.data_mean, block.counts
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum, chances, visits = sums.coupling, sums.bias, tally.chance, tally.visits
    for edge in range(n_edges):
        facts = facts_of(edges, nodes, data_mean, edge)
        alpha, i, j, u, v = facts[0], facts[3], facts[4], facts[5], facts[6]
        if inclusion[alpha] == 0.0:
            continue
        shape = edge_shape(weight, facts, data_sum, bias_sum, coupling, bias, scale)
        sides = p[i], x[j], u, p[j], x[i], v
        forced, before = inclusion[alpha] == 1.0, coupling[alpha]
        odds, uniform = 0.0, 0.0
        if not forced:
            others = counts[0] - present[alpha]
            odds = log_odds_of(inclusion, counts, alpha, others, prior.beta_a, prior.beta_b)
            odds += scale[2]
            uniform = rng.random()
            visits[alpha] += 1
        if not forced and not present[alpha]:
            evidence, error = log_evidence_series(
                series_side(p[i], x[j], u, total[i], bias_sum[j], n_rows),
                series_side(p[j], x[i], v, total[j], bias_sum[i], n_rows),
                shape,
            )
            if error < MOST_ERROR:
                chance = 1.0 / (1.0 + math.exp(-evidence - odds))
                if error * chance < MOST_CHANCE_ERROR and uniform > chance * math.exp(error):
                    chances[alpha] += chance
                    continue
        found = survey(sides, shape, room)
        stays = forced
        if not forced:
            absent = value_at(-before, sides, shape, room) if before != 0.0 else 0.0
            chance = 1.0 / (1.0 + math.exp(absent - found[3] - odds))
            chances[alpha] += chance
            stays = uniform < chance
        change = -before
        if stays:
            change = draw_exactly(found, sides, shape, room, rng)
        if stays != (present[alpha] != 0):
            if stays:
                insert(state, alpha)
            else:
                remove(state, alpha)
            if math.isnan(inclusion[alpha]):
                counts[0] += 1 if stays else -1
        coupling[alpha] = before + change if stays else 0.0
        give(x, field, p, total, room, n_rows, facts, coupling, bias, change)


@inner
def swap_edges(engine, sums, prior, state, block, n_edges, scale, rng):
    """Draw two edges of a block; if just one is present, let them settle which of them it is.

    Given that exactly one of the two is, which one it is has odds of the ratio of their evidence
    and prior odds, each judged with the other out. Edges forced or forbidden stay out of it.
    """
    x, field, p, total, room = engine.x, engine.field, engine.p, engine.total, engine.room
    weight, n_rows = engine.weight, engine.n_rows
    nodes, edges, data_mean, counts = block.nodes, block.edges, block.data_mean, block.counts
    coupling, bias, present, inclusion = state.coupling, state.bias, state.present, prior.inclusion
    data_sum, bias_sum = sums.coupling, sums.bias
    prior_a, prior_b = prior.beta_a, prior.beta_b
    for _ in range(int(SWAP_SHARE * n_edges + rng.random())):
        leaving, entering = int(rng.random() * n_edges), int(rng.random() * n_edges)
        if present[edges[leaving, 0]] == present[edges[entering, 0]]:
            continue
        if present[edges[entering, 0]]:
            leaving, entering = entering, leaving
        old, new = edges[leaving, 0], edges[entering, 0]
        if inclusion[old] == 1.0 or inclusion[new] == 0.0:
            continue
        facts = facts_of(edges, nodes, data_mean, leaving)
        give(x, field, p, total, room, n_rows, facts, coupling, bias, -coupling[old])
        coupling[old] = 0.0
        shape = edge_shape(weight, facts, data_sum, bias_sum, coupling, bias, scale)
        sides = p[facts[3]], x[facts[4]], facts[5], p[facts[4]], x[facts[3]], facts[6]
        found = survey(sides, shape, room)
        facts2 = facts_of(edges, nodes, data_mean, entering)
        shape2 = edge_shape(weight, facts2, data_sum, bias_sum, coupling, bias, scale)
        sides2 = p[facts2[3]], x[facts2[4]], facts2[5], p[facts2[4]], x[facts2[3]], facts2[6]
        found2 = survey(sides2, shape2, room)
        # with neither there, as many of those that share p0 are present as are without the old one
        learnt_old, learnt_new = math.isnan(inclusion[old]), math.isnan(inclusion[new])
        others = counts[0] - (1 if learnt_old else 0)
        odds = found2[3] - found[3]
        odds += log_odds_of(inclusion, counts, new, others, prior_a, prior_b)
        odds -= log_odds_of(inclusion, counts, old, others, prior_a, prior_b)
        chosen = old
        if rng.random() * (1.0 + math.exp(-odds)) < 1.0:
            chosen, facts, shape, sides, found = new, facts2, shape2, sides2, found2
            remove(state, old)
            insert(state, new)
            counts[0] = others + (1 if learnt_new else 0)
        value = draw_exactly(found, sides, shape, room, rng)
        coupling[chosen] = value
        give(x, field, p, total, room, n_rows, facts, coupling, bias, value)


@inner
def update_biases(engine, sums, prior, state, block, first, last, rng):
    """Draw the biases of a block's nodes, first to last, from their conditionals.

    A bias is a coupling with centre -1 to a node that is 0 in all rows, with one conditional.
    """
    bias, weight, precision = state.bias, engine.weight, prior.bias_precision
    for place in range(first, last):
        i = block.nodes[place]
        reach = 2 * MOST_COUPLING
        shape = (weight, weight * sums.bias[i] - precision * bias[i], precision, -reach, reach)
        sides = engine.p[i], engine.zeros, -1.0, engine.none, engine.none, 0.0
        found = survey(sides, shape, engine.room)
        change = draw_exactly(found, sides, shape, engine.room, rng)
        bias[i] += change
        shift_field(flat(engine.field, i), flat(engine.x, i), change, 0.0)
        refresh(engine.field, engine.p, engine.total, engine.room, engine.n_rows, i)
