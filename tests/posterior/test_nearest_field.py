"""The single field nearest to the mixture of draws: stationarity, recovery, what it cannot have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from slabfield import Posterior
from slabfield.datasets import make_block
from slabfield.draws import Draws
from slabfield.encoding import Encoder, Variable
from slabfield.encoding.scores import standard_scores
from slabfield.estimators.spike_slab import SpikeSlabMRF
from slabfield.evaluate import node_probabilities, pseudo_log_likelihood
from slabfield.models.pairwise import pairwise_model
from slabfield.posterior.predictions import NEAREST_ROWS

LEVELS = (
    Variable("mood", "ordinal", ("low", "middle", "high"), tuple(standard_scores(3))),
    Variable("place", "nominal", ("north", "south", "west"), ()),
    Variable.binary("sleep", ("no", "yes")),
    Variable("trust", "blume-capel", (1, 2, 3, 4), tuple(standard_scores(4)), reference=1),
)
BITS = tuple(Variable.binary(name, (0, 1)) for name in "abcd")
KINDS = pytest.mark.parametrize("variables", [BITS, LEVELS], ids=["binary", "levels"])


def posterior_of(variables: Sequence[Variable], spread: float) -> Posterior:
    """Draws around one field: with a spread, of different graphs and values."""
    model, rng = pairwise_model(variables), np.random.default_rng(0)
    size, shape = model.interactions.n_parameters, (2, 20)
    mean, bias = 0.9 * rng.normal(size=size), 0.5 * rng.normal(size=model.n_biases)
    present = rng.random((*shape, len(model.interactions))) < (0.7 if spread else 1.0)
    coupling = mean + spread * rng.normal(size=(*shape, size))
    coupling *= np.repeat(present, np.diff(model.group_start), axis=-1)
    drawn = bias + spread * rng.normal(size=(*shape, model.n_biases))
    others = (np.full(shape, 0.5) for _ in range(3))
    draws = Draws.from_dense(coupling, present, drawn, *others, model.interactions)
    names = [variable.name for variable in variables]
    return Posterior(draws, names, {"engine": "exact"}, [{}, {}], Encoder(tuple(variables)))


def conditionals(model: object, rows: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Probabilities of all levels of every node given the others, side by side."""
    found = node_probabilities(model, rows)
    return np.hstack(found if isinstance(found, list) else [1 - found, found])


def divergence(posterior: Posterior, field: object, rows: NDArray[np.uint8]) -> float:
    """Mean divergence of the conditionals of a field from those of the mixture."""
    wanted = conditionals(list(posterior.fields()), rows)
    return float(np.sum(wanted * np.log(wanted / conditionals(field, rows))) / len(rows))


@KINDS
def test_a_mixture_of_equal_fields_is_that_field(variables: Sequence[Variable]) -> None:
    posterior = posterior_of(variables, 0.0)
    truth = posterior.fields()[0]
    start = posterior_of(variables, 0.3)
    object.__setattr__(posterior, "bias_mean", start.bias_mean)
    object.__setattr__(posterior, "parameter_mean", np.zeros_like(start.parameter_mean))
    found = posterior.nearest_field()
    np.testing.assert_allclose(found.bias, truth.bias, atol=2e-3)
    np.testing.assert_allclose(found.coupling, truth.coupling, atol=2e-3)


@KINDS
@pytest.mark.parametrize("n_edges", [0, 3, 6])
def test_no_other_field_with_these_edges_is_nearer(
    variables: Sequence[Variable], n_edges: int
) -> None:
    posterior = posterior_of(variables, 0.4)
    edges = np.arange(6) < n_edges
    rows = posterior.sample(NEAREST_ROWS, random_state=0)
    found = posterior.nearest_field(edges)
    np.testing.assert_array_equal(posterior.interactions.of_matrix(found.edges), edges)
    least, rng = divergence(posterior, found, rows), np.random.default_rng(1)
    inside = np.repeat(edges, np.diff(posterior.interactions.group_start))
    coupling = np.asarray(found.coupling)
    if coupling.ndim == 2:
        coupling = posterior.interactions.of_matrix(coupling)
    for size in (1e-2, 1e-1):
        for _ in range(10):
            bias = found.bias + size * rng.normal(size=found.bias.size)
            moved = coupling + size * rng.normal(size=coupling.size) * inside
            assert divergence(posterior, posterior.model.field(bias, moved), rows) > least


@KINDS
def test_all_edges_are_nearer_than_some_and_than_means(variables: Sequence[Variable]) -> None:
    posterior = posterior_of(variables, 0.4)
    rows = posterior.sample(2_000, random_state=5)
    every, some = (posterior.nearest_field(np.arange(6) < n) for n in (6, 3))
    mean = posterior.model.field(posterior.bias_mean, posterior.parameter_mean)
    nearest = divergence(posterior, every, rows)
    assert nearest < divergence(posterior, some, rows)
    assert nearest < 0.5 * divergence(posterior, mean, rows)


def test_the_estimator_has_the_nearest_field_of_its_likely_edges() -> None:
    train, test = (make_block(n, random_state=s).rows for n, s in ((100, 3), (2_000, 4)))
    model = SpikeSlabMRF(n_draws=150, n_warmup=50, random_state=1).fit(train)
    posterior = model.posterior_
    assert np.array_equal(model.coupling_ != 0, model.inclusion_probability_ >= 0.5)
    assert np.array_equal(model.field_.coupling, posterior.nearest_field().coupling)
    assert np.array_equal(model.bias_, model.field_.bias)
    coupling = np.where(
        model.inclusion_probability_ >= 0.5, np.nan_to_num(posterior.coupling_given_presence), 0.0
    )
    means = posterior.model.field(posterior.bias_mean, posterior.interactions.of_matrix(coupling))
    mixture, one, of_means = (
        pseudo_log_likelihood(fields, test).mean()
        for fields in (posterior.fields(100), model.field_, means)
    )
    assert mixture - one < 0.5 * (mixture - of_means)
    before = model.field_
    assert model.fit(test[:100]).field_ is not before


def test_rows_that_exclude_each_other_leave_it_finite() -> None:
    rows = np.eye(4, dtype=np.uint8)[np.random.default_rng(0).integers(0, 4, 200)]
    model = SpikeSlabMRF(n_draws=60, n_warmup=40, random_state=1).fit(rows)
    assert np.isfinite(model.coupling_).all()
    assert np.isfinite(model.bias_).all()
    assert model.field_.n_edges > 0
