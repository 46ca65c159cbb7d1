"""Parsing of option values: columns, thresholds, numbers of draws."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING

from slabfield.validation import InputError
from slabfield.validation.errors import listed

if TYPE_CHECKING:
    import pandas as pd


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
    kept = names if columns is None else _check_known(_split(columns, names), names, "--columns")
    dropped = [] if drop is None else _check_known(_split(drop, names), names, "--drop")
    return [name for name in kept if name not in dropped]


def parse_binarize(text: str | None) -> float | dict[str, float] | None:
    """Read one threshold, or names with a threshold each."""
    if text is None:
        return None
    try:
        if "=" not in text:
            return _finite(text)
        pairs = [part.rpartition("=") for part in _split(text, [])]
        return {name.strip(): _finite(number) for name, _, number in pairs}
    except ValueError:
        raise InputError(
            "invalid-binarize",
            "--binarize must be a number, or names with a number each; got {value!r}. Pass for "
            "example --binarize 2, or --binarize sleep=2,work=0.5.",
            value=text,
        ) from None


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


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("not a finite number")
    return number


def _split(text: str, names: Sequence[str]) -> list[str]:
    if text in names:  # a single name, which may contain a comma
        return [text]
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def _check_known(requested: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    unknown = [name for name in requested if name not in names]
    if unknown:
        close = get_close_matches(unknown[0], names, n=1)
        advice = f"Did you mean {close[0]!r}?" if close else "Name columns of the file."
        raise InputError(
            "unknown-columns",
            "{option} must name columns of the file; {unknown} not found among {names}. {advice}",
            option=option,
            unknown=listed([repr(name) for name in unknown]),
            names=listed([repr(name) for name in names], shown=8),
            advice=advice,
        )
    return list(dict.fromkeys(requested))
