"""Ordered overrelaxation of p0 and sigma0, and Metropolis updates of presence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from helpers_jit import draw_presences, overrelax_many
from slabfield.moves.chain_state import insert, new_state
from slabfield.priors import Prior

N_EDGES, N_PRESENT, N_REPEATS = 40, 9, 20_000
START = np.arange(N_EDGES + 1)


def overrelaxed(prior: Prior, claimed: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of p0 and precision before and after one step, those before drawn for another prior."""
    state = new_state(3, N_EDGES, N_EDGES)
    for alpha in range(N_PRESENT):
        insert(state, alpha)
        state.coupling[alpha] = 0.1 * (alpha + 1)
    rng = np.random.default_rng(5)
    rate = claimed.gamma_rate + 0.5 * (state.coupling**2).sum()
    before = np.empty((N_REPEATS, 2))
    before[:, 0] = rng.beta(
        claimed.beta_a + N_PRESENT, claimed.beta_b + N_EDGES - N_PRESENT, N_REPEATS
    )
    before[:, 1] = rng.gamma(claimed.gamma_shape + N_PRESENT / 2, 1 / rate, N_REPEATS)
    after = overrelax_many(state, prior, START, before, np.random.default_rng(6))
    return before, after


def test_overrelaxation_leaves_the_conditionals_invariant_and_mirrors_draws():
    prior = Prior.standard(N_EDGES)
    before, after = overrelaxed(prior, prior)
    for k in range(2):
        assert stats.ks_2samp(before[:, k], after[:, k]).pvalue > 1e-3
        assert stats.spearmanr(before[:, k], after[:, k]).statistic < -0.85


def test_wrong_conditionals_are_told_from_right_ones():
    prior = Prior.standard(N_EDGES)
    wrong = prior._replace(beta_a=1.1 * prior.beta_a, gamma_rate=1.1 * prior.gamma_rate)
    before, after = overrelaxed(prior, wrong)
    for k in range(2):
        assert stats.ks_2samp(before[:, k], after[:, k]).pvalue < 1e-3


@pytest.mark.parametrize("odds", [-2.0, -0.3, 0.0, 1.1])
def test_presence_by_metropolis_has_the_odds_of_the_conditional(odds):
    """Also where absent edges are visited with a probability; enter over leave is e^odds."""
    probability, n = 1 / (1 + np.exp(-odds)), 200_000
    for visit in (1.0, max(0.6, min(np.exp(odds), 1.0))):
        enters = (
            draw_presences(False, odds, probability, visit, n, np.random.default_rng(1)) * visit
        )
        leaves = n - draw_presences(True, odds, probability, 1.0, n, np.random.default_rng(2))
        ratio = enters / leaves
        error = ratio * np.sqrt(1 / enters + 1 / leaves)
        assert abs(ratio - np.exp(odds)) < 4 * error
        assert max(enters, leaves) == pytest.approx(n, rel=0.01)
