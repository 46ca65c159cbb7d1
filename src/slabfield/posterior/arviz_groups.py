"""The ArviZ groups ``prior``, ``observed_data`` and ``posterior_predictive``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from slabfield.posterior.posterior import Posterior

# Draws from the prior
N_PRIOR = 1_000
# Replicated data sets, at most one per posterior draw
N_REPLICATES = 200
SEED = 0


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
    dims = ("chain", "draw")
    return xr.Dataset(
        {"p0": (dims, p0), "sigma0": (dims, sigma0)},
        {"chain": [0], "draw": np.arange(N_PRIOR)},
        {"about": f"draws from the priors, by NumPy with seed {SEED}"},
    )


def data_groups(posterior: Posterior, X: Any, binarize: Any) -> dict[str, xr.Dataset]:
    """Frequencies in the data, and in data simulated from posterior draws."""
    import xarray as xr

    from slabfield.posterior.datatree import edge_coordinates, printable
    from slabfield.posterior.predictive import check_rows, replicate_pairs

    rows = check_rows(posterior, X, binarize)
    of_pairs = posterior.interactions.of_matrix
    observed = rows.T @ rows / len(rows)
    n_replicates = min(N_REPLICATES, posterior.draws.n_chains * posterior.draws.n_draws)
    replicates = replicate_pairs(posterior, len(rows), n_replicates, SEED)
    names = {"node": printable(posterior.feature_names)} | edge_coordinates(posterior)
    how = "exact draws" if replicates.exact else "states of Gibbs runs"
    dims = ("chain", "draw")
    return {
        "observed_data": xr.Dataset(
            {
                "node_frequency": (("node",), np.diagonal(observed)),
                "pair_frequency": (("edge",), of_pairs(observed)),
            },
            names,
            {"about": "shares of rows in which the node is 1, and both nodes are 1"},
        ),
        "posterior_predictive": xr.Dataset(
            {
                "node_frequency": (
                    (*dims, "node"), np.diagonal(replicates.pairs, axis1=1, axis2=2)[None]
                ),
                "pair_frequency": ((*dims, "edge"), of_pairs(replicates.pairs)[None]),
            },
            {"chain": [0], "draw": np.arange(len(replicates.pairs))} | names,
            {"about": f"the same shares in replicated data sets of the same size, {how}"},
        ),
    }  # fmt: skip
