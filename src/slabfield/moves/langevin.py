"""Langevin steps with partial momentum refreshment, on biases and present interactions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.likelihood.protocols import advance, gradient_means, log_partition

Array = NDArray[np.float64]

REQUIRES = (advance, gradient_means)
# What the accept/reject step requires besides
REQUIRES_EXACT = (log_partition,)


class LangevinSettings(NamedTuple):
    """Step size, momentum persistence, and the preconditioner C.

    ``bias_scale`` and ``coupling_scale`` are the diagonal of C. If ``full``, C is instead the
    symmetric root of the inverse of ``hessian`` restricted to the parameters present.
    """

    step_size: float
    persistence: float
    bias_scale: Array
    coupling_scale: Array
    full: bool
    hessian: Array


class LangevinWork(NamedTuple):
    """Workspace: parameters in use, their gradient, and the matrix root for the structure."""

    bias_mean: Array
    coupling_mean: Array
    used: NDArray[np.int64]
    gradient: Array
    preconditioned: Array
    momentum: Array
    saved: Array
    saved_momentum: Array
    root: Array
    root_present: NDArray[np.uint8]


def new_work(n_biases: int, n_couplings: int, n_interactions: int, full: bool) -> LangevinWork:
    """Return a workspace whose matrix root belongs to no structure yet."""
    size = n_biases + n_couplings
    side = size if full else 0
    return LangevinWork(
        np.zeros(n_biases),
        np.zeros(n_couplings),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros((side, side)),
        np.full(n_interactions, 2, np.uint8),
    )


# Named tuples are not passed inside loops: each call would count references to their arrays.


@inner
def gather(state, group_start, work):
    """List the parameters in use: biases as i, couplings as n_biases + k. Return their number."""
    n_biases = state.bias.size
    index, momentum, members = work.used, work.momentum, state.members
    bias_momentum, coupling_momentum = state.bias_momentum, state.coupling_momentum
    for i in range(n_biases):
        index[i] = i
        momentum[i] = bias_momentum[i]
    size = n_biases
    for k in range(state.n_members[0]):
        alpha = members[k]
        for p in range(group_start[alpha], group_start[alpha + 1]):
            index[size] = n_biases + p
            momentum[size] = coupling_momentum[p]
            size += 1
    return size


@inner
def scatter_momentum(state, work, size):
    """Write the momenta back to the state."""
    n_biases = state.bias.size
    index, momentum = work.used, work.momentum
    bias_momentum, coupling_momentum = state.bias_momentum, state.coupling_momentum
    for k in range(size):
        p = index[k]
        if p < n_biases:
            bias_momentum[p] = momentum[k]
        else:
            coupling_momentum[p - n_biases] = momentum[k]


@inner
def fill_gradient(engine, sums, prior, state, work, size):
    r"""Gradient of the log posterior, :math:`F - N E f - \theta / \sigma^2` (equation 13)."""
    gradient_means(engine, state, work.bias_mean, work.coupling_mean)
    bias, coupling = state.bias, state.coupling
    bias_sum, coupling_sum, n_rows = sums.bias, sums.coupling, sums.n_rows
    index, gradient = work.used, work.gradient
    bias_mean, coupling_mean = work.bias_mean, work.coupling_mean
    n_biases, bias_precision = bias.size, prior.bias_precision
    precision = state.hyper[1] ** -2
    for k in range(size):
        p = index[k]
        if p < n_biases:
            gradient[k] = bias_sum[p] - n_rows * bias_mean[p] - bias_precision * bias[p]
        else:
            q = p - n_biases
            gradient[k] = coupling_sum[q] - n_rows * coupling_mean[q] - precision * coupling[q]


@inner
def refresh_root(settings, state, work, size):
    """Recompute the symmetric root if the structure has changed."""
    unchanged = True
    for alpha in range(state.present.size):
        if work.root_present[alpha] != state.present[alpha]:
            unchanged = False
            work.root_present[alpha] = state.present[alpha]
    if unchanged:
        return
    hessian = np.empty((size, size))
    for k in range(size):
        for m in range(size):
            hessian[k, m] = settings.hessian[work.used[k], work.used[m]]
    values, vectors = np.linalg.eigh(hessian)
    root = (vectors / np.sqrt(values)) @ vectors.T
    for k in range(size):
        for m in range(size):
            work.root[work.used[k], work.used[m]] = root[k, m]


@inner
def precondition(settings, n_biases, work, size, source, result):
    """Fill ``result`` with C times ``source``, over the parameters in use."""
    index, root = work.used, work.root
    bias_scale, coupling_scale = settings.bias_scale, settings.coupling_scale
    for k in range(size):
        p = index[k]
        if settings.full:
            total = 0.0
            for m in range(size):
                total += root[p, index[m]] * source[m]
            result[k] = total
        elif p < n_biases:
            result[k] = bias_scale[p] * source[k]
        else:
            result[k] = coupling_scale[p - n_biases] * source[k]


@inner
def kick(settings, state, work, size, amount):
    """Add amount * C g to the momenta."""
    momentum, step = work.momentum, work.preconditioned
    precondition(settings, state.bias.size, work, size, work.gradient, step)
    for k in range(size):
        momentum[k] += amount * step[k]


@inner
def drift(settings, state, work, size, amount):
    """Add amount * C p to the parameters."""
    bias, coupling, index, step = state.bias, state.coupling, work.used, work.preconditioned
    n_biases = bias.size
    precondition(settings, n_biases, work, size, work.momentum, step)
    for k in range(size):
        p = index[k]
        if p < n_biases:
            bias[p] += amount * step[k]
        else:
            coupling[p - n_biases] += amount * step[k]


@inner
def refresh_momentum(settings, work, size, rng):
    """Partially refresh the momenta: p <- alpha p + sqrt(1 - alpha^2) noise."""
    persistence, momentum = settings.persistence, work.momentum
    noise_scale = math.sqrt(1.0 - persistence * persistence)
    for k in range(size):
        momentum[k] = persistence * momentum[k] + noise_scale * rng.standard_normal()


@inner
def langevin_step(engine, sums, prior, group_start, settings, state, work, rng):
    """Take the paper's unadjusted step, from one gradient (equation 14)."""
    size = gather(state, group_start, work)
    if settings.full:
        refresh_root(settings, state, work, size)
    fill_gradient(engine, sums, prior, state, work, size)
    kick(settings, state, work, size, 0.5 * settings.step_size)
    refresh_momentum(settings, work, size, rng)
    kick(settings, state, work, size, 0.5 * settings.step_size)
    drift(settings, state, work, size, settings.step_size)
    scatter_momentum(state, work, size)


