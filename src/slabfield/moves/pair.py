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
def log_evidence(engine, sums, prior, state, work, alpha):
    """Log odds of presence with the parameter integrated out; also feature mean without it, mode.

    The interaction must be absent or is taken out in thought.
    """
    moments_without(engine, state, alpha, work.mean, work.covariance)
    mean, total, precision = work.mean[0], sums.coupling[alpha], state.hyper[1] ** -2
    mode = find_mode(total, sums.n_rows, mean, precision)
    evidence = 0.5 * math.log(precision / (2 * math.pi))
    evidence += log_integral(total, sums.n_rows, mean, precision, mode)
    return evidence + log_odds(state, prior, alpha), mean, mode


@inner
def place(engine, state, work, alpha, present, value):
    """Give an interaction its presence and value, in engine and state."""
    work.target[0] = value
    if present or state.present[alpha]:
        set_group(engine, state, alpha, work.target)
    state.coupling[alpha] = value
    if present and not state.present[alpha]:
        insert(state, alpha)
    elif state.present[alpha] and not present:
        remove(state, alpha)


@inner
def collapsed_update(engine, sums, prior, state, work, alpha, rng):
    """Draw presence and then the parameter of one interaction from their joint conditional."""
    precision, value = state.hyper[1] ** -2, 0.0
    evidence, mean, mode = log_evidence(engine, sums, prior, state, work, alpha)
    present = rng.random() * (1.0 + math.exp(-evidence)) < 1.0
    if present:
        value = draw_conditional(
            sums.coupling[alpha], sums.n_rows, mean, precision, mode, rng
        )
    place(engine, state, work, alpha, present, value)


@inner
def swap_update(engine, sums, prior, state, work, rng):
    """Let one present and one absent interaction, drawn at random, settle which of them is present.

    Given that exactly one of the two is, which one it is has odds of the ratio of their evidence,
    each judged with the other out. The numbers of present and absent ones stay as they were, so
    drawing the two does not favour either direction. Interactions forced or forbidden stay out of
    it; a draw that hits one of them is spent.
    """
    n_present, n_all = state.n_members[0], state.present.size
    if n_present == 0 or n_present == n_all:
        return
    leaving = state.members[int(rng.random() * n_present)]
    entering = int(rng.random() * n_all)
    inclusion = prior.inclusion
    if state.present[entering] or inclusion[leaving] == 1.0 or inclusion[entering] == 0.0:
        return
    stay, mean, mode = log_evidence(engine, sums, prior, state, work, leaving)
    place(engine, state, work, leaving, False, 0.0)
    go, other_mean, other_mode = log_evidence(engine, sums, prior, state, work, entering)
    chosen = leaving
    if rng.random() * (1.0 + math.exp(stay - go)) < 1.0:
        chosen, mean, mode = entering, other_mean, other_mode
    precision = state.hyper[1] ** -2
    value = draw_conditional(sums.coupling[chosen], sums.n_rows, mean, precision, mode, rng)
    place(engine, state, work, chosen, True, value)


@inner
def collapsed_sweep(engine, sums, prior, state, work, rng):
    """Update every interaction and every bias once, with as many swaps as interactions.

    The table is filled anew first, so that rounding does not build up over sweeps.
    """
    advance(engine, state, rng)
    for alpha in range(state.present.size):
        if prior.inclusion[alpha] != 0.0:
            collapsed_update(engine, sums, prior, state, work, alpha, rng)
    for _ in range(state.present.size):
        swap_update(engine, sums, prior, state, work, rng)
    for i in range(state.bias.size):
        mean, total = bias_mean_without(engine, state, i), sums.bias[i]
        mode = find_mode(total, sums.n_rows, mean, prior.bias_precision)
        value = draw_conditional(total, sums.n_rows, mean, prior.bias_precision, mode, rng)
        set_bias(engine, state, i, value)
        state.bias[i] = value
