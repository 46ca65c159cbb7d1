r"""Mode, integral and draws of the conditional of one parameter on a weighted pseudo-likelihood.

With the parameter moved by a, the log posterior :math:`\ell(a)` is a sum over rows, and concave.
Engines differ in how they evaluate it: :func:`value_at` and :func:`derivatives_at` dispatch on the
type of ``rows``, the data and conditionals of an engine. ``sides`` describes the two nodes, in a
form of the engine's own; ``shape`` is the weight, the linear and the quadratic term, and the
interval in which the parameter may move; ``peak`` is the mode, the standard deviation from the
curvature there, and the log density at the mode.
"""

from __future__ import annotations

import math

from slabfield._jit import generic, inner

# Largest fifth cumulant of a variable in an interval of length one: that of a variable with two
# values, the fifth derivative of log(1 + e^h)
FIFTH = 0.1277
# Step of the trapezoidal rule, in standard deviations
STEP = 1.25
# Log density relative to the mode below which points of the trapezoidal rule are dropped
LEAST = -13.0
# Largest error of the log evidence with which the series about zero is used
MOST_ERROR = 0.3
# Largest error of the inclusion probability with which the series about zero is used
MOST_PROBABILITY_ERROR = 5e-3
# Largest amount by which the envelope of a draw is raised for the error of the series
MOST_RAISED = 0.1
# Smallest derivative of that envelope one standard deviation from the mode, per standard deviation
LEAST_RATE = 0.2


@generic
def value_at(rows, a, sides, shape):
    r""":math:`\ell(a)`, relative to that at zero."""


@generic
def derivatives_at(rows, a, sides, shape):
    r"""First derivative of :math:`\ell` at a, and minus the second."""


@inner
def find_peak(rows, start, sides, shape):
    r"""Mode of :math:`\ell`, the standard deviation there, and the value of :math:`\ell`.

    Newton's method inside a bracket. After a step of less than 0.02 standard deviations the mode is
    accurate to about 1e-4 of one, which suffices: the integral and the draws depend on its error
    only to second order.
    """
    low, high = shape[3], shape[4]
    a = start if low < start < high else 0.5 * (low + high)
    curvature = 1.0
    for _ in range(100):
        gradient, curvature = derivatives_at(rows, a, sides, shape)
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
    return a, 1.0 / math.sqrt(curvature), value_at(rows, a, sides, shape)


@inner
def log_integral(rows, peak, sides, shape):
    r"""Log of the integral of :math:`e^{\ell}`.

    The trapezoidal rule with a step of 5/4 standard deviations: for a Gaussian its error is 1e-5,
    and 0.08 with every second point omitted. Halving the step raises the error to about its fourth
    power, so where the sums of even and odd points differ by less than 0.15 of their total the
    error is below 1e-4; otherwise the step is halved.
    """
    step = STEP * peak[1]
    even, odd = trapezoid(rows, peak, step, 1, sides, shape)
    while abs(1.0 + even - odd) > 0.15 * (1.0 + even + odd) and step > 1e-3 * peak[1]:
        # the points so far are the even ones of the finer grid
        step *= 0.5
        even = even + odd
        _, odd = trapezoid(rows, peak, step, 2, sides, shape)
    return peak[2] + math.log((1.0 + even + odd) * step)


@inner
def trapezoid(rows, peak, step, stride, sides, shape):
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
            value = value_at(rows, a, sides, shape) - peak[2]
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
def draw_exactly(rows, peak, sides, shape, rng):
    r"""Draw a move from the density proportional to :math:`e^{\ell}`.

    Rejection from the envelope of three tangents, at the mode and one standard deviation on either
    side of it. Outside the interval nothing is accepted. The mode is searched if its standard
    deviation is zero.
    """
    if peak[1] == 0.0:
        peak = find_peak(rows, peak[0], sides, shape)
    mode, sd, log_peak = peak
    if not shape[3] + sd <= mode <= shape[4] - sd:
        return min(max(mode, shape[3]), shape[4])
    rate, _ = derivatives_at(rows, mode - sd, sides, shape)
    left = mode - sd + (log_peak - value_at(rows, mode - sd, sides, shape)) / rate
    left_width = 1.0 / rate
    rate, _ = derivatives_at(rows, mode + sd, sides, shape)
    right = mode + sd + (log_peak - value_at(rows, mode + sd, sides, shape)) / rate
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
            value = value_at(rows, a, sides, shape) - log_peak
            if rng.standard_exponential() > envelope - value:
                return a
    return mode


@inner
def series_of(one, other, shape):
    r"""First derivative of :math:`\ell` at zero, minus the next three, a bound on the fifth.

    ``one`` and ``other`` are four derivatives of the two conditionals' contributions, and what
    bounds the fifth up to ``FIFTH``.
    """
    weight, linear, precision, _, _ = shape
    return (
        linear - weight * (one[0] + other[0]), precision + weight * (one[1] + other[1]),
        weight * (one[2] + other[2]), weight * (one[3] + other[3]),
        weight * FIFTH * (one[4] + other[4]),
    )  # fmt: skip


