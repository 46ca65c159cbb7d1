"""Chunked reading of large files into distinct rows and their counts."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slabfield.encoding.column_rules import Levels, NaValues
from slabfield.encoding.streaming import MixedColumns, RowCounter
from slabfield.encoding.table import CodedTable
from slabfield.encoding.thresholds import Binarize
from slabfield.io.decimal_commas import (
    check_decimal,
    convert_commas,
    holds_text,
    looks_for_commas,
    notes_of_commas,
)
from slabfield.io.delimited import (
    CSV_OPTIONS,
    check_names,
    find_delimiter,
    refuse_empty,
)
from slabfield.io.reading import refuse_text_options, require_package
from slabfield.io.text_encoding import (
    UTF_8,
    WESTERN,
    check_encoding,
    encodings_to_try,
    notes_of_encoding,
    refuse_not_text,
    wrong_encoding,
)
from slabfield.validation.errors import InputError, check_width
from slabfield.validation.level_parameters import Kinds, Scores
from slabfield.validation.parameters import check_choice

if TYPE_CHECKING:
    import pandas as pd

CHUNK_CELLS = 4_000_000
"""Table entries per chunk."""

HEAD_BYTES = 1 << 20
"""Bytes of the head of a text file that are inspected; read buffer of a Parquet file, in bytes."""

# First bytes of formats; those of NOT_TEXT cannot be read in chunks
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
NOT_TEXT = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF", b"\xfd7zXZ", b"BZh", b"(\xb5/\xfd")

Select = Callable[[Sequence[str]], Sequence[str]]


def read_counted(
    path: Path,
    select: Select | None = None,
    binarize: Binarize = None,
    chunk_rows: int | None = None,
    na: str = "error",
    na_values: NaValues = None,
    levels: Levels = None,
    encoding: str | None = None,
    decimal: str | None = None,
    notes: list[str] | None = None,
    kinds: Kinds = None,
    scores: Scores = "standard",
) -> CodedTable:
    r"""Read a CSV, TSV or Parquet file chunk by chunk, and count equal rows.

    The table is encoded as :func:`slabfield.encoding.code_table` would encode it. Distinct
    rows are kept packed, at one bit per entry of two-valued columns, so memory does not grow with
    repeated rows. Where a column has numbers in one chunk and words in another, the file is read
    again, with this column as text.

    Parameters
    ----------
    path : Path
        The file; text may be compressed with gzip.
    select : callable, optional
        Maps the column names to the names of the columns to read.
    binarize : number or dict, optional
        Thresholds; "median" is not available, because it needs a whole column at once.
    chunk_rows : int, optional
        Rows per chunk; by default as many as make about four million entries.
    na : {"error", "drop"}
        Whether missing entries are refused, or the rows dropped that have any.
    na_values, levels, kinds, scores : optional
        Codes for missing entries, all values of columns, their kinds and the scores of their
        levels, as for :func:`slabfield.encoding.code_table`.
    encoding : str, optional
        Encoding of a text file; by default guessed.
    decimal : {",", "."}, optional
        Decimal separator of a text file; by default guessed.
    notes : list, optional
        Notes on what was guessed are added to it.

    Returns
    -------
    CodedTable
        The distinct rows, in ``rows``, and their counts, in ``counts``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.encoding import read_counted
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("sleep,work\n" + "yes,0\nno,1\n" * 1000)
    ...     table = read_counted(path)
    >>> table.rows.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0]], [1000.0, 1000.0])
    """
    check_choice("na", na, ("error", "drop"))
    text = _TextOptions(check_encoding(encoding), check_decimal(decimal))

    def new_counter(names: Sequence[str]) -> RowCounter:
        return RowCounter(path, names, binarize, text.as_text, na, na_values, levels, kinds, scores)

    with _input_errors(path, text):
        while True:
            try:
                table = _count_rows(path, select, chunk_rows, text, new_counter)
                break
            except MixedColumns as mixed:
                text.as_text |= mixed.names
            except _NewCommas as found:
                text.with_commas |= found.names
            except UnicodeDecodeError:
                if not text.try_next():
                    raise
    if notes is not None:
        notes += text.notes(path)
    return table


class _NewCommas(Exception):
    """Columns in which decimal commas were found; they must be read as text from the beginning."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


class _TextOptions:
    """How the text of a file is read, as far as is known after reading some of it."""

    def __init__(self, encoding: str | None, decimal: str | None) -> None:
        self.given, self.decimal = encoding, decimal
        self.n_failed = 0
        self.used = encoding or UTF_8
        self.as_text: set[str] = set()
        self.with_commas: set[str] = set()

    def choose(self, head: bytes) -> str:
        """Return the encoding to read a file with, given its first bytes."""
        self.tried = encodings_to_try(head, self.given)
        self.used = self.tried[min(self.n_failed, len(self.tried) - 1)]
        return self.used

    @property
    def guessed(self) -> bool:
        """Whether the encoding is a guess that fits bytes of any kind."""
        return self.given is None and self.used in WESTERN

    def try_next(self) -> bool:
        """Go on to the next encoding that the file may have, if there is one."""
        self.n_failed += 1
        return self.n_failed < len(self.tried)

    def notes(self, path: Path) -> list[str]:
        """Return notes on what was guessed."""
        commas = sorted(self.with_commas - self.as_text)
        return [*notes_of_encoding(path, self.used, self.given), *notes_of_commas(commas)]


