"""What the page's pictures and tables are made from: a posterior as plain lists."""

from __future__ import annotations

from math import floor, isinf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.checks import InputError
from slabfield.plots.layout import place_network, strongest_coupling
from slabfield.plots.threshold import readable_threshold
from slabfield.posterior.convergence import (
    ESS_LIMIT,
    MIN_DRAWS,
    RHAT_LIMIT,
    WHOLE_ESS,
    WHOLE_RHAT,
    rough_edges,
    unsettled_biases,
)
from slabfield.posterior.couplings import spread_given_presence

if TYPE_CHECKING:
    from slabfield.posterior import Posterior

Array = NDArray[np.float64]

MOST_EDGES = 20_000
"""A page keeps no more edges than this, the most probable ones; 200 nodes have 19,900."""

LEAST_THRESHOLD = 0.01
MOST_POINTS = 250
MOST_WORST = 10

WHOLE = {
    "p0": "prior probability of an edge, learnt",
    "sigma0": "size of the couplings that are there",
    "density": "share of possible edges that are there",
    "potential": "how well the draws fit the data (log potential)",
}


def gather(posterior: Posterior) -> dict[str, Any]:
    """Collect what the page shows, as JSON can hold it.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.

    Returns
    -------
    dict
        ``nodes`` and ``edges`` as lists of equal length, ``settings`` of the network, and
        ``convergence``. Nothing is NaN or infinite: they are ``None`` and ``"Infinity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> from slabfield.report.facts import gather
    >>> one = np.ones((2, 4))
    >>> draws = Draws.from_dense(
    ...     one[..., None], one[..., None] == 1, np.zeros((2, 4, 2)), one / 2, one, one
    ... )
    >>> facts = gather(Posterior(draws, ["sleep", "work"], {"engine": "exact"}))
    >>> facts["nodes"]["name"], facts["edges"]["probability"], facts["edges"]["mean"]
    (['sleep', 'work'], [1.0], [1.0])
    """
    kept, least = _kept_edges(posterior.edge_probability)
    probability = posterior.inclusion_probability
    strength = np.nan_to_num(posterior.coupling_mean)
    return {
        "nodes": _nodes(posterior, probability, strength),
        "edges": _edges(posterior, kept),
        "network": {
            "strongest": _number(strongest_coupling(probability, strength)),
            "threshold": max(readable_threshold(posterior), least),
            "least": least,
            "n_edges": posterior.draws.n_edges,
        },
        "convergence": {
            "whole": _whole(posterior),
            "worst": _worst_edges(posterior),
            "biases": _worst_biases(posterior),
            "traces": _traces(posterior),
            "limits": {"rhat": RHAT_LIMIT, "ess": ESS_LIMIT},
        },
    }


def _kept_edges(probability: Array) -> tuple[NDArray[np.intp], float]:
    """Edges that the page keeps, and the least threshold at which that is all of them."""
    if probability.size <= MOST_EDGES:
        return np.arange(probability.size), LEAST_THRESHOLD
    order = np.argsort(-probability, kind="stable")
    first_left_out = float(probability[order[MOST_EDGES]])
    least = min(max(floor(first_left_out * 100 + 1) / 100, LEAST_THRESHOLD), 1.0)
    return np.sort(order[:MOST_EDGES]), least


def _nodes(posterior: Posterior, probability: Array, strength: Array) -> dict[str, Any]:
    places = place_network(probability, strength)
    return {
        "name": list(posterior.feature_names),
        "x": _numbers(places[:, 0], 5),
        "y": _numbers(places[:, 1], 5),
        "bias": _numbers(posterior.bias_mean),
        "degree": _numbers(probability.sum(axis=1)),
        "order": _similar_together(probability).tolist(),
    }


