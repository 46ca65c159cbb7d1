"""Overdispersed starting states: different kinds, so that agreement of chains is informative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.models.protocol import Model
from slabfield.moves.chain_state import ChainState, insert, new_state, remove
from slabfield.moves.hyperparameters import LEAST_P0, MOST_P0
from slabfield.problem import Problem

KINDS = ("pseudo", "empty", "half", "random")
"""Kinds of start in rotation: pseudo-likelihood pilot, no edges, half of them, prior draw."""


def kind_of(chain_index: int) -> str:
    """Return the kind of start of a chain; it does not depend on the number of chains."""
    return KINDS[chain_index % len(KINDS)]


def random_state(problem: Problem, rng: np.random.Generator, most: float = np.inf) -> ChainState:
    """Draw a start: structure and couplings from the prior, biases and momenta from N(0, 1).

    Inclusion probabilities are scaled down so that at most ``most`` edges are expected besides
    those that are forced.
    """
    model, prior = problem.model, problem.prior
    n_interactions, n_parameters = len(model.interactions), model.interactions.n_parameters
    state = new_state(model.n_biases, n_parameters, n_interactions, model.n_scales)
    state.hyper[0] = rng.beta(prior.beta_a, prior.beta_b)
    for scale in range(1, state.hyper.size):
        sigma0 = np.sqrt(prior.gamma_rate / rng.gamma(prior.gamma_shape))
        state.hyper[scale] = min(sigma0, prior.max_slab_scale)
    if not prior.learned.any():
        same = np.all(prior.inclusion == prior.inclusion[:1])
        state.hyper[0] = prior.inclusion[0] if same else np.nan
    if not np.isnan(prior.slab_scale):
        state.hyper[1:] = prior.slab_scale
    probability = np.where(prior.learned, state.hyper[0], prior.inclusion)
    free = prior.inclusion != 1.0
    probability[free] *= min(most / max(float(probability[free].sum()), 1e-9), 1.0)
    for alpha in np.flatnonzero(rng.random(probability.size) < probability):
        insert(state, alpha)
        group = model.group(int(alpha))
        state.coupling[group] = draw_group(state, group, rng)
        state.coupling_momentum[group] = rng.standard_normal(group.stop - group.start)
    state.bias[:] = rng.standard_normal(state.bias.size)
    state.bias_momentum[:] = rng.standard_normal(state.bias.size)
    return state


def draw_group(state: ChainState, group: slice, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the parameters of an interaction from the slab."""
    size = group.stop - group.start
    scale = state.hyper[1] if size == 1 else state.hyper[-1]
    return np.asarray(scale * rng.standard_normal(size))


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
            group = problem.model.group(int(alpha))
            state.coupling[group] = 0.5 * draw_group(state, group, rng)
    return zero_momentum(state)


def start_from_data(problem: Problem, kind: str, rng: np.random.Generator) -> ChainState:
    """Draw a start of a larger field: biases from the data with noise; few edges, or none."""
    model = problem.model
    state = random_state(problem, rng, 0.0 if kind == "empty" else rng.random() * model.n_nodes)
    bias = model.independent_biases(problem.sums)
    state.bias[:] = bias + 0.3 * rng.standard_normal(bias.size)
    state.coupling[:] *= 0.5
    return zero_momentum(state)


def remove_free(
    state: ChainState, problem: Problem, share: float, rng: np.random.Generator
) -> None:
    """Remove a random share of the present edges, except forced ones."""
    for alpha in state.members[: state.n_members[0]].copy():
        if problem.prior.inclusion[alpha] != 1.0 and rng.random() < share:
            remove(state, int(alpha))
            state.coupling[problem.model.group(int(alpha))] = 0.0


def draw_start_p0(state: ChainState, problem: Problem, rng: np.random.Generator) -> None:
    """Draw p0 given the edges of a start, since edges are drawn given p0."""
    prior = problem.prior
    if prior.learned.any():
        ones = int(state.present[prior.learned].sum())
        zeros = int(prior.learned.sum()) - ones
        drawn = rng.beta(prior.beta_a + ones, prior.beta_b + zeros)
        state.hyper[0] = min(max(drawn, LEAST_P0), MOST_P0)


def zero_momentum(state: ChainState) -> ChainState:
    """Return a state without momenta."""
    return state._replace(bias_momentum=np.zeros(0), coupling_momentum=np.zeros(0))


class SparseState(NamedTuple):
    """A state without momenta: its present edges, and the parameters of these."""

    bias: NDArray[np.float64]
    edges: NDArray[np.int32]
    coupling: NDArray[np.float64]
    hyper: NDArray[np.float64]


def parameters_of(edges: NDArray[np.integer], model: Model) -> NDArray[np.int64]:
    """Indices of all parameters of some edges."""
    starts = model.group_start
    sizes = starts[edges + 1] - starts[edges]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.repeat(starts[edges], sizes) + within)


def sparse_state_of(state: ChainState, model: Model) -> SparseState:
    """Return the sparse form of a state."""
    edges = state.members[: state.n_members[0]].copy()
    coupling = state.coupling[parameters_of(edges, model)]
    return SparseState(state.bias.copy(), edges, coupling, state.hyper.copy())


def state_of(sparse: SparseState, model: Model) -> ChainState:
    """Return the dense form of a state."""
    sizes = model.n_biases, model.interactions.n_parameters, model.n_interactions, model.n_scales
    state, n = zero_momentum(new_state(*sizes)), sparse.edges.size
    state.bias[:], state.hyper[:] = sparse.bias, sparse.hyper
    state.coupling[parameters_of(sparse.edges, model)] = sparse.coupling
    state.present[sparse.edges] = 1
    state.members[:n], state.n_members[0] = sparse.edges, n
    return state
