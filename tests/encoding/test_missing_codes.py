"""Codes for missing answers: recognized, stated, remembered."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from slabfield import SpikeSlabMRF
from slabfield.encoding import CodedTable, Encoder, Variable, code_table, read_counted
from slabfield.encoding import streaming as chunk_coding
from slabfield.encoding.missing_codes import AnswerRange, isolated_codes, likely_codes
from slabfield.validation import InputError, Message, Parameter

LIKERT = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([0, 1, 9], [9]),
        ([0, 1, 7, 8, 9], [7, 8, 9]),
        ([*LIKERT, 99], [99]),
        ([*LIKERT, 8, 9], [8, 9]),
        ([*LIKERT, 77, 88, 98, 99], [77, 88, 98, 99]),
        ([*LIKERT, 6, 7, 9], [9]),
        ([*LIKERT, -1], [-1]),
        ([*LIKERT, -2, -1], [-2, -1]),
        ([0, 1, -9, -99], [-99, -9]),
        ([0.0, 1.0, 9999.0], [9999]),
        ([*range(18, 90), 99, 999], [99, 999]),
        ([36.6, 37.2, 38.0, -99], [-99]),
        ([1, 99], [99]),
        ([0, 9], [9]),
        ([1, -9], [-9]),
        ([9, 99], [99]),
    ],
)
def test_isolated_codes_are_found(values: list[float], codes: list[float]) -> None:
    assert isolated_codes(values) == codes
    assert isolated_codes(reversed(values)) == codes


@pytest.mark.parametrize(
    "values",
    [
        [0, 1],
        [-1, 1],
        [-1, 0, 1],
        [-2, -1, 0, 1, 2],
        [0, 99, 100],
        [*range(101)],
        [*range(1, 11)],
        [*LIKERT, 6, 7, 8, 9],
        [1, 3, 5, 7, 9],
        [1.2, 3.4, 7.0],
        [-20.5, -9, 3],
        [9, 20, 30],
        [99],
        [],
        [8, 9],
        [10, 12],
    ],
)
def test_other_values_are_not_taken_for_codes(values: list[float]) -> None:
    assert isolated_codes(values) == []


def test_the_range_of_a_fitted_table_decides_for_new_rows() -> None:
    answers = AnswerRange.of(LIKERT)
    assert isolated_codes([3, 99], answers) == [99]
    assert isolated_codes([6, 7], answers) == [7]
    assert isolated_codes([99], AnswerRange.of([10, 50, 100])) == []


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (["no", "yes", "."], ["."]),
        (["no", "yes", "N/A ", "Don't know"], ["N/A ", "Don't know"]),
        (["no", "yes", "99", "1"], ["99"]),
        (["1", "2", ".", "9"], [".", "9"]),
        (["-", "+"], []),
        (["-", "x"], ["-"]),
        (["none", "some"], []),
        (["?", "."], []),
    ],
)
def test_marks_among_words(labels: list[str], codes: list[str]) -> None:
    assert likely_codes(labels) == codes


def faults_of(error: InputError) -> dict[str, Message]:
    faults = error.fields["faults"]
    assert isinstance(faults, Message)
    return {kind: fault for kind, fault in faults.fields.items() if isinstance(fault, Message)}


RATED = pd.DataFrame(
    {
        "mood": [1, 2, 3, 4, 5, 99, 2, 4],
        "sport": [0, 1, 9, 9, 1, 0, 0, 1],
        "pain": [1, -9, 1, 1, -9, 1, 1, 1],
        "fine": [0, 1, 0, 1, 1, 1, 0, 0],
    }
)


@pytest.mark.parametrize("kinds", [None, "binary", {"mood": "nominal"}])
@pytest.mark.parametrize("binarize", [None, 3, "median"])
def test_all_likely_codes_are_named_whatever_the_threshold(binarize: Any, kinds: Any) -> None:
    with pytest.raises(InputError) as refused:
        code_table(RATED, binarize, kinds=kinds)
    assert refused.value.code == "invalid-columns"
    faults = faults_of(refused.value)
    assert ("values" in faults) == (binarize is None and kinds == "binary")
    codes = faults["codes"]
    assert codes.code == "likely-missing-codes"
    assert codes.fields["na_values"] == Parameter("na_values", [99, 9, -9])
    assert codes.fields["found"] == (
        "99 (once) beside 1, 2, 3, 4 and 5 in column 'mood'; 9 (2 times) beside 0 and 1 in column "
        "'sport'; -9 (2 times) beside 1 in column 'pain'"
    )
    advice = codes.fields["answers"]
    assert isinstance(advice, Message)
    assert advice.fields["levels"] == Parameter("levels", {"mood": [*LIKERT, 99]})


def test_no_advice_makes_an_answer_of_a_code() -> None:
    with pytest.raises(InputError) as refused:
        code_table(RATED, kinds="binary")
    advice = faults_of(refused.value)["values"].fields["advice"]
    assert isinstance(advice, Message)
    assert advice.fields["binarize"] == Parameter(
        "binarize", {"mood": 3.0}, in_python="binarize={'mood': 3}"
    )


def test_codes_are_advised_by_column_where_one_is_an_answer_elsewhere() -> None:
    table = RATED[["sport", "fine"]].assign(score=[7, 8, 9, 10, 7, 8, 9, 10])
    with pytest.raises(InputError) as refused:
        code_table(table, {"score": 9})
    codes = faults_of(refused.value)["codes"]
    assert codes.fields["na_values"] == Parameter("na_values", {"sport": [9]})


def test_a_column_of_many_values_is_not_listed_as_levels() -> None:
    table = pd.DataFrame({"age": [*range(20, 60), 20, 999], "b": [0, *[1] * 41]})
    with pytest.raises(InputError) as refused:
        code_table(table, {"age": 40})
    advice = faults_of(refused.value)["codes"].fields["answers"]
    assert isinstance(advice, Message)
    assert advice.code == "state-no-codes"
    assert advice.fields["none"] == Parameter("na_values", {"age": []})
    assert code_table(table, {"age": 40}, na_values={"age": []}).rows[-1, 0] == 1


STATED = ([99, 9, -9], {"mood": 99, "sport": [9], "pain": "-9"}, {None: [9, -9], "mood": [99.0]})


@pytest.mark.parametrize("na_values", STATED)
def test_stated_codes_are_missing(na_values: Any) -> None:
    with pytest.raises(InputError) as refused:
        code_table(RATED, {"mood": 3}, na_values=na_values)
    assert list(faults_of(refused.value)) == ["missing"]
    assert faults_of(refused.value)["missing"].fields["total"] == 5
    with pytest.warns(UserWarning, match="'pain'.* the same value"):
        dropped = code_table(RATED, {"mood": 3}, "drop", na_values=na_values)
    assert dropped.rows[:, :2].tolist() == [[0, 0], [0, 0], [1, 1]]
    assert dropped.notes[0] == (
        "5 entries were read as missing, as stated: in columns 'mood' (1), 'sport' (2) and 'pain' "
        "(2)."
    )
    with pytest.warns(UserWarning, match="'pain'.* the same value"):
        imputed = code_table(RATED, {"mood": 3}, "impute", na_values=na_values)
    assert np.argwhere(imputed.missing).tolist() == [[1, 2], [2, 1], [3, 1], [4, 2], [5, 0]]


def test_a_code_that_is_not_stated_is_still_refused() -> None:
    with pytest.raises(InputError) as refused:
        code_table(RATED, 3, "drop", na_values=9)
    assert faults_of(refused.value)["codes"].fields["na_values"] == Parameter("na_values", [99, -9])


def test_levels_state_that_values_are_answers_and_give_their_order() -> None:
    levels = {"mood": [*LIKERT, 99], "pain": [1, -9]}
    table = code_table(RATED[["mood", "pain", "fine"]], {"mood": 3}, levels=levels)
    assert table.rows[:, 0].tolist() == [0, 0, 1, 1, 1, 1, 0, 1]
    assert table.variables[1].labels == (1, -9)
    assert table.rows[:, 1].tolist() == [0, 1, 0, 0, 1, 0, 0, 0]
    table = code_table(RATED[["sport", "fine"]], levels={"sport": [9, 1, 0]})
    assert (table.variables[0].kind, table.variables[0].labels) == ("ordinal", (9, 1, 0))
    with pytest.raises(InputError) as refused:
        code_table(RATED[["sport", "fine"]], levels={"sport": [9, 1, 0]}, kinds="binary")
    assert list(faults_of(refused.value)) == ["values"]


def test_values_outside_the_levels_are_refused_with_their_counts() -> None:
    levels = {"mood": LIKERT, "sport": [0, 1]}
    with pytest.raises(InputError) as refused:
        code_table(RATED[["mood", "sport", "fine"]], 3, levels=levels)
    outside = faults_of(refused.value)["levels"]
    assert outside.code == "values-outside-levels"
    assert outside.fields["found"] == (
        "column 'mood' also holds 99 (once); column 'sport' also holds 9 (2 times)"
    )


def test_levels_that_differ_only_in_case_keep_labels_apart() -> None:
    frame = pd.DataFrame({"gene": ["AA", "Aa", "AA "], "b": [0, 1, 1]})
    table = code_table(frame, levels={"gene": ["Aa", "AA"]})
    assert table.variables[0].labels == ("Aa", "AA")
    assert table.rows[:, 0].tolist() == [1, 0, 1]
    encoder = Encoder(table.variables, True)
    assert encoder.transform(frame).rows[:, 0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"na_values": {"x": 9}}, "values-of-unknown-column"),
        ({"na_values": True}, "invalid-na-values"),
        ({"na_values": {"fine": [None]}}, "invalid-na-values"),
        ({"na_values": {"fine": {"a": 1}}}, "invalid-na-values"),
        ({"levels": [1, 2]}, "levels-not-a-mapping"),
        ({"levels": {"x": [1, 2]}}, "values-of-unknown-column"),
        ({"levels": {"fine": [1]}}, "invalid-levels"),
        ({"levels": {"fine": [1, "1"]}}, "invalid-levels"),
        ({"levels": {"fine": "01"}}, "invalid-levels"),
        ({"levels": {"fine": [0, 1]}, "na_values": {"fine": 1}}, "levels-and-missing"),
    ],
)
def test_bad_statements(given: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as refused:
        code_table(RATED[["fine"]].assign(other=[0, 1] * 4), **given)
    assert refused.value.code == code


def test_text_marks_leave_a_column_of_numbers() -> None:
    frame = pd.DataFrame({"a": ["1", "2", ".", "3"], "b": [0, 1, 1, 0]}, dtype=object)
    table = code_table(frame, {"a": 2}, "impute", na_values=".")
    assert table.rows[:, 0].tolist() == [0, 1, 0, 1]
    rows = Encoder(table.variables, True).transform(
        pd.DataFrame({"a": [". ", 3, "1"], "b": [0, 1, 1]}), allow_missing=True
    )
    assert rows.missing[:, 0].tolist() == [True, False, False]
    assert rows.rows[:, 0].tolist() == [0, 1, 0]


# --- a fitted model remembers ---------------------------------------------------------------


def encoder_of(table: CodedTable) -> Encoder:
    """The encoder of a table, after its variables went through a file."""
    records = json.loads(json.dumps([variable.as_record() for variable in table.variables]))
    return Encoder(tuple(map(Variable.from_record, records)), table.has_names)


def test_new_rows_are_treated_alike() -> None:
    frame = RATED[["mood", "sport", "fine"]]
    table = code_table(frame, {"mood": 3}, "impute", na_values=[9, 99])
    rows = encoder_of(table).transform(frame, allow_missing=True)
    assert np.array_equal(rows.missing, table.missing)
    assert np.array_equal(rows.rows, table.rows)


def test_new_codes_in_new_rows_are_refused_in_one_message() -> None:
    known = RATED[["mood", "sport", "fine"]].query("mood < 9 and sport < 9")
    encoder = encoder_of(code_table(known, {"mood": 3}))
    with pytest.raises(InputError) as refused:
        encoder.transform(RATED[["mood", "sport", "fine"]])
    assert refused.value.code == "likely-missing-codes-in-new-rows"
    assert refused.value.fields["na_values"] == Parameter("na_values", {"mood": [99], "sport": [9]})
    settled = encoder_of(code_table(known, {"mood": 3}, levels={"mood": LIKERT}))
    with pytest.raises(InputError) as refused:
        settled.transform(known.assign(mood=99))
    assert refused.value.code == "new-values-outside-levels"
    open_end = encoder_of(code_table(known, {"mood": 3}, na_values={"mood": []}))
    assert open_end.transform(known.assign(mood=99)).rows[:, 0].all()


def test_a_label_in_another_spelling_is_known_in_new_rows() -> None:
    encoder = encoder_of(code_table([["yes", 0], ["No ", 1]]))
    assert encoder.transform([["YES", 0], [" no", 1]]).rows[:, 0].tolist() == [1, 0]


def test_a_resumed_run_and_its_predictions_know_the_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["a", "b", "c"])
    frame.loc[::7, "a"] = 9
    options: dict[str, Any] = {"n_chains": 1, "n_warmup": 5, "n_draws": 10, "random_state": 0}
    stated: dict[str, Any] = {"na_values": {"a": [9]}, "levels": {"b": [1, 0]}, "na": "drop"}
    model = SpikeSlabMRF(**options, **stated).fit(frame, checkpoint=tmp_path)
    resumed = SpikeSlabMRF.from_checkpoint(tmp_path).resume(n_draws=5)
    assert resumed.na_values == {"a": [9]}
    assert resumed.levels == {"b": [1, 0]}
    assert resumed.variables_ == model.variables_
    assert resumed.variables_[1].labels == (1, 0)
    unknown = resumed.predict_proba(frame.head(1))
    empty = resumed.predict_proba(frame.head(1).assign(a=np.nan))
    assert np.array_equal(unknown, empty)
    assert resumed.coding_notes_ == model.coding_notes_


# --- large files ----------------------------------------------------------------------------


def written(path: Path, frame: pd.DataFrame, times: int = 1) -> Path:
    pd.concat([frame] * times).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("binarize", [None, {"mood": 3}])
def test_codes_in_chunks_are_named(tmp_path: Path, binarize: Any) -> None:
    path = written(tmp_path / "table.csv", RATED)
    with pytest.raises(InputError) as refused:
        read_counted(path, binarize=binarize, chunk_rows=8)
    codes = faults_of(refused.value)["codes"]
    assert codes.code == "likely-missing-codes"
    assert "9 (2 times) beside 0 and 1 in column 'sport'" in str(codes.fields["found"])


def test_codes_of_cut_and_of_two_valued_columns_are_counted_to_the_end(tmp_path: Path) -> None:
    path = written(tmp_path / "table.csv", RATED[["mood", "pain", "fine"]], times=50)
    with pytest.raises(InputError) as refused:
        read_counted(path, binarize={"mood": 3}, chunk_rows=7)
    codes = faults_of(refused.value)["codes"]
    assert codes.fields["found"] == (
        "99 (50 times) beside 1, 2, 3, 4 and 5 in column 'mood'; -9 (100 times) beside 1 in column "
        "'pain'"
    )


def test_many_distinct_numbers_are_thinned_without_losing_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_coding, "MOST_DISTINCT", 50)
    frame = pd.DataFrame({"a": [*np.arange(500) / 2, 9999.0], "b": [0, *[1] * 500]})
    path = written(tmp_path / "table.csv", frame)
    with pytest.raises(InputError) as refused:
        read_counted(path, binarize={"a": 40}, chunk_rows=60)
    found = faults_of(refused.value)["codes"].fields["found"]
    assert found == "9999 (once) beside values from 0 to 249.5 in column 'a'"


def test_rows_with_codes_are_dropped_in_chunks(tmp_path: Path) -> None:
    path = written(tmp_path / "table.csv", RATED[["mood", "sport", "fine"]], times=9)
    stated: dict[str, Any] = {"na": "drop", "na_values": [9, 99]}
    read = read_counted(path, binarize={"mood": 3}, chunk_rows=5, **stated)
    whole = code_table(pd.read_csv(path), {"mood": 3}, **stated)
    assert read.n_rows == whole.n_rows == 45
    assert read.notes == whole.notes
    assert read.variables == whole.variables
