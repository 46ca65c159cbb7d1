"""Predictions and predictive checks of a posterior of nodes with levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats.contingency import association

from level_fields import all_rows, probabilities
from slabfield import Posterior, evaluate, plots
from slabfield.draws import Draws
from slabfield.encoding import Encoder, Variable
from slabfield.encoding.scores import standard_scores
from slabfield.models.level_field import LevelField
from slabfield.models.pairwise import pairwise_model
from slabfield.posterior import predictive
from slabfield.posterior.predictive import associations, replicate_tables, summarize

VARIABLES = (
    Variable("mood", "ordinal", ("low", "middle", "high"), tuple(standard_scores(3))),
    Variable("place", "nominal", ("north", "south", "west"), ()),
    Variable.binary("sleep", ("no", "yes")),
    Variable("trust", "blume-capel", (1, 2, 3, 4), tuple(standard_scores(4)), reference=1),
)
NAMES = [variable.name for variable in VARIABLES]
MODEL = pairwise_model(VARIABLES)
SIZES = np.diff(MODEL.group_start)


def posterior_of(spread: float, n_draws: int = 30) -> Posterior:
    """Draws of two chains around one field; the edge of mood and sleep is never present."""
    rng = np.random.default_rng(0)
    mean = 0.9 * np.random.default_rng(1).normal(size=MODEL.interactions.n_parameters)
    present = rng.random((2, n_draws, 6)) < (0.7 if spread else 1.0)
    present[..., MODEL.interactions.find(0, 2)] = False
    coupling = mean + spread * rng.normal(size=(2, n_draws, mean.size))
    coupling *= np.repeat(present, SIZES, axis=-1)
    bias = 0.5 * np.random.default_rng(2).normal(size=MODEL.n_biases)
    bias = bias + spread * rng.normal(size=(2, n_draws, MODEL.n_biases))
    others = (np.full((2, n_draws), 0.5) for _ in range(3))
    draws = Draws.from_dense(coupling, present, bias, *others, MODEL.interactions)
    settings = {"engine": "exact", "seed": 0}
    return Posterior(draws, NAMES, settings, [{}, {}], Encoder(VARIABLES, has_names=True))


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return posterior_of(0.2)


def labeled(rows: NDArray[np.uint8]) -> pd.DataFrame:
    return pd.DataFrame(
        {each.name: [each.labels[code] for code in rows[:, k]] for k, each in enumerate(VARIABLES)}
    )


ROWS = np.random.default_rng(5).integers(0, [3, 3, 2, 4], (40, 4)).astype(np.uint8)
TABLE = labeled(ROWS)


def test_fields_are_those_of_the_draws(posterior: Posterior) -> None:
    draws = posterior.draws
    assert posterior.model.n_biases == draws.bias.shape[-1]
    fields = posterior.fields()
    assert len(fields) == 60
    for k in (0, 17, 59):
        field = fields[k]
        assert isinstance(field, LevelField)
        np.testing.assert_array_equal(field.bias, draws.bias.reshape(60, -1)[k])
        np.testing.assert_array_equal(field.coupling, draws.parameters.toarray()[k])
        assert not field.edges[0, 2]


def test_scores_and_predictions_are_those_of_the_fields(posterior: Posterior) -> None:
    fields = list(posterior.fields())
    expected = evaluate.pseudo_log_likelihood(fields, ROWS)
    np.testing.assert_allclose(posterior.score_samples(TABLE), expected)
    assert posterior.score(TABLE) == pytest.approx(expected.mean())
    every = posterior.predict_proba(TABLE)
    assert [each.shape for each in every] == [(40, 3), (40, 3), (40, 2), (40, 4)]
    for found, each in zip(every, evaluate.node_probabilities(fields, ROWS), strict=True):
        np.testing.assert_allclose(found, each)
    group = posterior.conditional_log_likelihood(TABLE, ["trust", "place"])
    expected = evaluate.conditional_log_likelihood(fields, ROWS, [3, 1])
    np.testing.assert_allclose(group, expected)


def test_predictions_of_one_node_are_an_array_and_of_several_a_list(posterior: Posterior) -> None:
    one = posterior.predict_proba(TABLE, nodes="place")
    assert one.shape == (40, 3)
    unknown = np.tile([False, True, False, False], (40, 1))
    expected = evaluate.node_probabilities(list(posterior.fields()), ROWS, unknown, nodes=1)
    np.testing.assert_allclose(one, expected)
    (same,) = posterior.predict_proba(TABLE, nodes=["place"])
    np.testing.assert_allclose(same, one)
    assert posterior.predict_proba(TABLE, nodes="sleep").shape == (40, 2)
    frame = posterior.predict_proba(TABLE, nodes=["trust", "sleep"], as_frame=True)
    assert frame.columns.tolist() == [
        *(("trust", label) for label in (1, 2, 3, 4)), ("sleep", "no"), ("sleep", "yes")
    ]  # fmt: skip
    np.testing.assert_allclose(frame["trust"].sum(axis=1), 1.0)
    assert frame.index.equals(TABLE.index)


def test_missing_entries_are_filled_with_the_most_probable_label(posterior: Posterior) -> None:
    gaps = np.random.default_rng(0).random(TABLE.shape) < 0.3
    incomplete = TABLE.astype(object).mask(gaps, None)
    every = posterior.predict_proba(incomplete)
    expected = evaluate.node_probabilities(list(posterior.fields()), ROWS, gaps)
    for found, each in zip(every, expected, strict=True):
        np.testing.assert_allclose(found, each)
    codes = posterior.predict(incomplete)
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, np.column_stack([each.argmax(1) for each in every]))
    labels = posterior.predict(incomplete, as_frame=True)
    assert labels["place"].tolist() == [VARIABLES[1].labels[code] for code in codes[:, 1]]
    np.testing.assert_array_equal(posterior.predict(incomplete, nodes="place").shape, (40, 1))


def test_new_rows_have_labels(posterior: Posterior) -> None:
    codes = posterior.sample(300, random_state=0)
    np.testing.assert_array_equal(codes.max(axis=0), [2, 2, 1, 3])
    frame = posterior.sample(300, random_state=0, as_frame=True)
    pd.testing.assert_frame_equal(frame, labeled(codes), check_dtype=False)


def test_large_fields_use_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    from slabfield.posterior import predictions

    monkeypatch.setattr(predictions, "MAX_ENTRIES", 20 * 12**2)
    assert len(posterior_of(0.2)._fields()) == 20


# --- predictive checks ------------------------------------------------------------------------


def test_associations_are_correlations_and_cramers_v() -> None:
    found = associations(ROWS, VARIABLES)
    scores = [np.array(VARIABLES[k].scores)[ROWS[:, k]] for k in (0, 2, 3)]
    expected = np.corrcoef(scores)
    np.testing.assert_allclose(found[np.ix_([0, 2, 3], [0, 2, 3])], expected, atol=1e-12)
    for other in (0, 2, 3):
        table = pd.crosstab(ROWS[:, 1], ROWS[:, other]).to_numpy()
        assert found[1, other] == pytest.approx(association(table, method="cramer"))
    constant = ROWS.copy()
    constant[:, 0] = 1
    assert not associations(constant, VARIABLES)[0, 1:].any()


@pytest.mark.parametrize("exact", [True, False])
def test_replicates_have_the_shares_of_their_fields(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exact:
        monkeypatch.setattr(predictive, "MAX_EXACT_STATES", 1)
    posterior = posterior_of(0.0)
    field = posterior.fields()[0]
    found = replicate_tables(posterior, 2_000, 20, seed=0)
    assert found.exact is exact
    rows, weights = all_rows(field), probabilities(field)
    expected = np.concatenate([np.bincount(rows[:, i], weights) for i in range(4)])
    error = np.sqrt(expected * (1 - expected) / (20 * 2_000))
    assert np.abs((found.summary.nodes.mean(axis=0) - expected) / error).max() < 5
    # the test has power: shares of the field without edges are others
    alone = MODEL.field(field.bias, np.zeros(field.coupling.size))
    other = np.concatenate([np.bincount(rows[:, i], probabilities(alone)) for i in range(4)])
    assert np.abs((found.summary.nodes.mean(axis=0) - other) / error).max() > 5
    assert found.summary.pairs.shape == (20, 4, 4)


def test_the_tree_has_shares_of_levels_and_associations(posterior: Posterior) -> None:
    from slabfield.posterior.arviz_groups import data_groups

    groups = data_groups(posterior, TABLE, None, 20)
    observed, again = groups["observed_data"], groups["posterior_predictive"]
    np.testing.assert_array_equal(observed["x"], ROWS)
    assert observed["level_frequency"].sel(level="place = west") == (ROWS[:, 1] == 2).mean()
    upper = np.triu_indices(4, 1)
    np.testing.assert_allclose(observed["pair_association"], associations(ROWS, VARIABLES)[upper])
    assert again["level_frequency"].dims == ("chain", "draw", "level")
    assert again["pair_association"].sizes == {"chain": 1, "draw": 60, "edge": 6}
    likelihood = groups["log_likelihood"]["x"]
    first = evaluate.log_likelihood(posterior.fields()[0], ROWS)
    np.testing.assert_allclose(likelihood[0, 0], first.values)


def test_the_predictive_check_shows_pairs_and_levels() -> None:
    posterior = posterior_of(0.0)
    new = posterior.sample(500, random_state=3)
    ax = plots.predictive_check(posterior, labeled(new), n_draws=40)
    drawn = {line.get_marker(): line for line in ax.lines}
    x = np.concatenate([drawn[marker].get_xdata() for marker in "os"])
    expected = posterior.interactions.of_matrix(associations(new, VARIABLES))
    np.testing.assert_allclose(np.sort(x), np.sort(expected))
    x = np.concatenate([drawn[marker].get_xdata() for marker in "^v"])
    np.testing.assert_allclose(np.sort(x), np.sort(summarize(new, VARIABLES).nodes))
    assert "of 18 pairs and levels outside" in ax.get_title(loc="left")
    assert int(ax.get_title(loc="left").split()[0]) <= 4
    assert "Cramer's V" in ax.get_xlabel()
    # rows of other shares are not those of the model
    ax = plots.predictive_check(posterior, labeled(ROWS.repeat(10, axis=0)), n_draws=40)
    assert int(ax.get_title(loc="left").split()[0]) > 6
    assert any(" = " in text.get_text() or " - " in text.get_text() for text in ax.texts)
