"""Bayes PM at a density: which edges, and the field that is nearest to the mixture of draws."""

import numpy as np
import pytest

from slabfield.evaluate import pseudo_log_likelihood
from slabfield.reproduce.fitted_models import field_of
from slabfield.reproduce.images import gibbs_samples
from slabfield.reproduce.single_field import at_density, nearest

N_NODES, N_PAIRS, N_DRAWS = 4, 6, 20
ALL = np.ones(N_PAIRS, bool)


@pytest.fixture
def fit() -> dict[str, np.ndarray]:
    """Draws of a fit, about a field whose couplings grow with the number of the pair."""
    rng = np.random.default_rng(1)
    coupling = np.linspace(0.2, 1.5, N_PAIRS) + 0.1 * rng.standard_normal((N_DRAWS, N_PAIRS))
    present = rng.random((N_DRAWS, N_PAIRS)) < np.linspace(0.2, 1.0, N_PAIRS)
    bias = -1.0 + 0.1 * rng.standard_normal((N_DRAWS, N_NODES))
    probability = present.mean(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(present, coupling, 0.0).sum(axis=0) / present.sum(axis=0)
    return {
        "draw_bias": bias, "draw_edges": (present * coupling).astype(np.float32),
        "bias": bias.mean(axis=0), "edges": np.where(probability >= 0.5, mean, 0.0),
        "probability": probability, "mean": mean,
    }  # fmt: skip


@pytest.mark.parametrize(("density", "n_edges"), [(0.0, 1), (0.5, 3), (1.0, 6)])
def test_the_likeliest_edges_are_taken(fit, density, n_edges):
    single = at_density([0.3], [fit], density)
    chosen = single.edges != 0
    assert chosen.sum() == n_edges
    assert fit["probability"][chosen].min() == single.threshold
    assert fit["probability"][~chosen].max(initial=0.0) < single.threshold


def test_the_fit_with_the_nearest_graph_is_taken(fit):
    empty = fit | {"edges": np.zeros(N_PAIRS)}
    assert at_density([0.1, 0.5], [empty, fit], 0.6).p0 == 0.5
    assert at_density([0.1, 0.5], [empty, fit], 0.1).p0 == 0.1


def test_equal_draws_are_their_own_nearest_field(fit):
    same = fit | {name: fit[name][[0] * N_DRAWS] for name in ("draw_bias", "draw_edges")}
    found = nearest(same, ALL)
    np.testing.assert_allclose(found.coupling, same["draw_edges"][0], atol=1e-3)
    np.testing.assert_allclose(found.bias, same["draw_bias"][0], atol=1e-3)


def test_biases_belong_to_the_couplings(fit):
    rows = gibbs_samples(fit["draw_bias"], fit["draw_edges"], 200, 100, seed=2)
    single = at_density([0.5], [fit], 0.5)
    fields = [field_of(single.bias, single.edges), field_of(fit["bias"], single.edges)]
    coherent, other = (pseudo_log_likelihood(field, rows).mean() for field in fields)
    assert coherent > other + 0.02
