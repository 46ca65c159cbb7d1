"""Rows that conditions select, whatever the types of columns and the words of conditions."""

import pandas as pd
import pytest

from slabfield.cli.row_selection import parse_where, select_rows

TABLE = pd.DataFrame({
    "a": [1, 2, 3, 4, 5],
    "b": [1.0, 0.0, 1.0, 0.0, None],
    "site": pd.Series(["Rome", "Oslo", None, "Bern, CH", "Rome"], dtype="category"),
    "ill": [True, False, True, True, False],
    "x=y": [0, 1, 1, 1, 0],
})  # fmt: skip


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        (["b=1"], [1, 3]),
        (["b=1.0"], [1, 3]),
        (["b=0,1"], [1, 2, 3, 4]),
        (["site=Rome, Oslo"], [1, 2, 5]),
        (['site="Bern, CH"'], [4]),
        (["site=Rome", "ill=True"], [1]),
        (["x=y=1"], [2, 3, 4]),
        (["x=y = 1"], [2, 3, 4]),
    ],
)
def test_rows_that_meet_conditions(conditions: list[str], rows: list[int]) -> None:
    parsed = parse_where(conditions, list(TABLE.columns))
    found = select_rows(TABLE, parsed)
    assert found["a"].tolist() == rows
    left_out = {condition.column for condition in parsed}
    assert list(found.columns) == [name for name in TABLE.columns if name not in left_out]
