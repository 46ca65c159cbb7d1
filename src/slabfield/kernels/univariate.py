r"""Integrals of, and draws from, univariate conditionals of the spike-and-slab posterior.

There are two densities. The proposal of a reversible jump is a Gaussian truncated to a window,

.. math:: h(a) = \exp(a g - a^2 \lambda / 2), \quad |a| \le \Delta

(equation 12), and the conditional of one parameter in a binary field is

.. math:: \ell(a) = T a - N \log M(a) - q a^2 / 2, \quad
   M(a) = w_0 + w_1 e^{-u a} + w_2 e^{-v a} + w_3 e^{(1 - u - v) a}

(equation 17): w are the probabilities, at a = 0, that the two nodes are (0, 0), (1, 0), (0, 1) and
(1, 1), and u, v are the centers of the coupling. A bias has w_1 = w_2 = u = v = 0. Both densities
are log-concave. ``pair`` below is (w_0, w_1, w_2, w_3, u, v); ``around`` describes the density at
its mode (see :func:`integrate`).
"""

from __future__ import annotations

import math

from slabfield._jit import inner

SQRT_HALF = math.sqrt(0.5)
# Largest distance of the mode of a window proposal from zero, in standard deviations
MOST_GRADIENT = 30.0
# Smallest log density, relative to the largest, that counts in an integral
LEAST = -18.0
# Number of intervals of Simpson's rule on either side of a point
PANELS = 48


@inner
def clipped_gradient(g, precision):
    """Clip the gradient g so that the mode of h is within 30 standard deviations of zero.

    Any proposal density is valid if forward and reverse moves use the same one; this one can be
    integrated in double precision.
    """
    largest = MOST_GRADIENT * math.sqrt(precision)
    return min(max(g, -largest), largest)


@inner
def log_window_integral(g, precision, width):
    """Log of the integral of h over the window, for a clipped gradient."""
    root = math.sqrt(precision)
    low, high = -width * root - abs(g) / root, width * root - abs(g) / root
    if high > 0:
        share = 0.5 * (math.erf(high * SQRT_HALF) - math.erf(low * SQRT_HALF))
    else:
        share = 0.5 * (math.erfc(-high * SQRT_HALF) - math.erfc(-low * SQRT_HALF))
    return 0.5 * g * g / precision + 0.5 * math.log(2 * math.pi / precision) + math.log(share)


@inner
def sample_window(g, precision, width, rng):
    """Draw from h truncated to the window, by rejection from a normal, uniform or exponential."""
    magnitude = abs(g)
    sign = 1.0 if g >= 0 else -1.0
    sd = 1.0 / math.sqrt(precision)
    mode = magnitude / precision
    if mode < width and width > 1.25 * sd:
        while True:
            a = mode + sd * rng.standard_normal()
            if abs(a) <= width:
                return sign * a
    if mode < width:
        while True:
            a = width * (2 * rng.random() - 1)
            if rng.random() < math.exp(-0.5 * precision * (a - mode) ** 2):
                return sign * a
    # The mode is outside the window: t is the distance from the nearer end
    rate = magnitude - precision * width
    reach = -math.expm1(-2 * rate * width)
    while True:
        u = rng.random()
        t = -math.log1p(-u * reach) / rate if reach > 1e-12 else 2 * width * u
        if rng.random() < math.exp(-0.5 * precision * t * t):
            return sign * (width - t)


@inner
def terms_at(a, pair):
    """The four terms of M(a) divided by e^shift, and the shift, which is the largest exponent.

    Only terms of positive weight enter the shift, so that the sum is never zero.
    """
    w0, w1, w2, w3, u, v = pair
    e1, e2, e3 = -u * a, -v * a, (1 - u - v) * a
    shift = 0.0 if w0 > 0 else -math.inf
    shift = max(shift, e1) if w1 > 0 else shift
    shift = max(shift, e2) if w2 > 0 else shift
    shift = max(shift, e3) if w3 > 0 else shift
    t0 = w0 * math.exp(-shift) if w0 > 0 else 0.0
    t1 = w1 * math.exp(e1 - shift) if w1 > 0 else 0.0
    t2 = w2 * math.exp(e2 - shift) if w2 > 0 else 0.0
    t3 = w3 * math.exp(e3 - shift) if w3 > 0 else 0.0
    return t0, t1, t2, t3, shift


@inner
def tilted_moments(a, pair):
    """Mean and variance of the feature whose values are 0, -u, -v and 1 - u - v, at a."""
    t0, t1, t2, t3, _ = terms_at(a, pair)
    u, v = pair[4], pair[5]
    last = 1 - u - v
    total = t0 + t1 + t2 + t3
    mean = (-u * t1 - v * t2 + last * t3) / total
    square = (u * u * t1 + v * v * t2 + last * last * t3) / total
    return mean, max(square - mean * mean, 0.0)


