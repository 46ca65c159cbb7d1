"""Iterations of all samplers: compiled loops over the moves, with no Python in between.

Each function runs ``n_draws`` times ``thin`` iterations and writes the state after every ``thin``
of them to the rows of ``record``; with ``n_draws`` zero it only runs ``thin`` iterations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner, jit
from slabfield.likelihood.protocols import advance, refresh_data, tree_sweep
from slabfield.moves import langevin, reversible_jump
from slabfield.moves.block_sweep import collapsed_sweep
from slabfield.moves.chain_state import ChainState, Info
from slabfield.moves.evidence_sums import end_sweep
from slabfield.moves.hyperparameters import draw_hyper, overrelax_hyper
from slabfield.moves.imputation import redraw
from slabfield.moves.langevin import adjusted_langevin_step, langevin_step
from slabfield.moves.reversible_jump import exchange, jump_in_parallel, jump_sequentially

# What the paper's iterations require of an engine, by scheme
REQUIRES = {
    "approximate": (*langevin.REQUIRES, *reversible_jump.REQUIRES, refresh_data),
    "adjusted": (
        *langevin.REQUIRES, *langevin.REQUIRES_EXACT, *reversible_jump.REQUIRES, refresh_data,
    ),
}  # fmt: skip
# Exchanges of two interactions proposed per iteration of Bayes Exact
N_EXCHANGES = 4


class Record(NamedTuple):
    """Draws of one chain, one per row.

    ``hyper`` is p0, the scale or scales of the slab, and the log potential of the data.
    """

    bias: NDArray[np.float64]
    coupling: NDArray[np.float64]
    present: NDArray[np.bool_]
    hyper: NDArray[np.float64]


def new_record(
    n_draws: int, n_biases: int, n_couplings: int, n_interactions: int, n_scales: int = 1
) -> Record:
    """Return a buffer for the draws of one chain."""
    return Record(
        np.zeros((n_draws, n_biases)),
        np.zeros((n_draws, n_couplings)),
        np.zeros((n_draws, n_interactions), np.bool_),
        np.zeros((n_draws, n_scales + 2)),
    )


class NotFinite(ArithmeticError):
    """Raised when a chain has reached values that are not finite."""


def check_finite(state: ChainState, record: Record | None = None) -> None:
    """Raise :class:`NotFinite` unless a chain's state, and its draws, are finite.

    p0 is not checked: it is NaN by definition where no edges share it.
    """
    parts = [state.bias, state.coupling, state.hyper[1:]]
    if record is not None:
        parts += [record.bias, record.coupling, record.hyper[:, 1:]]
    if not all(np.isfinite(part).all() for part in parts):
        raise NotFinite


@inner
def write_draw(record, row, state, sums):
    """Write a state to a row of the record, with the log potential of the data under it."""
    record.bias[row] = state.bias
    record.coupling[row] = state.coupling
    last = state.hyper.size
    record.hyper[row, :last] = state.hyper
    potential = 0.0
    for i in range(state.bias.size):
        potential += state.bias[i] * sums.bias[i]
    for k in range(state.coupling.size):
        potential += state.coupling[k] * sums.coupling[k]
    record.hyper[row, last] = potential
    for alpha in range(state.present.size):
        record.present[row, alpha] = state.present[alpha] != 0


@jit
def approximate(
    engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, missing_entries,
    record, first, n_draws, thin, rng,
):  # fmt: skip
    """Algorithm 1 of the paper: hyperparameters, particles, Langevin step, jumps in parallel."""
    births, born, deaths, died = 0, 0, 0, 0
    for draw in range(max(n_draws, 1)):
        for _ in range(thin):
            draw_hyper(state, prior, jumps.n_learned, group_start, rng)
            advance(engine, state, rng)
            langevin_step(engine, sums, prior, group_start, langevin, state, work, rng)
            b, c, d, e = jump_in_parallel(
                engine, sums, prior, group_start, jumps, state, jump_work, rng
            )
            births, born, deaths, died = births + b, born + c, deaths + d, died + e
            if missing_entries.row.size > 0:
                redraw(missing_entries, engine, sums, state, rng)
        if n_draws > 0:
            write_draw(record, first + draw, state, sums)
    return Info(births, born, deaths, died, 0)


@jit
def adjusted(
    engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, missing_entries,
    record, first, n_draws, thin, rng,
):  # fmt: skip
    """Bayes Exact: the same moves with exact gradients and exact Metropolis accept/reject steps."""
    births, born, deaths, died, accepted = 0, 0, 0, 0, 0
    for draw in range(max(n_draws, 1)):
        for _ in range(thin):
            draw_hyper(state, prior, jumps.n_learned, group_start, rng)
            advance(engine, state, rng)
            accepted += adjusted_langevin_step(
                engine, sums, prior, group_start, langevin, state, work, rng
            )
            b, c, d, e = jump_sequentially(
                engine, sums, prior, group_start, jumps, state, jump_work, rng
            )
            births, born, deaths, died = births + b, born + c, deaths + d, died + e
            exchange(engine, sums, prior, group_start, jumps, state, jump_work, N_EXCHANGES, rng)
            if missing_entries.row.size > 0:
                redraw(missing_entries, engine, sums, state, rng)
        if n_draws > 0:
            write_draw(record, first + draw, state, sums)
    return Info(births, born, deaths, died, accepted)


@jit
def advance_engine(engine, state, rng):
    """Bring an engine to the parameters of a state (particles: sweep them)."""
    advance(engine, state, rng)


@jit
def sweep_particles(engine, state, rng):
    """Run a Gibbs sweep and a tree sweep of all particles at the parameters of a state."""
    advance(engine, state, rng)
    tree_sweep(engine, state, rng)


@jit
def collapsed(
    engine, sums, prior, group_start, state, block, plan, inclusion_stats, missing_entries,
    record, first, n_draws, thin, rng,
):  # fmt: skip
    """Run the default sampler: collapsed Gibbs sweeps of a binary pairwise field, in blocks.

    The result does not depend on how a run is divided into calls.
    """
    n_learned = 0
    for alpha in range(prior.inclusion.size):
        n_learned += np.isnan(prior.inclusion[alpha])
    for draw in range(max(n_draws, 1)):
        for _ in range(thin):
            collapsed_sweep(engine, sums, prior, state, block, plan, inclusion_stats, rng)
            end_sweep(inclusion_stats.evidence.sums, inclusion_stats.evidence.batch)
            overrelax_hyper(state, prior, n_learned, group_start, rng)
            if missing_entries.row.size > 0:
                redraw(missing_entries, engine, sums, state, rng)
        if n_draws > 0:
            write_draw(record, first + draw, state, sums)
    return Info(0, 0, 0, 0, 0)
