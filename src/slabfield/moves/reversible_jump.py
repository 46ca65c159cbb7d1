r"""Reversible jumps: an interaction is added with parameters inside a window, or deleted.

The proposal for a group is the Gaussian approximation of likelihood and slab at zero, truncated to
the window (equation 12), parameter by parameter; with one parameter per group it is the paper's
optimal proposal. Forward and backward it depends only on the field *without* the interaction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.univariate import clipped_gradient, log_window_integral, sample_window
from slabfield.likelihood.protocols import log_ratio, moments_without, set_group
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.hyperparameters import log_odds

Array = NDArray[np.float64]

REQUIRES = (moments_without, log_ratio, set_group)


class JumpSettings(NamedTuple):
    """Widths of the windows, proposal probabilities, and the order in which births are proposed.

    ``order`` lists the interactions that may jump: first the ``n_learned`` whose probability is p0,
    then those with a probability of their own, each part by decreasing ``log_bound``: the log of an
    upper bound on the acceptance probability of a birth, without prior odds and the constant of the
    slab.
    """

    width: Array
    add_probability: float
    delete_probability: float
    order: NDArray[np.int64]
    n_learned: int
    log_bound: Array


class JumpWork(NamedTuple):
    """Workspace for one group, and lists of births to propose and of deletable interactions."""

    mean: Array
    covariance: Array
    target: Array
    deletable: NDArray[np.int64]
    births: NDArray[np.int64]
    log_uniforms: Array


def new_jump_work(largest_group: int, n_interactions: int) -> JumpWork:
    """Return the workspace of jumps."""
    return JumpWork(
        np.zeros(largest_group),
        np.zeros((largest_group, largest_group)),
        np.zeros(largest_group),
        np.zeros(n_interactions, np.int64),
        np.zeros(n_interactions, np.int64),
        np.zeros(n_interactions),
    )


def jump_order(
    inclusion: Array,
    width: Array,
    group_start: NDArray[np.int64],
    sums_coupling: Array,
    n_rows: float,
    lazy: bool,
) -> tuple[NDArray[np.int64], int, Array]:
    r"""Return order, n_learned and log_bound of :class:`JumpSettings`.

    For one parameter of a 0/1 feature, with the ratio to second order, the acceptance probability
    of a birth is at most prior odds times :math:`(2 \pi \sigma_0^2)^{-1/2}\, 2 \Delta \exp(\Delta
    \max(F, N - F))` (equation 16). With ``lazy``, that bound lets most births be skipped without
    evaluation; without it, or for larger groups, every absent interaction is evaluated.
    """
    sizes = np.diff(group_start)
    log_bound = np.full(sizes.size, np.inf)
    if lazy and np.all(sizes == 1):
        most_gradient = np.maximum(sums_coupling, n_rows - sums_coupling)
        log_bound = np.log(2 * width) + width * most_gradient
    own = (inclusion > 0) & (inclusion < 1)
    log_bound[own] += np.log(inclusion[own] / (1 - inclusion[own]))
    learned, fixed = np.flatnonzero(np.isnan(inclusion)), np.flatnonzero(own)
    order = np.concatenate([part[np.argsort(-log_bound[part], kind="stable")]
                            for part in (learned, fixed)])  # fmt: skip
    return order.astype(np.int64), len(learned), log_bound


@inner
def prepare(engine, sums, state, settings, start, alpha, precision, mean, covariance):
    """Fill ``mean`` with the proposal's gradients; return the log integral of the proposal."""
    moments_without(engine, state, alpha, mean, covariance)
    total = 0.0
    for k in range(mean.size):
        curvature = sums.n_rows * covariance[k, k] + precision
        gradient = clipped_gradient(sums.coupling[start + k] - sums.n_rows * mean[k], curvature)
        mean[k] = gradient
        total += log_window_integral(gradient, curvature, settings.width[start + k])
    return total


@inner
def log_slab_over_proposal(sums, state, values, gradients, covariance, precision, log_integral):
    """Log ratio of the slab's density to the proposal's, at ``values``."""
    total = log_integral
    for k in range(values.size):
        a = values[k]
        curvature = sums.n_rows * covariance[k, k] + precision
        total += 0.5 * math.log(precision / (2 * math.pi)) - 0.5 * precision * a * a
        total -= a * gradients[k] - 0.5 * curvature * a * a
    return total


