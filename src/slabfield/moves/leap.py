r"""Leaps: all edges, couplings and biases of a small field drawn anew at once.

The log partition function about the posterior mean is nearly a quadratic form where there are many
rows. With it in the place of log Z (a *bowl*), the couplings of any structure are normal, and their
evidence and draws cost little: edges come and go with all couplings and biases integrated out. What
a round of such updates ends in is a proposal; it is accepted by how the true log Z differs from
the bowl, there and here (equation 29).
"""

from __future__ import annotations

import math

from slabfield._jit import generic, inner
from slabfield.kernels.logistic import dot
from slabfield.kernels.pivot import draw_inside, pivot
from slabfield.likelihood.bowl import excess
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.moves.flip import shuffle
from slabfield.moves.pair import count_learnt, log_odds_of
from slabfield.moves.state import insert, remove

# Leaps are between fields with no parameter beyond this: farther out sums over states lose digits
FARTHEST = 100.0


@inner
def far_out(values):
    """Whether any of the parameters is beyond what leaps are for."""
    n_near = 0
    for value in values:
        n_near += abs(value) < FARTHEST
    return n_near < values.size


@inner
def fill_regression(bowl, sums, state, slab_precision):
    """Set up the regression of the couplings, biases integrated out, with present edges inside."""
    bowl.present[:] = False
    table, row, d = bowl.table, bowl.row, state.bias.size
    n_edges = table.shape[0] - 1
    for i in range(d):
        bowl.pull[i] = sums.bias[i] - bowl.slope[i]
    for alpha in range(n_edges):
        table[alpha, : alpha + 1] = bowl.reduced[alpha, : alpha + 1]
        table[alpha, alpha] += slab_precision
        left = sums.coupling[alpha] - bowl.slope[d + alpha] - dot(bowl.follow[alpha], bowl.pull)
        table[n_edges, alpha] = left
    table[n_edges, n_edges] = 0.0
    for place in range(state.n_members[0]):
        bowl.present[state.members[place]] = True
        pivot(table, state.members[place], row, True)


@inner
def go_round(bowl, prior, counts, log_precision, rng):
    """Draw the presence of every edge once, by the bowl.

    The order is random: that makes a round as probable as the one back.
    """
    table, inside, order = bowl.table, bowl.present, bowl.order
    last, count, inclusion = table.shape[0] - 1, counts[0], prior.inclusion
    shuffle(order, order.size, rng)
    for place in range(order.size):
        alpha = order[place]
        if inclusion[alpha] == 0.0 or inclusion[alpha] == 1.0:
            continue
        learnt, now = math.isnan(inclusion[alpha]), inside[alpha]
        others = count - (1 if learnt and now else 0)
        spread, mean = table[alpha, alpha], table[last, alpha]
        odds = log_odds_of(inclusion, counts, alpha, others, prior.beta_a, prior.beta_b)
        if now:
            odds += 0.5 * (log_precision + math.log(-spread) - mean * mean / spread)
        else:
            odds += 0.5 * (log_precision - math.log(spread) + mean * mean / spread)
        comes = rng.random() * (1.0 + math.exp(-odds)) < 1.0
        if comes != now:
            pivot(table, alpha, bowl.row, comes)
            inside[alpha] = comes
            count = others + (1 if learnt and comes else 0)


@inner
def draw_field(bowl, rng):
    """Draw couplings of the present edges, and biases, by the bowl; return how many edges, or -1.

    Minus one is returned where rounding has made a covariance that is none.
    """
    present, inside, normal, bias = bowl.present, bowl.inside, bowl.normal, bowl.bias
    coupling, n = bowl.coupling, 0
    for alpha in range(present.size):
        coupling[alpha] = 0.0
        if present[alpha]:
            inside[n] = alpha
            normal[n] = rng.standard_normal()
            n += 1
    good = draw_inside(bowl.table, inside, n, bowl.factor, normal, coupling)
    for i in range(bias.size):
        normal[i] = rng.standard_normal()
        bias[i] = dot(bowl.bias_spread[i], bowl.pull) + dot(normal, bowl.bias_factor[i, : i + 1])
    for a in range(n):
        for i in range(bias.size):
            bias[i] -= bowl.follow[inside[a], i] * coupling[inside[a]]
    return n if good else -1


@generic
def leap(engine, sums, prior, state, block, rng):
    """Leap, where the engine knows the partition function and chance has it so; tell whether."""


@leap.register(ParticleCubes)
@leap.register(PseudoRows)
def stay(engine, sums, prior, state, block, rng):
    """Never: there is no partition function to go by."""
    return False


@leap.register(ExactCubes)
def leap_exactly(engine, sums, prior, state, block, rng):
    """Propose what a round by the bowl ends in, and accept it by the true partition function."""
    if rng.random() >= engine.leap_chance or far_out(state.bias) or far_out(state.coupling):
        return False
    bowl, counts, mass, n_rows = engine.bowl, block.counts, block.mass, sums.n_rows
    slab_precision = state.hyper[1] ** -2
    count_learnt(prior.inclusion, state.present, counts)
    fill_regression(bowl, sums, state, slab_precision)
    go_round(bowl, prior, counts, math.log(slab_precision), rng)
    n = draw_field(bowl, rng)
    bowl.count[0] += 1
    if n < 0 or far_out(bowl.bias) or far_out(bowl.coupling):
        return True
    gain = excess(engine, mass, n_rows, bowl.bias, bowl.coupling, bowl.inside, n)
    gain -= excess(
        engine, mass, n_rows, state.bias, state.coupling, state.members, state.n_members[0]
    )
    if -rng.standard_exponential() < gain:
        bowl.count[1] += 1
        state.bias[:] = bowl.bias
        state.coupling[:] = bowl.coupling
        for alpha in range(state.present.size):
            if bowl.present[alpha] and not state.present[alpha]:
                insert(state, alpha)
            elif state.present[alpha] and not bowl.present[alpha]:
                remove(state, alpha)
    return True
