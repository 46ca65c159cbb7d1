"""The default sampler with particles: near the exact sampler, calibrated, reproducible.

Fields of at most six nodes fit into one block, which leaves nothing to the particles. Tests on such
fields make blocks smaller.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ranks import BIAS_SCALE, rank_p_value
from slabfield.adaptation.particle_tuning import (
    FEWEST_PARTICLES,
    MOST_PARTICLES,
    MOST_TREE_SWEEPS,
    WEIGHTED_SWEEPS,
    first_number,
    gradient_noise_of,
    moment_misfit,
    noise_of,
    slowest_nodes,
    tuned_particles,
    tuned_tree_sweeps,
    whole_groups,
)
from slabfield.adaptation.starts import SparseState, state_of
from slabfield.chains import engine_parts
from slabfield.chains.chain_run import ChainRun, run_chain
from slabfield.chains.collapsed_warmup import start_collapsed, warm_up_collapsed
from slabfield.configuration import default_exact, default_particles
from slabfield.datasets import make_block
from slabfield.inference import enumeration
from slabfield.kernels.block_particles import GROUPS
from slabfield.likelihood.blocks import LEAST_TREE_SWEEPS, particle_blocks, with_conditionals
from slabfield.models.binary import BinaryPairwise
from slabfield.models.protocol import Sums
from slabfield.moves.edge_gibbs import new_inclusion_stats
from slabfield.moves.iteration import new_record, sweep_particles
from slabfield.priors import Prior
from slabfield.problem import Problem


def silent(_):
    pass


def block_problem(n_groups, n_rows=100, scale=1.0):
    rows = make_block(n_rows, random_state=1, n_groups=n_groups).rows
    model = BinaryPairwise(rows.shape[1])
    sums = model.sums(rows)
    sums = sums._replace(coupling=scale * sums.coupling)
    return Problem(model, rows, sums, Prior.standard(model.n_interactions))


def probabilities(problem, settings, n_draws):
    settings = replace(settings, n_draws=n_draws)
    return run_chain(
        problem, settings, seed=3, chain_index=0, report=silent
    ).conditional_probability


def rms(one, other):
    return float(np.sqrt(np.mean((one - other) ** 2)))


@pytest.mark.parametrize(("n_groups", "block"), [(1, 6), (1, 3), (2, 6), (2, 4)])
def test_probabilities_are_near_the_exact_ones(n_groups, block, monkeypatch):
    monkeypatch.setattr(engine_parts, "PARTICLE_BLOCK", block)
    problem = block_problem(n_groups)
    exact = probabilities(problem, default_exact(), 8_000)
    found = probabilities(problem, default_particles(), 4_000)
    assert rms(found, exact) < 0.02
    # and the criterion detects a wrong field
    wrong = probabilities(block_problem(n_groups, scale=1 / 1.1), default_exact(), 4_000)
    assert rms(wrong, exact) > 0.04


def test_conditional_probabilities_are_the_means_of_presence():
    problem = block_problem(2)
    settings = replace(default_particles(), n_draws=4_000)
    result = run_chain(problem, settings, seed=3, chain_index=0, report=silent)
    assert rms(result.conditional_probability, result.record.present.mean(axis=0)) < 0.02


@pytest.mark.parametrize("n_nodes", [8, 28])  # sweeps over all pairs; planned blocks
def test_how_a_run_is_cut_into_calls_does_not_matter(n_nodes):
    problem = block_problem(n_nodes // 4, 60)
    settings = replace(default_particles(), n_warmup=12)
    ends = []
    for cuts in ([12], [5, 1, 6], [1] * 12):
        chain = warm_up_collapsed(
            start_collapsed(problem, settings, np.random.default_rng(6)), silent
        )
        assert (len(chain.plan.blocks) > 0) == (n_nodes > 24)
        m = problem.model.n_interactions
        record, done = new_record(12, n_nodes, m, m), 0
        for n in cuts:
            chain.iterate(record, done, n, 2)
            done += n
        ends.append(
            [
                *record,
                *chain.state,
                *chain.inclusion_stats[1:],
                *chain.inclusion_stats.evidence,
                chain.engine.states,
                chain.engine.streams,
            ]
        )
    for other in ends[1:]:
        for mine, theirs in zip(ends[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_warm_up_tunes_what_is_not_set_and_keeps_what_is():
    problem = block_problem(2)
    fixed = replace(default_particles(), n_warmup=40, n_particles=100, n_sweeps=3)
    chain = warm_up_collapsed(start_collapsed(problem, fixed, np.random.default_rng(1)), silent)
    assert chain.engine.states.shape[1] == 112  # the next multiple of the number of groups
    assert chain.engine.n_sweeps == 3
    free = replace(fixed, n_particles=0, n_sweeps=0)
    chain = warm_up_collapsed(start_collapsed(problem, free, np.random.default_rng(1)), silent)
    assert chain.engine.states.shape[1] in 2 ** np.arange(7, 15)
    assert 1 <= chain.engine.n_sweeps <= WEIGHTED_SWEEPS
    assert not chain.inclusion_stats.visits.any()  # the statistics of warm-up are dropped


def test_numbers_of_particles():
    assert [whole_groups(n) for n in (1, 16, 17, 1000)] == [GROUPS, 16, 32, 1008]
    for n_rows in (1.0, 100.0, 300.0, 1e9):
        n = first_number(n_rows)
        assert n % GROUPS == 0
        assert FEWEST_PARTICLES <= n <= MOST_PARTICLES


@pytest.mark.parametrize(
    ("noise", "gradient_noise", "parts_left", "wanted"),
    [(0.6, 0.1, 0, 1024), (1.5, 0.1, 0, 2048), (2.5, 0.1, 0, 4096), (0.2, 0.05, 0, 512),
     (0.6, 0.4, 0, 2048), (0.2, 0.15, 0, 1024), (0.6, 0.4, 4, 1024), (0.2, 0.6, 4, 2048)],
)  # fmt: skip
def test_the_number_of_particles_follows_the_noise_of_log_odds_and_gradients(
    noise, gradient_noise, parts_left, wanted
):
    engine, state, rng = knot(0.1)
    inclusion_stats = new_inclusion_stats(state.present.size)
    inclusion_stats.noise[:] = 10 * noise, 10, 10 * gradient_noise
    settings = replace(default_particles(), n_sweeps=1)
    found = tuned_particles(engine, settings, state, inclusion_stats, parts_left, rng)
    assert found.states.shape[1] == wanted


def test_both_kinds_of_noise_fall_with_the_number_of_particles():
    rows = make_block(200, random_state=1, n_groups=7).rows
    model = BinaryPairwise(rows.shape[1])
    problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
    found = []
    for n in (64, 1024):
        settings = replace(default_particles(), n_warmup=8, n_particles=n, n_sweeps=1)
        chain = warm_up_collapsed(
            start_collapsed(problem, settings, np.random.default_rng(1)), silent
        )
        chain.iterate(new_record(0, model.n_nodes, *[model.n_interactions] * 2), 0, 0, 8)
        found.append((noise_of(chain.inclusion_stats), gradient_noise_of(chain.inclusion_stats)))
    # sixteen times as many particles: a sixteenth, except that the chains are in other states
    for few, many in zip(*found, strict=True):
        assert 8 < few / many < 32


# --- number of tree sweeps ---------------------------------------------------------------------


def knot(strength):
    """Particles and state of 40 nodes, of which 7 to 22 are all coupled with each other."""
    model, rng = BinaryPairwise(40), np.random.default_rng(6)
    first, second = model.ends
    edges = np.flatnonzero((first >= 7) & (second < 23)).astype(np.int32)
    bias = np.where((np.arange(40) >= 7) & (np.arange(40) < 23), -7.5 * strength, 0.0)
    sparse = SparseState(bias, edges, np.full(edges.size, strength), np.array([0.5, 1.0]))
    return particle_blocks(model, 1024, 1.0, 4, False, rng), state_of(sparse, model), rng


def test_nodes_that_move_together_are_the_slowest_and_get_more_tree_sweeps():
    engine, state, rng = knot(0.4)
    sweep_particles(with_conditionals(engine), state, rng)
    assert set(slowest_nodes(with_conditionals(engine), state, rng)) <= set(range(7, 23))
    n = [tuned_tree_sweeps(*knot(strength)) for strength in (0.1, 0.36, 0.4, 0.5)]
    assert n[0] == LEAST_TREE_SWEEPS < n[1] < n[2] <= n[3] == MOST_TREE_SWEEPS


def test_nodes_that_do_not_vary_are_not_slow():
    engine, state, rng = knot(0.4)
    state.bias[7:23] = 30.0
    sweep_particles(with_conditionals(engine), state, rng)
    assert not set(slowest_nodes(with_conditionals(engine), state, rng)) & set(range(7, 23))
    assert tuned_tree_sweeps(engine, state, rng) == LEAST_TREE_SWEEPS


# --- moment misfit ------------------------------------------------------------------------------


def shifted(shift, n_rows=400.0):
    """Particles, a state with shifted couplings, and sums equal to the exact moments: 8 nodes."""
    rng = np.random.default_rng(4)
    model = BinaryPairwise(8)
    coupling = rng.normal(0, 1.5, model.n_interactions) * (rng.random(model.n_interactions) < 0.4)
    bias = rng.normal(0, 0.5, 8)
    _, pairs = enumeration.moments(model.field(bias, coupling))
    mean = np.diag(pairs)
    sums = Sums(n_rows, n_rows * mean, n_rows * pairs[model.ends])
    edges = np.flatnonzero(coupling).astype(np.int32)
    state = state_of(SparseState(bias, edges, coupling[edges] + shift, np.array([0.5, 1.0])), model)
    engine = particle_blocks(model, 4096, 1.0, 4, False, rng)
    return engine, state, sums, rng


@pytest.mark.parametrize("shift", [0.0, 0.5, -1.0])
def test_misfit_agrees_with_enumeration(shift):
    engine, state, sums, rng = shifted(shift)
    model = BinaryPairwise(8)
    edges = state.members[: state.n_members[0]]
    _, pairs = enumeration.moments(model.field(state.bias, state.coupling))
    wanted = (sums.coupling[edges] + 0.5) / (sums.n_rows + 1)
    gap = pairs[model.ends][edges] - wanted
    exact = np.mean(sums.n_rows * gap**2 / (wanted * (1 - wanted)))
    assert (exact > 4.0) == (shift != 0.0)
    assert moment_misfit(engine, state, sums, rng) == pytest.approx(exact, rel=0.15, abs=0.1)


def test_a_field_without_edges_fits():
    engine, state, sums, rng = shifted(0.0)
    state.n_members[0] = 0
    assert moment_misfit(engine, state, sums, rng) == 0.0


def test_measuring_the_misfit_does_not_change_the_chain():
    problem = block_problem(7, 60)
    settings = replace(default_particles(), n_warmup=8)
    runs = [ChainRun(problem, settings, 5, 0, silent) for _ in range(2)]
    runs[0].extend(6, silent)
    runs[1].extend(2, silent)
    assert 0.0 < runs[1].ended(runs[1].result()).adaptation["moment_misfit"] < np.inf
    runs[1].extend(4, silent)
    one, other = (run.result().record for run in runs)
    np.testing.assert_array_equal(one.coupling, other.coupling)
    np.testing.assert_array_equal(one.bias, other.bias)


# --- calibration -------------------------------------------------------------------------------

MODEL = BinaryPairwise(6)
PRIOR = Prior.standard(MODEL.n_interactions, bias_scale=BIAS_SCALE)
SHORT = replace(default_particles(), n_draws=31, thin=6, n_warmup=60)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of four of the six nodes: the particles represent the other two."""
    monkeypatch.setattr(engine_parts, "PARTICLE_BLOCK", 4)


@pytest.mark.usefixtures("small_blocks")
def test_calibration():
    assert rank_p_value(MODEL, PRIOR, 200, SHORT, 60, n_bins=4) > 1e-3


@pytest.mark.usefixtures("small_blocks")
def test_calibration_detects_a_wrong_coupling():
    # no field has sums that are too large by a tenth, and particles would chase them for minutes
    assert rank_p_value(MODEL, PRIOR, 200, SHORT, 60, scale=1 / 1.1, n_bins=4) < 1e-3


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_calibration_at_length():
    assert rank_p_value(MODEL, PRIOR, 200, SHORT, 200) > 1e-3
