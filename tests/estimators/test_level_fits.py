"""Fits of tables with levels: weights, prior knowledge, limits, presets, copies and predictions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from level_tables import MIXED_KINDS, mixed_table, ordinal_table
from slabfield import SpikeSlabMRF, load_posterior
from slabfield.draws import Draws
from slabfield.encoding import read_counted
from slabfield.validation import InputError, InputWarning

TABLE = mixed_table(60)
LIKELIHOODS = ["exact", "particles", "pseudo"]


def quick(**parameters: Any) -> SpikeSlabMRF:
    given = {"n_chains": 2, "n_warmup": 12, "n_draws": 20, "random_state": 3, "kinds": MIXED_KINDS}
    return SpikeSlabMRF(**given | parameters)


def assert_same_draws(one: Draws, other: Draws) -> None:
    assert (one.parameters != other.parameters).nnz == 0
    for name in ("bias", "p0", "sigma0", "sigma0_nominal", "conditional_probability"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


# Weights


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("most", [2, 40])  # rows are repeated, or stored with their counts
def test_weights_are_numbers_of_equal_rows(likelihood: str, most: int) -> None:
    times = np.random.default_rng(0).integers(1, most + 1, len(TABLE))
    weighted = quick(likelihood=likelihood).fit(TABLE, sample_weight=times).posterior_
    order = np.random.default_rng(1).permutation(times.sum())
    repeated = TABLE.loc[TABLE.index.repeat(times)].iloc[order]
    assert_same_draws(weighted.draws, quick(likelihood=likelihood).fit(repeated).posterior_.draws)
    plain = quick(likelihood=likelihood).fit(TABLE).posterior_
    assert not np.array_equal(plain.draws.bias, weighted.draws.bias)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_fractional_weights_of_rows(likelihood: str) -> None:
    half = quick(likelihood=likelihood).fit(
        pd.concat([TABLE, TABLE]), sample_weight=np.full(2 * len(TABLE), 0.5)
    )
    assert_same_draws(
        half.posterior_.draws,
        quick(likelihood=likelihood).fit(TABLE, sample_weight=np.ones(60)).posterior_.draws,
    )


def test_rows_counted_in_chunks_give_the_draws_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    TABLE.to_csv(path, index=False)
    counted = read_counted(path, chunk_rows=7, kinds=MIXED_KINDS)
    whole = quick().fit(TABLE)
    found = quick(kinds=None).fit(counted)
    assert found.variables_ == whole.variables_
    assert_same_draws(whole.posterior_.draws, found.posterior_.draws)


# Prior knowledge


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_edges_that_are_forbidden_and_required(likelihood: str) -> None:
    model = quick(
        likelihood=likelihood, forbid=[("mood", "place")], require=[("place", "opinion"), (0, 2)],
    ).fit(TABLE)  # fmt: skip
    found = model.inclusion_probability_
    assert found[0, 1] == 0
    assert found[1, 3] == found[0, 2] == 1
    assert 0 < found[1, 2] < 1
    draws = model.posterior_.draws
    assert draws.group(draws.interactions.find(1, 3)).shape == (2, 20, 2)
    assert np.all(draws.group(draws.interactions.find(1, 3)) != 0)
    assert np.all(draws.group(draws.interactions.find(0, 1)) == 0)


def test_edges_with_a_prior_probability_of_their_own() -> None:
    loose = quick(inclusion_prior={("mood", "opinion"): 0.99}, n_draws=300).fit(TABLE)
    tight = quick(inclusion_prior={("mood", "opinion"): 0.01}, n_draws=300).fit(TABLE)
    found = [model.inclusion_probability_[0, 3] for model in (loose, tight)]
    assert found[0] > found[1] + 0.3
    fixed = quick(inclusion_prior=0.2, slab_prior=0.7).fit(TABLE).posterior_.draws
    assert np.all(fixed.p0 == 0.2)
    assert np.all(fixed.sigma0 == 0.7)
    assert np.all(fixed.sigma0_nominal == 0.7)


def test_communities_of_columns() -> None:
    communities = {"mood": 1, "opinion": 1, "place": 2, "work": 2}
    within, between = (
        quick(communities=communities, n_draws=300, **stated).fit(TABLE).inclusion_probability_
        for stated in ({"within": 1.0, "between": 0.02}, {"within": 0.0, "between": 0.98})
    )
    assert within[0, 3] == within[1, 2] == 1
    assert between[0, 3] == between[1, 2] == 0
    assert within[0, 2] < between[0, 2]


# Limits and fallbacks


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_time_budget_ends_a_fit(likelihood: str) -> None:
    model = quick(likelihood=likelihood, n_draws=10**7, time_budget=0.3).fit(TABLE)
    assert model.posterior_.settings["stopped_by"] == "time"
    assert 0 < model.posterior_.draws.n_draws < 10**7


def test_auto_takes_the_exact_likelihood_by_the_number_of_joint_states() -> None:
    # 3^12 states are summed, 3^13 are not
    for n_nodes, engine in ((12, "exact"), (13, "particles")):
        model = quick(kinds=None, sampler={"n_particles": 32}, n_draws=2, n_warmup=2, n_chains=1)
        model.fit(ordinal_table(n_nodes, 30))
        assert model.posterior_.settings["engine"] == engine


def test_auto_falls_back_to_the_pseudo_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ordinal_table(14, 40)
    monkeypatch.setattr("slabfield.chains.parallel.NOISE_LIMIT", -1.0)
    found = quick(kinds=None, sampler={"n_particles": 64}).fit(rows).posterior_
    assert "too noisy" in found.settings["fell_back"]
    assert found.settings["engine"] == "pseudo"
    assert any("pseudo" in warning for warning in found.warnings)
    monkeypatch.undo()
    pseudo = quick(kinds=None, likelihood="pseudo").fit(rows).posterior_
    assert_same_draws(found.draws, pseudo.draws)


def test_many_nodes_are_updated_in_scheduled_blocks() -> None:
    model = quick(kinds=None, likelihood="particles", n_warmup=20, n_draws=20)
    posterior = model.fit(ordinal_table(27, 60)).posterior_
    for info in posterior.info:
        assert info["planned_blocks"] > 0
        assert np.isfinite(info["moment_misfit"])
    # neighbors in the chain that made the table
    neighbors = [posterior.inclusion_probability[i, i + 1] for i in range(26)]
    assert np.mean(neighbors) > np.mean(posterior.inclusion_probability) + 0.2


# Columns


def test_a_constant_column_in_a_table_with_levels() -> None:
    with pytest.warns(InputWarning, match="'work' has the same value in every row"):
        model = quick().fit(TABLE.assign(work="yes"))
    assert model.variables_[2].labels == (None, "yes")
    assert np.all(np.isfinite(model.posterior_.draws.bias))
    with pytest.warns(InputWarning, match="'work' has the same value in every row"):
        stated = quick(levels={"work": ["no", "yes"]}).fit(TABLE.assign(work="yes"))
    assert stated.variables_[2].labels == ("no", "yes")
    assert_same_draws(model.posterior_.draws, stated.posterior_.draws)
    shares = stated.predict_proba(TABLE, nodes="work")
    assert np.all(shares[:, 1] > 0.9)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_stated_level_that_never_occurs_keeps_its_place(likelihood: str) -> None:
    gap = TABLE.assign(mood=TABLE["mood"].map({1: 1, 2: 2, 3: 4}))
    model = quick(levels={"mood": [1, 2, 3, 4]}, likelihood=likelihood).fit(gap)
    mood = model.variables_[0]
    assert (mood.labels, mood.positions) == ((1, 2, 4), (0, 1, 3))
    # with the same scores, three levels are the same model
    scores = {"mood": list(mood.scores)}
    assert_same_draws(
        model.posterior_.draws,
        quick(scores=scores, likelihood=likelihood).fit(TABLE).posterior_.draws,
    )
    assert not np.array_equal(
        model.posterior_.draws.bias, quick(likelihood=likelihood).fit(TABLE).posterior_.draws.bias
    )


# The paper's preset


@pytest.mark.parametrize("likelihood", ["auto", "exact"])
def test_the_papers_preset_with_ordinal_and_nominal_columns(likelihood: str) -> None:
    model = quick(preset="paper", likelihood=likelihood, kinds=None, sampler={"thin": 10})
    model.fit(TABLE)
    assert {v.kind for v in model.variables_} == {"ordinal", "nominal", "binary"}
    engine = "exact" if likelihood == "exact" else "particles"
    assert model.posterior_.settings["engine"] == engine
    assert model.posterior_.draws.bias.shape == (2, 20, 8)
    assert 0 < model.posterior_.density.mean() < 1
    assert model.score(TABLE) < 0


@pytest.mark.parametrize("likelihood", ["auto", "exact"])
def test_the_papers_preset_refuses_blume_capel_columns(likelihood: str) -> None:
    with pytest.raises(InputError, match="found Blume-Capel columns 'opinion'") as caught:
        quick(preset="paper", likelihood=likelihood).fit(TABLE)
    assert caught.value.code == "blume-capel-with-paper"
    assert "preset='paper'" in str(caught.value)


# Copies and predictions


@pytest.fixture(scope="module")
def fitted() -> SpikeSlabMRF:
    scores = {None: "range", "opinion": [0.0, 0.5, 1.0, 1.5]}
    return quick(scores=scores, n_draws=40).fit(TABLE)


def test_clones_have_the_parameters_and_make_the_same_draws(fitted: SpikeSlabMRF) -> None:
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.get_params()["kinds"] == MIXED_KINDS
    assert not hasattr(again, "posterior_")
    assert_same_draws(fitted.posterior_.draws, again.fit(TABLE).posterior_.draws)
    assert again.set_params(scores="raw").fit(TABLE).variables_[0].scores == (0.0, 1.0, 2.0)


def test_copies_predict_the_same(fitted: SpikeSlabMRF, tmp_path: Path) -> None:
    fitted.posterior_.save(tmp_path / "posterior.nc")
    copies = [
        pickle.loads(pickle.dumps(fitted)),
        pickle.loads(pickle.dumps(fitted.posterior_)),
        load_posterior(tmp_path / "posterior.nc"),
    ]
    new = mixed_table(25, seed=9)
    holes = mixed_table(25, seed=9, missing=0.3)
    expected = answers(fitted, new, holes)
    for copy in copies:
        for name, found in answers(copy, new, holes).items():
            pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected[name]))
    assert_same_draws(copies[0].posterior_.draws, fitted.posterior_.draws)
    assert_same_draws(copies[2].draws, fitted.posterior_.draws)
    assert copies[2].encoder.variables == fitted.variables_


def answers(model: Any, new: pd.DataFrame, holes: pd.DataFrame) -> dict[str, Any]:
    return {
        "score": [model.score(new)],
        "score_samples": model.score_samples(new),
        "predict_proba": np.hstack(model.predict_proba(holes)),
        "predict_proba as a frame": model.predict_proba(holes, as_frame=True),
        "predict_proba of one": model.predict_proba(new, nodes="place"),
        "predict": model.predict(holes),
        "predict as a frame": model.predict(holes, nodes=["place", "mood"], as_frame=True),
        "sample": model.sample(7, random_state=1),
        "sample as a frame": model.sample(7, random_state=1, as_frame=True),
        "conditional": model.conditional_log_likelihood(new),
    }


def test_predictions_are_answers_of_the_table(fitted: SpikeSlabMRF) -> None:
    holes = mixed_table(25, seed=9, missing=0.3)
    filled = holes.fillna(fitted.predict(holes, as_frame=True))
    for name in holes:
        assert set(filled[name]) <= set(TABLE[name])
    assert filled.notna().all(axis=None)
    shares = fitted.predict_proba(holes, as_frame=True)
    for name in holes:
        np.testing.assert_allclose(shares[name].sum(axis=1), 1.0)
        best = shares[name].idxmax(axis=1)
        assert list(best) == list(fitted.predict(holes, as_frame=True)[name])
    drawn = fitted.sample(50, random_state=0, as_frame=True)
    assert list(drawn.columns) == list(TABLE.columns)
    for name in drawn:
        assert set(drawn[name]) <= set(TABLE[name])
