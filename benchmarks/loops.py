"""Compiled loops that repeat one part of the sampler, to be timed from Python.

A file of their own, because compiled code is kept on disk by the file that it comes from.
"""

from __future__ import annotations

from slabfield._jit import jit
from slabfield.kernels.gibbs import sweep
from slabfield.likelihood.engine import advance
from slabfield.moves.hyper import draw_hyper
from slabfield.moves.jump import jump_together
from slabfield.moves.langevin import langevin_step


@jit
def repeat_sweep(states, bias, neighbours, weights, degree, lanes, field, times):
    for _ in range(times):
        sweep(states, bias, neighbours, weights, degree, lanes, field)


@jit
def repeat_hyper(state, prior, n_learnt, group_start, rng, times):
    for _ in range(times):
        draw_hyper(state, prior, n_learnt, group_start, rng)


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
        jump_together(engine, sums, prior, group_start, settings, state, work, rng)
