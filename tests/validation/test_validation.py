"""Checks of tables, priors and parameters: what is accepted, and the error messages."""

import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from slabfield.encoding import CodedTable, code_table
from slabfield.encoding.labels import as_number, folded
from slabfield.models.interactions import Interactions
from slabfield.validation import (
    InputError,
    InputWarning,
    Message,
    check_choice,
    check_exact_size,
    check_full_size,
    check_inclusion_prior,
    check_number,
    check_positive_int,
    check_slab_prior,
)

BITS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]])


def message(function: Callable[..., object], *arguments: object, **keywords: object) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments, **keywords)
    return str(caught.value)


# --- tables that are accepted ---------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        BITS,
        BITS.astype(bool),
        BITS.astype(float),
        BITS.astype(np.float32),
        BITS.astype(np.uint64),
        BITS.astype(object),
        BITS.astype(str),
        np.asfortranarray(BITS),
        BITS.tolist(),
        [tuple(row) for row in BITS.tolist()],
        2 * BITS - 1,
        BITS + 1,
        scipy.sparse.csr_matrix(BITS),
        scipy.sparse.coo_array(BITS.astype(float)),
        np.ma.masked_array(BITS, mask=False),
        np.where(BITS == 1, "yes", "no"),
        np.where(BITS == 1, "Present", "ABSENT"),
        np.where(BITS == 1, "zebra", "ant"),
        np.where(BITS == 1, "10", "9"),
        np.where(BITS == 1, " 1", "-1 "),
        pd.DataFrame(BITS),
        pd.DataFrame(BITS, dtype="Int64"),
        pd.DataFrame(BITS, dtype="category"),
        pd.DataFrame(BITS.astype(bool), dtype="boolean"),
        pd.DataFrame(np.where(BITS == 1, "t", "F")),
        pd.DataFrame(BITS, dtype=pd.SparseDtype(int, 0)),
    ],
)
def test_two_valued_tables_are_coded_in_the_natural_order(table: object) -> None:
    coded = code_table(table)
    assert coded.rows.dtype == np.uint8
    assert coded.rows.flags.c_contiguous
    np.testing.assert_array_equal(coded.rows, BITS)


def labels_of(table: CodedTable) -> list[tuple[object, ...]]:
    return [variable.labels for variable in table.variables]


def test_names_labels_and_notes() -> None:
    frame = pd.DataFrame(
        {"work": [0, 1, 0], "sleep": ["no", "yes", "no"], "tired": ["no", "no", "yes"]}
    )
    coded = code_table(frame)
    assert coded.names == ["work", "sleep", "tired"]
    assert labels_of(coded) == [(0, 1), ("no", "yes"), ("no", "yes")]
    assert coded.notes == ["Columns 'sleep' and 'tired': 1 = 'yes', 0 = 'no'."]
    assert coded.has_names


def test_booleans_are_noted_and_plain_numbers_are_not() -> None:
    assert code_table(BITS).notes == []
    assert code_table(BITS[:, :2].astype(bool)).notes == [
        "Columns 'x0' and 'x1': 1 = True, 0 = False."
    ]


def test_arrays_get_numbered_names() -> None:
    coded = code_table(BITS)
    assert coded.names == ["x0", "x1", "x2"]
    assert not coded.has_names


def test_numbers_for_column_names_are_not_names() -> None:
    coded = code_table(pd.DataFrame(BITS))
    assert coded.names == ["0", "1", "2"]
    assert not coded.has_names


def test_the_table_is_copied() -> None:
    source = BITS.astype(np.uint8)
    code_table(source).rows[:] = 0
    np.testing.assert_array_equal(source, BITS)


def test_lists_keep_numbers_beside_words() -> None:
    coded = code_table([[9, "b"], [10, "a"], [9, "a"]])
    assert labels_of(coded) == [(9, 10), ("a", "b")]
    assert coded.rows.tolist() == [[0, 1], [1, 0], [0, 0]]


