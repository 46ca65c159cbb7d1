"""Collapsed Gibbs updates, one parameter at a time: the gold standard of small fields.

For one parameter of a 0/1 feature the likelihood depends on the rest of the field only through the
mean of the feature without it (equation 11). The odds of presence with the parameter integrated out
are then a one-dimensional integral, and the parameter given presence an exact draw.
"""

from __future__ import annotations

import math

from slabfield._jit import inner
from slabfield.kernels.slab import draw_conditional, find_mode, log_integral
from slabfield.likelihood.engine import (
    advance,
    bias_mean_without,
    moments_without,
    set_bias,
    set_group,
)
from slabfield.moves.hyper import log_odds
from slabfield.moves.state import insert, remove


@inner
def collapsed_update(engine, sums, prior, state, work, alpha, rng):
    """Draw presence and then the parameter of one interaction from their joint conditional."""
    moments_without(engine, state, alpha, work.mean, work.covariance)
    mean, total, precision = work.mean[0], sums.coupling[alpha], state.hyper[1] ** -2
    mode = find_mode(total, sums.n_rows, mean, precision)
    own = prior.inclusion[alpha]
    present = own == 1.0
    if not present:
        evidence = log_integral(total, sums.n_rows, mean, precision, mode)
        evidence += 0.5 * math.log(precision / (2 * math.pi)) + log_odds(state, prior, alpha)
        present = rng.random() * (1.0 + math.exp(-evidence)) < 1.0
    work.target[0] = 0.0
    if present:
        work.target[0] = draw_conditional(total, sums.n_rows, mean, precision, mode, rng)
    if present or state.present[alpha]:
        set_group(engine, state, alpha, work.target)
    state.coupling[alpha] = work.target[0]
    if present and not state.present[alpha]:
        insert(state, alpha)
    elif state.present[alpha] and not present:
        remove(state, alpha)


@inner
def collapsed_sweep(engine, sums, prior, state, work, rng):
    """Update every interaction and every bias once, in a fixed order.

    The table is filled anew first, so that rounding does not build up over sweeps.
    """
    advance(engine, state, rng)
    for alpha in range(state.present.size):
        if prior.inclusion[alpha] != 0.0:
            collapsed_update(engine, sums, prior, state, work, alpha, rng)
    for i in range(state.bias.size):
        mean, total = bias_mean_without(engine, state, i), sums.bias[i]
        mode = find_mode(total, sums.n_rows, mean, prior.bias_precision)
        value = draw_conditional(total, sums.n_rows, mean, prior.bias_precision, mode, rng)
        set_bias(engine, state, i, value)
        state.bias[i] = value