@inner
def find_mode(linear, n_rows, precision, pair):
    r"""Mode of :math:`\ell`, by Newton's method safeguarded by bisection.

    After a step of less than 0.02 standard deviations the error is about 1e-4 of one. That is
    enough: the integral and the draws depend on the error of the mode only to second order.
    """
    mean, variance = tilted_moments(0.0, pair)
    gradient = linear - n_rows * mean
    low, high = min(0.0, gradient / precision), max(0.0, gradient / precision)
    a = 0.0
    for _ in range(200):
        curvature = n_rows * variance + precision
        step = gradient / curvature
        a = a + step
        inside = low < a < high
        if not inside:
            a = 0.5 * (low + high)
        elif step * step * curvature < 4e-4:
            break
        mean, variance = tilted_moments(a, pair)
        gradient = linear - n_rows * mean - precision * a
        if gradient > 0:
            low = a
        else:
            high = a
        if not high - low > 1e-12 * (1.0 + abs(a)):
            break
    return a


@inner
def integrate(linear, n_rows, precision, pair):
    r"""Find the mode and the integral of :math:`e^{\ell}`, and the quantities needed to sample it.

    Returns the mode; the standard deviation from the curvature there; the log of
    :math:`\int e^{\ell}`; ``around``, which is the four terms of M at the mode divided by their
    sum, u, v, the feature's mean at the mode and the gradient there (not exactly zero); and the
    tangents on either side of the mode.

    The integral uses the trapezoidal rule with few points. For a log-concave analytic integrand its
    error falls faster than any power of the step: halving the step raises the error to about its
    fourth power. For a Gaussian, a step of two standard deviations gives an error of 1e-2, and a
    step of one 5e-9. If the two rules differ by more than 2e-2, the step is halved.
    """
    mode = find_mode(linear, n_rows, precision, pair)
    t0, t1, t2, t3, shift = terms_at(mode, pair)
    u, v = pair[4], pair[5]
    total = t0 + t1 + t2 + t3
    t0, t1, t2, t3 = t0 / total, t1 / total, t2 / total, t3 / total
    last = 1 - u - v
    mean = -u * t1 - v * t2 + last * t3
    variance = max(u * u * t1 + v * v * t2 + last * last * t3 - mean * mean, 0.0)
    sd = 1.0 / math.sqrt(n_rows * variance + precision)
    gradient = linear - n_rows * mean - precision * mode
    at_mode = linear * mode - n_rows * (shift + math.log(total)) - 0.5 * precision * mode * mode
    around = (t0, t1, t2, t3, u, v, mean, gradient)
    step = sd
    even, odd, left, right = trapezoid(n_rows, precision, around, step)
    while abs(1.0 + even - odd) > 2e-2 * (1.0 + even + odd) and step > 1e-6 * sd:
        step *= 0.5
        even, odd, _, _ = trapezoid(n_rows, precision, around, step)
    return mode, sd, at_mode + math.log((1.0 + even + odd) * step), around, left, right


@inner
def trapezoid(n_rows, precision, around, step):
    """Sums of the integrand, relative to the mode, at even and odd multiples of the step.

    The points are evenly spaced, so that products suffice for the exponentials in M. The feature is
    taken relative to its mean at the mode, where M then has its minimum and cannot underflow. Also
    returns the tangents one step to the left and to the right of the mode.
    """
    t0, t1, t2, t3, u, v, mean, gradient = around
    by0, by1 = math.exp(-mean * step), math.exp((-u - mean) * step)
    by2, by3 = math.exp((-v - mean) * step), math.exp((1 - u - v - mean) * step)
    even, odd = 0.0, 0.0
    left, right = (0.0, 0.0), (0.0, 0.0)
    for side in range(2):
        if side == 1:
            by0, by1, by2, by3 = 1.0 / by0, 1.0 / by1, 1.0 / by2, 1.0 / by3
        direction = step if side == 0 else -step
        w0, w1, w2, w3 = t0, t1, t2, t3
        k = 0
        while True:
            k += 1
            w0 *= by0
            w1 *= by1
            w2 *= by2
            w3 *= by3
            a = k * direction
            total = w0 + w1 + w2 + w3
            value = gradient * a - n_rows * math.log(total) - 0.5 * precision * a * a
            if k == 1:
                tilted = ((-u - mean) * w1 + (-v - mean) * w2 + (1 - u - v - mean) * w3
                          - mean * w0) / total  # fmt: skip
                derivative = gradient - n_rows * tilted - precision * a
                if side == 0:
                    right = (derivative, a - value / derivative)
                else:
                    left = (derivative, a - value / derivative)
            if not value > LEAST:
                break
            if k & 1:
                odd += math.exp(value)
            else:
                even += math.exp(value)
    return even, odd, left, right


@inner
def sample_envelope(left, right, rng):
    """Draw from the envelope of three tangents: an offset from the mode, and the log height there.

    ``left`` and ``right`` hold the derivative of a tangent and the offset at which it reaches the
    log density of the mode, where the third tangent is flat.
    """
    left_width, middle, right_width = 1.0 / left[0], right[1] - left[1], -1.0 / right[0]
    place = rng.random() * (left_width + middle + right_width)
    if place < middle:
        return left[1] + place, 0.0
    height = -rng.standard_exponential()
    if place < middle + left_width:
        return left[1] + height * left_width, height
    return right[1] - height * right_width, height


