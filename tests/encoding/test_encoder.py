"""Variables, and the encoder that decides them and encodes rows with them."""

import datetime
import json
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slabfield.encoding import Encoder, Variable, code_table
from slabfield.validation import InputError, InputWarning

LABELS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.text(max_size=5),
    st.floats(allow_nan=False),
)  # fmt: skip


@given(st.text(), LABELS, LABELS, st.none() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_variable_survives_a_file(
    name: str, zero: object, one: object, threshold: float | None
) -> None:
    variable = Variable.binary(name, (zero, one), threshold)
    again = Variable.from_record(json.loads(json.dumps(variable.as_record())))
    assert repr(again) == repr(variable)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (datetime.date(2024, 5, 1), datetime.date(2024, 5, 1)),
        (datetime.datetime(2024, 5, 1, 2, 3), datetime.datetime(2024, 5, 1, 2, 3)),
        (pd.Timestamp("2024-05-01 02:03:04.5"), pd.Timestamp("2024-05-01 02:03:04.5")),
        (pd.Timestamp("2024-05-01", tz="UTC"), pd.Timestamp("2024-05-01", tz="UTC")),
        (datetime.time(13, 5), datetime.time(13, 5)),
        (Decimal("0.10"), Decimal("0.10")),
        (np.int64(3), 3),
        (pd.Timedelta("1 day"), "1 days 00:00:00"),
    ],
)
def test_labels_that_files_do_not_have_are_marked_or_become_text(
    label: object, expected: object
) -> None:
    record = json.loads(json.dumps(Variable.binary("day", (label, "b")).as_record()))
    (again, _) = Variable.from_record(record).labels
    assert again == expected
    assert hash(again) == hash(expected)  # so that it is found among the values of new rows


def test_an_encoder_survives_a_file() -> None:
    encoder = Encoder.fit(pd.DataFrame({"a": ["x", "y"], "b": [1, 5]}), binarize={"b": 3})
    again = Encoder.from_record(json.loads(json.dumps(encoder.as_record())))
    assert again == encoder
    assert again.has_names


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "cyclic"}, "unknown kind 'cyclic'"),
        ({"labels": [0, 1, 2]}, "3 labels but 2 scores"),
        (
            {"labels": [0, 1, 2], "scores": [0, 1, 2], "positions": [0, 1, 2]},
            "3 labels of the binary variable 'a'",
        ),
        ({"name": 1}, "whose name is not text"),
        ({"scores": ["x", 1]}, "could not convert"),
    ],
)
def test_damaged_variables_are_refused(change: dict[str, Any], expected: str) -> None:
    record = Variable.binary("a", (0, 1)).as_record() | change
    with pytest.raises(ValueError, match=expected):
        Variable.from_record(record)


PAIRS = (
    *(
        (0, 1),
        (False, True),
        ("no", "yes"),
        (2.5, -1.0),
        ("b", "a"),
        (7, 7),
        ("1", "0"),
        (3, 10**12),
    ),
    (Fraction(1, 3), Fraction(2, 3)),
)


@given(
    st.lists(st.sampled_from(PAIRS), min_size=2, max_size=5),
    st.integers(2, 10),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_rows_are_encoded_again_as_in_the_fit(
    pairs: list[tuple[object, object]], n_rows: int, seed: int
) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (n_rows, len(pairs)))
    frame = pd.DataFrame(
        {f"c{k}": [pair[b] for b in bits[:, k]] for k, pair in enumerate(pairs)}, dtype=object
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        table = code_table(frame)
        encoder = Encoder.fit(frame)
    assert encoder.variables == table.variables
    rows, missing = encoder.transform(frame)
    assert np.array_equal(rows, table.rows)
    assert not missing.any()
    one_row = encoder.transform(frame.head(1)).rows
    assert np.array_equal(one_row, table.rows[:1])


def test_all_faults_of_all_columns_are_in_one_message() -> None:
    frame = pd.DataFrame({"a": [0, 1, 0.5], "b": [0, np.inf, 1], "c": [1, None, 0], "d": [0, 1, 0]})
    with pytest.raises(InputError) as refused:
        Encoder.fit(frame)
    for expected in ("'a' holds decimals: 0, 0.5 and 1", "infinity (inf) in column 'b'", "'c' (1)"):
        assert expected in str(refused.value)
    assert "'d'" not in str(refused.value)


def test_missing_entries_of_new_rows() -> None:
    encoder = Encoder.fit([["no", 1], ["yes", 5]], binarize={"x1": 2})
    rows, missing = encoder.transform([["yes", None], [None, 7]], allow_missing=True)
    assert rows.tolist() == [[1, 0], [0, 1]]
    assert missing.tolist() == [[False, True], [True, False]]
    with pytest.raises(InputError, match="found some in column 'x1'"):
        encoder.transform([["yes", None]])
    assert encoder.transform([["yes", None]], ignored=[1]).missing.tolist() == [[False, True]]


def test_values_that_are_no_labels_are_refused() -> None:
    encoder = Encoder.fit([["no", 1], ["yes", 5]])
    with pytest.raises(InputError, match=r"'x0' must hold 'no' and 'yes'.*also holds \['yes'\]"):
        encoder.transform([[["yes"], 1], ["no", 5]])
    cut = Encoder.fit([["no", 1], ["yes", 5]], binarize=2)
    with pytest.raises(InputError, match="'x1' was cut at 2 and must hold finite numbers"):
        cut.transform(np.array([["no", 10**400]], dtype=object))


def test_a_label_that_never_occurred_stands_for_all_others() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        encoder = Encoder.fit([["yes", 0], ["yes", 1]])
    assert encoder.variables[0].labels == (None, "yes")
    assert encoder.transform([["no", 0], ["maybe", 1], ["yes", 1]]).rows[:, 0].tolist() == [0, 0, 1]