@inner
def try_add(engine, sums, prior, group_start, settings, state, work, alpha, log_uniform, rng):
    """Propose a birth, decided by the uniform whose log is ``log_uniform``. Return success."""
    start = group_start[alpha]
    size = group_start[alpha + 1] - start
    gradients, covariance, target = (
        work.mean[:size],
        work.covariance[:size, :size],
        work.target[:size],
    )
    precision = state.hyper[1] ** -2
    log_integral = prepare(
        engine, sums, state, settings, start, alpha, precision, gradients, covariance
    )
    for k in range(size):
        curvature = sums.n_rows * covariance[k, k] + precision
        target[k] = sample_window(gradients[k], curvature, settings.width[start + k], rng)
    gain, variance = log_ratio(engine, sums, prior, state, alpha, target)
    accept = log_odds(prior.inclusion, state.hyper[0], alpha) + gain - math.log1p(0.5 * variance)
    accept += log_slab_over_proposal(
        sums, state, target, gradients, covariance, precision, log_integral
    )
    accept += math.log(settings.delete_probability / settings.add_probability)
    if not log_uniform < accept:
        return False
    set_group(engine, state, alpha, target)
    for k in range(size):
        state.coupling[start + k] = target[k]
        state.coupling_momentum[start + k] = rng.standard_normal()
    insert(state, alpha)
    return True


@inner
def within_window(coupling, width, start, stop):
    """Whether all parameters of a group are inside its window."""
    inside = True
    for p in range(start, stop):
        inside = inside and abs(coupling[p]) < width[p]
    return inside


@inner
def list_deletable(prior, group_start, settings, state, work):
    """List the present interactions that may be deleted; return their number."""
    members, inclusion, deletable = state.members, prior.inclusion, work.deletable
    coupling, width = state.coupling, settings.width
    n_deletable = 0
    for k in range(state.n_members[0]):
        alpha = members[k]
        if inclusion[alpha] != 1.0 and within_window(
            coupling, width, group_start[alpha], group_start[alpha + 1]
        ):
            deletable[n_deletable] = alpha
            n_deletable += 1
    return n_deletable


@inner
def try_delete(engine, sums, prior, group_start, settings, state, work, alpha, rng):
    """Propose a death. Return success."""
    start = group_start[alpha]
    size = group_start[alpha + 1] - start
    gradients, covariance, target = (
        work.mean[:size],
        work.covariance[:size, :size],
        work.target[:size],
    )
    precision = state.hyper[1] ** -2
    log_integral = prepare(
        engine, sums, state, settings, start, alpha, precision, gradients, covariance
    )
    target[:] = 0.0
    gain, variance = log_ratio(engine, sums, prior, state, alpha, target)
    accept = gain - math.log1p(0.5 * variance) - log_odds(prior.inclusion, state.hyper[0], alpha)
    accept -= log_slab_over_proposal(
        sums, state, state.coupling[start : start + size], gradients, covariance, precision,
        log_integral,
    )  # fmt: skip
    accept += math.log(settings.add_probability / settings.delete_probability)
    if not -rng.standard_exponential() < accept:
        return False
    set_group(engine, state, alpha, target)
    for k in range(size):
        state.coupling[start + k] = 0.0
        state.coupling_momentum[start + k] = 0.0
    remove(state, alpha)
    return True


@inner
def list_births(settings, state, work, begin, end, log_scale, n_listed, rng):
    """List births from order[begin:end], skipping those that a bound already rejects.

    Every absent interaction is proposed, but most proposals are rejected whatever the proposed
    value, because the acceptance probability of a birth is small: the gap to the next one that is
    not is geometric (the bounds decrease along the order, so the bound at the start of a gap holds
    to its end). With each birth goes the log of the uniform that decides it, known to be below the
    bound. Returns the new length of the list.
    """
    order, bounds, present = settings.order, settings.log_bound, state.present
    births, log_uniforms = work.births, work.log_uniforms
    add_probability = settings.add_probability
    k = begin
    while k < end:
        log_bound = min(bounds[order[k]] + log_scale, 0.0)
        probability = add_probability * math.exp(log_bound)
        if probability < 1.0:
            gap = -rng.standard_exponential() / math.log1p(-probability)
            if gap >= end - k:
                break
            k += int(gap)
        if not present[order[k]]:
            births[n_listed] = order[k]
            log_uniforms[n_listed] = log_bound - rng.standard_exponential()
            n_listed += 1
        k += 1
    return n_listed