@inner
def series_mode(series):
    """Mode of the series of fourth order, and minus its second derivative there."""
    g, h2, h3, h4, _ = series
    a = g / h2
    for _ in range(2):
        a += (g - a * (h2 + a * (0.5 * h3 + a * h4 / 6))) / (h2 + a * (h3 + 0.5 * a * h4))
    return a, h2 + a * (h3 + 0.5 * a * h4)


@inner
def series_value(series, a):
    """Value of the series of fourth order."""
    g, h2, h3, h4, _ = series
    return a * (g - a * (0.5 * h2 + a * (h3 / 6 + a * h4 / 24)))


@inner
def log_evidence_series(one, other, shape):
    r"""Log of the integral of :math:`e^{\ell}` from four derivatives at zero, its error, the mode.

    Laplace's method at the mode of the series, with the corrections of the next order. The error is
    the largest effect of the fifth derivative at two standard deviations beyond the mode.
    """
    series = series_of(one, other, shape)
    _, h2, h3, h4, fifth = series
    a, k2 = series_mode(series)
    if not k2 > 0.5 * h2:
        return 0.0, math.inf, 0.0
    k3 = h3 + a * h4
    log_peak = series_value(series, a)
    correction = 5 * k3 * k3 / (24 * k2 * k2 * k2) - h4 / (8 * k2 * k2)
    reach = abs(a) + 2.0 / math.sqrt(k2)
    error = fifth * reach**5 / 120 + correction * correction
    return log_peak + 0.5 * math.log(2 * math.pi / k2) + correction, error, a


@inner
def draw_presence(rows, one, other, sides, shape, before, prior_odds, rng):
    """Let an edge enter or leave by Metropolis's rule, with the coupling integrated out.

    ``before`` is the value of the coupling, zero if the edge is absent. ``prior_odds`` are the
    prior log odds of presence and the log of the slab's constant, infinite if the edge is forced.
    ``one`` and ``other`` are as in :func:`series_of`. Also returns the log odds of presence, and
    the mode; its standard deviation is zero where only the series was used.
    """
    evidence, error, start = log_evidence_series(one, other, shape)
    peak = (start, 0.0, 0.0)
    if not prior_odds < math.inf:
        return True, math.inf, peak
    if before != 0.0:
        prior_odds -= value_at(rows, -before, sides, shape)
    threshold = -rng.standard_exponential()  # of the log odds, as in presence_changes
    if before != 0.0:
        threshold = -threshold
    odds = evidence + prior_odds
    probability = 1.0 / (1.0 + math.exp(-odds))
    probability_error = error * probability * (1.0 - probability)
    if (
        error > MOST_ERROR
        or probability_error > MOST_PROBABILITY_ERROR
        or abs(odds - threshold) < error
    ):
        peak = find_peak(rows, start, sides, shape)
        odds = log_integral(rows, peak, sides, shape) + prior_odds
    return threshold < odds, odds, peak


@inner
def draw_by_series(rows, one, other, peak, sides, shape, rng):
    r"""Draw a move from the density proportional to :math:`e^{\ell}`, mostly without its values.

    The series of fourth order about zero is within :math:`M |a|^5 / 120` of :math:`\ell`, M a bound
    on the fifth derivative. The envelope of :func:`draw_exactly` is built from it and raised by the
    largest error, and :math:`\ell` itself is computed only if the series does not decide whether a
    move is accepted. Where the error is large, the draw is left to :func:`draw_exactly`.
    """
    series = series_of(one, other, shape)
    g, h2, h3, h4, fifth = series
    mode, k2 = series_mode(series)
    if not k2 > 0.5 * h2:
        return draw_exactly(rows, peak, sides, shape, rng)
    sd = 1.0 / math.sqrt(k2)
    reach = abs(mode) + sd
    # errors of the series and of its derivative, up to one standard deviation beyond the mode
    error, rate_error = fifth * reach**5 / 120, fifth * reach**4 / 24
    raised = error + 2 * sd * rate_error
    inside = shape[3] + sd <= mode <= shape[4] - sd
    if not (raised < MOST_RAISED and inside):
        return draw_exactly(rows, peak, sides, shape, rng)
    top, low, high = series_value(series, mode) + error, mode - sd, mode + sd
    left_rate = g - low * (h2 + low * (0.5 * h3 + low * h4 / 6)) - rate_error
    right_rate = g - high * (h2 + high * (0.5 * h3 + high * h4 / 6)) + rate_error
    if not (left_rate * sd > LEAST_RATE and -right_rate * sd > LEAST_RATE):
        return draw_exactly(rows, peak, sides, shape, rng)
    left = low + (top - series_value(series, low) - raised) / left_rate
    right = high + (top - series_value(series, high) - raised) / right_rate
    left_width, right_width = 1.0 / left_rate, -1.0 / right_rate
    for _ in range(1000):
        place = rng.random() * (left_width + right - left + right_width)
        if place < right - left:
            a, envelope = left + place, top
        else:
            drop = rng.standard_exponential()
            envelope = top - drop
            if place < right - left + left_width:
                a = left - drop * left_width
            else:
                a = right + drop * right_width
        if shape[3] <= a <= shape[4]:
            level, value = envelope - rng.standard_exponential(), series_value(series, a)
            if abs(level - value) < fifth * abs(a) ** 5 / 120:
                value = value_at(rows, a, sides, shape)
            if level < value:
                return a
    return mode
