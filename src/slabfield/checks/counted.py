"""Files of any length, read a chunk at a time into their different rows and how often each is."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slabfield.checks.coding import Coder
from slabfield.checks.delimited import READ_ALIKE, check_names, find_delimiter
from slabfield.checks.errors import InputError
from slabfield.checks.table import CodedTable

if TYPE_CHECKING:
    import pandas as pd

CHUNK_CELLS = 4_000_000
"""Entries of a table that are read at a time."""

BEGIN_BYTES = 1 << 20
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
NOT_TEXT = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF", b"\xfd7zXZ", b"BZh", b"(\xb5/\xfd")

Select = Callable[[Sequence[str]], Sequence[str]]


def read_counted(
    path: Path,
    select: Select | None = None,
    binarize: float | dict[str, float] | None = None,
    chunk_rows: int | None = None,
) -> CodedTable:
    r"""Read a CSV, TSV or Parquet file once, a chunk at a time, and count rows that are equal.

    The table is coded as :func:`slabfield.checks.code_binary` would code it. What is kept is one
    bit for each entry of the different rows, so that memory does not grow with equal rows.

    Parameters
    ----------
    path : Path
        The file; text may be packed with gzip.
    select : callable, optional
        Given the names of the columns, returns those that are to be read.
    binarize : number or dict, optional
        Numbers to cut at; no "median", for which all of a column would have to be there at once.
    chunk_rows : int, optional
        Rows read at a time; by default so many that a chunk has about four million entries.

    Returns
    -------
    CodedTable
        The different rows, in ``rows``, and how often each is there, in ``counts``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.checks import read_counted
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("sleep,work\n" + "yes,0\nno,1\n" * 1000)
    ...     table = read_counted(path)
    >>> table.rows.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0]], [1000.0, 1000.0])
    """
    with _plain_failures(path), open(path, "rb") as file:
        begin = file.read(8)
        file.seek(0)
        if begin.startswith(NOT_TEXT):
            raise InputError(
                f"{path} must be a CSV, TSV or Parquet file to be read in chunks; found another "
                "kind. Save the table as CSV (UTF-8) or Parquet."
            )
        if begin.startswith(PARQUET):
            names, chunks = _parquet_chunks(path, select, chunk_rows)
        else:
            opened: IO[bytes] = file
            if begin.startswith(GZIP):
                opened = gzip.GzipFile(fileobj=file)  # type: ignore[assignment]
            names, chunks = _text_chunks(path, opened, select, chunk_rows)
        coder = Coder(path, names, binarize)
        for chunk in chunks:
            coder.add(chunk)
        return coder.table()


def _text_chunks(
    path: Path, file: IO[bytes], select: Select | None, chunk_rows: int | None
) -> tuple[list[str], Iterator[pd.DataFrame]]:
    import pandas as pd

    begin = file.read(BEGIN_BYTES)
    file.seek(0)
    if not begin.strip():
        raise InputError(
            f"{path} must hold a table; found an empty file. Write the column names in its first "
            "line and one row a line below."
        )
    encoding = "utf-16" if begin.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in begin:
        raise InputError(
            f"{path} must be a text file; found bytes that are not text. Save the table as CSV "
            "(UTF-8) first."
        )
    # the end of the beginning may cut a letter in two
    text = begin.decode(encoding, errors="ignore" if len(begin) == BEGIN_BYTES else "strict")
    delimiter = find_delimiter(path, text)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    names = check_names(path, next(fields for fields in lines if fields))
    kept = list(names if select is None else select(names))
    # all columns: told of some only, pandas would not see lines of too many fields
    reader = pd.read_csv(
        file,
        sep=delimiter,
        names=names,
        **READ_ALIKE,
        encoding=encoding,
        chunksize=chunk_rows or max(1, CHUNK_CELLS // len(names)),
    )
    return kept, (chunk[kept] for chunk in reader)


def _parquet_chunks(
    path: Path, select: Select | None, chunk_rows: int | None
) -> tuple[list[str], Iterator[pd.DataFrame]]:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise InputError(
            f"{path} is a Parquet file, which needs the package pyarrow; it is not installed. "
            'Install it with: pip install "slabfield[parquet]", or save the table as CSV.'
        )
    from pyarrow import parquet

    file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BEGIN_BYTES)
    held = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
    names = check_names(path, held)
    kept = list(names if select is None else select(names))
    source = dict(zip(names, held, strict=True))
    size = chunk_rows or max(1, CHUNK_CELLS // len(names))
    columns = [source[name] for name in kept]

    def chunks() -> Iterator[pd.DataFrame]:
        # one row group after the other: read ahead, they would all be held
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(size, row_groups=[group], columns=columns):
                chunk = batch.to_pandas().reset_index(drop=True)
                chunk.columns = kept
                yield chunk

    return kept, chunks()


@contextmanager
def _plain_failures(path: Path) -> Iterator[None]:
    """Turn whatever is wrong with a file into a message."""
    try:
        with warnings.catch_warnings():
            # lines of more fields than there are names
            warnings.filterwarnings("error", category=_parser_warning())
            yield
    except InputError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} must be a file that can be read; found: "
            f"{getattr(error, 'strerror', None) or error}. Check that it is there, whole and yours."
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} must be text in UTF-8; found a byte that is not, "
            f"0x{error.object[error.start]:02x}. Save it with the encoding UTF-8."
        ) from None
    except MemoryError:
        raise InputError(
            f"{path} must fit the memory a chunk at a time; found that it does not. Name fewer "
            "columns, or write smaller row groups."
        ) from None
    except (ValueError, _parser_warning()) as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{path} must be a CSV, TSV or Parquet file with as many fields in every line; reading "
            f"it failed with: {first}. Correct that line, or save the table again."
        ) from None


def _parser_warning() -> Any:
    import pandas as pd

    return pd.errors.ParserWarning
