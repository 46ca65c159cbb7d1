"""Particles of nodes with levels: sweeps, block tables, and chains against exact sums."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from level_loops import block_table_of, level_tree_sweeps
from level_runs import model_of, particles_at_rows, problem_of, run_exact, run_particles
from slabfield.kernels.block_particles import GROUPS
from slabfield.likelihood.protocols import with_buffers
from slabfield.moves.chain_state import insert, new_state
from slabfield.moves.iteration import advance_engine

KINDS = [("ordinal", 3), ("nominal", 3), ("ordinal", 2), ("blume-capel", 4), ("nominal", 3)]
MODEL = model_of(KINDS)
STATES = np.array(list(product(*(range(n) for _, n in KINDS))), np.uint8)
N_PARTICLES = 8192


def field(scale: float = 1.0):
    """A state of a chain with most edges present, and the probabilities of all joint states."""
    rng = np.random.default_rng(3)
    m = MODEL.n_interactions
    state = new_state(MODEL.n_biases, MODEL.interactions.n_parameters, m, MODEL.n_scales)
    state.bias[:] = 0.5 * rng.normal(size=state.bias.size)
    for alpha in np.flatnonzero(rng.random(m) < 0.7):
        insert(state, int(alpha))
        group = MODEL.group(int(alpha))
        state.coupling[group] = scale * rng.normal(size=group.stop - group.start)
    weights = MODEL.log_potential(STATES, state.bias, state.coupling)
    probability = np.exp(weights - weights.max())
    return state, probability / probability.sum()


def particles_of(probability: np.ndarray, rng: np.random.Generator):
    """Particles drawn exactly from a distribution over all joint states."""
    rows = STATES[rng.choice(len(STATES), 1000, p=probability)]
    engine = particles_at_rows(problem_of(MODEL, rows), N_PARTICLES, 1.0, False, rng)
    engine.states[:] = STATES[rng.choice(len(STATES), N_PARTICLES, p=probability)].T
    return with_buffers(engine)


def p_value(engine, probability: np.ndarray) -> float:
    """P-value of a chi-square test of the particles, rare states taken together."""
    place = np.ravel_multi_index(tuple(engine.states.astype(np.int64)), [n for _, n in KINDS])
    counts = np.bincount(place, minlength=len(STATES))
    expected = N_PARTICLES * probability
    common = expected >= 5
    observed = [*counts[common], counts[~common].sum()]
    return float(stats.chisquare(observed, [*expected[common], expected[~common].sum()]).pvalue)


@pytest.mark.parametrize("trees", [False, True])
def test_sweeps_leave_the_field_invariant(trees: bool) -> None:
    state, probability = field()
    rng = np.random.default_rng(1)
    engine = particles_of(probability, rng)
    other_state, other = field(scale=1.25)
    twin = particles_of(probability, rng)
    for particles, parameters in ((engine, state), (twin, other_state)):
        advance_engine(particles, parameters, rng)
        if trees:
            level_tree_sweeps(particles, parameters, 4, rng)
    assert p_value(engine, probability) > 0.001
    assert p_value(twin, probability) < 1e-6
    if trees:
        assert p_value(twin, other) > p_value(twin, probability)


@pytest.mark.parametrize("nodes", [[0, 1], [4, 1, 3], [2, 0, 4]])
def test_block_tables_are_marginals(nodes: list[int]) -> None:
    state, probability = field()
    rng = np.random.default_rng(2)
    engine = particles_of(probability, rng)
    advance_engine(engine, state, rng)
    sizes = [KINDS[i][1] for i in nodes]
    table = np.zeros((int(np.prod(sizes)), GROUPS))
    block_table_of(engine, state, np.array(nodes), table)
    # the first node changes fastest
    place = np.ravel_multi_index(tuple(STATES.T[i] for i in nodes[::-1]), sizes[::-1])
    exact = np.bincount(place, probability, minlength=len(table))
    by_group = table / table.sum(axis=0) * (table.sum(axis=0) / table.sum()) * GROUPS
    mean, error = by_group.mean(axis=1), by_group.std(axis=1, ddof=1) / np.sqrt(GROUPS)
    assert np.all(np.abs(mean - exact) < 5 * error + 1e-6)
    assert error.max() < 0.01


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("kinds", [[("ordinal", 4)] * 5, [("nominal", 3), ("ordinal", 3)] * 2])
def test_chains_have_the_exact_posterior(kinds: list[tuple[str, int]], scheduled: bool) -> None:
    model = model_of(kinds)
    rng = np.random.default_rng(5)
    states = np.array(list(product(*(range(n) for _, n in kinds))), np.uint8)
    coupling = 0.4 * rng.normal(size=model.interactions.n_parameters)
    weights = model.log_potential(states, np.zeros(model.n_biases), coupling)
    probability = np.exp(weights - weights.max())
    rows = states[rng.choice(len(states), 200, p=probability / probability.sum())]
    problem = problem_of(model, rows)
    exact = np.mean([run_exact(problem, 3000, 300, seed).inclusion for seed in (1, 2)], axis=0)
    plan = exact * (exact > 0.15) if scheduled else None
    drawn = [run_particles(problem, 1500, 200, seed, probability=plan).inclusion for seed in (3, 4)]
    assert np.sqrt(np.mean((np.mean(drawn, axis=0) - exact) ** 2)) < 0.02
