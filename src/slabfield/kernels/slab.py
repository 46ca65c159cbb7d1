r"""One-dimensional pieces of the spike-and-slab posterior: integrals and draws.

Two densities occur. The proposal of a jump is a Gaussian cut to a window,

.. math:: h(a) = \exp(a g - a^2 \lambda / 2), \quad |a| \le \Delta

(equation 12), and the conditional of one coupling of a 0/1 feature is

.. math:: \ell(a) = F a - N \log(1 + m (e^a - 1)) - a^2 / (2 \sigma^2)

(equation 17), with m the mean of the feature at a = 0. Both are log-concave.
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
def log_conditional(a, total, n_rows, mean, precision):
    r"""Value of :math:`\ell(a)` (equation 17)."""
    if a > 30.0:
        growth = a + math.log(mean + (1 - mean) * math.exp(-a)) if mean > 0 else 0.0
    else:
        growth = math.log1p(mean * math.expm1(a))
    return total * a - n_rows * growth - 0.5 * precision * a * a


@inner
def tilted_mean(a, mean):
    """Mean of a 0/1 feature after its parameter grows by a."""
    if a > 0:
        return mean / (mean + (1 - mean) * math.exp(-a))
    return mean * math.exp(a) / ((1 - mean) + mean * math.exp(a))


@inner
def find_mode(total, n_rows, mean, precision):
    r"""Maximum of :math:`\ell`: Newton's method inside a bracket that always holds it."""
    slope = total - n_rows * mean
    low, high = min(0.0, slope / precision), max(0.0, slope / precision)
    a = 0.0
    for _ in range(200):
        m = tilted_mean(a, mean)
        gradient = total - n_rows * m - precision * a
        curvature = n_rows * m * (1 - m) + precision
        if gradient > 0:
            low = a
        else:
            high = a
        step = gradient / curvature
        if abs(step) < 1e-9 / math.sqrt(curvature):
            break
        a = a + step
        if a <= low or a >= high:
            a = 0.5 * (low + high)
    return a


@inner
def log_integral(total, n_rows, mean, precision, mode):
    r"""Log of :math:`\int e^{\ell}`: the trapezoidal rule, halved until it stands still.

    For a log-concave analytic integrand the rule's error falls faster than any power of the step,
    about squaring each time it is halved: once two rules agree to 1e-6, the finer is right to 1e-11.
    """
    top = log_conditional(mode, total, n_rows, mean, precision)
    m = tilted_mean(mode, mean)
    step = 1.1 / math.sqrt(n_rows * m * (1 - m) + precision)
    result = 1.0 + one_sided(total, n_rows, mean, precision, mode, top, step, step)
    result = (result + one_sided(total, n_rows, mean, precision, mode, top, -step, -step)) * step
    for _ in range(20):
        half = 0.5 * step
        between = one_sided(total, n_rows, mean, precision, mode, top, half, step)
        between += one_sided(total, n_rows, mean, precision, mode, top, -half, -step)
        finer = 0.5 * result + half * between
        change = abs(finer - result)
        result, step = finer, half
        if change < 1e-6 * finer:
            break
    return top + math.log(result)


@inner
def one_sided(total, n_rows, mean, precision, mode, top, offset, step):
    """Sum of the integrand, relative to its top, at mode + offset, + step, ..., until negligible.

    The points are evenly spaced, so that e^a needs a product, not an exponential, at each.
    """
    result = 0.0
    a = mode + offset
    tilt, factor, rest = mean * math.exp(a), math.exp(step), 1.0 - mean
    while True:
        value = total * a - n_rows * math.log(rest + tilt) - 0.5 * precision * a * a - top
        if value < -32.0:
            return result
        result += math.exp(value)
        a += step
        tilt *= factor


@inner
def draw_conditional(total, n_rows, mean, precision, mode, rng):
    r"""Draw exactly from the density proportional to :math:`e^{\ell}`.

    Rejection from the envelope of three tangents, at the mode and on either side of it.
    """
    top = log_conditional(mode, total, n_rows, mean, precision)
    m = tilted_mean(mode, mean)
    spread = 1.0 / math.sqrt(n_rows * m * (1 - m) + precision)
    left_rate, left_cut = tangent(total, n_rows, mean, precision, mode, top, -spread)
    right_rate, right_cut = tangent(total, n_rows, mean, precision, mode, top, spread)
    left, centre, right = 1.0 / left_rate, right_cut - left_cut, -1.0 / right_rate
    while True:
        u = rng.random() * (left + centre + right)
        if u < centre:
            a, envelope = left_cut + u, 0.0
        else:
            distance = rng.standard_exponential()
            envelope = -distance
            a = left_cut - distance * left if u < centre + left else right_cut + distance * right
        value = log_conditional(a, total, n_rows, mean, precision) - top
        if rng.standard_exponential() > envelope - value:
            return a


@inner
def tangent(total, n_rows, mean, precision, mode, top, offset):
    """Slope of the tangent beside the mode, and where it reaches the height of the mode."""
    while True:
        a = mode + offset
        drop = top - log_conditional(a, total, n_rows, mean, precision)
        if drop > 0.5:
            break
        offset *= 1.5
    slope = total - n_rows * tilted_mean(a, mean) - precision * a
    return slope, a + drop / slope
