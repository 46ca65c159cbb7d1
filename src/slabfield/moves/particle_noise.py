"""Noise variance of particle estimates, and inclusion probabilities corrected for it."""

from __future__ import annotations

import math

from slabfield._jit import full, inner, load, reduce_add
from slabfield.kernels.block_particles import GROUPS
from slabfield.kernels.state_table import total_of

# Largest noise variance of log odds that is corrected for
MOST_NOISE = 2.0
# Largest share of the variance of a draw that noise may replace
MOST_SHARE = 0.9


@inner
def noise_at(groups, n_rows, pair, mode, residual):
    """Noise variance of an edge's log evidence, and of the gradient at the mode.

    The groups contribute independently to the sums over all particles, so the variance of a sum is
    estimated from their differences. ``residual`` receives each group's contribution to the error
    of the log evidence.
    """
    n_groups = groups.shape[1]
    u, v = pair[4], pair[5]
    last = 1 - u - v
    factor1, factor2, factor3 = math.exp(-u * mode), math.exp(-v * mode), math.exp(last * mode)
    before, after, feature = 0.0, 0.0, 0.0
    for t in range(n_groups):
        before += groups[0, t] + groups[1, t] + groups[2, t] + groups[3, t]
        w1, w2, w3 = factor1 * groups[1, t], factor2 * groups[2, t], factor3 * groups[3, t]
        after += groups[0, t] + w1 + w2 + w3
        feature += -u * w1 - v * w2 + last * w3
    mean = feature / after
    evidence, gradient = 0.0, 0.0
    for t in range(n_groups):
        at_zero = groups[0, t] + groups[1, t] + groups[2, t] + groups[3, t]
        w1, w2, w3 = factor1 * groups[1, t], factor2 * groups[2, t], factor3 * groups[3, t]
        at_mode = groups[0, t] + w1 + w2 + w3
        residual[t] = n_rows * (at_mode / after - at_zero / before)
        evidence += residual[t] ** 2
        gradient += ((-u * w1 - v * w2 + last * w3) - mean * at_mode) ** 2
    correction = n_groups / (n_groups - 1.0)
    return correction * evidence, correction * (n_rows / after) ** 2 * gradient


@inner
def corrected_probabilities(odds, noise):
    r"""Probabilities of presence and absence from log odds with normal noise of known variance.

    On average they are the exact ones, and neither is lost to rounding. Inverted is the convolution
    of the logistic function with the noise, to third order in the variance (equation 19): with p
    the probability and :math:`d = p (1 - p)`, the second, fourth and sixth derivatives are
    :math:`d (1 - 2 p)` times 1, 1 - 12 d and 1 - 60 d + 360 d^2.
    """
    p, v = 1.0 / (1.0 + math.exp(abs(odds))), min(noise, MOST_NOISE)
    d = p * (1.0 - p)
    change = v / 2 - v * v / 8 * (1 - 12 * d) + v * v * v / 48 * (1 - 60 * d + 360 * d * d)
    p -= d * (1 - 2 * p) * change
    return (p, 1.0 - p) if odds < 0 else (1.0 - p, p)


@inner
def draw_presence(present, odds, probability, noisy, visit, rng):
    """Draw the presence of an edge from its log odds, or from its corrected probability.

    Without noise by Metropolis's rule: an edge enters with probability min(1, e^odds) and leaves
    with min(1, e^-odds), which is more often than if it is redrawn, and has the same invariant
    distribution (Liu 1996). ``visit`` is the probability with which absent edges are visited.
    """
    if noisy:
        return rng.random() * visit < probability
    changes = rng.random() * visit < math.exp(min(-odds if present else odds, 0.0))
    return changes != present


@inner
def corrected_probability(odds, noise):
    """Probability of presence as in :func:`corrected_probabilities`."""
    return corrected_probabilities(odds, noise)[0]


@inner
def noise_between(after, before, n_rows):
    """Noise variance of a difference of log posteriors, from the groups' shares of two sums."""
    total, total_before, noise = total_of(after), total_of(before), 0.0
    for t in range(after.size):
        noise += (n_rows * (after[t] / total - before[t] / total_before)) ** 2
    return noise * after.size / (after.size - 1.0)


@inner
def cell_noise(groups, n_rows, factor, deviation):
    """Noise variance of a pair's log evidence, and of the gradient at the mode, for any cells.

    ``groups`` (cells, groups of particles) are weights without the coupling, ``factor`` is what the
    mode multiplies them by, and ``deviation`` the feature minus its mean at the mode. The variance
    is estimated from the differences between groups, as in :func:`noise_at`.
    """
    at_zero, at_mode, score = full(0.0, GROUPS), full(0.0, GROUPS), full(0.0, GROUPS)
    for c in range(groups.shape[0]):
        weights = load(groups[c], 0, GROUPS)
        tilted = factor[c] * weights
        at_zero += weights
        at_mode += tilted
        score += deviation[c] * tilted
    before, after = reduce_add(at_zero), reduce_add(at_mode)
    residual = at_mode / after - at_zero / before
    correction = n_rows * n_rows * GROUPS / (GROUPS - 1.0)
    gradient = reduce_add(score * score) / (after * after)
    return correction * reduce_add(residual * residual), correction * gradient
