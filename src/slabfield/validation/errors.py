"""Exceptions and warnings for invalid input, and the formatting of values in their messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Items of a list that a message shows
SHOWN = 5
# Characters of an item that a message shows
LONGEST_ITEM = 80
# Columns that a table may have
MAX_COLUMNS = 20_000


class InputError(ValueError):
    """Invalid input; the message says what was wrong, what was found and what to do.

    Examples
    --------
    >>> from slabfield.validation import InputError, check_choice
    >>> try:
    ...     check_choice("preset", "fast", ("default", "paper"))
    ... except InputError as error:
    ...     print(error)
    preset must be one of 'default', 'paper'; got 'fast'. Choose one of these.
    """


class NotFiniteError(InputError):
    """A chain reached values that are not finite, and did so again after a restart.

    Examples
    --------
    >>> from slabfield.validation import InputError, NotFiniteError
    >>> issubclass(NotFiniteError, InputError)
    True
    """


class InputWarning(UserWarning):
    """Valid input whose result may not mean what it seems to.

    Examples
    --------
    >>> import warnings
    >>> from slabfield.validation import InputWarning
    >>> from slabfield.encoding import code_binary
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     table = code_binary([[0, 1], [0, 0], [0, 1]])
    >>> caught[0].category is InputWarning
    True
    """


def listed(items: Sequence[str], shown: int = SHOWN) -> str:
    """Join items with commas and a final 'and', showing only the first few.

    Examples
    --------
    >>> from slabfield.validation.errors import listed
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
    """Format a value for a message: short, and quoted if it is text.

    Examples
    --------
    >>> from slabfield.validation.errors import shown_value
    >>> shown_value(2.0), shown_value("yes")
    ('2', "'yes'")
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    return shortened(repr(value), width)


def shortened(text: str, width: int) -> str:
    """Shorten a text to at most `width` characters.

    Examples
    --------
    >>> from slabfield.validation.errors import shortened
    >>> shortened("a name of many words", 12)
    'a name of...'
    """
    return text if len(text) <= width else f"{text[: width - 3]}..."


def check_width(n_columns: int) -> None:
    """Refuse a table with too many columns for all their pairs to be stored.

    Examples
    --------
    >>> from slabfield.validation.errors import check_width
    >>> check_width(100)
    """
    if n_columns > MAX_COLUMNS:
        n_pairs = n_columns * (n_columns - 1) // 2
        raise InputError(
            f"X must have at most {MAX_COLUMNS:,} columns; found {n_columns:,}, which have "
            f"{n_pairs:,} pairs. Choose the columns that are to be nodes."
        )
