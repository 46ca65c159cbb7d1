"""Numbers with decimal commas in text files."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from slabfield.io.missing_marks import MISSING_MARKS
from slabfield.validation.errors import InputError, Parameter, listed, shown_value

if TYPE_CHECKING:
    import pandas as pd

DECIMAL = (",", ".")
NUMBER = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?", re.ASCII)


def check_decimal(decimal: str | None) -> str | None:
    """Return the decimal separator, if it is a comma, a point or None.

    Examples
    --------
    >>> from slabfield.io.decimal_commas import check_decimal
    >>> check_decimal(",")
    ','
    """
    if decimal is None or decimal in DECIMAL:
        return decimal
    raise InputError(
        "invalid-decimal",
        "{decimal} must be a comma or a point; got {value}. Pass one of these, or leave it out.",
        decimal=Parameter("decimal"),
        value=shown_value(decimal),
    )


def looks_for_commas(delimiter: str, decimal: str | None) -> bool:
    """Whether commas in numbers may be decimal commas.

    Where commas separate fields, a comma within a quoted field more often separates answers.

    Examples
    --------
    >>> from slabfield.io.decimal_commas import looks_for_commas
    >>> looks_for_commas(";", None), looks_for_commas(",", None), looks_for_commas(",", ",")
    (True, False, True)
    """
    return delimiter != "," if decimal is None else decimal == ","


def convert_commas(
    table: pd.DataFrame, as_text: Collection[str] = (), expected: Collection[str] = ()
) -> list[str]:
    """Convert columns of numbers with decimal commas in place, and return their names.

    A column is converted if some value has a decimal comma and every value is a number; texts that
    often stand for a missing answer are left as they are.
    Columns in `as_text` are left alone; those in `expected` are converted without a comma as well.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.io.decimal_commas import convert_commas
    >>> table = pd.DataFrame({"dose": ["1,5", "2"], "answers": ["1,2,3", "2"]})
    >>> convert_commas(table), table["dose"].tolist()
    (['dose'], [1.5, 2.0])
    """
    import pandas as pd

    converted = []
    for name in table.columns:
        if name in as_text or pd.api.types.is_numeric_dtype(table[name].dtype):
            continue
        distinct = table[name].dropna().unique().tolist()
        if not all(isinstance(value, str) for value in distinct):
            continue
        numbers = _numbers_in(distinct, name in expected)
        if numbers:
            column = table[name].astype(object).map(lambda x, own=numbers: own.get(x, x))
            table[name] = column.infer_objects()
            converted.append(str(name))
    return converted


def holds_text(values: pd.Series[Any]) -> bool:
    """Whether a column of text holds any that does not often stand for a missing answer.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.io.decimal_commas import holds_text
    >>> holds_text(pd.Series(["?", None])), holds_text(pd.Series(["?", "2.5"]))
    (False, True)
    """
    distinct = values.dropna().unique().tolist()
    return any(str(value).strip().casefold() not in MISSING_MARKS for value in distinct)


def _numbers_in(distinct: Sequence[str], without_comma: bool) -> dict[str, float]:
    """Return the numbers that texts stand for; none if they are not numbers with commas."""
    texts = [x for x in distinct if x.strip().casefold() not in MISSING_MARKS]
    if not without_comma and not any("," in text for text in texts):
        return {}
    if not all(NUMBER.fullmatch(text.strip()) for text in texts):
        return {}
    return {text: float(text.replace(",", ".")) for text in texts}


def notes_of_commas(names: Sequence[str]) -> list[str]:
    """Return a note on columns with decimal commas.

    Examples
    --------
    >>> from slabfield.io.decimal_commas import notes_of_commas
    >>> notes_of_commas(["dose"])
    ["Column 'dose': commas are decimal commas (1,5 is 1.5)."]
    """
    if not names:
        return []
    which = f"Column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names])}"
    return [f"{which}: commas are decimal commas (1,5 is 1.5)."]
