"""Columns with levels: their kinds, order, scores and notes, and what is refused."""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skips import NEEDS_DATA
from slabfield import SpikeSlabMRF
from slabfield.baselines import L1PseudoLikelihood
from slabfield.encoding import CodedTable, Encoder, Variable, code_table, merge_rows, read_counted
from slabfield.encoding.row_layout import RowLayout
from slabfield.encoding.scores import standard_scores
from slabfield.models.pairwise import pairwise_model
from slabfield.validation import InputError, InputWarning, Message

LIKERT = [1, 2, 3, 4, 5]


def beside(values: Any) -> pd.DataFrame:
    """A table of a column 'a' with these values, and a two-valued column 'b'."""
    return pd.DataFrame({"a": values, "b": ([0, 1] * len(values))[: len(values)]})


def first_of(values: Any, **stated: Any) -> Variable:
    return code_table(beside(values), **stated).variables[0]


def refused(values: Any, **stated: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        code_table(beside(values), **stated)
    return caught.value


def faults_of(error: InputError) -> dict[str, str]:
    faults = error.fields["faults"]
    assert isinstance(faults, Message)
    return {name: fault.code for name, fault in faults.fields.items() if isinstance(fault, Message)}


# --- kinds that are inferred ----------------------------------------------------------------

ORDERED = pd.Categorical(list("lmhlmh"), categories=list("qlwmhz"), ordered=True)


@pytest.mark.parametrize(
    ("values", "kind", "labels", "positions"),
    [
        ([1, 2, 3, 4, 5] * 2, "ordinal", (1, 2, 3, 4, 5), (0, 1, 2, 3, 4)),
        ([2.0, 1.0, 5.0, 4.0] * 2, "ordinal", (1, 2, 4, 5), (0, 1, 3, 4)),
        (["10", "9", "11"] * 2, "ordinal", (9, 10, 11), (0, 1, 2)),
        ([-1, 0, 1] * 2, "ordinal", (-1, 0, 1), (0, 1, 2)),
        (list("cab") * 2, "nominal", ("a", "b", "c"), (0, 1, 2)),
        (["Low", "mid", "low "] * 2 + ["high"] * 2, "nominal", ("Low", "high", "mid"), (0, 1, 2)),
        (ORDERED, "ordinal", ("l", "m", "h"), (0, 2, 3)),
        (ORDERED.as_unordered(), "nominal", ("l", "m", "h"), (0, 1, 2)),
        (pd.Categorical([3, 1, 2] * 2), "nominal", (1, 2, 3), (0, 1, 2)),
        (pd.Categorical([3, 1, 2] * 2, ordered=True), "ordinal", (1, 2, 3), (0, 1, 2)),
        (pd.Categorical(["1", "2", "3"] * 2, ordered=True), "ordinal", (1, 2, 3), (0, 1, 2)),
        (pd.array([1, 2, 3] * 2, dtype="Int64"), "ordinal", (1, 2, 3), (0, 1, 2)),
        ([1, 2] * 3, "binary", (1, 2), (0, 1)),
        ([1, 5] * 3, "binary", (1, 5), (0, 1)),
        (pd.Categorical(["yes", "no"] * 3, ["yes", "no"], ordered=True), "binary", ("no", "yes"),
         (0, 1)),
    ],
)  # fmt: skip
def test_kinds_are_inferred(
    values: Any, kind: str, labels: tuple[object, ...], positions: tuple[int, ...]
) -> None:
    frame = beside(values)
    table = code_table(frame)
    variable = table.variables[0]
    assert (variable.kind, variable.labels, variable.positions) == (kind, labels, positions)
    assert [type(label) for label in variable.labels] == [type(label) for label in labels]
    assert Encoder.fit(frame).variables == table.variables
    assert np.array_equal(Encoder.fit(frame).transform(frame).rows, table.rows)
    assert pairwise_model(table.variables).n_nodes == 2


def test_intervals_are_ordinal_and_known_in_new_rows() -> None:
    frame = beside(pd.cut(np.arange(12), 3))
    table = code_table(frame)
    assert table.rows[:, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    record = json.loads(json.dumps(table.encoder.as_record()))
    assert np.array_equal(Encoder.from_record(record).transform(frame).rows, table.rows)


def test_enumerations_of_other_libraries_are_ordered() -> None:
    kind = pl.Enum(["low", "mid", "high"])
    frame = pl.DataFrame({"a": pl.Series(["mid", "high", "low"] * 2, dtype=kind), "b": [0, 1] * 3})
    variable = code_table(frame).variables[0]
    assert (variable.kind, variable.labels) == ("ordinal", ("low", "mid", "high"))


def test_categories_that_differ_only_in_case_are_apart() -> None:
    genes = pd.Categorical(["AA", "Aa", "aa"] * 2, ["aa", "Aa", "AA"], ordered=True)
    assert first_of(genes).labels == ("aa", "Aa", "AA")


# --- kinds that are stated ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "kind", "reference"),
    [
        ({"a": "nominal"}, "nominal", None),
        ("nominal", "nominal", None),
        ({None: "nominal"}, "nominal", None),
        ({"a": "ordinal", None: "nominal"}, "ordinal", None),
        ("blume-capel", "blume-capel", 2),
        ({"a": "blume-capel"}, "blume-capel", 2),
        ({"a": ("blume-capel", 5)}, "blume-capel", 4),
        ({"a": ["blume-capel", "1"]}, "blume-capel", 0),
        ({"a": ("blume-capel", np.int64(2))}, "blume-capel", 1),
    ],
)
def test_kinds_are_stated(stated: Any, kind: str, reference: int | None) -> None:
    table = code_table(beside(LIKERT * 2), kinds=stated)
    variable = table.variables[0]
    assert (variable.kind, variable.reference, variable.labels) == (kind, reference, tuple(LIKERT))
    assert table.variables[1].kind == "binary"
    again = Variable.from_record(json.loads(json.dumps(variable.as_record())))
    assert again == variable


def test_the_default_reference_is_the_lower_of_two_middle_levels_that_occur() -> None:
    assert first_of([1, 2, 3, 4] * 2, kinds="blume-capel").reference == 1
    variable = first_of([1, 2, 4, 5, 6] * 2, kinds="blume-capel")
    assert variable.labels[variable.positions.index(variable.reference or 0)] == 4
    # a level that never occurs can be stated
    assert first_of([1, 2, 4, 5] * 2, kinds={"a": ("blume-capel", 3)}).reference == 2


def test_levels_give_words_an_order() -> None:
    levels = {"a": ["Never", "rarely", "sometimes", "often", "always"]}
    table = code_table(beside(["often", "never ", "sometimes"] * 2), levels=levels)
    variable = table.variables[0]
    assert (variable.kind, variable.labels) == ("ordinal", ("never", "sometimes", "often"))
    assert variable.positions == (0, 2, 3)
    assert variable.scores == pytest.approx(standard_scores(5)[[0, 2, 3]])
    assert table.rows[:3, 0].tolist() == [2, 0, 1]
    assert "'rarely' and 'always' of 'a'" in table.notes[-2]
    nominal = first_of(["often", "never"] * 2 + ["x"] * 2, levels={"a": ["x", "never", "often"]},
                       kinds="nominal")  # fmt: skip
    assert (nominal.kind, nominal.labels) == ("nominal", ("x", "never", "often"))
    two = code_table(beside(["often", "never"] * 2), levels={"a": ["often", "some", "never"]})
    assert (two.variables[0].kind, two.variables[0].labels) == ("binary", ("often", "never"))
    assert "'some' of 'a'" in two.notes[-1]


@pytest.mark.parametrize("kinds", [{"a": "ordinal"}, {"a": "nominal"}, {"a": "binary"}])
def test_a_column_of_two_values_is_binary_whatever_is_said(kinds: Any) -> None:
    assert first_of(["no", "yes"] * 2, kinds=kinds).kind == "binary"


def test_thresholds_win_over_inference_and_stated_kinds_over_one_threshold_for_all() -> None:
    frame = beside(LIKERT * 2).assign(c=LIKERT * 2)
    table = code_table(frame, {"a": 3})
    assert [variable.kind for variable in table.variables] == ["binary", "binary", "ordinal"]
    with pytest.warns(InputWarning, match="'b' has the same value"):
        table = code_table(frame, 3, kinds={"c": "ordinal"})
    assert [variable.kind for variable in table.variables] == ["binary", "binary", "ordinal"]
    assert refused(LIKERT * 2, binarize={"a": 3}, kinds={"a": "ordinal"}).code == (
        "threshold-and-kind"
    )


# --- scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ("standard", standard_scores(5)[[0, 1, 3, 4]]),
        ("raw", [0, 1, 3, 4]),
        ("range", [0, 0.25, 0.75, 1]),
        ({"a": [0, 2, 3, 10]}, [0, 2, 3, 10]),
        ({"a": [0, 2, 3, 4, 10]}, [0, 2, 4, 10]),
        ({None: "raw"}, [0, 1, 3, 4]),
        ({"a": "raw", None: "range"}, [0, 1, 3, 4]),
    ],
)
def test_scores(scores: Any, expected: Any) -> None:
    table = code_table(beside([1, 2, 4, 5] * 2), scores=scores)
    assert table.variables[0].scores == pytest.approx(expected)
    assert table.variables[1].scores == (0.0, 1.0)


