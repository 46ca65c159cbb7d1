"""Replicated data from posterior draws, for posterior predictive checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets.gibbs_runs import GibbsRuns
from slabfield.inference import enumeration

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

Array = NDArray[np.float64]

# Up to this number of nodes, rows are exact draws
MAX_EXACT_NODES = 16
# Gibbs sweeps before the first replicate, and between replicates
FIRST_SWEEPS, MORE_SWEEPS = 500, 100


class PredictiveReplicates(NamedTuple):
    """Frequencies of replicated data.

    Parameters
    ----------
    pairs : array (n_draws, D, D)
        For each replicate, the share of rows with both nodes 1; on the diagonal, with the node 1.
    exact : bool
        Whether the rows are exact draws.
    """

    pairs: Array
    exact: bool


def replicate_pairs(
    posterior: Posterior, n_rows: int, n_draws: int, seed: int
) -> PredictiveReplicates:
    """Draw replicated data sets, each from the field of one posterior draw.

    Rows are exact draws up to 16 nodes. Above, they are states of Gibbs runs that start from fair
    coin tosses and continue from one posterior draw to the next.

    Parameters
    ----------
    posterior : Posterior
        Posterior to draw from.
    n_rows, n_draws : int
        Rows of a data set, and number of data sets, from evenly spaced draws.
    """
    rng = np.random.default_rng(seed)
    n_nodes = posterior.n_nodes
    fields = posterior.fields(n_draws)
    pairs = np.empty((len(fields), n_nodes, n_nodes))
    exact = n_nodes <= MAX_EXACT_NODES
    runs = GibbsRuns(n_nodes, n_rows, rng)
    for k, field in enumerate(fields):
        if exact:
            states = enumeration.sample(field, n_rows, rng).astype(np.float64).T
        else:
            runs.advance(field, MORE_SWEEPS if k else FIRST_SWEEPS)
            states = runs.states.astype(np.float64)
        pairs[k] = states @ states.T / n_rows
    return PredictiveReplicates(pairs, exact)


def pair_frequencies(rows: NDArray[np.uint8]) -> Array:
    """Share of rows with both nodes 1, (D, D); on the diagonal, with the node 1."""
    x = rows.astype(np.float64)
    return np.asarray(x.T @ x / len(x))
