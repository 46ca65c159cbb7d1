"""Selection of rows by their values in some columns: ``--where COLUMN=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from slabfield.cli.option_values import check_known, number_or_text, split_list
from slabfield.validation import InputError
from slabfield.validation.errors import listed

if TYPE_CHECKING:
    import pandas as pd


class Condition(NamedTuple):
    """A column, and the values that a row may have in it."""

    column: str
    values: list[float | str]


def parse_where(texts: Sequence[str], names: Sequence[str]) -> list[Condition]:
    """Read conditions, each a column and a value of it, or several separated by commas.

    Examples
    --------
    >>> from slabfield.cli.row_selection import parse_where
    >>> parse_where(["group=1", "site=Rome,Oslo"], ["group", "site", "a"])
    [Condition(column='group', values=[1]), Condition(column='site', values=['Rome', 'Oslo'])]
    """
    return [_parse(text, names) for text in texts]


def _parse(text: str, names: Sequence[str]) -> Condition:
    known = [name for name in names if text.startswith(f"{name}=")]
    name = max(known, key=len) if known else text.rpartition("=")[0].strip()
    values = split_list(text[len(name) :].lstrip().removeprefix("="))
    if not name or "" in values or not values:
        raise InputError(
            "invalid-where",
            "--where must be a column, an equals sign and a value, or several separated by commas; "
            "got {value!r}. Pass for example --where group=1.",
            value=text,
        )
    (column,) = check_known([name], names, "--where")
    return Condition(column, [number_or_text(value) for value in values])


def select_rows(table: pd.DataFrame, conditions: Sequence[Condition]) -> pd.DataFrame:
    """Select the rows that meet all conditions, without the columns of these.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.cli.row_selection import Condition, select_rows
    >>> table = pd.DataFrame({"group": [1, 2, 1], "a": [0, 1, 1]})
    >>> select_rows(table, [Condition("group", [1])])["a"].tolist()
    [0, 1]
    """
    names = [str(name) for name in table.columns]
    for condition in conditions:
        column = table.iloc[:, names.index(condition.column)]
        chosen = [_is_one_of(found, condition.values) for found in column]
        if not any(chosen):
            found = [str(value) for value in column.dropna().unique()]
            raise InputError(
                "no-such-rows",
                "--where {column}={value} selects no row; the values of {column} are {found}. Name "
                "one of these.",
                column=condition.column,
                value=",".join(str(value) for value in condition.values),
                found=listed(found, shown=8),
            )
        table = table[chosen]
    named = {condition.column for condition in conditions}
    return table[[name for name in table.columns if str(name) not in named]]


def _is_one_of(found: object, values: Sequence[float | str]) -> bool:
    text = str(found).strip()
    return any(text == str(value) or number_or_text(text) == value for value in values)