def _count_rows(
    path: Path,
    select: Select | None,
    chunk_rows: int | None,
    text: _TextOptions,
    new_counter: Callable[[Sequence[str]], RowCounter],
) -> CodedTable:
    """Read a file from beginning to end."""
    with open(path, "rb") as file:
        head = file.read(8)
        file.seek(0)
        if head.startswith(NOT_TEXT):
            raise InputError(
                "unsupported-in-chunks",
                "{path} must be a CSV, TSV or Parquet file to be read in chunks; found another "
                "kind. Save the table as CSV (UTF-8) or Parquet.",
                path=path,
            )
        if head.startswith(PARQUET):
            refuse_text_options(path, text.given, text.decimal)
            names, chunks = _parquet_chunks(path, select, chunk_rows)
        else:
            opened: IO[bytes] = file
            if head.startswith(GZIP):
                opened = gzip.GzipFile(fileobj=file)  # type: ignore[assignment]
            names, chunks = _text_chunks(path, opened, select, chunk_rows, text)
        counter = new_counter(names)
        for chunk in chunks:
            counter.add(chunk)
        return counter.table()


def _text_chunks(
    path: Path,
    file: IO[bytes],
    select: Select | None,
    chunk_rows: int | None,
    options: _TextOptions,
) -> tuple[list[str], Iterator[pd.DataFrame]]:
    import pandas as pd

    head = file.read(HEAD_BYTES)
    file.seek(0)
    refuse_empty(path, head)
    encoding = options.choose(head)
    # the head may end within a character
    decoder = getincrementaldecoder(encoding)()
    text = decoder.decode(head, final=len(head) < HEAD_BYTES)
    refuse_not_text(path, text, options.guessed)
    refuse_empty(path, text)
    delimiter = find_delimiter(path, text)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    fields = next(fields for fields in lines if fields)
    check_width(len(fields))
    names = check_names(path, fields)
    kept = list(names if select is None else select(names))
    with_commas = looks_for_commas(delimiter, options.decimal)

    def chunks() -> Iterator[pd.DataFrame]:
        # all columns are parsed: with usecols, pandas would not notice lines with too many fields
        with _CheckedText(path, file, options) as lines:
            for chunk in pd.read_csv(
                lines,
                sep=delimiter,
                names=names,
                **CSV_OPTIONS,
                dtype=dict.fromkeys(options.as_text | options.with_commas, str),
                chunksize=chunk_rows or max(1, CHUNK_CELLS // len(names)),
            ):
                part = chunk[kept].copy()
                if with_commas:
                    found = set(convert_commas(part, options.as_text, options.with_commas))
                    if not found <= options.with_commas:
                        raise _NewCommas(found)
                    others = options.with_commas - options.as_text - found
                    mixed = {name for name in others if name in part and holds_text(part[name])}
                    if mixed:  # numbers with points, or words, which the whole column then is
                        raise MixedColumns(mixed)
                yield part

    return kept, chunks()


class _CheckedText(io.TextIOWrapper):
    """The text of a file, which is refused where it is not text."""

    def __init__(self, path: Path, file: IO[bytes], options: _TextOptions) -> None:
        super().__init__(file, encoding=options.used, newline="")
        self.path, self.guessed = path, options.guessed

    def read(self, size: int | None = -1, /) -> str:
        text = super().read(size)
        refuse_not_text(self.path, text, self.guessed)
        return text


def _parquet_chunks(
    path: Path, select: Select | None, chunk_rows: int | None
) -> tuple[list[str], Iterator[pd.DataFrame]]:
    require_package("pyarrow", path, "a Parquet file")
    from pyarrow import parquet

    file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=HEAD_BYTES)
    stored = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
    check_width(len(stored))
    names = check_names(path, stored)
    kept = list(names if select is None else select(names))
    source = dict(zip(names, stored, strict=True))
    size = chunk_rows or max(1, CHUNK_CELLS // len(names))
    columns = [source[name] for name in kept]

    def chunks() -> Iterator[pd.DataFrame]:
        # one row group at a time: with read-ahead, all of them would stay in memory
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(size, row_groups=[group], columns=columns):
                chunk = batch.to_pandas().reset_index(drop=True)
                chunk.columns = kept
                yield chunk

    return kept, chunks()


@contextmanager
def _input_errors(path: Path, text: _TextOptions) -> Iterator[None]:
    """Turn exceptions about a file into an InputError."""
    try:
        with warnings.catch_warnings():
            # pandas warns of lines with more fields than there are names
            warnings.filterwarnings("error", category=_parser_warning())
            yield
    except InputError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            "unreadable-in-chunks",
            "{path} must be a file that can be read; found: {error}. Check that it exists, is "
            "complete and may be read.",
            path=path,
            error=str(getattr(error, "strerror", None) or error),
        ) from None
    except UnicodeDecodeError as error:
        raise wrong_encoding(path, text.tried[0], error.object[error.start]) from None
    except MemoryError:
        raise InputError(
            "chunk-too-large",
            "{path} must fit in memory one chunk at a time; found that it does not. Name fewer "
            "columns, or write smaller row groups.",
            path=path,
        ) from None
    except (ValueError, _parser_warning()) as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            "damaged-in-chunks",
            "{path} must be a CSV, TSV or Parquet file with the same number of fields in every "
            "line; reading it failed with: {error}. Correct that line, or save the table again.",
            path=path,
            error=first,
        ) from None


def _parser_warning() -> Any:
    import pandas as pd

    return pd.errors.ParserWarning