def test_standard_scores_of_two_levels_are_those_of_a_binary_column() -> None:
    assert standard_scores(2).tolist() == [0.0, 1.0]


@given(
    st.lists(st.integers(-50, 49), min_size=3, max_size=12, unique=True),
    st.sampled_from(["standard", "raw", "range"]),
    st.sampled_from(["ordinal", "blume-capel", "nominal"]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_codes_give_labels_back_and_scores_increase(
    values: list[int], scores: str, kind: str, seed: int
) -> None:
    rows = np.random.default_rng(seed).permutation(values * 3)
    table = code_table(beside(rows), na_values=[], kinds=kind, scores=scores)
    variable = table.variables[0]
    assert [variable.labels[code] for code in table.rows[:, 0]] == rows.tolist()
    assert list(variable.labels) == sorted(values)
    if kind != "nominal":
        assert np.diff(variable.positions).tolist() == np.diff(sorted(values)).tolist()
        assert np.all(np.diff(variable.scores) > 0)
        step = np.diff(variable.scores) / np.diff(variable.positions)
        assert step == pytest.approx(variable.score_step)
    again = Variable.from_record(json.loads(json.dumps(variable.as_record())))
    assert again == variable


WORDS = st.text("abcXYZ -", min_size=1, max_size=4).filter(lambda text: text.strip(" -"))


@given(st.lists(WORDS, min_size=3, max_size=12, unique_by=lambda text: text.strip().lower()),
       st.booleans(), st.integers(0, 2**32 - 1))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_words_come_back(words: list[str], stated: bool, seed: int) -> None:
    rows = np.random.default_rng(seed).permutation(words * 3).tolist()
    levels = {"a": words} if stated else None
    frame = beside(rows)
    table = code_table(frame, na_values=[] if levels is None else None, levels=levels)
    variable = table.variables[0]
    assert variable.kind == ("ordinal" if stated else "nominal")
    stripped = [word.strip() for word in words]
    assert list(variable.labels) == (stripped if stated else sorted(stripped))
    assert [variable.labels[code] for code in table.rows[:, 0]] == [row.strip() for row in rows]
    assert np.array_equal(table.encoder.transform(frame).rows, table.rows)


# --- notes and warnings ---------------------------------------------------------------------


def test_notes_are_grouped() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(1, 6, (200, 100)), columns=[f"item {k}" for k in range(100)])
    frame["place"] = rng.choice(["x", "y", "z"], 200)
    table = code_table(frame, kinds={"item 99": "blume-capel"})
    assert table.notes[:3] == [
        "Columns 'item 0', 'item 1', 'item 2' and 96 more are ordinal with levels 1, 2, 3, 4 and "
        "5.",
        "Column 'item 99' is Blume-Capel with levels 1, 2, 3, 4 and 5 and reference 3.",
        "Column 'place' is nominal with levels 'x', 'y' and 'z'.",
    ]
    assert len(table.notes) == 4
    assert table.notes[3] == "Where a kind is wrong, state the right one."
    stated = code_table(frame, kinds=dict.fromkeys(frame.columns[:100], "ordinal") | {
        "place": "nominal"})  # fmt: skip
    assert not any("Where a kind is wrong" in note for note in stated.notes)


def test_notes_stay_few_where_every_column_has_levels_of_its_own() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {f"c{k}": rng.permutation([k, k + 1, k + 4 + k % 3] * 30) for k in range(80)}
    )
    notes = code_table(frame, na_values=[]).notes
    assert len(notes) <= 7
    assert max(map(len, notes)) < 300
    assert "and 73 more are ordinal with 3 levels of their own." in notes[4]