def test_tables_that_convert_themselves() -> None:
    class Convertible:
        def to_pandas(self) -> pd.DataFrame:
            return pd.DataFrame(BITS, columns=["a", "b", "c"])

    assert code_table(Convertible()).names == ["a", "b", "c"]


LABELS = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=8).filter(lambda text: text.strip() and as_number(text) is None),
)


@st.composite
def two_valued_frames(draw: st.DrawFn) -> pd.DataFrame:
    n_rows, n_columns = draw(st.integers(2, 12)), draw(st.integers(2, 4))
    columns = {}
    for k in range(n_columns):
        pair = draw(st.lists(LABELS, min_size=2, max_size=2, unique=True))
        bits = draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows))
        columns[f"c{k}"] = pd.Series([pair[bit] for bit in bits], dtype=object)
    return pd.DataFrame(columns)


@settings(deadline=None, max_examples=200)
@given(two_valued_frames(), st.booleans())
def test_any_two_valued_table_codes_and_round_trips(frame: pd.DataFrame, as_array: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        coded = code_table(frame.to_numpy() if as_array else frame, na_values=[])
    assert set(np.unique(coded.rows)) <= {0, 1}
    for k, labels in enumerate(labels_of(coded)):
        decoded = [folded(labels[bit]) for bit in coded.rows[:, k]]
        assert decoded == [folded(value) for value in frame.iloc[:, k]]
        numbers = [label for label in labels if isinstance(label, (int, float))]
        assert numbers == sorted(numbers)


# --- binarize -------------------------------------------------------------------------------


def test_one_threshold_cuts_every_numeric_column_and_leaves_the_rest() -> None:
    frame = pd.DataFrame({"a": [0, 1, 2, 3], "b": [1, 3, 1, 3], "c": ["no", "yes"] * 2})
    coded = code_table(frame, binarize=2)
    assert coded.rows.T.tolist() == [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 1]]
    assert coded.variables[0].labels == ("< 2", ">= 2")
    assert coded.notes[0] == "Columns 'a' and 'b': 1 = at least 2, 0 = less than 2."


def test_named_thresholds_cut_only_the_columns_they_name() -> None:
    frame = pd.DataFrame({"a": [0, 1, 2, 3], "b": [0, 1, 0, 1]})
    coded = code_table(frame, binarize={"a": 1.5})
    assert coded.rows.T.tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert coded.notes == ["Column 'a': 1 = at least 1.5, 0 = less than 1.5."]


def test_binarize_warns_of_a_cut_identifier() -> None:
    frame = pd.DataFrame({"id": range(10), "a": [0, 2] * 5})
    with pytest.warns(InputWarning, match="'id'.*likely identifier"):
        code_table(frame, binarize=1)


@pytest.mark.parametrize(
    ("binarize", "expected"),
    [
        ("mean", "binarize must be a number.*got 'mean'"),
        (float("nan"), "got nan"),
        (True, "got True"),
        ({"a": "2"}, "got '2'"),
        ({"z": 2}, "binarize names 'z', which the table does not have.*'a' and 'w'"),
        ({"w": 2}, "needs columns of numbers; 'w'"),
    ],
)
def test_bad_thresholds(binarize: object, expected: str) -> None:
    frame = pd.DataFrame({"a": [0, 1, 2], "w": ["u", "v", "u"]})
    with pytest.raises(InputError, match=f"(?s){expected}"):
        code_table(frame, binarize=binarize)


# --- tables that are refused ----------------------------------------------------------------


def test_more_than_two_values() -> None:
    frame = pd.DataFrame({"work": [0, 1, 0, 1], "sleep": [0.0, 1.0, 2.0, 3.0]})
    assert message(code_table, frame, kinds="binary") == (
        "Every column must hold two values; column 'sleep' holds 0, 1, 2 and 3.\n"
        "Binarize with binarize={'sleep': 2} (1 where the value is at least 2), or drop the column."
    )
    code_table(frame, binarize={"sleep": 2})


def test_the_advised_single_threshold_works() -> None:
    table = [[0, 5], [1, 6], [2, 1], [3, 0], [3, 0]]
    assert "binarize=2 (" in message(code_table, table, kinds="binary")
    code_table(table, binarize=2)


