"""Conjugate draws of p0 and sigma0: the restricted Gamma distribution, and the bound on sigma0."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from degenerate_tables import one_hot
from helpers_jit import many_gamma_draws
from slabfield import SpikeSlabMRF
from slabfield.datasets import make_block
from slabfield.priors import Prior, largest_slab_scale

N_DRAWS = 4000


def p_value(shape: float, least: float, assumed_shape: float) -> float:
    values = np.zeros(N_DRAWS)
    many_gamma_draws(shape, least, values, np.random.default_rng(1))
    assert values.min() >= least
    gamma = stats.gamma(assumed_shape)
    below = gamma.cdf(least)
    return float(stats.kstest(values, lambda x: (gamma.cdf(x) - below) / (1 - below)).pvalue)


@pytest.mark.parametrize(
    ("shape", "least"),
    [(5.0, 0.1), (5.0, 7.0), (5.0, 12.0), (30.5, 50.0), (0.5, 0.1), (0.5, 3.0), (300.0, 330.0)],
)
def test_draws_are_from_the_restricted_gamma_distribution(shape: float, least: float) -> None:
    assert p_value(shape, least, shape) > 0.001


def test_another_shape_is_noticed() -> None:
    assert p_value(5.0, 7.0, 6.0) < 1e-6
    assert p_value(5.0, 12.0, 7.0) < 1e-6


def test_the_bound_is_a_quantile_of_the_prior_and_at_least_five() -> None:
    bound = Prior.standard(3).max_slab_scale
    assert stats.gamma(5, scale=1 / 5).cdf(bound**-2) == pytest.approx(1e-6)
    assert largest_slab_scale(5.0, 20.0) == pytest.approx(2 * bound)
    assert largest_slab_scale(20.0, 5.0) == largest_slab_scale(5.0, 1.0) == 5.0


def test_data_may_contradict_a_narrow_prior() -> None:
    """The prior Gamma(20, 5) gives values of sigma0 above .96 a probability of 1e-6."""
    rows = make_block(500, random_state=1).rows
    model = SpikeSlabMRF(
        slab_prior=(20, 5), n_chains=1, n_warmup=50, n_draws=200, random_state=0
    ).fit(rows)
    assert model.posterior_.draws.sigma0.mean() > 1.0


@pytest.mark.parametrize("likelihood", ["exact", "particles", "pseudo"])
def test_sigma0_stays_below_its_bound_where_no_row_bounds_couplings(likelihood: str) -> None:
    """Without the bound sigma0 goes to 20 and beyond on this table."""
    model = SpikeSlabMRF(likelihood, n_chains=1, n_warmup=100, n_draws=200, random_state=0)
    sigma0 = model.fit(one_hot(1, 12)).posterior_.draws.sigma0
    assert sigma0.max() <= largest_slab_scale(5, 5)
    assert sigma0.mean() > 4
