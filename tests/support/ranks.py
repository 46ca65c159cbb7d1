"""Simulation-based calibration (Talts et al. 2018) of whole samplers."""

from __future__ import annotations

import numpy as np
from scipy import stats

from slabfield.adaptation.starts import random_state
from slabfield.chains.chain_run import run_chain
from slabfield.inference import enumeration
from slabfield.problem import Problem

BIAS_SCALE = 0.7


def rank_p_value(model, prior, n_rows, settings, n_worlds, scale=1.0, n_bins=8):
    """Smallest p-value over all quantities, times their number.

    The rank of the truth among the draws is uniform. ``scale`` multiplies the sums of the data
    that the sampler sees. The bias scale of the prior is ``BIAS_SCALE``.
    """
    rng = np.random.default_rng(17)
    nothing = np.zeros((1, model.n_nodes))
    ranks = []
    for world in range(n_worlds):
        truth = random_state(Problem(model, nothing, model.sums(nothing), prior), rng)
        truth.bias[:] = BIAS_SCALE * rng.standard_normal(model.n_nodes)
        rows = enumeration.sample(model.field(truth.bias, truth.coupling), n_rows, rng)
        sums = model.sums(rows)
        sums = sums._replace(coupling=scale * sums.coupling)
        problem = Problem(model, rows, sums, prior)
        record = run_chain(problem, settings, world, 0, lambda _: None).record
        true = np.concatenate([truth.coupling, truth.present, truth.bias, truth.hyper,
                               [truth.present.sum(), np.abs(truth.coupling).sum()]])  # fmt: skip
        drawn = np.hstack([
            record.coupling, record.present, record.bias, record.hyper[:, :2],
            record.present.sum(axis=1, keepdims=True),
            np.abs(record.coupling).sum(axis=1, keepdims=True),
        ])  # fmt: skip
        ranks.append(rank_among(true, drawn, rng))
    return smallest_p_value(ranks, settings.n_draws, n_bins)


def rank_among(true, drawn, rng):
    """Rank of each true quantity among its draws; ties are broken uniformly at random."""
    below, equal = (drawn < true).sum(axis=0), (drawn == true).sum(axis=0)
    return below + rng.integers(0, equal + 1)


def smallest_p_value(ranks, n_draws, n_bins):
    """Smallest p-value of uniform ranks over all quantities, times their number."""
    bins = np.array(ranks) * n_bins // (n_draws + 1)
    tests = [stats.chisquare(np.bincount(column, minlength=n_bins)).pvalue for column in bins.T]
    return min(1.0, min(tests) * len(tests))
