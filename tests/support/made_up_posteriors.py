"""Made-up posteriors with values that are hard to store."""

import math

import numpy as np

from slabfield import Posterior
from slabfield.draws import Draws

SETTINGS = {
    "engine": "exact", "seed": 2**64 - 1, "step_size": 0.1 + 0.2, "n_rows": 80, "nothing": None,
    "inclusion_prior": {"a": 5.0, "b": 5.0, "edges": [None, 0.25, 1.0]}, "restart": False,
}  # fmt: skip


def make_up(
    n_chains: int = 2,
    n_draws: int = 5,
    names: list[str] | None = None,
    seed: int = 0,
    share: float = 0.4,
) -> Posterior:
    """Make up a posterior with values that are hard to store: present zeros, NaN, infinity."""
    rng = np.random.default_rng(seed)
    names = ["sleep", "work", "joy"] if names is None else names
    each, n_edges = (n_chains, n_draws), math.comb(len(names), 2)
    present = rng.random((*each, n_edges)) < share
    hard = np.array([0.0, -0.0, 5e-324, 1 / 3, -1e300])
    coupling = np.where(present, rng.choice(hard, present.shape), 0.0)
    bias = rng.standard_normal((*each, len(names)))
    p0, sigma0, potential = (rng.standard_normal(each) for _ in range(3))
    p0[0, 0], potential[-1, -1] = np.nan, -np.inf
    draws = Draws.from_dense(coupling, present, bias, p0, sigma0, potential)
    draws.conditional_probability = np.where(rng.random(n_edges) < 0.5, np.nan, 0.125)
    draws.log_bayes_factor = np.where(rng.random(n_edges) < 0.5, np.nan, 0.1 + 0.2)
    draws.log_bayes_factor_mcse = np.where(np.isnan(draws.log_bayes_factor), np.nan, 1 / 3)
    return Posterior(
        draws, names, dict(SETTINGS), [{"added": k, "noise": 0.1 * k} for k in range(3)]
    )
