"""Bayes factors of edges: against enumeration, their Monte Carlo errors, and what they reach."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from enumerated_evidence import log_bayes_factors, log_evidences
from slabfield.chains.chain_run import ChainResult, ChainRun, run_chain
from slabfield.configuration import bayes_exact, default_exact
from slabfield.draws import Draws, log_ratio_and_error
from slabfield.inference import enumeration
from slabfield.models.binary import BinaryPairwise
from slabfield.posterior import Posterior
from slabfield.priors import Prior
from slabfield.problem import Problem
from small_problems import draws_of, silent

NAMES = ["sleep", "work", "joy", "rest"]


def problem_with(
    n_rows: int = 120, slab: tuple[float, float] | float = (5.0, 5.0), **prior: object
) -> Problem:
    """Four nodes with two edges; the prior is the standard one but for what is given."""
    model = BinaryPairwise(4)
    field = model.field(np.array([0.3, -0.6, 0.2, 0.0]), np.array([1.2, 0, 0, 0, -0.6, 0]))
    rows = enumeration.sample(field, n_rows, np.random.default_rng(2))
    standard = Prior.standard(6, slab=slab, bias_scale=2.0)
    return Problem(model, rows, model.sums(rows), standard._replace(**prior))


def run(problem: Problem, settings: object, n_chains: int, seed: int = 1) -> list[ChainResult]:
    return [run_chain(problem, settings, seed, k, silent) for k in range(n_chains)]


def posterior_of(results: list[ChainResult], problem: Problem) -> Posterior:
    return Posterior(draws_of(results), NAMES, problem.prior.facts())


@cache
def evidences(slab: tuple[float, float] | float) -> dict:
    return log_evidences(problem_with(slab=slab))


def truth_of(problem: Problem, slab: tuple[float, float] | float = (5.0, 5.0)) -> np.ndarray:
    """Log Bayes factors by enumeration."""
    return log_bayes_factors(problem.prior, evidences(slab))


PRIORS = {
    "learned p0": {},
    "learned p0, uniform": {"beta_a": 1.0, "beta_b": 1.0},
    "learned p0, sparse": {"beta_a": 1.0, "beta_b": 9.0},
    "fixed p0": {"inclusion": np.full(6, 0.2)},
    "own probabilities": {"inclusion": np.array([np.nan, 0.1, 0.6, np.nan, 1.0, 0.0])},
}


@pytest.mark.parametrize("slab", [(5.0, 5.0), 0.8])
@pytest.mark.parametrize("name", PRIORS)
def test_bayes_factors_equal_those_by_enumeration(name: str, slab: object) -> None:
    problem = problem_with(slab=slab, **PRIORS[name])
    truth = truth_of(problem, slab)
    results = run(problem, replace(default_exact(), n_warmup=500, n_draws=5_000), 4)
    found = posterior_of(results, problem)
    assessed = ~np.isnan(truth)
    error = found.draws.log_bayes_factor_mcse[assessed]
    assert np.array_equal(np.isnan(found.edge_bayes_factor), ~assessed)
    assert error.max() < 0.05
    # the enumeration has a Monte Carlo error of about 0.01 itself
    distance = np.log(found.edge_bayes_factor[assessed]) - truth[assessed]
    assert np.all(np.abs(distance) < 4 * np.hypot(error, 0.01))


def test_posterior_odds_over_prior_odds_are_something_else() -> None:
    problem = problem_with(**PRIORS["learned p0, uniform"])
    truth = truth_of(problem)
    found = posterior_of(run(problem, replace(default_exact(), n_draws=5_000), 4), problem)
    probability = found.edge_probability
    assert np.abs(np.log(probability / (1 - probability)) - truth).max() > 0.2


@pytest.mark.parametrize("name", ["learned p0, uniform", "own probabilities"])
def test_indicators_give_the_same_bayes_factors(name: str) -> None:
    problem = problem_with(**PRIORS[name])
    truth = truth_of(problem)
    results = run(problem, replace(bayes_exact(120), n_draws=4_000), 4)
    found = posterior_of(results, problem)
    assert np.isnan(found.draws.log_bayes_factor).all()
    assessed = ~np.isnan(truth)
    error = found.interactions.of_matrix(found.log_bayes_factor_mcse)
    distance = (np.log(found.edge_bayes_factor) - truth)[assessed]
    assert np.all(np.abs(distance) < 4 * np.hypot(error[assessed], 0.01))
    assert error[assessed].max() < 0.5


def test_with_p0_drawn_its_value_takes_the_place_of_q() -> None:
    problem = problem_with(**PRIORS["learned p0, uniform"])
    truth = truth_of(problem)
    results = run(problem, replace(default_exact(), n_draws=20_000), 4)
    chains = []
    for result in results:
        present, p0 = result.record.present, result.record.hyper[:, :1]
        parts = np.stack([present / p0, ~present / (1 - p0)], axis=-1)
        chains.append(parts.reshape(8, -1, *parts.shape[1:]).sum(axis=1))
    found, error = log_ratio_and_error(chains)
    assert np.all(np.abs(found - truth) < 4 * np.hypot(error, 0.01))
    integrated = posterior_of(results, problem).draws.log_bayes_factor_mcse
    assert np.all(integrated < error)


def test_the_monte_carlo_error_covers_the_truth() -> None:
    problem = problem_with(60)
    settings = replace(default_exact(), n_warmup=100, n_draws=250)
    exact = posterior_of(
        run(problem, replace(settings, n_draws=20_000), 4, seed=0), problem
    ).draws.log_bayes_factor
    scores = []
    for seed in range(1, 61):
        found = posterior_of(run(problem, settings, 4, seed), problem).draws
        scores.append((found.log_bayes_factor - exact) / found.log_bayes_factor_mcse)
    covered = np.mean(np.abs(scores) < 1.96)
    assert 0.92 < covered < 0.99
    assert 0.75 < np.std(scores) < 1.15


def test_batches_do_not_depend_on_the_number_of_calls() -> None:
    settings = replace(default_exact(), n_warmup=20, thin=1, n_draws=37)
    one = run_chain(problem_with(), settings, 1, 0, silent)
    parts = ChainRun(problem_with(), settings, 1, 0, silent)
    other = parts.extend(20, silent).extend(17, silent).result()
    np.testing.assert_array_equal(one.evidence_means, other.evidence_means)
    # 37 sweeps: four batches of eight, and five sweeps of a fifth
    assert len(one.evidence_means) == 5
    assert one.inclusion_stats.evidence.batch.tolist() == [4, 5, 8]


def test_a_certain_edge_has_a_finite_bayes_factor() -> None:
    rows = np.repeat([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], 5_000, axis=0)
    model = BinaryPairwise(3)
    problem = Problem(model, rows, model.sums(rows), Prior.standard(3))
    result = run_chain(problem, replace(default_exact(), n_draws=50), 1, 0, silent)
    found, error = log_ratio_and_error([result.evidence_means])
    assert np.isfinite(found).all()
    assert np.isfinite(error).all()
    assert found[0] > 500
    assert np.isfinite(np.exp(found)).all()


def made_of(present: np.ndarray, prior: dict[str, object]) -> Posterior:
    """Make up a posterior with this presence of edges, (chains, draws, edges)."""
    shape = present.shape[:2]
    one = np.ones(shape)
    n_nodes = int((1 + np.sqrt(1 + 8 * present.shape[2])) / 2)
    draws = Draws.from_dense(1.0 * present, present, np.zeros((*shape, n_nodes)), one, one, one)
    return Posterior(draws, NAMES[:n_nodes], {"inclusion_prior": prior})


@pytest.mark.parametrize("probability", [0.5, 0.02])
def test_an_edge_that_was_never_drawn_has_a_finite_bayes_factor(probability: float) -> None:
    present = np.zeros((2, 100, 3), dtype=bool)
    present[..., 1] = True
    present[:, ::2, 2] = True
    found = made_of(present, {"a": 5.0, "b": 5.0, "edges": probability})
    odds = probability / (1 - probability)
    expected = np.array([0.5 / 200.5, 200.5 / 0.5, 1.0]) / odds
    np.testing.assert_allclose(found.edge_bayes_factor, expected)
    error = found.interactions.of_matrix(found.log_bayes_factor_mcse)
    # half a visit is hardly evidence: the factor is known up to a factor of four
    np.testing.assert_allclose(error[:2], np.sqrt(1 / 0.5 + 1 / 200.5))


def test_the_error_is_at_least_that_of_whole_chains() -> None:
    batches = np.ones((8, 1, 2))
    apart = [batches * [[[2.0, 1.0]]], batches * [[[1.0, 2.0]]]]
    log_ratio, error = log_ratio_and_error(apart)
    assert log_ratio[0] == 0
    assert error[0] == pytest.approx(np.sqrt(2 * 2 * (1 / 3) ** 2))
    assert np.isnan(log_ratio_and_error([batches[:1]])[1]).all()


def test_the_least_attainable_factor_is_that_of_a_coupling_of_zero() -> None:
    # balanced, independent nodes: every estimate is exactly zero
    rows = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)] * 50)
    model, n_rows = BinaryPairwise(3), 400
    prior = Prior.standard(3, inclusion=0.5, slab=1.0)
    problem = Problem(model, rows, model.sums(rows), prior)
    result = run_chain(problem, replace(default_exact(), n_draws=1_000), 1, 0, silent)
    draws = draws_of([result])
    settings = prior.facts() | {"level_shares": [[0.5, 0.5]] * 3, "total_weight": float(n_rows)}
    least = (1 + n_rows / 16) ** -0.5
    for n_draws, rtol in ((1_000, 0.15), (10, 1e-6)):
        # from the sd of the coupling where there are enough draws with the edge
        part = Draws.from_dense(
            draws.coupling[:, :n_draws], draws.present[:, :n_draws], draws.bias[:, :n_draws],
            *(values[:, :n_draws] for values in (draws.p0, draws.sigma0, draws.potential)),
        )  # fmt: skip
        found = Posterior(part, NAMES[:3], settings).edge_least_bayes_factor
        np.testing.assert_allclose(found, least, rtol=rtol)
    np.testing.assert_allclose(np.exp(draws.log_bayes_factor), least, rtol=0.1)
