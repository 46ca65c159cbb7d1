"""The encoder: decides the variable of each column, and encodes rows with these variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_faults import Fault, find_faults
from slabfield.encoding.column_messages import describe_faults
from slabfield.encoding.column_notes import warn_of_identifiers
from slabfield.encoding.column_rules import ColumnRules, Levels, column_rules
from slabfield.encoding.column_variables import variable_of
from slabfield.encoding.columns import Column, read_column, typed_values
from slabfield.encoding.labels import label_key, map_distinct, numbers_in_text
from slabfield.encoding.missing_codes import isolated_codes, likely_codes
from slabfield.encoding.thresholds import Binarize, find_thresholds
from slabfield.encoding.variables import Variable
from slabfield.io.frames import OpenedTable, open_table
from slabfield.validation.errors import (
    InputError,
    InputWarning,
    Parameter,
    listed,
    shown_value,
    warn_user,
)
from slabfield.validation.level_parameters import Kinds, Scores
from slabfield.validation.parameters import is_number

UNSEEN = 255
"""Code of a value that is none of the labels, until it is refused or gets another code."""


class EncodedRows(NamedTuple):
    """Rows of codes, and the mask of their missing entries (these are 0 in ``rows``)."""

    rows: NDArray[np.uint8]
    missing: NDArray[np.bool_]


@dataclass(frozen=True)
class Encoder:
    """The variables of a table, and the encoding of rows with them.

    Parameters
    ----------
    variables : tuple of Variable
        One for each column.
    has_names : bool
        Whether the table came with column names, which new rows then must have too.

    Examples
    --------
    >>> from slabfield.encoding import Encoder
    >>> encoder = Encoder.fit([["no", 1], ["yes", 5], ["no", 9]], binarize={"x1": 5})
    >>> [variable.labels for variable in encoder.variables]
    [('no', 'yes'), ('< 5', '>= 5')]
    >>> encoder.transform([["yes", 2]]).rows
    array([[1, 0]], dtype=uint8)
    """

    variables: tuple[Variable, ...]
    has_names: bool = False

    @classmethod
    def fit(
        cls,
        X: object,
        binarize: Binarize = None,
        levels: Levels = None,
        kinds: Kinds = None,
        scores: Scores = "standard",
    ) -> Encoder:
        """Decide the variables of a table without missing entries.

        Parameters
        ----------
        X : array, list of lists, data frame or sparse matrix
            One row per case, one column per node.
        binarize : number, "median", or mapping from column name to these, optional
            Where columns of numbers are cut; see :func:`slabfield.encoding.code_table`.
        levels : mapping from column name to list of values, optional
            All values that columns hold, in their order.
        kinds, scores : optional
            Kinds of columns, and scores of their levels; see
            :func:`slabfield.encoding.code_table`.

        Returns
        -------
        Encoder

        Raises
        ------
        InputError
            If columns cannot be encoded; the message names all of them.
        """
        opened = open_table(X)
        stated = column_rules(opened.names, None, levels, kinds, scores)
        columns = [
            read_column(name, values, rules=rules, categories=opened.categories.get(name))
            for name, values, rules in zip(opened.names, opened.columns, stated, strict=True)
        ]
        return cls.fit_columns(columns, opened.columns[0].size, opened.has_names, binarize)

    @classmethod
    def fit_columns(
        cls,
        columns: Sequence[Column],
        n_rows: int,
        has_names: bool,
        binarize: Binarize = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Encoder:
        """Decide the variables of columns, as `fit` does.

        Parameters
        ----------
        columns : sequence of Column
            Of a column without threshold, the distinct values are enough.
        n_rows : int
            Rows of the table.
        has_names : bool
            Whether the table came with column names.
        binarize : number, "median", or mapping from column name to these, optional
            Where columns of numbers are cut.
        weights : array of float64, optional
            Weight of each row, of which "median" takes account.

        Returns
        -------
        Encoder
        """
        thresholds = find_thresholds(columns, binarize, weights)
        faults: dict[Fault, list[Column]] = {}
        for column, threshold in zip(columns, thresholds, strict=True):
            for fault in find_faults(column, n_rows, threshold):
                faults.setdefault(fault, []).append(column)
        if faults:
            raise InputError(
                "invalid-columns",
                "{faults}",
                faults=describe_faults(faults, columns, n_rows, has_names),
            )
        warn_of_identifiers(columns, thresholds, n_rows)
        pairs = zip(columns, thresholds, strict=True)
        return cls(tuple(variable_of(*pair) for pair in pairs), has_names)

    def as_record(self) -> dict[str, Any]:
        """Return the encoder as plain values for a file."""
        variables = [variable.as_record() for variable in self.variables]
        return {"variables": variables, "has_names": self.has_names}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Encoder:
        """Return the encoder that `as_record` described."""
        variables = tuple(Variable.from_record(each) for each in record["variables"])
        return cls(variables, bool(record["has_names"]))

    def transform(
        self,
        X: object,
        *,
        model: str = "the model",
        ignored: Collection[int] = (),
        allow_missing: bool = False,
    ) -> EncodedRows:
        """Encode new rows with the variables of the fitted table.

        Parameters
        ----------
        X : array, list of lists, data frame or sparse matrix
            A column for each variable, in the same order. Values that were stated to be missing
            are missing here too. Where a label never occurred in the fitted table (None), every
            value that is no other label gets its code.
        model : str
            Name of the fitted model, for the messages.
        ignored : collection of int
            Columns whose entries are ignored and treated as missing.
        allow_missing : bool
            Whether entries may be missing.

        Returns
        -------
        EncodedRows
            The rows, and the mask of missing entries.

        Raises
        ------
        InputError
            If columns or their values are not those of the fitted table.
        """
        opened = open_table(X, min_rows=1)
        self._check_columns(opened, model)
        shape = (opened.columns[0].size, len(self.variables))
        rows, missing = np.zeros(shape, np.uint8), np.zeros(shape, np.bool_)
        for k, values in enumerate(opened.columns):
            missing[:, k] = k in ignored or _rules_of(self.variables[k]).missing_in(values)
        known = [values[~missing[:, k]] for k, values in enumerate(opened.columns)]
        _refuse_codes(known, self.variables, opened.names)
        for k, variable in enumerate(self.variables):
            rows[~missing[:, k], k] = encode_values(known[k], variable, opened.names[k])
        if not allow_missing:
            some = np.flatnonzero(missing.any(axis=0))
            _refuse_missing([repr(opened.names[k]) for k in some if k not in ignored])
        return EncodedRows(rows, missing)

    def _check_columns(self, opened: OpenedTable, model: str) -> None:
        if len(opened.columns) != len(self.variables):
            raise InputError(
                "other-number-of-columns",
                "{X} has {found} features, but {model} is expecting {expected} features as input. "
                "Pass the columns of the table that was fitted, in their order.",
                X=Parameter("X"),
                found=len(opened.columns),
                model=model,
                expected=len(self.variables),
            )
        if self.has_names and opened.has_names:
            _check_names(opened.names, [variable.name for variable in self.variables])
        elif opened.has_names:
            warn_user(
                InputWarning(
                    "names-not-fitted",
                    "{X} has feature names, but {model} was fitted without feature names; columns "
                    "were matched by position. Pass the same kind of table to both.",
                    X=Parameter("X"),
                    model=model,
                ),
            )
        elif self.has_names:
            warn_user(
                InputWarning(
                    "names-absent",
                    "{X} does not have valid feature names, but {model} was fitted with feature "
                    "names; columns were matched by position. Pass the same kind of table to both.",
                    X=Parameter("X"),
                    model=model,
                ),
            )


def encode_values(
    values: NDArray[Any], variable: Variable, column: str | None = None
) -> NDArray[np.uint8]:
    """Return the codes of values that are not missing.

    Parameters
    ----------
    values : array
        Values of one column.
    variable : Variable
        The variable of this column.
    column : str, optional
        Name of the column, for the messages, if it is not that of the variable.

    Returns
    -------
    array of uint8

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding import Variable
    >>> from slabfield.encoding.encoder import encode_values
    >>> encode_values(np.array(["yes", "no"]), Variable.binary("sleep", ("no", "yes")))
    array([1, 0], dtype=uint8)
    """
    name = variable.name if column is None else column
    if variable.threshold is not None:
        numbers = _as_numbers(name, values, variable.threshold)
        return (numbers >= variable.threshold).astype(np.uint8)
    values = typed_values(values)[0]
    labels = [label for label in variable.labels if label is not None]
    if values.dtype.kind == "O" and all(is_number(x) for x in labels):
        in_text = numbers_in_text(values)
        values = values if in_text is None else in_text
    found = _look_up(values, variable.labels)
    unseen = found == UNSEEN
    if None in variable.labels:
        found[unseen] = variable.labels.index(None)
    elif unseen.any():
        raise InputError(
            "unknown-label",
            "Column {column!r} must hold {labels}, as in the table that was fitted; it also holds "
            "{found}. Code it the same way, or fit with {binarize}, which cuts numbers in two.",
            column=name,
            labels=listed([shown_value(x) for x in variable.labels], shown=variable.n_levels),
            found=shown_value(values[unseen][0]),
            binarize=Parameter("binarize"),
        )
    return found


def _look_up(values: NDArray[Any], labels: Sequence[object]) -> NDArray[np.uint8]:
    """Return the code of each value, or ``UNSEEN``."""
    key = label_key(labels)
    codes = {key(label): code for code, label in enumerate(labels) if label is not None}
    if values.dtype.kind in "biuf" and all(isinstance(x, (bool, int, float)) for x in codes):
        found = np.full(values.size, UNSEEN, np.uint8)
        for label, code in codes.items():
            found[values == label] = code
        return found

    def code_of(value: Any) -> int:
        try:
            return codes.get(key(value), UNSEEN)
        except TypeError:  # not hashable, so no label
            return UNSEEN

    return map_distinct(values, code_of, np.uint8)


def _rules_of(variable: Variable) -> ColumnRules:
    return ColumnRules(variable.na_values, variable.levels)


def _refuse_codes(
    known: Sequence[NDArray[Any]], variables: Sequence[Variable], names: Sequence[str]
) -> None:
    """Refuse new values that are likely codes for missing answers, or outside the levels."""
    codes: dict[str, list[Any]] = {}
    outside: dict[str, list[Any]] = {}
    for values, variable, name in zip(known, variables, names, strict=True):
        rules = _rules_of(variable)
        if rules.settled and variable.levels is None:
            continue
        column = read_column(name, values, np.zeros(values.size, np.bool_), rules)
        if column.kind == "object":
            continue
        labels = [label for label in variable.labels if label is not None]
        if variable.levels is not None:
            found, into = list(column.outside), outside
        elif variable.answers is None:
            likely = likely_codes([*labels, *(x for x in column.distinct if x not in labels)])
            found, into = [code for code in likely if code not in labels], codes
        else:
            numbers = column.distinct if column.kind == "number" else []
            found, into = isolated_codes(numbers, variable.answers), codes
        if found:
            into[name] = found
    if codes:
        raise InputError(
            "likely-missing-codes-in-new-rows",
            "New rows must hold answers like those of the table that was fitted; found likely "
            "codes for missing answers: {found}. Leave such entries empty (NaN), or fit with "
            "{na_values}, or with {levels} if they are answers.",
            found=_found_in(codes),
            na_values=Parameter("na_values", codes),
            levels=Parameter("levels"),
        )
    if outside:
        raise InputError(
            "new-values-outside-levels",
            "New rows must hold only the values that {levels} listed in the fit; found {found}. "
            "Correct them, or fit with {levels} that list them.",
            levels=Parameter("levels"),
            found=_found_in(outside),
        )


def _found_in(values: Mapping[str, Sequence[Any]]) -> str:
    return listed(
        [f"{listed([shown_value(x) for x in some])} in {name!r}" for name, some in values.items()]
    )


def _as_numbers(name: str, values: NDArray[Any], threshold: float) -> NDArray[np.float64]:
    if values.dtype.kind == "O":
        in_text = numbers_in_text(values)
        values = values if in_text is None else in_text
    try:
        numbers = values.astype(np.float64)
        valid = values.dtype.kind in "biufO" and bool(np.all(np.isfinite(numbers)))
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise InputError(
            "not-finite-numbers",
            "Column {column!r} was cut at {threshold:g} and must hold finite numbers; it holds "
            "{found}{others}. Pass numbers, without inf (infinity).",
            column=name,
            threshold=threshold,
            found=shown_value(values[0]),
            others=" and others" if values.size > 1 else "",
        )
    return numbers


def _refuse_missing(columns: Sequence[str]) -> None:
    if columns:
        raise InputError(
            "missing-values-here",
            "{X} must have no missing values (NaN or None) here; found some in {which} {columns}. "
            "Drop the rows that have them; only predict and predict_proba accept them, as the "
            "entries to predict.",
            X=Parameter("X"),
            which="column" if len(columns) == 1 else "columns",
            columns=listed(columns),
        )


def _check_names(found: Sequence[str], names: Sequence[str]) -> None:
    """Refuse columns with other names, or in another order, with the wording of scikit-learn."""
    if list(found) == list(names):
        return
    new = [repr(name) for name in found if name not in names]
    absent = [repr(name) for name in names if name not in found]
    differences = [
        f"{what} {listed(some)}"
        for what, some in (("names unseen at fit time:", new), ("names now missing:", absent))
        if some
    ]
    raise InputError(
        "other-column-names",
        "The feature names should match those that were passed during fit; found {differences}. "
        "Pass the columns {names}, in this order.",
        differences="; ".join(differences) if differences else "the same names in another order",
        names=listed([repr(name) for name in names]),
    )
