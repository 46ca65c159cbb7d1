"""Options for prior probabilities of edges, and for communities of columns."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from slabfield.cli.edge_lists import (
    Pair,
    invalid_line,
    pair_of,
    possible_pairs,
    read_lines,
    resolve_name,
    unique_pair,
)
from slabfield.validation import InputError

INCLUSION, COMMUNITIES = "--inclusion", "--communities"


def read_inclusion(
    texts: Sequence[str], names: Sequence[str]
) -> tuple[int, int] | float | dict[Pair, float]:
    """Read prior probabilities: ``P`` of all edges, ``A:B=P`` of one, or ``@FILE`` of several.

    Returns
    -------
    pair, float or dict
        The estimator's ``inclusion_prior``; its default if the option is not given.
    """
    if not texts:
        return (5, 5)
    if len(texts) == 1 and _number(texts[0]) is not None:
        return float(texts[0])
    found: dict[Pair, float] = {}
    for text in texts:
        before, _, after = text.rpartition("=")
        probability, pairs = _number(after), possible_pairs(before, names)
        if text.startswith("@") and not pairs:
            found |= _probabilities(Path(text[1:]), names)
        elif not before or probability is None:
            raise InputError(
                "invalid-inclusion",
                "{option} must be a probability for all edges, A:B=P for one, or @FILE; got "
                "{value!r}. Pass for example {option} {first}:{last}=0.1.",
                option=INCLUSION,
                value=text,
                first=names[0],
                last=names[-1],
            )
        else:
            found[unique_pair(before, pairs, names, INCLUSION)] = probability
    return found


def read_communities(text: str | None, names: Sequence[str]) -> dict[str, str] | None:
    """Read the community of every column from a CSV file with a column and its community per line.

    Parameters
    ----------
    text : str, optional
        The file; an @ before its name, as in other options, is optional.
    names : sequence of str
        The column names; other names in the file, and a header, are ignored.

    Returns
    -------
    dict, optional
        Mapping from columns to communities.
    """
    if text is None:
        return None
    path = Path(text.removeprefix("@"))
    lines = read_lines(path, f"{COMMUNITIES} FILE", "columns and their communities")
    found: dict[str, str] = {}
    for number, fields in enumerate(lines, start=1):
        if len(fields) != 2:
            raise invalid_line(path, number, fields, "a column and its community", names)
        name, label = resolve_name(fields[0], names), fields[1].strip()
        if found.get(name, label) != label:
            raise InputError(
                "column-in-two-communities",
                "{path} must name one community for each column; line {line} puts {name!r} in "
                "{label!r}, and an earlier one in {earlier!r}. Delete one of them.",
                path=path,
                line=number,
                name=name,
                label=label,
                earlier=found[name],
            )
        found[name] = label
    for name in names:
        close = get_close_matches(name, [other for other in found if other not in names], n=1)
        if name not in found and close:
            raise InputError(
                "column-without-community",
                "{path} must name a community for each column; {name!r} has none. Is {close!r} a "
                "misspelling of it?",
                path=path,
                name=name,
                close=close[0],
            )
    return {name: label for name, label in found.items() if name in names}


def _probabilities(path: Path, names: Sequence[str]) -> dict[Pair, float]:
    """Read a pair and its probability from each line of a file; the first may be a header."""
    found = {}
    lines = read_lines(path, f"{INCLUSION} @FILE", "pairs and their probabilities")
    for number, fields in enumerate(lines, start=1):
        if number == 1 and len(fields) == 3 and not set(names) & set(fields[:2]):
            continue
        probability = _number(fields[2]) if len(fields) == 3 else None
        if probability is None:
            raise invalid_line(path, number, fields, "two columns and a probability", names)
        found[pair_of(path, number, fields, names)] = probability
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
