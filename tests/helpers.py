"""Compiled loops that tests call: numba's disk cache wants them in a file of their own."""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.neighbourhood import descend
from slabfield.kernels.slab import (
    draw_around,
    draw_between,
    draw_window,
    limited_slope,
    log_integral_between,
    log_window_integral,
    survey,
)
from slabfield.likelihood.engine import advance, leave_block, log_ratio, open_block
from slabfield.moves.flip import flip_edges, list_open, shuffle
from slabfield.moves.hyper import draw_hyper
from slabfield.moves.jump import jump_in_turn
from slabfield.moves.langevin import adjusted_langevin_step
from slabfield.moves.pair import update_biases, update_edges
from slabfield.moves.sweep import count_learnt, full_sweep, list_edges, planned_sweep


@jit
def surveys(slope, n_rows, precision, pair):
    """Mode, spread and log integral, and what draws need."""
    return survey(slope, n_rows, precision, pair)


@jit
def _around(n_rows, precision, around, left, right, out, rng):
    for k in range(out.size):
        out[k] = draw_around(n_rows, precision, around, left, right, rng)


def draws_around(n_rows, precision, around, left, right, n, seed):
    out = np.zeros(n)
    _around(n_rows, precision, around, left, right, out, np.random.default_rng(seed))
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
def one_ratio(engine, sums, prior, state, alpha, target):
    """Log ratio and its variance, as a move sees them."""
    return log_ratio(engine, sums, prior, state, alpha, target)


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


@inner
def take_block(state, block, rng):
    """Bring a random choice of nodes into a block and list all its edges."""
    k, n_nodes = block.nodes.size, state.bias.size
    shuffle(block.order, k, rng)
    block.nodes[:] = block.order[:k]
    return k, list_edges(block, n_nodes, k, k, True, True)


# Where p0 is integrated out it has to be drawn anew before it can be compared with the structure


@jit
def step_edges(engine, sums, prior, group_start, state, block, plan, tally, n, rng):
    count_learnt(prior.inclusion, state.present, block.counts)
    for _ in range(n):
        k, n_edges = take_block(state, block, rng)
        open_block(engine, state, block.nodes, block.mass)
        update_edges(sums, prior, state, block, k, n_edges, 1.0, tally, rng)
        leave_block(engine, state, block.nodes, block.mass, rng)
    draw_hyper(state, prior, block.counts[1], group_start, rng)


@jit
def step_swaps(engine, sums, prior, group_start, state, block, plan, tally, n, rng):
    count_learnt(prior.inclusion, state.present, block.counts)
    for _ in range(n):
        k, n_edges = take_block(state, block, rng)
        open_block(engine, state, block.nodes, block.mass)
        n_open = list_open(block.edges, n_edges, plan.open, block.open)
        flip_edges(sums, prior, state, block, k, n_edges, n_open, -1, plan, tally, rng)
        leave_block(engine, state, block.nodes, block.mass, rng)
    draw_hyper(state, prior, block.counts[1], group_start, rng)


@jit
def step_biases(engine, sums, prior, group_start, state, block, plan, tally, n, rng):
    for _ in range(n):
        k, _ = take_block(state, block, rng)
        open_block(engine, state, block.nodes, block.mass)
        update_biases(sums, prior, state, block, k, 0, k, rng)
        leave_block(engine, state, block.nodes, block.mass, rng)


@jit
def step_full(engine, sums, prior, group_start, state, block, plan, tally, n, rng):
    for _ in range(n):
        full_sweep(engine, sums, prior, state, block, plan, tally, rng)
    draw_hyper(state, prior, block.counts[1], group_start, rng)


@jit
def step_planned(engine, sums, prior, group_start, state, block, plan, tally, n, rng):
    for _ in range(n):
        planned_sweep(engine, sums, prior, state, block, plan, tally, rng)
    draw_hyper(state, prior, block.counts[1], group_start, rng)


@jit
def run_descent(gram, slope, value, moved, strength, tolerance):
    descend(gram, value.size, slope, value, moved, strength, tolerance)


@jit
def integral_between(low, high, n_rows, precision, around):
    return log_integral_between(low, high, n_rows, precision, around)


@jit
def _between(low, high, n_rows, precision, around, left, right, out, rng):
    for k in range(out.size):
        out[k] = draw_between(low, high, n_rows, precision, around, left, right, rng)


def draws_between(low, high, n_rows, precision, around, left, right, n, seed):
    out = np.zeros(n)
    rng = np.random.default_rng(seed)
    _between(low, high, n_rows, precision, around, left, right, out, rng)
    return out
