"""Where chains start: each from another kind of place, so that their agreement means something."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.moves.state import ChainState, insert, new_state, remove
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
    return at_rest(state)


def modest_state(problem: Problem, kind: str, rng: np.random.Generator) -> ChainState:
    """Draw a start of a larger field: biases from the data with noise; few edges, or none."""
    sums = problem.sums
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    state = random_state(problem, rng, 0.0 if kind == "empty" else rng.random() * mean.size)
    state.bias[:] = np.log(mean / (1 - mean)) + 0.3 * rng.standard_normal(mean.size)
    state.coupling[:] *= 0.5
    return at_rest(state)


def remove_free(
    state: ChainState, problem: Problem, share: float, rng: np.random.Generator
) -> None:
    """Take a share of the edges out of a state, but not those that are forced."""
    for alpha in state.members[: state.n_members[0]].copy():
        if problem.prior.inclusion[alpha] != 1.0 and rng.random() < share:
            remove(state, int(alpha))
            state.coupling[alpha] = 0.0


def at_rest(state: ChainState) -> ChainState:
    """Return a state without momenta."""
    return state._replace(bias_momentum=np.zeros(0), coupling_momentum=np.zeros(0))


class Sketch(NamedTuple):
    """A state at rest by the edges that are present, which takes little room."""

    bias: NDArray[np.float64]
    edges: NDArray[np.int32]
    coupling: NDArray[np.float64]
    hyper: NDArray[np.float64]


def sketch_of(state: ChainState) -> Sketch:
    """Return what a state is made of."""
    edges = state.members[: state.n_members[0]].copy()
    return Sketch(state.bias.copy(), edges, state.coupling[edges], state.hyper.copy())


def state_of(sketch: Sketch, n_edges: int) -> ChainState:
    """Return the state that was sketched."""
    state, n = at_rest(new_state(sketch.bias.size, n_edges, n_edges)), sketch.edges.size
    state.bias[:], state.hyper[:] = sketch.bias, sketch.hyper
    state.coupling[sketch.edges], state.present[sketch.edges] = sketch.coupling, 1
    state.members[:n], state.n_members[0] = sketch.edges, n
    return state
