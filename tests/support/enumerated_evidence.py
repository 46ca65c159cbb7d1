"""Bayes factors of the edges of a small binary field, by integrating over every structure."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import optimize, stats
from scipy.special import betaln, gammaln, logsumexp

from slabfield.problem import Problem


def log_slab(prior, squares, k):
    """Log prior density of k couplings with this sum of squares, sigma0 integrated out."""
    if not np.isnan(prior.slab_scale):
        return -0.5 * squares / prior.slab_scale**2 - k * np.log(
            np.sqrt(2 * np.pi) * prior.slab_scale
        )
    c, d = prior.gamma_shape, prior.gamma_rate
    constant = gammaln(c + k / 2) - gammaln(c) + c * np.log(d) - k / 2 * np.log(2 * np.pi)
    return constant - (c + k / 2) * np.log(d + squares / 2)


def log_evidence(problem: Problem, present, n_draws: int, rng) -> float:
    """Log marginal likelihood of a structure, by importance sampling from a multivariate t."""
    model, sums, prior = problem.model, problem.sums, problem.prior
    states = np.array(list(product((0, 1), repeat=model.n_nodes)))
    first, second = model.ends
    used, d = np.flatnonzero(present), model.n_nodes
    features = np.hstack([states, states[:, first[used]] * states[:, second[used]]])
    total = np.concatenate([sums.bias, sums.coupling[used]])

    def log_joint(theta):
        fit = theta @ total - sums.n_rows * logsumexp(theta @ features.T, axis=-1)
        bias, squares = theta[..., :d], np.sum(theta[..., d:] ** 2, axis=-1)
        normal = stats.norm.logpdf(bias, scale=prior.bias_precision**-0.5).sum(axis=-1)
        return fit + normal + log_slab(prior, squares, used.size)

    found = optimize.minimize(lambda t: -log_joint(t), np.zeros(total.size), method="BFGS")
    weight = np.exp(features @ found.x - logsumexp(features @ found.x))
    centered = features - weight @ features
    hessian = sums.n_rows * (centered * weight[:, None]).T @ centered
    hessian += np.diag(np.r_[np.full(d, prior.bias_precision), np.full(used.size, 0.5)])
    proposal = stats.multivariate_t(found.x, 1.2 * np.linalg.inv(hessian), df=8, seed=rng)
    draws = proposal.rvs(n_draws).reshape(n_draws, total.size)
    return float(logsumexp(log_joint(draws) - proposal.logpdf(draws)) - np.log(n_draws))


def log_prior_of(prior, others, present) -> float:
    """Log prior probability of the presence of some edges, p0 integrated out."""
    inclusion, here = prior.inclusion[others], np.asarray(present)[others]
    learned = np.isnan(inclusion)
    ones, n = here[learned].sum(), learned.sum()
    a, b = prior.beta_a, prior.beta_b
    fixed = np.where(here, inclusion, 1 - inclusion)[~learned]
    with np.errstate(divide="ignore"):
        return float(betaln(a + ones, b + n - ones) - betaln(a, b) + np.log(fixed).sum())


def log_evidences(problem: Problem, n_draws: int = 20_000, seed: int = 0) -> dict:
    """Log marginal likelihood of every structure, which does not depend on the prior of edges."""
    rng = np.random.default_rng(seed)
    structures = product((0, 1), repeat=problem.prior.inclusion.size)
    return {present: log_evidence(problem, present, n_draws, rng) for present in structures}


def log_bayes_factors(prior, evidences: dict) -> np.ndarray:
    """Log ratio of the marginal likelihoods with and without each edge; NaN where it is fixed.

    The other edges have their own prior in both: the definition, with nothing estimated by MCMC.
    """
    inclusion = prior.inclusion
    found = np.full(inclusion.size, np.nan)
    for edge in np.flatnonzero((inclusion != 0) & (inclusion != 1)):
        others = np.delete(np.arange(inclusion.size), edge)
        terms = {
            present: log + log_prior_of(prior, others, present)
            for present, log in evidences.items()
        }
        with_edge, without = (
            logsumexp([term for present, term in terms.items() if present[edge] == value])
            for value in (1, 0)
        )
        found[edge] = with_edge - without
    return found
