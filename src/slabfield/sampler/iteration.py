"""Iterations: the one file that names all moves. Compiled loops, no Python between iterations.

Each function runs ``n_draws`` times ``thin`` iterations and writes the state after every ``thin``
of them into the rows of ``record``; with ``n_draws`` zero it only runs ``thin`` iterations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner, jit
from slabfield.likelihood.cubes import relax
from slabfield.likelihood.engine import advance
from slabfield.moves.hyper import draw_hyper
from slabfield.moves.impute import redraw
from slabfield.moves.jump import exchange, jump_in_turn, jump_together
from slabfield.moves.langevin import adjusted_langevin_step, langevin_step
from slabfield.moves.state import ChainState, Info
from slabfield.moves.sweep import collapsed_sweep

# Exchanges of two interactions tried in an iteration of Bayes Exact
N_EXCHANGES = 4


class Record(NamedTuple):
    """Draws of one chain, a row a draw; ``hyper`` is p0, sigma0 and the data's log potential."""

    bias: NDArray[np.float64]
    coupling: NDArray[np.float64]
    present: NDArray[np.bool_]
    hyper: NDArray[np.float64]


def new_record(n_draws: int, n_biases: int, n_couplings: int, n_interactions: int) -> Record:
    """Return room for the draws of one chain."""
    return Record(
        np.zeros((n_draws, n_biases)),
        np.zeros((n_draws, n_couplings)),
        np.zeros((n_draws, n_interactions), np.bool_),
        np.zeros((n_draws, 3)),
    )


class NotFinite(ArithmeticError):
    """Raised where a chain has come to numbers that are not finite."""


def check_finite(state: ChainState, record: Record | None = None) -> None:
    """Raise :class:`NotFinite` unless a chain's state, and what it has drawn, are numbers.

    p0 is none by definition where no edges share it.
    """
    parts = [state.bias, state.coupling, state.hyper[1:]]
    if record is not None:
        parts += [record.bias, record.coupling, record.hyper[:, 1:]]
    if not all(np.isfinite(part).all() for part in parts):
        raise NotFinite


@inner
def keep(record, row, state, sums):
    """Write a state into a row of the record, with the data's log potential under it."""
    record.bias[row] = state.bias
    record.coupling[row] = state.coupling
    record.hyper[row, 0] = state.hyper[0]
    record.hyper[row, 1] = state.hyper[1]
    potential = 0.0
    for i in range(state.bias.size):
        potential += state.bias[i] * sums.bias[i]
    for k in range(state.coupling.size):
        potential += state.coupling[k] * sums.coupling[k]
    record.hyper[row, 2] = potential
    for alpha in range(state.present.size):
        record.present[row, alpha] = state.present[alpha] != 0


@jit
def approximate(
    engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, unknown,
    record, first, n_draws, thin, rng,
):  # fmt: skip
    """Algorithm 1 of the paper: hyper-parameters, particles, Langevin step, jumps in parallel."""
    births, born, deaths, died = 0, 0, 0, 0
    for draw in range(max(n_draws, 1)):
        for _ in range(thin):
            draw_hyper(state, prior, jumps.n_learnt, group_start, rng)
            advance(engine, state, rng)
            langevin_step(engine, sums, prior, group_start, langevin, state, work, rng)
            b, c, d, e = jump_together(
                engine, sums, prior, group_start, jumps, state, jump_work, rng
            )
            births, born, deaths, died = births + b, born + c, deaths + d, died + e
            if unknown.row.size > 0:
                redraw(unknown, engine, sums, state, rng)
        if n_draws > 0:
            keep(record, first + draw, state, sums)
    return Info(births, born, deaths, died, 0)


@jit
def adjusted(
    engine, sums, prior, group_start, langevin, jumps, state, work, jump_work, unknown,
    record, first, n_draws, thin, rng,
):  # fmt: skip
    """Bayes Exact: the same moves with exact gradients and exact accept/reject steps."""
    births, born, deaths, died, accepted = 0, 0, 0, 0, 0
    for draw in range(max(n_draws, 1)):
        for _ in range(thin):
            draw_hyper(state, prior, jumps.n_learnt, group_start, rng)
            advance(engine, state, rng)
            accepted += adjusted_langevin_step(
                engine, sums, prior, group_start, langevin, state, work, rng
            )
            b, c, d, e = jump_in_turn(
                engine, sums, prior, group_start, jumps, state, jump_work, rng
            )
            births, born, deaths, died = births + b, born + c, deaths + d, died + e
            exchange(engine, sums, prior, group_start, jumps, state, jump_work, N_EXCHANGES, rng)
            if unknown.row.size > 0:
                redraw(unknown, engine, sums, state, rng)
        if n_draws > 0:
            keep(record, first + draw, state, sums)
    return Info(births, born, deaths, died, accepted)


@jit
def settle(engine, state, rng):
    """Bring an engine to the state from which a chain starts."""
    advance(engine, state, rng)


@jit
def relax_all(engine, state, rng):
    """Sweep all particles at the parameters of a state, and draw a forest of them anew."""
    advance(engine, state, rng)
    relax(engine, state, rng)


@jit
def collapsed(
    engine, sums, prior, group_start, state, block, plan, tally, unknown,
    record, first, n_draws, thin, rng,
):  # fmt: skip
    """Collapsed sweeps of a binary pairwise field, in blocks of nodes.

    What happens does not depend on where a run is cut into calls.
    """
    n_learnt = 0
    for alpha in range(prior.inclusion.size):
        n_learnt += np.isnan(prior.inclusion[alpha])
    for draw in range(max(n_draws, 1)):
        for _ in range(thin):
            collapsed_sweep(engine, sums, prior, state, block, plan, tally, rng)
            draw_hyper(state, prior, n_learnt, group_start, rng)
            if unknown.row.size > 0:
                redraw(unknown, engine, sums, state, rng)
        if n_draws > 0:
            keep(record, first + draw, state, sums)
    return Info(0, 0, 0, 0, 0)