def test_levels_that_never_occur_are_named() -> None:
    frame = pd.DataFrame({"a": [1, 2, 4] * 2, "b": [1, 2, 4] * 2, "c": [1, 3, 6] * 2})
    notes = code_table(frame).notes
    assert (
        "Levels that never occur are left out, and keep their place in the order: 3 of 'a' and "
        "'b'; 2, 4 and 5 of 'c'."
    ) in notes


def test_a_level_of_one_row_is_warned_of_and_kept() -> None:
    with pytest.warns(InputWarning, match="one row only: 4 of 'a'.*Merge it with a neigh") as seen:
        table = code_table(beside([1, 2, 3, 1, 2, 3, 4]))
    assert table.variables[0].labels == (1, 2, 3, 4)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code_table(beside([0, 0, 0, 0, 1]))  # a two-valued column


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "stated", "fault", "texts"),
    [
        (list(range(13)) * 2, {}, "values", ["13 values", "binarize={'a': 6}"]),
        (list(range(13)) * 2, {"kinds": "nominal"}, "values", ["13 values"]),
        ([0.5, 1, 2] * 2, {}, "values", ["decimals: 0.5, 1 and 2", "levels={'a': [0.5, 1, 2]}"]),
        ([0.5, 1, 2] * 2, {"kinds": "ordinal"}, "values", ["decimals"]),
        ([1, 2, 1000] * 2, {}, "values", ["far apart: 1, 2 and 1000", "levels={'a':"]),
        (list(pd.date_range("2020-01-01", periods=3)) * 2, {}, "values", ["neither numbers nor"]),
        (LIKERT * 2, {"kinds": "binary"}, "values", ["hold two values", "binarize={'a': 3}"]),
        (LIKERT * 2, {"kinds": {"a": "binary"}}, "values", ["hold two values"]),
        (list("xyz") * 2, {"kinds": {"a": "binary"}}, "values", ["column of yes and no"]),
        (list("xyz") * 2, {"kinds": "ordinal"}, "order", ["levels={'a': ['x', 'y', 'z']}"]),
        (list("xyz") * 2, {"kinds": "blume-capel"}, "order", ["kinds={'a': 'nominal'}"]),
        (ORDERED.as_unordered(), {"kinds": "ordinal"}, "order", ["'h', 'l' and 'm' in column"]),
        ([0, 1] * 3, {"kinds": {"a": "blume-capel"}}, "few", ["found 0 and 1 in column 'a'"]),
        (LIKERT * 2, {"kinds": {"a": ("blume-capel", 7)}}, "reference", ["found 7 for column 'a'"]),
        (LIKERT * 2, {"scores": {"a": [1, 2]}}, "scores", ["found 1 and 2 for column 'a'"]),
        (LIKERT * 2, {"scores": {"b": [1, 2]}}, "scores", ["binary columns have the scores 0 and"]),
        (list("xyz") * 2, {"scores": {"a": [1, 2, 3]}}, "scores", ["nominal ones none"]),
        (
            LIKERT * 2,
            {"scores": {"a": [0, 1, 2, 3, 9]}, "kinds": "blume-capel"},
            "scores",
            ["Blume-Capel column equally spaced"],
        ),
        ([*LIKERT, 9] * 2, {}, "codes", ["9 (2 times) beside 1, 2, 3, 4 and 5"]),
        ([*LIKERT, 99] * 2, {"kinds": "nominal"}, "codes", ["na_values=[99]"]),
        ([*LIKERT, -1] * 2, {}, "codes", ["levels={'a': [-1, 1, 2, 3, 4, 5]}"]),
        (pd.Categorical([*LIKERT, 99] * 2, ordered=True), {}, "codes", ["99 (2 times)"]),
        (LIKERT * 2, {"levels": {"a": [1, 2, 3]}}, "levels", ["also holds 4 (2 times) and 5"]),
        (list(range(20, 29)), {}, "identifier", ["2 to 12 values that repeat"]),
        ([f"it was {w} all day" for w in "abcdef"], {}, "text", ["free text"]),
    ],
)
def test_columns_that_are_refused(
    values: Any, stated: dict[str, Any], fault: str, texts: list[str]
) -> None:
    error = refused(values, **stated)
    assert list(faults_of(error)) == [fault]
    for text in texts:
        assert text in str(error)


