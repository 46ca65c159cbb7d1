"""Flips on particles: on average over sets of particles they have the chance that they should."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from slabfield._jit import jit
from slabfield.exact import enumeration
from slabfield.kernels.cloud import GROUPS
from slabfield.likelihood.cubes import exact_cubes
from slabfield.likelihood.engine import open_block
from slabfield.moves.flip import flip_edges
from slabfield.moves.pair import new_block, new_tally
from slabfield.moves.sweep import Plan, list_edges
from slabfield.priors import Prior
from test_cube import engine_with, random_state_of

N_NODES, N_ROWS, N_PARTICLES, N_REPEATS = 7, 1500, 64, 2000
NODES = np.array([2, 5, 0, 3])


@jit
def one_flip(engine, sums, prior, state, block, mass, plan, tally, rng):
    """Try the planned flip; its chance is in the tally. ``mass`` is the table as the engine has it.

    Where the block's own has one column, it is told the sum, and nothing of how groups differ.
    """
    k = block.nodes.size
    n_edges = list_edges(block, state.bias.size, k, k, True, True)
    open_block(engine, state, block.nodes, mass)
    block.mass[:] = 0.0
    for group in range(mass.shape[1]):
        block.mass[:, group % block.mass.shape[1]] += mass[:, group]
    flip_edges(sums, prior, state, block, k, n_edges, 0, 0, plan, tally, rng)


class Case:
    """A field, rows of it, and one edge of a block that is to become what it is not."""

    def __init__(self, edge: int, inclusion: float) -> None:
        self.model, self.state = random_state_of(N_NODES, 1.0, 3)
        self.field = self.model.field(self.state.bias, self.state.coupling)
        rng = np.random.default_rng(8)
        self.sums = self.model.sums(enumeration.sample(self.field, N_ROWS, rng))
        n_edges = self.model.n_interactions
        self.prior = Prior.standard(n_edges)._replace(inclusion=np.full(n_edges, inclusion))
        moves, nowhere = np.array([[edge, -1, -1, -1]]), np.zeros(n_edges, np.bool_)
        self.plan = Plan(NODES[None], 0, nowhere, moves, np.array([0, 1]), nowhere, 0, NODES[None])

    def chances(self, lanes: int, exact: bool = False) -> np.ndarray:
        """Chances of the flip from the same state, each by particles of its own."""
        rng, found = np.random.default_rng(9), []
        block = new_block(self.sums.bias / N_ROWS, NODES.size, lanes)
        mass = np.zeros((1 << NODES.size, 1 if exact else GROUPS))
        if exact:
            engine = exact_cubes(self.model)
        else:
            engine = engine_with(self.model, self.state, np.zeros((N_NODES, N_PARTICLES)), 4)
        kept = [part.copy() for part in self.state]
        for _ in range(N_REPEATS):
            if not exact:
                engine.states[:] = enumeration.sample(self.field, N_PARTICLES, rng).T
            block.nodes[:] = NODES
            tally = new_tally(self.model.n_interactions, 1)
            one_flip(engine, self.sums, self.prior, self.state, block, mass, self.plan, tally, rng)
            found.append(tally.flip_chance[0])
            for part, before in zip(self.state, kept, strict=True):
                part[:] = before
        return np.array(found)


def test_flips_have_the_exact_chance_on_average():
    """The noise of log odds is about one here; lanes tell it, and it is taken out."""
    case = Case(edge=5, inclusion=0.02)
    exactly, found, plainly = case.chances(1, exact=True), case.chances(GROUPS), case.chances(1)
    assert np.ptp(exactly) < 1e-6  # an edge that leaves has one chance
    assert 0.7 < logit(plainly[plainly > 0]).std() < 1.3
    off, plainly_off = (abs(some.mean() - exactly[0]) for some in (found, plainly))
    assert off < 0.012
    assert off < 0.5 * plainly_off
    assert plainly_off > 5 * plainly.std() / np.sqrt(N_REPEATS)
