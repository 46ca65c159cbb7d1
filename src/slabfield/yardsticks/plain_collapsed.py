"""The collapsed Gibbs sampler in plain compiled loops: what the exact engine is measured against.

One edge after the other: the sum over all states of the whole table, the integral of its coupling
by Simpson's rule, its presence, its coupling by rejection, and the table multiplied where both ends
are 1. No blocks, no centring, no flips.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from slabfield._jit import inner
from slabfield.sampler.warmup import Problem

N_POINTS = 41
REACH = 6.0
WIDER = 1.2


@inner
def conditional(a, total, n_rows, mean, precision):
    """Log density of a parameter, up to a constant; ``mean`` is its feature's at zero."""
    return total * a - n_rows * math.log1p(mean * math.expm1(a)) - 0.5 * precision * a * a


@inner
def mode_and_spread(total, n_rows, mean, precision):
    """Return where that is highest, by Newton steps, and the spread its curvature gives."""
    a = 0.0
    for _ in range(100):
        tilted = mean * math.exp(a) / (1.0 + mean * math.expm1(a))
        slope = total - n_rows * tilted - precision * a
        curve = n_rows * tilted * (1.0 - tilted) + precision
        step = slope / curve
        a += max(-1.0, min(1.0, step))
        if abs(step) < 1e-8:
            break
    return a, 1.0 / math.sqrt(curve)


@inner
def log_integral(total, n_rows, mean, precision, mode, spread):
    """By Simpson's rule; and how far the density is above a wider Gaussian, in logs, at most."""
    top = conditional(mode, total, n_rows, mean, precision)
    step = 2 * REACH * spread / (N_POINTS - 1)
    area, bound = 0.0, 0.0
    for k in range(N_POINTS):
        weight = 1.0 if k in (0, N_POINTS - 1) else 4.0 if k % 2 == 1 else 2.0
        a = mode - REACH * spread + k * step
        value = conditional(a, total, n_rows, mean, precision) - top
        area += weight * math.exp(value)
        bound = max(bound, value + 0.5 * ((a - mode) / (WIDER * spread)) ** 2)
    return top + math.log(area * step / 3.0), bound


@inner
def draw(total, n_rows, mean, precision, mode, spread, bound, rng):
    """By rejection from a wider Gaussian."""
    wide = WIDER * spread
    top = conditional(mode, total, n_rows, mean, precision)
    while True:
        z = rng.standard_normal()
        value = conditional(mode + wide * z, total, n_rows, mean, precision) - top
        if math.log(rng.random()) < value + 0.5 * z * z - bound:
            return mode + wide * z


@inner
def sums_where(weights, mask):
    """Return the share of the weights of states that have all nodes of the mask at 1."""
    all_of_them, inside = 0.0, 0.0
    for s in range(weights.size):
        all_of_them += weights[s]
        if s & mask == mask:
            inside += weights[s]
    return inside / all_of_them


@inner
def multiply_where(weights, mask, factor):
    """Multiply those weights by a factor."""
    for s in range(weights.size):
        if s & mask == mask:
            weights[s] *= factor


@inner
def sweeps(first, second, n_rows, bias_sums, sums, hyper, bias_precision, seen, n_warmup, rng):
    """Run warm-up and then one sweep a row of ``seen``, where presence is written."""
    n_nodes, n_edges, n_draws = bias_sums.size, first.size, seen.shape[0]
    a, b, c, d = hyper
    weights = np.ones(1 << n_nodes)
    bias, coupling, present = np.zeros(n_nodes), np.zeros(n_edges), np.zeros(n_edges, np.bool_)
    p0, precision = 0.5, 1.0
    for sweep in range(n_warmup + n_draws):
        for edge in range(n_edges):
            mask = (1 << first[edge]) | (1 << second[edge])
            mean = sums_where(weights, mask)
            old = coupling[edge]
            mean = mean * math.exp(-old) / (1.0 + mean * math.expm1(-old))
            mode, spread = mode_and_spread(sums[edge], n_rows, mean, precision)
            odds, bound = log_integral(sums[edge], n_rows, mean, precision, mode, spread)
            odds += 0.5 * math.log(precision / (2 * math.pi)) + math.log(p0 / (1 - p0))
            present[edge] = rng.random() * (1.0 + math.exp(-odds)) < 1.0
            new = 0.0
            if present[edge]:
                new = draw(sums[edge], n_rows, mean, precision, mode, spread, bound, rng)
            coupling[edge] = new
            multiply_where(weights, mask, math.exp(new - old))
        for i in range(n_nodes):
            mean, old = sums_where(weights, 1 << i), bias[i]
            mean = mean * math.exp(-old) / (1.0 + mean * math.expm1(-old))
            mode, spread = mode_and_spread(bias_sums[i], n_rows, mean, bias_precision)
            _, bound = log_integral(bias_sums[i], n_rows, mean, bias_precision, mode, spread)
            bias[i] = draw(bias_sums[i], n_rows, mean, bias_precision, mode, spread, bound, rng)
            multiply_where(weights, 1 << i, math.exp(bias[i] - old))
        count = present.sum()
        p0 = rng.beta(a + count, b + n_edges - count)
        precision = rng.gamma(c + 0.5 * count) / (d + 0.5 * (coupling**2).sum())
        weights /= weights.sum()
        if sweep >= n_warmup:
            seen[sweep - n_warmup] = present


def run_plain(problem: Problem, n_draws: int, n_warmup: int, seed: int) -> Any:
    """Presence of every edge in every draw, and CPU seconds of a draw, warm-up left out."""
    model, sums, prior = problem.model, problem.sums, problem.prior
    first, second = model.ends
    seen = np.zeros((n_draws, model.n_interactions), np.bool_)
    hyper = (prior.beta_a, prior.beta_b, prior.gamma_shape, prior.gamma_rate)
    facts = (first, second, sums.n_rows, sums.bias, sums.coupling, hyper, prior.bias_precision)
    sweeps(*facts, seen[:1], 0, np.random.default_rng(seed))
    clock = time.process_time()
    sweeps(*facts, seen, n_warmup, np.random.default_rng(seed))
    cpu = time.process_time() - clock
    return seen, cpu * n_draws / (n_draws + n_warmup)
