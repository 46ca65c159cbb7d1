"""A user's table, encoded: rows of codes, their variables, missing entries and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_notes import (
    note_of_codes,
    note_of_dropped,
    notes_of,
    notes_of_spelling,
    warn_of_constants,
)
from slabfield.encoding.column_rules import UNSTATED, Levels, NaValues, column_rules
from slabfield.encoding.columns import Column, read_column
from slabfield.encoding.encoder import Encoder, encode_values
from slabfield.encoding.level_notes import notes_of_levels, warn_of_single_rows
from slabfield.encoding.row_weights import check_weights
from slabfield.encoding.thresholds import Binarize
from slabfield.encoding.variables import Variable
from slabfield.io.frames import OpenedTable, open_table
from slabfield.validation.errors import InputError, Parameter, listed
from slabfield.validation.level_parameters import Kinds, Scores
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
        For each column, its name, kind and labels, and its threshold if it was cut.
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
    n_dropped : int
        Number of rows that were dropped for missing entries.

    Examples
    --------
    >>> from slabfield.encoding import code_table
    >>> [variable.labels for variable in code_table([[1, "yes"], [2, "no"]]).variables]
    [(1, 2), ('no', 'yes')]
    """

    rows: NDArray[np.uint8]
    variables: tuple[Variable, ...]
    notes: list[str]
    has_names: bool
    missing: NDArray[np.bool_]
    counts: Array | None = None
    weights: Array | None = None
    n_dropped: int = 0

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