@pytest.mark.parametrize(
    ("stated", "code", "text"),
    [
        ({"kinds": {"a": "ordinel"}}, "unknown-kind", "Did you mean 'ordinal'?"),
        ({"kinds": {"a": ("ordinal", 3)}}, "unknown-kind", "Pass one of these"),
        ({"kinds": ["ordinal", "binary"]}, "unknown-kind", "got ['ordinal', 'binary']"),
        ({"kinds": 3}, "unknown-kind", "got 3"),
        ({"kinds": {"bb": "ordinal"}}, "values-of-unknown-column", "Did you mean 'b'?"),
        ({"scores": {"sleep": "raw"}}, "values-of-unknown-column", "Name columns of the table."),
        ({"scores": "ragne"}, "unknown-scores", "Did you mean 'range'?"),
        ({"scores": [0, 1, 2]}, "unknown-scores", "Pass one of these."),
        ({"scores": {"a": [0, 2, 1]}}, "scores-not-increasing", "got 0, 2 and 1 for 'a'"),
        ({"scores": {"a": [0, 1, None]}}, "scores-not-increasing", "got 0, 1 and None"),
        ({"levels": {"aa": [1, 2]}}, "values-of-unknown-column", "Did you mean 'a'?"),
    ],
)
def test_statements_that_are_refused(stated: dict[str, Any], code: str, text: str) -> None:
    error = refused(LIKERT * 2, **stated)
    assert error.code == code
    assert text in str(error)


