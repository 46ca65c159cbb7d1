"""What every model of rows answers after a fit: scores, new rows, predictions, a summary."""

import itertools
import json
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer

import slabfield
from slabfield import SpikeSlabMRF
from slabfield.baselines import ChowLiuTree, L1Neighbourhood, L1PseudoLikelihood
from slabfield.checks import InputError, InputWarning
from slabfield.datasets import make_block
from slabfield.evaluate import draw_fields, draw_rows, node_probabilities, prediction, sampling
from slabfield.face import compiling, tell_of_compiling
from slabfield.models.field import BinaryField

ROWS = make_block(120, random_state=3, n_groups=1).rows
NAMES = ["sleep", "work", "mood", "pain"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
TRAIN, TEST = FRAME[:80], FRAME[80:]

MODELS: list[Any] = [
    SpikeSlabMRF(n_chains=1, n_draws=40, n_warmup=20, random_state=0),
    L1Neighbourhood(strength=0.02),
    L1PseudoLikelihood(strength=0.02),
    ChowLiuTree(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def fields_of(model: Any) -> list[BinaryField]:
    if isinstance(model, SpikeSlabMRF):
        return draw_fields(model.posterior_, 100)
    return [BinaryField(model.bias_, model.coupling_)]


def all_states(n_nodes: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product([0, 1], repeat=n_nodes)))


def weights_of(field: BinaryField) -> NDArray[np.float64]:
    weights = np.exp(field.log_potential(all_states(field.n_nodes)))
    return weights / weights.sum()


def by_hand(
    fields: list[BinaryField], row: NDArray[Any], unknown: NDArray[Any], node: int
) -> float:
    """P(node = 1 given what is known of the others), from the table of all states."""
    states = all_states(len(row))
    fits = np.ones(len(states), bool)
    for j in range(len(row)):
        if j != node and not unknown[j]:
            fits &= states[:, j] == row[j]
    chances = []
    for field in fields:
        weights = weights_of(field)
        chances.append(weights[fits & (states[:, node] == 1)].sum() / weights[fits].sum())
    return float(np.mean(chances))


# --- score ------------------------------------------------------------------------------------


@every_model
def test_the_score_is_the_mean_pseudo_log_likelihood(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    x = TEST.to_numpy(float)
    chance = np.mean(
        [1 / (1 + np.exp(-(field.bias + x @ field.coupling))) for field in fields_of(model)], axis=0
    )
    expected = np.log(np.where(x == 1, chance, 1 - chance)).sum(axis=1).mean()
    assert model.score(TEST) == pytest.approx(expected)
    assert model.score(TEST, y=np.zeros(len(TEST))) == model.score(TEST)
    assert model.score(TEST) > 4 * np.log(0.5)


@every_model
def test_nothing_is_answered_before_a_fit(model: Any) -> None:
    for ask in (
        lambda m: m.score(TEST),
        lambda m: m.sample(2),
        lambda m: m.predict_proba(TEST),
        lambda m: m.conditional_log_likelihood(TEST, ["sleep"]),
    ):
        with pytest.raises(NotFittedError):
            ask(clone(model))


# --- prediction -------------------------------------------------------------------------------


@every_model
def test_predictions_are_those_of_the_table_of_all_states(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    fields, rows = fields_of(model), TEST.to_numpy()[:6]
    unknown = np.random.default_rng(0).random(rows.shape) < 0.5
    holey = np.where(unknown, np.nan, rows)
    expected = [
        [by_hand(fields, rows[r], unknown[r], i) for i in range(4)] for r in range(len(rows))
    ]
    found = model.predict_proba(pd.DataFrame(holey, columns=NAMES))
    np.testing.assert_allclose(found, expected)
    # a mask says the same, whatever the entries are
    np.testing.assert_allclose(model.predict_proba(TEST.head(6), mask=unknown), found)
    nothing = np.zeros(4, bool)
    np.testing.assert_allclose(
        model.predict_proba(TEST.head(6)),
        [[by_hand(fields, row, nothing, i) for i in range(4)] for row in rows],
    )


@every_model
def test_named_nodes_are_predicted_together_from_the_others(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    hidden = np.array([False, True, False, True])
    rows = TEST.to_numpy()[:5]
    found = model.predict_proba(TEST.head(5), nodes=["pain", "work"])
    expected = [[by_hand(fields_of(model), row, hidden, i) for i in (3, 1)] for row in rows]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(found, model.predict_proba(TEST.head(5), nodes=[3, 1]))
    # their entries are not looked at
    other = TEST.head(5).assign(pain="?", work=np.nan)
    np.testing.assert_array_equal(found, model.predict_proba(other, nodes=["pain", "work"]))
    one = model.predict_proba(TEST.head(5), nodes="pain", as_frame=True)
    assert list(one.columns) == ["pain"]
    assert one.index.equals(TEST.head(5).index)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("pian", "nodes must name nodes of the table; got 'pian'"),
        ([4], "got 4.*from 0 to 3"),
        ([-1], "got -1"),
        ([], "at least one node"),
        (["pain", 3], "each once"),
        ([True], "got True"),
    ],
)
def test_nodes_that_there_are_not(nodes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ChowLiuTree().fit(TRAIN).predict_proba(TEST, nodes=nodes)


@pytest.mark.parametrize("mask", [np.zeros((40, 3), bool), np.zeros((40, 4)), "all"])
def test_a_mask_of_another_shape_or_kind(mask: Any) -> None:
    with pytest.raises(InputError, match="mask must hold True and False"):
        ChowLiuTree().fit(TRAIN).predict_proba(TEST, mask=mask)


def random_field(n_nodes: int, seed: int, share: float) -> BinaryField:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(size=(n_nodes, n_nodes)) * (rng.random((n_nodes,) * 2) < share), 1)
    return BinaryField(rng.normal(size=n_nodes), upper + upper.T)


def test_many_unknown_nodes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    field, rng = random_field(7, 0, 0.5), np.random.default_rng(1)
    rows, unknown = rng.integers(0, 2, (12, 7)), rng.random((12, 7)) < 0.6
    exact = node_probabilities(field, rows, unknown)
    expected = [[by_hand([field], rows[r], unknown[r], i) for i in range(7)] for r in range(12)]
    np.testing.assert_allclose(exact, expected)
    monkeypatch.setattr(prediction, "MOST_ENUMERATED", 1)
    sampled = node_probabilities(field, rows, unknown, random_state=0)
    assert 0 < np.abs(sampled - exact).max() < 0.05
    # and few: a wrong field is told apart by this test
    wrong = node_probabilities(BinaryField(field.bias, 1.5 * field.coupling), rows, unknown)
    assert np.abs(wrong - exact).max() > 0.05


# --- new rows ---------------------------------------------------------------------------------


@every_model
def test_new_rows_have_the_moments_of_the_model(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    rows = model.sample(4_000, random_state=1)
    assert rows.shape == (4_000, 4)
    assert rows.dtype == np.uint8
    states = all_states(4)
    chance = np.mean([weights_of(field) for field in fields_of(model)], axis=0)
    seen = np.array([np.mean(np.all(rows == state, axis=1)) for state in states])
    # 4 standard errors of a share, and what posterior draws beyond the hundred differ by
    assert np.all(np.abs(seen - chance) < 4 * np.sqrt(chance / 4_000) + 0.01)
    np.testing.assert_array_equal(rows, model.sample(4_000, random_state=1))
    assert not np.array_equal(rows, model.sample(4_000, random_state=2))
    frame = model.sample(3, np.random.RandomState(0), as_frame=True)
    assert list(frame.columns) == NAMES


@pytest.mark.parametrize("n", [0, -1, 2.5, None])
def test_how_many_rows(n: Any) -> None:
    with pytest.raises(InputError, match="n must be a whole number"):
        ChowLiuTree().fit(TRAIN).sample(n)


@pytest.mark.parametrize("way", ["enumeration", "elimination", "gibbs"])
def test_every_way_to_draw_rows(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way != "enumeration":
        monkeypatch.setattr(sampling, "MOST_ENUMERATED", 1)
    if way == "gibbs":
        monkeypatch.setattr(sampling, "MEMORY_LIMIT", 1)
        monkeypatch.setattr(sampling, "N_SWEEPS", 50)
    field = random_field(5, 4, 0.6)
    rows = draw_rows(field, 6_000, random_state=0)
    chance = weights_of(field)
    seen = np.array([np.mean(np.all(rows == state, axis=1)) for state in all_states(5)])
    statistic = 6_000 * np.sum((seen - chance) ** 2 / chance)
    assert statistic < 61.1  # chi-square, 31 degrees of freedom, 1 in 1,000
    wrong = weights_of(BinaryField(field.bias, 1.2 * field.coupling))
    assert 6_000 * np.sum((seen - wrong) ** 2 / wrong) > 61.1


def test_few_rows_come_from_draws_at_random() -> None:
    model = clone(MODELS[0]).fit(TRAIN)
    first = {tuple(model.sample(1, random_state=k)[0]) for k in range(30)}
    assert len(first) > 3


# --- conditional log-likelihood ---------------------------------------------------------------


@every_model
def test_a_group_given_the_rest(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    one = model.conditional_log_likelihood(TEST, "mood")
    chance = model.predict_proba(TEST)[:, 2]
    expected = np.log(np.where(TEST["mood"] == 1, chance, 1 - chance))
    np.testing.assert_allclose(one, expected)
    np.testing.assert_allclose(model.conditional_log_likelihood(TEST, [2]), expected)
    own = np.tile([2], (len(TEST), 1))
    np.testing.assert_allclose(model.conditional_log_likelihood(TEST, own), expected)
    whole = model.conditional_log_likelihood(TEST)
    states = {tuple(state): k for k, state in enumerate(all_states(4).tolist())}
    weights = np.mean([weights_of(field) for field in fields_of(model)], axis=0)
    places = [states[tuple(row)] for row in TEST.to_numpy().tolist()]
    np.testing.assert_allclose(whole, np.log(weights[places]))


# --- tables of every kind, coded as the fitted one --------------------------------------------


@every_model
def test_every_kind_of_table_gives_the_same(model: Any) -> None:
    expected = clone(model).fit(TRAIN)
    kinds = [
        TRAIN.to_numpy().tolist(),
        TRAIN.to_numpy(),
        TRAIN.to_numpy().astype(bool),
        sparse.csr_matrix(TRAIN.to_numpy()),
        sparse.csc_array(TRAIN.to_numpy().astype(float)),
        pl.from_pandas(TRAIN),
        pl.from_pandas(TRAIN).lazy(),
    ]
    for table in kinds:
        again = clone(model).fit(table)
        np.testing.assert_array_equal(again.coupling_, expected.coupling_)
        assert again.score(table) == expected.score(TRAIN)
        found = again.predict_proba(table)
        np.testing.assert_array_equal(found, expected.predict_proba(TRAIN))
        named = isinstance(table, (pl.DataFrame, pl.LazyFrame))
        assert again.node_names_ == (NAMES if named else ["x0", "x1", "x2", "x3"])
        assert hasattr(again, "feature_names_in_") == named


def test_polars_columns_of_every_kind() -> None:
    frame = pl.DataFrame(
        {
            "words": pl.Series(["no", "yes", "no", "yes"], dtype=pl.Categorical),
            "truth": [True, False, True, True],
            "grade": [1, 5, 3, 2],
            "small": pl.Series([0, 1, 1, 0], dtype=pl.UInt8),
        }
    )
    tree = ChowLiuTree(binarize={"grade": "median"}).fit(frame)
    assert tree.coding_ == [
        (("no", "yes"), None),
        ((False, True), None),
        (("< 3", ">= 3"), 3.0),
        ((0, 1), None),
    ]
    assert tree.node_names_ == frame.columns
    same = ChowLiuTree(binarize={"grade": "median"}).fit(frame.to_pandas())
    np.testing.assert_array_equal(tree.coupling_, same.coupling_)
    holey = frame.with_columns(
        truth=pl.Series([True, None, False, True]), grade=pl.Series([1, 2, 1, None])
    )
    with pytest.raises(InputError, match=r"missing values.*'truth' \(1\) and 'grade' \(1\)"):
        ChowLiuTree().fit(holey)


def test_rows_are_coded_as_the_fitted_table_was() -> None:
    words = FRAME.replace({"sleep": {0: "no", 1: "yes"}}).assign(pain=FRAME["pain"] * 3 + 1)
    plain = ChowLiuTree().fit(FRAME[:80])
    tree = ChowLiuTree(binarize={"pain": 2}).fit(words[:80])
    assert tree.score(words[80:]) == plain.score(FRAME[80:])
    # one row, and one value of a column, tell nothing of the coding: that of the fit is kept
    assert tree.score(words[80:81]) == plain.score(FRAME[80:81])
    assert tree.score(words[80:].assign(pain=9.5)) == plain.score(FRAME[80:].assign(pain=1))
    with pytest.raises(InputError, match=r"'sleep' must hold 'no' and 'yes'.*holds 'maybe'"):
        tree.score(words[80:].assign(sleep="maybe"))
    with pytest.raises(InputError, match="'pain' was cut at 2 and must hold finite numbers"):
        tree.score(words[80:].assign(pain="much"))
    with pytest.raises(InputError, match="finite numbers"):
        tree.score(words[80:].assign(pain=np.inf))
    with pytest.raises(InputError, match=r"no missing values.*'work'"):
        tree.score(words[80:].assign(work=np.nan))
    with pytest.raises(InputError, match=r"'work' must hold 0 and 1.*holds 2"):
        tree.score(words[80:].assign(work=2))


def test_a_value_that_was_not_there_stands_for_the_other_one() -> None:
    with pytest.warns(InputWarning, match="same value"):
        tree = ChowLiuTree().fit(FRAME.assign(work="yes"))
    assert tree.coding_[1] == ((None, "yes"), None)
    rows = FRAME.head(4).assign(work=["yes", "no", "yes", "no"])
    alone = tree.predict_proba(rows, nodes="work")
    assert np.all(alone > 0.9)
    assert tree.conditional_log_likelihood(rows, "work")[1] < np.log(0.1)


@every_model
def test_names_and_order_of_columns_are_checked(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    with pytest.raises(InputError, match="the same names in another order"):
        model.score(TEST[NAMES[::-1]])
    with pytest.raises(InputError, match="unseen at fit time: 'dog'; names now missing: 'pain'"):
        model.score(TEST.rename(columns={"pain": "dog"}))
    with pytest.raises(InputError, match=r"X has 3 features, but .* is expecting 4"):
        model.score(TEST[NAMES[:3]])
    with pytest.warns(InputWarning, match="does not have valid feature names"):
        model.score(TEST.to_numpy())
    bare = clone(model).fit(TRAIN.to_numpy())
    with pytest.warns(InputWarning, match="X has feature names, but"):
        bare.score(TEST)


def test_halves_by_the_median() -> None:
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "c": [0, 1] * 30})
    tree = ChowLiuTree(binarize="median").fit(numbers)
    (_, a), (_, b), (_, c) = tree.coding_
    assert (numbers["a"] >= a).sum() == (numbers["b"] >= b).sum() == 30
    assert c is None
    # most values equal: the cut is where something is left on both sides
    skewed = ChowLiuTree(binarize="median").fit(numbers.assign(c=[5] * 50 + [9] * 10))
    assert skewed.coding_[2][1] == 9.0


# --- scikit-learn's tools ---------------------------------------------------------------------


@every_model
def test_a_grid_search_maximises_the_score(model: Any) -> None:
    name = {"SpikeSlabMRF": "inclusion_prior", "ChowLiuTree": "smoothing"}.get(
        type(model).__name__, "strength"
    )
    grid = {"inclusion_prior": [0.5, 0.001], "smoothing": [1.0, 1e5], "strength": [0.02, 5.0]}
    search = GridSearchCV(model, {name: grid[name]}, cv=2, error_score="raise").fit(FRAME)
    # the second of each leaves no edges, and the rows have some
    assert search.best_params_ == {name: grid[name][0]}
    assert search.best_score_ == pytest.approx(
        cross_val_score(clone(model).set_params(**{name: grid[name][0]}), FRAME, cv=2).mean()
    )
    assert search.predict_proba(TEST).shape == (40, 4)


@every_model
def test_in_a_pipeline(model: Any) -> None:
    numbers = FRAME.to_numpy() * 4.0 - 1.0
    pipeline = make_pipeline(Binarizer(threshold=1.0), clone(model)).fit(numbers[:80])
    direct = clone(model).fit(ROWS[:80])
    assert pipeline.score(numbers[80:]) == direct.score(ROWS[80:])
    np.testing.assert_array_equal(
        pipeline.predict_proba(numbers[80:]), direct.predict_proba(ROWS[80:])
    )
    frames = make_pipeline(FunctionTransformer(lambda table: table), clone(model)).fit(TRAIN)
    assert frames[-1].node_names_ == NAMES


@every_model
def test_cloned_pickled_and_set(model: Any) -> None:
    fitted = clone(model).set_params(binarize="median").fit(TRAIN)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == fitted.get_params()
    assert again.score(TEST) == fitted.score(TEST)
    np.testing.assert_array_equal(again.sample(5, 0), fitted.sample(5, 0))
    assert repr(again) == repr(fitted)
    assert repr(clone(fitted)).startswith(f"{type(model).__name__}(")


# --- the summary ------------------------------------------------------------------------------


@every_model
def test_the_summary_says_what_was_found(model: Any) -> None:
    model = clone(model)
    before = model._repr_html_()
    assert "sk-top-container" in before
    assert model._repr_mimebundle_()["text/html"].count("<details>") == before.count("<details>")
    model.fit(TRAIN)
    text = repr(model)
    assert text.startswith(f"<{type(model).__name__}, fitted: nodes 4, rows 80, edges ")
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "<td" in html
        assert ">80</td>" in html
        assert "Parameters" in html
        assert "sk-top-container" in html
    assert model._repr_mimebundle_()["text/plain"] == text


def test_the_summary_of_a_posterior_counts_its_edges() -> None:
    model = clone(MODELS[0]).set_params(require=[(0, 1)], forbid=[(2, 3)]).fit(TRAIN)
    chance = model.posterior_.edge_probability
    supported, undecided = (chance >= 0.9).sum(), ((chance > 0.1) & (chance < 0.9)).sum()
    assert supported >= 1
    assert f"edges supported {supported} of 6, undecided {undecided}, converged no" in repr(model)
    assert model.posterior_.warnings
    assert "chain" in model._repr_html_()


def test_names_and_values_are_shown_as_text() -> None:
    evil = "<script>alert(1)</script>"
    frame = TRAIN.rename(columns={"sleep": evil}).replace({evil: {0: "<u a>", 1: "<u b>"}})
    told = clone(MODELS[0]).set_params(forbid=[(evil, "work")])
    for model in (told, ChowLiuTree()):
        html = model.fit(frame)._repr_html_()
        assert evil not in html
        assert "<u " not in html
        in_pipeline = make_pipeline(model).fit(frame)._repr_html_()
        assert evil not in in_pipeline
    assert "&lt;u b&gt;" in told._repr_html_()


# --- compiling --------------------------------------------------------------------------------


def test_compiling_is_told_once_with_its_time(
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from slabfield._jit import numba

    class AtOnce:
        def __init__(self, seconds: float, action: Callable[[], None]) -> None:
            assert seconds == 0.0
            self.start = action

        def cancel(self) -> None:
            pass

    monkeypatch.setattr(compiling, "WORTH_TELLING", 0.0)
    monkeypatch.setattr(compiling, "Timer", AtOnce)
    monkeypatch.setattr(compiling, "_told", False)
    with caplog.at_level(logging.INFO, logger="slabfield"):
        for aloud in (True, False):
            twice = numba.njit(lambda x: 2 * x)
            with tell_of_compiling(aloud):
                assert twice(3) == 6
        with tell_of_compiling(True):
            assert twice(4) == 8  # compiled before
    begins, took, again = caplog.messages
    assert begins.startswith("Compiling for this machine; the first run with each likelihood")
    assert took.startswith("Compiling took 0 s")
    assert again == took
    written = capsys.readouterr()
    assert written.err.splitlines() == [begins, took]
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO", "WARNING"]
    assert written.out == ""


def test_many_short_compilations_are_told_of_like_one_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    class Noted:
        daemon = True

        def __init__(self, seconds: float, act: Callable[[], None]) -> None:
            waits.append(seconds)

        def start(self) -> None:
            pass

        def cancel(self) -> None:
            pass

    clock = itertools.count(step=0.75)
    monkeypatch.setattr(compiling, "Timer", Noted)
    monkeypatch.setattr(compiling, "monotonic", lambda: next(clock))
    monkeypatch.setattr(compiling, "_told", False)
    found = compiling._Compiling(aloud=False)
    for _ in range(4):
        found.start()
        found.end()
    assert waits == [2.0, 1.25, 0.5, 0.0]


def test_a_first_fit_tells_and_a_second_process_need_not(tmp_path: Path) -> None:
    code = (
        "import json, logging, sys\n"
        "from slabfield.face import compiling\n"
        "compiling.WORTH_TELLING = float(sys.argv[1])\n"
        "told = []\n"
        "class Keep(logging.Handler):\n"
        "    def emit(self, record): told.append(record.getMessage())\n"
        "logging.getLogger('slabfield').addHandler(Keep())\n"
        "logging.getLogger('slabfield').setLevel(logging.INFO)\n"
        "from slabfield.baselines import L1PseudoLikelihood\n"
        "L1PseudoLikelihood(strength=0.1).fit([[0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]])\n"
        "print(json.dumps(told))\n"
    )
    paths = [str(Path(slabfield.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    told = []
    for worth_telling in ("0.1", "2"):  # the first low, as a fast machine has compiled soon
        result = subprocess.run(
            [sys.executable, "-c", code, worth_telling],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(paths), "SLABFIELD_CACHE": str(tmp_path)},
        )
        told.append(json.loads(result.stdout))
        assert result.stderr == ""
    assert len(told[0]) == 2
    assert "later runs load it from the disk" in told[0][1]
    assert told[1] == []
