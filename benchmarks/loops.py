"""Compiled loops that repeat one part of the sampler, to be timed from Python.

A file of their own, because compiled code is kept on disk by the file that it comes from.
"""

from __future__ import annotations

from slabfield._jit import jit
from slabfield.kernels.gibbs import sweep
from slabfield.likelihood.protocols import advance
from slabfield.moves.hyperparameters import draw_hyper
from slabfield.moves.langevin import langevin_step
from slabfield.moves.reversible_jump import jump_in_parallel


@jit
def repeat_sweep(states, bias, neighbors, weights, degree, lanes, field, times):
    for _ in range(times):
        sweep(states, bias, neighbors, weights, degree, lanes, field)


@jit
def repeat_hyper(state, prior, n_learned, group_start, rng, times):
    for _ in range(times):
        draw_hyper(state, prior, n_learned, group_start, rng)


@jit
def repeat_advance(engine, state, rng, times):
    for _ in range(times):
        advance(engine, state, rng)


@jit
def repeat_langevin(engine, sums, prior, group_start, settings, state, work, rng, times):
    for _ in range(times):
        langevin_step(engine, sums, prior, group_start, settings, state, work, rng)


@jit
def repeat_jump(engine, sums, prior, group_start, settings, state, work, rng, times):
    for _ in range(times):
        jump_in_parallel(engine, sums, prior, group_start, settings, state, work, rng)
