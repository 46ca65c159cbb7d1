r"""Integral of, and draws from, the conditional of one parameter given the table of its cells.

The parameter multiplies a feature f that takes the value :math:`f_c` in cell c of a small table
(the pairs of levels of two nodes), whose probabilities without it are :math:`w_c`:

.. math:: \ell(a) = T a - N \log M(a) - q a^2 / 2, \quad M(a) = \sum_c w_c e^{f_c a}

It is log-concave. This is :mod:`slabfield.kernels.univariate` for any number of cells; ``cells`` is
a :class:`Cells` whose first ``n`` entries are used.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.logistic import dot
from slabfield.kernels.state_table import exponentiate, largest_of, total_of
from slabfield.kernels.univariate import LEAST, PANELS, sample_envelope


class Cells(NamedTuple):
    """Weights of the cells, the feature's values, both at the mode, and workspace.

    ``at_mode`` holds the weights at the mode, which add up to one, and ``deviation`` the feature
    minus its mean there.
    """

    weight: NDArray[np.float64]
    feature: NDArray[np.float64]
    at_mode: NDArray[np.float64]
    deviation: NDArray[np.float64]
    tilted: NDArray[np.float64]
    factor: NDArray[np.float64]
    power: NDArray[np.float64]


def new_cells(most: int) -> Cells:
    """Return workspace for up to so many cells."""
    return Cells(*(np.zeros(most) for _ in Cells._fields))


@inner
def tilt(a, weight, feature, result, power):
    """Fill ``result`` with the terms of M(a) relative to their sum; return log M(a)."""
    for c in range(weight.size):
        result[c] = a * feature[c]
    shift = largest_of(result)
    exponentiate(result, shift, power, power.view(np.int64))
    for c in range(weight.size):
        result[c] *= weight[c]
    total = total_of(result)
    share = 1.0 / total
    for c in range(weight.size):
        result[c] *= share
    return shift + math.log(total)


@inner
def tilted_variance(share, feature, mean, power):
    """Variance of the feature under probabilities of the cells."""
    for c in range(share.size):
        power[c] = (feature[c] - mean) * (feature[c] - mean)
    return dot(share, power)


@inner
def find_mode(linear, n_rows, precision, weight, feature, result, power):
    r"""Mode of :math:`\ell`, by Newton's method safeguarded by bisection.

    After a step of less than 0.02 standard deviations the error is about 1e-4 of one, which
    suffices: the integral and the draws depend on the error of the mode only to second order.
    """
    tilt(0.0, weight, feature, result, power)
    mean = dot(result, feature)
    gradient = linear - n_rows * mean
    low, high = min(0.0, gradient / precision), max(0.0, gradient / precision)
    a = 0.0
    for _ in range(200):
        curvature = n_rows * tilted_variance(result, feature, mean, power) + precision
        step = gradient / curvature
        a = a + step
        inside = low < a < high
        if not inside:
            a = 0.5 * (low + high)
        elif step * step * curvature < 4e-4:
            break
        tilt(a, weight, feature, result, power)
        mean = dot(result, feature)
        gradient = linear - n_rows * mean - precision * a
        if gradient > 0:
            low = a
        else:
            high = a
        if not high - low > 1e-12 * (1.0 + abs(a)):
            break
    return a


@inner
def integrate(linear, n_rows, precision, cells, n):
    r"""Find the mode and the integral of :math:`e^{\ell}`, and what is needed to sample it.

    Returns the mode, the standard deviation from the curvature there, the log of
    :math:`\int e^{\ell}`, the gradient at the mode (not exactly zero), and the tangents on either
    side of the mode. The integral uses the trapezoidal rule, as
    :func:`slabfield.kernels.univariate.integrate` does.
    """
    weight, feature, power = cells.weight[:n], cells.feature[:n], cells.power[:n]
    at_mode, deviation = cells.at_mode[:n], cells.deviation[:n]
    tilted, factor = cells.tilted[:n], cells.factor[:n]
    mode = find_mode(linear, n_rows, precision, weight, feature, at_mode, power)
    log_sum = tilt(mode, weight, feature, at_mode, power)
    mean = dot(at_mode, feature)
    for c in range(n):
        deviation[c] = feature[c] - mean
    variance = tilted_variance(at_mode, feature, mean, power)
    sd = 1.0 / math.sqrt(n_rows * variance + precision)
    gradient = linear - n_rows * mean - precision * mode
    value_at_mode = linear * mode - n_rows * log_sum - 0.5 * precision * mode * mode
    step = sd
    even, odd, left, right = trapezoid(
        n_rows, precision, gradient, step, at_mode, deviation, tilted, factor, power
    )
    while abs(1.0 + even - odd) > 2e-2 * (1.0 + even + odd) and step > 1e-6 * sd:
        step *= 0.5
        even, odd, _, _ = trapezoid(
            n_rows, precision, gradient, step, at_mode, deviation, tilted, factor, power
        )
    return mode, sd, value_at_mode + math.log((1.0 + even + odd) * step), gradient, left, right


@inner
def trapezoid(n_rows, precision, gradient, step, at_mode, deviation, tilted, factor, power):
    """Sums of the integrand, relative to the mode, at even and odd multiples of the step.

    The points are evenly spaced, so that products suffice for the exponentials in M. Also returns
    the tangents one step to the left and to the right of the mode.
    """
    even, odd = 0.0, 0.0
    left, right = (0.0, 0.0), (0.0, 0.0)
    for side in range(2):
        direction = step if side == 0 else -step
        for c in range(at_mode.size):
            factor[c] = direction * deviation[c]
        shift = largest_of(factor)
        exponentiate(factor, shift, power, power.view(np.int64))
        by = math.exp(shift)
        for c in range(at_mode.size):
            factor[c] *= by
            tilted[c] = at_mode[c]
        k = 0
        while True:
            k += 1
            for c in range(at_mode.size):
                tilted[c] *= factor[c]
            a = k * direction
            total = total_of(tilted)
            value = gradient * a - n_rows * math.log(total) - 0.5 * precision * a * a
            if k == 1:
                derivative = gradient - n_rows * dot(tilted, deviation) / total - precision * a
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
def sample_log_concave(n_rows, precision, gradient, left, right, cells, n, rng):
    r"""Draw exactly from the density proportional to :math:`e^{\ell}`, as an offset from its mode.

    Rejection from the envelope of three tangents, at the mode and on either side of it, as
    :func:`slabfield.kernels.univariate.sample_log_concave` does.
    """
    at_mode, deviation = cells.at_mode[:n], cells.deviation[:n]
    tilted, power = cells.tilted[:n], cells.power[:n]
    # The acceptance rate is about 0.9; the bound prevents an endless loop on overflow or NaN
    for _ in range(100_000):
        a, envelope = sample_envelope(left, right, rng)
        log_m = tilt(a, at_mode, deviation, tilted, power)
        value = gradient * a - n_rows * log_m - 0.5 * precision * a * a
        if rng.standard_exponential() > envelope - value:
            return a
    return 0.0


@inner
def log_density_from_mode(x, n_rows, precision, gradient, cells, n):
    r""":math:`\ell` at an offset x from the mode, minus its value at the mode."""
    log_m = tilt(x, cells.at_mode[:n], cells.deviation[:n], cells.tilted[:n], cells.power[:n])
    return gradient * x - n_rows * log_m - 0.5 * precision * x * x


@inner
def log_truncated_integral(low, high, n_rows, precision, gradient, cells, n):
    r"""Log of the integral of :math:`e^{\ell}`, relative to the mode, over an interval.

    Simpson's rule on either side of the highest point of the interval, cut off in the tails. The
    ends are offsets from the mode, which may lie outside the interval.
    """
    peak = min(max(0.0, low), high)
    at_peak, total = log_density_from_mode(peak, n_rows, precision, gradient, cells, n), 0.0
    for end in (low, high):
        reach = end - peak
        while (
            log_density_from_mode(peak + 0.5 * reach, n_rows, precision, gradient, cells, n)
            < at_peak + LEAST
        ):
            reach *= 0.5
        step, side = reach / PANELS, 1.0
        for k in range(1, PANELS + 1):
            value = log_density_from_mode(peak + k * step, n_rows, precision, gradient, cells, n)
            side += (1.0 if k == PANELS else 4.0 if k & 1 else 2.0) * math.exp(value - at_peak)
        total += abs(step) / 3.0 * side
    return at_peak + math.log(total)


@inner
def sample_truncated(low, high, n_rows, precision, gradient, left, right, cells, n, rng):
    r"""Draw exactly from :math:`e^{\ell}` truncated to an interval, in offsets from the mode.

    If the mode is outside, by rejection from the tangent at the end nearer to it.
    """
    if low < 0.0 < high:
        # rejection: a fair share of the draws is inside; the bound prevents an endless loop on NaN
        for _ in range(10_000):
            x = sample_log_concave(n_rows, precision, gradient, left, right, cells, n, rng)
            if low <= x <= high:
                return x
        return 0.0
    near, length = (low, high - low) if low >= 0.0 else (high, low - high)
    at_near = log_density_from_mode(near, n_rows, precision, gradient, cells, n)
    mean = dot(cells.tilted[:n], cells.deviation[:n])
    rate = abs(gradient - n_rows * mean - precision * near)
    whole = -math.expm1(-rate * abs(length))
    for _ in range(10_000):
        u = rng.random()
        t = -math.log1p(-u * whole) / rate if whole > 1e-9 else abs(length) * u
        x = near + math.copysign(t, length)
        value = log_density_from_mode(x, n_rows, precision, gradient, cells, n)
        if rng.standard_exponential() > at_near - rate * t - value:
            return x
    return near
