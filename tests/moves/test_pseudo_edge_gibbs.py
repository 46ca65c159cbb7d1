"""The engine of the weighted pseudo-likelihood: sums over rows, integrals, draws, the sampler."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from slabfield._jit import jit
from slabfield.chains.chain_run import chain_rng, run_chain
from slabfield.chains.collapsed_warmup import start_collapsed
from slabfield.configuration import pseudo
from slabfield.datasets import make_block
from slabfield.inference import enumeration
from slabfield.kernels.pseudo_sums import WIDTH, fill_probability, log_sum, power_sums, tilted_sums
from slabfield.likelihood.pseudolikelihood import pseudo_rows
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import insert, new_state
from slabfield.moves.iteration import advance_engine, new_record
from slabfield.moves.pseudo_conditional import (
    draw_exactly,
    find_peak,
    log_evidence_series,
    log_integral,
    value_at,
)
from slabfield.moves.pseudo_edge_gibbs import BinaryRows, series_side
from slabfield.priors import Prior
from slabfield.problem import Problem


def silent(_):
    pass


@pytest.mark.parametrize("n", [8, 104, 5_000, 80_000])
def test_sums_over_rows_equal_plain_numpy(n):
    rng = np.random.default_rng(n)
    p, x = rng.random((2, n)), rng.integers(0, 2, (3, n)).astype(float)
    bounds, times = np.array([0, n // (3 * WIDTH) * WIDTH, n]), np.array([1.0, 2.5])
    counted = np.repeat(times, np.diff(bounds))
    for low, change in [(0.3, -0.2), (np.exp(-60.0) - 1, np.exp(70.0)), (-0.999999, 1e-7)]:
        got = log_sum(p, x, 1, 2, low, change, bounds, times)
        each = np.log1p(p[1] * (low + x[2] * change))
        assert got == pytest.approx((counted * each).sum(), rel=1e-10)
    factor = 1.3 + x[0] * 0.4
    tilted = p[1] * factor / (1 + p[1] * (factor - 1))
    expected = [
        (counted * part * value).sum()
        for part in (1, x[0])
        for value in (tilted, tilted * (1 - tilted))
    ]
    found = tilted_sums(p, x, counted, 1, 0, 0.3, 0.4)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    powers = [(counted * x[1] * p[0] ** k).sum() for k in range(1, 5)]
    np.testing.assert_allclose(power_sums(p, counted * x, 0, 1), powers, rtol=1e-10)


def test_probabilities_of_fields():
    field = np.concatenate([np.linspace(-30, 30, 61), [-1e4, 1e4, 5.0]])
    p = np.ones(field.size)
    fill_probability(field, p, np.zeros(field.size), np.array([field.size - 1]))
    np.testing.assert_allclose(p[:61], 1 / (1 + np.exp(-field[:61])), rtol=1e-12)
    assert p[61] < 1e-300
    assert p[62] == 1.0
    assert p[63] == 0.0


@jit
def evaluate_edge(engine, i, j, u, v, counts, shape, n_draws, rng):
    """Series with its error, integral, draws, and values on a grid, for one edge."""
    rows = BinaryRows(engine.p, engine.x, engine.counted, engine.bounds, engine.times)
    total, n_rows = engine.total, engine.n_rows
    sides = i, j, u, v
    evidence, error, start = log_evidence_series(
        series_side(engine.p, engine.ones, i, j, u, total, counts[j], n_rows),
        series_side(engine.p, engine.ones, j, i, v, total, counts[i], n_rows),
        shape,
    )
    peak = find_peak(rows, start, sides, shape)
    draws = np.zeros(n_draws)
    for k in range(n_draws):
        draws[k] = draw_exactly(rows, peak, sides, shape, rng)
    grid = np.linspace(peak[0] - 12 * peak[1], peak[0] + 12 * peak[1], 2001)
    values = np.zeros(grid.size)
    for k in range(grid.size):
        values[k] = value_at(rows, grid[k], sides, shape)
    return evidence, error, log_integral(rows, peak, sides, shape), draws, grid, values


def test_rows_that_count_more_than_once_are_stored_once():
    rng = np.random.default_rng(3)
    rows, times = rng.integers(0, 2, (21, 3)), rng.integers(1, 5, 21).astype(float)
    repeated = np.repeat(rows, times.astype(int), axis=0)
    model, state = BinaryPairwise(3), new_state(3, 3, 3)
    state.bias[:] = [0.3, -1.0, 0.2]
    insert(state, 1)
    state.coupling[1] = 0.8
    found = []
    for engine in (pseudo_rows(model, rows, 0.5, times), pseudo_rows(model, repeated, 0.5)):
        advance_engine(engine, state, rng)
        shape = (0.5, 1.0, 1.5, -20.0, 20.0)
        counts = repeated.sum(axis=0).astype(float)
        result = evaluate_edge(engine, 0, 2, 0.4, 0.6, counts, shape, 1, np.random.default_rng(0))
        found.append((engine.n_rows, *engine.total.ravel(), *result[:3], *result[3], *result[5]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    # a third of the positions, apart from padding
    one, other = pseudo_rows(model, rows, 0.5, times), pseudo_rows(model, repeated, 0.5)
    assert one.p.shape[1] <= 21 + 4 * (WIDTH - 1)
    assert other.p.shape[1] >= times.sum()


@pytest.fixture(scope="module")
def block_problem() -> Problem:
    data = make_block(100, random_state=1)
    model = BinaryPairwise(12)
    return Problem(model, data.rows, model.sums(data.rows), Prior.standard(66))


def test_integrals_series_and_draws(block_problem):
    problem = block_problem
    chain = start_collapsed(problem, pseudo(), chain_rng(1, 0), "empty")
    x, weight = problem.rows.astype(float), 0.5
    mean, counts = x.mean(axis=0), problem.sums.bias
    field = chain.state.bias
    for alpha in range(0, 66, 5):
        i, j = (int(ends[alpha]) for ends in problem.model.ends)
        u, v = mean[j], mean[i]
        linear = weight * (2 * problem.sums.coupling[alpha] - u * counts[i] - v * counts[j])
        shape = (weight, linear, 1.5, -20.0, 20.0)
        evidence, error, found, draws, grid, values = evaluate_edge(
            chain.engine, i, j, u, v, counts, shape, 2_000, np.random.default_rng(alpha)
        )

        def plain(a, i=i, j=j, u=u, v=v):
            total = -0.75 * a * a
            for node, other, center in ((i, j, u), (j, i, v)):
                move = a * (x[:, other] - center)
                gain = x[:, node] * move - np.logaddexp(0, field[node] + move)
                total += weight * (gain + np.logaddexp(0, field[node])).sum()
            return total

        np.testing.assert_allclose(values[::50], [plain(a) for a in grid[::50]], atol=1e-9)
        exact = np.log(integrate.trapezoid(np.exp(values - values.max()), grid)) + values.max()
        assert abs(found - exact) < 1e-4
        assert error > 0.3 or abs(evidence - exact) < error
        cumulative = integrate.cumulative_trapezoid(np.exp(values - exact), grid, initial=0)
        uniform = np.interp(draws, grid, cumulative)
        assert stats.kstest(uniform, "uniform").pvalue > 1e-4


def small_problem() -> Problem:
    model = BinaryPairwise(4)
    rng = np.random.default_rng(3)
    coupling = np.array([1.2, 0.0, 0.0, -0.9, 0.0, 0.8])
    field = model.field(np.array([0.3, -0.6, 0.2, -0.4]), coupling)
    rows = enumeration.sample(field, 90, rng)
    return Problem(model, rows, model.sums(rows), Prior.standard(6, 0.3, 0.9, bias_scale=2.0))


def integrated(problem: Problem, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Inclusion probabilities and mean couplings of the weighted pseudo-posterior.

    For each structure, importance sampling from a t distribution around the mode.
    """
    model, prior, d = problem.model, problem.prior, problem.model.n_nodes
    states, counts = np.unique(problem.rows, axis=0, return_counts=True)
    states = states.astype(float)
    first, second = model.ends
    rng = np.random.default_rng(0)
    logs, means, structures = [], [], list(product((0, 1), repeat=first.size))
    for structure in structures:
        chosen = np.flatnonzero(structure)
        scale = np.concatenate([np.full(d, prior.bias_precision**-0.5),
                                np.full(chosen.size, prior.slab_scale)])  # fmt: skip

        def log_density(theta, chosen=chosen, scale=scale):
            fields = np.repeat(theta[:, None, :d], len(states), axis=1)
            for k, alpha in enumerate(chosen):
                i, j = first[alpha], second[alpha]
                fields[:, :, i] += theta[:, d + k, None] * states[:, j]
                fields[:, :, j] += theta[:, d + k, None] * states[:, i]
            gain = (states * fields - np.logaddexp(0, fields)).sum(axis=2) @ counts
            return weight * gain + stats.norm.logpdf(theta, scale=scale).sum(axis=1)

        size = scale.size
        best = optimize.minimize(lambda t, f=log_density: -f(t[None])[0], np.zeros(size))
        factor = np.linalg.cholesky(best.hess_inv)
        noise = rng.standard_normal((6_000, size))
        tail = np.sqrt(8 / rng.chisquare(8, 6_000))[:, None]
        theta = best.x + (noise * tail) @ factor.T
        base = stats.multivariate_t(shape=np.eye(size), df=8).logpdf(noise * tail)
        ratio = log_density(theta) - base + np.log(np.diag(factor)).sum()
        weights = np.exp(ratio - ratio.max())
        mean = np.zeros(first.size)
        mean[chosen] = weights @ theta[:, d:] / weights.sum()
        means.append(mean)
        odds = np.where(structure, prior.inclusion, 1 - prior.inclusion)
        logs.append(np.log(weights.mean()) + ratio.max() + np.log(odds).sum())
    probability = np.exp(np.array(logs) - max(logs))
    probability /= probability.sum()
    return probability @ np.array(structures), probability @ np.array(means)


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_sampler_matches_integration_and_detects_wrong_sums(weight):
    problem = small_problem()
    probability, mean = integrated(problem, weight)
    settings = replace(pseudo(weight), n_draws=20_000)
    result = run_chain(problem, settings, seed=5, chain_index=0, report=silent)
    assert np.abs(result.record.present.mean(axis=0) - probability).max() < 0.015
    assert np.abs(result.conditional_probability - probability).max() < 0.01
    assert np.abs(result.record.coupling.mean(axis=0) - mean).max() < 0.02
    sums = problem.sums
    wrong = problem._replace(sums=sums._replace(coupling=1.1 * sums.coupling))
    result = run_chain(wrong, settings, seed=5, chain_index=0, report=silent)
    assert np.abs(result.conditional_probability - probability).max() > 0.03


