r"""One-dimensional pieces of the spike-and-slab posterior: integrals and draws.

Two densities occur. The proposal of a jump is a Gaussian cut to a window,

.. math:: h(a) = \exp(a g - a^2 \lambda / 2), \quad |a| \le \Delta

(equation 12), and the conditional of one parameter in a binary field is

.. math:: \ell(a) = T a - N \log M(a) - q a^2 / 2, \quad
   M(a) = w_0 + w_1 e^{-u a} + w_2 e^{-v a} + w_3 e^{(1 - u - v) a}

(equation 17): w are the probabilities, at a = 0, that the two nodes are (0, 0), (1, 0), (0, 1) and
(1, 1), and u, v are the centres of the coupling. A bias has w_1 = w_2 = u = v = 0. Both densities
are log-concave. ``pair`` below is (w_0, w_1, w_2, w_3, u, v).
"""

from __future__ import annotations

import math

from slabfield._jit import inner

SQRT_HALF = math.sqrt(0.5)
MOST_STEEP = 30.0


@inner
def limited_slope(g, precision):
    """Keep the mode of the window density within 30 of its standard deviations from zero.

    A proposal may be any density, if it is the same one forwards and backwards; this one stays
    within what double precision can integrate.
    """
    most = MOST_STEEP * math.sqrt(precision)
    return min(max(g, -most), most)


@inner
def log_window_integral(g, precision, width):
    """Log of the integral of h over the window, for a limited slope."""
    root = math.sqrt(precision)
    low, high = -width * root - abs(g) / root, width * root - abs(g) / root
    if high > 0:
        share = 0.5 * (math.erf(high * SQRT_HALF) - math.erf(low * SQRT_HALF))
    else:
        share = 0.5 * (math.erfc(-high * SQRT_HALF) - math.erfc(-low * SQRT_HALF))
    return 0.5 * g * g / precision + 0.5 * math.log(2 * math.pi / precision) + math.log(share)


@inner
def draw_window(g, precision, width, rng):
    """Draw from h cut to the window, by rejection from what is closest to it."""
    slope = abs(g)
    sign = 1.0 if g >= 0 else -1.0
    spread = 1.0 / math.sqrt(precision)
    mode = slope / precision
    if mode < width and width > 1.25 * spread:
        while True:
            a = mode + spread * rng.standard_normal()
            if abs(a) <= width:
                return sign * a
    if mode < width:
        while True:
            a = width * (2 * rng.random() - 1)
            if rng.random() < math.exp(-0.5 * precision * (a - mode) ** 2):
                return sign * a
    # The mode is beyond the window: t is the distance from its nearer end
    rate = slope - precision * width
    reach = -math.expm1(-2 * rate * width)
    while True:
        u = rng.random()
        t = -math.log1p(-u * reach) / rate if reach > 1e-12 else 2 * width * u
        if rng.random() < math.exp(-0.5 * precision * t * t):
            return sign * (width - t)


@inner
def terms_at(a, pair):
    """The four terms of M(a) relative to e^shift, and the shift: that of the largest exponent.

    Only terms of positive weight count, so that their sum is never zero.
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
def log_conditional(a, slope, n_rows, precision, pair):
    r"""Value of :math:`\ell(a)` (equation 17)."""
    t0, t1, t2, t3, shift = terms_at(a, pair)
    growth = shift + math.log(t0 + t1 + t2 + t3)
    return slope * a - n_rows * growth - 0.5 * precision * a * a


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
def find_mode(slope, n_rows, precision, pair):
    r"""Maximum of :math:`\ell`: Newton's method inside a bracket that always holds it."""
    mean, variance = tilted_moments(0.0, pair)
    gradient = slope - n_rows * mean
    low, high = min(0.0, gradient / precision), max(0.0, gradient / precision)
    a = 0.0
    for _ in range(200):
        curvature = n_rows * variance + precision
        step = gradient / curvature
        if abs(step) < 1e-9 / math.sqrt(curvature):
            break
        a = a + step
        if a <= low or a >= high:
            a = 0.5 * (low + high)
        mean, variance = tilted_moments(a, pair)
        gradient = slope - n_rows * mean - precision * a
        if gradient > 0:
            low = a
        else:
            high = a
    return a


@inner
def spread_at(a, n_rows, precision, pair):
    """Standard deviation of the Gaussian with the curvature at a."""
    return 1.0 / math.sqrt(n_rows * tilted_moments(a, pair)[1] + precision)


