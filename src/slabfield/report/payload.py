"""Data of the report's plots and tables, as plain lists."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.plots._layout import place_network, strongest_coupling
from slabfield.plots._threshold import readable_threshold
from slabfield.posterior.convergence import (
    ESS_LIMIT,
    MIN_DRAWS,
    RHAT_LIMIT,
    global_series,
)
from slabfield.posterior.couplings import sd_and_interval_given_presence
from slabfield.report.json_numbers import number_or_text, numbers
from slabfield.report.level_payload import level_payload, unsigned_payload

if TYPE_CHECKING:
    from slabfield.posterior import Posterior

Array = NDArray[np.float64]

# Edges in a report, the most probable ones; 200 nodes have 19,900
MAX_EDGES = 20_000
# Smallest inclusion probability that the threshold can be set to
MIN_THRESHOLD = 0.01
# Points per chain in a trace
MAX_POINTS = 250
# Edges, and biases, in the tables of the worst
MAX_WORST = 10

GLOBAL_QUANTITIES = {
    "p0": "prior probability of an edge, learned",
    "sigma0": "prior standard deviation of couplings",
    "sigma0_nominal": "the same for the parameters of pairs without a sign",
    "density": "share of possible edges that are present",
    "potential": "how well the draws fit the data (log potential)",
}


def report_payload(posterior: Posterior, threshold: float | None = None) -> dict[str, Any]:
    """Collect the data of the report in a form that JSON can represent.

    Parameters
    ----------
    threshold : float, optional
        As for :func:`slabfield.report.write_report`.

    Returns
    -------
    dict
        ``nodes`` and ``edges`` as lists of equal length, ``network`` (limits of its controls),
        ``convergence``, and ``levels``, which is None if all nodes are binary. NaN and infinity are
        replaced by ``None`` and ``"Infinity"``.
    """
    kept, min_threshold = _kept_edges(posterior.edge_probability)
    probability = posterior.inclusion_probability
    strength = np.nan_to_num(posterior.coupling_given_presence)
    if threshold is None:
        threshold = readable_threshold(posterior)
    return {
        "nodes": _nodes(posterior, probability, strength),
        "edges": _edges(posterior, kept) | unsigned_payload(posterior, kept),
        "levels": level_payload(posterior),
        "network": {
            "strongest": number_or_text(strongest_coupling(probability, strength)),
            "threshold": max(threshold, min_threshold),
            "min_threshold": min_threshold,
            "n_edges": posterior.draws.n_edges,
        },
        "convergence": {
            "global": _global_rows(posterior),
            "worst": _worst_edges(posterior),
            "biases": _worst_biases(posterior),
            "traces": _traces(posterior),
            "limits": {
                "rhat": RHAT_LIMIT,
                "ess": ESS_LIMIT,
                "error": posterior.convergence.tolerance,
            },
        },
    }


def _kept_edges(probability: Array) -> tuple[NDArray[np.intp], float]:
    """Edges in the report, and the smallest threshold that leaves out none of the others."""
    if probability.size <= MAX_EDGES:
        return np.arange(probability.size), MIN_THRESHOLD
    order = np.argsort(-probability, kind="stable")
    first_omitted = float(probability[order[MAX_EDGES]])
    min_threshold = min(max(floor(first_omitted * 100 + 1) / 100, MIN_THRESHOLD), 1.0)
    return np.sort(order[:MAX_EDGES]), min_threshold


def _nodes(posterior: Posterior, probability: Array, strength: Array) -> dict[str, Any]:
    places = place_network(probability, strength)
    return {
        "name": list(posterior.feature_names),
        "x": numbers(places[:, 0], 5),
        "y": numbers(places[:, 1], 5),
        "bias": numbers(posterior.bias_mean[posterior.bias_start[:-1]]),
        "degree": numbers(probability.sum(axis=1)),
        "order": _cluster_order(posterior).tolist(),
    }


def _cluster_order(posterior: Posterior) -> NDArray[np.int64]:
    """Order nodes by hierarchical clustering on 1 - inclusion probability."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    distance = 1 - np.clip(posterior.edge_probability, 0, 1)
    ordered = linkage(distance, "average", optimal_ordering=posterior.n_nodes <= 200)
    return np.asarray(leaves_list(ordered))


