"""Surrogate transitions: the regression, the quadratic surrogate, and posterior invariance."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield._jit import jit
from slabfield.chains import exact_chain
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.collapsed_warmup import start_collapsed, warm_up_collapsed
from slabfield.configuration import default_exact
from slabfield.datasets import make_block, make_random
from slabfield.inference import enumeration
from slabfield.kernels.sweep_operator import sweep_out
from slabfield.likelihood.blocks import exact_blocks
from slabfield.likelihood.quadratic_surrogate import (
    fit_surrogate,
    log_partition_of,
    log_surrogate_ratio,
    mean_moments,
    new_surrogate,
)
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.iteration import Record, new_record
from slabfield.moves.surrogate_transition import surrogate_transition
from slabfield.priors import Prior
from slabfield.problem import Problem
from small_problems import integrated, pairwise_problem, silent

D = 6
MODEL = BinaryPairwise(D)
N_EDGES = MODEL.n_interactions


@jit
def sweep_out_all(table, chosen, row, enter):
    for one in chosen:
        sweep_out(table, one, row, enter)


@jit
def compiled_log_partition(engine, bias, coupling, table):
    return log_partition_of(engine, bias, coupling, table)


@jit
def compiled_ratio(engine, table, n_rows, bias, coupling, inside):
    return log_surrogate_ratio(engine, table, n_rows, bias, coupling, inside, inside.size)


def random_fields(n: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Biases and couplings of some fields; half of the edges are absent, different ones in each."""
    rng = np.random.default_rng(3)
    coupling = scale * rng.normal(size=(n, N_EDGES)) * (rng.random((n, N_EDGES)) < 0.5)
    return scale * rng.normal(size=(n, D)), coupling


def exact_log_z(bias: np.ndarray, coupling: np.ndarray) -> float:
    return float(enumeration.log_partition(MODEL.field(bias, coupling)))


def test_sweep_operator_and_its_inverse():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(9, 9))
    precision, h, chosen = root @ root.T + np.eye(9), rng.normal(size=9), np.array([7, 2, 4])
    table = np.zeros((10, 10))
    table[:9, :9], table[9, :9] = np.tril(precision), h
    before, row = table.copy(), np.zeros(10)
    sweep_out_all(table, chosen, row, True)
    inverse = np.linalg.inv(precision[np.ix_(chosen, chosen)])
    full = np.tril(table) + np.tril(table, -1).T
    np.testing.assert_allclose(full[np.ix_(chosen, chosen)], -inverse, rtol=1e-10)
    np.testing.assert_allclose(full[9, chosen], inverse @ h[chosen], rtol=1e-10)
    others = np.setdiff1d(np.arange(9), chosen)
    cross = precision[np.ix_(others, chosen)]
    remaining = precision[np.ix_(others, others)] - cross @ inverse @ cross.T
    np.testing.assert_allclose(full[np.ix_(others, others)], remaining, rtol=1e-9)
    np.testing.assert_allclose(full[9, others], h[others] - cross @ inverse @ h[chosen], rtol=1e-9)
    sweep_out_all(table, chosen[::-1].copy(), row, False)
    np.testing.assert_allclose(np.tril(table)[:9], np.tril(before)[:9], atol=1e-10)


@pytest.mark.parametrize("n_nodes", [3, D, 14])
def test_partition_function_by_blocks(n_nodes):
    model, rng = BinaryPairwise(n_nodes), np.random.default_rng(2)
    bias, coupling = rng.normal(size=n_nodes), 2 * rng.normal(size=model.n_interactions)
    engine = exact_blocks(model)
    table = np.zeros((1 << engine.work[0].shape[0], 1))
    found = compiled_log_partition(engine, bias, coupling, table)
    assert found == pytest.approx(enumeration.log_partition(model.field(bias, coupling)), rel=1e-12)


