"""Noise of what is read off particles, and updates that are right on average in spite of it."""

from __future__ import annotations

import math

from slabfield._jit import inner
from slabfield.kernels.table import total_of

# Noise variance of log odds that is corrected for, at most
MOST_NOISE = 2.0
# The share of the variance of a draw that noise may take the place of
MOST_SHARE = 0.9


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
def noise_between(after, before, n_rows):
    """Noise of a difference of log posteriors: of how much each lane adds to two sums."""
    total, total_before, noise = total_of(after), total_of(before), 0.0
    for t in range(after.size):
        noise += (n_rows * (after[t] / total - before[t] / total_before)) ** 2
    return noise * after.size / (after.size - 1.0)
