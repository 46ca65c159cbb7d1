"""Bayes PM at a given density: the nearest field of a fit with as many edges as are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.models.levels import PairwiseLevels, ordinal_features
from slabfield.posterior.nearest_field import Parameters, nearest_to_mixture
from slabfield.reproduce.cache import Result
from slabfield.reproduce.fitted_models import field_of
from slabfield.reproduce.images import gibbs_samples

Array = NDArray[np.float64]

# Rows of the mixture of draws over which the distance of the field is averaged, and Gibbs sweeps
# for each of them
N_ROWS, N_SWEEPS = 1_000, 500


class SingleField(NamedTuple):
    """A field with chosen edges: p0 of the fit, the least inclusion probability, parameters.

    ``edges`` are couplings of all pairs, 0 where absent.
    """

    p0: float
    threshold: float
    bias: Array
    edges: Array


def at_density(p0s: Sequence[float], fits: Sequence[Result], density: float) -> SingleField:
    """Bayes PM at a density: the p0 with the nearest graph, and a threshold adjusted to match.

    The graph of edges above 0.5 changes from sparse to full within a narrow range of p0, so the
    threshold needs a small adjustment, too.
    """
    k = int(np.argmin([abs((fit["edges"] != 0).mean() - density) for fit in fits]))
    probability = fits[k]["probability"]
    n_edges = max(1, round(density * probability.size))
    threshold = float(np.sort(probability)[::-1][n_edges - 1])
    return SingleField(p0s[k], threshold, *nearest(fits[k], probability >= threshold))


def nearest(fit: Result, edges: NDArray[np.bool_]) -> Parameters:
    """Return the field with these edges that is nearest to the mixture of the fit's draws."""
    draws = fit["draw_bias"], fit["draw_edges"].astype(np.float64)
    rows = gibbs_samples(*draws, max(1, N_ROWS // len(draws[0])), N_SWEEPS, seed=1)
    mixture = [field_of(*one) for one in zip(*draws, strict=True)]
    start = Parameters(fit["bias"], np.nan_to_num(fit["mean"]))
    model = PairwiseLevels([ordinal_features([0, 1])] * rows.shape[1])
    return nearest_to_mixture(model, edges, mixture, rows.astype(np.int64), start)
