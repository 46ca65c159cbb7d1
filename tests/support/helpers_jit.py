"""Compiled loops that the tests of the sampler call."""

import numpy as np

from slabfield._jit import jit
from slabfield.moves.hyperparameters import draw_gamma_above, overrelax_hyper
from slabfield.moves.particle_noise import draw_presence
from slabfield.moves.reversible_jump import jump_in_parallel


@jit
def count_births(
    engine, sums, prior, group_start, jumps, state, work, saved, counts, n_repeats, rng
):
    """Repeat one pass of parallel jumps from the same state; count the births of each edge.

    ``saved`` is a copy of the state, restored after each pass (particles do not move in a pass).
    Returns the number of births evaluated.
    """
    n_evaluated = 0
    for _ in range(n_repeats):
        births, _, _, _ = jump_in_parallel(
            engine, sums, prior, group_start, jumps, state, work, rng
        )  # fmt: skip
        n_evaluated += births
        for alpha in range(counts.size):
            if state.present[alpha] and not saved.present[alpha]:
                counts[alpha] += 1
        state.coupling[:] = saved.coupling
        state.coupling_momentum[:] = saved.coupling_momentum
        state.present[:] = saved.present
        state.members[:] = saved.members
        state.n_members[:] = saved.n_members
    return n_evaluated


@jit
def many_gamma_draws(shape, least, values, rng):
    """Fill in draws from the standard Gamma distribution restricted to at least ``least``."""
    for k in range(values.size):
        values[k] = draw_gamma_above(shape, least, rng)


@jit
def overrelax_many(state, prior, group_start, before, rng):
    """Overrelax p0 and the precision of the slab once from each of the given pairs."""
    after = np.empty_like(before)
    for t in range(len(before)):
        state.hyper[0], state.hyper[1] = before[t, 0], before[t, 1] ** -0.5
        overrelax_hyper(state, prior, prior.inclusion.size, group_start, rng)
        after[t, 0], after[t, 1] = state.hyper[0], state.hyper[1] ** -2
    return after


@jit
def draw_presences(present, odds, probability, visit, n, rng):
    """How often an edge is present after n updates from the same state."""
    found = 0
    for _ in range(n):
        found += draw_presence(present, odds, probability, False, visit, rng)
    return found
