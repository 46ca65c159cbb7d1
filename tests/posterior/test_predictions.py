"""Predictions of a posterior: those of its estimator, also after it was saved and loaded."""

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from made_up_posteriors import make_up
from slabfield import Posterior, SpikeSlabMRF, evaluate, load_posterior
from slabfield.datasets import make_block
from slabfield.posterior import predictions
from slabfield.validation import InputError

ROWS = make_block(140, random_state=3, n_groups=1).rows
CODES = np.hstack([ROWS, ROWS[::-1, :2]])
LABELS = {
    "sleep": ("no", "yes"),
    "work": (False, True),
    "grade": (1, 2),
    "day": (datetime.date(2020, 1, 31), datetime.date(2021, 1, 1)),
    "dose": (Decimal("0.5"), Decimal("1.5")),
}


def labeled() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            name: np.array(labels, dtype=object)[CODES[:, k]]
            for k, (name, labels) in enumerate(LABELS.items())
        }
    )
    frame["age"] = 30 + 20 * CODES[:, 5] + np.arange(len(CODES)) % 10  # cut at 45
    return frame


FRAME = labeled()
TRAIN, TEST = FRAME[:100], FRAME[100:]


@pytest.fixture(scope="module")
def model() -> SpikeSlabMRF:
    settings = {"n_chains": 2, "n_draws": 60, "n_warmup": 30, "random_state": 0}
    return SpikeSlabMRF(binarize={"age": 45}, **settings).fit(TRAIN)


@pytest.fixture(scope="module")
def loaded(model: SpikeSlabMRF, tmp_path_factory: pytest.TempPathFactory) -> Posterior:
    path = tmp_path_factory.mktemp("saved") / "posterior.nc"
    model.posterior_.save(path)
    return load_posterior(path)


def with_gaps() -> pd.DataFrame:
    gaps = np.random.default_rng(0).random(TEST.shape) < 0.3
    return TEST.astype(object).mask(gaps, None)


def test_a_loaded_posterior_predicts_like_the_estimator(
    model: SpikeSlabMRF, loaded: Posterior
) -> None:
    incomplete = with_gaps()
    for one in (model.posterior_, loaded):
        assert one.score(TEST) == model.score(TEST)
        np.testing.assert_array_equal(one.score_samples(TEST), model.score_samples(TEST))
        np.testing.assert_array_equal(
            one.predict_proba(incomplete), model.predict_proba(incomplete)
        )
        np.testing.assert_array_equal(
            one.predict_proba(TEST, nodes=["day", "sleep"]),
            model.predict_proba(TEST, nodes=["day", "sleep"]),
        )
        pd.testing.assert_frame_equal(
            one.predict(incomplete, as_frame=True), model.predict(incomplete, as_frame=True)
        )
        np.testing.assert_array_equal(
            one.sample(9, random_state=1), model.sample(9, random_state=1)
        )
        np.testing.assert_array_equal(
            one.conditional_log_likelihood(TEST, ["age", "work"]),
            model.conditional_log_likelihood(TEST, ["age", "work"]),
        )


def test_labels_are_coded_as_in_the_fit(model: SpikeSlabMRF, loaded: Posterior) -> None:
    assert loaded.encoder == model.posterior_.encoder
    found = loaded.encoder.transform(TEST).rows
    np.testing.assert_array_equal(found, CODES[100:])
    # the score is that of the codes
    fields = list(loaded.fields(100))
    expected = evaluate.pseudo_log_likelihood(fields, CODES[100:])
    np.testing.assert_allclose(loaded.score_samples(TEST), expected)
    assert loaded.score(TEST) == pytest.approx(expected.mean())


def test_frames_of_predictions_and_new_rows_hold_labels(loaded: Posterior) -> None:
    incomplete = with_gaps()
    codes, frame = loaded.predict(incomplete), loaded.predict(incomplete, as_frame=True)
    np.testing.assert_array_equal(codes, loaded.predict_proba(incomplete) > 0.5)
    assert codes.dtype == np.uint8
    for k, variable in enumerate(loaded.encoder.variables):
        expected = [variable.labels[code] for code in codes[:, k]]
        assert frame[variable.name].tolist() == expected
    assert frame.index.equals(TEST.index)
    assert frame["work"].dtype == bool
    named = loaded.predict(TEST, nodes="grade", as_frame=True)
    assert list(named.columns) == ["grade"]
    new = loaded.sample(50, random_state=0, as_frame=True)
    assert set(new["sleep"]) == {"no", "yes"}
    assert set(new["age"]) == {"< 45", ">= 45"}
    np.testing.assert_array_equal(new["grade"] - 1, loaded.sample(50, random_state=0)[:, 2])


def test_other_labels_and_columns_are_refused(loaded: Posterior) -> None:
    with pytest.raises(InputError) as caught:
        loaded.predict_proba(TEST.assign(sleep="maybe"))
    assert (caught.value.code, caught.value.fields["column"]) == ("unknown-label", "sleep")
    with pytest.raises(InputError) as caught:
        loaded.score(TEST[TEST.columns[::-1]])
    assert caught.value.code == "other-column-names"
    with pytest.raises(InputError) as caught:
        loaded.score(TEST.drop(columns="age"))
    assert caught.value.code == "other-number-of-columns"
    assert caught.value.fields["model"] == "Posterior"
    with pytest.raises(InputError) as caught:
        loaded.score(with_gaps())
    assert caught.value.code == "missing-values-here"


def test_an_array_stays_an_array(tmp_path: Path) -> None:
    model = SpikeSlabMRF(n_chains=1, n_draws=20, n_warmup=10, random_state=0).fit(ROWS)
    model.posterior_.save(tmp_path / "posterior.nc")
    again = load_posterior(tmp_path / "posterior.nc")
    assert not again.encoder.has_names
    assert again.score(ROWS) == model.score(ROWS)  # and no warning about names


def test_nodes_hold_0_and_1_where_nothing_else_is_known() -> None:
    posterior = make_up()
    rows = [[0, 1, 0], [1, 1, 1]]
    np.testing.assert_array_equal(posterior.encoder.transform(rows).rows, rows)


def test_large_fields_use_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = make_up(2, 50, share=0.2)
    assert len(posterior._fields()) == 100
    monkeypatch.setattr(predictions, "MAX_ENTRIES", 20 * 3**2)
    assert len(posterior._fields()) == 20
    monkeypatch.setattr(predictions, "MAX_ENTRIES", 1)
    assert len(posterior._fields()) == 10


def test_fields_are_those_of_the_draws() -> None:
    posterior = make_up(2, 7, share=0.5)
    fields = posterior.fields()
    assert len(fields) == 14
    draws = posterior.draws
    for k, field in enumerate(fields):
        chain, draw = divmod(k, 7)
        np.testing.assert_array_equal(field.bias, draws.bias[chain, draw])
        expected = posterior.interactions.as_matrix(draws.coupling[chain, draw])
        np.testing.assert_array_equal(field.coupling, expected)
    assert len(fields[3:5]) == 2
    with pytest.raises(IndexError):
        fields[14]
    with pytest.raises(InputError):
        posterior.fields(0)
