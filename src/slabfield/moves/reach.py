r"""How far a parameter may move at a time where probabilities are means over particles.

Particles vouch only for states that some of them show. Where the conditional of a parameter reaches
beyond what a few of them can tell (nodes that exclude or imply each other), it is drawn within an
interval of length 6 that lies at random about its value now; and an edge whose coupling is at most
3 in size is absent, or present with another such coupling. Both are Gibbs updates of the same
posterior, of a smaller range: particles follow before the next.
"""

from __future__ import annotations

import math

from slabfield._jit import inner
from slabfield.kernels.slab import LEAST, draw_between, log_integral_between, value_from_mode
from slabfield.kernels.table import total_of
from slabfield.moves.noise import noise_at

# A parameter moves by twice this at most at a time, unless all of its conditional lies within so
# much
REACH, WITHIN_REACH = 3.0, 10.0
# Probability of a state that some particles show, and factor by which a lower one may change
SHOWN, FARTHEST = 1e-3, math.exp(2 * REACH)


@inner
def ends_of(needs):
    """Where the conditional of a parameter ends, but for a share of e^-6 or less."""
    mode, left, right = needs[0], needs[4], needs[5]
    return mode + left[1] + LEAST / (3 * left[0]), mode + right[1] + LEAST / (3 * right[0])


@inner
def reaches_far(now, needs):
    """Whether the conditional of a coupling, zero included, is wider than particles vouch for.

    Or lies farther from the coupling now.
    """
    low, high = ends_of(needs)
    low, high = min(low, 0.0), max(high, 0.0)
    return high - low > WITHIN_REACH or now < low - REACH or now > high + REACH


@inner
def odds_near_zero(lanes, residual, scale, needs):
    """Log evidence of presence with a coupling of at most ``REACH`` in size, and its noise."""
    mode, precision, _, around, _, _, pair = needs
    n_rows, log_slab = scale[0], scale[2]
    evidence = log_integral_between(-REACH - mode, REACH - mode, n_rows, precision, around)
    evidence -= value_from_mode(-mode, n_rows, precision, around)
    nearest = min(max(mode, -REACH), REACH)
    return evidence + log_slab, noise_at(lanes, n_rows, pair, nearest, residual)[0]


@inner
def draw_within(low, high, n_rows, needs, rng):
    """Draw a parameter given presence and an interval."""
    mode, precision, _, around, left, right, _ = needs
    return mode + draw_between(low - mode, high - mode, n_rows, precision, around, left, right, rng)


@inner
def goes_far(weights, power):
    """Whether a state of the block changes its probability beyond what particles vouch for.

    They vouch for states that some of them show, before and after.
    """
    before, after = total_of(weights), total_of(power)
    for s in range(weights.size):
        one, other = weights[s] / before, power[s] / after
        least, most = min(one, other), max(one, other)
        if least < SHOWN and most > FARTHEST * least:
            return True
    return False
