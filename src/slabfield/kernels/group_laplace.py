r"""Laplace approximation of the conditional of a group of parameters given the table of its cells.

.. math:: \ell(b) = T \cdot b - N \log \sum_c w_c e^{f_c \cdot b} - \tfrac12 b' Q b

With mode b and negative Hessian H there, :math:`N(b, H^{-1})` is the proposal of an independence
sampler; neither depends on the present values of the group (equation 36).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.laplace import (
    CONVERGED_AT,
    LONGEST_STEP,
    MOST_STEPS,
    factorize,
    solve_backward,
    solve_forward,
)
from slabfield.kernels.logistic import dot
from slabfield.kernels.state_table import exponentiate, largest_of, total_of

# Half the squared distance from the mode, less the number of parameters, from which a group is far
FAR_FROM_MODE = 8.0
# Standard deviation of a random walk, in those of the approximation, for one parameter
WALK_SCALE = 2.4


class GroupLaplace(NamedTuple):
    """Features of the cells, linear and quadratic terms, the approximation, and workspace.

    ``feature`` is (parameters, cells); ``weight`` holds the probabilities of the cells with the
    group at zero. ``order`` is 0, 1, ...: the order in which the Hessian is factorized.
    """

    weight: NDArray[np.float64]
    feature: NDArray[np.float64]
    linear: NDArray[np.float64]
    precision: NDArray[np.float64]
    mode: NDArray[np.float64]
    neg_hessian: NDArray[np.float64]
    factor: NDArray[np.float64]
    gradient: NDArray[np.float64]
    value: NDArray[np.float64]
    share: NDArray[np.float64]
    power: NDArray[np.float64]
    order: NDArray[np.int64]


def new_group_laplace(most_parameters: int, most_cells: int) -> GroupLaplace:
    """Return workspace for groups of up to so many parameters and cells."""
    p, c = most_parameters, most_cells
    return GroupLaplace(
        np.zeros(c), np.zeros((p, c)), np.zeros(p), np.zeros((p, p)), np.zeros(p),
        np.zeros((p, p)), np.zeros((p, p)), np.zeros(p), np.zeros(p), np.zeros(c), np.zeros(c),
        np.arange(p),
    )  # fmt: skip


@inner
def tilt_group(values, laplace, p, n):
    """Fill ``share`` with the probabilities of the cells at some values; return log M."""
    share, power = laplace.share[:n], laplace.power[:n]
    share[:] = 0.0
    for q in range(p):
        feature, value = laplace.feature[q], values[q]
        for c in range(n):
            share[c] += value * feature[c]
    shift = largest_of(share)
    exponentiate(share, shift, power, power.view(np.int64))
    for c in range(n):
        share[c] *= laplace.weight[c]
    total = total_of(share)
    for c in range(n):
        share[c] /= total
    return shift + math.log(total)


@inner
def quadratic_terms(values, laplace, p):
    """Linear and quadratic terms at some values of the parameters."""
    total = 0.0
    for q in range(p):
        product = 0.0
        for r in range(p):
            product += laplace.precision[q, r] * values[r]
        total += values[q] * (laplace.linear[q] - 0.5 * product)
    return total


@inner
def log_density(values, n_rows, laplace, p, n):
    r""":math:`\ell` at some values of the group."""
    return quadratic_terms(values, laplace, p) - n_rows * tilt_group(values, laplace, p, n)


@inner
def begin_newton(laplace, p):
    """Set gradient and negative Hessian to those of the linear and quadratic terms, at the mode."""
    for q in range(p):
        laplace.gradient[q] = laplace.linear[q]
        for r in range(p):
            laplace.gradient[q] -= laplace.precision[q, r] * laplace.mode[r]
            laplace.neg_hessian[q, r] = laplace.precision[q, r]


@inner
def solve_newton(laplace, p):
    """Factorize the negative Hessian and replace the gradient by the Newton step.

    Returns the log determinant of the factor, minus infinity if there is none, and the squared
    Newton decrement.
    """
    gradient, factor, squared_decrement = laplace.gradient, laplace.factor, 0.0
    log_det = factorize(laplace.neg_hessian, laplace.order, p, factor)
    if log_det > -math.inf:
        solve_forward(factor, p, gradient)
        for q in range(p):
            squared_decrement += gradient[q] * gradient[q]
        solve_backward(factor, p, gradient)
    return log_det, squared_decrement


@inner
def take_step(laplace, p):
    """Move the mode by the Newton step, shortened where a parameter would move too far."""
    longest = 0.0
    for q in range(p):
        longest = max(longest, abs(laplace.gradient[q]))
    shrink = min(1.0, LONGEST_STEP / max(longest, LONGEST_STEP))
    for q in range(p):
        laplace.mode[q] += shrink * laplace.gradient[q]


@inner
def find_group_mode(n_rows, laplace, p, n):
    r"""Find the mode of :math:`\ell` by Newton's method from zero.

    Returns the log determinant of ``factor``, the Cholesky factor of the negative Hessian, or minus
    infinity if the iteration does not converge.
    """
    share, power, mode, gradient = (
        laplace.share[:n],
        laplace.power[:n],
        laplace.mode,
        laplace.gradient,
    )
    neg_hessian, precision = laplace.neg_hessian, laplace.precision
    mode[:p] = 0.0
    for _ in range(MOST_STEPS):
        tilt_group(mode, laplace, p, n)
        for q in range(p):
            feature = laplace.feature[q, :n]
            mean = dot(share, feature)
            for c in range(n):
                power[c] = n_rows * share[c] * (feature[c] - mean)
            gradient[q] = laplace.linear[q] - n_rows * mean
            for r in range(q + 1):
                value = dot(power, laplace.feature[r, :n]) + precision[q, r]
                neg_hessian[q, r], neg_hessian[r, q] = value, value
            for r in range(p):
                gradient[q] -= precision[q, r] * mode[r]
        log_det, squared_decrement = solve_newton(laplace, p)
        if not log_det > -math.inf or squared_decrement < 2 * CONVERGED_AT:
            return log_det
        take_step(laplace, p)
    return -math.inf


@inner
def propose_group(laplace, p, rng):
    """Fill ``value`` with a draw from the approximation; return half its squared distance."""
    value, half = laplace.value, 0.0
    for q in range(p):
        value[q] = rng.standard_normal()
        half += 0.5 * value[q] * value[q]
    solve_backward(laplace.factor, p, value)
    for q in range(p):
        value[q] += laplace.mode[q]
    return half


@inner
def half_distance(values, laplace, p):
    """Half the squared distance of some values from the mode, in units of the approximation."""
    half = 0.0
    for q in range(p):
        total = 0.0
        for r in range(q, p):
            total += laplace.factor[r, q] * (values[r] - laplace.mode[r])
        half += 0.5 * total * total
    return half


@inner
def propose_walk(values, laplace, p, rng):
    """Fill ``value`` with a step of a random walk; return if both ends are far from the mode.

    An independence sampler hardly leaves the tails of a density that are heavier than those of its
    Gaussian approximation. The walk is restricted to values far from the mode, which do not depend
    on the present ones; it leads to where the independence sampler takes over.
    """
    far = FAR_FROM_MODE + p
    if half_distance(values, laplace, p) <= far:
        return False
    propose_group(laplace, p, rng)
    scale = WALK_SCALE / math.sqrt(p)
    for q in range(p):
        laplace.value[q] = values[q] + scale * (laplace.value[q] - laplace.mode[q])
    return half_distance(laplace.value, laplace, p) > far


@inner
def walk_far_group(values, n_rows, laplace, p, n, rng):
    """Metropolis step of a group that is far from its mode; return if it moves, to ``value``."""
    if not propose_walk(values, laplace, p, rng):
        return False
    gain = log_density(laplace.value, n_rows, laplace, p, n)
    gain -= log_density(values, n_rows, laplace, p, n)
    return -rng.standard_exponential() < gain