def code_table(
    X: object,
    binarize: Binarize = None,
    na: str = "error",
    sample_weight: object = None,
    na_values: NaValues = None,
    levels: Levels = None,
    kinds: Kinds = None,
    scores: Scores = "standard",
) -> CodedTable:
    """Check a table, and code the labels of each column as 0, 1, and so on.

    A column of two values is binary. Of two numbers the larger is 1; of two words that have a
    natural order (yes and no, true and false, present and absent, and so on) the affirmative is 1;
    of other words the second in the alphabet. Of columns with 3 to 12 values, whole numbers,
    ordered categoricals and those whose ``levels`` are listed are ordinal, text and unordered
    categoricals nominal. Words that differ only in case or surrounding blanks are one label; blank
    text is missing. The notes describe the coding.

    A level that never occurs between two that do (3, where a column holds 1, 2, 4 and 5) has no
    code, but keeps its place in the spacing of the scores.

    A value that is likely a code for a missing answer, such as 99 beside 1 to 5, is refused unless
    ``na_values`` or ``levels`` state what it is. Numbers are likely codes if they are among the
    usual ones (7, 8, 9, 77, 88, 98, 99, 999, ..., -1 to -9, -99, -999, ...), lie outside the range
    of the column's other values, and are farther from these than any two neighboring ones are from
    each other; texts, if they are usual marks such as "." or "?".

    Parameters
    ----------
    X : array, list of lists, data frame or sparse matrix
        One row per case, one column per node. A sparse matrix is made dense.
    binarize : number, "median", or mapping from column name to these, optional
        1 where a value is at least this number, 0 where it is less. One number is applied to
        every numeric column, those of 0 and 1 included (columns of True and False, of words, and
        those that ``kinds`` names are left alone); a mapping only to the columns it names. "median"
        splits each numeric column that holds anything but 0 and 1 into the most nearly equal
        halves.
    na : {"error", "drop", "impute"}
        What to do about missing entries: refuse the table, drop the rows that have any, or sample
        them along with the parameters.
    sample_weight : sequence of numbers, optional
        Weight of each row, which "median" takes into account as well.
    na_values : value, list of values, or mapping from column name to these, optional
        Values that stand for missing entries, to which ``na`` applies. An empty list states that
        there are none. In a mapping, the key None stands for all columns that it does not name.
    levels : mapping from column name to list of values, optional
        All answers of a column, in their order: of two, the second is coded 1; more are ordinal,
        unless ``kinds`` says otherwise. Other values are refused. Levels that never occur have no
        code, but keep their place.
    kinds : str, or mapping from column name to str, optional
        "ordinal", "nominal", "blume-capel" or "binary"; ("blume-capel", label) gives the reference
        level, by default the middle one. One kind, or the key None in a mapping, applies to all
        other columns of three or more values. "binary" refuses columns of more than two.
    scores : {"standard", "raw", "range"} or mapping from column name to list of numbers
        Numbers by which couplings multiply levels. With P places (levels, and those between them
        that never occur) the level at place a, from 0, has the standard score
        a sqrt(3 / (P^2 - 1)), the raw score a, and the range score a / (P - 1). A mapping gives
        increasing numbers, one per level; its key None is the rule for all other columns. Binary
        columns have 0 and 1.

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
    >>> from slabfield.encoding import code_table
    >>> table = code_table(pd.DataFrame({"sleep": ["no", "yes", "yes"], "work": [0, 1, 0]}))
    >>> table.rows.tolist()
    [[0, 0], [1, 1], [1, 0]]
    >>> table.notes
    ["Column 'sleep': 1 = 'yes', 0 = 'no'."]

    A code for missing answers:

    >>> rated = pd.DataFrame({"sleep": [0, 1, 9, 1], "work": [0, 1, 0, 1]})
    >>> code_table(rated, na_values=9, na="drop").rows.tolist()
    [[0, 0], [1, 1], [1, 1]]

    Columns with levels:

    >>> rated = pd.DataFrame({"mood": [1, 2, 3, 1, 2, 3], "place": list("xyzxyz")})
    >>> [variable.kind for variable in code_table(rated).variables]
    ['ordinal', 'nominal']
    """
    check_choice("na", na, NA)
    if isinstance(X, CodedTable):
        return _already_coded(
            X,
            binarize=binarize,
            sample_weight=sample_weight,
            na_values=na_values,
            levels=levels,
            kinds=kinds,
            scores=None if scores == "standard" else scores,
        )
    opened = open_table(X)
    rules = column_rules(opened.names, na_values, levels, kinds, scores)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, opened.columns[0].size)
    pairs = list(zip(opened.columns, rules, strict=True))
    missing = np.stack([own.missing_in(values) for values, own in pairs], axis=1)
    stated = {
        name: int(np.count_nonzero(missing[:, k] & ~UNSTATED.missing_in(opened.columns[k])))
        for k, name in enumerate(opened.names)
        if rules[k].na_values
    }
    n_dropped, dropped = 0, list[str]()
    if na == "drop" and missing.any():
        n_dropped = int(np.count_nonzero(missing.any(axis=1)))
        weights = None if weights is None else weights[~missing.any(axis=1)]
        opened, missing, dropped = _without_rows(opened, missing)
    columns = [
        read_column(name, opened.columns[k], missing[:, k], rules[k], opened.categories.get(name))
        for k, name in enumerate(opened.names)
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
    warn_of_single_rows(rows, missing, encoder.variables)
    return CodedTable(
        rows,
        encoder.variables,
        [
            *note_of_codes(stated),
            *dropped,
            *_missing_note(missing),
            *notes_of_spelling(columns),
            *notes_of(encoder.variables),
            *notes_of_levels(columns, encoder.variables),
        ],
        opened.has_names,
        missing,
        weights=weights,
        n_dropped=n_dropped,
    )


def _already_coded(table: CodedTable, **others: object) -> CodedTable:
    """Return a coded table, and refuse options that would change its coding."""
    if others["kinds"] == "binary":
        _refuse_levels(table.variables)
        others["kinds"] = None
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError(
            "table-already-coded",
            "A table that is already coded takes no {found}. Pass it where the table is read or "
            "coded.",
            found=Parameter(given[0]),
        )
    return table


def _refuse_levels(variables: Sequence[Variable]) -> None:
    """Refuse variables with three or more levels, where only two-valued columns can be used."""
    found = [variable for variable in variables if variable.kind != "binary"]
    if found:
        raise InputError(
            "coded-levels",
            "Every column must hold two values; found three or more levels in {columns}. Code the "
            "table with {binarize}, or without these columns.",
            columns=listed([repr(variable.name) for variable in found]),
            binarize=Parameter("binarize"),
        )


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
    return kept, missing[complete], note_of_dropped(n_rows - n_left, n_rows)


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
    >>> from slabfield.encoding import code_table, keep_names
    >>> estimator = SimpleNamespace()
    >>> keep_names(estimator, code_table([[0, 1], [1, 0]]))
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
