"""A user's table, encoded: rows of codes, their variables, missing entries and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_notes import notes_of, warn_of_constants
from slabfield.encoding.columns import Column, missing_in, read_column
from slabfield.encoding.encoder import Encoder, encode_values
from slabfield.encoding.row_weights import check_weights
from slabfield.encoding.thresholds import Binarize
from slabfield.encoding.variables import Variable
from slabfield.io.frames import OpenedTable, open_table
from slabfield.validation.errors import InputError, Parameter, listed
from slabfield.validation.parameters import check_choice

Array = NDArray[np.float64]

NA = ("error", "drop", "impute")


class CodedTable(NamedTuple):
    """A table of codes, with the variables that say what they stand for.

    Parameters
    ----------
    rows : array of uint8, shape (N, D)
        The table, contiguous row by row.
    variables : tuple of Variable
        For each column, its name and labels, and its threshold if it was cut.
    notes : list of str
        A description of the coding of columns that did not hold plain 0 and 1.
    has_names : bool
        Whether the table came with names, that is, as a data frame with text for column names.
    missing : array of bool, shape (N, D)
        Mask of the missing entries; they are 0 in ``rows``.
    counts : array of float64, optional
        Count of each row, if equal rows were merged while reading.
    weights : array of float64, optional
        Sample weight of each row, if given.

    Examples
    --------
    >>> from slabfield.encoding import code_binary
    >>> [variable.labels for variable in code_binary([[1, "yes"], [2, "no"]]).variables]
    [(1, 2), ('no', 'yes')]
    """

    rows: NDArray[np.uint8]
    variables: tuple[Variable, ...]
    notes: list[str]
    has_names: bool
    missing: NDArray[np.bool_]
    counts: Array | None = None
    weights: Array | None = None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [variable.name for variable in self.variables]

    @property
    def encoder(self) -> Encoder:
        """The encoder of new rows."""
        return Encoder(self.variables, self.has_names)

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
        The encoded rows, their variables and notes.

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
                "impute-with-weights",
                "{impute} takes every row once; found {weights}. Leave out the weights, or pass "
                "{drop}.",
                impute=Parameter("na", "impute"),
                weights=Parameter("sample_weight"),
                drop=Parameter("na", "drop"),
            )
    encoder = Encoder.fit_columns(
        columns, opened.columns[0].size, opened.has_names, binarize, weights
    )
    rows = np.zeros(missing.shape, dtype=np.uint8)
    for k, (column, variable) in enumerate(zip(columns, encoder.variables, strict=True)):
        rows[~missing[:, k], k] = encode_values(column.values, variable)
    warn_of_constants(rows, missing, opened.names)
    return CodedTable(
        rows,
        encoder.variables,
        [*dropped, *_missing_note(missing), *notes_of(encoder.variables)],
        opened.has_names,
        missing,
        weights=weights,
    )


def _already_coded(table: CodedTable, binarize: Binarize, sample_weight: object) -> CodedTable:
    """Return a coded table, and refuse options that would change its coding."""
    if binarize is not None or sample_weight is not None:
        raise InputError(
            "table-already-coded",
            "A table that is already coded takes neither {binarize} nor {weights}; found {found}. "
            "Pass it where the table is read or coded.",
            binarize=Parameter("binarize"),
            weights=Parameter("sample_weight"),
            found=Parameter("sample_weight" if binarize is None else "binarize"),
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
            "too-few-complete-rows",
            "{drop} must leave two rows or more; found missing entries in all but {n_left} of "
            "{n_rows} rows. Pass {impute}, or drop the columns with most missing entries.",
            drop=Parameter("na", "drop"),
            n_left=n_left,
            n_rows=n_rows,
            impute=Parameter("na", "impute"),
        )
    kept = opened._replace(columns=[values[complete] for values in opened.columns])
    return kept, missing[complete], [f"{n_rows - n_left} of {n_rows} rows were dropped for missing "
                                  "entries."]  # fmt: skip


def _refuse_empty(columns: list[Column]) -> None:
    empty = [repr(column.name) for column in columns if column.values.size == 0]
    if empty:
        raise InputError(
            "empty-columns",
            "Every column must hold something; found only missing entries in {columns}. Drop them.",
            columns=listed(empty),
        )


def _missing_note(missing: NDArray[np.bool_]) -> list[str]:
    total = int(np.count_nonzero(missing))
    if total == 0:
        return []
    return [
        f"{total} missing entries ({total / missing.size:.1%} of all) are sampled along with the "
        "parameters; this is valid if entries are missing at random."
    ]


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
    estimator.variables_ = table.variables
    estimator.node_names_ = list(table.names)
    estimator.n_rows_, estimator.n_features_in_ = table.n_rows, table.rows.shape[1]
    if table.has_names:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