@inner
def sample_log_concave(n_rows, precision, around, left, right, rng):
    r"""Draw exactly from the density proportional to :math:`e^{\ell}`, as an offset from its mode.

    Rejection from the envelope of three tangents, at the mode and on either side of it.
    """
    t0, t1, t2, t3, u, v, mean, gradient = around
    # The acceptance rate is about 0.9; the bound prevents an endless loop on overflow or NaN
    for _ in range(100_000):
        a, envelope = sample_envelope(left, right, rng)
        e1, e2, e3 = math.exp(-u * a), math.exp(-v * a), math.exp((1 - u - v) * a)
        log_m = math.log(t0 + t1 * e1 + t2 * e2 + t3 * e3) - mean * a
        value = gradient * a - n_rows * log_m - 0.5 * precision * a * a
        if rng.standard_exponential() > envelope - value:
            return a
    return 0.0


@inner
def terms_from_mode(x, around):
    """The four terms of M at an offset from the mode, divided by e^shift, and the shift."""
    t0, t1, t2, t3, u, v, _, _ = around
    last = 1 - u - v
    shift = 0.0 if t0 > 0.0 else -math.inf
    shift = max(shift, -u * x) if t1 > 0.0 else shift
    shift = max(shift, -v * x) if t2 > 0.0 else shift
    shift = max(shift, last * x) if t3 > 0.0 else shift
    return (
        t0 * math.exp(-shift) if t0 > 0.0 else 0.0,
        t1 * math.exp(-u * x - shift) if t1 > 0.0 else 0.0,
        t2 * math.exp(-v * x - shift) if t2 > 0.0 else 0.0,
        t3 * math.exp(last * x - shift) if t3 > 0.0 else 0.0,
        shift,
    )


@inner
def log_density_from_mode(x, n_rows, precision, around):
    r""":math:`\ell` at an offset x from the mode, minus its value at the mode."""
    w0, w1, w2, w3, shift = terms_from_mode(x, around)
    mean, gradient = around[6], around[7]
    log_m = shift + math.log(w0 + w1 + w2 + w3)
    return gradient * x - n_rows * (log_m - mean * x) - 0.5 * precision * x * x


@inner
def gradient_from_mode(x, n_rows, precision, around):
    r"""First derivative of :math:`\ell` at an offset x from the mode."""
    w0, w1, w2, w3, _ = terms_from_mode(x, around)
    u, v, mean, gradient = around[4], around[5], around[6], around[7]
    tilted = (-u * w1 - v * w2 + (1 - u - v) * w3) / (w0 + w1 + w2 + w3)
    return gradient - n_rows * (tilted - mean) - precision * x


@inner
def log_truncated_integral(low, high, n_rows, precision, around):
    r"""Log of the integral of :math:`e^{\ell}`, relative to the mode, over an interval.

    Simpson's rule on either side of the highest point of the interval, cut off in the tails. The
    ends are offsets from the mode, which may lie outside the interval.
    """
    peak = min(max(0.0, low), high)
    at_peak, total = log_density_from_mode(peak, n_rows, precision, around), 0.0
    for end in (low, high):
        reach = end - peak
        while (
            log_density_from_mode(peak + 0.5 * reach, n_rows, precision, around) < at_peak + LEAST
        ):
            reach *= 0.5
        step = reach / PANELS
        side = 1.0 + math.exp(
            log_density_from_mode(peak + reach, n_rows, precision, around) - at_peak
        )
        for k in range(1, PANELS):
            value = log_density_from_mode(peak + k * step, n_rows, precision, around) - at_peak
            side += (4.0 if k & 1 else 2.0) * math.exp(value)
        total += abs(step) / 3.0 * side
    return at_peak + math.log(total)


@inner
def sample_truncated(low, high, n_rows, precision, around, left, right, rng):
    r"""Draw exactly from :math:`e^{\ell}` truncated to an interval, in offsets from the mode.

    If the mode is outside, by rejection from the tangent at the end nearer to it.
    """
    if low < 0.0 < high:
        # rejection: a fair share of the draws is inside; the bound prevents an endless loop on NaN
        for _ in range(10_000):
            x = sample_log_concave(n_rows, precision, around, left, right, rng)
            if low <= x <= high:
                return x
        return 0.0
    near, length = (low, high - low) if low >= 0.0 else (high, low - high)
    at_near = log_density_from_mode(near, n_rows, precision, around)
    rate = abs(gradient_from_mode(near, n_rows, precision, around))
    whole = -math.expm1(-rate * abs(length))
    for _ in range(10_000):
        u = rng.random()
        t = -math.log1p(-u * whole) / rate if whole > 1e-9 else abs(length) * u
        x = near + math.copysign(t, length)
        value = log_density_from_mode(x, n_rows, precision, around)
        if rng.standard_exponential() > at_near - rate * t - value:
            return x
    return near
