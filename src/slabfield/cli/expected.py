"""What a user expects of edges beforehand: their probabilities, and groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slabfield.checks import InputError
from slabfield.cli.pairs import Pair, broken_line, known_as, pair_of, read_lines, splits, the_one

INCLUSION, GROUPS = "--inclusion", "--groups"
PAIR_HEADING, GROUP_HEADING = ("node_1", "node_2", "probability"), ("node", "group")


def read_inclusion(
    texts: Sequence[str], names: Sequence[str]
) -> tuple[int, int] | float | dict[Pair, float]:
    """Read how likely edges are: ``P`` of all, ``A:B=P`` of one, or ``@FILE`` of those in a file.

    Parameters
    ----------
    texts : sequence of str
        What the option was given, each time.
    names : sequence of str
        The columns there are.

    Returns
    -------
    pair, float or dict
        What the estimator takes as ``inclusion_prior``: its default where nothing is said.

    Examples
    --------
    >>> from slabfield.cli.expected import read_inclusion
    >>> read_inclusion(["sleep:work=0.2"], ["sleep", "work"])
    {('sleep', 'work'): 0.2}
    >>> read_inclusion(["0.1"], ["sleep", "work"])
    0.1
    """
    if not texts:
        return (5, 5)
    if len(texts) == 1 and _number(texts[0]) is not None:
        return float(texts[0])
    found: dict[Pair, float] = {}
    for text in texts:
        before, _, after = text.rpartition("=")
        probability, pairs = _number(after), splits(before, names)
        if text.startswith("@") and not pairs:
            found |= _probabilities(Path(text[1:]), names)
        elif not before or probability is None:
            raise InputError(
                f"{INCLUSION} must be a probability for all edges, A:B=P for one, or @FILE; got "
                f"{text!r}. Pass for example {INCLUSION} {names[0]}:{names[-1]}=0.1."
            )
        else:
            found[the_one(before, pairs, names, INCLUSION)] = probability
    return found


def read_groups(text: str | None, names: Sequence[str]) -> dict[str, str] | None:
    """Read the group of every column from a CSV file, a column and its group a line.

    Parameters
    ----------
    text : str, optional
        The file; an @ before its name, as other options have it, may be left out.
    names : sequence of str
        The columns there are; others in the file are passed over.

    Returns
    -------
    dict, optional
        From columns to groups.

    Examples
    --------
    >>> from slabfield.cli.expected import read_groups
    >>> read_groups(None, ["sleep", "work"])
    """
    if text is None:
        return None
    path = Path(text.removeprefix("@"))
    lines = _without_heading(read_lines(path, GROUPS, "columns and their groups"), GROUP_HEADING)
    found: dict[str, str] = {}
    for number, fields in lines:
        if len(fields) != 2:
            raise broken_line(path, number, fields, "a column and its group", names)
        name, label = known_as(fields[0], names), fields[1].strip()
        if found.get(name, label) != label:
            raise InputError(
                f"{path} must name one group for each column; line {number} puts {name!r} in "
                f"{label!r}, and an earlier one in {found[name]!r}. Delete one of them."
            )
        found[name] = label
    return {name: label for name, label in found.items() if name in names}


def _probabilities(path: Path, names: Sequence[str]) -> dict[Pair, float]:
    """Read a pair and its probability from each line of a file."""
    found = {}
    for number, fields in _without_heading(
        read_lines(path, INCLUSION, "pairs and their probabilities"), PAIR_HEADING
    ):
        probability = _number(fields[2]) if len(fields) == 3 else None
        if probability is None:
            raise broken_line(path, number, fields, "two columns and a probability", names)
        found[pair_of(path, number, fields, names)] = probability
    return found


def _without_heading(
    lines: list[list[str]], heading: tuple[str, ...]
) -> list[tuple[int, list[str]]]:
    """Return lines with their numbers; the first is left out where it is a heading."""
    numbered = list(enumerate(lines, start=1))
    has_heading = bool(lines) and tuple(field.strip() for field in lines[0]) == heading
    return numbered[has_heading:]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