def test_codes_that_are_stated_leave_levels() -> None:
    frame = beside([*LIKERT, 99] * 2)
    dropped = code_table(frame, na="drop", na_values=99)
    assert dropped.variables[0].labels == tuple(LIKERT)
    imputed = code_table(frame, na="impute", na_values={"a": [99]})
    assert imputed.missing[:, 0].tolist() == ([False] * 5 + [True]) * 2
    assert imputed.rows[:, 0].tolist() == [0, 1, 2, 3, 4, 0] * 2
    answers = code_table(frame, levels={"a": [*LIKERT, 99]})
    assert answers.variables[0].positions == (0, 1, 2, 3, 4, 5)


# --- new rows, weights and files ------------------------------------------------------------


def test_new_rows_of_levels() -> None:
    encoder = code_table(beside([1, 2, 4, 5] * 2)).encoder
    assert encoder.transform(beside([5, 1])).rows[:, 0].tolist() == [3, 0]
    assert encoder.transform(beside(["5", "1.0"])).rows[:, 0].tolist() == [3, 0]
    with pytest.raises(InputError, match=r"must hold 1, 2, 4 and 5, .*also holds 3"):
        encoder.transform(beside([3, 1]))
    with pytest.raises(InputError, match="likely codes for missing answers: 9 in 'a'"):
        encoder.transform(beside([9, 1]))


def test_rows_of_levels_are_merged_with_their_weights() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, [2, 5, 3, 12], (300, 4)).astype(np.uint8)
    weights = rng.random(300)
    merged, total = merge_rows(rows, weights)
    expected, index = np.unique(rows, axis=0, return_inverse=True)
    assert np.array_equal(merged, expected)
    assert total == pytest.approx(np.bincount(index.ravel(), weights))