def test_fields_stay_those_of_the_state(block_problem):
    chain = start_collapsed(block_problem, pseudo(), chain_rng(2, 0))
    record = new_record(50, 12, 66, 66)
    chain.iterate(record, 0, 50, 2)
    model, state, engine = block_problem.model, chain.state, chain.engine
    field = model.field(state.bias, state.coupling)
    expected = state.bias + block_problem.rows @ field.coupling
    np.testing.assert_allclose(engine.field[:, :100].T, expected, atol=1e-10)
    np.testing.assert_allclose(engine.p[:, :100].T, 1 / (1 + np.exp(-expected)), atol=1e-10)
    assert not engine.p[:, 100:].any()
    assert np.array_equal(state.coupling != 0, state.present != 0)


def test_a_forced_edge_stays_present_and_a_forbidden_one_absent(block_problem):
    inclusion = np.full(66, np.nan)
    inclusion[:3] = 0.0, 1.0, 0.9
    problem = block_problem._replace(prior=block_problem.prior._replace(inclusion=inclusion))
    record = run_chain(problem, replace(pseudo(), n_draws=50), 1, 0, silent).record
    assert not record.present[:, 0].any()
    assert record.present[:, 1].all()


def awkward() -> dict[str, tuple[np.ndarray, float]]:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (200, 4))
    constant, dependent = x.copy(), x.copy()
    constant[:, 1] = 1
    dependent[:, 2] = dependent[:, 0]
    dependent[:, 3] = 1 - dependent[:, 0]
    return {
        "two nodes": (x[:, :2], np.nan),
        "one row": (x[:1], np.nan),
        "constant column": (constant, np.nan),
        "dependent columns": (dependent, np.nan),
        "dependent columns, wide slab": (dependent, 100.0),
        "many nodes": (rng.integers(0, 2, (30, 70)), np.nan),
    }


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_awkward_data_stay_finite(name, weight):
    rows, slab = awkward()[name]
    model = BinaryPairwise(rows.shape[1])
    prior = Prior.standard(model.n_interactions)._replace(slab_scale=slab)
    problem = Problem(model, rows, model.sums(rows), prior)
    settings = replace(pseudo(weight), n_draws=40, n_warmup=20)
    result = run_chain(problem, settings, seed=1, chain_index=0, report=silent)
    assert np.isfinite(result.record.coupling).all()
    assert np.isfinite(result.record.bias).all()
    assert np.nanmax(np.abs(result.record.coupling)) <= 20.0 + 1e-9
    if name == "dependent columns":
        assert result.conditional_probability[[1, 2]].max() > 0.5
