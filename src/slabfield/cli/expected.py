"""What a user expects of edges beforehand: their probabilities, and groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from slabfield.checks import InputError
from slabfield.cli.pairs import Pair, broken_line, known_as, pair_of, read_lines, splits, the_one

INCLUSION, GROUPS = "--inclusion", "--groups"


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
        The columns there are; others in the file, and a heading, are passed over.

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
    lines = read_lines(path, f"{GROUPS} FILE", "columns and their groups")
    found: dict[str, str] = {}
    for number, fields in enumerate(lines, start=1):
        if len(fields) != 2:
            raise broken_line(path, number, fields, "a column and its group", names)
        name, label = known_as(fields[0], names), fields[1].strip()
        if found.get(name, label) != label:
            raise InputError(
                f"{path} must name one group for each column; line {number} puts {name!r} in "
                f"{label!r}, and an earlier one in {found[name]!r}. Delete one of them."
            )
        found[name] = label
    for name in names:
        close = get_close_matches(name, [other for other in found if other not in names], n=1)
        if name not in found and close:
            raise InputError(
                f"{path} must name a group for each column; {name!r} has none. Did you mean it by "
                f"{close[0]!r}?"
            )
    return {name: label for name, label in found.items() if name in names}


def _probabilities(path: Path, names: Sequence[str]) -> dict[Pair, float]:
    """Read a pair and its probability from each line of a file; the first may be a heading."""
    found = {}
    lines = read_lines(path, f"{INCLUSION} @FILE", "pairs and their probabilities")
    for number, fields in enumerate(lines, start=1):
        if number == 1 and len(fields) == 3 and not set(names) & set(fields[:2]):
            continue
        probability = _number(fields[2]) if len(fields) == 3 else None
        if probability is None:
            raise broken_line(path, number, fields, "two columns and a probability", names)
        found[pair_of(path, number, fields, names)] = probability
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
