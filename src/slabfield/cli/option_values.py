"""Parsing of option values: columns, thresholds, numbers of draws."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from slabfield.validation import InputError
from slabfield.validation.errors import closest_name, listed

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("png", "svg", "pdf")
"""Formats in which plots are written."""


def select_columns(table: pd.DataFrame, columns: str | None, drop: str | None) -> pd.DataFrame:
    """Select the requested columns of a table, without the dropped ones.

    Parameters
    ----------
    columns, drop : str, optional
        Names separated by commas; a name that contains a comma is in double quotes.

    Returns
    -------
    DataFrame
        The selected columns, in the order of `columns` if given.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.cli.option_values import select_columns
    >>> table = pd.DataFrame({"id": [1, 2], "a": [0, 1], "b": [1, 0]})
    >>> select_columns(table, None, "id").columns.tolist()
    ['a', 'b']
    """
    return table[select_names([str(name) for name in table.columns], columns, drop)]


def select_names(names: Sequence[str], columns: str | None, drop: str | None) -> list[str]:
    """Return the names of the requested columns, without the dropped ones.

    Examples
    --------
    >>> from slabfield.cli.option_values import select_names
    >>> select_names(["id", "a", "b"], "b,a", None)
    ['b', 'a']
    """
    kept = names if columns is None else check_known(split_list(columns, names), names, "--columns")
    dropped = [] if drop is None else check_known(split_list(drop, names), names, "--drop")
    return [name for name in kept if name not in dropped]


def parse_binarize(text: str | None) -> float | str | dict[str, float | str] | None:
    """Read one threshold or "median", or names with one of these each.

    Examples
    --------
    >>> from slabfield.cli.option_values import parse_binarize
    >>> parse_binarize("2"), parse_binarize("median"), parse_binarize("sleep=2,work=median")
    (2.0, 'median', {'sleep': 2.0, 'work': 'median'})
    """
    if text is None:
        return None
    try:
        if "=" not in text:
            return _threshold(text)
        pairs = [part.rpartition("=") for part in split_list(text)]
        return {name.strip(): _threshold(number) for name, _, number in pairs}
    except ValueError:
        raise InputError(
            "invalid-binarize",
            "--binarize must be a number or median, or names with one of these each; got "
            "{value!r}. Pass for example --binarize 2, or --binarize sleep=2,work=median.",
            value=text,
        ) from None


def parse_na_values(
    texts: Sequence[str] | None,
) -> list[float | str] | dict[str | None, list[float | str]] | None:
    """Read values that stand for missing answers, of all columns or of one.

    Examples
    --------
    >>> from slabfield.cli.option_values import parse_na_values
    >>> parse_na_values(["9,99"]), parse_na_values(["a:99", "b:none"])
    ([9, 99], {'a': [99], 'b': []})
    >>> parse_na_values(["9", "b:none"])
    {'b': [], None: [9]}
    """
    if not texts:
        return None
    general: list[float | str] | None = None
    by_column: dict[str | None, list[float | str]] = {}
    for text in texts:
        name, colon, values = (part.strip() for part in text.rpartition(":"))
        if not values or (colon and not name):
            raise InputError(
                "invalid-na-values-option",
                "--na-values must be values separated by commas, or a column, a colon and its "
                "values; got {value!r}. Pass for example --na-values 9,99 or --na-values sleep:99.",
                value=text,
            )
        if colon:
            by_column[name] = by_column.get(name, []) + parse_values(values)
        else:
            general = (general or []) + parse_values(values)
    if not by_column:
        return general
    return by_column if general is None else {**by_column, None: general}


def parse_slab(text: str | None) -> float | tuple[float, float]:
    """Read the slab prior: sigma0, or shape and rate of the Gamma prior of sigma0^-2.

    Examples
    --------
    >>> from slabfield.cli.option_values import parse_slab
    >>> parse_slab(None), parse_slab("1.5"), parse_slab("3,2")
    ((5, 5), 1.5, (3.0, 2.0))
    """
    if text is None:
        return (5, 5)
    try:
        numbers = [_finite(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    raise InputError(
        "invalid-slab",
        "--slab must be a number, which fixes sigma0, or two, the shape and rate of its prior; got "
        "{value!r}. Pass for example --slab 1, or --slab 5,5.",
        value=text,
    )


def parse_draws(text: str) -> int | str:
    """Read a number of draws or "auto".

    Examples
    --------
    >>> from slabfield.cli.option_values import parse_draws
    >>> parse_draws("200"), parse_draws("auto")
    (200, 'auto')
    """
    if text == "auto":
        return text
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(
            "invalid-draws",
            "--draws must be a whole number of at least 1, or auto; got {value!r}. Pass for "
            "example --draws 1000.",
            value=text,
        )
    return int(text)


def parse_formats(text: str | None) -> tuple[str, ...]:
    """Read formats of pictures, separated by commas; none if there is no text.

    Examples
    --------
    >>> from slabfield.cli.option_values import parse_formats
    >>> parse_formats("png, svg")
    ('png', 'svg')
    """
    found = [part.strip().lower().removeprefix(".") for part in (text or "").split(",")]
    formats = tuple(dict.fromkeys(part for part in found if part))
    unknown = [form for form in formats if form not in FORMATS]
    if unknown or (text is not None and not formats):
        raise InputError(
            "unknown-format",
            "--format must be one or more of {allowed}, separated by commas; got {value!r}. Pass "
            "for example --format png,svg.",
            allowed=", ".join(FORMATS),
            value=text,
        )
    return formats


def _threshold(text: str) -> float | str:
    return text.strip() if text.strip() == "median" else _finite(text)


def parse_values(text: str) -> list[float | str]:
    """Return the numbers and texts of a list; ``none`` is the empty list.

    Examples
    --------
    >>> from slabfield.cli.option_values import parse_values
    >>> parse_values("9,x"), parse_values("none")
    ([9, 'x'], [])
    """
    return [] if text.strip() == "none" else [number_or_text(part) for part in split_list(text)]


def number_or_text(text: str) -> float | str:
    """Return the number that a text is, or the text.

    Examples
    --------
    >>> from slabfield.cli.option_values import number_or_text
    >>> number_or_text("3"), number_or_text("often")
    (3, 'often')
    """
    try:
        number = _finite(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("not a finite number")
    return number


def split_list(text: str, names: Sequence[str] = (), separator: str = ",") -> list[str]:
    """Split a list; a part that contains the separator is in double quotes.

    Examples
    --------
    >>> from slabfield.cli.option_values import split_list
    >>> split_list('sleep, "work, paid"'), split_list("sleep, bad", ["sleep, bad"])
    (['sleep', 'work, paid'], ['sleep, bad'])
    """
    if text in names:  # a single name, which may contain a comma
        return [text]
    lines = csv.reader([text], delimiter=separator, skipinitialspace=True)
    return [part.strip() for part in next(lines, [])]


def check_known(requested: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    """Return requested columns, each once; raise an error if one is not of the file."""
    unknown = [name for name in requested if name not in names]
    if unknown:
        closest = closest_name(unknown[0], names)
        advice = f"Did you mean {closest!r}?" if closest else "Name columns of the file."
        raise InputError(
            "unknown-columns",
            "{option} must name columns of the file; {unknown} not found among {names}. {advice}",
            option=option,
            unknown=listed([repr(name) for name in unknown]),
            names=listed([repr(name) for name in names], shown=8),
            advice=advice,
        )
    return list(dict.fromkeys(requested))
