"""Bayes factors of edges from the draws alone, and what they can reach (equations 31 to 33)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws, log_ratio_and_error

Array = NDArray[np.float64]

# Batches that the draws of a chain are divided into, at most
N_BATCHES = 8
# Visits added to presence and to absence, so that neither count is zero
HALF_VISIT = 0.5
# Fewest draws with an edge from which the standard deviation of its coupling is estimated
MIN_VISITS = 50
# Draws of sigma0 over which the attainable Bayes factor is averaged, at most
MAX_SIGMA0_DRAWS = 400
# Edges for which it is computed at a time
EDGES_AT_A_TIME = 10_000


def from_indicators(draws: Draws, inclusion: Array, a: float, b: float) -> tuple[Array, Array]:
    """Log Bayes factor of every edge from its indicators, and its Monte Carlo standard error.

    For samplers that compute no conditional probabilities of presence. Half a visit is added to
    presence and to absence, so that the factor is finite; the error is at least that of
    independent draws.

    Parameters
    ----------
    inclusion : array (edges,)
        Fixed prior probability of every edge; NaN where it is p0.
    a, b : float
        Parameters of the Beta prior of p0.

    Returns
    -------
    log_factor, error : array (edges,)
        Meaningless for edges that the prior forces or forbids.
    """
    learned, n_all = np.isnan(inclusion), draws.n_chains * draws.n_draws
    n_learned, total = int(learned.sum()), a + b + learned.sum() - 1
    edges = draws.values.indices
    row = np.repeat(np.arange(n_all), np.diff(draws.values.indptr))
    count = np.bincount(row, learned[edges], minlength=n_all)
    # 1 / q of a present edge and 1 / (1 - q) of an absent one, given the others of each draw
    if_present = total / (a + np.maximum(count - 1, 0))
    if_absent = total / (total - a - np.minimum(count, n_learned - 1))
    fixed = np.where(learned, 0.5, np.clip(inclusion, 1e-300, 1 - 1e-16))

    def sums(begin: int, end: int) -> Array:
        entries = slice(*draws.values.indptr[[begin, end]])
        which, at = edges[entries], row[entries]
        present = np.bincount(which, minlength=draws.n_edges)
        weighted = np.bincount(which, if_present[at], minlength=draws.n_edges)
        missed = np.bincount(which, if_absent[at], minlength=draws.n_edges)
        absent = np.maximum(if_absent[begin:end].sum() - missed, 0.0)
        return np.stack(
            [
                np.where(learned, weighted, present / fixed),
                np.where(learned, absent, (end - begin - present) / (1 - fixed)),
            ],
            axis=1,
        )

    bounds = np.linspace(0, draws.n_draws, min(N_BATCHES, draws.n_draws) + 1).astype(int)
    chains = [
        np.stack([sums(first + k, first + m) for k, m in pairwise(bounds)])
        for first in range(0, n_all, draws.n_draws)
    ]
    half = HALF_VISIT * np.stack(
        [
            np.where(learned, if_present.mean(), 1 / fixed),
            np.where(learned, if_absent.mean(), 1 / (1 - fixed)),
        ],
        axis=1,
    )
    chains = [chain + half / (len(chains) * len(chain)) for chain in chains]
    log_factor, error = log_ratio_and_error(chains)
    visits = draws.visits
    least = 1 / (visits + HALF_VISIT) + 1 / (n_all - visits + HALF_VISIT)
    return log_factor, np.fmax(error, np.sqrt(least))


def least_attainable(draws: Draws, information: Array) -> Array:
    r"""Bayes factor of every edge if its coupling were estimated as exactly zero.

    By the Savage-Dickey ratio it is the standard deviation of the coupling given presence over that
    of the slab (equation 33): about the smallest that the data can give, however clearly the edge
    is absent. Where an edge is present in too few draws, it is
    :math:`E[(1 + \sigma_0^2 I)^{-1/2}]`. For several parameters see :func:`least_of_group`.

    Parameters
    ----------
    information : array (edges,)
        I, the curvature of the log-likelihood in each coupling at zero if its two nodes were
        independent; may be NaN.
    """
    found = _least_of_couplings(draws, information)
    if draws.interactions.n_parameters == draws.n_edges:
        return found
    start = draws.interactions.group_start
    several = np.flatnonzero(np.diff(start) > 1)
    scales = _some_scales(draws.sigma0 if draws.sigma0_nominal is None else draws.sigma0_nominal)
    by_parameter = draws.parameters.tocsc()
    for edge in several:
        # All parameters of an edge are stored in the same draws
        begin, end = by_parameter.indptr[start[edge : edge + 2]]
        values = by_parameter.data[begin:end].reshape(start[edge + 1] - start[edge], -1)
        found[edge] = least_of_group(values, scales)
    return found


def least_of_group(values: Array, scales: Array) -> float:
    r"""Bayes factor of an edge with several parameters if they were estimated as exactly zero.

    With :math:`S_e` the covariance of its :math:`p_e` parameters given presence, the ratio of
    densities at zero is :math:`|S_e|^{1/2} \sigma_0^{-p_e}` (equation 33). NaN if the edge is
    present in fewer than 50 draws for each parameter, from which the determinant would be too
    small.

    Parameters
    ----------
    values : array (parameters, draws)
        Parameters in the draws with the edge.
    scales : array
        Draws of the slab's scale.
    """
    n_parameters, n_visits = values.shape
    if n_visits < MIN_VISITS * n_parameters:
        return float("nan")
    sign, log_determinant = np.linalg.slogdet(np.cov(values))
    if sign <= 0:
        return 0.0
    log_ratio = log_determinant / 2 - n_parameters * np.log(scales)
    return min(float(np.exp(log_ratio).mean()), 1.0)


def _some_scales(scale: Array) -> Array:
    """Evenly spaced draws of the slab's scale."""
    flat = scale.ravel()
    some: Array = flat[np.unique(np.linspace(0, flat.size - 1, MAX_SIGMA0_DRAWS).astype(int))]
    return some


def _least_of_couplings(draws: Draws, information: Array) -> Array:
    """Bayes factor of every edge, as if all had one parameter, if it were estimated as zero."""
    count, total = draws.visits, draws.total()
    squares = np.bincount(draws.values.indices, draws.values.data**2, minlength=draws.n_edges)
    n = np.maximum(count, 1)
    sd = np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0.0))
    chosen = _some_scales(draws.sigma0)
    found: Array = np.minimum(sd * np.mean(1 / chosen), 1.0)
    seldom = np.flatnonzero(count < MIN_VISITS)
    for begin in range(0, seldom.size, EDGES_AT_A_TIME):
        part = seldom[begin : begin + EDGES_AT_A_TIME]
        found[part] = np.mean((1 + chosen**2 * information[part, None]) ** -0.5, axis=1)
    return found
