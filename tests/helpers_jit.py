"""Compiled loops that the tests of the sampler call."""

from slabfield._jit import jit
from slabfield.moves.jump import jump_together


@jit
def count_births(
    engine, sums, prior, group_start, jumps, state, work, saved, counts, n_repeats, rng
):
    """Make one pass of parallel jumps many times from one state; count the births of each edge.

    ``saved`` is a copy of the state, to which it returns after each pass (particles do not move
    in a pass). Returns how many births were looked at in all.
    """
    looked_at = 0
    for _ in range(n_repeats):
        births, _, _, _ = jump_together(
            engine, sums, prior, group_start, jumps, state, work, rng
        )  # fmt: skip
        looked_at += births
        for alpha in range(counts.size):
            if state.present[alpha] and not saved.present[alpha]:
                counts[alpha] += 1
        state.coupling[:] = saved.coupling
        state.coupling_momentum[:] = saved.coupling_momentum
        state.present[:] = saved.present
        state.members[:] = saved.members
        state.n_members[:] = saved.n_members
    return looked_at