@given(st.lists(st.integers(1, 256), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_packed_rows_come_back_and_sort_as_rows_do(n_codes: list[int], seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, n_codes, (20, len(n_codes))).astype(np.uint8)
    layout = RowLayout(n_codes)
    packed = layout.pack(rows)
    assert packed.shape[1] == layout.n_bytes
    assert np.array_equal(layout.unpack(packed), rows)
    order = sorted(range(20), key=lambda k: packed[k].tobytes())
    assert np.array_equal(rows[order], rows[sorted(range(20), key=lambda k: rows[k].tolist())])


def same_table(read: CodedTable, whole: CodedTable) -> None:
    rows, counts = merge_rows(whole.rows)
    assert np.array_equal(read.rows, rows)
    assert np.array_equal(read.counts, counts)
    assert read.variables == whole.variables
    assert read.notes == whole.notes


@pytest.mark.parametrize(
    "stated", [{}, {"kinds": {"c3": "blume-capel", "c2": "nominal"}, "scores": "raw"}]
)
def test_levels_are_counted_in_chunks(tmp_path: Path, stated: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"c{k}": rng.integers(1, k + 2, 400) for k in range(1, 12)})
    frame["word"] = rng.choice(["x", "y", "z "], 400)
    frame["late"] = [0] * 390 + [0, 1, 2, 4, 5] * 2
    frame = frame.sort_values("c9", ignore_index=True)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    whole = code_table(pd.read_csv(path), **stated)
    for chunk_rows in (7, 100, 1000):
        same_table(read_counted(path, chunk_rows=chunk_rows, **stated), whole)


def test_ordered_categories_in_chunks(tmp_path: Path) -> None:
    frame = beside(pd.Categorical(list("lmhlmh") * 5, list("lqmh"), ordered=True))
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=7)
    whole = code_table(pd.read_parquet(path))
    assert whole.variables[0].positions == (0, 2, 3)
    same_table(read_counted(path, chunk_rows=4), whole)


def test_a_level_of_one_row_is_warned_of_in_chunks(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    beside([1, 2, 3] * 5 + [4]).to_csv(path, index=False)
    with pytest.warns(InputWarning, match="one row only: 4 of 'a'"):
        read_counted(path, chunk_rows=3)


# --- estimators -----------------------------------------------------------------------------


def test_the_estimator_checks_kinds_and_scores() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (20, 3))
    for parameters in ({"kinds": "ordinel"}, {"scores": "ragne"}, {"kinds": {"sleep": "nominal"}}):
        with pytest.raises(InputError):
            SpikeSlabMRF(**parameters).fit(rows)
    assert SpikeSlabMRF(kinds={"x0": "ordinal"}).get_params()["kinds"] == {"x0": "ordinal"}


def test_kinds_and_scores_are_kept_in_a_checkpoint(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 2, (20, 3))
    stated: dict[str, Any] = {"kinds": {None: ("blume-capel", 3), "x0": "ordinal"},
                              "scores": {None: "raw"}}  # fmt: skip
    options: dict[str, Any] = {"n_chains": 1, "n_warmup": 5, "n_draws": 5, "random_state": 0}
    model = SpikeSlabMRF(**options, **stated).fit(rows, checkpoint=tmp_path)
    again = SpikeSlabMRF.from_checkpoint(tmp_path)
    assert (again.kinds, again.scores) == (model.kinds, model.scores)
    assert again.variables_ == model.variables_


def test_baselines_for_two_values_refuse_levels() -> None:
    frame = beside(LIKERT * 2)
    with pytest.raises(InputError, match="must hold two values; column 'a' holds 1, 2, 3, 4 and 5"):
        L1PseudoLikelihood().fit(frame)
    with pytest.raises(InputError, match="found three or more levels in 'a'"):
        L1PseudoLikelihood().fit(code_table(frame))
    with pytest.raises(InputError, match="already coded takes no kinds"):
        code_table(code_table(frame), kinds="ordinal")


# --- real tables ----------------------------------------------------------------------------


@NEEDS_DATA
def test_real_questionnaires() -> None:
    folder = Path(os.environ["SLABFIELD_DATA"])
    ptsd = code_table(pd.read_csv(folder / "wenchuan_ptsd_ordinal.csv"), na="impute")
    assert {(v.kind, v.labels) for v in ptsd.variables} == {("ordinal", (1, 2, 3, 4, 5))}
    boredom = code_table(pd.read_csv(folder / "Boredom.csv"))
    assert [variable.kind for variable in boredom.variables] == ["binary", *["ordinal"] * 8]
    bfi = code_table(pd.read_csv(folder / "bfi.csv"), na="drop")
    kinds = {variable.name: (variable.kind, variable.n_levels) for variable in bfi.variables}
    assert (kinds["gender"], kinds["education"]) == (("binary", 2), ("ordinal", 5))
    assert kinds["A1"] == ("ordinal", 6)
    assert len(bfi.notes) < 6
