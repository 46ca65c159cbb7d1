"""Made-up posteriors: with values that are hard to store, and of nodes with levels."""

import math
from collections.abc import Sequence

import numpy as np

from slabfield import Posterior
from slabfield.draws import Draws
from slabfield.encoding import Encoder, Variable
from slabfield.encoding.scores import standard_scores
from slabfield.models.pairwise import pairwise_model

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


def mixed_variables() -> tuple[Variable, ...]:
    """One variable or two of every kind; the third level of "worry" never occurred."""
    five, four = standard_scores(5), standard_scores(4)
    return (
        Variable.binary("sleep", ("no", "yes")),
        Variable("mood", "ordinal", (1, 2, 3, 4, 5), tuple(five)),
        Variable(
            "worry", "ordinal", ("never", "rarely", "often"), tuple(four[[0, 1, 3]]),
            levels=("never", "rarely", "sometimes", "often"), positions=(0, 1, 3),
        ),
        Variable("opinion", "blume-capel", (-2, -1, 0, 1, 2), tuple(five), reference=2),
        Variable("place", "nominal", ("north", "south", "west"), ()),
        Variable("work", "nominal", ("office", "shop", "farm", "none"), ()),
    )  # fmt: skip


def make_up_levels(
    variables: Sequence[Variable] | None = None,
    n_chains: int = 4,
    n_draws: int = 300,
    seed: int = 1,
) -> Posterior:
    """Make up a posterior of nodes of mixed kinds; each parameter varies about a mean of its own.

    The first edge is always present, the second never.
    """
    rng = np.random.default_rng(seed)
    variables = mixed_variables() if variables is None else tuple(variables)
    model = pairwise_model(variables)
    each, interactions = (n_chains, n_draws), model.interactions
    n_edges, n_parameters = len(interactions), interactions.n_parameters
    probability = rng.beta(0.6, 0.6, n_edges)
    probability[:2] = [1.0, 0.0][:n_edges]
    present = rng.random((*each, n_edges)) < probability
    mean = rng.normal(size=n_parameters)
    parameters = mean + 0.2 * rng.normal(size=(*each, n_parameters))
    bias = rng.normal(size=model.n_biases) + 0.3 * rng.normal(size=(*each, model.n_biases))
    draws = Draws.from_dense(
        np.where(np.repeat(present, np.diff(interactions.group_start), axis=-1), parameters, 0.0),
        present, bias, rng.beta(5, 5, each), rng.gamma(20, 0.05, each), rng.normal(-100, 3, each),
        interactions, rng.gamma(20, 0.04, each) if model.n_scales == 2 else None,
    )  # fmt: skip
    settings = {
        "engine": "exact", "n_rows": 300, "total_weight": 300.0, "n_warmup": 50, "seed": 7,
        "scheme": "collapsed", "bias_scale": 10.0, "n_missing": 0, "n_dropped": 0,
        "inclusion_prior": {"a": 5.0, "b": 5.0, "edges": None},
        "slab_prior": {"c": 5.0, "d": 5.0, "sigma0": None},
        "level_shares": [[1 / v.n_levels] * v.n_levels for v in variables],
        "versions": {"slabfield": "0.1.0"},
    }  # fmt: skip
    names = [variable.name for variable in variables]
    info = [{"cpu_seconds": 1.5} for _ in range(n_chains)]
    return Posterior(draws, names, settings, info, Encoder(variables))
