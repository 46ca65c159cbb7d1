"""The error and the warning that bad input gets, and how values are shown in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SHOWN = 5
LONGEST_ITEM = 80
MOST_COLUMNS = 20_000


class InputError(ValueError):
    """What was handed in cannot be used: says what was wrong, what was found, what to do.

    Examples
    --------
    >>> from slabfield.checks import InputError, check_choice
    >>> try:
    ...     check_choice("preset", "fast", ("default", "paper"))
    ... except InputError as error:
    ...     print(error)
    preset must be one of 'default', 'paper'; got 'fast'. Choose one of these.
    """


class NotFiniteError(InputError):
    """A chain came to numbers that are not finite, and again after a new start.

    Examples
    --------
    >>> from slabfield.checks import InputError, NotFiniteError
    >>> issubclass(NotFiniteError, InputError)
    True
    """


class InputWarning(UserWarning):
    """What was handed in can be used, but the result means something else than it seems to.

    Examples
    --------
    >>> import warnings
    >>> from slabfield.checks import InputWarning, code_binary
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     table = code_binary([[0, 1], [0, 0], [0, 1]])
    >>> caught[0].category is InputWarning
    True
    """


def listed(items: Sequence[str], shown: int = SHOWN) -> str:
    """Join words with commas and a final 'and', the first few only.

    Examples
    --------
    >>> from slabfield.checks.errors import listed
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], shown=2)
    ('a, b and c', 'a, b and 2 more')
    """
    items = [shortened(item, LONGEST_ITEM) for item in items[:shown]] + list(items[shown:])
    if len(items) > shown:
        return f"{', '.join(items[:shown])} and {len(items) - shown} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def shown_value(value: object, width: int = 40) -> str:
    """Write a value the way a message shows it: short, quoted when it is text.

    Examples
    --------
    >>> from slabfield.checks.errors import shown_value
    >>> shown_value(2.0), shown_value("yes")
    ('2', "'yes'")
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    return shortened(repr(value), width)


def shortened(text: str, width: int) -> str:
    """Cut a text that is longer than a message can bear.

    Examples
    --------
    >>> from slabfield.checks.errors import shortened
    >>> shortened("a name of many words", 12)
    'a name of...'
    """
    return text if len(text) <= width else f"{text[: width - 3]}..."


def check_width(n_columns: int) -> None:
    """Refuse a table with more columns than pairs of them can be kept.

    Examples
    --------
    >>> from slabfield.checks.errors import check_width
    >>> check_width(100)
    """
    if n_columns > MOST_COLUMNS:
        n_pairs = n_columns * (n_columns - 1) // 2
        raise InputError(
            f"X must have at most {MOST_COLUMNS:,} columns; found {n_columns:,}, which have "
            f"{n_pairs:,} pairs. Choose the columns that are to be nodes."
        )
