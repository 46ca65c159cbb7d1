"""Compiled loops that repeat one kernel of a likelihood engine, to be timed from Python.

A file of their own, because compiled code is kept on disk by the file that it comes from.
"""

from __future__ import annotations

from slabfield._jit import inner, jit
from slabfield.kernels.cube import halves, quadrants
from slabfield.kernels.rows import fill_probability, log_sum, power_sums, tilted_sums
from slabfield.kernels.table import fill_table, superset_sums
from slabfield.likelihood.cubes import relax
from slabfield.likelihood.engine import advance, leave_block, open_block
from slabfield.moves.flip import flip_edges, list_open
from slabfield.moves.pair import count_learnt, update_biases, update_edges
from slabfield.moves.rare import update_rare
from slabfield.moves.sweep import list_edges


@jit
def repeat_advance(engine, state, rng, times):
    for _ in range(times):
        advance(engine, state, rng)


@jit
def repeat_relax(engine, state, rng, times):
    for _ in range(times):
        relax(engine, state, rng)


@jit
def repeat_open(engine, state, nodes, mass, times):
    for _ in range(times):
        open_block(engine, state, nodes, mass)


@jit
def repeat_leave(engine, state, nodes, mass, rng, times):
    for _ in range(times):
        open_block(engine, state, nodes, mass)
        leave_block(engine, state, nodes, mass, rng)


@jit
def repeat_marginals(mass, k, sums, times):
    for _ in range(times):
        for high in range(1, k):
            for low in range(high):
                quadrants(mass, k, low, high, sums)
        for node in range(k):
            halves(mass, k, node, sums)


@inner
def go_back(state, saved):
    """Bring a state back to what it was."""
    state.bias[:] = saved.bias
    state.coupling[:] = saved.coupling
    state.present[:] = saved.present
    state.members[:] = saved.members
    state.n_members[:] = saved.n_members


@jit
def repeat_block(sums, prior, state, saved, block, start, k, tally, rng, times):
    """Update all edges and biases of a block, from the same table and state each time."""
    n_edges = list_edges(block, state.bias.size, k, k, True, True)
    for _ in range(times):
        go_back(state, saved)
        count_learnt(prior.inclusion, state.present, block.counts)
        block.mass[:] = start
        update_edges(sums, prior, state, block, k, n_edges, 1.0, tally, rng)
        update_biases(sums, prior, state, block, k, 0, k, rng)


@jit
def repeat_flips(sums, prior, state, saved, block, start, k, plan, tally, rng, times):
    """Try flips in a block, from the same table and state each time."""
    n_edges = list_edges(block, state.bias.size, k, k, True, True)
    for _ in range(times):
        go_back(state, saved)
        count_learnt(prior.inclusion, state.present, block.counts)
        block.mass[:] = start
        n_open = list_open(block.edges, n_edges, plan.open, block.open)
        flip_edges(sums, prior, state, block, k, n_edges, n_open, -1, plan, tally, rng)


@jit
def repeat_rare(engine, sums, prior, state, block, plan, tally, rng, times):
    count_learnt(prior.inclusion, state.present, block.counts)
    for _ in range(times):
        update_rare(engine, sums, prior, state, block, plan, tally, rng)


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