def _similar_together(probability: Array) -> NDArray[np.int64]:
    """Order nodes so that those joined by probable edges are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    size = len(probability)
    apart = 1 - np.clip(probability[np.triu_indices(size, 1)], 0, 1)
    return np.asarray(leaves_list(linkage(apart, "average", optimal_ordering=size <= 200)))


def _edges(posterior: Posterior, kept: NDArray[np.intp]) -> dict[str, Any]:
    first, second = np.triu_indices(posterior.n_nodes, 1)
    _, lower, upper = spread_given_presence(posterior.draws)
    rhat, ess = posterior._of_indicators
    return {
        "first": first[kept].tolist(),
        "second": second[kept].tolist(),
        # Exact: the page compares them with thresholds, as Python does
        "probability": [float(value) for value in posterior.edge_probability[kept]],
        "factor": _numbers(bayes_factors(posterior)[kept]),
        "mean": _numbers(posterior.edge_mean[kept]),
        "lower": _numbers(lower[kept]),
        "upper": _numbers(upper[kept]),
        "rhat": _numbers(rhat[kept]),
        "ess": _numbers(ess[kept]),
    }


def bayes_factors(posterior: Posterior) -> Array:
    """Bayes factor of every edge, in edge order; NaN where the prior is not known."""
    try:
        factor = posterior.bayes_factor
    except InputError:
        return np.full(posterior.draws.n_edges, np.nan)
    return np.asarray(factor[np.triu_indices(posterior.n_nodes, 1)])


def _series(posterior: Posterior) -> dict[str, Array]:
    draws = posterior.draws
    series = {"p0": draws.p0, "sigma0": draws.sigma0, "density": posterior.density}
    return series | {"potential": draws.potential}


def _whole(posterior: Posterior) -> list[dict[str, Any]]:
    """What is said of the graph as a whole: its value, and whether that has settled."""
    found = []
    for name, values in _series(posterior).items():
        rhat, ess = (float(number[0]) for number in posterior._of_the_whole[name])
        enough = posterior.draws.n_draws >= MIN_DRAWS
        found.append(
            {
                "name": name,
                "about": WHOLE[name],
                "mean": _number(float(values.mean())),
                "lower": _number(float(np.quantile(values, 0.025))),
                "upper": _number(float(np.quantile(values, 0.975))),
                "rhat": _number(rhat),
                "ess": _number(ess),
                "fixed": not np.ptp(values) > 0,
                "settled": enough and not (rhat > WHOLE_RHAT or ess < WHOLE_ESS),
            }
        )
    return found


def _worst_edges(posterior: Posterior) -> list[dict[str, Any]]:
    """Edges that hold out, the worst first, and after them those with fewest effective draws."""
    rhat, ess = posterior._of_indicators
    held_out = rough_edges(posterior).tolist()
    by_draws = np.argsort(ess, kind="stable")[: np.count_nonzero(np.isfinite(ess))].tolist()
    first, second = np.triu_indices(posterior.n_nodes, 1)
    return [
        {
            "first": int(first[edge]),
            "second": int(second[edge]),
            "probability": float(posterior.edge_probability[edge]),
            "rhat": _number(float(rhat[edge])),
            "ess": _number(float(ess[edge])),
            "settled": edge not in held_out,
        }
        for edge in list(dict.fromkeys([*held_out, *by_draws]))[:MOST_WORST]
    ]


def _worst_biases(posterior: Posterior) -> list[dict[str, Any]]:
    if posterior.draws.n_draws < MIN_DRAWS:
        return []
    rhat, ess = posterior._of_biases
    return [
        {"node": int(k), "rhat": _number(float(rhat[k])), "ess": _number(float(ess[k]))}
        for k in unsettled_biases(posterior)[:MOST_WORST]
    ]


def _traces(posterior: Posterior) -> list[dict[str, Any]]:
    """Evenly spaced draws of what is said of the whole, chain by chain."""
    n_draws = posterior.draws.n_draws
    shown = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).round().astype(int))
    return [
        {"name": name, "chains": [_numbers(chain[shown], 4) for chain in values]}
        for name, values in _series(posterior).items()
    ]


def _numbers(values: Array, digits: int = 6) -> list[float | str | None]:
    return [_number(float(value), digits) for value in values]


def _number(value: float, digits: int = 6) -> float | str | None:
    """Round; what JSON has no number for becomes what JavaScript's Number() reads."""
    if isnan(value):
        return None
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(f"{value:.{digits}g}")
