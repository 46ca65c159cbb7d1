"""Compiled loops that the tests of the sampler call."""

from slabfield._jit import jit
from slabfield.moves.hyperparameters import draw_gamma_above
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
