"""Error messages about columns that cannot be coded, grouped by fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slabfield.encoding.column_faults import MAX_LEVELS, Fault
from slabfield.encoding.column_levels import kind_of
from slabfield.encoding.columns import Column, shown_values
from slabfield.encoding.labels import tidy, value_key
from slabfield.encoding.level_messages import (
    describe_few,
    describe_order,
    describe_references,
    describe_scores,
)
from slabfield.validation.errors import (
    LONGEST_ITEM,
    MOST_NAMED,
    SHOWN,
    Message,
    Parameter,
    listed,
    shown_value,
)

MISSING = Parameter("na", in_python="NaN or None", in_options="empty cells")


def describe_faults(
    faults: Mapping[Fault, Sequence[Column]],
    columns: Sequence[Column],
    n_rows: int,
    has_names: bool,
) -> Message:
    """Return the message about invalid columns: what is wrong, what was found and what to do.

    Its fields are the messages about each fault.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.columns import read_column
    >>> from slabfield.encoding.column_messages import describe_faults
    >>> column = read_column("dose", np.array([0.5, 1, 2]))
    >>> print(describe_faults({"values": [column]}, [column], n_rows=3, has_names=True))
    Every column must hold two values, or 3 to 12 whole numbers or words; column 'dose' holds \
decimals: 0.5, 1 and 2.
    Binarize with binarize=1 (1 where the value is at least 1); or list its values in their order, \
