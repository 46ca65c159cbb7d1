"""Conjugate draws of p0 and sigma0 (equation 8)."""

from __future__ import annotations

import math

from slabfield._jit import inner


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
def draw_hyper(state, prior, n_learned, group_start, rng):
    r"""Draw p0 and sigma0 given the structure and the parameters of present interactions.

    .. math::

       p_0 \sim \mathrm{Beta}(a + \#\{Y = 1\}, b + \#\{Y = 0\}), \quad
       \sigma_0^{-2} \sim \Gamma(c + k / 2, d + \sum A^2 / 2), \quad \sigma_0 \le \sigma_{\max}

    where only the ``n_learned`` interactions whose probability is learned count for p0, and k is
    the number of parameters of all present ones. Where the state has a second scale, it is that of
    the interactions with several parameters, and sigma0 that of the others.
    """
    inclusion, members, last = prior.inclusion, state.members, state.hyper.size - 1
    ones = 0
    for k in range(state.n_members[0]):
        ones += math.isnan(inclusion[members[k]])
    if n_learned > 0:
        state.hyper[0] = rng.beta(prior.beta_a + ones, prior.beta_b + n_learned - ones)
    for scale in range(1, last + 1):
        state.hyper[scale] = draw_scale(state, prior, group_start, scale, last, rng)


@inner
def draw_scale(state, prior, group_start, scale, last, rng):
    """Draw one scale of the slab, given the parameters of the interactions that share it."""
    if not math.isnan(prior.slab_scale):
        return prior.slab_scale
    coupling, members = state.coupling, state.members
    shape, rate = prior.gamma_shape, prior.gamma_rate
    for k in range(state.n_members[0]):
        alpha = members[k]
        begin, end = group_start[alpha], group_start[alpha + 1]
        if last == 1 or (scale == last) == (end - begin > 1):
            for p in range(begin, end):
                shape += 0.5
                rate += 0.5 * coupling[p] ** 2
    least = rate * prior.max_slab_scale**-2
    return math.sqrt(rate / draw_gamma_above(shape, least, rng))


@inner
def log_odds(state, prior, alpha):
    """Prior log odds that an interaction is present."""
    probability = prior.inclusion[alpha]
    if math.isnan(probability):
        probability = state.hyper[0]
    return math.log(probability) - math.log1p(-probability)
