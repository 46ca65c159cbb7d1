"""Parsing of forbidden and required edges into pairs of columns.

A pair is written ``A:B``. Names may contain colons, so every colon is tried, and the pair is the
split whose two sides are columns.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from slabfield.posterior.exports import original_name
from slabfield.validation import InputError
from slabfield.validation.errors import closest_name, listed

Pair = tuple[str, str]

# First two fields of the optional header line
HEADER = ("node_1", "node_2")


def read_pairs(texts: Sequence[str], names: Sequence[str], option: str) -> list[Pair]:
    """Read pairs of columns, each ``A:B``, or ``@FILE`` for a CSV file of them."""
    found: list[Pair] = []
    for text in texts:
        pairs = possible_pairs(text, names)
        if not pairs and text.startswith("@"):
            found += _from_file(Path(text[1:]), names, option)
        else:
            found.append(unique_pair(text, pairs, names, option))
    for first, second in found:
        if first == second:
            raise InputError(
                "column-with-itself",
                "{option} must name two different columns; found {node!r} twice. A node has no "
                "edge to itself: name the other column.",
                option=option,
                node=first,
            )
    return found


def possible_pairs(text: str, names: Sequence[str]) -> list[Pair]:
    """Return all splits of a text at a colon whose two sides are columns."""
    known = set(names)
    colons = [k for k, letter in enumerate(text) if letter == ":"]
    parts = [(text[:k].strip(), text[k + 1 :].strip()) for k in colons]
    return [pair for pair in dict.fromkeys(parts) if known.issuperset(pair)]


def unique_pair(text: str, pairs: Sequence[Pair], names: Sequence[str], option: str) -> Pair:
    """Return the only pair that a text can stand for; refuse text with none or several."""
    if len(pairs) == 1:
        return pairs[0]
    if pairs:
        readings = listed([f"{first!r} and {second!r}" for first, second in pairs])
        raise InputError(
            "ambiguous-pair",
            "{option} must name two columns; {value!r} can be read as {readings}. Write the pair "
            "in a CSV file, and pass {option} @FILE.",
            option=option,
            value=text,
            readings=readings,
        )
    first, colon, second = text.partition(":")
    if not colon:
        raise InputError(
            "pair-without-colon",
            "{option} must be two columns separated by a colon, or @FILE; got {value!r}. Pass for "
            "example {option} {first}:{last}.",
            option=option,
            value=text,
            first=names[0],
            last=names[-1],
        )
    unknown = next((name for name in (first, second) if name.strip() not in names), text)
    closest = closest_name(unknown.strip(), names)
    advice = f"Did you mean {closest!r}?" if closest else "Name columns of the table."
    raise InputError(
        "unknown-columns-in-pair",
        "{option} must name two columns; {value!r} does not: {unknown!r} not found among {names}. "
        "{advice}",
        option=option,
        value=text,
        unknown=unknown.strip(),
        names=listed([repr(name) for name in names], shown=8),
        advice=advice,
    )


def _from_file(path: Path, names: Sequence[str], option: str) -> list[Pair]:
    """Read the first two fields of each line; a first line of node_1 and node_2 is a header."""
    lines = read_lines(path, f"{option} @FILE", "pairs")
    has_header = bool(lines) and tuple(field.strip() for field in lines[0][:2]) == HEADER
    width = len(lines[0]) if has_header else 2
    found = []
    for number, fields in enumerate(lines[has_header:], start=1 + has_header):
        if len(fields) != width:
            raise invalid_line(path, number, fields, "two columns", names)
        found.append(pair_of(path, number, fields, names))
    if not found:
        raise InputError(
            "no-pairs-in-file",
            "{option} @FILE must name a file of pairs; found none in {path}. Write two columns per "
            "line, separated by a comma.",
            option=option,
            path=path,
        )
    return found


def read_lines(path: Path, option: str, what: str) -> list[list[str]]:
    """Return the non-empty lines of a CSV file that an option names, split into fields."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return [fields for fields in csv.reader(file, skipinitialspace=True) if fields]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            "unreadable-option-file",
            "{option} must name a CSV file of {what}, in UTF-8; {path!r} cannot be read ({error}). "
            "Check its name and what it holds.",
            option=option,
            what=what,
            path=str(path),
            error=str(getattr(error, "strerror", None) or error),
        ) from None


def pair_of(path: Path, number: int, fields: Sequence[str], names: Sequence[str]) -> Pair:
    """Return the pair that the first two fields of a line name."""
    pair = tuple(resolve_name(field, names) for field in fields[:2])
    if len(pair) != 2 or not set(names).issuperset(pair):
        raise invalid_line(path, number, fields, "two columns", names)
    return pair[0], pair[1]


def invalid_line(
    path: Path, number: int, fields: Sequence[str], what: str, names: Sequence[str]
) -> InputError:
    """Return the error for a line without the required fields."""
    return InputError(
        "invalid-line",
        "Every line of {path} must hold {what}, separated by commas; line {line} holds {found}. "
        "The columns are {names}. Correct that line.",
        path=path,
        what=what,
        line=number,
        found=listed([repr(field) for field in fields]),
        names=listed([repr(name) for name in names], shown=8),
    )


def resolve_name(name: str, names: Sequence[str]) -> str:
    """Return a column name, without the quote that slabfield's tables put before formulas."""
    name = name.strip()
    return name if name in names else original_name(name)