for example levels={'dose': [0.5, 1, 2]}; or drop the column.
    """
    writers: dict[Fault, Callable[[Sequence[Column]], Message]] = {
        "codes": lambda bad: _codes(bad, columns),
        "levels": _outside_levels,
        "missing": _missing,
        "infinite": _infinite,
        "object": lambda bad: _objects(bad, has_names),
        "identifier": lambda bad: _identifiers(bad, n_rows, has_names),
        "text": lambda bad: _text(bad, has_names),
        "values": lambda bad: _values(bad, columns),
        "order": describe_order,
        "few": describe_few,
        "reference": describe_references,
        "scores": describe_scores,
    }
    messages: dict[str, Message] = {
        kind: write(faults[kind]) for kind, write in writers.items() if kind in faults
    }
    return Message("faults-of-columns", "\n".join(f"{{{kind}}}" for kind in messages), messages)


def _others(number: int) -> str:
    return "1 other column" if number == 1 else f"{number} other columns"


def _codes(bad: Sequence[Column], columns: Sequence[Column]) -> Message:
    found = "; ".join(
        f"{_counted(column.suspected)} beside {_shown_answers(column)} in column {_name(column)}"
        for column in bad[:SHOWN]
    )
    if len(bad) > SHOWN:
        found += f"; some in {_others(len(bad) - SHOWN)} as well"
    return Message(
        "likely-missing-codes",
        "Likely codes for missing answers must be stated to be missing or to be answers; found "
        "{found}.\nIf they are missing, pass {na_values} together with {drop} or {impute}. "
        "If not, {answers}.",
        {
            "found": found,
            "na_values": Parameter("na_values", _advised_codes(bad, columns)),
            "drop": Parameter("na", "drop"),
            "impute": Parameter("na", "impute"),
            "answers": _advised_answers(bad[0]),
        },
    )


def _advised_answers(column: Column) -> Message:
    """Return the advice for a column whose likely codes are answers."""
    if len(column.distinct) > MAX_LEVELS:
        return Message(
            "state-no-codes",
            "state that the column has no such codes, for example {none}",
            {"none": Parameter("na_values", {column.name: []})},
        )
    return Message(
        "list-levels",
        "list all answers of the column, for example {levels}",
        {"levels": Parameter("levels", {column.name: [tidy(x) for x in column.distinct]})},
    )


def _shown_answers(column: Column) -> str:
    """Format the answers of a column: its values, or the range of many numbers."""
    answers = column.answers
    if column.kind == "number" and len(answers) > SHOWN:
        return f"values from {shown_value(answers[0])} to {shown_value(answers[-1])}"
    return shown_values(column)


def _counted(values: Mapping[Any, int]) -> str:
    return listed(
        [
            f"{shown_value(x)} ({n} times)" if n > 1 else f"{shown_value(x)} (once)"
            for x, n in values.items()
        ]
    )


def _advised_codes(
    bad: Sequence[Column], columns: Sequence[Column]
) -> list[Any] | dict[str, list[Any]]:
    """Return the codes for all columns, or by column where a code is an answer in another one."""
    key = value_key()
    codes = {key(code): tidy(code) for column in bad for code in column.suspected}
    coded = [column for column in columns if column.kind not in ("bool", "object")]
    if any(key(x) in codes for column in coded for x in column.answers):
        return {column.name: [tidy(code) for code in column.suspected] for column in bad}
    return list(codes.values())


def _outside_levels(bad: Sequence[Column]) -> Message:
    found = "; ".join(f"column {_name(c)} also holds {_counted(c.outside)}" for c in bad[:SHOWN])
    if len(bad) > SHOWN:
        found += f"; others in {_others(len(bad) - SHOWN)} as well"
    first = bad[0]
    return Message(
        "values-outside-levels",
        "Columns must hold only the values that {levels} lists; {found}.\n"
        "Add them to {levels}, or pass {na_values} if they stand for missing answers.",
        {
            "levels": Parameter("levels"),
            "found": found,
            "na_values": Parameter(
                "na_values", {first.name: [tidy(x) for x in first.outside][:SHOWN]}
            ),
        },
    )


def _missing(bad: Sequence[Column]) -> Message:
    return Message(
        "missing-values",
        "{X} must have no missing values ({missing}); found {total}, in {which} {columns}.\n"
        "Pass {drop_rows} to drop the rows that have them, or {impute} to sample them along with "
        "the parameters; or {drop}.",
        {
            "X": Parameter("X"),
            "missing": MISSING,
            "total": sum(column.n_missing for column in bad),
            "which": _plural(bad, "column", "columns"),
            "columns": listed([f"{column.name!r} ({column.n_missing})" for column in bad]),
            "drop_rows": Parameter("na", "drop"),
            "impute": Parameter("na", "impute"),
            "drop": _drop(bad, "drop the columns"),
        },
    )


def _infinite(bad: Sequence[Column]) -> Message:
    return Message(
        "infinite-values",
        "{X} must hold finite values; found infinity (inf) in {columns}.\n"
        "Find out where it comes from, or drop the rows or columns that hold it.",
        {"X": Parameter("X"), "columns": _named(bad)},
    )


def _objects(bad: Sequence[Column], has_names: bool) -> Message:
    return Message(
        "objects-in-columns",
        "{X} must hold numbers, words, True and False; {columns} {hold} objects such as {example}."
        "\n{advice}",
        {
            "X": Parameter("X"),
            "columns": _named(bad),
            "hold": _plural(bad, "holds", "hold"),
            "example": shown_value(bad[0].distinct[0]),
            "advice": _drop_advice(bad, has_names),
        },
    )


def _identifiers(bad: Sequence[Column], n_rows: int, has_names: bool) -> Message:
    return Message(
        "likely-identifiers",
        "Every column must hold {expected}; {columns} {have} as many different values as there are "
        "rows ({n_rows}): {identifiers}.\n{advice}",
        {
            "expected": _expected(bad),
            "columns": _named(bad),
            "have": _plural(bad, "has", "have"),
            "n_rows": n_rows,
            "identifiers": _plural(bad, "a likely identifier", "likely identifiers"),
            "advice": _drop_advice(bad, has_names),
        },
    )


def _text(bad: Sequence[Column], has_names: bool) -> Message:
    return Message(
        "free-text",
        "Every column must hold {expected}; {columns} {look} like free text: {n_entries} different "
        "entries{where}, such as {examples}.\n{advice}",
        {
            "expected": _expected(bad),
            "columns": _named(bad),
            "look": _plural(bad, "looks", "look"),
            "n_entries": len(bad[0].answers),
            "where": _plural(bad, "", f" in {_name(bad[0])}"),
            "examples": listed([shown_value(value) for value in bad[0].answers[:2]]),
            "advice": _drop_advice(bad, has_names),
        },
    )


def _expected(bad: Sequence[Column]) -> str:
    """Return what columns must hold that seem to hold none of it."""
    return "two values" if _all_binary(bad) else f"2 to {MAX_LEVELS} values that repeat"


def _all_binary(bad: Sequence[Column]) -> bool:
    """Whether columns must have two values, by their stated kind."""
    return all(kind_of(column) == "binary" for column in bad)


def _values(bad: Sequence[Column], columns: Sequence[Column]) -> Message:
    advice = _advice_on_values(bad, columns)
    if _all_binary(bad):
        found = [f"column {_name(c)} holds {shown_values(c)}" for c in bad[:SHOWN]]
        if len(bad) > SHOWN:
            found.append(f"more than two in {_others(len(bad) - SHOWN)} as well")
        return Message(
            "more-than-two-values",
            "Every column must hold two values; {found}.\n{advice}",
            {"found": "; ".join(found), "advice": advice},
        )
    found = [f"column {_name(c)} holds {_found_values(c)}" for c in bad[:SHOWN]]
    if len(bad) > SHOWN:
        found.append(f"others in {_others(len(bad) - SHOWN)} as well")
    return Message(
        "values-that-are-no-levels",
        "Every column must hold two values, or 3 to {most} whole numbers or words; {found}.\n"
        "{advice}",
        {"most": MAX_LEVELS, "found": "; ".join(found), "advice": advice},
    )


def _found_values(column: Column) -> str:
    """Describe values that are no levels: too many, decimals, far apart, dates and so on."""
    answers = column.answers
    if kind_of(column) == "binary":
        return f"more than two values: {shown_values(column)}"
    if len(answers) > MAX_LEVELS:
        return f"{len(answers)} values: {shown_values(column)}"
    if column.kind != "number":
        return f"values that are neither numbers nor words: {shown_values(column)}"
    if all(float(value).is_integer() for value in answers):
        return f"whole numbers that are far apart: {shown_values(column)}"
    return f"decimals: {shown_values(column)}"


def _advice_on_values(bad: Sequence[Column], columns: Sequence[Column]) -> Message:
    drop = _drop(bad, f"drop {_plural(bad, 'the column', 'these columns')}")
    numeric = [column for column in bad if column.kind == "number"]
    few = [c for c in numeric if kind_of(c) != "binary" and len(c.answers) <= MAX_LEVELS]
    if not numeric:
        return Message(
            "divide-columns",
            "Make a column of yes and no for each value you need, or {drop}.",
            {"drop": drop},
        )
    n_numeric = sum(column.kind == "number" for column in columns)
    levels = Message("no-advice-on-levels", ",")
    if few:
        levels = Message(
            "list-values",
            "; or list {its} values in their order, for example {levels};",
            {
                "its": _plural(few, "its", "their"),
                "levels": Parameter(
                    "levels", {few[0].name: [tidy(value) for value in few[0].answers]}
                ),
            },
        )
    return Message(
        "binarize-columns",
        "Binarize with {binarize} (1 where the value is at least {threshold:g}){levels} or {drop}.",
        {
            "binarize": _thresholds(numeric, for_all=len(numeric) == n_numeric),
            "threshold": _middle_value(numeric[0]),
            "levels": levels,
            "drop": drop,
        },
    )


def _thresholds(numeric: Sequence[Column], for_all: bool) -> Parameter:
    """Return a value for ``binarize`` that makes two values of each of these columns."""
    if for_all:
        return Parameter("binarize", _middle_value(numeric[0]))
    thresholds = {column.name: _middle_value(column) for column in numeric}
    shown = [f"{_name(column)}: {_middle_value(column):g}" for column in numeric]
    return Parameter("binarize", thresholds, in_python=f"binarize={{{_first(shown)}}}")


def _drop_advice(bad: Sequence[Column], has_names: bool) -> Message:
    them = _plural(bad, "it", "them")
    if not has_names:
        return Message("drop-columns", "Drop {them}.", {"them": them})
    names = _first([_name(column) for column in bad])
    return Message(
        "drop-named-columns",
        "Drop {them}, for example {drop}.",
        {"them": them, "drop": _drop(bad, f"df.drop(columns=[{names}])")},
    )


def _drop(bad: Sequence[Column], in_python: str) -> Parameter:
    """Return the advice to drop columns, for which only the command line has a parameter."""
    return Parameter("drop", [column.name for column in bad], in_python=in_python)


def _first(items: Sequence[str]) -> str:
    """Join items with commas; of very many, the first few."""
    return ", ".join(items if len(items) <= MOST_NAMED else [*items[:SHOWN], "..."])


def _name(column: Column) -> str:
    return shown_value(column.name, LONGEST_ITEM)


def _middle_value(column: Column) -> float:
    return float(column.answers[len(column.answers) // 2])


def _named(bad: Sequence[Column]) -> str:
    return f"{_plural(bad, 'column', 'columns')} {listed([repr(column.name) for column in bad])}"


def _plural(bad: Sequence[Column], one: str, many: str) -> str:
    return one if len(bad) == 1 else many
