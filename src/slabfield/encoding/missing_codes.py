"""Likely codes for missing answers, such as 99 in a column of answers from 1 to 5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from slabfield.encoding.labels import as_number, folded
from slabfield.io.missing_marks import MISSING_MARKS

CODES_ABOVE = frozenset(
    {7, 8, 9, 66, 77, 88, 97, 98, 99, 666, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999}
    | {77777, 88888, 99999}
)
"""Numbers that often stand for a missing answer where they are above all answers."""

CODES_BELOW = frozenset({-number for number in CODES_ABOVE} | set(range(-6, 0)))
"""Numbers that often stand for a missing answer where no answer is negative."""

SMALLEST_ALONE = 7
"""Codes closer to 0 than this are common values too; they need two other values to compare with."""

GAP_ALONE = 4.0
"""Largest gap between neighbors that is assumed of a single value: 5 and 9 are two answers."""

ONE_DIGIT = 10
"""Codes closer to 0 than this are codes only in columns of whole numbers."""


class AnswerRange(NamedTuple):
    """Range of the answers in a column of numbers, and the largest gap between two neighbors."""

    lowest: float
    highest: float
    largest_gap: float
    whole: bool

    @classmethod
    def of(cls, answers: Sequence[float]) -> AnswerRange:
        """Return the range of distinct numbers; a single one counts as having a gap of 4."""
        ordered = sorted(map(float, answers))
        gaps = [after - before for before, after in pairwise(ordered)]
        whole = all(float(value).is_integer() for value in ordered)
        return cls(ordered[0], ordered[-1], max(gaps, default=GAP_ALONE), whole)


def isolated_codes(numbers: Iterable[float], answers: AnswerRange | None = None) -> list[float]:
    """Return the numbers that are likely codes for missing answers.

    A number is one if it is among the usual codes, lies outside the range of the other values, and
    is farther from them than any two neighboring values are from each other, or by more than 4
    from a single one. Codes below the others
    must be negative, and none of the others may be.

    Parameters
    ----------
    numbers : iterable of numbers
        The distinct numbers of a column.
    answers : AnswerRange, optional
        Range of the answers, if known from a fitted table.

    Examples
    --------
    >>> from slabfield.encoding.missing_codes import isolated_codes
    >>> isolated_codes([1, 2, 3, 4, 5, 8, 9, 99]), isolated_codes([0, 1, -9])
    ([8, 9, 99], [-9])
    >>> isolated_codes([1, 2, 3, 4, 5, 6, 7]), isolated_codes([-1, 1])
    ([], [])
    >>> isolated_codes([5, 9]), isolated_codes([0, 9])
    ([], [9])
    """
    distinct = sorted(set(numbers))
    candidates = [x for x in distinct if x in CODES_ABOVE or x in CODES_BELOW]
    if not candidates:
        return []
    alone = False
    if answers is None:
        others = [x for x in distinct if x not in candidates]
        if not others:
            others = [min(candidates, key=lambda x: (abs(x), -x))]
        answers, alone = AnswerRange.of(others), len(others) == 1
    candidates = [
        x
        for x in candidates
        if (answers.whole or abs(x) >= ONE_DIGIT) and (not alone or abs(x) >= SMALLEST_ALONE)
    ]
    above = [x for x in candidates if x in CODES_ABOVE and x > answers.highest]
    below = [x for x in candidates if x in CODES_BELOW and x < answers.lowest]
    gap = answers.largest_gap
    found = _beyond(above, answers.highest, gap)
    if answers.lowest >= 0:
        found += [-x for x in _beyond([-x for x in reversed(below)], -answers.lowest, gap)]
    return sorted(found)


def _beyond(candidates: Sequence[float], edge: float, gap: float) -> list[float]:
    """Return the candidates, in rising order, from the first that is farther than the gap."""
    for k, candidate in enumerate(candidates):
        if candidate - edge > gap:
            return list(candidates[k:])
        edge = candidate
    return []


def likely_codes(distinct: Sequence[Any]) -> list[Any]:
    """Return the distinct values of a column that are likely codes for missing answers.

    In a column of words these are the texts in `MISSING_MARKS` (a minus sign only where there is no
    plus), and numbers among the usual codes beside words.

    Examples
    --------
    >>> from slabfield.encoding.missing_codes import likely_codes
    >>> likely_codes(["no", "yes", "?", "99"]), likely_codes(["-", "+"])
    (['?', '99'], [])
    """
    marks = {x for x in distinct if isinstance(x, str) and folded(x) in MISSING_MARKS}
    if "+" in map(folded, distinct):
        marks -= {x for x in marks if folded(x) == "-"}
    if len(marks) == len(distinct):  # nothing to compare with
        return []
    numbers = {x: as_number(x) for x in distinct if x not in marks}
    known = [number for number in numbers.values() if number is not None]
    if len(known) == len(numbers):
        codes = set(isolated_codes(known))
    else:
        usual = CODES_ABOVE | CODES_BELOW
        codes = {number for number in known if number in usual and abs(number) >= SMALLEST_ALONE}
    return [x for x in distinct if x in marks or numbers.get(x) in codes]
