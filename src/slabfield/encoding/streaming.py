"""Coding of a table that is read in chunks, with equal rows counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_messages import describe_faults
from slabfield.encoding.columns import Column, Fault, Kind, code_column
from slabfield.encoding.row_weights import merge_packed
from slabfield.encoding.table import CodedTable, notes_of, warn_of_constants, warn_of_spelling
from slabfield.validation.errors import InputError, listed
from slabfield.validation.memory_limit import available_memory, shown_bytes
from slabfield.validation.parameters import is_number

if TYPE_CHECKING:
    import pandas as pd

Bits = NDArray[np.uint8]

MERGE_ROWS = 1_000_000
"""Fewest pending rows that are merged with the earlier ones."""


class Coder:
    """Codes a table chunk by chunk, and keeps its distinct rows, bit-packed, and their counts.

    Labels get bits in order of appearance. Which of the two is coded 1 is decided at the end, when
    both are known, and bits are flipped where necessary.

    Parameters
    ----------
    path : Path
        The file, for messages.
    names : list of str
        The columns.
    binarize : number or mapping, optional
        Threshold of every numeric column, or of those named.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from slabfield.encoding.streaming import Coder
    >>> coder = Coder(Path("answers.csv"), ["a", "b"], None)
    >>> coder.add(pd.DataFrame({"a": ["yes", "yes"], "b": [0, 0]}))
    >>> coder.add(pd.DataFrame({"a": ["no", "yes"], "b": [1, 0]}))
    >>> coder.table().rows.tolist(), coder.table().counts.tolist()
    ([[0, 1], [1, 0]], [1.0, 3.0])
    """

    def __init__(
        self, path: Path, names: list[str], binarize: float | Mapping[str, float] | None
    ) -> None:
        self.path, self.names = path, names
        self.labels: list[list[Any]] = [[] for _ in names]
        self.cuts = self._read_cuts(binarize)
        self.cuts_all = not isinstance(binarize, Mapping)
        self.n_rows = 0
        self.packed: Bits = np.zeros((0, -(-len(names) // 8)), np.uint8)
        self.counts = np.zeros(0)
        self.pending: list[tuple[Bits, NDArray[np.float64]]] = []

    def add(self, chunk: pd.DataFrame) -> None:
        """Add the rows of a chunk."""
        bits = np.zeros((len(chunk), len(self.names)), np.uint8)
        for k in range(len(self.names)):
            bits[:, k] = self._bits(k, chunk.iloc[:, k])
        self.n_rows += len(chunk)
        self.pending.append(merge_packed(np.packbits(bits, axis=1)))
        if sum(len(part) for part, _ in self.pending) > max(MERGE_ROWS, len(self.packed)):
            self._merge()

    def table(self) -> CodedTable:
        """Return the coded table of all chunks."""
        if len(self.names) < 2 or self.n_rows < 2:
            raise InputError(
                f"{self.path} must hold at least two rows and two columns that are to be nodes; "
                f"found {self.n_rows} and {len(self.names)}. Add some, or name other columns."
            )
        columns = [self._column(k) for k in range(len(self.names))]
        codings = [code_column(*pair) for pair in zip(columns, self.cuts, strict=True)]
        flipped = [
            cut is None and bool(column.values.size) and coding.bits[0] == 1
            for column, coding, cut in zip(columns, codings, self.cuts, strict=True)
        ]
        self._merge()
        recoded = self.packed ^ np.packbits(np.array(flipped, np.uint8))
        packed, counts = merge_packed(recoded, self.counts)  # sorts the rows again
        rows = np.unpackbits(packed, axis=1, count=len(self.names))
        warn_of_spelling(columns)
        missing = np.zeros(rows.shape, np.bool_)
        warn_of_constants(rows, missing, self.names)
        return CodedTable(
            rows,
            list(self.names),
            [coding.labels for coding in codings],
            notes_of(self.names, codings),
            True,
            list(self.cuts),
            missing,
            counts=counts,
        )

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
                f"The distinct rows of {self.path} must fit in memory; found {n_rows:,} in the "
                f"first {self.n_rows:,} rows, which take {shown_bytes(needed)}, where "
                f"{shown_bytes(available)} are available. Name fewer columns, or use part of the "
                "rows."
            )

    def _bits(self, k: int, series: pd.Series[Any]) -> Any:
        """Return the bits of a chunk of one column."""
        missing = np.asarray(series.isna())
        if missing.any():
            column = Column(self.names[k], np.zeros(0), [], "number", int(missing.sum()))
            self._refuse("missing", column, int(np.argmax(missing)))
        values = np.asarray(series)
        if values.dtype.kind == "O" and getattr(series.dtype, "kind", "O") in "iufb":
            values = values.astype(series.dtype.kind + ("1" if series.dtype.kind == "b" else "8"))
        if values.dtype.kind in "iuf":
            if self.cuts[k] is not None:
                self._refuse_infinite(k, values)
                return values >= self.cuts[k]
        elif self.cuts[k] is not None:
            if not self.cuts_all or self.n_rows > 0:
                self._refuse_words(k)
            self.cuts[k] = None
        return self._code_labels(k, values)

    def _code_labels(self, k: int, values: NDArray[Any]) -> Any:
        labels = self.labels[k]
        if values.dtype.kind in "biuf" and all(is_number(x) or isinstance(x, bool) for x in labels):
            if len(labels) == 2:
                second = values == labels[1]
                if np.all(second | (values == labels[0])):
                    return second
            distinct = np.unique(values).tolist()
            codes = np.searchsorted(distinct, values)
        else:
            import pandas as pd

            codes, found = pd.factorize(values)
            distinct = [_as_label(value) for value in np.asarray(found).tolist()]
        self._add_labels(k, distinct, codes)
        known = {_label_key(label): code for code, label in enumerate(self.labels[k])}
        recode = np.array([known[_label_key(value)] for value in distinct], np.uint8)
        return recode[codes]

    def _add_labels(self, k: int, distinct: list[Any], codes: NDArray[Any]) -> None:
        labels = self.labels[k]
        before = len(labels)
        known = {_label_key(label) for label in labels}
        first = {}
        for place, value in enumerate(distinct):
            if _label_key(value) not in known:
                known.add(_label_key(value))
                labels.append(value)
                first[_label_key(value)] = place
        if len(labels) > 2:
            where = min(
                int(np.argmax(codes == first[_label_key(x)])) for x in labels[max(before, 2) :]
            )
            self._refuse("values", self._column(k), where)
        column = self._column(k)
        if column.kind == "number" and not np.all(np.isfinite(column.distinct)):
            self._refuse("infinite", column, 0)

    def _column(self, k: int) -> Column:
        """Return a column of the labels found so far, in order of appearance."""
        labels = self.labels[k]
        kind: Kind = "word"
        if self.cuts[k] is not None:
            return Column(self.names[k], np.zeros(0), [], "number", 0)
        if labels and all(isinstance(label, bool) for label in labels):
            kind = "bool"
        elif all(is_number(label) for label in labels):
            kind = "number"
        else:
            labels = [label if isinstance(label, str) else str(label) for label in labels]
        distinct = sorted(labels, key=str if kind == "word" else None)
        values = np.array(labels, dtype=object if kind == "word" else None)
        return Column(self.names[k], values, distinct, kind, 0)

    def _refuse(self, fault: Fault, column: Column, place: int) -> None:
        text = describe_faults({fault: [column]}, [column], self.n_rows, True)
        raise InputError(
            f"{text}\nIt first occurs in row {self.n_rows + place + 1:,} below the column names of "
            f"{self.path}; the rest of the file was not read."
        )

    def _refuse_infinite(self, k: int, values: NDArray[Any]) -> None:
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            place = int(np.argmin(np.isfinite(values)))
            self._refuse("infinite", Column(self.names[k], values[:0], [], "number", 0), place)

    def _refuse_words(self, k: int) -> None:
        raise InputError(
            f"binarize needs columns of numbers; found words in {self.names[k]!r} of {self.path}, "
            f"after row {self.n_rows:,}. Leave it out of binarize."
        )

    def _read_cuts(self, binarize: float | Mapping[str, float] | None) -> list[float | None]:
        if isinstance(binarize, Mapping):
            unknown = [repr(name) for name in binarize if name not in self.names]
            if unknown:
                raise InputError(
                    f"binarize names {listed(unknown)}, which the table does not have; its columns "
                    f"are {listed([repr(name) for name in self.names])}. Name columns of the table."
                )
            return [binarize.get(name) for name in self.names]
        if isinstance(binarize, str):
            raise InputError(
                f"binarize must be numbers for a file that is read in chunks; got {binarize!r}. "
                "Pass for example binarize=2."
            )
        return [binarize] * len(self.names)


def _as_label(value: Any) -> Any:
    """Return a value as the type it would have if the whole column were of its kind."""
    if isinstance(value, bool) or is_number(value):
        return value
    if not isinstance(value, str):
        return str(value)
    try:
        number = float(value)
    except ValueError:
        return {"true": True, "false": False}.get(value.strip().casefold(), value)
    return int(number) if number.is_integer() else number


def _label_key(label: Any) -> Any:
    """Return a key that distinguishes labels: True differs from 1, but 1.0 does not."""
    return (isinstance(label, bool), label)