@inner
def jump_in_parallel(engine, sums, prior, group_start, settings, state, work, rng):
    """Propose every absent interaction, and every present one inside its window, in parallel.

    All ratios come from the same particles, as in the paper, so the order does not matter; an
    interaction that is added here is not proposed for deletion in the same pass. Returns the
    numbers of births evaluated, births accepted, deaths proposed, and deaths accepted.
    """
    n_deletable = list_deletable(prior, group_start, settings, state, work)
    slab = -0.5 * math.log(2 * math.pi) - math.log(state.hyper[1])
    slab += math.log(settings.delete_probability / settings.add_probability)
    learned = slab + math.log(state.hyper[0]) - math.log1p(-state.hyper[0])
    first, last = settings.n_learned, settings.order.size
    n_births = list_births(settings, state, work, 0, first, learned, 0, rng)
    n_births = list_births(settings, state, work, first, last, slab, n_births, rng)
    born, deaths, died = 0, 0, 0
    for k in range(n_births):
        born += try_add(
            engine, sums, prior, group_start, settings, state, work, work.births[k],
            work.log_uniforms[k], rng,
        )  # fmt: skip
    for k in range(n_deletable):
        if settings.delete_probability == 1.0 or rng.random() < settings.delete_probability:
            deaths += 1
            died += try_delete(
                engine, sums, prior, group_start, settings, state, work, work.deletable[k], rng
            )
    return n_births, born, deaths, died


@inner
def jump_sequentially(engine, sums, prior, group_start, settings, state, work, rng):
    """Propose to add or delete one interaction after the other, in a fixed order.

    The engine follows every change, so with an exact engine each is a valid move by itself. (An
    order that depended on the structure would not be.) Returns the same counts as
    :func:`jump_in_parallel`.
    """
    births, born, deaths, died = 0, 0, 0, 0
    for k in range(settings.order.size):
        alpha = settings.order[k]
        if not state.present[alpha]:
            if settings.add_probability == 1.0 or rng.random() < settings.add_probability:
                births += 1
                born += try_add(
                    engine, sums, prior, group_start, settings, state, work, alpha,
                    -rng.standard_exponential(), rng,
                )  # fmt: skip
        elif within_window(
            state.coupling, settings.width, group_start[alpha], group_start[alpha + 1]
        ) and (settings.delete_probability == 1.0 or rng.random() < settings.delete_probability):
            deaths += 1
            died += try_delete(engine, sums, prior, group_start, settings, state, work, alpha, rng)
    return births, born, deaths, died


@inner
def exchange(engine, sums, prior, group_start, settings, state, work, n_tries, rng):
    """Draw one present and one absent interaction; propose to exchange them.

    A death and a birth with one acceptance step: where one interaction substitutes for another,
    single jumps would cross a state with neither or with both. Both proposals depend only on the
    field without the two, so they are the same forward and backward. Returns the number accepted.
    """
    n_all, accepted = state.present.size, 0
    precision = state.hyper[1] ** -2
    for _ in range(n_tries):
        n_present = state.n_members[0]
        if n_present == 0 or n_present == n_all:
            break
        old, new = state.members[int(rng.random() * n_present)], int(rng.random() * n_all)
        while state.present[new]:
            new = int(rng.random() * n_all)
        start, stop = group_start[old], group_start[old + 1]
        if prior.inclusion[old] == 1.0 or prior.inclusion[new] == 0.0:
            continue
        if not within_window(state.coupling, settings.width, start, stop):
            continue
        value = state.coupling[start:stop].copy()
        nothing = np.zeros(stop - start)
        accept = log_ratio(engine, sums, prior, state, old, nothing)[0]
        accept -= log_odds(prior.inclusion, state.hyper[0], old)
        set_group(engine, state, old, nothing)
        state.coupling[start:stop] = 0.0
        gradients, covariance = (
            work.mean[: stop - start],
            work.covariance[: stop - start, : stop - start],
        )
        integral = prepare(
            engine, sums, state, settings, start, old, precision, gradients, covariance
        )
        accept -= log_slab_over_proposal(
            sums, state, value, gradients, covariance, precision, integral
        )
        begin = group_start[new]
        size = group_start[new + 1] - begin
        gradients, covariance, target = (
            work.mean[:size], work.covariance[:size, :size], work.target[:size],
        )  # fmt: skip
        integral = prepare(
            engine, sums, state, settings, begin, new, precision, gradients, covariance
        )
        for k in range(size):
            curvature = sums.n_rows * covariance[k, k] + precision
            target[k] = sample_window(gradients[k], curvature, settings.width[begin + k], rng)
        accept += log_ratio(engine, sums, prior, state, new, target)[0]
        accept += log_odds(prior.inclusion, state.hyper[0], new)
        accept += log_slab_over_proposal(
            sums, state, target, gradients, covariance, precision, integral
        )
        if -rng.standard_exponential() < accept:
            accepted += 1
            set_group(engine, state, new, target)
            remove(state, old)
            insert(state, new)
            state.coupling_momentum[start:stop] = 0.0
            for k in range(size):
                state.coupling[begin + k] = target[k]
                state.coupling_momentum[begin + k] = rng.standard_normal()
        else:
            set_group(engine, state, old, value)
            state.coupling[start:stop] = value
    return accepted
