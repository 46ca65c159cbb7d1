"""Where chains start: each from another kind of place, so that their agreement means something."""

from __future__ import annotations

import numpy as np

from slabfield.moves.state import ChainState, insert, remove
from slabfield.sampler.warmup import Problem, random_state

KINDS = ("pseudo", "empty", "half", "random")
"""Kinds of start, by turns: the pseudo-likelihood's answer, no edges, half of them, the prior's."""


def kind_of(chain_index: int) -> str:
    """Return the kind of start of a chain; it does not depend on how many chains there are.

    Examples
    --------
    >>> from slabfield.sampler.starts import kind_of
    >>> kind_of(5)
    'empty'
    """
    return KINDS[chain_index % len(KINDS)]


def small_field_state(problem: Problem, kind: str, rng: np.random.Generator) -> ChainState:
    """Draw a start of a small field: no edge, every second one, or a draw from the prior."""
    state = random_state(problem, rng)
    if kind == "empty":
        remove_free(state, problem, 1.0, rng)
    elif kind == "half":
        remove_free(state, problem, 1.0, rng)
        free = (problem.prior.inclusion != 0.0) & (state.present == 0)
        for alpha in np.flatnonzero(free & (rng.random(free.size) < 0.5)):
            insert(state, int(alpha))
            state.coupling[alpha] = 0.5 * state.hyper[1] * rng.standard_normal()
    return state


def modest_state(problem: Problem, kind: str, rng: np.random.Generator) -> ChainState:
    """Draw a start of a larger field: biases from the data with noise; few edges, or none."""
    state = random_state(problem, rng)
    sums = problem.sums
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    state.bias[:] = np.log(mean / (1 - mean)) + 0.3 * rng.standard_normal(mean.size)
    wanted = 0.0 if kind == "empty" else rng.uniform(0.0, 1.0) * mean.size
    expected = max(problem.prior.inclusion.size * state.hyper[0], 1e-9)
    remove_free(state, problem, 1.0 - min(wanted / expected, 1.0), rng)
    state.coupling[:] *= 0.5
    return state


def remove_free(
    state: ChainState, problem: Problem, share: float, rng: np.random.Generator
) -> None:
    """Take a share of the edges out of a state, but not those that are forced."""
    for alpha in state.members[: state.n_members[0]].copy():
        if problem.prior.inclusion[alpha] != 1.0 and rng.random() < share:
            remove(state, int(alpha))
            state.coupling[alpha] = 0.0


def copy_of(state: ChainState) -> ChainState:
    """Return a state of its own with the same content."""
    return ChainState._make(part.copy() for part in state)