def test_surrogate_fitted_to_one_field_is_its_taylor_expansion():
    (bias,), (coupling,) = random_fields(1)
    surrogate = new_surrogate(D)
    assert fit_surrogate(surrogate, bias[None], coupling[None], 50.0, 0.01)
    theta, step = np.concatenate([bias, coupling]), 1e-4

    def log_z(at: np.ndarray) -> float:
        return 50 * exact_log_z(at[:D], at[D:])

    gradient = surrogate.gradient + surrogate.hessian @ theta
    for k in range(theta.size):
        one = step * np.eye(theta.size)[k]
        up, down = log_z(theta + one), log_z(theta - one)
        assert gradient[k] == pytest.approx((up - down) / (2 * step), abs=1e-4)
        second = (up - 2 * log_z(theta) + down) / step**2
        assert surrogate.hessian[k, k] == pytest.approx(second, abs=1e-3)


def test_ratio_is_the_surrogate_minus_the_log_partition_function():
    biases, couplings = random_fields(8)
    engine = exact_blocks(MODEL)
    surrogate = engine.surrogate
    assert fit_surrogate(surrogate, biases, couplings, 70.0, 0.01)

    def expected(bias: np.ndarray, coupling: np.ndarray) -> float:
        theta = np.concatenate([bias, coupling])
        form = surrogate.gradient @ theta + theta @ surrogate.hessian @ theta / 2
        return float(form - 70 * exact_log_z(bias, coupling))

    table = np.zeros((1 << D, 1))
    for bias, coupling in zip(biases, couplings, strict=True):
        inside = np.flatnonzero(coupling).astype(np.int32)
        found = compiled_ratio(engine, table, 70.0, bias, coupling, inside)
        assert found == pytest.approx(expected(bias, coupling), rel=1e-9)


def test_surrogate_fitted_to_many_fields_is_closer_than_a_taylor_expansion():
    biases, couplings = random_fields(200, scale=0.7)
    theta = np.hstack([biases, couplings])
    true = np.array([exact_log_z(b, c) for b, c in zip(biases, couplings, strict=True)])

    def error_sd(surrogate) -> float:
        form = (
            theta @ surrogate.gradient
            + np.einsum("ij,jk,ik->i", theta, surrogate.hessian, theta) / 2
        )
        return float(np.std(form - true))

    fitted, expansion = new_surrogate(D), new_surrogate(D)
    fit_surrogate(fitted, biases[:50], couplings[:50], 1.0, 0.01)
    fit_surrogate(expansion, biases.mean(0)[None], couplings.mean(0)[None], 1.0, 0.01)
    assert error_sd(fitted) < 0.8 * error_sd(expansion)


def test_moments_are_means_over_fields():
    biases, couplings = random_fields(3)
    mean, joint = mean_moments(biases, couplings)
    each = [mean_moments(biases[k : k + 1], couplings[k : k + 1]) for k in range(3)]
    np.testing.assert_allclose(mean, np.mean([one[0] for one in each], axis=0))
    np.testing.assert_allclose(joint, np.mean([one[1] for one in each], axis=0))


@jit
def count_transitions(engine, sums, prior, state, block, rng, n):
    tried = 0
    for _ in range(n):
        tried += surrogate_transition(engine, sums, prior, state, block, rng)
    return tried


def draws_with(chain: CollapsedChain, probability: float, n_draws: int) -> Record:
    """Run a chain on with a given probability of surrogate transitions."""
    assert isinstance(chain.engine, type(exact_blocks(MODEL)))
    chain = chain._replace(engine=chain.engine._replace(transition_probability=probability))
    model = chain.problem.model
    record = new_record(n_draws, model.n_biases, *[model.n_interactions] * 2)
    chain.iterate(record, 0, n_draws, 2)
    return record


def warm_chain(problem: Problem, seed: int = 5) -> CollapsedChain:
    chain = start_collapsed(problem, default_exact(), np.random.default_rng(seed))
    return warm_up_collapsed(chain, silent)


