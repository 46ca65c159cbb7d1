"""Flips on particles: averaged over sets of particles, their acceptance probability is exact."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from random_fields import engine_with, random_state_of
from slabfield._jit import jit
from slabfield.inference import enumeration
from slabfield.kernels.block_particles import GROUPS
from slabfield.likelihood.blocks import exact_blocks
from slabfield.likelihood.protocols import open_block
from slabfield.moves.block_flip import flip_edges
from slabfield.moves.block_sweep import Plan, list_edges
from slabfield.moves.edge_gibbs import new_block, new_inclusion_stats
from slabfield.priors import Prior

N_NODES, N_ROWS, N_PARTICLES, N_REPEATS = 7, 1500, 64, 2000
NODES = np.array([2, 5, 0, 3])


@jit
def one_flip(engine, sums, prior, state, block, table, plan, inclusion_stats, rng):
    """Try the scheduled flip; its acceptance probability is recorded in ``inclusion_stats``.

    ``table`` is the table as the engine fills it. If the block's own table has one column, it gets
    the sum over groups, without any information about how the groups differ.
    """
    k = block.nodes.size
    n_edges = list_edges(block, state.bias.size, k, k, True, True)
    open_block(engine, state, block.nodes, table)
    block.table[:] = 0.0
    for group in range(table.shape[1]):
        block.table[:, group % block.table.shape[1]] += table[:, group]
    flip_edges(
        None, sums, prior, state, block, block.table[: 1 << k], k, n_edges, 0, 0, plan,
        inclusion_stats, rng,
    )  # fmt: skip


class Case:
    """A field, rows drawn from it, and one edge of a block to be toggled."""

    def __init__(self, edge: int, inclusion: float) -> None:
        self.model, self.state = random_state_of(N_NODES, 1.0, 3)
        self.field = self.model.field(self.state.bias, self.state.coupling)
        rng = np.random.default_rng(8)
        self.sums = self.model.sums(enumeration.sample(self.field, N_ROWS, rng))
        n_edges = self.model.n_interactions
        self.prior = Prior.standard(n_edges)._replace(inclusion=np.full(n_edges, inclusion))
        moves, nowhere = np.array([[edge, -1, -1, -1, -1]]), np.zeros(n_edges, np.bool_)
        self.plan = Plan(NODES[None], 0, nowhere, moves, np.array([0, 1]), nowhere, 0, NODES[None])

    def probabilities(self, n_groups: int, exact: bool = False) -> np.ndarray:
        """Acceptance probabilities of the flip from the same state, each from its own particles."""
        rng, found = np.random.default_rng(9), []
        block = new_block(self.sums.bias / N_ROWS, NODES.size, n_groups)
        table = np.zeros((1 << NODES.size, 1 if exact else GROUPS))
        if exact:
            engine = exact_blocks(self.model)
        else:
            engine = engine_with(self.model, self.state, np.zeros((N_NODES, N_PARTICLES)), 4)
        kept = [part.copy() for part in self.state]
        for _ in range(N_REPEATS):
            if not exact:
                engine.states[:] = enumeration.sample(self.field, N_PARTICLES, rng).T
            block.nodes[:] = NODES
            inclusion_stats = new_inclusion_stats(self.model.n_interactions, 1)
            one_flip(
                engine,
                self.sums,
                self.prior,
                self.state,
                block,
                table,
                self.plan,
                inclusion_stats,
                rng,
            )
            found.append(inclusion_stats.flip_probability[0])
            for part, before in zip(self.state, kept, strict=True):
                part[:] = before
        return np.array(found)


def test_flips_have_the_exact_acceptance_probability_on_average():
    """The noise variance of log odds is about one, estimated from groups and corrected for."""
    case = Case(edge=5, inclusion=0.02)
    exact_values, found, uncorrected = (
        case.probabilities(1, exact=True),
        case.probabilities(GROUPS),
        case.probabilities(1),
    )
    assert np.ptp(exact_values) < 1e-6  # the removal of an edge involves no random numbers
    assert 0.7 < logit(uncorrected[uncorrected > 0]).std() < 1.3
    bias, uncorrected_bias = (
        abs(values.mean() - exact_values[0]) for values in (found, uncorrected)
    )
    assert bias < 0.012
    assert bias < 0.5 * uncorrected_bias
    assert uncorrected_bias > 5 * uncorrected.std() / np.sqrt(N_REPEATS)
