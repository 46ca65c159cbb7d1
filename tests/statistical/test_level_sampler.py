"""The exact sampler for nodes with levels: against a plain sampler, and calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from level_ranks import level_rank_p_value
from level_runs import model_of, problem_of, run_exact
from reference import plain_levels
from slabfield.priors import Prior

# Number of rows, and nodes
FIELDS = {
    "ordinal": (100, [("ordinal", 4), ("ordinal", 3), ("ordinal", 3), ("ordinal", 5)]),
    "nominal": (150, [("nominal", 3), ("nominal", 4), ("nominal", 3)]),
    "Blume-Capel": (100, [("blume-capel", 5), ("blume-capel", 4), ("blume-capel", 5)]),
    "mixed": (120, [("ordinal", 2), ("nominal", 3), ("blume-capel", 4), ("ordinal", 3)]),
}


def plain_answer(name, n_chains=4, n_sweeps=15_000):
    """Rows of a random field, and the mean and standard error of the plain sampler's chains."""
    n_rows, kinds = FIELDS[name]
    nodes = [plain_levels.node(*kind) for kind in kinds]
    rng = np.random.default_rng(2)
    rows = plain_levels.draw_rows(nodes, *plain_levels.draw_field(nodes, rng), n_rows, rng)
    chains = [plain_levels.run_chain(nodes, rows, n_sweeps, seed) for seed in range(n_chains)]
    found = np.array([chain["inclusion"] for chain in chains])
    coupling = np.array([chain["coupling"] for chain in chains])
    return rows, found.mean(axis=0), found.std(axis=0, ddof=1) / n_chains**0.5, coupling.mean(0)


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


# Sweeps of many blocks, of one block, and of one block with flips of several edges
SWEEPS = ({"block_nodes": 2}, {}, {"n_flips": 4})


@pytest.mark.parametrize("name", FIELDS)
def test_exact_sampler_matches_the_plain_sampler(name):
    rows, inclusion, error, coupling = plain_answer(name)
    assert rms(error) < 0.004
    problem = problem_of(model_of(FIELDS[name][1]), rows)
    for options in SWEEPS:
        runs = [run_exact(problem, 8_000, 300, seed, **options) for seed in range(5)]
        assert rms(np.mean([run.inclusion for run in runs], axis=0) - inclusion) < 0.01
        present, drawn = (
            np.vstack([getattr(run.record, part) for run in runs])
            for part in ("present", "coupling")
        )
        assert rms(present.mean(axis=0) - inclusion) < 0.015
        assert rms((drawn.mean(axis=0) - coupling) / drawn.std(axis=0)) < 0.03


def test_the_comparison_detects_a_slab_that_is_a_tenth_too_wide():
    rows, inclusion, _, _ = plain_answer("nominal")
    model = model_of(FIELDS["nominal"][1])
    prior = Prior.standard(model.n_interactions, slab=(5.0, 5.0 * 1.1**2))
    run = run_exact(problem_of(model, rows, prior), 6_000, 300, 7)
    assert rms(run.inclusion - inclusion) > 0.01


CALIBRATED = {
    "ordinal": [("ordinal", 3), ("ordinal", 4), ("ordinal", 2), ("ordinal", 3)],
    "nominal": [("nominal", 3), ("nominal", 3), ("nominal", 4)],
    "mixed": [("nominal", 3), ("ordinal", 3), ("blume-capel", 4), ("ordinal", 2)],
}
N_ROWS = 80
# The joint update of a node's biases is an independence sampler from their likelihood, which is
# slow where the prior is narrower: autocorrelation times of up to 69 sweeps at a scale of 0.7, of
# 3 at 2 and of 4 at 10
BIAS_SCALE = 2.0


def calibrate(name, n_worlds, **options):
    model = model_of(CALIBRATED[name])
    prior = Prior.standard(model.n_interactions, bias_scale=BIAS_SCALE)
    return level_rank_p_value(model, prior, N_ROWS, n_worlds, **options)


@pytest.mark.parametrize("name", ["ordinal", "nominal"])
def test_calibration(name):
    assert calibrate(name, 200) > 1e-3


@pytest.mark.parametrize("name", ["ordinal", "nominal"])
def test_calibration_detects_wrong_couplings(name):
    assert calibrate(name, 400, scale=1.4) < 1e-3


@pytest.mark.parametrize("name", ["ordinal", "nominal"])
def test_calibration_detects_a_wrong_constant_of_the_slab(name):
    # The constant of one parameter, (2 pi)^(-1/2), left out: prior odds 2.5 times as high
    model = model_of(CALIBRATED[name])
    p0, factor = 0.4, np.sqrt(2 * np.pi)
    wrong = p0 * factor / (1 - p0 + p0 * factor)
    priors = [
        Prior.standard(model.n_interactions, inclusion=p, slab=1.0, bias_scale=BIAS_SCALE)
        for p in (p0, wrong)
    ]
    assert level_rank_p_value(model, priors[0], N_ROWS, 200) > 1e-3
    assert level_rank_p_value(model, priors[0], N_ROWS, 200, other_prior=priors[1]) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibration_at_length(name):
    assert calibrate(name, 5_000) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ordinal", "nominal"])
def test_calibration_at_length_detects_couplings_that_are_a_tenth_too_large(name):
    assert calibrate(name, 5_000, scale=1.1) < 1e-3
