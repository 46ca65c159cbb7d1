"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence

NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from slabfield.posterior.wording import counted
    >>> counted(1, "bias", "biases"), counted(1200, "row")
    ('1 bias', '1,200 rows')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def in_words(number: int) -> str:
    """Return a number as a word up to ten, and in digits above."""
    return NUMBER_WORDS[number] if number < len(NUMBER_WORDS) else f"{number:,}"


def of_chains(number: int, total: int) -> str:
    """Return which chains something is said of.

    Examples
    --------
    >>> from slabfield.posterior.wording import of_chains
    >>> of_chains(1, 1), of_chains(4, 4), of_chains(1, 4)
    ('the only chain', 'all 4 chains', '1 of 4 chains')
    """
    if number < total:
        return f"{number} of {total} chains"
    return "the only chain" if total == 1 else f"all {total} chains"


def were(number: int) -> str:
    """Return the verb that agrees with a number."""
    return "was" if number == 1 else "were"


def joined(parts: Sequence[str]) -> str:
    """Join parts with commas and a final 'and'.

    Examples
    --------
    >>> from slabfield.posterior.wording import joined
    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
