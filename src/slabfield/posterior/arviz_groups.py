"""The ArviZ groups of the prior, and of data: observed, replicated, and their likelihoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.evaluate import log_partition, pseudo_log_likelihood
from slabfield.inference import enumeration
from slabfield.models.protocol import n_joint_states
from slabfield.posterior.predictive import replicate_tables, summarize
from slabfield.validation import check_positive_int

if TYPE_CHECKING:
    import xarray as xr

    from slabfield.posterior.posterior import Posterior

# Draws from the prior
N_PRIOR = 1_000
# Replicated data sets, at most one per posterior draw
N_REPLICATES = 200
# Upper limit on the entries (draws times rows) of a group of likelihoods
MAX_POINTWISE = 20_000_000
SEED = 0
DIMS = ("chain", "draw")


def prior_group(posterior: Posterior) -> xr.Dataset | None:
    """Draw p0 and sigma0 from their priors; None if the settings do not record the priors.

    A fixed hyperparameter has the same value in all draws.
    """
    import xarray as xr

    settings = posterior.settings
    if not {"inclusion_prior", "slab_prior"} <= settings.keys():
        return None
    rng = np.random.default_rng(SEED)
    inclusion, slab = settings["inclusion_prior"], settings["slab_prior"]
    p0 = rng.beta(inclusion["a"], inclusion["b"], (1, N_PRIOR))
    sigma0 = 1 / np.sqrt(rng.gamma(slab["c"], 1 / slab["d"], (1, N_PRIOR)))
    for drawn, own in ((p0, posterior.draws.p0), (sigma0, posterior.draws.sigma0)):
        if np.all(own == own.flat[0]):
            drawn[:] = own.flat[0]
    return xr.Dataset(
        {"p0": (DIMS, p0), "sigma0": (DIMS, sigma0)},
        {"chain": [0], "draw": np.arange(N_PRIOR)},
        {"about": f"draws from the priors, by NumPy with seed {SEED}"},
    )


def data_groups(
    posterior: Posterior, X: Any, log_likelihood: bool | None, n_draws: int
) -> dict[str, xr.Dataset]:
    """The data, replicated data, and log-likelihoods of rows; see ``Posterior.to_datatree``."""
    rows = posterior.encoder.transform(X, model="Posterior").rows
    return _predictive_groups(posterior, rows) | _pointwise_groups(
        posterior, rows, log_likelihood, n_draws
    )


def _predictive_groups(posterior: Posterior, rows: NDArray[np.uint8]) -> dict[str, xr.Dataset]:
    """The data, and frequencies in it and in data simulated from posterior draws."""
    import xarray as xr

    from slabfield.posterior.datatree import edge_coordinates, printable

    of_pairs = posterior.interactions.of_matrix
    of_nodes, of_edges, levels, about = _statistics(posterior)
    observed = summarize(rows, posterior.encoder.variables)
    n_replicates = min(N_REPLICATES, posterior.draws.n_chains * posterior.draws.n_draws)
    summary, exact = replicate_tables(posterior, len(rows), n_replicates, SEED)
    nodes = {"node": printable(posterior.feature_names)}
    names = nodes | levels | edge_coordinates(posterior)
    column = "level" if levels else "node"
    how = "exact draws" if exact else "states of Gibbs runs"
    return {
        "observed_data": xr.Dataset(
            {
                "x": (("row", "node"), rows, {"about": "codes of the labels"}),
                of_nodes: ((column,), observed.nodes),
                of_edges: (("edge",), of_pairs(observed.pairs)),
            },
            {"row": np.arange(len(rows))} | names,
            {"about": f"the rows; {about}"},
        ),
        "posterior_predictive": xr.Dataset(
            {
                of_nodes: ((*DIMS, column), summary.nodes[None]),
                of_edges: ((*DIMS, "edge"), of_pairs(summary.pairs)[None]),
            },
            {"chain": [0], "draw": np.arange(len(summary.nodes))} | names,
            {"about": f"the same in replicated data sets of the same size, {how}"},
        ),
    }  # fmt: skip


def _statistics(posterior: Posterior) -> tuple[str, str, dict[str, list[str]], str]:
    """Names of what is computed of nodes and of pairs, coordinates of levels, and a description."""
    from slabfield.posterior.datatree import printable

    if posterior.model.single_binary:
        about = "shares of rows in which the node is 1, and both nodes are 1"
        return "node_frequency", "pair_frequency", {}, about
    about = (
        "shares of rows in each level; correlation of the scores of two nodes, or Cramer's V where "
        "one is nominal"
    )
    variables = posterior.encoder.variables
    names = [f"{each.name} = {label}" for each in variables for label in each.labels]
    return "level_frequency", "pair_association", {"level": printable(names)}, about


def _pointwise_groups(
    posterior: Posterior, rows: NDArray[np.uint8], log_likelihood: bool | None, n_draws: int
) -> dict[str, xr.Dataset]:
    """Pseudo-log-likelihoods, and if asked for or cheap log-likelihoods, of each row and draw."""
    import xarray as xr

    n_draws = check_positive_int("n_draws", n_draws)
    if log_likelihood is None:
        small = n_joint_states(posterior.fields()[0]) <= enumeration.MAX_STATES
        log_likelihood = small and posterior.settings.get("engine") != "pseudo"
    draws = posterior.draws
    n_each = min(n_draws, MAX_POINTWISE // len(rows)) // draws.n_chains
    chosen = np.unique(
        np.linspace(0, draws.n_draws - 1, min(max(n_each, 1), draws.n_draws)).round().astype(int)
    )
    shape = (draws.n_chains, chosen.size)
    pseudo, potential = np.empty((2, *shape, len(rows)))
    log_z, error, methods = np.zeros(shape), np.zeros(shape), set()
    fields, rng = posterior.fields(), np.random.default_rng(SEED)
    for chain, k in np.ndindex(shape):
        field = fields[chain * draws.n_draws + int(chosen[k])]
        pseudo[chain, k] = pseudo_log_likelihood(field, rows)
        if log_likelihood:
            potential[chain, k] = field.log_potential(rows)
            log_z[chain, k], error[chain, k], method, _ = log_partition(field, random_state=rng)
            methods.add(method)
    coordinates = {"chain": np.arange(draws.n_chains), "draw": chosen}
    by_row = coordinates | {"row": np.arange(len(rows))}
    about = "sum over the nodes of the log probability of each given the others; no log-likelihood"
    groups = {
        "pseudo_log_likelihood": xr.Dataset(
            {"x": ((*DIMS, "row"), pseudo)}, by_row, {"about": about}
        )
    }
    if log_likelihood:
        how = {"method": ", ".join(sorted(methods)), "largest_standard_error": error.max()}
        groups["log_likelihood"] = xr.Dataset(
            {"x": ((*DIMS, "row"), potential - log_z[..., None])},
            by_row,
            {"about": "log probability of each row", **how},
        )
        groups["log_partition"] = xr.Dataset(
            {"value": (DIMS, log_z), "standard_error": (DIMS, error)},
            coordinates,
            {"about": "log Z of each draw; its error is that of log_likelihood in all rows", **how},
        )
    return groups