def test_more_than_two_words_have_no_threshold() -> None:
    frame = pd.DataFrame({"color": ["red", "green", "blue", "red"], "b": [0, 1, 1, 0]})
    text = message(code_table, frame, kinds="binary")
    assert "column 'color' holds 'blue', 'green' and 'red'" in text
    assert "yes and no for each value" in text
    assert "inarize" not in text


def test_many_bad_columns_make_one_short_message() -> None:
    table = np.tile(np.arange(4) * 1.5, (30, 1)).T
    text = message(code_table, table)
    assert "25 other columns" in text
    assert len(text) < 550


def test_different_faults_are_reported_together() -> None:
    frame = pd.DataFrame(
        {
            "id": range(30),
            "gap": [0.0, 1.0, np.nan] * 10,
            "far": [0.0, np.inf] * 15,
            "grade": [0, 1, 2.5] * 10,
            "remark": [f"it went fairly well on day {k % 20}" for k in range(30)],
            "list": [[0], [1]] * 15,
            "fine": [0, 1] * 15,
        }
    )
    text = message(code_table, frame)
    for name in ("id", "gap", "far", "grade", "remark", "list"):
        assert repr(name) in text
    assert "'fine'" not in text


@pytest.mark.parametrize(
    "missing", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")], ids=repr
)
def test_missing_values_are_counted_by_column(missing: object) -> None:
    frame = pd.DataFrame({"a": [1, missing, missing], "b": [0, 1, 1], "c": [missing, "u", "v"]})
    text = message(code_table, frame.astype(object))
    assert "found 3, in columns 'a' (2) and 'c' (1)" in text
    assert "na='drop'" in text
    assert "na='impute'" in text


def test_missing_in_plain_arrays_and_masked_arrays() -> None:
    assert "found 1, in column 'x1' (1)" in message(code_table, [[0, 1], [1, np.nan], [0, 1]])
    masked = np.ma.masked_array(BITS, mask=BITS == 0)
    assert "found 6" in message(code_table, masked)


def test_infinite() -> None:
    assert "infinity (inf) in column 'x0'" in message(code_table, [[np.inf, 1], [0, 0]])


@pytest.mark.parametrize(
    "identifier",
    [np.arange(40), np.arange(40) * 1.0, [f"P{k:03}" for k in range(40)]],
    ids=["whole", "float", "word"],
)
def test_a_column_of_as_many_values_as_rows_is_a_likely_identifier(identifier: object) -> None:
    frame = pd.DataFrame({"patient": identifier, "a": [0, 1] * 20})
    text = message(code_table, frame)
    assert "'patient' has as many different values as there are rows (40)" in text
    assert "likely identifier" in text
    assert "df.drop(columns=['patient'])" in text


def test_a_measurement_is_not_called_an_identifier() -> None:
    values = np.random.default_rng(0).normal(size=(40, 2))
    text = message(code_table, values)
    assert "identifier" not in text
    assert "more" in text
    assert "binarize=" in text


def test_free_text() -> None:
    frame = pd.DataFrame({"a": [0, 1] * 20, "town": [f"town{k % 25}" for k in range(40)]})
    text = message(code_table, frame)
    assert "'town' looks like free text: 25 different entries, such as 'town0'" in text
    assert "df.drop(columns=['town'])" in text


