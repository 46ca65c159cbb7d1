r"""Collapsed Gibbs updates of a binary pairwise field on an exact engine: the gold standard.

For one coupling the likelihood depends on the rest of the field only through the probabilities of
the four states of its two nodes. The odds of presence with the coupling integrated out are then a
one-dimensional integral, and the coupling given presence an exact draw (equation 17).

Couplings are *centred*: when :math:`\theta_{ij}` moves by a, the biases of its ends move by
:math:`-a u` and :math:`-a v`, with u and v the means in the data of the *other* end. The change of
variables has Jacobian one; what it gains is that couplings and biases hardly depend on each other.
"""

from __future__ import annotations

import math

from slabfield._jit import inner
from slabfield.kernels.slab import draw_conditional, find_mode, log_integral
from slabfield.kernels.table import quadrant_sums, scale_where, total_of
from slabfield.likelihood.engine import advance
from slabfield.moves.hyper import log_odds
from slabfield.moves.state import insert, remove

# A change beyond this fills the table anew: scaled by it again and again, weights would overflow
LARGE = 20.0


@inner
def pair_without(engine, sums, state, alpha):
    """Probabilities of the four states of an edge's ends with its coupling out, and its centres."""
    i, j = engine.first[alpha], engine.second[alpha]
    none, one, other, both = quadrant_sums(engine.weights, i, j, engine.block)
    a = state.coupling[alpha]
    u, v = sums.bias[j] / sums.n_rows, sums.bias[i] / sums.n_rows
    w1, w2 = one * math.exp(a * u), other * math.exp(a * v)
    w3 = both * math.exp(-a * (1 - u - v))
    total = none + w1 + w2 + w3
    return none / total, w1 / total, w2 / total, w3 / total, u, v


@inner
def linear_part(engine, sums, prior, state, alpha, pair):
    """Slope and precision of the conditional of a centred coupling: data, slab, bias priors."""
    i, j = engine.first[alpha], engine.second[alpha]
    u, v = pair[4], pair[5]
    a = state.coupling[alpha]
    slope = sums.coupling[alpha] - u * sums.bias[i] - v * sums.bias[j]
    slope += prior.bias_precision * ((state.bias[i] + a * u) * u + (state.bias[j] + a * v) * v)
    return slope, state.hyper[1] ** -2 + prior.bias_precision * (u * u + v * v)


@inner
def place(engine, state, alpha, pair, present, value, rng):
    """Give an edge its presence and coupling, its ends their biases, and the table its weights."""
    i, j = engine.first[alpha], engine.second[alpha]
    u, v = pair[4], pair[5]
    change = value - state.coupling[alpha]
    state.bias[i] -= u * change
    state.bias[j] -= v * change
    state.coupling[alpha] = value
    if present and not state.present[alpha]:
        insert(state, alpha)
    elif state.present[alpha] and not present:
        remove(state, alpha)
    if abs(change) > LARGE:
        advance(engine, state, rng)
    elif change != 0.0:
        scale_where(engine.weights, i, i, math.exp(-u * change))
        scale_where(engine.weights, j, j, math.exp(-v * change))
        scale_where(engine.weights, i, j, math.exp(change))
        engine.total[0] = total_of(engine.weights)


@inner
def log_evidence(sums, prior, state, alpha, slope, precision, pair, mode):
    """Log odds of presence with the coupling integrated out."""
    evidence = log_integral(slope, sums.n_rows, precision, pair, mode)
    evidence += -math.log(state.hyper[1]) - 0.5 * math.log(2 * math.pi)
    return evidence + log_odds(state, prior, alpha)


