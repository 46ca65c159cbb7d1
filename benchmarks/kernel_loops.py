"""Compiled loops that repeat one kernel of a likelihood engine, to be timed from Python.

A file of their own, because compiled code is kept on disk by the file that it comes from.
"""

from __future__ import annotations

from slabfield._jit import inner, jit
from slabfield.kernels.block_table import node_marginal, pair_marginal
from slabfield.kernels.pseudo_sums import fill_probability, log_sum, power_sums, tilted_sums
from slabfield.kernels.state_table import fill_table, superset_sums
from slabfield.likelihood.protocols import advance, leave_block, open_block, tree_sweep
from slabfield.moves.absent_edges import update_absent
from slabfield.moves.block_flip import flip_edges, list_undecided
from slabfield.moves.block_sweep import list_edges
from slabfield.moves.edge_gibbs import update_biases, update_edges


@jit
def repeat_advance(engine, state, rng, times):
    for _ in range(times):
        advance(engine, state, rng)


@jit
def repeat_tree_sweep(engine, state, rng, times):
    for _ in range(times):
        tree_sweep(engine, state, rng)


@jit
def repeat_open(engine, state, nodes, table, times):
    for _ in range(times):
        open_block(engine, state, nodes, table)


@jit
def repeat_leave(engine, state, nodes, table, rng, times):
    for _ in range(times):
        open_block(engine, state, nodes, table)
        leave_block(engine, state, nodes, table, rng)


@jit
def repeat_marginals(table, k, sums, times):
    for _ in range(times):
        for high in range(1, k):
            for low in range(high):
                pair_marginal(table, k, low, high, sums)
        for node in range(k):
            node_marginal(table, k, node, sums)


@inner
def go_back(state, saved):
    """Bring a state back to what it was."""
    state.bias[:] = saved.bias
    state.coupling[:] = saved.coupling
    state.present[:] = saved.present
    state.members[:] = saved.members
    state.n_members[:] = saved.n_members


@jit
def repeat_block(sums, prior, state, saved, block, start, k, inclusion_stats, rng, times):
    """Update all edges and biases of a block, from the same table and state each time."""
    n_edges = list_edges(block, state.bias.size, k, k, True, True)
    for _ in range(times):
        go_back(state, saved)
        block.table[:] = start
        update_edges(sums, prior, state, block, k, n_edges, 1.0, inclusion_stats, rng)
        update_biases(sums, prior, state, block, k, 0, k, rng)


@jit
def repeat_flips(sums, prior, state, saved, block, start, k, plan, inclusion_stats, rng, times):
    """Try flips in a block, from the same table and state each time."""
    n_edges = list_edges(block, state.bias.size, k, k, True, True)
    for _ in range(times):
        go_back(state, saved)
        block.table[:] = start
        n_undecided = list_undecided(block.edges, n_edges, plan.undecided, block.undecided)
        flip_edges(
            None, sums, prior, state, block, block.table[: 1 << k], k, n_edges, n_undecided, -1,
            plan, inclusion_stats, rng,
        )  # fmt: skip


@jit
def repeat_rare(engine, sums, prior, state, block, plan, inclusion_stats, rng, times):
    for _ in range(times):
        update_absent(engine, sums, prior, state, block, plan, inclusion_stats, rng)


@jit
def repeat_table(weights, scratch, bias, matrix, times):
    for _ in range(times):
        fill_table(weights, scratch, bias, matrix)
        superset_sums(weights)


@jit
def repeat_probability(field, p, powers, empty, times):
    for _ in range(times):
        fill_probability(field, p, powers, empty)


@jit
def repeat_power_sums(p, ones, times):
    total = 0.0
    for t in range(times):
        total += power_sums(p, ones, t & 3, 4 + (t & 3))[0]
    return total


@jit
def repeat_tilted_sums(p, x, counted, times):
    total = 0.0
    for t in range(times):
        total += tilted_sums(p, x, counted, t & 3, 4 + (t & 3), -0.1, 0.3)[0]
    return total


@jit
def repeat_log_sum(p, x, bounds, counts, times):
    total = 0.0
    for t in range(times):
        total += log_sum(p, x, t & 3, 4 + (t & 3), -0.1, 0.3, bounds, counts)
    return total
