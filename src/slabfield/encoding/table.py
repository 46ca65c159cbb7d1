"""Validation of a user's table, and its coding as 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_messages import describe_faults
from slabfield.encoding.columns import (
    Coding,
    Column,
    Fault,
    code_column,
    differ_only_in_spelling,
    find_fault,
    looks_like_identifier,
    median_cut,
    missing_in,
    read_column,
)
from slabfield.encoding.row_weights import check_weights
from slabfield.io.frames import OpenedTable, open_table
from slabfield.validation.errors import InputError, InputWarning, listed, shown_value
from slabfield.validation.parameters import check_choice, is_number

Array = NDArray[np.float64]

MEDIAN = "median"
NA = ("error", "drop", "impute")
Binarize: TypeAlias = float | str | Mapping[str, float | str] | None


class CodedTable(NamedTuple):
    """A table of 0 and 1, with the labels that they stand for in each column.

    Parameters
    ----------
    rows : array of uint8, shape (N, D)
        The table, contiguous row by row.
    names : list of str
        A name for each column.
    labels : list of pairs
        For each column, the label coded 0 and the label coded 1; None stands for a label that
        never occurs (the column is constant).
    notes : list of str
        A description of the coding of columns that did not hold plain 0 and 1.
    has_names : bool
        Whether the table came with names, that is, as a data frame with text for column names.
    thresholds : list of float or None
        For each column, its threshold; None where labels are coded instead.
    missing : array of bool, shape (N, D)
        Mask of the missing entries; they are 0 in ``rows``.
    counts : array of float64, optional
        Count of each row, if equal rows were merged while reading.
    weights : array of float64, optional
        Sample weight of each row, if given.

    Examples
    --------
    >>> from slabfield.encoding import code_binary
    >>> code_binary([[1, "yes"], [2, "no"]]).labels
    [(1, 2), ('no', 'yes')]
    """

    rows: NDArray[np.uint8]
    names: list[str]
    labels: list[tuple[object, object]]
    notes: list[str]
    has_names: bool
    thresholds: list[float | None]
    missing: NDArray[np.bool_]
    counts: Array | None = None
    weights: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, repeated ones included."""
        return len(self.rows) if self.counts is None else int(self.counts.sum())

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights; the number of rows if there are none."""
        return self.n_rows if self.weights is None else float(self.weights.sum())


def code_binary(
    X: object, binarize: Binarize = None, na: str = "error", sample_weight: object = None
) -> CodedTable:
    """Check a table of two-valued columns and code it as 0 and 1.

    Of two numbers the larger is 1; of two words that have a natural order (yes and no, true and
    false, present and absent, and so on, in any case) the affirmative is 1; of other words the
    second in the alphabet. The notes describe the coding.

    Parameters
    ----------
    X : array, list of lists, data frame or sparse matrix
        One row per case, one column per node. A sparse matrix is made dense.
    binarize : number, "median", or mapping from column name to these, optional
        1 where a value is at least this number, 0 where it is less. One number is applied to
        every numeric column, those of 0 and 1 included (columns of True and False, and of words,
        are left alone); a mapping only to the columns it names. "median" splits each numeric
        column that holds anything but 0 and 1 into the most nearly equal halves.
    na : {"error", "drop", "impute"}
        What to do about missing entries: refuse the table, drop the rows that have any, or sample
        them along with the parameters.
    sample_weight : sequence of numbers, optional
        Weight of each row, which "median" takes into account as well.

    Returns
    -------
    CodedTable
        The coded rows, names, labels and notes.

    Raises
    ------
    InputError
        If the table cannot be coded; the message names the columns, what they hold and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.encoding import code_binary
    >>> table = code_binary(pd.DataFrame({"sleep": ["no", "yes", "yes"], "work": [0, 1, 0]}))
    >>> table.rows.tolist()
    [[0, 0], [1, 1], [1, 0]]
    >>> table.notes
    ["Column 'sleep': 1 = 'yes', 0 = 'no'."]
    """
    check_choice("na", na, NA)
    if isinstance(X, CodedTable):
        return _already_coded(X, binarize, sample_weight)
    opened = open_table(X)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, opened.columns[0].size)
    missing = np.stack([missing_in(values) for values in opened.columns], axis=1)
    dropped: list[str] = []
    if na == "drop" and missing.any():
        weights = None if weights is None else weights[~missing.any(axis=1)]
        opened, missing, dropped = _without_rows(opened, missing)
    columns = [
        read_column(name, opened.columns[k], missing[:, k]) for k, name in enumerate(opened.names)
    ]
    if na == "impute":
        _refuse_empty(columns)
        columns = [column._replace(n_missing=0) for column in columns]
        if weights is not None and missing.any():
            raise InputError(
                "na='impute' takes every row once; found sample_weight. Leave out the weights, or "
                "pass na='drop'."
            )
    thresholds = _thresholds(columns, binarize, weights)
    n_rows = opened.columns[0].size
    faults: dict[Fault, list[Column]] = {}
    for column, threshold in zip(columns, thresholds, strict=True):
        fault = find_fault(column, n_rows, threshold)
        if fault is not None:
            faults.setdefault(fault, []).append(column)
    if faults:
        raise InputError(describe_faults(faults, columns, n_rows, opened.has_names))
    warn_of_spelling(columns)
    _warn_of_identifiers(columns, thresholds, n_rows)
    codings = [code_column(*pair) for pair in zip(columns, thresholds, strict=True)]
    rows = np.zeros(missing.shape, dtype=np.uint8)
    for k, coding in enumerate(codings):
        rows[~missing[:, k], k] = coding.bits
    warn_of_constants(rows, missing, opened.names)
    return CodedTable(
        rows,
        opened.names,
        [coding.labels for coding in codings],
        [*dropped, *_missing_note(missing), *notes_of(opened.names, codings)],
        opened.has_names,
        thresholds,
        missing,
        weights=weights,
    )


def _already_coded(table: CodedTable, binarize: Binarize, sample_weight: object) -> CodedTable:
    """Return a coded table, and refuse options that would change its coding."""
    if binarize is not None or sample_weight is not None:
        raise InputError(
            "A table that is already coded takes neither binarize nor sample_weight; found "
            f"{'binarize' if binarize is not None else 'sample_weight'}. Pass it where the table "
            "is read or coded."
        )
    return table


def _without_rows(
    opened: OpenedTable, missing: NDArray[np.bool_]
) -> tuple[OpenedTable, NDArray[np.bool_], list[str]]:
    """Drop the rows with missing entries, and return a note of how many there are."""
    complete = ~missing.any(axis=1)
    n_rows, n_left = complete.size, int(np.count_nonzero(complete))
    if n_left < 2:
        raise InputError(
            f"na='drop' must leave two rows or more; found missing entries in all but {n_left} of "
            f"{n_rows} rows. Pass na='impute', or drop the columns with most missing entries."
        )
    kept = opened._replace(columns=[values[complete] for values in opened.columns])
    return kept, missing[complete], [f"{n_rows - n_left} of {n_rows} rows were dropped for missing "
                                  "entries."]  # fmt: skip


def _refuse_empty(columns: list[Column]) -> None:
    empty = [repr(column.name) for column in columns if column.values.size == 0]
    if empty:
        raise InputError(
            f"Every column must hold something; found only missing entries in {listed(empty)}. "
            "Drop them."
        )


def _missing_note(missing: NDArray[np.bool_]) -> list[str]:
    total = int(np.count_nonzero(missing))
    if total == 0:
        return []
    return [
        f"{total} missing entries ({total / missing.size:.1%} of all) are sampled along with the "
        "parameters; this is valid if entries are missing at random."
    ]


def _thresholds(
    columns: list[Column], binarize: Binarize, weights: Array | None = None
) -> list[float | None]:
    """Return the threshold of each column, or None where it has none."""
    if binarize is None:
        return [None] * len(columns)
    if isinstance(binarize, Mapping):
        named = {str(name): at for name, at in binarize.items()}
        return _named_thresholds(columns, named, weights)
    rule = _as_rule(binarize)
    return [_cut(column, rule, weights) if column.kind == "number" else None for column in columns]


def _cut(column: Column, rule: float | str, weights: Array | None) -> float | None:
    """Return the threshold of a numeric column."""
    return median_cut(column, weights) if isinstance(rule, str) else rule


def _named_thresholds(
    columns: list[Column], named: Mapping[str, Any], weights: Array | None
) -> list[float | None]:
    kinds = {column.name: column.kind for column in columns}
    unknown = [repr(name) for name in named if name not in kinds]
    if unknown:
        raise InputError(
            f"binarize names {listed(unknown)}, which the table does not have; its columns are "
            f"{listed([repr(name) for name in kinds])}. Name columns of the table."
        )
    words = [repr(name) for name in named if kinds[name] != "number"]
    if words:
        raise InputError(
            f"binarize needs columns of numbers; {listed(words)} of the table "
            f"{'is' if len(words) == 1 else 'are'} not. Leave "
            f"{'it' if len(words) == 1 else 'them'} out of binarize."
        )
    rules = {name: _as_rule(value) for name, value in named.items()}
    return [_cut(c, rules[c.name], weights) if c.name in rules else None for c in columns]


def _as_rule(value: object) -> float | str:
    if isinstance(value, str) and value == MEDIAN:
        return value
    if is_number(value) and np.isfinite(float(value)):  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise InputError(
        "binarize must be a number, 'median', or one of these for each column it names; got "
        f"{shown_value(value)}. Pass for example binarize=2 or binarize={{'sleep': 2}}."
    )


def notes_of(names: list[str], codings: list[Coding]) -> list[str]:
    """Write one note for all columns with the same coding.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import code_column, read_column
    >>> from slabfield.encoding.table import notes_of
    >>> notes_of(["sleep"], [code_column(read_column("sleep", np.array(["no", "yes"])), None)])
    ["Column 'sleep': 1 = 'yes', 0 = 'no'."]
    """
    same_rule: dict[str, list[str]] = {}
    for name, coding in zip(names, codings, strict=True):
        if not coding.is_plain:
            same_rule.setdefault(coding.rule, []).append(repr(name))
    return [
        f"Column{'s' if len(group) > 1 else ''} {listed(group)}: {rule}."
        for rule, group in same_rule.items()
    ]


def warn_of_constants(
    rows: NDArray[np.uint8], missing: NDArray[np.bool_], names: list[str]
) -> None:
    """Warn of columns that hold one value only.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.table import warn_of_constants
    >>> warn_of_constants(np.eye(2, dtype=np.uint8), np.zeros((2, 2), np.bool_), ["a", "b"])
    """
    ones, known = rows.sum(axis=0, dtype=np.int64), np.count_nonzero(~missing, axis=0)
    constant = [repr(names[k]) for k in np.flatnonzero((ones == 0) | (ones == known))]
    if constant:
        one = len(constant) == 1
        warn(
            f"Column{'' if one else 's'} {listed(constant)} {'has' if one else 'have'} the same "
            f"value in every row. Only the prior limits {'its bias' if one else 'their biases'}, "
            f"and the data say next to nothing about {'its' if one else 'their'} edges, whose "
            f"inclusion probabilities stay near the prior's. Drop {'it' if one else 'them'} unless "
            "you want this.",
            InputWarning,
            stacklevel=3,
        )


def warn_of_spelling(columns: list[Column]) -> None:
    """Warn of columns whose two words differ only in case or spaces.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.table import warn_of_spelling
    >>> warn_of_spelling([read_column("sleep", np.array(["no", "yes"]))])
    """
    for column in columns:
        if differ_only_in_spelling(column):
            first, second = (shown_value(value) for value in column.distinct)
            warn(
                f"Column {shown_value(column.name)} holds {first} and {second}, which differ only "
                "in case or spaces; they were taken for two values. Write them the same way if "
                "they mean the same.",
                InputWarning,
                stacklevel=3,
            )


def _warn_of_identifiers(
    columns: list[Column], thresholds: list[float | None], n_rows: int
) -> None:
    cut = [
        repr(column.name)
        for column, threshold in zip(columns, thresholds, strict=True)
        if threshold is not None and looks_like_identifier(column, n_rows)
    ]
    if cut:
        warn(
            f"binarize was applied to {listed(cut)}, with a different whole number in every row: a "
            "likely identifier. Drop it if it is one.",
            InputWarning,
            stacklevel=3,
        )


def keep_names(estimator: Any, table: CodedTable) -> None:
    """Set the attributes that every fitted estimator takes from its table.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from slabfield.encoding import code_binary, keep_names
    >>> estimator = SimpleNamespace()
    >>> keep_names(estimator, code_binary([[0, 1], [1, 0]]))
    >>> estimator.n_features_in_
    2
    """
    estimator.coding_notes_ = list(table.notes)
    estimator.coding_ = list(zip(table.labels, table.thresholds, strict=True))
    estimator.node_names_ = list(table.names)
    estimator.n_rows_, estimator.n_features_in_ = table.n_rows, table.rows.shape[1]
    if table.has_names:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