@inner
def log_density(engine, sums, prior, state, work, size):
    """Log posterior of the parameters in use plus the log density of their momenta."""
    n_biases = state.bias.size
    precision = state.hyper[1] ** -2
    total = -sums.n_rows * log_partition(engine)
    for k in range(size):
        p = work.used[k]
        if p < n_biases:
            value = state.bias[p]
            total += sums.bias[p] * value - 0.5 * prior.bias_precision * value * value
        else:
            value = state.coupling[p - n_biases]
            total += sums.coupling[p - n_biases] * value - 0.5 * precision * value * value
        total -= 0.5 * work.momentum[k] ** 2
    return total


@inner
def save(state, work, size):
    """Save the parameters and momenta in use."""
    n_biases = state.bias.size
    for k in range(size):
        p = work.used[k]
        work.saved[k] = state.bias[p] if p < n_biases else state.coupling[p - n_biases]
        work.saved_momentum[k] = work.momentum[k]


@inner
def restore_reversed(state, work, size):
    """Restore the saved parameters, with the momenta reversed."""
    n_biases = state.bias.size
    for k in range(size):
        p = work.used[k]
        if p < n_biases:
            state.bias[p] = work.saved[k]
        else:
            state.coupling[p - n_biases] = work.saved[k]
        work.momentum[k] = -work.saved_momentum[k]


@inner
def adjusted_langevin_step(engine, sums, prior, group_start, settings, state, work, rng):
    """Take one leapfrog step with a Metropolis accept/reject; rejection reverses the momentum.

    The engine must be at the state's parameters, and is again afterwards. Returns whether the step
    was accepted.
    """
    size = gather(state, group_start, work)
    if settings.full:
        refresh_root(settings, state, work, size)
    refresh_momentum(settings, work, size, rng)
    save(state, work, size)
    before = log_density(engine, sums, prior, state, work, size)
    fill_gradient(engine, sums, prior, state, work, size)
    kick(settings, state, work, size, 0.5 * settings.step_size)
    drift(settings, state, work, size, settings.step_size)
    advance(engine, state, rng)
    fill_gradient(engine, sums, prior, state, work, size)
    kick(settings, state, work, size, 0.5 * settings.step_size)
    after = log_density(engine, sums, prior, state, work, size)
    accepted = rng.standard_exponential() > before - after
    if not accepted:
        restore_reversed(state, work, size)
        advance(engine, state, rng)
    scatter_momentum(state, work, size)
    return accepted
