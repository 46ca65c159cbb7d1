"""Features of nodes with levels, compared with the definition as the plain sampler has it."""

from __future__ import annotations

import numpy as np
import pytest

from level_runs import features_of, model_of
from reference import plain_levels

KINDS = [("ordinal", 2), ("nominal", 2), ("ordinal", 5), ("nominal", 4), ("blume-capel", 4)]


def test_log_potential_is_that_of_the_definition():
    model, rng = model_of(KINDS), np.random.default_rng(1)
    nodes = [plain_levels.node(*kind) for kind in KINDS]
    rows = rng.integers(0, model.n_states, (50, len(KINDS)))
    bias, coupling = rng.normal(size=model.n_biases), rng.normal(size=model.group_start[-1])
    mu = np.split(bias, model.bias_start[1:-1])
    sizes = [node.embedding.shape[1] for node in nodes]
    groups = {
        (i, j): coupling[model.group(alpha)].reshape(sizes[i], sizes[j])
        for alpha, (i, j) in enumerate(zip(*model.ends, strict=True))
    }
    expected = plain_levels.log_weights(nodes, rows, mu, groups)
    np.testing.assert_allclose(model.log_potential(rows, bias, coupling), expected, atol=1e-10)
    sums = model.sums(rows)
    potential = bias @ sums.bias + coupling @ sums.coupling
    assert potential == pytest.approx(expected.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_prior_precision_of_biases_is_that_of_the_definition(kind):
    found = features_of(*kind).bias_precision / plain_levels.BIAS_SCALE**2
    np.testing.assert_allclose(found, plain_levels.node(*kind).precision, atol=1e-12)


def test_nominal_log_odds_ratios_have_the_variance_of_the_slab():
    for k in (2, 3, 4, 5):
        distance = np.diff(features_of("nominal", k).embedding[[0, k - 1]], axis=0)
        other = np.diff(features_of("nominal", k).embedding[:2], axis=0)
        assert (distance**2).sum() * (other**2).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_are_functions_of_the_biases(kind):
    model = model_of([kind, kind])
    features, node = model.features([[0, 1], [1, 0]]), model.nodes[0]
    made = node.bias @ features.bias_of_embedding[0] + features.offset[0]
    np.testing.assert_allclose(made, node.embedding, atol=1e-12)


def test_conditional_is_the_normalized_potential():
    model, rng = model_of(KINDS), np.random.default_rng(2)
    rows = rng.integers(0, model.n_states, (10, len(KINDS)))
    bias, coupling = rng.normal(size=model.n_biases), rng.normal(size=model.group_start[-1])
    found = model.conditional(3, rows, bias, coupling)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    changed = rows.copy()
    changed[:, 3] = (rows[:, 3] + 1) % 4
    gain = model.log_potential(changed, bias, coupling) - model.log_potential(rows, bias, coupling)
    at = np.arange(10)
    np.testing.assert_allclose(np.log(found[at, changed[:, 3]] / found[at, rows[:, 3]]), gain)
