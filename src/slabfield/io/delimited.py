"""Delimited text tables: encoding, delimiter and lines, with an error message for each fault."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slabfield.io.decimal_commas import convert_commas, looks_for_commas, notes_of_commas
from slabfield.io.text_encoding import decode, notes_of_encoding
from slabfield.validation.errors import InputError, check_width, listed

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# Options of pandas.read_csv, shared by whole and chunked reading
CSV_OPTIONS: dict[str, Any] = {
    "header": 0, "index_col": False, "skipinitialspace": True, "low_memory": False
}  # fmt: skip


def read_delimited(
    path: Path, content: bytes, encoding: str | None = None, decimal: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    r"""Read a table whose first line holds the column names.

    The delimiter (comma, semicolon or tab) is the one that occurs most often in the first line; in
    a file named ``.tsv`` or ``.tab`` it is the tab. Encoding and decimal separator are guessed
    where they are not given.

    Returns
    -------
    DataFrame
        The table; its values are not yet checked.
    list of str
        Notes on what was guessed.
    """
    import pandas as pd

    text, used = decode(path, content, encoding)
    # a file that holds only a byte order mark is not empty, but its text is
    refuse_empty(path, text)
    delimiter = find_delimiter(path, text)
    names = _check_lines(path, text, delimiter)
    try:
        table: pd.DataFrame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            names=names,
            **CSV_OPTIONS,
        )
    except (pd.errors.ParserError, ValueError) as error:
        raise InputError(
            "not-delimited",
            "{path} must be a CSV or TSV file; reading it failed with: {error}. Open it in a text "
            "editor, and look for quotes that are not closed.",
            path=path,
            error=str(error),
        ) from None
    # a delimiter at the end of every line makes a column without a name or values
    empty = [
        name
        for k, name in enumerate(names)
        if name == f"column {k + 1}" and bool(table[name].isna().all())
    ]
    table = table.drop(columns=empty)
    converted = convert_commas(table) if looks_for_commas(delimiter, decimal) else []
    return table, [*notes_of_encoding(path, used, encoding), *notes_of_commas(converted)]


def check_names(path: Path, fields: Sequence[str]) -> list[str]:
    """Return the column names of a file, after checking that they are names and unique."""
    names = [field.strip() or f"column {k + 1}" for k, field in enumerate(fields)]
    if set(names) <= {"0", "1"}:
        raise InputError(
            "no-column-names",
            "The first line of {path} must hold the column names; found {names}. Add a line with a "
            "name for each column above it.",
            path=path,
            names=listed(names),
        )
    duplicates = [repr(name) for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise InputError(
            "duplicate-names-in-file",
            "The column names in the first line of {path} must differ; found {names} more than "
            "once. Rename all but one, or add a line of names if there is none.",
            path=path,
            names=listed(duplicates),
        )
    return names


def refuse_empty(path: Path, content: bytes | str) -> None:
    """Refuse a file that is empty or holds only whitespace."""
    if not content.strip():
        raise InputError(
            "empty-file",
            "{path} must hold a table; found an empty file. Write the column names in its first "
            "line and one row per line below.",
            path=path,
        )


def find_delimiter(path: Path, text: str) -> str:
    """Return the most frequent delimiter of the first line, or the tab if the file name says so.

    Examples
    --------
    >>> from pathlib import Path
    >>> from slabfield.io.delimited import find_delimiter
    >>> find_delimiter(Path("answers.csv"), "sleep;work, paid;rest")
    ';'
    """
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes[-2:]}:
        return "\t"
    first = next(line for line in text.splitlines() if line.strip())
    try:
        counts = {
            delimiter: len(next(csv.reader([first], delimiter=delimiter)))
            for delimiter in DELIMITERS
        }
    except csv.Error as error:
        raise _unreadable(path, 1, error) from None
    return max(counts, key=lambda delimiter: counts[delimiter])


def _unreadable(path: Path, line: int, error: csv.Error) -> InputError:
    return InputError(
        "unreadable-line",
        "{path} must be a CSV or TSV file; line {line} cannot be read: {error}. Look there for "
        "quotes that are not closed.",
        path=path,
        line=line,
        error=str(error),
    )


def _check_lines(path: Path, text: str, delimiter: str) -> list[str]:
    """Check that every line has as many fields as the first, and return the column names."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    names: list[str] | None = None
    n_rows = 0
    try:
        for fields in reader:
            if not fields:
                continue
            if names is None:
                check_width(len(fields))
                names = check_names(path, fields)
                continue
            n_rows += 1
            if len(fields) != len(names):
                raise InputError(
                    "uneven-lines",
                    "Every line of {path} must have as many fields as the first; line {line} has "
                    "{found}, expected {expected} (fields are separated by {delimiter}). Correct "
                    "that line.",
                    path=path,
                    line=reader.line_num,
                    found=len(fields),
                    expected=len(names),
                    delimiter=DELIMITERS[delimiter],
                )
    except csv.Error as error:
        raise _unreadable(path, reader.line_num, error) from None
    if names is None or n_rows == 0:
        raise InputError(
            "no-rows",
            "{path} must have a row for each case; found only the line of column names. Add the "
            "rows below it.",
            path=path,
        )
    return names
