"""Reading a table from a file, with a clear error message for every fault."""

from __future__ import annotations

import io
import os
import warnings
import zlib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slabfield.io.decimal_commas import check_decimal
from slabfield.io.delimited import check_names, read_delimited, refuse_empty
from slabfield.io.text_encoding import check_encoding
from slabfield.validation.errors import InputError, Parameter, check_width, listed, shown_value

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 2**31
"""Largest file that is read whole, in bytes after unpacking."""

CHUNK_BYTES = 1 << 22
"""Bytes read at a time."""

MAX_SHEET_ROWS = 1 << 20
"""Rows that a spreadsheet can have; a file that claims more is refused."""

CELL_BYTES = 8
"""Lower bound of the memory of a cell, in bytes."""

BIG_FILE = 100_000_000
"""Files of more bytes than this are read in chunks where possible."""

# First bytes of the formats that are read, and of those that are refused
GZIP, ZIP, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
REFUSED = {
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (.xls)", "Save it as .xlsx or as CSV (UTF-8)."),
    b"%PDF": ("a PDF", "Save the table as CSV (UTF-8)."),
    b"\xfd7zXZ": ("an xz archive", "Unpack it first, or pack it with gzip."),
    b"BZh": ("a bzip2 archive", "Unpack it first, or pack it with gzip."),
    b"(\xb5/\xfd": ("a zstd archive", "Unpack it first, or pack it with gzip."),
}
EXTRAS = {"pyarrow": "parquet", "openpyxl": "excel"}


def read_table(
    path: Path,
    sheet: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    notes: list[str] | None = None,
) -> pd.DataFrame:
    r"""Read a table from a CSV, TSV, Parquet or Excel file; text may be compressed with gzip.

    The format is recognized by the first bytes of the file, not by its name.

    Parameters
    ----------
    path : Path
        The file; the column names are in its first line.
    sheet : str, optional
        Sheet of an Excel file to read; by default the first.
    encoding : str, optional
        Encoding of a text file; by default UTF-16 where a byte order mark says so, else UTF-8, else
        Windows-1252 or Latin-1.
    decimal : {",", "."}, optional
        Decimal separator of a text file. By default a point; a comma in columns where it makes all
        values numbers, unless fields are separated by commas.
    notes : list, optional
        Notes on what was guessed are added to it.

    Returns
    -------
    DataFrame
        The table; its values are not yet checked.

    Raises
    ------
    InputError
        If the file does not hold a table.
    """
    encoding, decimal = check_encoding(encoding), check_decimal(decimal)
    content = _read_bytes(path)
    if content.startswith(GZIP):
        content = _unpack(path, content)
        refuse_empty(path, content)
    if content.startswith((ZIP, PARQUET)):
        refuse_text_options(path, encoding, decimal)
    if content.startswith(ZIP):
        return _read_excel(path, content, sheet)
    if sheet is not None:
        raise InputError(
            "sheet-without-excel",
            "{sheet} names a sheet of an Excel file; {path} is not one. Leave {sheet} out.",
            sheet=Parameter("sheet"),
            path=path,
        )
    if content.startswith(PARQUET):
        return _read_parquet(path, content)
    for magic, (kind, advice) in REFUSED.items():
        if content.startswith(magic):
            raise InputError(
                "unsupported-file",
                "{path} must be a CSV, TSV, Parquet or Excel file; found {kind}. {advice}",
                path=path,
                kind=kind,
                advice=advice,
            )
    table, guessed = read_delimited(path, content, encoding, decimal)
    if notes is not None:
        notes += guessed
    return table


def refuse_text_options(path: Path, encoding: str | None, decimal: str | None) -> None:
    """Refuse options of text files for a file that is not text."""
    if encoding is not None or decimal is not None:
        raise InputError(
            "text-option-without-text",
            "{option} applies to text files (CSV, TSV); {path} is not one. Leave {option} out.",
            option=Parameter("decimal" if encoding is None else "encoding"),
            path=path,
        )


def comes_in_chunks(path: Path, more_than: int) -> bool:
    """Whether a file has more than `more_than` bytes, and a format that can be read in chunks."""
    try:
        if path.stat().st_size <= more_than:
            return False
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:  # reported when the file is read
        return False
    return not head.startswith((ZIP, *REFUSED))


def _read_bytes(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            content = _read_all(file)
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError(
                "broken-link",
                "{path} must be a file that exists; found a link to {target!r}, which does not. "
                "Name the file itself, or fix the link.",
                path=path,
                target=os.readlink(path),
            ) from None
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, siblings, n=1)
        raise InputError(
            "no-such-file",
            "{path} must be a file that exists; found no such file. Check the name{advice}",
            path=path,
            advice=f"; did you mean {close[0]}?" if close else " and the folder.",
        ) from None
    except IsADirectoryError:
        raise InputError(
            "file-is-folder",
            "{path} must be a file; found a folder. Name one file in it.",
            path=path,
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        found = getattr(error, "strerror", None) or error
        raise InputError(
            "unreadable-file",
            "{path} must be a file that can be read; found: {error}. Check its name and its "
            "permissions.",
            path=shown_value(str(path), 200),
            error=str(found),
        ) from None
    if len(content) > MAX_BYTES:
        raise _too_large(path, "found more")
    refuse_empty(path, content)
    return content


def _read_all(file: io.BufferedIOBase) -> bytes:
    """Read a file to its end, or to one byte over the limit; memory grows as it is needed."""
    content = bytearray()
    while len(content) <= MAX_BYTES:
        chunk = file.read(min(CHUNK_BYTES, MAX_BYTES + 1 - len(content)))
        if not chunk:
            break
        content += chunk
    return bytes(content)


def _too_large(path: Path, found: str) -> InputError:
    return InputError(
        "file-too-large",
        "{path} must hold at most {limit:g} GiB, unpacked; {found}. Use part of its rows, or only "
        "the columns that are to be nodes.",
        path=path,
        limit=MAX_BYTES / 2**30,
        found=found,
    )


def _unpack(path: Path, content: bytes) -> bytes:
    """Unpack gzip up to the size limit: a small file can unpack to a very large one."""
    import gzip

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            text = _read_all(packed)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            "damaged-gzip",
            "{path} must be a whole gzip archive; unpacking it failed with: {error}. Download or "
            "compress it again.",
            path=path,
            error=str(error),
        ) from None
    if len(text) > MAX_BYTES:
        raise _too_large(path, "unpacked it holds more")
    return text


