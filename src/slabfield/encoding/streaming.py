"""Distinct rows of a table that is read in chunks, and their counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_messages import describe_faults
from slabfield.encoding.column_notes import notes_of, warn_of_constants
from slabfield.encoding.columns import Column, Fault, read_column
from slabfield.encoding.encoder import Encoder, encode_values
from slabfield.encoding.row_weights import merge_packed
from slabfield.encoding.table import CodedTable
from slabfield.encoding.thresholds import Binarize, fixed_thresholds
from slabfield.validation.errors import InputError, Parameter
from slabfield.validation.memory_limit import available_memory, shown_bytes

if TYPE_CHECKING:
    import pandas as pd

Bits = NDArray[np.uint8]

MOST_VALUES = 2
"""Distinct values that a column without threshold may have: a raw code takes one bit."""

MERGE_ROWS = 1_000_000
"""Fewest pending rows that are merged with the earlier ones."""

BLOCK_ROWS = 1 << 16
"""Rows whose raw codes are replaced at a time."""

NUMBERS = "iuf"
"""Kinds of NumPy arrays that hold numbers."""


class MixedColumns(Exception):
    """Columns that are numbers in some chunks, and words in others; they must be read as text.

    Examples
    --------
    >>> from slabfield.encoding.streaming import MixedColumns
    >>> MixedColumns({"age"}).names
    {'age'}
    """

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


class RawValues:
    """The distinct values of one column, in order of appearance; their places are their codes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.codes: dict[Any, int] = {}
        self.type: np.dtype[Any] | None = None

    def is_alike(self, values: NDArray[Any]) -> bool:
        """Whether values are of the kind of the earlier ones: numbers, truth values or others."""
        return self.type is None or _group(self.type) == _group(values.dtype)

    def add(self, values: NDArray[Any]) -> tuple[Bits, int | None]:
        """Return the codes of values, and the place of the first that is one value too many."""
        import pandas as pd

        self.type = values.dtype if self.type is None else np.promote_types(self.type, values.dtype)
        places, found = pd.factorize(values)
        raw = np.asarray(found).astype(object).tolist()
        codes = [self.codes.setdefault(value, len(self.codes)) for value in raw]
        extra = next((k for k, code in enumerate(codes) if code >= MOST_VALUES), None)
        if extra is not None:
            return np.zeros(0, np.uint8), int(np.argmax(places == extra))
        return np.array(codes, np.uint8)[places], None

    def column(self) -> Column:
        """Return the column of distinct values, typed as the whole column would be."""
        values = np.empty(len(self.codes), object)
        values[:] = list(self.codes)
        if self.type is not None and _group(self.type) != "words":
            values = values.astype(self.type)
        return read_column(self.name, values)


def _group(kind: np.dtype[Any]) -> str:
    return "numbers" if kind.kind in NUMBERS else "truth values" if kind.kind == "b" else "words"


