"""Conjugate draws of p0 and sigma0 (equation 8), independent or overrelaxed.

Given p0, a sweep draws about as many edges as p0 says, and given the edges p0 is nearly known: the
two walk together in small steps. Ordered overrelaxation (Neal 1998) draws p0, and sigma0, on the
other side of the conditional, so that a step tends to go on in the direction of the last.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner

# Draws of ordered overrelaxation; an odd number, so that none is kept where it is
N_ORDERED = 31
# Bounds of p0: its logarithm and that of 1 - p0 are finite
LEAST_P0, MOST_P0 = 1e-300, 1.0 - 2.0**-53


@inner
def draw_gamma_above(shape, least, rng):
    """Draw from the standard Gamma distribution restricted to values of at least ``least``.

    By rejection: where the bound is far in the upper tail, from an exponential distribution
    that starts there, whose rate makes it an upper bound of the density (log x is concave).
    """
    if least < shape + math.sqrt(shape):
        value = rng.standard_gamma(shape)
        while value < least:
            value = rng.standard_gamma(shape)
        return value
    rate = 1.0 - max(shape - 1.0, 0.0) / least
    while True:
        value = least + rng.standard_exponential() / rate
        excess = (1.0 - rate) * (value - least)
        if rng.random() < math.exp((shape - 1.0) * math.log(value / least) - excess):
            return value


@inner
def count_learned_present(state, inclusion):
    """Count the present interactions that share p0."""
    ones = 0
    for k in range(state.n_members[0]):
        ones += math.isnan(inclusion[state.members[k]])
    return ones


@inner
def draw_p0(prior, ones, n_learned, rng):
    """Draw p0 given that ``ones`` of the ``n_learned`` interactions that share it are present."""
    drawn = rng.beta(prior.beta_a + ones, prior.beta_b + n_learned - ones)
    return min(max(drawn, LEAST_P0), MOST_P0)


@inner
def scale_conditional(state, prior, group_start, scale):
    """Shape, rate and least value of the precision of a slab, given the parameters that share it.

    Where the state has two scales, the second is that of the interactions with several parameters,
    and the first that of the others.
    """
    coupling, members, last = state.coupling, state.members, state.hyper.size - 1
    shape, rate = prior.gamma_shape, prior.gamma_rate
    for k in range(state.n_members[0]):
        alpha = members[k]
        begin, end = group_start[alpha], group_start[alpha + 1]
        if last == 1 or (scale == last) == (end - begin > 1):
            for p in range(begin, end):
                shape += 0.5
                rate += 0.5 * coupling[p] ** 2
    return shape, rate, prior.max_slab_scale**-2


@inner
def draw_hyper(state, prior, n_learned, group_start, rng):
    r"""Draw p0 and sigma0 given the structure and the parameters of present interactions.

    .. math::

       p_0 \sim \mathrm{Beta}(a + \#\{Y = 1\}, b + \#\{Y = 0\}), \quad
       \sigma_0^{-2} \sim \Gamma(c + k / 2, d + \sum A^2 / 2), \quad \sigma_0 \le \sigma_{\max}

    where only the ``n_learned`` interactions whose probability is learned count for p0, and k is
    the number of parameters of all present ones.
    """
    if n_learned > 0:
        ones = count_learned_present(state, prior.inclusion)
        state.hyper[0] = draw_p0(prior, ones, n_learned, rng)
    for scale in range(1, state.hyper.size):
        if math.isnan(prior.slab_scale):
            shape, rate, least = scale_conditional(state, prior, group_start, scale)
            state.hyper[scale] = math.sqrt(rate / draw_gamma_above(shape, rate * least, rng))


@inner
def overrelax_hyper(state, prior, n_learned, group_start, rng):
    """Redraw p0 and sigma0 by ordered overrelaxation, which leaves their conditionals invariant."""
    draws = np.empty(N_ORDERED)
    if n_learned > 0:
        ones = count_learned_present(state, prior.inclusion)
        for m in range(N_ORDERED):
            draws[m] = draw_p0(prior, ones, n_learned, rng)
        state.hyper[0] = opposite(state.hyper[0], draws)
    for scale in range(1, state.hyper.size):
        if math.isnan(prior.slab_scale):
            shape, rate, least = scale_conditional(state, prior, group_start, scale)
            for m in range(N_ORDERED):
                draws[m] = draw_gamma_above(shape, rate * least, rng) / rate
            precision = opposite(state.hyper[scale] ** -2, draws)
            state.hyper[scale] = 1.0 / math.sqrt(precision)


@inner
def opposite(now, draws):
    """Return the value whose rank among the draws and ``now`` mirrors that of ``now``."""
    draws.sort()
    rank = 0
    while rank < draws.size and draws[rank] < now:
        rank += 1
    mirrored = draws.size - rank
    return draws[mirrored] if mirrored < rank else draws[mirrored - 1]


@inner
def log_odds(inclusion, p0, alpha):
    """Prior log odds that an interaction is present: of p0, unless it has a probability of its own.

    ``inclusion`` is NaN where p0 counts.
    """
    probability = inclusion[alpha]
    if math.isnan(probability):
        probability = p0
    return math.log(probability) - math.log1p(-probability)