def test_prose_with_an_entry_for_each_row_is_text_not_an_identifier() -> None:
    remarks = [f"slept badly for {k} nights" for k in range(40)]
    text = message(code_table, pd.DataFrame({"a": [0, 1] * 20, "remark": remarks}))
    assert "free text" in text
    assert "identifier" not in text


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (BITS[:1], "at least two rows.*found 1 sample"),
        (BITS[:, :1], "at least two columns.*found 1 feature"),
        (BITS[:0], "at least two rows.*found 0 sample"),
        (np.empty((3, 0)), r"found 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 2"),
        ([], "1 dimension"),
        (pd.DataFrame(), "at least two columns"),
        (BITS[0], "Expected 2D array.*1 dimension"),
        (pd.Series([0, 1]), "Expected 2D array"),
        (BITS[None], "3 dimension"),
        (np.float64(1), "one number"),
        (BITS * 1j, "Complex data not supported"),
        (pd.DataFrame(BITS * 1j), "Complex data not supported"),
        ([[0, 1], [1]], "row 0 has 2 and row 1 has 1"),
        ("file.csv", "got str.*read_csv"),
        (None, "got NoneType"),
        ({"a": [0, 1]}, "got dict"),
        (pd.DataFrame(BITS, columns=["a", "b", "a"]), "more than one column named 'a'"),
    ],
)
def test_tables_of_the_wrong_shape(table: object, expected: str) -> None:
    with pytest.raises(InputError, match=f"(?s){expected}"):
        code_table(table)


# --- tables that get a warning --------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bit", "labels"),
    [
        (0, 0, (0, 1)),
        (1.0, 1, (0, 1)),
        (True, 1, (False, True)),
        (7, 0, (7, None)),
        ("no", 0, ("no", None)),
        ("Yes", 1, (None, "Yes")),
        ("1", 1, (0, 1)),
        ("cat", 0, ("cat", None)),
    ],
)
def test_a_constant_column_is_coded_with_a_warning(
    value: object, bit: int, labels: tuple[object, object]
) -> None:
    frame = pd.DataFrame({"same": pd.Series([value] * 3, dtype=object), "a": [0, 1, 0]})
    with pytest.warns(InputWarning, match="Column 'same' has the same value.*prior"):
        coded = code_table(frame)
    assert coded.rows[:, 0].tolist() == [bit] * 3
    assert coded.variables[0].labels == labels


def test_constant_columns_share_one_warning() -> None:
    with pytest.warns(InputWarning, match="Columns 'x0' and 'x1' have") as caught:
        code_table([[0, 1, 0], [0, 1, 1]])
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_words_that_differ_only_in_case_or_blanks_are_one_label() -> None:
    table = code_table([["yes", 0], ["Yes", 1], ["no", 1], ["yes ", 0], ["NO", 0], ["no", 0]])
    assert table.variables[0].labels == ("no", "yes")
    assert table.rows[:, 0].tolist() == [1, 1, 0, 1, 0, 0]
    assert table.notes[:2] == [
        "Column 'x0': 'NO' and 'no' are one label, 'no'.",
        "Column 'x0': 'Yes', 'yes' and 'yes ' are one label, 'yes'.",
    ]


# --- priors ---------------------------------------------------------------------------------


def test_inclusion_prior_as_a_pair() -> None:
    prior = check_inclusion_prior((1, 3.5), Interactions.pairs(4))
    assert (prior.a, prior.b) == (1.0, 3.5)
    assert prior.fixed.shape == (6,)
    assert np.isnan(prior.fixed).all()


@pytest.mark.parametrize("value", [0.1, np.float32(0.5), np.float64(0.9)])
def test_inclusion_prior_as_a_number(value: float) -> None:
    assert check_inclusion_prior(value, Interactions.pairs(3)).fixed.tolist() == [value] * 3


def test_inclusion_prior_as_a_matrix() -> None:
    matrix = np.array([[9, 0, 0.3], [0, 9, np.nan], [0.3, np.nan, -9]])
    prior = check_inclusion_prior(pd.DataFrame(matrix), Interactions.pairs(3))
    np.testing.assert_array_equal(prior.fixed, [0, 0.3, np.nan])
    assert (prior.a, prior.b) == (5.0, 5.0)


def test_a_matrix_of_two_nodes_is_not_a_pair() -> None:
    assert check_inclusion_prior([[0, 1], [1, 0]], Interactions.pairs(2)).fixed.tolist() == [1.0]


