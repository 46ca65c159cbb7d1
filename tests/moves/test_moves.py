"""Each move with an exact engine leaves the exact posterior invariant; a wrong one does not.

Parameters from the prior, with data drawn from their field, are exact draws of the posterior given
those data. After any valid move they still are: every statistic of parameters and data keeps its
distribution. The power twin gives the move sums of the data, or couplings, that are 1.1 times
their correct values.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

import helpers
from slabfield.adaptation.starts import random_state
from slabfield.chains.paper_chain import PaperChain, start_chain
from slabfield.configuration import bayes_exact
from slabfield.inference import enumeration
from slabfield.kernels.block_table import new_exact_workspace
from slabfield.likelihood.blocks import ExactBlocks, exact_blocks
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import ChainState
from slabfield.moves.edge_gibbs import new_block, new_inclusion_stats
from slabfield.priors import Prior
from slabfield.problem import Problem

N_NODES, N_ROWS, N_DATA_SETS = 5, 60, 5000
MODEL = BinaryPairwise(N_NODES)
INCLUSION = np.array([np.nan] * 7 + [0.2, 0.8, np.nan])
SOME = np.arange(MODEL.n_interactions) < 5
PRIOR = Prior.standard(MODEL.n_interactions, bias_scale=0.7)._replace(inclusion=INCLUSION)

# the move, how often it is applied, and the error of its power twin
MOVES = {
    "hyper": (helpers.step_hyper, 3, "coupling"),
    "langevin": (helpers.step_langevin, 60, "sums"),
    "jump": (helpers.step_jump, 30, "sums"),
    "edges": (helpers.step_edges, 4, "sums"),
    "swaps": (helpers.step_swaps, 12, "some sums"),
    "biases": (helpers.step_biases, 4, "bias sums"),
    "full sweep": (helpers.step_full, 2, "sums"),
    "planned sweep": (helpers.step_planned, 2, "sums"),
}
COLLAPSED = ["edges", "swaps", "biases", "full sweep", "planned sweep"]
# Blocks of four of the five nodes: one is summed out, and a full sweep has a last group of one
BLOCK_SIZE = 4
ALL = np.ones(10, np.bool_)
# flips of one, two, three and five edges of the second block
FLIPS = np.array([[3, -1, -1, -1, -1], [0, 4, -1, -1, -1], [5, 2, 1, -1, -1], [0, 1, 3, 4, 5]])
BLOCKS = np.array([[0, 1, 2, 3], [4, 2, 1, 0]])
# in a full sweep, for every node the nodes that share the first block with it
TOGETHER = np.array([[0, 3, 1, 2], [1, 4, 0, 2], [2, 0, 1, 4], [3, 0, 4, 2], [4, 1, 3, 2]])
PLAN = Plan(BLOCKS, 1, ALL, FLIPS, np.array([0, 0, 4]), ALL, 8, TOGETHER)


def copy_state(state: ChainState) -> ChainState:
    return ChainState(*(array.copy() for array in state))


@cache
def data_sets() -> list[tuple[Problem, ChainState]]:
    rng = np.random.default_rng(20)
    made = []
    for _ in range(N_DATA_SETS):
        blank = Problem(MODEL, np.zeros((1, N_NODES)), MODEL.sums(np.zeros((1, N_NODES))), PRIOR)
        state = random_state(blank, rng)
        state.bias[:] = 0.7 * rng.standard_normal(N_NODES)
        rows = enumeration.sample(MODEL.field(state.bias, state.coupling), N_ROWS, rng)
        made.append((Problem(MODEL, rows, MODEL.sums(rows), PRIOR), state))
    return made


@cache
def template() -> PaperChain:
    return start_chain(data_sets()[0][0], bayes_exact(N_ROWS), np.random.default_rng(0))


@cache
def blocks_engine() -> ExactBlocks:
    work = new_exact_workspace(N_NODES, BLOCK_SIZE // 2 + 1, BLOCK_SIZE)
    return exact_blocks(MODEL)._replace(work=work)


def move(name: str, problem: Problem, state: ChainState, rng, wrong: bool) -> ChainState:
    step, times, fault = MOVES[name]
    state, sums, chain = copy_state(state), problem.sums, template()
    if wrong and fault == "sums":
        sums = sums._replace(coupling=1.1 * sums.coupling)
    elif wrong and fault == "some sums":
        sums = sums._replace(coupling=np.where(SOME, 1.1, 1.0) * sums.coupling)
    elif wrong and fault == "bias sums":
        sums = sums._replace(bias=1.1 * sums.bias)
    elif wrong:
        state.coupling[:] *= 1.1
    if name in COLLAPSED:
        block = new_block(problem.sums.bias / N_ROWS, BLOCK_SIZE, 1)
        inclusion_stats = new_inclusion_stats(MODEL.n_interactions)
        step(
            blocks_engine(),
            sums,
            PRIOR,
            MODEL.group_start,
            state,
            block,
            PLAN,
            inclusion_stats,
            times,
            rng,
        )
        return state
    # the widths and scales of another data set are as valid as any, as long as they are fixed
    step(
        chain.engine, sums, PRIOR, MODEL.group_start, chain.langevin, chain.jumps, state,
        chain.work, chain.jump_work, times, rng,
    )  # fmt: skip
    return state


def statistics(problem: Problem, state: ChainState) -> list[float]:
    sums = problem.sums
    centered = sums.coupling / N_ROWS - np.outer(sums.bias, sums.bias)[MODEL.ends] / N_ROWS**2
    free = np.isnan(INCLUSION)
    return [
        state.hyper[0] - state.present[free].mean(),
        state.hyper[0],
        np.log(state.hyper[1]) - 0.5 * np.log(0.5 + np.sum(state.coupling**2)),
        np.log(state.hyper[1]),
        float(state.present.sum()),
        float(state.present[7]),
        float(state.present[SOME].sum()),
        (state.coupling * centered)[SOME].sum(),
        state.coupling @ centered,
        state.coupling @ sums.coupling / N_ROWS,
        np.abs(state.coupling).sum(),
        state.coupling[0],
        state.coupling[9],
        state.bias @ sums.bias / N_ROWS,
        state.bias[2],
        state.bias_momentum @ state.bias_momentum,
    ]


def smallest_p_value(name: str, wrong: bool) -> float:
    """Compare half of the data_sets as they are with the other half after the move."""
    rng = np.random.default_rng(11)
    before = [statistics(p, s) for p, s in data_sets()[::2]]
    after = [statistics(p, move(name, p, s, rng, wrong)) for p, s in data_sets()[1::2]]
    tested = [
        stats.ks_2samp(a, b, method="asymp").pvalue
        for a, b in zip(np.transpose(before), np.transpose(after), strict=True)
    ]
    # Bonferroni over the statistics
    return min(1.0, min(tested) * len(tested))


@pytest.mark.parametrize("name", MOVES)
def test_move_leaves_the_posterior_invariant(name):
    assert smallest_p_value(name, wrong=False) > 1e-3


@pytest.mark.parametrize("name", MOVES)
def test_a_move_that_is_wrong_by_a_tenth_is_detected(name):
    assert smallest_p_value(name, wrong=True) < 1e-3


@pytest.mark.parametrize("name", ["langevin", "jump", *COLLAPSED])
def test_the_move_moves(name):
    what = "bias" if name == "biases" else "coupling"
    rng = np.random.default_rng(1)
    moved = [
        not np.array_equal(getattr(move(name, p, s, rng, False), what), getattr(s, what))
        for p, s in data_sets()[:50]
    ]
    assert np.mean(moved) > 0.8
