r"""Surrogate transitions (Liu 2001): all edges, couplings and biases of a small field at once.

With many rows, N log Z is nearly quadratic around the posterior mean. With a quadratic surrogate in
its place, the couplings of any structure are normal, and their evidence and draws are cheap: edges
enter and leave with all couplings and biases integrated out. The result of a few scans of such
updates is a Metropolis proposal; its acceptance ratio compares the true N log Z with the surrogate,
at the proposal and at the present state (equation 29).
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner, optional
from slabfield.kernels.logistic import dot
from slabfield.kernels.sweep_operator import sample_coefficients, sweep_out
from slabfield.likelihood.blocks import ExactBlocks
from slabfield.likelihood.quadratic_surrogate import log_surrogate_ratio
from slabfield.moves.block_flip import shuffle
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.hyperparameters import count_learned_present, draw_p0, log_odds

# Largest absolute parameter for surrogate transitions: beyond it sums over states lose precision
MOST_PARAMETER = 100.0
# Scans under the surrogate per transition: cheap, beside the partition function
SCANS = 4


@inner
def beyond_bound(values):
    """Whether the absolute value of any parameter exceeds ``MOST_PARAMETER``."""
    n_within = 0
    for value in values:
        n_within += abs(value) < MOST_PARAMETER
    return n_within < values.size


@inner
def fill_regression(surrogate, sums, state, slab_precision):
    """Set up the regression of the couplings, biases integrated out, and sweep in present edges."""
    surrogate.present[:] = False
    table, row, d = surrogate.table, surrogate.row, state.bias.size
    n_edges = table.shape[0] - 1
    for i in range(d):
        surrogate.bias_score[i] = sums.bias[i] - surrogate.gradient[i]
    for alpha in range(n_edges):
        table[alpha, : alpha + 1] = surrogate.marginal_hessian[alpha, : alpha + 1]
        table[alpha, alpha] += slab_precision
        score = (
            sums.coupling[alpha]
            - surrogate.gradient[d + alpha]
            - dot(surrogate.bias_regression[alpha], surrogate.bias_score)
        )
        table[n_edges, alpha] = score
    table[n_edges, n_edges] = 0.0
    for place in range(state.n_members[0]):
        surrogate.present[state.members[place]] = True
        sweep_out(table, state.members[place], row, True)


@inner
def gibbs_scan(surrogate, prior, ones, n_learned, log_precision, rng):
    """Draw the presence of every edge once, under the surrogate and with p0 integrated out.

    ``ones`` of the ``n_learned`` edges that share p0 are present; returns their number afterwards.
    The order is random, which makes one scan, and any number of them, reversible.
    """
    table, inside, order = surrogate.table, surrogate.present, surrogate.order
    last, inclusion = table.shape[0] - 1, prior.inclusion
    shuffle(order, order.size, rng)
    for place in range(order.size):
        alpha = order[place]
        if inclusion[alpha] == 0.0 or inclusion[alpha] == 1.0:
            continue
        learned, now = math.isnan(inclusion[alpha]), inside[alpha]
        ones -= learned and now
        diagonal, mean = table[alpha, alpha], table[last, alpha]
        mean_p0 = math.nan
        if learned:  # given all other edges (equation 20)
            mean_p0 = (prior.beta_a + ones) / (prior.beta_a + prior.beta_b + n_learned - 1)
        odds = log_odds(inclusion, mean_p0, alpha)
        if now:
            odds += 0.5 * (log_precision + math.log(-diagonal) - mean * mean / diagonal)
        else:
            odds += 0.5 * (log_precision - math.log(diagonal) + mean * mean / diagonal)
        included = rng.random() * (1.0 + math.exp(-odds)) < 1.0
        if included != now:
            sweep_out(table, alpha, surrogate.row, included)
            inside[alpha] = included
        ones += learned and included
    return ones


@inner
def draw_field(surrogate, rng):
    """Draw couplings of present edges, and biases, under the surrogate.

    Returns the number of edges, or -1 if rounding has made a covariance indefinite.
    """
    present, inside, normal, bias = (
        surrogate.present,
        surrogate.inside,
        surrogate.normal,
        surrogate.bias,
    )
    coupling, n = surrogate.coupling, 0
    for alpha in range(present.size):
        coupling[alpha] = 0.0
        if present[alpha]:
            inside[n] = alpha
            normal[n] = rng.standard_normal()
            n += 1
    positive_definite = sample_coefficients(
        surrogate.table, inside, n, surrogate.factor, normal, coupling
    )
    for i in range(bias.size):
        normal[i] = rng.standard_normal()
        bias[i] = dot(surrogate.bias_covariance[i], surrogate.bias_score) + dot(
            normal, surrogate.bias_factor[i, : i + 1]
        )
    for a in range(n):
        for i in range(bias.size):
            bias[i] -= surrogate.bias_regression[inside[a], i] * coupling[inside[a]]
    return n if positive_definite else -1


@inner
def move_to_proposal(surrogate, state):
    """Set the state to the field that was drawn under the surrogate."""
    state.bias[:] = surrogate.bias
    state.coupling[:] = surrogate.coupling
    for alpha in range(state.present.size):
        if surrogate.present[alpha] and not state.present[alpha]:
            insert(state, alpha)
        elif state.present[alpha] and not surrogate.present[alpha]:
            remove(state, alpha)


@optional
def surrogate_transition(engine, sums, prior, state, block, rng):
    """Try a surrogate transition, with the engine's probability; return whether it was tried.

    By default never: it takes a partition function.
    """
    return False


@surrogate_transition.register(ExactBlocks)
def surrogate_metropolis(engine, sums, prior, state, block, rng):
    """Propose the result of scans under the surrogate; accept by the true partition function."""
    if (
        rng.random() >= engine.transition_probability
        or beyond_bound(state.bias)
        or beyond_bound(state.coupling)
    ):
        return False
    surrogate, table, n_rows = engine.surrogate, block.table, sums.n_rows
    slab_precision = state.hyper[1] ** -2
    n_learned = np.isnan(prior.inclusion).sum()
    ones = count_learned_present(state, prior.inclusion)
    fill_regression(surrogate, sums, state, slab_precision)
    for _ in range(SCANS):
        ones = gibbs_scan(surrogate, prior, ones, n_learned, math.log(slab_precision), rng)
    n = draw_field(surrogate, rng)
    surrogate.count[0] += 1
    if n >= 0 and not (beyond_bound(surrogate.bias) or beyond_bound(surrogate.coupling)):
        gain = log_surrogate_ratio(
            engine, table, n_rows, surrogate.bias, surrogate.coupling, surrogate.inside, n
        )
        gain -= log_surrogate_ratio(
            engine, table, n_rows, state.bias, state.coupling, state.members, state.n_members[0]
        )
        if -rng.standard_exponential() < gain:
            surrogate.count[1] += 1
            move_to_proposal(surrogate, state)
    if n_learned > 0:
        # it was integrated out; overrelaxation would start from a value that is out of date
        ones = count_learned_present(state, prior.inclusion)
        state.hyper[0] = draw_p0(prior, ones, n_learned, rng)
    return True
