"""Leaps: the regression they go by, the bowl, and that they leave the posterior as it is."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield._jit import jit
from slabfield.datasets import make_block, make_random
from slabfield.exact import enumeration
from slabfield.kernels.pivot import pivot
from slabfield.likelihood.bowl import excess, lay, log_sum, mean_moments, new_bowl
from slabfield.likelihood.cubes import exact_cubes
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.leap import leap
from slabfield.priors import Prior
from slabfield.sampler import collapsed
from slabfield.sampler.collapsed import CollapsedChain, start_collapsed, warm_up_collapsed
from slabfield.sampler.iteration import Record, new_record
from slabfield.sampler.settings import gold_standard
from slabfield.sampler.warmup import Problem
from test_exact_sampler import integrated, pairwise_problem, silent

D = 6
MODEL = BinaryPairwise(D)
N_EDGES = MODEL.n_interactions


@jit
def pivot_all(table, chosen, row, comes):
    for one in chosen:
        pivot(table, one, row, comes)


@jit
def log_sum_of(engine, bias, coupling, mass):
    return log_sum(engine, bias, coupling, mass)


@jit
def excess_of(engine, mass, n_rows, bias, coupling, inside):
    return excess(engine, mass, n_rows, bias, coupling, inside, inside.size)


def random_fields(n: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Biases and couplings of some fields; half of the edges are absent, in each others."""
    rng = np.random.default_rng(3)
    coupling = scale * rng.normal(size=(n, N_EDGES)) * (rng.random((n, N_EDGES)) < 0.5)
    return scale * rng.normal(size=(n, D)), coupling


def exact_log_z(bias: np.ndarray, coupling: np.ndarray) -> float:
    return float(enumeration.log_partition(MODEL.field(bias, coupling)))


def test_variables_come_in_and_go_out():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(9, 9))
    precision, h, chosen = root @ root.T + np.eye(9), rng.normal(size=9), np.array([7, 2, 4])
    table = np.zeros((10, 10))
    table[:9, :9], table[9, :9] = np.tril(precision), h
    before, row = table.copy(), np.zeros(10)
    pivot_all(table, chosen, row, True)
    inverse = np.linalg.inv(precision[np.ix_(chosen, chosen)])
    full = np.tril(table) + np.tril(table, -1).T
    np.testing.assert_allclose(full[np.ix_(chosen, chosen)], -inverse, rtol=1e-10)
    np.testing.assert_allclose(full[9, chosen], inverse @ h[chosen], rtol=1e-10)
    others = np.setdiff1d(np.arange(9), chosen)
    across = precision[np.ix_(others, chosen)]
    left = precision[np.ix_(others, others)] - across @ inverse @ across.T
    np.testing.assert_allclose(full[np.ix_(others, others)], left, rtol=1e-9)
    np.testing.assert_allclose(full[9, others], h[others] - across @ inverse @ h[chosen], rtol=1e-9)
    pivot_all(table, chosen[::-1].copy(), row, False)
    np.testing.assert_allclose(np.tril(table)[:9], np.tril(before)[:9], atol=1e-10)


@pytest.mark.parametrize("n_nodes", [3, D, 14])
def test_partition_function_by_blocks(n_nodes):
    model, rng = BinaryPairwise(n_nodes), np.random.default_rng(2)
    bias, coupling = rng.normal(size=n_nodes), 2 * rng.normal(size=model.n_interactions)
    engine = exact_cubes(model)
    mass = np.zeros((1 << engine.work[0].shape[0], 1))
    found = log_sum_of(engine, bias, coupling, mass)
    assert found == pytest.approx(enumeration.log_partition(model.field(bias, coupling)), rel=1e-12)


def test_bowl_along_one_field_touches():
    (bias,), (coupling,) = random_fields(1)
    bowl = new_bowl(D)
    assert lay(bowl, bias[None], coupling[None], 50.0, 0.01)
    theta, step = np.concatenate([bias, coupling]), 1e-4

    def log_z(at: np.ndarray) -> float:
        return 50 * exact_log_z(at[:D], at[D:])

    gradient = bowl.slope + bowl.steepness @ theta
    for k in range(theta.size):
        one = step * np.eye(theta.size)[k]
        up, down = log_z(theta + one), log_z(theta - one)
        assert gradient[k] == pytest.approx((up - down) / (2 * step), abs=1e-4)
        second = (up - 2 * log_z(theta) + down) / step**2
        assert bowl.steepness[k, k] == pytest.approx(second, abs=1e-3)


def test_excess_is_that_of_the_bowl_over_the_partition_function():
    biases, couplings = random_fields(8)
    engine = exact_cubes(MODEL)
    bowl = engine.bowl
    assert lay(bowl, biases, couplings, 70.0, 0.01)

    def expected(bias: np.ndarray, coupling: np.ndarray) -> float:
        theta = np.concatenate([bias, coupling])
        form = bowl.slope @ theta + theta @ bowl.steepness @ theta / 2
        return float(form - 70 * exact_log_z(bias, coupling))

    mass = np.zeros((1 << D, 1))
    for bias, coupling in zip(biases, couplings, strict=True):
        inside = np.flatnonzero(coupling).astype(np.int32)
        found = excess_of(engine, mass, 70.0, bias, coupling, inside)
        assert found == pytest.approx(expected(bias, coupling), rel=1e-9)


