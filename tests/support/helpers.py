"""Compiled loops that tests call; numba's disk cache requires them in a file of their own."""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.l1_nodes import descend
from slabfield.kernels.univariate import (
    clipped_gradient,
    integrate,
    log_truncated_integral,
    log_window_integral,
    sample_log_concave,
    sample_truncated,
    sample_window,
)
from slabfield.likelihood.protocols import advance, leave_block, log_ratio, open_block
from slabfield.moves.block_flip import flip_edges, list_undecided, shuffle
from slabfield.moves.block_sweep import full_sweep, list_edges, planned_sweep
from slabfield.moves.edge_gibbs import update_biases, update_edges
from slabfield.moves.hyperparameters import draw_hyper, overrelax_hyper
from slabfield.moves.langevin import adjusted_langevin_step
from slabfield.moves.reversible_jump import jump_sequentially


@jit
def conditional_integral(linear, n_rows, precision, pair):
    """Mode, standard deviation, log integral and the quantities that sampling needs."""
    return integrate(linear, n_rows, precision, pair)


@jit
def _fill_log_concave(n_rows, precision, around, left, right, out, rng):
    for k in range(out.size):
        out[k] = sample_log_concave(n_rows, precision, around, left, right, rng)


def log_concave_draws(n_rows, precision, around, left, right, n, seed):
    out = np.zeros(n)
    _fill_log_concave(n_rows, precision, around, left, right, out, np.random.default_rng(seed))
    return out


@jit
def window_integral(gradient, precision, width):
    clipped = clipped_gradient(gradient, precision)
    return log_window_integral(clipped, precision, width), clipped


@jit
def _fill_windows(gradient, precision, width, out, rng):
    for k in range(out.size):
        out[k] = sample_window(gradient, precision, width, rng)


def window_draws(gradient, precision, width, n, seed):
    out = np.zeros(n)
    _fill_windows(gradient, precision, width, out, np.random.default_rng(seed))
    return out


@jit
def one_ratio(engine, sums, prior, state, alpha, target):
    """Log ratio and its variance, as a move receives them."""
    return log_ratio(engine, sums, prior, state, alpha, target)


@jit
def step_hyper(engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, n, rng):
    for _ in range(n):
        draw_hyper(state, prior, jumps.n_learned, group_start, rng)


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
        jump_sequentially(engine, sums, prior, group_start, jumps, state, jump_work, rng)


@inner
def take_block(state, block, rng):
    """Fill a block with randomly chosen nodes and list all its edges."""
    k, n_nodes = block.nodes.size, state.bias.size
    shuffle(block.order, k, rng)
    block.nodes[:] = block.order[:k]
    return k, list_edges(block, n_nodes, k, k, True, True)


@jit
def step_edges(engine, sums, prior, group_start, state, block, plan, inclusion_stats, n, rng):
    for _ in range(n):
        k, n_edges = take_block(state, block, rng)
        open_block(engine, state, block.nodes, block.table)
        update_edges(sums, prior, state, block, k, n_edges, 1.0, inclusion_stats, rng)
        leave_block(engine, state, block.nodes, block.table, rng)
    overrelax_hyper(state, prior, np.isnan(prior.inclusion).sum(), group_start, rng)


@jit
def step_swaps(engine, sums, prior, group_start, state, block, plan, inclusion_stats, n, rng):
    for _ in range(n):
        k, n_edges = take_block(state, block, rng)
        open_block(engine, state, block.nodes, block.table)
        n_undecided = list_undecided(block.edges, n_edges, plan.undecided, block.undecided)
        flip_edges(
            None, sums, prior, state, block, block.table[: 1 << k], k, n_edges, n_undecided, -1,
            plan, inclusion_stats, rng,
        )  # fmt: skip
        leave_block(engine, state, block.nodes, block.table, rng)
    overrelax_hyper(state, prior, np.isnan(prior.inclusion).sum(), group_start, rng)


@jit
def step_biases(engine, sums, prior, group_start, state, block, plan, inclusion_stats, n, rng):
    for _ in range(n):
        k, _ = take_block(state, block, rng)
        open_block(engine, state, block.nodes, block.table)
        update_biases(sums, prior, state, block, k, 0, k, rng)
        leave_block(engine, state, block.nodes, block.table, rng)


@jit
def step_full(engine, sums, prior, group_start, state, block, plan, inclusion_stats, n, rng):
    for _ in range(n):
        full_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng)
    overrelax_hyper(state, prior, np.isnan(prior.inclusion).sum(), group_start, rng)


@jit
def step_planned(engine, sums, prior, group_start, state, block, plan, inclusion_stats, n, rng):
    for _ in range(n):
        planned_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng)
    overrelax_hyper(state, prior, np.isnan(prior.inclusion).sum(), group_start, rng)


@jit
def run_descent(gram, gradient, value, moved, strength, tolerance):
    descend(gram, value.size, gradient, value, moved, strength, tolerance)


@jit
def truncated_integral(low, high, n_rows, precision, around):
    return log_truncated_integral(low, high, n_rows, precision, around)


@jit
def _fill_truncated(low, high, n_rows, precision, around, left, right, out, rng):
    for k in range(out.size):
        out[k] = sample_truncated(low, high, n_rows, precision, around, left, right, rng)


def truncated_draws(low, high, n_rows, precision, around, left, right, n, seed):
    out = np.zeros(n)
    rng = np.random.default_rng(seed)
    _fill_truncated(low, high, n_rows, precision, around, left, right, out, rng)
    return out
