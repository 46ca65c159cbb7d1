"""Distinct rows of a table that is read in chunks, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_faults import MAX_LEVELS, Fault, find_faults
from slabfield.encoding.column_levels import kind_of
from slabfield.encoding.column_messages import describe_faults
from slabfield.encoding.column_notes import (
    note_of_codes,
    note_of_dropped,
    notes_of,
    notes_of_spelling,
    warn_of_constants,
)
from slabfield.encoding.column_rules import UNSTATED, ColumnRules, Levels, NaValues, column_rules
from slabfield.encoding.columns import (
    Column,
    answers_in,
    read_column,
    spelling_key,
    typed_values,
    word_column,
)
from slabfield.encoding.encoder import Encoder, encode_values
from slabfield.encoding.level_notes import notes_of_levels, warn_of_single_rows
from slabfield.encoding.missing_codes import CODES_ABOVE, CODES_BELOW
from slabfield.encoding.row_layout import RowLayout
from slabfield.encoding.row_weights import merge_packed
from slabfield.encoding.table import CodedTable
from slabfield.encoding.thresholds import Binarize, fixed_thresholds
from slabfield.io.frames import Categories, categories_of
from slabfield.validation.errors import InputError, Parameter
from slabfield.validation.level_parameters import Kinds, Scores
from slabfield.validation.memory_limit import available_memory, shown_bytes

if TYPE_CHECKING:
    import pandas as pd

Bits = NDArray[np.uint8]

MOST_DISTINCT = 100_000
"""Distinct numbers that are kept of a column that is cut."""

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


class _ColumnFault(Exception):
    """Faults of a column, and the place of the first among the values of a chunk."""

    def __init__(self, faults: Sequence[Fault], column: Column, place: int) -> None:
        super().__init__(faults)
        self.faults, self.column, self.place = faults, column, place


class RawValues:
    """The labels of one column, in order of appearance; their places are their codes."""

    def __init__(self, name: str, rules: ColumnRules) -> None:
        self.name, self.rules = name, rules
        self.key = spelling_key(rules, None)
        self.codes: dict[Any, int] = {}
        self.counts: Counter[Any] = Counter()
        self.type: np.dtype[Any] | None = None
        self.only_truths = True
        self.categories: Categories | None = None
        # the row of the first decimal, by which a column of few numbers is refused at the end: if
        # words follow, it is a column of words
        self.decimal_row: int | None = None

    def is_alike(self, values: NDArray[Any], entries: NDArray[Any]) -> bool:
        """Whether values are of the kind of the earlier ones: numbers, truth values or others.

        Truth values are text in a column in which any of the ``entries`` is not one, even a code
        for a missing answer or an entry of a dropped row.
        """
        self.only_truths = self.only_truths and _are_truths(entries)
        types = (self.type, values.dtype if values.size else None)
        groups = {_group(kind) for kind in types if kind is not None}
        return len(groups) < 2 and (self.only_truths or "truth values" not in groups)

    def add_categories(self, found: Categories | None) -> None:
        """Add the categories of a chunk of a categorical column to those of earlier ones."""
        if found is not None:
            known = self.categories.values if self.categories else ()
            new = [value for value in found.values if value not in known]
            self.categories = Categories((*known, *new), found.ordered)
            if not self.codes:
                self.key = spelling_key(self.rules, self.categories)

    def add(self, values: NDArray[Any], n_rows: int, at: NDArray[np.intp]) -> Bits:
        """Return the codes of values.

        ``n_rows`` is the number of rows so far, and ``at`` the rows of the values, from 1, both for
        messages.
        """
        import pandas as pd

        self.type = values.dtype if self.type is None else np.promote_types(self.type, values.dtype)
        try:
            places, found = pd.factorize(values)
        except TypeError:  # not hashable
            raise _ColumnFault(["object"], read_column(self.name, values), 0) from None
        raw = np.asarray(found).astype(object).tolist()
        self.counts.update(dict(zip(raw, np.bincount(places).tolist(), strict=True)))
        n_before = len(self.codes)
        codes = [self.codes.setdefault(self.key(value), len(self.codes)) for value in raw]
        new = [code >= n_before for code in codes]
        outside = set(self.rules.outside_levels(raw))
        if outside or any(new):
            column = self.column()
            faults = find_faults(column, n_rows, None)
            if outside or "values" in faults or len(self.codes) > MAX_LEVELS:
                place = int(np.argmax(self._at_fault(column, raw, codes, new)[places]))
                few = not outside and len(self.codes) <= MAX_LEVELS
                if not few or column.suspected or not any(_decimals(column, column.distinct)):
                    raise _ColumnFault(faults, column, place)
                if self.decimal_row is None:
                    self.decimal_row = int(at[place])
        return np.array(codes, np.uint8)[places]

    def _at_fault(
        self, column: Column, raw: Sequence[Any], codes: Sequence[int], new: Sequence[bool]
    ) -> NDArray[np.bool_]:
        """Return which values of a chunk show that the column has faults."""
        suspected = {self.key(code) for code in column.suspected}
        with_code = [self.key(value) in suspected for value in raw]
        if column.outside:
            return np.array([value in column.outside for value in raw])
        if any(with_code):
            return np.array(with_code)
        decimals = _decimals(column, raw)
        if any(decimals):
            return np.array(decimals)
        many = len(self.codes) > MAX_LEVELS and kind_of(column) != "binary"
        return np.array(new) & (np.array(codes) >= (MAX_LEVELS if many else 2))

    def labels(self) -> NDArray[Any]:
        """Return one spelling of each label, in the order of their codes."""
        spellings = {self.key(value): value for value in self.counts}
        values = np.empty(len(self.codes), object)
        values[:] = [spellings[key] for key in self.codes]
        return values

    def column(self) -> Column:
        """Return the column of labels, typed as the whole column would be."""
        values = self.labels()
        if self.type is None or _group(self.type) == "words":
            return word_column(self.name, values, self.counts, 0, self.rules, self.categories)
        column = read_column(
            self.name, values.astype(self.type), rules=self.rules, categories=self.categories
        )
        times = {code: self.counts[code] for code in column.suspected}
        return column._replace(
            suspected=times, outside={value: self.counts[value] for value in column.outside}
        )


class CutValues:
    """The distinct numbers of one column that is cut, to recognize codes for missing answers."""

    def __init__(self, name: str, rules: ColumnRules) -> None:
        self.name, self.rules = name, rules
        self.distinct: NDArray[Any] = np.zeros(0, np.int64)
        self.counts: Counter[float] = Counter()

    def add(self, values: NDArray[Any]) -> None:
        """Add the numbers of a chunk; they must be among the levels, if these are stated."""
        import pandas as pd

        found = pd.unique(values)
        outside = self.rules.outside_levels(found.tolist())
        if outside:
            times = {x: int(np.count_nonzero(values == x)) for x in outside}
            column = Column(self.name, values, found.tolist(), "number", 0, self.rules)
            place = int(np.argmax(np.isin(values, outside)))
            raise _ColumnFault(["levels"], column._replace(outside=times), place)
        for code in found[np.isin(found, list(CODES_ABOVE | CODES_BELOW))].tolist():
            self.counts[code] += int(np.count_nonzero(values == code))
        self.distinct = np.union1d(self.distinct, found)
        if self.distinct.size > MOST_DISTINCT:
            # every other one, and both ends: gaps between them are not smaller than before
            codes = self.distinct[np.isin(self.distinct, list(self.counts))]
            ends = self.distinct[[0, -1]]
            self.distinct = np.unique(np.concatenate([self.distinct[::2], ends, codes]))

    def column(self) -> Column:
        """Return the column of distinct values."""
        column = read_column(self.name, self.distinct, rules=self.rules)
        return column._replace(suspected={x: self.counts[x] for x in column.suspected})


def _decimals(column: Column, values: Sequence[Any]) -> list[bool]:
    """Return which values of a column are numbers that are not whole."""
    return [column.kind == "number" and not float(value).is_integer() for value in values]


def _group(kind: np.dtype[Any]) -> str:
    return "numbers" if kind.kind in NUMBERS else "truth values" if kind.kind == "b" else "words"


def _are_truths(entries: NDArray[Any]) -> bool:
    """Whether all entries that are not empty are truth values."""
    kept = entries[~UNSTATED.missing_in(entries)]
    return kept.size == 0 or typed_values(kept)[1] == "bool"


class RowCounter:
    """Keeps the distinct rows of a table that comes in chunks, packed, and their counts.

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
    na : {"error", "drop"}
        Whether missing entries are refused, or the rows dropped that have any.
    na_values, levels, kinds, scores : optional
        Codes for missing entries, all values of columns, their kinds and the scores of their
        levels, as for :func:`slabfield.encoding.code_table`.

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
        na: str = "error",
        na_values: NaValues = None,
        levels: Levels = None,
        kinds: Kinds = None,
        scores: Scores = "standard",
    ) -> None:
        self.path, self.names, self.binarize, self.as_text = path, list(names), binarize, as_text
        self.na, self.rules = na, column_rules(self.names, na_values, levels, kinds, scores)
        named = list(zip(self.names, self.rules, strict=True))
        self.raw = [RawValues(name, rules) for name, rules in named]
        self.cut = [CutValues(name, rules) for name, rules in named]
        self.thresholds = fixed_thresholds(names, binarize, self.rules)
        self.n_read, self.n_rows = 0, 0
        self.n_stated = dict.fromkeys(self.names, 0)
        self.layout = RowLayout([2] * len(self.names))
        self.packed: Bits = np.zeros((0, self.layout.n_bytes), np.uint8)
        self.counts = np.zeros(0)
        self.pending: list[tuple[Bits, NDArray[np.float64]]] = []

    def add(self, chunk: pd.DataFrame) -> None:
        """Add the rows of a chunk."""
        values = [_values_of(chunk.iloc[:, k]) for k in range(len(self.names))]
        for k, raw in enumerate(self.raw):
            raw.add_categories(categories_of(chunk.iloc[:, k]))
        missing = self._missing_in(values)
        known = np.logical_not(missing)
        if self.na == "drop":
            known[~known.all(axis=1)] = False
        codes = np.zeros((len(chunk), len(self.names)), np.uint8)
        mixed, faults = set(), []
        for k, name in enumerate(self.names):
            own = self._typed(k, values[k][known[:, k]])
            if name not in self.as_text and not self.raw[k].is_alike(own, values[k]):
                mixed.add(name)
                continue
            try:
                if own.size:
                    at = self.n_read + 1 + np.flatnonzero(known[:, k])
                    codes[known[:, k], k] = self._codes(k, own, at)
                if not known[:, k].all() and self.na == "error":
                    n_missing = int(np.count_nonzero(missing[:, k]))
                    column = Column(name, own[:0], [], "number", n_missing)
                    raise _ColumnFault(["missing"], column, int(np.argmax(missing[:, k])))
            except _ColumnFault as fault:
                if fault.faults != ["missing"]:  # among the known values
                    fault.place = int(np.flatnonzero(known[:, k])[fault.place])
                faults.append(fault)
        if mixed:
            raise MixedColumns(mixed)
        if faults:
            row = self.n_read + min(fault.place for fault in faults) + 1
            self._refuse([(fault.faults, fault.column) for fault in faults], row, False)
        complete = known.all(axis=1)
        self.n_read += len(chunk)
        self.n_rows += int(np.count_nonzero(complete))
        self._widen()
        self.pending.append(merge_packed(self.layout.pack(codes[complete])))
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
        self._refuse_decimals(columns)
        named = zip(self.names, self.thresholds, strict=True)
        cuts = {name: threshold for name, threshold in named if threshold is not None}
        encoder = Encoder.fit_columns(columns, self.n_rows, True, cuts)
        self._merge()
        packed, counts = merge_packed(self._encoded(columns, encoder), self.counts)
        rows = self.layout.unpack(packed)
        missing = np.zeros(rows.shape, np.bool_)
        warn_of_constants(rows, missing, self.names)
        warn_of_single_rows(rows, missing, encoder.variables, counts)
        return CodedTable(
            rows, encoder.variables, self._notes(columns, encoder), True, missing, counts=counts,
            n_dropped=self.n_read - self.n_rows,
        )  # fmt: skip

    def _notes(self, columns: Sequence[Column], encoder: Encoder) -> list[str]:
        return [
            *note_of_codes(self.n_stated),
            *note_of_dropped(self.n_read - self.n_rows, self.n_read),
            *notes_of_spelling(columns),
            *notes_of(encoder.variables),
            *notes_of_levels(columns, encoder.variables),
        ]

    def _encoded(self, columns: Sequence[Column], encoder: Encoder) -> Bits:
        """Return the packed rows with the codes of the encoder in place of raw codes."""
        moved = {}
        for k, variable in enumerate(encoder.variables):
            if variable.threshold is None:
                codes = encode_values(self.raw[k].labels(), variable)
                if np.any(codes != np.arange(codes.size)):
                    moved[k] = codes
        packed = np.empty_like(self.packed)
        for start in range(0, len(packed), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = self.layout.unpack(self.packed[block])
            for k, codes in moved.items():
                rows[:, k] = codes[rows[:, k]]
            packed[block] = self.layout.pack(rows)
        return packed

    def _widen(self) -> None:
        """Pack the rows so far again where a column has got more labels than its bits can tell."""
        layout = RowLayout([len(raw.codes) for raw in self.raw])
        if layout.widths == self.layout.widths:
            return
        self._merge()
        packed = np.empty((len(self.packed), layout.n_bytes), np.uint8)
        for start in range(0, len(packed), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            packed[block] = layout.pack(self.layout.unpack(self.packed[block]))
        self.packed, self.layout = packed, layout

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

    def _missing_in(self, values: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Return the mask of missing entries of a chunk, and count those that are stated codes."""
        missing = [rules.missing_in(own) for own, rules in zip(values, self.rules, strict=True)]
        for k, rules in enumerate(self.rules):
            if rules.na_values:
                stated = missing[k] & ~UNSTATED.missing_in(values[k])
                self.n_stated[self.names[k]] += int(np.count_nonzero(stated))
        return np.stack(missing, axis=1)

    def _typed(self, k: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return values that are not missing as an array of their kind."""
        if values.dtype.kind != "O" or self.names[k] in self.as_text:
            return values
        return answers_in(values)[0]

    def _codes(self, k: int, values: NDArray[Any], at: NDArray[np.intp]) -> Bits:
        """Return the raw codes of the values of a chunk of one column, which are in rows ``at``."""
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            column = Column(self.names[k], values[:0], [], "number", 0)
            raise _ColumnFault(["infinite"], column, int(np.argmin(np.isfinite(values))))
        threshold = self._threshold(k, values)
        if threshold is None:
            return self.raw[k].add(values, self.n_rows + values.size, at)
        self.cut[k].add(values)
        return (values >= threshold).astype(np.uint8)

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
        """Return a column of the distinct values found so far."""
        return self.raw[k].column() if self.thresholds[k] is None else self.cut[k].column()

    def _refuse_decimals(self, columns: Sequence[Column]) -> None:
        """Raise an error if columns of few numbers have decimals."""
        found = [
            (column, raw.decimal_row)
            for column, raw in zip(columns, self.raw, strict=True)
            if raw.decimal_row is not None
        ]
        if found:
            faulty = [(find_faults(column, self.n_rows, None), column) for column, _ in found]
            self._refuse(faulty, min(row for _, row in found), True)

    def _refuse(
        self, found: Sequence[tuple[Sequence[Fault], Column]], row: int, read_all: bool
    ) -> NoReturn:
        faults: dict[Fault, list[Column]] = {}
        for kinds, column in found:
            for kind in kinds:
                faults.setdefault(kind, []).append(column)
        raise InputError(
            "invalid-columns-in-file",
            "{faults}\nThe first fault is in row {row:,} below the column names of {path}{rest}.",
            faults=describe_faults(faults, [column for _, column in found], self.n_rows, True),
            row=row,
            path=self.path,
            rest="" if read_all else "; the rest of the file was not read",
        )


def _values_of(series: pd.Series[Any]) -> NDArray[Any]:
    """Return the values of a chunk of one column, of a type of NumPy where there is one."""
    values = np.asarray(series)
    kind = getattr(series.dtype, "kind", "O")
    if values.dtype.kind == "O" and kind in f"b{NUMBERS}" and not series.hasnans:  # of pandas
        return values.astype(kind + ("1" if kind == "b" else "8"))
    return values
