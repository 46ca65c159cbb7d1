"""Compiled loops that tests call: numba's disk cache wants them in a file of their own."""

from __future__ import annotations

import numpy as np

from slabfield._jit import jit
from slabfield.kernels.neighbourhood import descend
from slabfield.kernels.slab import (
    draw_conditional,
    draw_window,
    find_mode,
    limited_slope,
    log_integral,
    log_window_integral,
)
from slabfield.likelihood.engine import advance, log_ratio
from slabfield.moves.hyper import draw_hyper
from slabfield.moves.jump import jump_in_turn
from slabfield.moves.langevin import adjusted_langevin_step
from slabfield.moves.pair import bias_update, collapsed_update, swap_update


@jit
def log_integrals(slope, n_rows, precision, pair):
    mode = find_mode(slope, n_rows, precision, pair)
    return mode, log_integral(slope, n_rows, precision, pair, mode)


@jit
def _conditionals(slope, n_rows, precision, pair, mode, out, rng):
    for k in range(out.size):
        out[k] = draw_conditional(slope, n_rows, precision, pair, mode, rng)


def draw_conditionals(slope, n_rows, precision, pair, mode, n, seed):
    out = np.zeros(n)
    _conditionals(slope, n_rows, precision, pair, mode, out, np.random.default_rng(seed))
    return out


@jit
def integrals(slope, precision, width):
    kept = limited_slope(slope, precision)
    return log_window_integral(kept, precision, width), kept


@jit
def _windows(slope, precision, width, out, rng):
    for k in range(out.size):
        out[k] = draw_window(slope, precision, width, rng)


def draw_windows(slope, precision, width, n, seed):
    out = np.zeros(n)
    _windows(slope, precision, width, out, np.random.default_rng(seed))
    return out


@jit
def one_ratio(engine, sums, state, alpha, target):
    """Log ratio and its variance, as a move sees them."""
    return log_ratio(engine, sums, state, alpha, target)


@jit
def step_hyper(engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng):
    for _ in range(n):
        draw_hyper(state, prior, jumps.n_learnt, group_start, rng)


@jit
def step_langevin(
    engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng
):
    advance(engine, state, rng)
    for _ in range(n):
        adjusted_langevin_step(engine, sums, prior, group_start, langevin, state, work, rng)


@jit
def step_jump(engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng):
    advance(engine, state, rng)
    for _ in range(n):
        jump_in_turn(engine, sums, prior, group_start, jumps, state, jump_work, rng)


@jit
def step_pair(engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng):
    advance(engine, state, rng)
    for _ in range(n):
        for alpha in range(state.present.size):
            collapsed_update(engine, sums, prior, state, alpha, rng)


@jit
def step_swap(engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng):
    advance(engine, state, rng)
    for _ in range(n * state.present.size):
        swap_update(engine, sums, prior, state, rng)


@jit
def step_bias(engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng):
    advance(engine, state, rng)
    for _ in range(n):
        for i in range(state.bias.size):
            bias_update(engine, sums, prior, state, i, rng)


@jit
def run_descent(gram, slope, value, moved, strength, tolerance):
    descend(gram, value.size, slope, value, moved, strength, tolerance)
