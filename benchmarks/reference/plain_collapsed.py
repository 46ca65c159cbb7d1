"""A collapsed Gibbs sampler in plain compiled loops: the reference for the exact engine's speed.

One edge after the other: a sum over all states of the whole table, the integral over its coupling
by Simpson's rule, its presence, its coupling by rejection, and the table reweighted where both ends
are 1. No blocks, no centering, no flips.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from slabfield._jit import inner
from slabfield.problem import Problem

# Points of Simpson's rule
N_POINTS = 41
# Half the range of the integral, in standard deviations
HALF_RANGE = 6.0
# Standard deviation of the proposal relative to that of the conditional
PROPOSAL_SCALE = 1.2


@inner
def conditional(a, total, n_rows, mean, precision):
    """Log density of a parameter, up to a constant; ``mean`` is that of its feature at zero."""
    return total * a - n_rows * math.log1p(mean * math.expm1(a)) - 0.5 * precision * a * a


@inner
def mode_and_sd(total, n_rows, mean, precision):
    """Mode by Newton's method, and the standard deviation from the curvature there."""
    a = 0.0
    for _ in range(100):
        tilted = mean * math.exp(a) / (1.0 + mean * math.expm1(a))
        gradient = total - n_rows * tilted - precision * a
        curvature = n_rows * tilted * (1.0 - tilted) + precision
        step = gradient / curvature
        a += max(-1.0, min(1.0, step))
        if abs(step) < 1e-8:
            break
    return a, 1.0 / math.sqrt(curvature)


@inner
def log_integral(total, n_rows, mean, precision, mode, sd):
    """Log integral by Simpson's rule, and the log bound of the density over the wider Gaussian."""
    log_peak = conditional(mode, total, n_rows, mean, precision)
    step = 2 * HALF_RANGE * sd / (N_POINTS - 1)
    area, bound = 0.0, 0.0
    for k in range(N_POINTS):
        weight = 1.0 if k in (0, N_POINTS - 1) else 4.0 if k % 2 == 1 else 2.0
        a = mode - HALF_RANGE * sd + k * step
        value = conditional(a, total, n_rows, mean, precision) - log_peak
        area += weight * math.exp(value)
        bound = max(bound, value + 0.5 * ((a - mode) / (PROPOSAL_SCALE * sd)) ** 2)
    return log_peak + math.log(area * step / 3.0), bound


@inner
def draw(total, n_rows, mean, precision, mode, sd, bound, rng):
    """Draw by rejection from a wider Gaussian."""
    wide = PROPOSAL_SCALE * sd
    log_peak = conditional(mode, total, n_rows, mean, precision)
    while True:
        z = rng.standard_normal()
        value = conditional(mode + wide * z, total, n_rows, mean, precision) - log_peak
        if math.log(rng.random()) < value + 0.5 * z * z - bound:
            return mode + wide * z


@inner
def probability_where(weights, mask):
    """Probability of the states that have all nodes of the mask at 1."""
    total, inside = 0.0, 0.0
    for s in range(weights.size):
        total += weights[s]
        if s & mask == mask:
            inside += weights[s]
    return inside / total


@inner
def multiply_where(weights, mask, factor):
    """Multiply the weights of these states by a factor."""
    for s in range(weights.size):
        if s & mask == mask:
            weights[s] *= factor


@inner
def sweeps(first, second, n_rows, bias_sums, sums, hyper, bias_precision, draws, n_warmup, rng):
    """Run warm-up, then one sweep per row of ``draws``, where presence is written."""
    n_nodes, n_edges, n_draws = bias_sums.size, first.size, draws.shape[0]
    a, b, c, d = hyper
    weights = np.ones(1 << n_nodes)
    bias, coupling, present = np.zeros(n_nodes), np.zeros(n_edges), np.zeros(n_edges, np.bool_)
    p0, precision = 0.5, 1.0
    for sweep in range(n_warmup + n_draws):
        for edge in range(n_edges):
            mask = (1 << first[edge]) | (1 << second[edge])
            mean = probability_where(weights, mask)
            old = coupling[edge]
            mean = mean * math.exp(-old) / (1.0 + mean * math.expm1(-old))
            mode, sd = mode_and_sd(sums[edge], n_rows, mean, precision)
            odds, bound = log_integral(sums[edge], n_rows, mean, precision, mode, sd)
            odds += 0.5 * math.log(precision / (2 * math.pi)) + math.log(p0 / (1 - p0))
            present[edge] = rng.random() * (1.0 + math.exp(-odds)) < 1.0
            new = 0.0
            if present[edge]:
                new = draw(sums[edge], n_rows, mean, precision, mode, sd, bound, rng)
            coupling[edge] = new
            multiply_where(weights, mask, math.exp(new - old))
        for i in range(n_nodes):
            mean, old = probability_where(weights, 1 << i), bias[i]
            mean = mean * math.exp(-old) / (1.0 + mean * math.expm1(-old))
            mode, sd = mode_and_sd(bias_sums[i], n_rows, mean, bias_precision)
            _, bound = log_integral(bias_sums[i], n_rows, mean, bias_precision, mode, sd)
            bias[i] = draw(bias_sums[i], n_rows, mean, bias_precision, mode, sd, bound, rng)
            multiply_where(weights, 1 << i, math.exp(bias[i] - old))
        count = present.sum()
        p0 = rng.beta(a + count, b + n_edges - count)
        precision = rng.gamma(c + 0.5 * count) / (d + 0.5 * (coupling**2).sum())
        weights /= weights.sum()
        if sweep >= n_warmup:
            draws[sweep - n_warmup] = present


def run_plain(problem: Problem, n_draws: int, n_warmup: int, seed: int) -> Any:
    """Return the presence of every edge in every draw, and CPU seconds without warm-up."""
    model, sums, prior = problem.model, problem.sums, problem.prior
    first, second = model.ends
    draws = np.zeros((n_draws, model.n_interactions), np.bool_)
    hyper = (prior.beta_a, prior.beta_b, prior.gamma_shape, prior.gamma_rate)
    arguments = (first, second, sums.n_rows, sums.bias, sums.coupling, hyper, prior.bias_precision)
    sweeps(*arguments, draws[:1], 0, np.random.default_rng(seed))
    clock = time.process_time()
    sweeps(*arguments, draws, n_warmup, np.random.default_rng(seed))
    cpu = time.process_time() - clock
    return draws, cpu * n_draws / (n_draws + n_warmup)
