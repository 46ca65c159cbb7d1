"""Simulation-based calibration of the sampler for nodes with levels."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import logsumexp

from level_runs import problem_of, run_exact
from ranks import rank_among, smallest_p_value

# Chains start without edges. After 60 sweeps, with biases of scale 0.7, the highest of eight bins
# of the ranks of the sum of absolute couplings still held 1.4 times its share; after 600, 1.0.
N_WARMUP = 300


def draw_from_prior(model, prior, rng):
    """Draw presence, couplings, biases and hyperparameters: p0, and one or two scales."""
    p0 = rng.beta(prior.beta_a, prior.beta_b) if prior.learned.all() else prior.inclusion[0]
    scales = np.full(model.n_scales, prior.slab_scale)
    for k in np.flatnonzero(np.isnan(scales)):
        while not scales[k] <= prior.max_slab_scale:
            scales[k] = np.sqrt(prior.gamma_rate / rng.gamma(prior.gamma_shape))
    present = rng.random(model.n_interactions) < p0
    sizes = np.diff(model.group_start)
    scale = np.where(sizes > 1, scales[-1], scales[0])
    coupling = np.repeat(present * scale, sizes) * rng.standard_normal(sizes.sum())
    biases = []
    for node in model.nodes:
        root = np.linalg.cholesky(np.linalg.inv(prior.bias_precision * node.bias_precision))
        biases.append(root @ rng.standard_normal(len(root)))
    return present, coupling, np.concatenate(biases), np.array([p0, *scales])


def draw_world(model, prior, n_rows, scale, states, rng):
    """Draw parameters and rows, until every level of a free bias occurs in the rows.

    To leave out worlds by their data does not change the posterior given the data.
    """
    while True:
        present, coupling, bias, hyper = draw_from_prior(model, prior, rng)
        logs = model.log_potential(states, bias, scale * coupling)
        rows = states[rng.choice(len(states), n_rows, p=np.exp(logs - logsumexp(logs)))]
        levels = [np.unique(column).size for column in rows.T]
        if all(
            n == node.n_levels or not node.free for n, node in zip(levels, model.nodes, strict=True)
        ):
            return present, coupling, bias, hyper, rows


def level_rank_p_value(
    model, prior, n_rows, n_worlds, scale=1.0, other_prior=None, n_draws=31, thin=8, n_bins=8
):
    """Smallest p-value over all quantities, times their number.

    The quantities are couplings, presence, biases, p0 and the scales of the slab, the potential of
    the data, the number of present edges and the sum of absolute couplings. The rows are drawn with
    the couplings times ``scale``, and the sampler has ``other_prior`` if there is one: with either,
    its ranks are not uniform.
    """
    rng = np.random.default_rng(23)
    states = np.array(list(product(*(range(k) for k in model.n_states))))
    ranks = []
    for world in range(n_worlds):
        present, coupling, bias, hyper, rows = draw_world(model, prior, n_rows, scale, states, rng)
        problem = problem_of(model, rows, other_prior or prior)
        record = run_exact(problem, n_draws, N_WARMUP, world, thin).record
        potential = bias @ problem.sums.bias + coupling @ problem.sums.coupling
        learned = [prior.learned.all(), *[np.isnan(prior.slab_scale)] * model.n_scales, True]
        true = np.concatenate(
            [coupling, present, bias, np.append(hyper, potential)[learned],
             [present.sum(), np.abs(coupling).sum()]]
        )  # fmt: skip
        drawn = np.hstack([
            record.coupling, record.present, record.bias, record.hyper[:, learned],
            record.present.sum(axis=1, keepdims=True),
            np.abs(record.coupling).sum(axis=1, keepdims=True),
        ])  # fmt: skip
        ranks.append(rank_among(true, drawn, rng))
    return smallest_p_value(ranks, n_draws, n_bins)