@inner
def log_integral(slope, n_rows, precision, pair, mode):
    r"""Log of :math:`\int e^{\ell}`: the trapezoidal rule, halved until it stands still.

    For a log-concave analytic integrand the rule's error falls faster than any power of the step,
    about squaring as it is halved: once two rules agree to 1e-6, the finer is right to 1e-11.
    """
    top = log_conditional(mode, slope, n_rows, precision, pair)
    step = 1.1 * spread_at(mode, n_rows, precision, pair)
    result = 1.0 + one_sided(slope, n_rows, precision, pair, mode, top, step, step)
    result = (result + one_sided(slope, n_rows, precision, pair, mode, top, -step, -step)) * step
    for _ in range(20):
        half = 0.5 * step
        between = one_sided(slope, n_rows, precision, pair, mode, top, half, step)
        between += one_sided(slope, n_rows, precision, pair, mode, top, -half, -step)
        finer = 0.5 * result + half * between
        change = abs(finer - result)
        result, step = finer, half
        if change < 1e-6 * finer:
            break
    return top + math.log(result)


@inner
def one_sided(slope, n_rows, precision, pair, mode, top, offset, step):
    """Sum of the integrand, relative to its top, at mode + offset, + step, ..., until negligible.

    The points are evenly spaced, so that the exponentials in M need products only. The feature is
    taken relative to its mean at the mode, where M then has its minimum: it cannot underflow.
    """
    u, v = pair[4], pair[5]
    mean = tilted_moments(mode, pair)[0]
    w0, w1, w2, w3, shift = terms_at(mode, pair)
    w0, w1 = w0 * math.exp(-mean * offset), w1 * math.exp((-u - mean) * offset)
    w2, w3 = w2 * math.exp((-v - mean) * offset), w3 * math.exp((1 - u - v - mean) * offset)
    by0, by1 = math.exp(-mean * step), math.exp((-u - mean) * step)
    by2, by3 = math.exp((-v - mean) * step), math.exp((1 - u - v - mean) * step)
    slope -= n_rows * mean
    top += n_rows * (shift - mean * mode)
    result = 0.0
    a = mode + offset
    while True:
        growth = math.log(w0 + w1 + w2 + w3)
        value = slope * a - n_rows * growth - 0.5 * precision * a * a - top
        if not value > -32.0:
            return result
        result += math.exp(value)
        a += step
        w0 *= by0
        w1 *= by1
        w2 *= by2
        w3 *= by3


@inner
def draw_conditional(slope, n_rows, precision, pair, mode, rng):
    r"""Draw exactly from the density proportional to :math:`e^{\ell}`.

    Rejection from the envelope of three tangents, at the mode and on either side of it.
    """
    top = log_conditional(mode, slope, n_rows, precision, pair)
    spread = spread_at(mode, n_rows, precision, pair)
    left_rate, left_cut = tangent(slope, n_rows, precision, pair, mode, top, -spread)
    right_rate, right_cut = tangent(slope, n_rows, precision, pair, mode, top, spread)
    left, centre, right = 1.0 / left_rate, right_cut - left_cut, -1.0 / right_rate
    # Nine in ten are accepted; the bound only keeps numbers beyond double precision from hanging
    for _ in range(100_000):
        u = rng.random() * (left + centre + right)
        if u < centre:
            a, envelope = left_cut + u, 0.0
        else:
            distance = rng.standard_exponential()
            envelope = -distance
            a = left_cut - distance * left if u < centre + left else right_cut + distance * right
        value = log_conditional(a, slope, n_rows, precision, pair) - top
        if rng.standard_exponential() > envelope - value:
            return a
    return mode


@inner
def tangent(slope, n_rows, precision, pair, mode, top, offset):
    """Slope of the tangent beside the mode, and where it reaches the height of the mode."""
    while True:
        a = mode + offset
        drop = top - log_conditional(a, slope, n_rows, precision, pair)
        if not drop <= 0.5:
            break
        offset *= 1.5
    rate = slope - n_rows * tilted_moments(a, pair)[0] - precision * a
    return rate, a + drop / rate


@inner
def tilted_mean(a, mean):
    """Mean of a 0/1 feature after its parameter grows by a."""
    if a > 0:
        return mean / (mean + (1 - mean) * math.exp(-a))
    return mean * math.exp(a) / ((1 - mean) + mean * math.exp(a))
