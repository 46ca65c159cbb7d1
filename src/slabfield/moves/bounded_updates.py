r"""Range-restricted Gibbs updates, for conditionals wider than the particles can support.

Means over particles are reliable only for states that some particles show. Where the conditional
of a parameter extends further (nodes that exclude or imply each other), it is drawn from an
interval of length 6 placed at random around its present value; and an edge whose absolute coupling
is at most 3 becomes absent, or present with another such coupling. Both are Gibbs updates of the
same posterior on a smaller range: the particles follow before the next update.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from slabfield._jit import inner
from slabfield.kernels.state_table import total_of
from slabfield.kernels.univariate import (
    LEAST,
    log_density_from_mode,
    log_truncated_integral,
    sample_truncated,
)
from slabfield.moves.particle_noise import noise_at

# Half the length of the interval of a restricted update, and the width of a conditional up to which
# updates are not restricted
HALF_RANGE, MOST_WIDTH = 3.0, 10.0
# Probability from which a state is supported by particles, and the largest factor by which a flip
# may change the probability of another state
LEAST_SUPPORTED, MOST_FACTOR = 1e-3, math.exp(2 * HALF_RANGE)


class Conditional(NamedTuple):
    """Full conditional of one parameter, from :func:`slabfield.kernels.univariate.integrate`.

    ``noise_share`` is the share of its variance that the noise of the mode replaces; ``around``
    holds the terms at the mode, ``left`` and ``right`` the tangents on its sides, and ``pair`` the
    probabilities of the four states of the two nodes with their centers.
    """

    mode: float
    precision: float
    noise_share: float
    around: Any
    left: Any
    right: Any
    pair: Any


@inner
def limits_of(conditional):
    """Limits of the conditional of a parameter, except for a probability of e^-6 or less."""
    mode, left, right = conditional.mode, conditional.left, conditional.right
    return mode + left[1] + LEAST / (3 * left[0]), mode + right[1] + LEAST / (3 * right[0])


@inner
def is_too_wide(now, conditional):
    """Whether the conditional of a coupling, zero included, is wider than the particles support.

    Also true if it is far from the present value.
    """
    low, high = limits_of(conditional)
    low, high = min(low, 0.0), max(high, 0.0)
    return high - low > MOST_WIDTH or now < low - HALF_RANGE or now > high + HALF_RANGE


@inner
def restricted_evidence(groups, residual, scale, conditional):
    """Log evidence of presence with a coupling within ``HALF_RANGE`` of zero, and its noise."""
    mode, precision = conditional.mode, conditional.precision
    around, n_rows = conditional.around, scale.n_rows
    evidence = log_truncated_integral(
        -HALF_RANGE - mode, HALF_RANGE - mode, n_rows, precision, around
    )
    evidence -= log_density_from_mode(-mode, n_rows, precision, around)
    nearest = min(max(mode, -HALF_RANGE), HALF_RANGE)
    noise = noise_at(groups, n_rows, conditional.pair, nearest, residual)[0]
    return evidence + scale.log_slab, noise


@inner
def draw_within(low, high, n_rows, conditional, rng):
    """Draw a parameter from its conditional restricted to an interval."""
    mode = conditional.mode
    return mode + sample_truncated(
        low - mode, high - mode, n_rows, conditional.precision, conditional.around,
        conditional.left, conditional.right, rng,
    )  # fmt: skip


@inner
def leaves_support(weights, power):
    """Whether a flip changes the probability of a state of the block beyond what particles support.

    They support the states that some of them show, before and after.
    """
    before, after = total_of(weights), total_of(power)
    for s in range(weights.size):
        one, other = weights[s] / before, power[s] / after
        least, most = min(one, other), max(one, other)
        if least < LEAST_SUPPORTED and most > MOST_FACTOR * least:
            return True
    return False