@inner
def collapsed_update(engine, sums, prior, state, alpha, rng):
    """Draw presence and then the coupling of one edge from their joint conditional."""
    pair = pair_without(engine, sums, state, alpha)
    slope, precision = linear_part(engine, sums, prior, state, alpha, pair)
    mode = find_mode(slope, sums.n_rows, precision, pair)
    present, value = prior.inclusion[alpha] == 1.0, 0.0
    if not present:
        evidence = log_evidence(sums, prior, state, alpha, slope, precision, pair, mode)
        present = rng.random() * (1.0 + math.exp(-evidence)) < 1.0
    if present:
        value = draw_conditional(slope, sums.n_rows, precision, pair, mode, rng)
    place(engine, state, alpha, pair, present, value, rng)


@inner
def swap_update(engine, sums, prior, state, rng):
    """Let one present and one absent edge, drawn at random, settle which of them is present.

    Given that exactly one of the two is, which one it is has odds of the ratio of their evidence,
    each judged with the other out. The numbers of present and absent ones stay as they were, so
    drawing the two does not favour either direction. Edges forced or forbidden stay out of it; a
    draw that hits one of them is spent.
    """
    n_present, n_all = state.n_members[0], state.present.size
    if n_present == 0 or n_present == n_all:
        return
    leaving = state.members[int(rng.random() * n_present)]
    entering = int(rng.random() * n_all)
    inclusion = prior.inclusion
    if state.present[entering] or inclusion[leaving] == 1.0 or inclusion[entering] == 0.0:
        return
    pair = pair_without(engine, sums, state, leaving)
    slope, precision = linear_part(engine, sums, prior, state, leaving, pair)
    mode = find_mode(slope, sums.n_rows, precision, pair)
    stay = log_evidence(sums, prior, state, leaving, slope, precision, pair, mode)
    place(engine, state, leaving, pair, False, 0.0, rng)
    pair2 = pair_without(engine, sums, state, entering)
    slope2, precision2 = linear_part(engine, sums, prior, state, entering, pair2)
    mode2 = find_mode(slope2, sums.n_rows, precision2, pair2)
    go = log_evidence(sums, prior, state, entering, slope2, precision2, pair2, mode2)
    chosen = leaving
    if rng.random() * (1.0 + math.exp(stay - go)) < 1.0:
        chosen, slope, precision, pair, mode = entering, slope2, precision2, pair2, mode2
    value = draw_conditional(slope, sums.n_rows, precision, pair, mode, rng)
    place(engine, state, chosen, pair, True, value, rng)


@inner
def bias_update(engine, sums, prior, state, i, rng):
    """Draw a bias from its conditional."""
    if i > 0:
        s00, s10, s01, s11 = quadrant_sums(engine.weights, 0, i, engine.block)
        none, one = s00 + s10, s01 + s11
    else:
        s00, s10, s01, s11 = quadrant_sums(engine.weights, 0, 1, engine.block)
        none, one = s00 + s01, s10 + s11
    one *= math.exp(-state.bias[i])
    pair = (none / (none + one), 0.0, 0.0, one / (none + one), 0.0, 0.0)
    slope, precision = sums.bias[i], prior.bias_precision
    mode = find_mode(slope, sums.n_rows, precision, pair)
    value = draw_conditional(slope, sums.n_rows, precision, pair, mode, rng)
    change = value - state.bias[i]
    state.bias[i] = value
    if abs(change) > LARGE:
        advance(engine, state, rng)
    else:
        scale_where(engine.weights, i, i, math.exp(change))
        engine.total[0] = total_of(engine.weights)


@inner
def collapsed_sweep(engine, sums, prior, state, rng):
    """Update every edge and every bias once, with as many swaps as edges.

    The table is filled anew first, so that rounding does not build up over sweeps.
    """
    advance(engine, state, rng)
    for alpha in range(state.present.size):
        if prior.inclusion[alpha] != 0.0:
            collapsed_update(engine, sums, prior, state, alpha, rng)
    for _ in range(state.present.size):
        swap_update(engine, sums, prior, state, rng)
    for i in range(state.bias.size):
        bias_update(engine, sums, prior, state, i, rng)
