"""Replicated data from posterior draws, for posterior predictive checks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets.gibbs_runs import GibbsRuns
from slabfield.encoding import code_binary
from slabfield.inference import enumeration
from slabfield.models.field import BinaryField
from slabfield.validation import InputError, InputWarning, Parameter
from slabfield.validation.errors import listed

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
    chosen = posterior.draws.evenly_spaced(n_draws)
    pairs = np.empty((chosen.size, n_nodes, n_nodes))
    biases = posterior.draws.bias.reshape(-1, n_nodes)
    exact = n_nodes <= MAX_EXACT_NODES
    runs = GibbsRuns(n_nodes, n_rows, rng)
    for k, row in enumerate(chosen):
        values = np.asarray(posterior.draws.values[[row], :].toarray())[0]
        field = BinaryField(biases[row], posterior.interactions.as_matrix(values))
        if exact:
            states = enumeration.sample(field, n_rows, rng).astype(np.float64).T
        else:
            runs.advance(field, MORE_SWEEPS if k else FIRST_SWEEPS)
            states = runs.states.astype(np.float64)
        pairs[k] = states @ states.T / n_rows
    return PredictiveReplicates(pairs, exact)


def check_rows(posterior: Posterior, X: Any, binarize: Any) -> Array:
    """Encode the data as in the fit, without repeating its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        table = code_binary(X, binarize)
    names = posterior.feature_names
    if table.rows.shape[1] != len(names):
        raise InputError(
            "wrong-number-of-columns",
            "{X} must have the {expected} columns of the posterior; found {found}. Pass the table "
            "that was fitted.",
            X=Parameter("X"),
            expected=len(names),
            found=table.rows.shape[1],
        )
    unexpected = [repr(name) for name, own in zip(table.names, names, strict=True) if name != own]
    if table.has_names and unexpected:
        raise InputError(
            "wrong-columns",
            "{X} must have the columns of the posterior, in their order; found {names} where "
            "others are expected. Pass the table that was fitted, with X[posterior.feature_names] "
            "if only the order differs.",
            X=Parameter("X"),
            names=listed(unexpected),
        )
    return table.rows.astype(np.float64)
