"""The state of a chain, and the insertion and removal of interactions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner

Array = NDArray[np.float64]
Integers = NDArray[np.int32]


class ChainState(NamedTuple):
    """Parameters, structure, hyperparameters and momenta of a chain.

    ``coupling`` and its momentum are zero where an interaction is absent. ``members`` lists the
    ``n_members[0]`` present interactions. ``hyper`` is p0 and sigma0, and, where interactions with
    one and with several parameters have slabs of their own, the scale of the latter. Momenta are
    empty in samplers that do not use them.
    """

    bias: Array
    coupling: Array
    present: NDArray[np.uint8]
    members: Integers
    n_members: NDArray[np.int64]
    hyper: Array
    bias_momentum: Array
    coupling_momentum: Array


class Info(NamedTuple):
    """Counts of births and deaths proposed and accepted, and of accepted Langevin steps."""

    add_proposed: int
    added: int
    delete_proposed: int
    deleted: int
    langevin_accepted: int


def new_state(
    n_biases: int, n_couplings: int, n_interactions: int, n_scales: int = 1
) -> ChainState:
    """Return the empty state: no interaction present, all parameters zero."""
    return ChainState(
        np.zeros(n_biases),
        np.zeros(n_couplings),
        np.zeros(n_interactions, np.uint8),
        np.zeros(n_interactions, np.int32),
        np.zeros(1, np.int64),
        np.array([0.5, *[1.0] * n_scales]),
        np.zeros(n_biases),
        np.zeros(n_couplings),
    )


@inner
def insert(state, alpha):
    """Make an interaction present."""
    state.present[alpha] = 1
    state.members[state.n_members[0]] = alpha
    state.n_members[0] += 1


@inner
def remove(state, alpha):
    """Make an interaction absent; the last of the list takes its place.

    Its position is searched for: an array of positions would take four bytes for every pair of
    nodes.
    """
    members, last = state.members, state.n_members[0] - 1
    place = 0
    while members[place] != alpha:
        place += 1
    members[place] = members[last]
    state.present[alpha] = 0
    state.n_members[0] = last
