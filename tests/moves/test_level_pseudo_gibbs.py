"""The weighted pseudo-likelihood for nodes with levels: conditionals, updates, the sampler."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from slabfield._jit import jit
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.configuration import pseudo
from slabfield.encoding.scores import standard_scores
from slabfield.likelihood.level_rows import level_rows
from slabfield.likelihood.pseudolikelihood import pseudo_rows
from slabfield.models.binary import BinaryPairwise
from slabfield.models.levels import (
    PairwiseLevels,
    blume_capel_features,
    nominal_features,
    ordinal_features,
)
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import insert, new_state
from slabfield.moves.edge_gibbs import new_block, new_inclusion_stats
from slabfield.moves.iteration import Record, advance_engine, new_record
from slabfield.moves.level_gibbs import level_edge_at
from slabfield.moves.level_pseudo_gibbs import (
    LevelPairRows,
    group_derivatives,
    group_value,
    new_level_row_block,
    series_side,
    side_of,
)
from slabfield.moves.pseudo_conditional import (
    derivatives_at,
    draw_by_series,
    find_peak,
    log_evidence_series,
    log_integral,
    value_at,
)
from slabfield.priors import Prior
from slabfield.problem import Problem


def ordinal(n_levels: int) -> Any:
    return ordinal_features(standard_scores(n_levels))


def blume_capel(n_levels: int) -> Any:
    return blume_capel_features(standard_scores(n_levels), range(n_levels), 1)


MODELS = {
    "one parameter": PairwiseLevels([ordinal(3), blume_capel(4), ordinal(2)]),
    "uneven scores": PairwiseLevels([ordinal_features([0, 0.2, 1.1]), ordinal(2), ordinal(3)]),
    "several parameters": PairwiseLevels([nominal_features(3), ordinal(3), nominal_features(3)]),
}


def make_rows(model: PairwiseLevels, n_rows: int, seed: int = 3) -> np.ndarray:
    """Rows of a field with moderate parameters, drawn from all its states."""
    rng = np.random.default_rng(seed)
    states = np.array(list(product(*(range(k) for k in model.n_states))))
    bias = rng.normal(0, 0.3, model.n_biases)
    coupling = rng.normal(0, 0.8, model.interactions.n_parameters)
    log_weight = model.log_potential(states, bias, coupling)
    weight = np.exp(log_weight - log_weight.max())
    return states[rng.choice(len(states), n_rows, p=weight / weight.sum())]


def all_pairs(d: int, n_edges: int, k: int) -> Plan:
    every, none = np.ones(n_edges, np.bool_), np.zeros((0, 4), np.int64)
    return Plan(np.zeros((0, k), np.int64), 0, every, none, np.zeros(1, np.int64), every, 0,
                np.arange(d)[:, None].copy())  # fmt: skip


def chain_of(
    model: PairwiseLevels, rows: np.ndarray, prior: Prior, weight: float = 0.5, seed: int = 0,
    plan: Plan | None = None, times: np.ndarray | None = None,
) -> CollapsedChain:  # fmt: skip
    d, n_edges = model.n_nodes, model.n_interactions
    k = min(d, 4) if plan is None else plan.blocks.shape[1]
    sums = model.sums(rows) if times is None else model.weighted_sums(rows, times)
    engine = level_rows(model, rows, weight, times)
    state = new_state(model.n_biases, model.interactions.n_parameters, n_edges, model.n_scales)
    if not np.isnan(prior.slab_scale):
        state.hyper[1:] = prior.slab_scale
    chain = CollapsedChain(
        Problem(model, rows, sums, prior), pseudo(weight), engine, state,
        new_level_row_block(engine.features, k), plan or all_pairs(d, n_edges, k),
        new_inclusion_stats(n_edges), np.random.default_rng(seed),
    )  # fmt: skip
    advance_engine(engine, state, chain.rng)
    return chain


def record_of(chain: CollapsedChain, n_draws: int, n_warmup: int = 50) -> Record:
    model = chain.problem.model
    sizes = (model.n_biases, model.interactions.n_parameters, model.n_interactions, model.n_scales)
    chain.iterate(new_record(0, *sizes), 0, 0, n_warmup)
    chain.inclusion_stats.evidence.sums[:] = 0.0
    record = new_record(n_draws, *sizes)
    chain.iterate(record, 0, n_draws, 1)
    return record


def log_pseudo_likelihood_of(model: PairwiseLevels, rows: np.ndarray) -> Any:
    """Return a function: the log pseudo-likelihood of all rows, for each of many parameters."""
    states, counts = np.unique(rows, axis=0, return_counts=True)
    statistics = []
    for i, node in enumerate(model.nodes):
        changed = np.repeat(states, node.n_levels, axis=0)
        changed[:, i] = np.tile(np.arange(node.n_levels), len(states))
        statistics.append(np.hstack(model.statistics(changed)).T)

    def evaluate(bias: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        theta, total = np.hstack([bias, coupling]), np.zeros(len(bias))
        for i, statistic in enumerate(statistics):
            logits = (theta @ statistic).reshape(len(theta), len(states), -1)
            chosen = logits[:, np.arange(len(states)), states[:, i]]
            largest = logits.max(axis=-1)
            normalizer = np.log(np.exp(logits - largest[..., None]).sum(axis=-1)) + largest
            total += (chosen - normalizer) @ counts
        return total

    return evaluate


def bias_covariance(model: PairwiseLevels, prior: Prior) -> np.ndarray:
    covariance = np.zeros((model.n_biases, model.n_biases))
    for i, node in enumerate(model.nodes):
        own = slice(model.bias_start[i], model.bias_start[i + 1])
        covariance[own, own] = np.linalg.inv(prior.bias_precision * node.bias_precision)
    return covariance


# ---- conditionals


@jit
def evaluate_pair(engine, block, shape, grid, n_draws, rng):
    """Series with its error, integral, draws, values and derivatives on a grid, for one pair."""
    rows = LevelPairRows(
        engine.probability, engine.codes, engine.deviation, engine.score, engine.counted,
        engine.bounds, engine.times, block.table,
    )  # fmt: skip
    sides = side_of(engine, 0), side_of(engine, 1)
    one, other = series_side(engine, *sides), series_side(engine, sides[1], sides[0])
    evidence, error, start = log_evidence_series(one, other, shape)
    peak = find_peak(rows, start, sides, shape)
    values, slopes = np.zeros(grid.size), np.zeros((grid.size, 2))
    for k in range(grid.size):
        values[k] = value_at(rows, peak[0] + grid[k] * peak[1], sides, shape)
        slopes[k] = derivatives_at(rows, peak[0] + grid[k] * peak[1], sides, shape)
    draws = np.zeros(n_draws)
    for k in range(n_draws):
        draws[k] = draw_by_series(rows, one, other, (start, 0.0, 0.0), sides, shape, rng)
    return evidence, error, log_integral(rows, peak, sides, shape), peak, values, slopes, draws


@pytest.mark.parametrize("name", ["one parameter", "uneven scores"])
@pytest.mark.parametrize("n_rows", [25, 400])
def test_conditional_of_a_pair_with_one_parameter(name, n_rows):
    model, weight, precision = MODELS[name], 0.5, 1.5
    rows, rng = make_rows(model, n_rows), np.random.default_rng(0)
    chain = chain_of(model, rows, Prior.standard(3), weight)
    bias = rng.normal(0, 0.5, model.n_biases)
    chain.state.bias[:] = bias
    insert(chain.state, 2)
    chain.state.coupling[2] = 0.7
    advance_engine(chain.engine, chain.state, rng)
    features = chain.engine.features
    centered = [model.nodes[i].embedding[rows[:, i], 0] - features.center[i, 0] for i in (0, 1)]
    linear = 2 * weight * (centered[0] * centered[1]).sum()
    grid = np.linspace(-12, 12, 1201)
    evidence, error, found, peak, values, slopes, draws = evaluate_pair(
        chain.engine, chain.block, (weight, linear, precision, -40.0, 40.0), grid, 2_000, rng
    )
    a = peak[0] + grid * peak[1]

    log_likelihood = log_pseudo_likelihood_of(model, rows)

    def plain(moves):
        coupling = np.zeros((len(moves), 3))
        coupling[:, 0], coupling[:, 2] = moves, 0.7
        biases = np.repeat(bias[None], len(moves), axis=0)
        for i, j in ((0, 1), (1, 0)):
            own = slice(model.bias_start[i], model.bias_start[i + 1])
            shift = features.bias_of_embedding[i, : own.stop - own.start, 0]
            biases[:, own] -= moves[:, None] * features.center[j, 0] * shift
        return weight * log_likelihood(biases, coupling)

    expected = plain(a) - plain(np.zeros(1)) - 0.5 * precision * a**2
    np.testing.assert_allclose(values, expected, atol=1e-8)
    np.testing.assert_allclose(slopes[:, 0], np.gradient(values, a, edge_order=2), atol=2e-2)
    np.testing.assert_allclose(-slopes[:, 1], np.gradient(slopes[:, 0], a), rtol=2e-2, atol=1e-2)
    exact = np.log(integrate.trapezoid(np.exp(values - values.max()), a)) + values.max()
    assert abs(found - exact) < 1e-4
    assert error > 0.3 or abs(evidence - exact) < error
    assert n_rows < 400 or error < 0.05
    cumulative = integrate.cumulative_trapezoid(np.exp(values - exact), a, initial=0)
    assert stats.kstest(np.interp(draws, a, cumulative), "uniform").pvalue > 1e-4


@jit
def evaluate_group(engine, block, group_start, values):
    """Value, gradient and negative Hessian of a pair with several parameters."""
    block.nodes[:2] = 0, 1
    block.edges[0] = 0, 0, 1
    edge = level_edge_at(block.edges, block.nodes, group_start, 0)
    laplace, p = block.laplace, values.size
    laplace.linear[:p], laplace.precision[:p, :p] = 0.0, 0.0
    laplace.mode[:p] = values
    group_derivatives(engine, block, edge)
    return group_value(engine, block, edge, values)


def test_conditional_of_a_pair_with_several_parameters():
    model, rng = MODELS["several parameters"], np.random.default_rng(1)
    rows = make_rows(model, 80)
    chain = chain_of(model, rows, Prior.standard(3), 0.7)
    chain.state.bias[:] = rng.normal(0, 0.5, model.n_biases)
    advance_engine(chain.engine, chain.state, rng)
    conditionals = [model.conditional(i, rows, chain.state.bias, np.zeros(8)) for i in (0, 1)]
    centered = [model.nodes[i].embedding - chain.engine.features.center[i, : 2 - i] for i in (0, 1)]

    def plain(values):
        change = centered[0] @ values.reshape(2, 1) @ centered[1].T
        total = np.log((conditionals[0] * np.exp(change[:, rows[:, 1]]).T).sum(axis=1)).sum()
        total += np.log((conditionals[1] * np.exp(change[rows[:, 0]])).sum(axis=1)).sum()
        return -0.7 * total

    values = np.array([0.6, -1.1])
    found = evaluate_group(chain.engine, chain.block, model.group_start, values)
    assert found == pytest.approx(plain(values), rel=1e-10)
    laplace, step, unit = chain.block.laplace, 1e-4, np.eye(2)
    for q in range(2):
        ahead, behind = values + step * unit[q], values - step * unit[q]
        slope = (plain(ahead) - plain(behind)) / (2 * step)
        assert laplace.gradient[q] == pytest.approx(slope, rel=1e-6)
        evaluate_group(chain.engine, chain.block, model.group_start, ahead)
        high = laplace.gradient[:2].copy()
        evaluate_group(chain.engine, chain.block, model.group_start, behind)
        curvature = (laplace.gradient[:2] - high) / (2 * step)
        evaluate_group(chain.engine, chain.block, model.group_start, values)
        np.testing.assert_allclose(laplace.neg_hessian[q, :2], curvature, rtol=1e-5)


# ---- the sampler


def integrated(model: PairwiseLevels, rows: Any, prior: Prior, weight: float) -> tuple[Any, Any]:
    """Inclusion probabilities and mean couplings of the weighted pseudo-posterior.

    For each structure, importance sampling from a t distribution around the mode.
    """
    r, starts, rng = model.n_biases, model.group_start, np.random.default_rng(0)
    biases = stats.multivariate_normal(cov=bias_covariance(model, prior))
    log_likelihood = log_pseudo_likelihood_of(model, rows)
    logs, means, structures = [], [], list(product((0, 1), repeat=model.n_interactions))
    for structure in structures:
        chosen = np.concatenate(
            [np.arange(starts[a], starts[a + 1]) for a in np.flatnonzero(structure)] or [[]]
        ).astype(int)
        slab = stats.norm(scale=prior.slab_scale)

        def log_density(theta, chosen=chosen, slab=slab):
            coupling = np.zeros((len(theta), int(starts[-1])))
            coupling[:, chosen] = theta[:, r:]
            value = weight * log_likelihood(theta[:, :r], coupling)
            value += biases.logpdf(theta[:, :r])
            return value + slab.logpdf(theta[:, r:]).sum(axis=1)

        size, n = r + chosen.size, 12_000
        best = optimize.minimize(lambda t, f=log_density: -f(t[None])[0], np.zeros(size))
        factor = np.linalg.cholesky(best.hess_inv)
        noise = rng.standard_normal((n, size)) * np.sqrt(8 / rng.chisquare(8, n))[:, None]
        theta = best.x + noise @ factor.T
        base = stats.multivariate_t(shape=np.eye(size), df=8).logpdf(noise)
        ratio = log_density(theta) - base + np.log(np.diag(factor)).sum()
        weights = np.exp(ratio - ratio.max())
        mean = np.zeros(int(starts[-1]))
        mean[chosen] = weights @ theta[:, r:] / weights.sum()
        means.append(mean)
        odds = np.where(structure, prior.inclusion, 1 - prior.inclusion)
        logs.append(np.log(weights.mean()) + ratio.max() + np.log(odds).sum())
    probability = np.exp(np.array(logs) - max(logs))
    probability /= probability.sum()
    return probability @ np.array(structures), probability @ np.array(means)


@pytest.mark.parametrize("weight", [0.5, 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_sampler_matches_integration_and_detects_wrong_sums(name, weight):
    model = MODELS[name]
    rows = make_rows(model, 60)
    prior = Prior.standard(3, 0.4, 0.8, bias_scale=2.0)
    probability, mean = integrated(model, rows, prior, weight)
    chain = chain_of(model, rows, prior, weight)
    record = record_of(chain, 20_000)
    assert np.abs(record.present.mean(axis=0) - probability).max() < 0.02
    assert np.abs(chain.inclusion_stats.mean_probability - probability).max() < 0.015
    assert np.abs(record.coupling.mean(axis=0) - mean).max() < 0.025
    # twin: the data's sums are too large
    wrong = chain_of(model, rows, prior, weight)
    sums = wrong.problem.sums
    wrong.problem.sums.coupling[:] = 1.3 * sums.coupling
    record_of(wrong, 20_000)
    assert np.abs(wrong.inclusion_stats.mean_probability - probability).max() > 0.03


def test_two_levels_are_the_binary_engine():
    model, binary = PairwiseLevels([ordinal(2)] * 4), BinaryPairwise(4)
    rows = make_rows(model, 150, seed=5)
    prior = Prior.standard(6)
    chain = chain_of(model, rows, prior)
    record = record_of(chain, 12_000)
    sums = binary.sums(rows)
    other = CollapsedChain(
        Problem(binary, rows, sums, prior), pseudo(), pseudo_rows(binary, rows, 0.5),
        new_state(4, 6, 6), new_block(sums.bias / 150, 4, 1), all_pairs(4, 6, 4),
        new_inclusion_stats(6), np.random.default_rng(1),
    )  # fmt: skip
    advance_engine(other.engine, other.state, other.rng)
    expected = new_record(12_000, 4, 6, 6)
    other.iterate(expected, 0, 12_000, 1)
    gap = chain.inclusion_stats.mean_probability - other.inclusion_stats.mean_probability
    assert np.abs(gap).max() < 0.015
    for one, two in ((record.bias, expected.bias), (record.coupling, expected.coupling)):
        assert np.abs(one.mean(axis=0) - two.mean(axis=0)).max() < 0.03
        np.testing.assert_allclose(one.std(axis=0), two.std(axis=0), rtol=0.06)


MIXED = PairwiseLevels([ordinal(4), nominal_features(3), blume_capel(5), ordinal(2), ordinal(3)])


def test_a_run_does_not_depend_on_how_it_is_divided():
    rows = make_rows(MIXED, 120)
    whole = record_of(chain_of(MIXED, rows, Prior.standard(10)), 60)
    chain = chain_of(MIXED, rows, Prior.standard(10))
    parts = record_of(chain, 30)
    again = new_record(30, MIXED.n_biases, MIXED.interactions.n_parameters, 10, MIXED.n_scales)
    chain.iterate(again, 0, 30, 1)
    for one, first, second in zip(whole, parts, again, strict=True):
        np.testing.assert_array_equal(one, np.concatenate([first, second]))
    other = record_of(chain_of(MIXED, rows, Prior.standard(10), seed=1), 60)
    assert not np.array_equal(whole.coupling, other.coupling)


def test_fields_stay_those_of_the_state_and_rows_may_count_several_times():
    rng = np.random.default_rng(2)
    rows, times = make_rows(MIXED, 61), rng.integers(1, 4, 61).astype(float)
    chain = chain_of(MIXED, rows, Prior.standard(10), times=times)
    repeated = chain_of(MIXED, np.repeat(rows, times.astype(int), axis=0), Prior.standard(10))
    record, other = record_of(chain, 40), record_of(repeated, 40)
    np.testing.assert_allclose(record.coupling, other.coupling, atol=1e-6)
    np.testing.assert_allclose(record.bias, other.bias, atol=1e-6)
    engine, state = chain.engine, chain.state
    for i in range(5):
        start, n_levels = engine.features.level_start[i], engine.features.n_levels[i]
        found = engine.probability.reshape(-1, engine.n)[start : start + n_levels, engine.place].T
        expected = MIXED.conditional(i, rows, state.bias, state.coupling)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    groups = [state.coupling[MIXED.group(a)].any() for a in range(10)]
    assert np.array_equal(groups, state.present != 0)


def test_scheduled_blocks_agree_with_sweeps_over_all_pairs():
    rows = make_rows(MIXED, 200)
    chain = chain_of(MIXED, rows, Prior.standard(10))
    record_of(chain, 6_000)
    blocks = np.array([[0, 1, 2], [3, 4, 0], [1, 3, 4], [2, 3, 4], [4, 1, 2]])
    every, starts = np.ones(10, np.bool_), np.zeros(6, np.int64)
    plan = Plan(blocks, 1, every, np.zeros((0, 4), np.int64), starts, every, 0,
                np.arange(5)[:, None].copy())  # fmt: skip
    planned = chain_of(MIXED, rows, Prior.standard(10), seed=1, plan=plan)
    record_of(planned, 6_000)
    gap = planned.inclusion_stats.mean_probability - chain.inclusion_stats.mean_probability
    assert np.abs(gap).max() < 0.03


def test_a_forced_edge_stays_present_and_a_forbidden_one_absent():
    inclusion = np.full(10, np.nan)
    inclusion[:4] = 0.0, 1.0, 0.0, 0.9
    inclusion[4] = 1.0  # a group of several parameters
    prior = Prior.standard(10)._replace(inclusion=inclusion)
    record = record_of(chain_of(MIXED, make_rows(MIXED, 100), prior), 50)
    assert not record.present[:, [0, 2]].any()
    assert record.present[:, [1, 4]].all()


def awkward() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, MIXED.n_states, (200, 5))
    constant, dependent = rows.copy(), rows.copy()
    constant[:, 1], constant[:, 0] = 2, 0
    dependent[:, 1], dependent[:, 4] = dependent[:, 4], dependent[:, 4]
    dependent[:, 0] = np.minimum(dependent[:, 2], 3)
    return {"one row": rows[:1], "constant columns": constant, "dependent columns": dependent}


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("slab", [np.nan, 30.0])
def test_awkward_data_stay_finite(name, slab):
    prior = Prior.standard(10)._replace(slab_scale=slab)
    chain = chain_of(MIXED, awkward()[name], prior, 1.0)
    record = record_of(chain, 60)
    assert np.isfinite(record.coupling).all()
    assert np.isfinite(record.bias).all()
    if name == "dependent columns" and np.isnan(slab):
        probability = chain.inclusion_stats.mean_probability
        assert probability[[1, 6]].min() > 0.5
