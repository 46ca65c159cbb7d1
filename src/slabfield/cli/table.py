"""Reading a table from a file, with a clear message for whatever can be wrong with one."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from slabfield.checks import InputError
from slabfield.checks.errors import listed

if TYPE_CHECKING:
    import pandas as pd

MAGIC = {
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"PAR1": "a Parquet file",
}
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def read_table(path: Path) -> pd.DataFrame:
    r"""Read a CSV or TSV file whose first line holds the column names.

    The delimiter (comma, semicolon or tab) is the one that the first line has most of.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    DataFrame
        The table, not yet checked for what it holds.

    Raises
    ------
    InputError
        When there is no table in the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.cli.table import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("sleep,work\nyes,0\nno,1\n")
    ...     read_table(path).columns.tolist()
    ['sleep', 'work']
    """
    import pandas as pd

    text = _decode(path, _read_bytes(path))
    delimiter = _find_delimiter(path, text)
    names = _check_lines(path, text, delimiter)
    try:
        table = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            header=0,
            names=names,
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except (pd.errors.ParserError, ValueError) as error:
        raise InputError(
            f"{path} must be a CSV or TSV file; reading it failed with: {error}. "
            "Open it in a text editor, and look for quotes that are not closed."
        ) from None
    return table


def select_columns(table: pd.DataFrame, columns: str | None, drop: str | None) -> pd.DataFrame:
    """Keep the columns asked for, without those to be dropped.

    Parameters
    ----------
    table : DataFrame
        The table.
    columns, drop : str, optional
        Names joined by commas; a name that holds a comma goes in double quotes.

    Returns
    -------
    DataFrame
        The columns that are left, in the order of `columns` where that is given.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.cli.table import select_columns
    >>> table = pd.DataFrame({"id": [1, 2], "a": [0, 1], "b": [1, 0]})
    >>> select_columns(table, None, "id").columns.tolist()
    ['a', 'b']
    """
    names = [str(name) for name in table.columns]
    kept = names if columns is None else _known(_split(columns, names), names, "--columns")
    dropped = [] if drop is None else _known(_split(drop, names), names, "--drop")
    return table[[name for name in kept if name not in dropped]]


def parse_binarize(text: str | None) -> float | dict[str, float] | None:
    """Read a number, or names with a number each.

    Examples
    --------
    >>> from slabfield.cli.table import parse_binarize
    >>> parse_binarize("2"), parse_binarize("sleep=2,work=0.5")
    (2.0, {'sleep': 2.0, 'work': 0.5})
    """
    if text is None:
        return None
    try:
        if "=" not in text:
            return float(text)
        pairs = [part.rpartition("=") for part in _split(text, [])]
        return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        raise InputError(
            f"--binarize must be a number, or names with a number each; got {text!r}. "
            "Pass for example --binarize 2, or --binarize sleep=2,work=0.5."
        ) from None


def parse_draws(text: str | None, preset: str = "default") -> int | str | None:
    """Read a number of draws, or the word auto; left out, it is auto, or what a preset says.

    Examples
    --------
    >>> from slabfield.cli.table import parse_draws
    >>> parse_draws("200"), parse_draws(None), parse_draws(None, "paper")
    (200, 'auto', None)
    """
    if text is None:
        return "auto" if preset == "default" else None
    if text == "auto":
        return text
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(
            f"--draws must be a whole number of at least 1, or auto; got {text!r}. Pass for "
            "example --draws 1000."
        )
    return int(text)


def _read_bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        nearby = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, nearby, n=1)
        raise InputError(
            f"{path} must be a file that exists; found no such file. Check the name"
            f"{f'; did you mean {close[0]}?' if close else ' and the folder.'}"
        ) from None
    except IsADirectoryError:
        raise InputError(
            f"{path} must be a file; found a folder. Name one CSV file in it."
        ) from None
    except OSError as error:
        raise InputError(
            f"{path} must be a file that can be read; found: {error.strerror or error}. "
            "Check its permissions."
        ) from None
    if not content.strip():
        raise InputError(
            f"{path} must hold a table; found an empty file. Write the column names in its first "
            "line and one row a line below."
        )
    return content


def _decode(path: Path, content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        kind = next((kind for magic, kind in MAGIC.items() if content.startswith(magic)), None)
        if kind is not None or b"\0" in content[: 1 << 20]:
            raise InputError(
                f"{path} must be a text file; found {kind or 'bytes that are not text'}. "
                "Save the table as CSV (UTF-8) first."
            )
        encoding = "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} must be text in UTF-8; found a byte that is not, "
            f"0x{content[error.start]:02x} in line {line}. Save it with the encoding UTF-8."
        ) from None


def _find_delimiter(path: Path, text: str) -> str:
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    first = next(line for line in text.splitlines() if line.strip())
    counts = {
        delimiter: len(next(csv.reader([first], delimiter=delimiter))) for delimiter in DELIMITERS
    }
    return max(counts, key=lambda delimiter: counts[delimiter])


def _check_lines(path: Path, text: str, delimiter: str) -> list[str]:
    """Check that every line has as many fields as the first, and return the names in that."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    names: list[str] | None = None
    n_rows = 0
    try:
        for fields in reader:
            if not fields:
                continue
            if names is None:
                names = _check_names(path, fields)
                continue
            n_rows += 1
            if len(fields) != len(names):
                raise InputError(
                    f"Every line of {path} must have as many fields as the first; line "
                    f"{reader.line_num} has {len(fields)}, expected {len(names)} (fields are "
                    f"separated by {DELIMITERS[delimiter]}). Correct that line."
                )
    except csv.Error as error:
        raise InputError(
            f"{path} must be a CSV or TSV file; line {reader.line_num} cannot be read: {error}. "
            "Look there for quotes that are not closed."
        ) from None
    if names is None or n_rows == 0:
        raise InputError(
            f"{path} must have a row for each case; found only the line of column names. "
            "Add the rows below it."
        )
    return names


def _check_names(path: Path, fields: Sequence[str]) -> list[str]:
    names = [field.strip() or f"column {k + 1}" for k, field in enumerate(fields)]
    if set(names) <= {"0", "1"}:
        raise InputError(
            f"The first line of {path} must hold the column names; found {listed(names)}. "
            "Add a line with a name for each column above it."
        )
    twice = [repr(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"The column names in the first line of {path} must differ; found {listed(twice)} more "
            "than once. Rename all but one, or add a line of names if there is none."
        )
    return names


def _split(text: str, names: Sequence[str]) -> list[str]:
    if text in names:  # a single name, which may hold a comma
        return [text]
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def _known(wanted: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    unknown = [name for name in wanted if name not in names]
    if unknown:
        close = get_close_matches(unknown[0], names, n=1)
        advice = f"Did you mean {close[0]!r}?" if close else "Name columns of the file."
        raise InputError(
            f"{option} must name columns of the file; {listed([repr(name) for name in unknown])} "
            f"not found among {listed([repr(name) for name in names], shown=8)}. {advice}"
        )
    return list(dict.fromkeys(wanted))