def test_bowl_along_many_fields_is_nearer_than_one_that_touches():
    biases, couplings = random_fields(200, scale=0.7)
    theta = np.hstack([biases, couplings])
    true = np.array([exact_log_z(b, c) for b, c in zip(biases, couplings, strict=True)])

    def spread(bowl) -> float:
        form = theta @ bowl.slope + np.einsum("ij,jk,ik->i", theta, bowl.steepness, theta) / 2
        return float(np.std(form - true))

    along, touching = new_bowl(D), new_bowl(D)
    lay(along, biases[:50], couplings[:50], 1.0, 0.01)
    lay(touching, biases.mean(0)[None], couplings.mean(0)[None], 1.0, 0.01)
    assert spread(along) < 0.8 * spread(touching)


def test_moments_are_means_over_fields():
    biases, couplings = random_fields(3)
    mean, joint = mean_moments(biases, couplings)
    each = [mean_moments(biases[k : k + 1], couplings[k : k + 1]) for k in range(3)]
    np.testing.assert_allclose(mean, np.mean([one[0] for one in each], axis=0))
    np.testing.assert_allclose(joint, np.mean([one[1] for one in each], axis=0))


@jit
def leaps_of(engine, sums, prior, state, block, rng, n):
    tried = 0
    for _ in range(n):
        tried += leap(engine, sums, prior, state, block, rng)
    return tried


def draws_with(chain: CollapsedChain, chance: float, n_draws: int) -> Record:
    """Run a chain on with leaps of a given chance."""
    assert isinstance(chain.engine, type(exact_cubes(MODEL)))
    chain = chain._replace(engine=chain.engine._replace(leap_chance=chance))
    model = chain.problem.model
    record = new_record(n_draws, model.n_biases, *[model.n_interactions] * 2)
    chain.iterate(record, 0, n_draws, 2)
    return record


def warm_chain(problem: Problem, seed: int = 5) -> CollapsedChain:
    chain = start_collapsed(problem, gold_standard(), np.random.default_rng(seed))
    return warm_up_collapsed(chain, silent)


@pytest.mark.parametrize("where", ["about the posterior", "elsewhere"])
def test_leaps_alone_match_integration(where):
    """Wherever the bowl lies: only how many leaps are made depends on that."""
    problem = pairwise_problem()
    probability, mean = integrated(problem)
    chain = warm_chain(problem)
    bowl = chain.engine.bowl
    if where == "elsewhere":
        one = np.array([[0.8, -0.2, 0.6]]), np.array([[0.4, 0.3, -0.8]])
        assert lay(bowl, *one, problem.sums.n_rows, problem.prior.bias_precision)
    bowl.count[:] = 0
    record = draws_with(chain, 1.0, 100_000)
    count = record.present.sum(axis=0)
    assert np.abs(record.present.mean(axis=0) - probability).max() < 0.015
    assert np.abs(record.coupling.sum(axis=0) / count - mean).max() < 0.03
    assert bowl.count[0] == 200_000
    assert bowl.count[1] > 20_000
    assert chain.tally.visits.sum() == 0  # no sweep was made


def test_integration_tells_leaps_on_other_rows():
    problem = pairwise_problem()
    probability, _ = integrated(problem)
    chain = warm_chain(problem)
    wrong = problem._replace(sums=problem.sums._replace(n_rows=1.1 * problem.sums.n_rows))
    record = draws_with(chain._replace(problem=wrong), 1.0, 5_000)
    assert np.abs(record.present.mean(axis=0) - probability).max() > 0.03


def test_leaps_and_sweeps_have_the_same_posterior():
    """With p0 and sigma0 learnt, one edge forced and one forbidden."""
    rows = make_random(400, D, 3.0, 2).rows
    prior = Prior.standard(N_EDGES)
    prior.inclusion[2], prior.inclusion[7], prior.inclusion[9] = 1.0, 0.0, 0.2
    chain = warm_chain(Problem(MODEL, rows, MODEL.sums(rows), prior))
    leaping, sweeping = (draws_with(chain, chance, 12_000) for chance in (1.0, 0.0))
    assert chain.engine.bowl.count[1] > 0.4 * chain.engine.bowl.count[0]
    for part in ("present", "bias", "hyper"):
        one, other = (getattr(record, part).astype(float) for record in (leaping, sweeping))
        spread = np.maximum(other.std(axis=0), 1e-9)
        assert np.all(np.abs(one.mean(axis=0) - other.mean(axis=0)) < 0.08 * spread)
    assert leaping.present[:, 2].all()
    assert not leaping.present[:, 7].any()


def test_warm_up_settles_how_often_there_are_leaps():
    """Many rows: the bowl is nearly the truth. Few: it is not, and most leaps are in vain."""
    chances = {}
    for n_rows in (1_000, 100):
        rows = make_block(n_rows, random_state=2).rows
        model = BinaryPairwise(rows.shape[1])
        problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
        chances[n_rows] = warm_chain(problem).engine.leap_chance
    assert 0 < chances[100] < chances[1_000] == 0.5


def test_no_leaps_from_far_out():
    """There sums over states lose precision."""
    chain = warm_chain(pairwise_problem())
    engine = chain.engine._replace(leap_chance=1.0)
    told = (engine, chain.problem.sums, chain.problem.prior, chain.state, chain.block, chain.rng)
    assert leaps_of(*told, 20) == 20
    chain.state.bias[1] = 1e4
    assert leaps_of(*told, 20) == 0
    chain.state.bias[1] = np.nan
    assert leaps_of(*told, 20) == 0


def test_no_leaps_by_a_bowl_that_does_not_hold(monkeypatch):
    monkeypatch.setattr(collapsed, "lay", lambda *_: False)
    assert warm_chain(pairwise_problem()).engine.leap_chance == 0.0


def test_a_bowl_does_not_hold_where_biases_are_free_and_columns_constant():
    far = np.full((1, D), 800.0)
    assert not lay(new_bowl(D), far, np.zeros((1, N_EDGES)), 50.0, 0.0)
