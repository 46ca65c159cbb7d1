"""Random fields, and particle engines in given states."""

from __future__ import annotations

import numpy as np

from slabfield.likelihood.blocks import particle_blocks
from slabfield.likelihood.protocols import advance
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import insert, new_state


def random_state_of(n_nodes, strength, seed, density=0.7):
    """A model and a state with couplings of this standard deviation."""
    rng = np.random.default_rng(seed)
    model = BinaryPairwise(n_nodes)
    state = new_state(n_nodes, model.n_interactions, model.n_interactions)
    state.bias[:] = strength * rng.standard_normal(n_nodes)
    for alpha in np.flatnonzero(rng.random(model.n_interactions) < density):
        insert(state, alpha)
        state.coupling[alpha] = strength * rng.standard_normal()
    return model, state


def engine_with(model, state, particles, k, n_sweeps=0, seed=1, weighted=False):
    """A particle engine in the given states, whose lists of neighbors match the state."""
    engine = particle_blocks(
        model, particles.shape[1], n_sweeps, k, weighted, np.random.default_rng(seed)
    )
    advance(engine, state, np.random.default_rng(0))
    engine.states[:] = particles
    return engine


def lists_of(coupling):
    """Padded lists of neighbors and of the couplings to them, and their lengths."""
    d = len(coupling)
    neighbors, weights = np.zeros((d, d), np.int32), np.zeros((d, d), np.float32)
    degree = np.zeros(d, np.int64)
    for i in range(d):
        near = np.flatnonzero(coupling[i])
        degree[i] = near.size
        neighbors[i, : near.size], weights[i, : near.size] = near, coupling[i, near]
    return neighbors, weights, degree
