"""The exact samplers: against integration over all structures, and calibrated."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ranks import BIAS_SCALE, rank_p_value
from slabfield.chains.chain_run import run_chain
from slabfield.configuration import bayes_exact, default_exact, paper
from slabfield.models.binary import BinaryPairwise
from slabfield.models.loglinear import FeatureTable, LogLinear
from slabfield.priors import Prior
from slabfield.problem import Problem
from small_problems import integrated, pairwise_problem, silent


def toy() -> LogLinear:
    """Three nodes, one of three states; a feature of all three, and a group of two parameters."""
    triple = np.zeros((2, 2, 3, 1))
    triple[1, 1, 1:, 0] = 1
    pair = np.zeros((2, 3, 2))
    pair[1, 1, 0] = pair[1, 2, 1] = 1
    return LogLinear((2, 2, 3), [FeatureTable((0, 1, 2), triple), FeatureTable((1, 2), pair)])


def toy_problem() -> Problem:
    model = toy()
    rng = np.random.default_rng(4)
    states = np.array(list(product(range(2), range(2), range(3))))
    truth = model.log_potential(states, np.array([0.2, -0.3, 0.1, 0.4]), np.array([0.9, -0.5, 0.3]))
    probability = np.exp(truth) / np.exp(truth).sum()
    rows = states[rng.choice(len(states), 80, p=probability)]
    prior = Prior.standard(2, inclusion=0.4, slab=1.0, bias_scale=2.0)
    return Problem(model, rows, model.sums(rows), prior)


def sampled(problem: Problem, settings) -> tuple[np.ndarray, np.ndarray]:
    record = run_chain(problem, settings, seed=5, chain_index=0, report=silent).record
    starts = problem.model.group_start
    owner = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    count = record.present.sum(axis=0)
    return record.present.mean(axis=0), record.coupling.sum(axis=0) / count[owner]


EXACT = {
    "collapsed": (pairwise_problem, replace(default_exact(), n_draws=20_000)),
    "adjusted": (pairwise_problem, replace(bayes_exact(70), n_draws=10_000)),
    "adjusted, toy": (toy_problem, replace(bayes_exact(80), n_draws=30_000)),
    "adjusted, toy, full": (
        toy_problem,
        replace(bayes_exact(80), n_draws=10_000, preconditioner="full", step_size=0.05),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_sampler_matches_integration(name):
    make, settings = EXACT[name]
    problem = make()
    probability, mean = integrated(problem)
    found, found_mean = sampled(problem, settings)
    assert np.abs(found - probability).max() < 0.015
    assert np.abs(found_mean - mean).max() < 0.03


def test_integration_detects_a_wrong_coupling():
    problem = toy_problem()
    sums = problem.sums
    wrong = problem._replace(sums=sums._replace(coupling=1.1 * sums.coupling))
    probability, mean = integrated(problem)
    found, found_mean = sampled(wrong, EXACT["adjusted, toy"][1])
    assert np.abs(found_mean - mean).max() > 0.03 or np.abs(found - probability).max() > 0.015


def test_particles_of_the_toy_model_are_close():
    # an approximate engine: its error should be small, but is not zero
    problem = toy_problem()
    probability, mean = integrated(problem)
    # windows so wide that a group of two parameters is born and dies some hundreds of times
    settings = replace(
        paper(), step_size=0.03, jump_scale=1.0, n_draws=1_500, thin=100, n_warmup=100
    )
    found, found_mean = sampled(problem, settings)
    assert np.abs(found - probability).max() < 0.08
    assert np.abs(found_mean - mean).max() < 0.15


MODEL = BinaryPairwise(5)
PRIOR = Prior.standard(MODEL.n_interactions, bias_scale=BIAS_SCALE)


COLLAPSED = replace(default_exact(), n_draws=31, thin=6, n_warmup=60)
ADJUSTED = replace(bayes_exact(50), n_draws=31, thin=40, n_warmup=15)


@pytest.mark.parametrize("settings", [COLLAPSED, ADJUSTED], ids=["collapsed", "adjusted"])
def test_calibration(settings):
    assert rank_p_value(MODEL, PRIOR, 50, settings, 200) > 1e-3


def test_calibration_detects_a_wrong_coupling():
    assert rank_p_value(MODEL, PRIOR, 50, COLLAPSED, 400, scale=1.1) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("settings", [COLLAPSED, ADJUSTED], ids=["collapsed", "adjusted"])
def test_calibration_at_length(settings):
    assert rank_p_value(MODEL, PRIOR, 50, settings, 5_000) > 1e-3
