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
    return encoding.code_table(
        X,
        estimator.binarize,
        estimator.na,
        na_values=estimator.na_values,
        levels=estimator.levels,
        kinds=None if estimator.takes_levels else "binary",
    )
