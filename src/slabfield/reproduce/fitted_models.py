"""The predictive models of the paper, under the paper's names, as pieces of work.

=============== ====================================================================
Bayes           mixture of 100 draws of the posterior; probabilities are averaged
Bayes PM        one field: with the edges of inclusion probability 0.5 or more, nearest to it
Bayes Exact     both of these from the posterior under the exact likelihood
... p0          the same with p0 fixed, over a grid
Wain Max, Min   L1-penalized regressions of every node, over strengths
MLE             L1-penalized pseudo-likelihood, over strengths
=============== ====================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.baselines import L1Neighborhood, L1PseudoLikelihood
from slabfield.estimators.spike_slab import SpikeSlabMRF
from slabfield.evaluate import conditional_log_likelihood
from slabfield.models.field import BinaryField
from slabfield.models.interactions import Interactions
from slabfield.posterior import Posterior
from slabfield.reproduce.data_sets import Data, open_data_set

Array = NDArray[np.float64]

# Draws in a mixture
N_FIELDS = 100
# Bins of the histograms of couplings
BINS = np.linspace(-8.0, 12.0, 201)
# Histograms are stored up to this number of edges
MAX_HISTOGRAM_EDGES = 100
# Last strength as a share of the first; dense enough for figure 8
SMALLEST_STRENGTH = 0.003

L1: dict[str, Any] = {
    "Wain Max": L1Neighborhood(rule="max"),
    "Wain Min": L1Neighborhood(rule="min"),
    "MLE": L1PseudoLikelihood(),
}


def fit_bayes(
    data_set: Sequence[Any],
    p0: float | None = None,
    likelihood: str = "particles",
    settings: Sequence[tuple[str, Any]] = (),
) -> dict[str, Any]:
    """Fit the Bayesian model to a data set, and score it on the test rows.

    Parameters
    ----------
    p0 : float, optional
        Fixed value; None learns it.
    likelihood : {"particles", "exact"}
        "exact" is Bayes Exact.
    settings : pairs of name and value
        Other parameters of `SpikeSlabMRF`.

    Returns
    -------
    dict of arrays
        Summaries of edges and draws, fields of 100 draws (``draw_bias``, ``draw_edges``), the
        nearest single field (``bias``, ``edges``), and ``cll_bayes`` and ``cll_pm``.
    """
    data = open_data_set(data_set)
    params: dict[str, Any] = {"random_state": data_set[1], "n_jobs": 1, **dict(settings)}
    if p0 is not None:
        params["inclusion_prior"] = p0
    model = SpikeSlabMRF(likelihood, **params).fit(data.train)
    posterior = model.posterior_
    fields = posterior.fields(N_FIELDS)
    of_pairs = posterior.interactions.of_matrix
    return {
        "bias": model.bias_,
        "edges": of_pairs(model.coupling_),
        "draw_bias": np.stack([field.bias for field in fields]),
        "draw_edges": np.stack([of_pairs(field.coupling) for field in fields]).astype(np.float32),
        "cll_bayes": mean_cll(fields, data),
        "cll_pm": mean_cll(model, data),
        **summaries(posterior),
    }


def summaries(posterior: Posterior) -> dict[str, Any]:
    """Return the summaries for figures: edges given presence, density, p0, sigma0."""
    draws = posterior.draws
    visits = draws.visits
    mean = posterior.edge_mean
    squares = np.bincount(draws.values.indices, draws.values.data**2, minlength=draws.n_edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = squares / visits - mean**2
    return {
        "probability": posterior.edge_probability,
        "mean": mean,
        "sd": np.where(visits > 1, np.sqrt(np.maximum(variance, 0.0)), np.nan),
        "visits": visits,
        "density": posterior.density.mean(),
        "density_sd": posterior.density.std(axis=1).mean(),
        "sigma0": draws.sigma0.mean(),
        "p0": draws.p0.mean(),
        "cpu_seconds": sum(chain["cpu_seconds"] for chain in posterior.info),
        "histogram": _histograms(posterior)
        if draws.n_edges <= MAX_HISTOGRAM_EDGES
        else np.zeros((0, 0)),
    }


def _histograms(posterior: Posterior) -> NDArray[np.int64]:
    """Histograms of the couplings of each edge, given presence, over ``BINS``."""
    by_edge = posterior.draws.values.tocsc()
    return np.stack([
        np.histogram(by_edge.data[begin:end], BINS)[0]
        for begin, end in pairwise(by_edge.indptr)
    ])  # fmt: skip


def fit_path(data_set: Sequence[Any], method: str, n_strengths: int) -> dict[str, Any]:
    """Fit an L1 method to a data set over a path of strengths, and score each of them.

    Parameters
    ----------
    method : {"Wain Max", "Wain Min", "MLE"}

    Returns
    -------
    dict of arrays
        ``strengths``, and ``bias``, ``edges`` and ``cll`` at each of them.
    """
    data = open_data_set(data_set)
    solver = L1[method]
    solver = type(solver)(**{
        **solver.get_params(), "n_strengths": n_strengths, "smallest": SMALLEST_STRENGTH,
        "tolerance": 1e-8, "n_jobs": 1,
    })  # fmt: skip
    path = solver.path(data.train)
    return {
        "strengths": path.strengths,
        "bias": path.bias,
        "edges": Interactions.pairs(data.train.shape[1]).of_matrix(path.coupling),
        "cll": np.array([mean_cll(path.field(k), data) for k in range(len(path))]),
    }


def true_cll(data_set: Sequence[Any]) -> dict[str, Any]:
    """Score the true field of a data set on the test rows."""
    data = open_data_set(data_set)
    return {"cll": mean_cll(data.truth, data)}


def mean_cll(model: Any, data: Data) -> float:
    """Mean conditional log-likelihood of the groups of the test rows."""
    return float(conditional_log_likelihood(model, data.test, data.groups).mean())


def field_of(bias: Array, edges: Array) -> BinaryField:
    """Make a field from biases, and couplings of all pairs in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.reproduce.fitted_models import field_of
    >>> field_of(np.zeros(3), np.array([1.0, 0.0, 2.0])).coupling[1, 2]
    np.float64(2.0)
    """
    return BinaryField(bias, Interactions.pairs(bias.size).as_matrix(edges))
