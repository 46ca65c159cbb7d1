"""Options for the kinds of columns, and for their levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slabfield.cli.edge_lists import read_lines
from slabfield.cli.option_values import number_or_text, parse_values, split_list
from slabfield.validation import InputError

ORDINAL, NOMINAL, BLUME_CAPEL, LEVELS = "--ordinal", "--nominal", "--blume-capel", "--levels"


def parse_kinds(
    ordinal: Sequence[str] | None = None,
    nominal: Sequence[str] | None = None,
    blume_capel: Sequence[str] | None = None,
) -> dict[str, Any] | None:
    """Read the kinds of columns: names separated by commas, or ``@FILE``, for each kind.

    A Blume-Capel column may have the label of its reference level after a colon. A name that
    contains a colon needs one after it, with or without a label.

    Examples
    --------
    >>> from slabfield.cli.kind_options import parse_kinds
    >>> parse_kinds(["a,b"], ["place"], ["mood:3", "joy"]) == {
    ...     "a": "ordinal", "b": "ordinal", "place": "nominal", "mood": ("blume-capel", 3),
    ...     "joy": "blume-capel",
    ... }
    True
    """
    found: dict[str, Any] = {}
    given: dict[str, str] = {}
    for option, texts in ((ORDINAL, ordinal), (NOMINAL, nominal), (BLUME_CAPEL, blume_capel)):
        for name in _names(texts or (), option):
            kind: Any = option.removeprefix("--")
            if option == BLUME_CAPEL:
                name, kind = _with_reference(name)
            if given.get(name, option) != option:
                raise InputError(
                    "column-of-two-kinds",
                    "A column must have one kind; found {column!r} in {first} and in {second}. "
                    "Leave it out of one of them.",
                    column=name,
                    first=given[name],
                    second=option,
                )
            found[name], given[name] = kind, option
    return found or None


def parse_levels(texts: Sequence[str] | None) -> dict[str, list[float | str]] | None:
    """Read all answers of columns, in their order: ``NAME=V<V<...``, ``NAME=V,V,...``, ``@FILE``.

    Examples
    --------
    >>> from slabfield.cli.kind_options import parse_levels
    >>> parse_levels(["mood=never<sometimes<often", "sleep=1,2"])
    {'mood': ['never', 'sometimes', 'often'], 'sleep': [1, 2]}
    """
    found: dict[str, list[float | str]] = {}
    for text in texts or ():
        name, _, values = (part.strip() for part in text.rpartition("="))
        if text.startswith("@") and not name:
            found |= _levels_in_file(Path(text[1:]))
        elif not name or not values:
            raise InputError(
                "invalid-levels-option",
                "--levels must be a column, an equals sign and all values of the column, or @FILE; "
                "got {value!r}. Pass for example --levels 'sleep=never<sometimes<often'.",
                value=text,
            )
        else:
            found[name] = _ordered_values(values)
    return found or None


def _ordered_values(text: str) -> list[float | str]:
    """Return values that are separated by < or by commas."""
    parts = split_list(text, separator="<")
    if len(parts) > 1 and all(parts):
        return [number_or_text(part) for part in parts]
    return parse_values(text)


def _levels_in_file(path: Path) -> dict[str, list[float | str]]:
    lines = read_lines(path, f"{LEVELS} @FILE", "columns and their levels")
    found: dict[str, list[float | str]] = {}
    for number, fields in enumerate(lines, start=1):
        name, *values = (field.strip() for field in fields)
        if not name or len(values) < 2:
            raise InputError(
                "invalid-levels-line",
                "Every line of {path} must hold a column and its levels in their order, separated "
                "by commas; line {line} holds {found!r}. Write for example "
                "sleep,never,sometimes,often.",
                path=path,
                line=number,
                found=",".join(fields),
            )
        found[name] = [number_or_text(value) for value in values]
    return found


def _names(texts: Sequence[str], option: str) -> list[str]:
    """Return the names that an option lists; ``@FILE`` stands for all fields of a CSV file."""
    found: list[str] = []
    for text in texts:
        if text.startswith("@"):
            lines = read_lines(Path(text[1:]), f"{option} @FILE", "column names")
            names = [field.strip() for fields in lines for field in fields]
        else:
            names = split_list(text)
        if not all(names) or not names:
            raise InputError(
                "invalid-names-option",
                "{option} must be names of columns, separated by commas, or @FILE; got {value!r}. "
                "Pass for example {option} sleep,work.",
                option=option,
                value=text,
            )
        found += names
    return found


def _with_reference(text: str) -> tuple[str, Any]:
    """Return a column and its kind, with the reference level if there is one."""
    name, colon, label = (part.strip() for part in text.rpartition(":"))
    if not colon:
        return text, "blume-capel"
    return name, ("blume-capel", number_or_text(label)) if label else "blume-capel"
