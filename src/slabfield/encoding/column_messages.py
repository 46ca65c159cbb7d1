"""Error messages about columns that cannot be coded, grouped by fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from slabfield.encoding.columns import Column, Fault, shown_values
from slabfield.validation.errors import LONGEST_ITEM, SHOWN, listed, shown_value

# Numbers that often stand for a missing answer
MISSING_CODES = (-999, -99, -9, -8, -7, 99, 999)
TWO_VALUES = "Every column must hold two values"


def describe_faults(
    faults: Mapping[Fault, Sequence[Column]],
    columns: Sequence[Column],
    n_rows: int,
    has_names: bool,
) -> str:
    """Return the message about invalid columns: what is wrong, what was found and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.column_messages import describe_faults
    >>> column = read_column("sleep", np.array([0, 1, 2, 3]))
    >>> print(describe_faults({"values": [column]}, [column], n_rows=4, has_names=True))
    Every column must hold two values; column 'sleep' holds 0, 1, 2 and 3.
    Binarize with binarize=2 (1 where the value is at least 2), or drop the column.
    """
    writers: dict[Fault, Callable[[Sequence[Column]], str]] = {
        "missing": _missing,
        "infinite": _infinite,
        "object": lambda bad: f"{_objects(bad)}\n{_drop(bad, has_names)}",
        "identifier": lambda bad: f"{_identifiers(bad, n_rows)}\n{_drop(bad, has_names)}",
        "text": lambda bad: f"{_text(bad)}\n{_drop(bad, has_names)}",
        "values": lambda bad: _values(bad, columns),
    }
    return "\n".join(write(faults[kind]) for kind, write in writers.items() if kind in faults)


def _missing(bad: Sequence[Column]) -> str:
    total = sum(column.n_missing for column in bad)
    where = listed([f"{column.name!r} ({column.n_missing})" for column in bad])
    return (
        f"X must have no missing values (NaN or None); found {total}, in "
        f"{_plural(bad, 'column', 'columns')} {where}.\n"
        "Pass na='drop' to drop the rows that have them, or na='impute' to sample them along "
        "with the parameters; or drop the columns."
    )


def _infinite(bad: Sequence[Column]) -> str:
    return (
        f"X must hold finite values; found infinity (inf) in {_named(bad)}.\n"
        "Find out where it comes from, or drop the rows or columns that hold it."
    )


def _objects(bad: Sequence[Column]) -> str:
    return (
        f"X must hold numbers, words, True and False; {_named(bad)} "
        f"{_plural(bad, 'holds', 'hold')} objects such as {shown_value(bad[0].distinct[0])}."
    )


def _identifiers(bad: Sequence[Column], n_rows: int) -> str:
    return (
        f"{TWO_VALUES}; {_named(bad)} {_plural(bad, 'has', 'have')} as many different values as "
        f"there are rows ({n_rows}): {_plural(bad, 'a likely identifier', 'likely identifiers')}."
    )


def _text(bad: Sequence[Column]) -> str:
    examples = listed([shown_value(value) for value in bad[0].distinct[:2]])
    return (
        f"{TWO_VALUES}; {_named(bad)} {_plural(bad, 'looks', 'look')} like free text: "
        f"{len(bad[0].distinct)} different entries{_plural(bad, '', f' in {_name(bad[0])}')}, "
        f"such as {examples}."
    )


def _values(bad: Sequence[Column], columns: Sequence[Column]) -> str:
    found = "; ".join(f"column {_name(c)} holds {shown_values(c)}" for c in bad[:SHOWN])
    if len(bad) > SHOWN:
        found += f"; {len(bad) - SHOWN} other columns hold more than two as well"
    them = _plural(bad, "the column", "these columns")
    numeric = [column for column in bad if column.kind == "number"]
    if not numeric:
        advice = f"Make a column of yes and no for each value you need, or drop {them}."
        return f"{TWO_VALUES}; {found}.\n{advice}"
    codes = [value for value in numeric[0].distinct if value in MISSING_CODES]
    if len(codes) == 1 and len(numeric[0].distinct) == 3:
        return (
            f"{TWO_VALUES}; {found}.\nIf {codes[0]:g} stands for a missing answer, leave such "
            f"cells empty (NaN); missing entries can be imputed, or their rows dropped (na)."
        )
    threshold = _middle_value(numeric[0])
    if len(numeric) == sum(column.kind == "number" for column in columns):
        how = f"binarize={threshold:g}"
    else:
        named = ", ".join(
            f"{_name(column)}: {_middle_value(column):g}" for column in numeric[:SHOWN]
        )
        how = f"binarize={{{named}{', ...' if len(numeric) > SHOWN else ''}}}"
    return (
        f"{TWO_VALUES}; {found}.\n"
        f"Binarize with {how} (1 where the value is at least {threshold:g}), or drop {them}."
    )


def _name(column: Column) -> str:
    return shown_value(column.name, LONGEST_ITEM)


def _middle_value(column: Column) -> float:
    return float(column.distinct[len(column.distinct) // 2])


def _named(bad: Sequence[Column]) -> str:
    return f"{_plural(bad, 'column', 'columns')} {listed([repr(column.name) for column in bad])}"


def _drop(bad: Sequence[Column], has_names: bool) -> str:
    if not has_names:
        return f"Drop {_plural(bad, 'it', 'them')}."
    names = ", ".join(_name(column) for column in bad[:SHOWN])
    more = ", ..." if len(bad) > SHOWN else ""
    return f"Drop {_plural(bad, 'it', 'them')}, for example df.drop(columns=[{names}{more}])."


def _plural(bad: Sequence[Column], one: str, many: str) -> str:
    return one if len(bad) == 1 else many
