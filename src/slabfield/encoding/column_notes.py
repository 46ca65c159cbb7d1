"""Notes on how columns are encoded, and warnings of columns that may not mean what they seem to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding.column_faults import looks_like_identifier
from slabfield.encoding.columns import Column
from slabfield.encoding.level_notes import level_rule
from slabfield.encoding.variables import Variable
from slabfield.validation.errors import InputWarning, Parameter, listed, shown_value, warn_user


def notes_of(variables: Sequence[Variable]) -> list[str]:
    """Write one note for all two-valued columns with the same encoding; none for plain 0 and 1.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.encoding.column_notes import notes_of
    >>> notes_of([Variable.binary("sleep", ("no", "yes")), Variable.binary("work", (0, 1))])
    ["Column 'sleep': 1 = 'yes', 0 = 'no'."]
    """
    binary = [variable for variable in variables if variable.kind == "binary"]
    return [
        f"Column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names])}: {rule}."
        for rule, names in coding_rules(binary).items()
    ]


def coding_rules(variables: Sequence[Variable]) -> dict[str, list[str]]:
    """Return each rule of encoding, and the names of its variables; plain 0 and 1 has no rule.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.encoding.column_notes import coding_rules
    >>> coding_rules([Variable.binary("sleep", ("no", "yes")), Variable.binary("work", (0, 1))])
    {"1 = 'yes', 0 = 'no'": ['sleep']}
    """
    rules: dict[str, list[str]] = {}
    for variable in variables:
        if variable.kind != "binary" or not _holds_its_codes(variable):
            rules.setdefault(_rule(variable), []).append(variable.name)
    return rules


def notes_of_spelling(columns: Sequence[Column]) -> list[str]:
    """Write one note for all columns with the same spellings of a label.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.column_notes import notes_of_spelling
    >>> notes_of_spelling([read_column("sleep", np.array(["yes", "Yes", "no"]))])
    ["Column 'sleep': 'Yes' and 'yes' are one label, 'Yes'."]
    """
    same: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for column in columns:
        for spelling in column.spellings.items():
            same.setdefault(spelling, []).append(repr(column.name))
    return [
        f"Column{'s' if len(group) > 1 else ''} {listed(group)}: "
        f"{listed([shown_value(text) for text in spellings])} are one label, {shown_value(label)}."
        for (label, spellings), group in same.items()
    ]


def note_of_codes(counts: Mapping[str, int]) -> list[str]:
    """Write a note on the entries that were stated to be missing, with their number by column.

    Examples
    --------
    >>> from slabfield.encoding.column_notes import note_of_codes
    >>> note_of_codes({"sleep": 3, "work": 1})
    ["4 entries were read as missing, as stated: in columns 'sleep' (3) and 'work' (1)."]
    """
    found = [f"{name!r} ({n})" for name, n in counts.items() if n]
    if not found:
        return []
    total = sum(counts.values())
    return [
        f"{total} {'entry was' if total == 1 else 'entries were'} read as missing, as stated: in "
        f"column{'s' if len(found) > 1 else ''} {listed(found)}."
    ]


def note_of_dropped(n_dropped: int, n_rows: int) -> list[str]:
    """Write a note on the rows that were dropped for missing entries.

    Examples
    --------
    >>> from slabfield.encoding.column_notes import note_of_dropped
    >>> note_of_dropped(2, 10)
    ['2 of 10 rows were dropped for missing entries.']
    """
    if n_dropped == 0:
        return []
    return [f"{n_dropped} of {n_rows} rows were dropped for missing entries."]


def _holds_its_codes(variable: Variable) -> bool:
    """Whether the labels are the codes themselves, as numbers (True equals 1, but is not)."""
    codes = tuple(range(variable.n_levels))
    return variable.labels == codes and not any(isinstance(x, bool) for x in variable.labels)


def _rule(variable: Variable) -> str:
    """Describe the encoding: the levels, or both labels, that of code 1 first."""
    if variable.kind != "binary":
        return level_rule(variable)
    if variable.threshold is not None:
        return f"1 = at least {variable.threshold:g}, 0 = less than {variable.threshold:g}"
    coded = [f"{k} = {shown_value(x)}" for k, x in enumerate(variable.labels) if x is not None]
    return ", ".join(reversed(coded))


def warn_of_constants(
    rows: NDArray[np.uint8], missing: NDArray[np.bool_], names: Sequence[str]
) -> None:
    """Warn of columns that hold one value only.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_notes import warn_of_constants
    >>> warn_of_constants(np.eye(2, dtype=np.uint8), np.zeros((2, 2), np.bool_), ["a", "b"])
    """
    known = np.where(missing, np.uint8(255), rows) if missing.any() else rows
    # missing entries are 0 in rows, which does not raise the highest code
    same = known.min(axis=0) >= rows.max(axis=0)
    constant = [repr(name) for name, is_constant in zip(names, same, strict=True) if is_constant]
    if constant:
        one = len(constant) == 1
        warn_user(
            InputWarning(
                "constant-columns",
                "{Columns} {columns} {have} the same value in every row. Only the prior limits "
                "{their_biases}, and the data say next to nothing about {their} edges, whose "
                "inclusion probabilities stay near the prior's. Drop {them} unless you want this.",
                Columns="Column" if one else "Columns",
                columns=listed(constant),
                have="has" if one else "have",
                their_biases="its bias" if one else "their biases",
                their="its" if one else "their",
                them="it" if one else "them",
            ),
        )


def warn_of_identifiers(
    columns: Sequence[Column], thresholds: Sequence[float | None], n_rows: int
) -> None:
    """Warn of columns that were cut although they hold a different whole number in every row.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.column_notes import warn_of_identifiers
    >>> from slabfield.encoding.columns import read_column
    >>> warn_of_identifiers([read_column("age", np.array([21, 34, 34]))], [30.0], n_rows=3)
    """
    cut = [
        repr(column.name)
        for column, threshold in zip(columns, thresholds, strict=True)
        if threshold is not None and looks_like_identifier(column, n_rows)
    ]
    if cut:
        warn_user(
            InputWarning(
                "identifier-binarized",
                "{binarize} was applied to {columns}, with a different whole number in every row: "
                "a likely identifier. Drop it if it is one.",
                binarize=Parameter("binarize"),
                columns=listed(cut),
            ),
        )