@pytest.mark.parametrize("where", ["about the posterior", "elsewhere"])
def test_surrogate_transitions_alone_match_integration(where):
    """Whatever the surrogate: only the acceptance rate depends on it."""
    problem = pairwise_problem()
    probability, mean = integrated(problem)
    chain = warm_chain(problem)
    surrogate = chain.engine.surrogate
    if where == "elsewhere":
        one = np.array([[0.8, -0.2, 0.6]]), np.array([[0.4, 0.3, -0.8]])
        assert fit_surrogate(surrogate, *one, problem.sums.n_rows, problem.prior.bias_precision)
    surrogate.count[:] = 0
    record = draws_with(chain, 1.0, 100_000)
    count = record.present.sum(axis=0)
    assert np.abs(record.present.mean(axis=0) - probability).max() < 0.015
    assert np.abs(record.coupling.sum(axis=0) / count - mean).max() < 0.03
    assert surrogate.count[0] == 200_000
    assert surrogate.count[1] > 20_000
    assert chain.inclusion_stats.visits.sum() == 0  # no sweep was made


def test_integration_detects_transitions_with_a_wrong_number_of_rows():
    problem = pairwise_problem()
    probability, _ = integrated(problem)
    chain = warm_chain(problem)
    wrong = problem._replace(sums=problem.sums._replace(n_rows=1.1 * problem.sums.n_rows))
    record = draws_with(chain._replace(problem=wrong), 1.0, 5_000)
    assert np.abs(record.present.mean(axis=0) - probability).max() > 0.03


def test_transitions_and_sweeps_have_the_same_posterior():
    """With p0 and sigma0 learned, one edge forced and one forbidden."""
    rows = make_random(400, D, 3.0, 2).rows
    prior = Prior.standard(N_EDGES)
    prior.inclusion[2], prior.inclusion[7], prior.inclusion[9] = 1.0, 0.0, 0.2
    chain = warm_chain(Problem(MODEL, rows, MODEL.sums(rows), prior))
    transitions, sweeps = (draws_with(chain, probability, 12_000) for probability in (1.0, 0.0))
    assert chain.engine.surrogate.count[1] > 0.4 * chain.engine.surrogate.count[0]
    for part in ("present", "bias", "hyper"):
        one, other = (getattr(record, part).astype(float) for record in (transitions, sweeps))
        sd = np.maximum(other.std(axis=0), 1e-9)
        assert np.all(np.abs(one.mean(axis=0) - other.mean(axis=0)) < 0.08 * sd)
    assert transitions.present[:, 2].all()
    assert not transitions.present[:, 7].any()


def test_warm_up_adapts_the_probability_of_transitions():
    """The surrogate is accurate with many rows. With few, most proposals are rejected."""
    probabilities = {}
    for n_rows in (1_000, 100):
        rows = make_block(n_rows, random_state=2).rows
        model = BinaryPairwise(rows.shape[1])
        problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
        probabilities[n_rows] = warm_chain(problem).engine.transition_probability
    assert 0 == probabilities[100] < probabilities[1_000] == 0.8


def test_no_transitions_where_single_updates_mix_every_undecided_edge():
    """Independent columns, in a thousand rows: each edge is undecided by itself."""
    rows = np.random.default_rng(1).integers(0, 2, (1_000, 8), np.uint8)
    model = BinaryPairwise(8)
    problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
    chain = warm_chain(problem)
    proposed, accepted = chain.engine.surrogate.count
    assert accepted > 0.65 * proposed > 0
    assert chain.engine.transition_probability == 0.0


def test_no_transitions_at_extreme_parameters():
    """Sums over states lose precision there."""
    chain = warm_chain(pairwise_problem())
    engine = chain.engine._replace(transition_probability=1.0)
    arguments = (
        engine,
        chain.problem.sums,
        chain.problem.prior,
        chain.state,
        chain.block,
        chain.rng,
    )
    assert count_transitions(*arguments, 20) == 20
    chain.state.bias[1] = 1e4
    assert count_transitions(*arguments, 20) == 0
    chain.state.bias[1] = np.nan
    assert count_transitions(*arguments, 20) == 0


def test_no_transitions_with_an_improper_surrogate(monkeypatch):
    monkeypatch.setattr(exact_chain, "fit_surrogate", lambda *_: False)
    assert warm_chain(pairwise_problem()).engine.transition_probability == 0.0


def test_surrogate_is_improper_for_constant_columns_without_a_bias_prior():
    far = np.full((1, D), 800.0)
    assert not fit_surrogate(new_surrogate(D), far, np.zeros((1, N_EDGES)), 50.0, 0.0)
