"""Compiled loops that tests of nodes with levels call; numba caches only code in files."""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import jit
from slabfield.kernels.cell_conditional import integrate, new_cells, sample_log_concave
from slabfield.kernels.group_laplace import (
    find_group_mode,
    half_distance,
    log_density,
    new_group_laplace,
    propose_group,
    walk_far_group,
)
from slabfield.kernels.level_table import (
    fill_cell_levels,
    fill_level_table,
    fill_offsets,
    fill_strides,
    multiply_cells,
    multiply_node,
    multiply_pair,
    node_cells,
    pair_cells,
    sum_out,
)
from slabfield.likelihood.protocols import open_block, tree_sweep
from slabfield.moves.imputation import redraw


@jit
def _integrate_and_draw(linear, n_rows, precision, cells, n, out, rng):
    mode, sd, log_integral, gradient, left, right = integrate(linear, n_rows, precision, cells, n)
    for k in range(out.size):
        out[k] = mode + sample_log_concave(n_rows, precision, gradient, left, right, cells, n, rng)
    return mode, sd, log_integral


def conditional_of_cells(linear, n_rows, precision, weight, feature, n_draws=0, seed=1):
    """Mode, standard deviation and log integral of a parameter's conditional, and draws."""
    n = weight.size
    cells = new_cells(n + 3)  # workspace is longer than what one pair uses
    cells.weight[:n], cells.feature[:n] = weight, feature
    cells.weight[n:], cells.feature[n:] = np.nan, np.nan
    out = np.zeros(n_draws)
    rng = np.random.default_rng(seed)
    mode, sd, log_integral = _integrate_and_draw(linear, n_rows, precision, cells, n, out, rng)
    return mode, sd, log_integral, out


@jit
def _find_and_propose(n_rows, laplace, p, n, values, log_weight, distance, rng):
    log_det = find_group_mode(n_rows, laplace, p, n)
    at_mode = log_density(laplace.mode, n_rows, laplace, p, n)
    for k in range(log_weight.size):
        half = propose_group(laplace, p, rng)
        values[k] = laplace.value[:p]
        distance[k] = half_distance(laplace.value, laplace, p) - half
        log_weight[k] = half + log_density(laplace.value, n_rows, laplace, p, n) - at_mode
    return log_det, at_mode


def laplace_of_group(linear, n_rows, precision, weight, feature, n_draws=0, seed=1):
    """Mode, log density there and log determinant of the factor; proposals and their weights.

    The last result is the error of the recomputed distance of each proposal from the mode.
    """
    p, n = feature.shape
    laplace = new_group_laplace(p + 1, n + 3)
    laplace.weight[:n], laplace.feature[:p, :n] = weight, feature
    laplace.weight[n:], laplace.feature[p:] = math.nan, math.nan
    laplace.linear[:p], laplace.precision[:p, :p] = linear, precision
    values, log_weight, distance = np.zeros((n_draws, p)), np.zeros(n_draws), np.zeros(n_draws)
    rng = np.random.default_rng(seed)
    log_det, at_mode = _find_and_propose(n_rows, laplace, p, n, values, log_weight, distance, rng)
    return laplace.mode[:p].copy(), at_mode, log_det, values, log_weight, distance


@jit
def _walk(n_rows, laplace, p, n, walks, values, path, rng):
    log_det = find_group_mode(n_rows, laplace, p, n)
    at_mode = log_density(laplace.mode, n_rows, laplace, p, n)
    for k in range(len(path)):
        if walks and walk_far_group(values, n_rows, laplace, p, n, rng):
            values[:] = laplace.value[:p]
        gain = at_mode - log_density(values, n_rows, laplace, p, n)
        gain -= half_distance(values, laplace, p)
        gain += propose_group(laplace, p, rng)
        gain += log_density(laplace.value, n_rows, laplace, p, n) - at_mode
        if -rng.standard_exponential() < gain:
            values[:] = laplace.value[:p]
        path[k] = values
    return log_det


def chain_of_group(linear, n_rows, precision, weight, feature, start, n_steps, walks, seed=1):
    """A chain of one group: independence proposals, and walks where it is far from the mode."""
    p, n = feature.shape
    laplace = new_group_laplace(p, n)
    laplace.weight[:n], laplace.feature[:p, :n] = weight, feature
    laplace.linear[:p], laplace.precision[:p, :p] = linear, precision
    path, values = np.zeros((n_steps, p)), np.array(start, dtype=np.float64)
    _walk(n_rows, laplace, p, n, walks, values, path, np.random.default_rng(seed))
    return path


@jit
def joint_table(features, bias, coupling, table, scratch):
    """Fill in the weights of all joint states; return the log of their scale."""
    return fill_level_table(features, bias, coupling, table, scratch)


@jit
def block_of(table, n_levels, nodes, stride, inside, digits, offset, cells, level):
    """Sum all nodes outside a block out of the joint table; fill in the levels of its cells."""
    for b in range(nodes.size):
        inside[nodes[b]] = True
    fill_strides(n_levels, np.arange(n_levels.size), stride)
    size = fill_offsets(n_levels, nodes, stride, offset)
    sum_out(table, n_levels, stride, inside, digits, offset, cells)
    fill_cell_levels(n_levels, nodes, level)
    return size


@jit
def reweight(table, n_levels, stride, inside, digits, offset, factor):
    """Multiply the joint table by factors of a block's cells."""
    multiply_cells(table, n_levels, stride, inside, digits, offset, factor)


@jit
def marginals(cells, level, low, high, pair, node):
    """Tables of two nodes of a block, and of the first of them."""
    pair_cells(cells, level, low, high, pair.shape[0] // node.shape[0], pair)
    node_cells(cells, level, low, node)


@jit
def multiply_marginals(cells, level, low, high, n_high, pair_factor, node_factor):
    """Multiply a block's cells by factors of a pair, and of its first node."""
    multiply_pair(cells, level, low, high, n_high, pair_factor)
    multiply_node(cells, level, low, node_factor)


@jit
def level_tree_sweeps(engine, state, n_sweeps, rng):
    """Run tree sweeps of all particles at the parameters of a state."""
    for _ in range(n_sweeps):
        tree_sweep(engine, state, rng)


@jit
def block_table_of(engine, state, nodes, table):
    """Fill in the table of a block from particles."""
    open_block(engine, state, nodes, table)


@jit
def redraw_entries(missing_entries, engine, sums, state, n, rng):
    """Draw every missing entry n times."""
    for _ in range(n):
        redraw(missing_entries, engine, sums, state, rng)