def _read_parquet(path: Path, content: bytes) -> pd.DataFrame:
    import pandas as pd

    require_package("pyarrow", path, "a Parquet file")

    def read() -> pd.DataFrame:
        from pyarrow.parquet import ParquetFile

        metadata = ParquetFile(io.BytesIO(content)).metadata
        check_width(metadata.num_columns)
        _check_cells(path, metadata.num_rows, metadata.num_columns)
        return pd.read_parquet(io.BytesIO(content), engine="pyarrow")

    table = _read_or_refuse(path, "a Parquet file", read)
    # an index stored with the table is not one of its columns
    table = table.reset_index(drop=True)
    table.columns = pd.Index(check_names(path, [str(name) for name in table.columns]))
    return table


def _read_excel(path: Path, content: bytes, sheet: str | None) -> pd.DataFrame:
    import zipfile

    import pandas as pd

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            size = sum(item.file_size for item in archive.infolist())
    except zipfile.BadZipFile as error:
        raise InputError(
            "damaged-excel",
            "{path} must be a whole spreadsheet (.xlsx); found a damaged one: {error}. Save or "
            "download it again.",
            path=path,
            error=str(error),
        ) from None
    if "xl/workbook.xml" not in names:
        raise InputError(
            "unsupported-archive",
            "{path} must be a CSV, TSV, Parquet or Excel (.xlsx) file; found a zip archive or a "
            "spreadsheet of another kind. Unpack it, or save the table as CSV (UTF-8).",
            path=path,
        )
    if size > MAX_BYTES:
        raise _too_large(path, f"unpacked it holds {size / 2**30:.1f}")
    require_package("openpyxl", path, "an Excel file")

    def read() -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, which do not matter here
            book = pd.ExcelFile(io.BytesIO(content), engine="openpyxl")
        with book:
            sheets = [str(name) for name in book.sheet_names]
            if sheet is not None and sheet not in sheets:
                raise InputError(
                    "unknown-sheet",
                    "{sheet} must name a sheet of {path}; {given!r} is not among {sheets}. Choose "
                    "one of these.",
                    sheet=Parameter("sheet"),
                    path=path,
                    given=sheet,
                    sheets=listed([repr(name) for name in sheets]),
                )
            chosen: Any = sheet if sheet is not None else 0
            _check_sheet(path, book.book[sheets[0] if sheet is None else sheet])
            cells: pd.DataFrame = pd.read_excel(book, sheet_name=chosen, header=None)
            return cells

    cells = _read_or_refuse(path, "a spreadsheet (.xlsx)", read).dropna(how="all")
    if len(cells) < 2:
        raise InputError(
            "sheet-without-rows",
            "{path} must have a row for each case below the column names; found {found} row(s) "
            "that are not empty. Add rows, or name another sheet ({sheet}).",
            path=path,
            found=len(cells),
            sheet=Parameter("sheet"),
        )
    heading = ["" if pd.isna(cell) else str(cell) for cell in cells.iloc[0]]
    table = cells.iloc[1:].reset_index(drop=True)
    used = [k for k, name in enumerate(heading) if name.strip() or table.iloc[:, k].notna().any()]
    table = table.iloc[:, used].infer_objects()
    table.columns = pd.Index(check_names(path, [heading[k] for k in used]))
    return table


def _check_sheet(path: Path, sheet: Any) -> None:
    """Refuse an oversized sheet before it is laid out: one far cell makes a huge table.

    The dimensions stated in the sheet are ignored; its rows are counted.
    """
    sheet.reset_dimensions()
    width = 0
    for n_rows, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if len(row) > width and any(cell is not None for cell in row[width:]):
            width = len(row)
        _check_cells(path, n_rows, width)
        if n_rows > MAX_SHEET_ROWS:
            raise _too_large(path, f"it has more than {MAX_SHEET_ROWS:,} rows")
    check_width(width)


def _check_cells(path: Path, n_rows: int, n_columns: int) -> None:
    if n_rows * n_columns * CELL_BYTES > MAX_BYTES:
        raise _too_large(path, f"it has {n_rows:,} rows or more, of {n_columns:,} columns")


def _read_or_refuse(path: Path, kind: str, read: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Read, and turn any exception of the reading library into an InputError."""
    try:
        return read()
    except InputError:
        raise
    except MemoryError:
        raise _too_large(path, "it does not fit in memory") from None
    except Exception as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            "damaged-file",
            "{path} must be {kind}; reading it failed with: {error}. Save it again, or as CSV.",
            path=path,
            kind=kind,
            error=first,
        ) from None


def require_package(package: str, path: Path, kind: str) -> None:
    """Refuse a file whose optional package is missing, and say how to install it."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise InputError(
            "package-missing",
            "{path} is {kind}, which needs the package {package}; it is not installed. Install it "
            'with: pip install "slabfield[{extra}]", or save the table as CSV.',
            path=path,
            kind=kind,
            package=package,
            extra=EXTRAS[package],
        )