@given(st.integers(2, 7), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=50)
def test_matrix_order_is_that_of_triu_indices(n_nodes: int, random: object) -> None:
    matrix = np.random.default_rng(n_nodes).random((n_nodes, n_nodes))
    matrix = (matrix + matrix.T) / 2
    fixed = check_inclusion_prior(matrix, Interactions.pairs(n_nodes)).fixed
    np.testing.assert_array_equal(fixed, matrix[np.triu_indices(n_nodes, 1)])


ASYMMETRIC = [[0, 0.5, 0.1], [0.5, 0, 0.2], [0.1, 0.3, 0]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "strictly between 0 and 1; got 0"),
        (1.0, "strictly between 0 and 1; got 1"),
        (-0.5, "got -0.5"),
        (float("nan"), "must be a pair"),
        (True, "must be a pair"),
        ("dense", "must be a pair.*got 'dense'"),
        (None, "got None"),
        ((5,), r"two positive numbers; got \[5.0\]"),
        ((5, 0), "two positive numbers"),
        ((5, np.nan), "two positive numbers"),
        ((5, 5, 5), "two positive numbers"),
        (np.zeros((2, 3)), r"3 nodes; got shape \(2, 3\)"),
        (np.zeros((4, 4)), r"3 nodes; got shape \(4, 4\)"),
        (np.zeros((3, 3, 3)), "must be a pair"),
        (ASYMMETRIC, r"symmetric; for the pair \(1, 2\) it holds 0.2 above the diagonal and 0.3"),
        ([[0, np.nan, 0], [0.5, 0, 0], [0, 0, 0]], r"symmetric; for the pair \(0, 1\)"),
        ([[0, 1.5, 0], [1.5, 0, 0], [0, 0, 0]], r"\[0, 1\].*\(0, 1\) it holds 1.5"),
        ([[0, 0, 0], [0, 0, 0], [-1, 0, 0]], r"\[0, 1\].*\(0, 2\) it holds -1"),
    ],
)
def test_bad_inclusion_priors(value: object, expected: str) -> None:
    with pytest.raises(InputError, match=f"(?s)inclusion_prior.*{expected}"):
        check_inclusion_prior(value, Interactions.pairs(3))


def test_bad_pairs_are_called_by_their_names() -> None:
    text = message(check_inclusion_prior, ASYMMETRIC, Interactions.pairs(3), ["a", "b", "c"])
    assert "('b', 'c')" in text


def test_slab_prior() -> None:
    assert check_slab_prior((2, 3))[:2] == (2.0, 3.0)
    assert np.isnan(check_slab_prior((2, 3)).fixed)
    assert check_slab_prior(0.7).fixed == 0.7


@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan, "wide", None, (1,), (1, -1), [[1, 1]]])
def test_bad_slab_priors(value: object) -> None:
    assert "slab_prior" in message(check_slab_prior, value)


# --- single parameters ----------------------------------------------------------------------


def test_choice() -> None:
    assert check_choice("preset", "paper", ("default", "paper")) == "paper"
    text = message(check_choice, "preset", "fast", ("default", "paper"))
    assert text.startswith("preset must be one of 'default', 'paper'; got 'fast'.")
    assert "got 3" in message(check_choice, "preset", 3, ("default",))


@pytest.mark.parametrize("value", [1, np.int64(7), np.uint8(3)])
def test_positive_int(value: int) -> None:
    checked = check_positive_int("n_chains", value)
    assert checked == value
    assert type(checked) is int


@pytest.mark.parametrize("value", [0, -3, 2.5, 2.0, True, None, "4", np.bool_(True)])
def test_bad_positive_int(value: object) -> None:
    text = message(check_positive_int, "n_chains", value)
    assert text.startswith("n_chains must be a whole number of at least 1; got ")


def test_positive_int_may_be_none_or_zero_where_allowed() -> None:
    assert check_positive_int("n_draws", None, allow_none=True) is None
    assert check_positive_int("n_warmup", 0, low=0) == 0
    assert "or None" in message(check_positive_int, "n_draws", 0, allow_none=True)


