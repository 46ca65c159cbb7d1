"""Integrals over the parameters of a small field with a given structure, by importance sampling."""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats
from scipy.special import logsumexp


def evidence_and_mean(problem, states, present, n_draws=60_000, seed=1):
    """Log evidence of a structure and the posterior means of all couplings (zero where absent).

    Every likelihood is a sum over all states. The parameters are drawn from a multivariate t at the
    mode, wider than the posterior, and weighted.
    """
    model, sums, prior = problem.model, problem.sums, problem.prior
    bias_features, coupling_features = model.statistics(states)
    owner = np.repeat(np.arange(present.size), np.diff(model.group_start))
    used = np.flatnonzero(present[owner])
    features = np.hstack([bias_features, coupling_features[:, used]])
    total = np.concatenate([sums.bias, sums.coupling[used]])
    precision = np.concatenate(
        [
            np.full(bias_features.shape[1], prior.bias_precision),
            np.full(used.size, prior.slab_scale**-2),
        ]
    )

    def log_joint(theta):
        theta = np.atleast_2d(theta)
        fit = theta @ total - sums.n_rows * logsumexp(theta @ features.T, axis=1)
        normal = 0.5 * np.log(precision / (2 * np.pi)).sum()
        return fit - 0.5 * theta**2 @ precision + normal

    mode = optimize.minimize(lambda t: -log_joint(t)[0], np.zeros(total.size), method="BFGS").x
    chance = np.exp(features @ mode - logsumexp(features @ mode))
    centered = features - chance @ features
    hessian = sums.n_rows * (centered * chance[:, None]).T @ centered + np.diag(precision)
    proposal = stats.multivariate_t(mode, 1.2 * np.linalg.inv(hessian), df=8, seed=seed)
    draws = proposal.rvs(n_draws).reshape(n_draws, total.size)
    log_weight = log_joint(draws) - proposal.logpdf(draws)
    weight = np.exp(log_weight - logsumexp(log_weight))
    mean = np.zeros(owner.size)
    mean[used] = weight @ draws[:, bias_features.shape[1] :]
    return logsumexp(log_weight) - np.log(n_draws), mean
