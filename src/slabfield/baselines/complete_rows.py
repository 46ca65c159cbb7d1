"""Tables of complete rows, which all baselines need."""

from __future__ import annotations

from typing import Any

from slabfield import encoding, validation

NA = ("error", "drop")


def code_complete(estimator: Any, X: Any) -> encoding.CodedTable:
    """Code a table of two-valued columns with the parameters of a baseline.

    These are binarize, na, na_values and levels.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.baselines.complete_rows import code_complete
    >>> table = code_complete(ChowLiuTree(na="drop", na_values=9), [[0, 1], [9, 1], [1, 0]])
    >>> table.rows.tolist()
    [[0, 1], [1, 0]]
    """
    validation.check_choice("na", estimator.na, NA)
    table = encoding.code_table(
        X,
        estimator.binarize,
        estimator.na,
        na_values=estimator.na_values,
        levels=estimator.levels,
        kinds=None if estimator.takes_levels else "binary",
    )
    if not estimator.takes_levels:
        _refuse_levels(type(estimator).__name__, table)
    return table


def _refuse_levels(model: str, table: encoding.CodedTable) -> None:
    several = [variable for variable in table.variables if variable.n_levels > 2]
    if several:
        raise validation.InputError(
            "more-than-two-levels",
            "{model} takes columns of two values; found {n_levels} levels in column {column!r}. "
            "Code it with {binarize}, or use ChowLiuTree, Independent or L1Multinomial.",
            model=model,
            n_levels=several[0].n_levels,
            column=several[0].name,
            binarize=validation.Parameter("binarize"),
        )
