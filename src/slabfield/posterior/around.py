"""What ArviZ looks for around a posterior: the prior, the data, and data like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from slabfield.posterior.posterior import Posterior

N_PRIOR = 1_000
N_REPLICATES = 200
SEED = 0


def prior_group(posterior: Posterior) -> xr.Dataset | None:
    """Draws of p0 and sigma0 from their priors; None where the settings do not tell them.

    A number that is fixed is the same in all draws.
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
    each = ("chain", "draw")
    return xr.Dataset(
        {"p0": (each, p0), "sigma0": (each, sigma0)},
        {"chain": [0], "draw": np.arange(N_PRIOR)},
        {"about": f"draws from the priors, by NumPy with seed {SEED}"},
    )


def data_groups(posterior: Posterior, X: Any, binarize: Any) -> dict[str, xr.Dataset]:
    """Frequencies in the data, and in data drawn from the fields of posterior draws."""
    import xarray as xr

    from slabfield.posterior.replicates import check_rows, replicate_pairs
    from slabfield.posterior.tree import of_edges, printable

    rows = check_rows(posterior, X, binarize)
    upper = np.triu_indices(posterior.n_nodes, 1)
    observed = rows.T @ rows / len(rows)
    n_replicates = min(N_REPLICATES, posterior.draws.n_chains * posterior.draws.n_draws)
    found = replicate_pairs(posterior, len(rows), n_replicates, SEED)
    names = {"node": printable(posterior.feature_names)} | of_edges(posterior)
    how = "exact draws" if found.exact else "states of Gibbs runs"
    each = ("chain", "draw")
    return {
        "observed_data": xr.Dataset(
            {
                "node_frequency": (("node",), np.diagonal(observed)),
                "pair_frequency": (("edge",), observed[upper]),
            },
            names,
            {"about": "shares of rows with the node 1, and with both nodes 1"},
        ),
        "posterior_predictive": xr.Dataset(
            {
                "node_frequency": (
                    (*each, "node"), np.diagonal(found.pairs, axis1=1, axis2=2)[None]
                ),
                "pair_frequency": ((*each, "edge"), found.pairs[:, upper[0], upper[1]][None]),
            },
            {"chain": [0], "draw": np.arange(len(found.pairs))} | names,
            {"about": f"the same in as many rows as the data have, {how}"},
        ),
    }  # fmt: skip