def _edges(posterior: Posterior, kept: NDArray[np.intp]) -> dict[str, Any]:
    first, second = posterior.interactions.ends_of(kept)
    _, lower, upper = sd_and_interval_given_presence(posterior.draws)
    rhat, ess = posterior.convergence.indicators
    return {
        "first": first.tolist(),
        "second": second.tolist(),
        # Not rounded: the report compares them with thresholds, as Python does
        "probability": [float(value) for value in posterior.edge_probability[kept]],
        "factor": numbers(posterior.edge_bayes_factor[kept]),
        "mcse": numbers(posterior.interactions.of_matrix(posterior.log_bayes_factor_mcse)[kept]),
        "evidence": posterior.edge_evidence[kept].tolist(),
        "coupling_given_presence": numbers(posterior.edge_mean[kept]),
        "lower_given_presence": numbers(lower[kept]),
        "upper_given_presence": numbers(upper[kept]),
        "coupling_averaged": numbers(posterior.coupling_averaged[first, second]),
        "odds_ratio": numbers(posterior.odds_ratio[first, second]),
        "rhat": numbers(rhat[kept]),
        "ess": numbers(ess[kept]),
    }


def _global_rows(posterior: Posterior) -> list[dict[str, Any]]:
    """Summaries of p0, sigma0, density and log potential, and whether they have converged."""
    found = []
    for name, values in global_series(posterior.draws).items():
        rhat, ess = (float(number[0]) for number in posterior.convergence.quantities[name])
        enough = posterior.draws.n_draws >= MIN_DRAWS
        found.append(
            {
                "name": name,
                "about": GLOBAL_QUANTITIES[name],
                "mean": number_or_text(float(values.mean())),
                "lower": number_or_text(float(np.quantile(values, 0.025))),
                "upper": number_or_text(float(np.quantile(values, 0.975))),
                "rhat": number_or_text(rhat),
                "ess": number_or_text(ess),
                "fixed": not np.ptp(values) > 0,
                "converged": enough and not (rhat > RHAT_LIMIT or ess < ESS_LIMIT),
            }
        )
    return found


def _worst_edges(posterior: Posterior) -> list[dict[str, Any]]:
    """Edges that have not converged, worst first, then those with the fewest effective draws."""
    rhat, ess = posterior.convergence.indicators
    unconverged = posterior.convergence.unconverged_edges.tolist()
    by_ess = np.argsort(ess, kind="stable")[: np.count_nonzero(np.isfinite(ess))].tolist()
    worst = list(dict.fromkeys([*unconverged, *by_ess]))[:MAX_WORST]
    return [
        {
            "first": first,
            "second": second,
            "probability": float(posterior.edge_probability[edge]),
            "rhat": number_or_text(float(rhat[edge])),
            "ess": number_or_text(float(ess[edge])),
            "converged": edge not in unconverged,
        }
        for edge, (first, second) in zip(worst, posterior.interactions.cliques(worst), strict=True)
    ]


def _worst_biases(posterior: Posterior) -> list[dict[str, Any]]:
    if posterior.draws.n_draws < MIN_DRAWS:
        return []
    rhat, ess = posterior.convergence.biases
    return [
        {
            "name": posterior.bias_names[k],
            "rhat": number_or_text(float(rhat[k])),
            "ess": number_or_text(float(ess[k])),
        }
        for k in posterior.convergence.unconverged_biases[:MAX_WORST]
    ]


def _traces(posterior: Posterior) -> list[dict[str, Any]]:
    """Evenly spaced draws of the global quantities, by chain."""
    n_draws = posterior.draws.n_draws
    shown = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MAX_POINTS)).round().astype(int))
    return [
        {"name": name, "chains": [numbers(chain[shown], 4) for chain in values]}
        for name, values in global_series(posterior.draws).items()
    ]