class RowCounter:
    """Keeps the distinct rows of a table that comes in chunks, bit-packed, and their counts.

    Values get raw codes in order of appearance, or are cut at once where there is a threshold. The
    encoder decides the variables at the end, when all values are known.

    Parameters
    ----------
    path : Path
        The file, for messages.
    names : list of str
        The columns.
    binarize : number or mapping, optional
        Threshold of every numeric column, or of those named.
    as_text : collection of str
        Columns that are read as text, whatever they hold.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from slabfield.encoding.streaming import RowCounter
    >>> counter = RowCounter(Path("answers.csv"), ["a", "b"])
    >>> counter.add(pd.DataFrame({"a": ["yes", "yes"], "b": [0, 0]}))
    >>> counter.add(pd.DataFrame({"a": ["no", "yes"], "b": [1, 0]}))
    >>> table = counter.table()
    >>> table.rows.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0]], [1.0, 3.0])
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        binarize: Binarize = None,
        as_text: Collection[str] = (),
    ) -> None:
        self.path, self.names, self.binarize, self.as_text = path, list(names), binarize, as_text
        self.raw = [RawValues(name) for name in names]
        self.thresholds = fixed_thresholds(names, binarize)
        self.n_rows = 0
        self.packed: Bits = np.zeros((0, -(-len(names) // 8)), np.uint8)
        self.counts = np.zeros(0)
        self.pending: list[tuple[Bits, NDArray[np.float64]]] = []

    def add(self, chunk: pd.DataFrame) -> None:
        """Add the rows of a chunk."""
        codes, mixed = np.zeros((len(chunk), len(self.names)), np.uint8), set()
        for k, name in enumerate(self.names if len(chunk) else ()):
            values = self._values(k, chunk.iloc[:, k])
            if name in self.as_text or self.raw[k].is_alike(values):
                codes[:, k] = self._codes(k, values)
            else:
                mixed.add(name)
        if mixed:
            raise MixedColumns(mixed)
        self.n_rows += len(chunk)
        self.pending.append(merge_packed(np.packbits(codes, axis=1)))
        if sum(len(part) for part, _ in self.pending) > max(MERGE_ROWS, len(self.packed)):
            self._merge()

    def table(self) -> CodedTable:
        """Return the encoded table of all chunks."""
        if len(self.names) < 2 or self.n_rows < 2:
            raise InputError(
                "too-small-file",
                "{path} must hold at least two rows and two columns that are to be nodes; found "
                "{n_rows} and {n_columns}. Add some, or name other columns.",
                path=self.path,
                n_rows=self.n_rows,
                n_columns=len(self.names),
            )
        columns = [self._column(k) for k in range(len(self.names))]
        named = zip(self.names, self.thresholds, strict=True)
        cuts = {name: threshold for name, threshold in named if threshold is not None}
        encoder = Encoder.fit_columns(columns, self.n_rows, True, cuts)
        self._merge()
        packed, counts = merge_packed(self._encoded(columns, encoder), self.counts)
        rows = np.unpackbits(packed, axis=1, count=len(self.names))
        missing = np.zeros(rows.shape, np.bool_)
        warn_of_constants(rows, missing, self.names)
        return CodedTable(
            rows, encoder.variables, notes_of(encoder.variables), True, missing, counts=counts
        )

    def _encoded(self, columns: Sequence[Column], encoder: Encoder) -> Bits:
        """Return the packed rows with the codes of the encoder in place of raw codes."""
        moved = {}
        for k, variable in enumerate(encoder.variables):
            if variable.threshold is None:
                codes = encode_values(columns[k].values, variable)
                if np.any(codes != np.arange(codes.size)):
                    moved[k] = codes
        packed = np.empty_like(self.packed)
        for start in range(0, len(packed), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = np.unpackbits(self.packed[block], axis=1, count=len(self.names))
            for k, codes in moved.items():
                rows[:, k] = codes[rows[:, k]]
            packed[block] = np.packbits(rows, axis=1)
        return packed

    def _merge(self) -> None:
        parts, counts = zip(*self.pending, strict=True) if self.pending else ((), ())
        self.pending = []
        self.packed, self.counts = merge_packed(
            np.concatenate([self.packed, *parts]), np.concatenate([self.counts, *counts])
        )
        n_rows, n_columns = len(self.packed), len(self.names)
        needed, available = n_rows * (3 * n_columns + 100), available_memory()
        if available is not None and needed > available:
            raise InputError(
                "too-many-distinct-rows",
                "The distinct rows of {path} must fit in memory; found {n_distinct:,} in the first "
                "{n_rows:,} rows, which take {needed}, where {available} are available. Name fewer "
                "columns, or use part of the rows.",
                path=self.path,
                n_distinct=n_rows,
                n_rows=self.n_rows,
                needed=shown_bytes(needed),
                available=shown_bytes(available),
            )

    def _values(self, k: int, series: pd.Series[Any]) -> NDArray[Any]:
        """Return the values of a chunk of one column, none of which may be missing."""
        missing = np.asarray(series.isna())
        if missing.any():
            column = Column(self.names[k], np.zeros(0), [], "number", int(missing.sum()))
            self._refuse("missing", column, int(np.argmax(missing)))
        values = np.asarray(series)
        kind = getattr(series.dtype, "kind", "O")
        if values.dtype.kind == "O" and kind in f"b{NUMBERS}":  # of pandas' own types
            return values.astype(kind + ("1" if kind == "b" else "8"))
        return values

    def _codes(self, k: int, values: NDArray[Any]) -> Bits:
        """Return the raw codes of a chunk of one column."""
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            column = Column(self.names[k], values[:0], [], "number", 0)
            self._refuse("infinite", column, int(np.argmin(np.isfinite(values))))
        threshold = self._threshold(k, values)
        if threshold is not None:
            return (values >= threshold).astype(np.uint8)
        try:
            codes, extra = self.raw[k].add(values)
        except TypeError:  # not hashable
            self._refuse("object", read_column(self.names[k], values), 0)
        if extra is not None:
            self._refuse("values", self.raw[k].column(), extra)
        return codes

    def _threshold(self, k: int, values: NDArray[Any]) -> float | None:
        """Return the threshold of a column; one for all numbers leaves other columns alone."""
        threshold = self.thresholds[k]
        if threshold is None or values.dtype.kind in NUMBERS:
            return threshold
        if self.n_rows > 0 or isinstance(self.binarize, Mapping):
            raise InputError(
                "threshold-for-words-in-file",
                "{parameter} needs columns of numbers; found words in {column!r} of {path}, after "
                "row {row:,}. Leave it out of {parameter}.",
                parameter=Parameter("binarize"),
                column=self.names[k],
                path=self.path,
                row=self.n_rows,
            )
        self.thresholds[k] = None
        return None

    def _column(self, k: int) -> Column:
        """Return a column of the distinct values found so far; of none, if it is cut."""
        if self.thresholds[k] is not None:
            return Column(self.names[k], np.zeros(0), [], "number", 0)
        return self.raw[k].column()

    def _refuse(self, fault: Fault, column: Column, place: int) -> NoReturn:
        raise InputError(
            "invalid-column-in-file",
            "{faults}\nIt first occurs in row {row:,} below the column names of {path}; the rest "
            "of the file was not read.",
            faults=describe_faults({fault: [column]}, [column], self.n_rows, True),
            row=self.n_rows + place + 1,
            path=self.path,
        )
