"""The criteria of convergence: Monte Carlo errors of inclusion probabilities, and the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slabfield.chains.chain_run import run_chain
from slabfield.configuration import default_exact, pseudo
from slabfield.draws import Draws, mean_error
from slabfield.models.binary import BinaryPairwise
from slabfield.posterior.convergence import ESS_LIMIT, RHAT_LIMIT, Convergence
from slabfield.priors import Prior
from slabfield.problem import Problem
from small_problems import draws_of, silent


def batches_of(series: np.ndarray, n_batches: int) -> list[np.ndarray]:
    """Split each chain of a series (chains, draws) into batches, the last one shorter."""
    visits = np.stack([series, np.ones_like(series)], axis=-1) / series.shape[1]
    length = -(-series.shape[1] // n_batches) + 2
    starts = np.arange(0, series.shape[1], length)
    return [np.add.reduceat(chain, starts)[:, None] for chain in visits]


def autoregressive(rho: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(shape)
    series = np.empty(shape)
    series[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        series[:, t] = rho * series[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return series


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_the_error_of_a_mean_is_that_of_repetitions(rho: float) -> None:
    rng = np.random.default_rng(1)
    means, errors = [], []
    for _ in range(200):
        series = autoregressive(rho, (4, 400), rng)
        means.append(series.mean())
        errors.append(mean_error(batches_of(series, 8))[0])
    # the error of a standard deviation from 200 values is 5%
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means), rel=0.2)


def test_the_error_of_a_mean_grows_where_chains_disagree() -> None:
    rng = np.random.default_rng(2)
    series = rng.standard_normal((4, 400))
    agreed = mean_error(batches_of(series, 8))[0]
    apart = mean_error(batches_of(series + 3 * np.arange(4)[:, None], 8))[0]
    assert apart > 10 * agreed


def test_one_batch_has_no_error() -> None:
    assert np.isnan(mean_error([np.ones((1, 3, 2))])).all()


def five_nodes() -> Problem:
    rng = np.random.default_rng(3)
    common = rng.random((60, 1)) < 0.5
    rows = ((rng.random((60, 5)) < 0.3) ^ common).astype(np.uint8)
    model = BinaryPairwise(5)
    return Problem(model, rows, model.sums(rows), Prior.standard(10))


@pytest.mark.parametrize("settings", [default_exact(), pseudo()], ids=["exact", "pseudo"])
def test_errors_of_inclusion_probabilities_are_those_of_repeated_runs(settings: object) -> None:
    problem = five_nodes()
    settings = replace(settings, n_draws=100, n_warmup=40)
    runs = [
        draws_of([run_chain(problem, settings, seed, k, silent) for k in range(2)])
        for seed in range(40)
    ]
    spread = np.std([run.edge_probability for run in runs], axis=0)
    stated = np.sqrt(np.mean([run.probability_mcse**2 for run in runs], axis=0))
    assert np.mean(stated) == pytest.approx(np.mean(spread), rel=0.25)


def test_batches_add_up_to_the_inclusion_probability() -> None:
    problem = five_nodes()
    result = run_chain(problem, replace(default_exact(), n_draws=37, n_warmup=40), 1, 0, silent)
    np.testing.assert_allclose(
        result.evidence_means[..., 2].sum(axis=0), result.conditional_probability, rtol=1e-12
    )
    np.testing.assert_allclose(result.evidence_means[..., 3].sum(axis=0), 1.0)


def made_up(error: float, n_draws: int = 400) -> Draws:
    """Independent draws of three nodes, whose inclusion probabilities have a given error."""
    rng = np.random.default_rng(4)
    shape = (4, n_draws)
    present = rng.random((*shape, 3)) < 0.5
    draws = Draws.from_dense(
        present * 1.0, present, rng.standard_normal((*shape, 3)), rng.random(shape),
        1 + rng.random(shape), rng.standard_normal(shape),
    )  # fmt: skip
    draws.probability_mcse = np.array([error, 0.001, 0.002])
    draws.conditional_probability = np.full(3, 0.5)
    return draws


def test_a_run_has_converged_when_every_inclusion_probability_is_precise() -> None:
    assert Convergence(made_up(0.019)).reached
    imprecise = Convergence(made_up(0.021))
    assert not imprecise.reached
    assert imprecise.unconverged_edges.tolist() == [0]
    assert Convergence(made_up(0.021), tolerance=0.03).reached
    assert not Convergence(made_up(0.019), tolerance=0.01).reached


def test_whole_network_quantities_have_the_limits_of_edges() -> None:
    draws = made_up(0.01)
    assert (RHAT_LIMIT, ESS_LIMIT) == (1.05, 100.0)
    draws.sigma0 = draws.sigma0 + 0.5 * np.arange(4)[:, None]
    assert set(Convergence(draws).unconverged_quantities) == {"sigma0"}
    assert set(Convergence(made_up(0.01, 20)).unconverged_quantities)


def test_without_conditionals_errors_are_those_of_the_indicators() -> None:
    draws = made_up(np.nan)
    found = Convergence(draws)
    share, ess = draws.visit_share[0], found.indicators[1][0]
    assert found.probability_mcse[0] == pytest.approx(np.sqrt(share * (1 - share) / ess))
    assert found.probability_mcse[1] == 0.001