@pytest.mark.parametrize(
    ("value", "keywords", "expected"),
    [
        (0, {"low": 0, "include_low": False}, "number greater than 0; got 0"),
        (2, {"low": 0, "high": 1}, "number of at least 0 and at most 1; got 2"),
        (1.0, {"high": 1, "include_high": False}, "number less than 1; got 1"),
        (np.inf, {}, "finite number; got inf"),
        (np.nan, {"low": 0}, "got nan"),
        ("2", {"low": 0}, "got '2'"),
        (True, {"low": 0}, "got True"),
        (None, {"low": 0}, "got None"),
    ],
)
def test_bad_numbers(value: object, keywords: dict[str, float], expected: str) -> None:
    with pytest.raises(InputError, match=f"bias_scale must be a .*{expected}"):
        check_number("bias_scale", value, **keywords)


def test_numbers() -> None:
    assert check_number("alpha", np.float32(0.5), 0, 1) == 0.5
    assert check_number("alpha", 1, 0, 1) == 1.0
    assert check_number("alpha", -3) == -3.0


def test_exact_size() -> None:
    check_exact_size(20, 1 << 20, 1 << 20)
    text = message(check_exact_size, 9, 5**9, 1 << 20)
    for part in ("at most 1,048,576", "found 9 columns with 1,953,125", "likelihood='particles'"):
        assert part in text


def test_full_size() -> None:
    check_full_size(2000, 2000)
    text = message(check_full_size, 5050, 2000)
    for part in ("at most 2000", "found 5050", "sampler={'preconditioner': 'diagonal'}"):
        assert part in text


INCOMPLETE = pd.DataFrame(
    {"a": ["yes", None, "no", "no"], "b": [1.0, 0.0, np.nan, 1.0], "c": [0, 0, 1, 0]}
)


def test_rows_with_missing_entries_are_dropped_and_counted() -> None:
    table = code_table(
        INCOMPLETE[["a", "b"]].assign(c=[1, 0, 1, 0], b=[1.0, 0.0, np.nan, 0.0]), na="drop"
    )
    np.testing.assert_array_equal(table.rows, [[1, 1, 1], [0, 0, 0]])
    assert not table.missing.any()
    assert table.notes[0] == "2 of 4 rows were dropped for missing entries."


def test_missing_entries_are_kept_for_imputation() -> None:
    table = code_table(INCOMPLETE, na="impute")
    np.testing.assert_array_equal(table.rows, [[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(np.argwhere(table.missing), [[1, 0], [2, 1]])
    assert table.variables[0].labels == ("no", "yes")
    assert table.notes[0].startswith("2 missing entries (16.7% of all) are sampled along")


def test_each_fault_of_a_table_has_its_code_and_fields() -> None:
    table = pd.DataFrame({"a": [0, 1, 2.5], "binarize": [1.0, None, 0.0], "c": [0.0, np.inf, 1.0]})
    with pytest.raises(InputError) as caught:
        code_table(table)
    faults = caught.value.fields["faults"]
    assert isinstance(faults, Message)
    codes = {
        kind: fault.code for kind, fault in faults.fields.items() if isinstance(fault, Message)
    }
    assert codes == {
        "missing": "missing-values",
        "infinite": "infinite-values",
        "values": "values-that-are-no-levels",
    }
    missing = faults.fields["missing"]
    assert isinstance(missing, Message)
    assert missing.fields["columns"] == "'binarize' (1)"
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_tables_with_too_few_known_entries_are_refused() -> None:
    holes = pd.DataFrame({"a": [1, None, None], "b": [None, None, None], "c": [0, 1, 1]})
    with pytest.raises(InputError, match="only missing entries in 'b'"):
        code_table(holes, na="impute")
    with pytest.raises(InputError, match="all but 0 of 3 rows"):
        code_table(holes, na="drop")
    with pytest.raises(InputError, match="na must be"):
        code_table(holes, na="guess")


def test_a_column_with_constant_known_entries_is_warned_of() -> None:
    holes = pd.DataFrame({"a": [1.0, np.nan, 1.0], "c": [0, 1, 1]})
    with pytest.warns(InputWarning, match="'a' has the same value in every row"):
        code_table(holes, na="impute")
