"""The interface of all estimators after a fit: score, sample, predict, representation."""

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
from slabfield.baselines import ChowLiuTree, L1Neighborhood, L1PseudoLikelihood
from slabfield.datasets import make_block
from slabfield.estimators import compile_notice, notify_compiling
from slabfield.evaluate import node_probabilities, prediction, sample_rows, sampling
from slabfield.models.field import BinaryField
from slabfield.validation import InputError, InputWarning

ROWS = make_block(120, random_state=3, n_groups=1).rows
NAMES = ["sleep", "work", "mood", "pain"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
TRAIN, TEST = FRAME[:80], FRAME[80:]

MODELS: list[Any] = [
    SpikeSlabMRF(n_chains=1, n_draws=40, n_warmup=20, random_state=0),
    L1Neighborhood(strength=0.02),
    L1PseudoLikelihood(strength=0.02),
    ChowLiuTree(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def fields_of(model: Any) -> list[BinaryField]:
    if isinstance(model, SpikeSlabMRF):
        return list(model.posterior_.fields(100))
    return [BinaryField(model.bias_, model.coupling_)]


def all_states(n_nodes: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product([0, 1], repeat=n_nodes)))


def probabilities_of(field: BinaryField) -> NDArray[np.float64]:
    weights = np.exp(field.log_potential(all_states(field.n_nodes)))
    return weights / weights.sum()


def brute_force(
    fields: list[BinaryField], row: NDArray[Any], unknown: NDArray[Any], node: int
) -> float:
    """P(node = 1 given the known entries of the others), from the table of all states."""
    states = all_states(len(row))
    consistent = np.ones(len(states), bool)
    for j in range(len(row)):
        if j != node and not unknown[j]:
            consistent &= states[:, j] == row[j]
    conditionals = []
    for field in fields:
        joint = probabilities_of(field)
        conditionals.append(
            joint[consistent & (states[:, node] == 1)].sum() / joint[consistent].sum()
        )
    return float(np.mean(conditionals))


# --- score ------------------------------------------------------------------------------------


@every_model
def test_the_score_is_the_mean_pseudo_log_likelihood(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    x = TEST.to_numpy(float)
    probability = np.mean(
        [1 / (1 + np.exp(-(field.bias + x @ field.coupling))) for field in fields_of(model)], axis=0
    )
    expected = np.log(np.where(x == 1, probability, 1 - probability)).sum(axis=1).mean()
    assert model.score(TEST) == pytest.approx(expected)
    assert model.score(TEST, y=np.zeros(len(TEST))) == model.score(TEST)
    rows = np.log(np.where(x == 1, probability, 1 - probability)).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(TEST), rows)
    assert model.score(TEST) > 4 * np.log(0.5)


@every_model
def test_an_unfitted_estimator_raises(model: Any) -> None:
    for call in (
        lambda m: m.score(TEST),
        lambda m: m.score_samples(TEST),
        lambda m: m.sample(2),
        lambda m: m.predict(TEST),
        lambda m: m.predict_proba(TEST),
        lambda m: m.conditional_log_likelihood(TEST, ["sleep"]),
    ):
        with pytest.raises(NotFittedError):
            call(clone(model))


# --- prediction -------------------------------------------------------------------------------


@every_model
def test_predictions_equal_enumeration(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    fields, rows = fields_of(model), TEST.to_numpy()[:6]
    unknown = np.random.default_rng(0).random(rows.shape) < 0.5
    incomplete = np.where(unknown, np.nan, rows)
    expected = [
        [brute_force(fields, rows[r], unknown[r], i) for i in range(4)] for r in range(len(rows))
    ]
    found = model.predict_proba(pd.DataFrame(incomplete, columns=NAMES))
    np.testing.assert_allclose(found, expected)
    # a mask gives the same, whatever the masked entries are
    np.testing.assert_allclose(model.predict_proba(TEST.head(6), mask=unknown), found)
    none_unknown = np.zeros(4, bool)
    np.testing.assert_allclose(
        model.predict_proba(TEST.head(6)),
        [[brute_force(fields, row, none_unknown, i) for i in range(4)] for row in rows],
    )


@every_model
def test_named_nodes_are_predicted_jointly_from_the_others(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    hidden = np.array([False, True, False, True])
    rows = TEST.to_numpy()[:5]
    found = model.predict_proba(TEST.head(5), nodes=["pain", "work"])
    expected = [[brute_force(fields_of(model), row, hidden, i) for i in (3, 1)] for row in rows]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(found, model.predict_proba(TEST.head(5), nodes=[3, 1]))
    # their entries are ignored
    other = TEST.head(5).assign(pain="?", work=np.nan)
    np.testing.assert_array_equal(found, model.predict_proba(other, nodes=["pain", "work"]))
    one = model.predict_proba(TEST.head(5), nodes="pain", as_frame=True)
    assert list(one.columns) == ["pain"]
    assert one.index.equals(TEST.head(5).index)


@every_model
def test_the_most_probable_value_is_predicted(model: Any) -> None:
    labels = np.array(["no", "yes"], dtype=object)
    model = clone(model).fit(TRAIN.assign(mood=labels[TRAIN["mood"]]))
    rows = TEST.assign(mood=labels[TEST["mood"]]).astype(object)
    rows.iloc[:, 2:] = rows.iloc[:, 2:].mask(np.random.default_rng(0).random((40, 2)) < 0.5, None)
    likely = model.predict_proba(rows) > 0.5
    np.testing.assert_array_equal(model.predict(rows), likely)
    frame = model.predict(rows, as_frame=True)
    assert frame["mood"].tolist() == labels[likely[:, 2].astype(int)].tolist()
    assert frame["pain"].tolist() == likely[:, 3].astype(int).tolist()
    assert not rows.fillna(frame).isna().to_numpy().any()
    np.testing.assert_array_equal(
        model.predict(rows, ["pain", "mood"]), model.predict_proba(rows, ["pain", "mood"]) > 0.5
    )


def test_long_predictions_report_their_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = clone(MODELS[0]).fit(TRAIN)
    monkeypatch.setattr(prediction, "PROGRESS_SECONDS", 0.0)
    quiet = model.predict_proba(TEST)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(model.predict_proba(TEST, progress=True), quiet)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("predicted by 1 of 40 fields, ")
    assert len(lines) == 40


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("pian", "no node 'pian'; did you mean 'pain'"),
        ([4], "got 4.*from 0 to 3"),
        ([-1], "got -1"),
        ([], "at least one node"),
        (["pain", 3], "each once"),
        ([True], "got True"),
    ],
)
def test_unknown_nodes_are_refused(nodes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ChowLiuTree().fit(TRAIN).predict_proba(TEST, nodes=nodes)


@pytest.mark.parametrize("mask", [np.zeros((40, 3), bool), np.zeros((40, 4)), "all"])
def test_a_mask_of_another_shape_or_type_is_refused(mask: Any) -> None:
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
    expected = [[brute_force([field], rows[r], unknown[r], i) for i in range(7)] for r in range(12)]
    np.testing.assert_allclose(exact, expected)
    monkeypatch.setattr(prediction, "MOST_STATES", 2)
    sampled = node_probabilities(field, rows, unknown, random_state=0)
    assert 0 < np.abs(sampled - exact).max() < 0.05
    # the test has power: a wrong field fails it
    wrong = node_probabilities(BinaryField(field.bias, 1.5 * field.coupling), rows, unknown)
    assert np.abs(wrong - exact).max() > 0.05


# --- new rows ---------------------------------------------------------------------------------


@every_model
def test_new_rows_have_the_distribution_of_the_model(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    rows = model.sample(4_000, random_state=1)
    assert rows.shape == (4_000, 4)
    assert rows.dtype == np.uint8
    states = all_states(4)
    probability = np.mean([probabilities_of(field) for field in fields_of(model)], axis=0)
    share = np.array([np.mean(np.all(rows == state, axis=1)) for state in states])
    # 4 standard errors, plus 0.01 because rows also come from other posterior draws
    assert np.all(np.abs(share - probability) < 4 * np.sqrt(probability / 4_000) + 0.01)
    np.testing.assert_array_equal(rows, model.sample(4_000, random_state=1))
    assert not np.array_equal(rows, model.sample(4_000, random_state=2))
    frame = model.sample(3, np.random.RandomState(0), as_frame=True)
    assert list(frame.columns) == NAMES


@pytest.mark.parametrize("n", [0, -1, 2.5, None])
def test_a_bad_number_of_rows_is_refused(n: Any) -> None:
    with pytest.raises(InputError, match="n must be a whole number"):
        ChowLiuTree().fit(TRAIN).sample(n)


@pytest.mark.parametrize("method", ["enumeration", "elimination", "gibbs"])
def test_every_method_to_sample_rows(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if method != "enumeration":
        monkeypatch.setattr(sampling, "MOST_STATES", 2)
    if method == "gibbs":
        monkeypatch.setattr(sampling, "MEMORY_LIMIT", 1)
        monkeypatch.setattr(sampling, "N_SWEEPS", 50)
    field = random_field(5, 4, 0.6)
    rows = sample_rows(field, 6_000, random_state=0)
    probability = probabilities_of(field)
    share = np.array([np.mean(np.all(rows == state, axis=1)) for state in all_states(5)])
    statistic = 6_000 * np.sum((share - probability) ** 2 / probability)
    assert statistic < 61.1  # chi-square, 31 degrees of freedom, 1 in 1,000
    wrong = probabilities_of(BinaryField(field.bias, 1.2 * field.coupling))
    assert 6_000 * np.sum((share - wrong) ** 2 / wrong) > 61.1


def test_few_rows_come_from_random_posterior_draws() -> None:
    model = clone(MODELS[0]).fit(TRAIN)
    first = {tuple(model.sample(1, random_state=k)[0]) for k in range(30)}
    assert len(first) > 3


# --- conditional log-likelihood ---------------------------------------------------------------


@every_model
def test_a_group_given_the_rest(model: Any) -> None:
    model = clone(model).fit(TRAIN)
    one = model.conditional_log_likelihood(TEST, "mood")
    probability = model.predict_proba(TEST)[:, 2]
    expected = np.log(np.where(TEST["mood"] == 1, probability, 1 - probability))
    np.testing.assert_allclose(one, expected)
    np.testing.assert_allclose(model.conditional_log_likelihood(TEST, [2]), expected)
    own = np.tile([2], (len(TEST), 1))
    np.testing.assert_allclose(model.conditional_log_likelihood(TEST, own), expected)
    whole = model.conditional_log_likelihood(TEST)
    states = {tuple(state): k for k, state in enumerate(all_states(4).tolist())}
    joint = np.mean([probabilities_of(field) for field in fields_of(model)], axis=0)
    index = [states[tuple(row)] for row in TEST.to_numpy().tolist()]
    np.testing.assert_allclose(whole, np.log(joint[index]))


# --- tables of every kind, encoded like the fitted one ----------------------------------------


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
    assert [(variable.labels, variable.threshold) for variable in tree.variables_] == [
        (("no", "yes"), None),
        ((False, True), None),
        (("< 3", ">= 3"), 3.0),
        ((0, 1), None),
    ]
    assert tree.node_names_ == frame.columns
    same = ChowLiuTree(binarize={"grade": "median"}).fit(frame.to_pandas())
    np.testing.assert_array_equal(tree.coupling_, same.coupling_)
    incomplete = frame.with_columns(
        truth=pl.Series([True, None, False, True]), grade=pl.Series([1, 2, 1, None])
    )
    with pytest.raises(InputError, match=r"missing values.*'truth' \(1\) and 'grade' \(1\)"):
        ChowLiuTree().fit(incomplete)


def test_rows_are_encoded_like_the_fitted_table() -> None:
    words = FRAME.replace({"sleep": {0: "no", 1: "yes"}}).assign(pain=FRAME["pain"] * 3 + 1)
    plain = ChowLiuTree().fit(FRAME[:80])
    tree = ChowLiuTree(binarize={"pain": 2}).fit(words[:80])
    assert tree.score(words[80:]) == plain.score(FRAME[80:])
    # a single row, or a constant column, does not change the coding of the fit
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


def test_an_unseen_value_of_a_constant_column_is_its_other_value() -> None:
    with pytest.warns(InputWarning, match="same value"):
        tree = ChowLiuTree().fit(FRAME.assign(work="yes"))
    assert tree.variables_[1].labels == (None, "yes")
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


def test_columns_are_cut_at_their_median() -> None:
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "c": [0, 1] * 30})
    tree = ChowLiuTree(binarize="median").fit(numbers)
    a, b, c = (variable.threshold for variable in tree.variables_)
    assert (numbers["a"] >= a).sum() == (numbers["b"] >= b).sum() == 30
    assert c is None
    # most values are equal: the cut leaves values on both sides
    skewed = ChowLiuTree(binarize="median").fit(numbers.assign(c=[5] * 50 + [9] * 10))
    assert skewed.variables_[2].threshold == 9.0


# --- scikit-learn's tools ---------------------------------------------------------------------


@every_model
def test_a_grid_search_maximizes_the_score(model: Any) -> None:
    name = {"SpikeSlabMRF": "inclusion_prior", "ChowLiuTree": "smoothing"}.get(
        type(model).__name__, "strength"
    )
    grid = {"inclusion_prior": [0.5, 0.001], "smoothing": [1.0, 1e5], "strength": [0.02, 5.0]}
    search = GridSearchCV(model, {name: grid[name]}, cv=2, error_score="raise").fit(FRAME)
    # the second of each leaves no edges, but the true field has some
    assert search.best_params_ == {name: grid[name][0]}
    assert search.best_score_ == pytest.approx(
        cross_val_score(clone(model).set_params(**{name: grid[name][0]}), FRAME, cv=2).mean()
    )
    assert search.predict_proba(TEST).shape == (40, 4)


@every_model
def test_estimators_work_in_a_pipeline(model: Any) -> None:
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
def test_estimators_can_be_cloned_and_pickled(model: Any) -> None:
    fitted = clone(model).set_params(binarize="median").fit(TRAIN)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == fitted.get_params()
    assert again.score(TEST) == fitted.score(TEST)
    np.testing.assert_array_equal(again.sample(5, 0), fitted.sample(5, 0))
    assert repr(again) == repr(fitted)
    assert repr(clone(fitted)).startswith(f"{type(model).__name__}(")


# --- the summary ------------------------------------------------------------------------------


@every_model
def test_the_representation_summarizes_the_fit(model: Any) -> None:
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
    factor = model.posterior_.edge_bayes_factor
    with_evidence, strong = (factor > 3).sum(), (factor > 10).sum()
    against, inconclusive = (factor < 1 / 3).sum(), ((factor >= 1 / 3) & (factor <= 3)).sum()
    assert with_evidence + against + inconclusive == 4
    text = f"edges 6, evidence for {with_evidence} ({strong} strong), evidence against {against} ("
    assert text in repr(model)
    assert f"strong), inconclusive {inconclusive}, converged no" in repr(model)
    assert model.posterior_.warnings
    assert "chain" in model._repr_html_()


def test_names_and_values_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    frame = TRAIN.rename(columns={"sleep": evil}).replace({evil: {0: "<u a>", 1: "<u b>"}})
    sampler = clone(MODELS[0]).set_params(forbid=[(evil, "work")])
    for model in (sampler, ChowLiuTree()):
        html = model.fit(frame)._repr_html_()
        assert evil not in html
        assert "<u " not in html
        in_pipeline = make_pipeline(model).fit(frame)._repr_html_()
        assert evil not in in_pipeline
    assert "&lt;u b&gt;" in sampler._repr_html_()


# --- compiling --------------------------------------------------------------------------------


def test_compilation_is_announced_once_and_timed(
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

    monkeypatch.setattr(compile_notice, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(compile_notice, "Timer", AtOnce)
    monkeypatch.setattr(compile_notice, "_announced", False)
    with caplog.at_level(logging.INFO, logger="slabfield"):
        for verbose in (True, False):
            twice = numba.njit(lambda x: 2 * x)
            with notify_compiling(verbose):
                assert twice(3) == 6
        with notify_compiling(True):
            assert twice(4) == 8  # already compiled
    begins, took, again = caplog.messages
    assert begins.startswith("Compiling for this machine; the first run with each likelihood")
    assert took.startswith("Compiling took 0 s")
    assert again == took
    written = capsys.readouterr()
    assert written.err.splitlines() == [begins, took]
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO", "WARNING"]
    assert written.out == ""


def test_many_short_compilations_are_announced_like_one_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    class RecordingTimer:
        daemon = True

        def __init__(self, seconds: float, act: Callable[[], None]) -> None:
            waits.append(seconds)

        def start(self) -> None:
            pass

        def cancel(self) -> None:
            pass

    clock = itertools.count(step=0.75)
    monkeypatch.setattr(compile_notice, "Timer", RecordingTimer)
    monkeypatch.setattr(compile_notice, "monotonic", lambda: next(clock))
    monkeypatch.setattr(compile_notice, "_announced", False)
    timer = compile_notice._CompileTimer(verbose=False)
    for _ in range(4):
        timer.start()
        timer.end()
    assert waits == [2.0, 1.25, 0.5, 0.0]


def test_a_first_fit_announces_compilation_and_a_second_process_need_not(tmp_path: Path) -> None:
    code = (
        "import json, logging, sys\n"
        "from slabfield.estimators import compile_notice\n"
        "compile_notice.MIN_SECONDS = float(sys.argv[1])\n"
        "notices = []\n"
        "class Keep(logging.Handler):\n"
        "    def emit(self, record): notices.append(record.getMessage())\n"
        "logging.getLogger('slabfield').addHandler(Keep())\n"
        "logging.getLogger('slabfield').setLevel(logging.INFO)\n"
        "from slabfield.baselines import L1PseudoLikelihood\n"
        "L1PseudoLikelihood(strength=0.1).fit([[0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]])\n"
        "print(json.dumps(notices))\n"
    )
    paths = [str(Path(slabfield.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    notices = []
    for min_seconds in ("0.1", "2"):  # the first is low, for fast machines
        result = subprocess.run(
            [sys.executable, "-c", code, min_seconds],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(paths), "SLABFIELD_CACHE": str(tmp_path)},
        )
        notices.append(json.loads(result.stdout))
        assert result.stderr == ""
    assert len(notices[0]) == 2
    assert "later runs load it from the disk" in notices[0][1]
    assert notices[1] == []
