"""Exceptions and warnings for invalid input, and the formatting of values in their messages.

A message has a code, a template and fields. A parameter that it refers to is a field of its own, so
that Python and the command line can each name it in their own way.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

# Items of a list that a message shows
SHOWN = 5
# Characters of an item that a message shows
LONGEST_ITEM = 80
# Characters of the value of a parameter that a message shows
LONGEST_VALUE = 2_000
# Columns that advice names, so that it can be pasted; of more, it names the first few
MOST_NAMED = 100
# Columns that a table may have
MAX_COLUMNS = 20_000
# Folder of the package
PACKAGE = Path(__file__).parents[1]


class _Unset:
    """Stands for no value; None can be the value of a parameter."""


@dataclass(frozen=True)
class Parameter:
    """Reference to a parameter in a message, with or without a value.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object, optional
        A value for it.
    in_python : str, optional
        Wording for Python users, where it is not ``name=value``.
    in_options : str, optional
        Wording for users of the command line, where it is not the option and its value.
    in_words : str, optional
        The same in plain words, for the report, whose readers may have used neither.

    Examples
    --------
    >>> from slabfield.validation import Parameter
    >>> str(Parameter("n_draws")), str(Parameter("likelihood", "exact"))
    ('n_draws', "likelihood='exact'")
    >>> str(Parameter("drop", ["age"], in_python="df.drop(columns=['age'])"))
    "df.drop(columns=['age'])"
    >>> Parameter("likelihood", "pseudo", in_words="the pseudo-likelihood").in_words
    'the pseudo-likelihood'
    """

    name: str
    value: object = _Unset
    in_python: str | None = None
    in_options: str | None = None
    in_words: str | None = None

    @property
    def has_value(self) -> bool:
        """Whether the reference gives a value."""
        return self.value is not _Unset

    def __str__(self) -> str:
        if self.in_python is not None:
            return self.in_python
        if not self.has_value:
            return self.name
        return f"{self.name}={shown_value(self.value, LONGEST_VALUE)}"


@dataclass(frozen=True)
class Message:
    """A message: its code, a template as for ``str.format``, and the fields of the template.

    Values that the user gave belong in fields, which are never searched or changed. A field may be
    a message itself.

    Examples
    --------
    >>> from slabfield.validation import Message, Parameter
    >>> fields = {"column": "n_jobs", "jobs": Parameter("n_jobs", 2)}
    >>> message = Message("example", "Column {column!r} is not {jobs}.", fields)
    >>> print(message)
    Column 'n_jobs' is not n_jobs=2.
    >>> print(message.render(lambda parameter: f"--{parameter.name}"))
    Column 'n_jobs' is not --n_jobs.
    """

    code: str
    template: str
    fields: Mapping[str, object] = field(default_factory=dict)

    def render(self, name_parameter: Callable[[Parameter], str]) -> str:
        """Return the text, with every parameter as `name_parameter` renders it."""

        def rendered(value: object) -> object:
            if isinstance(value, Parameter):
                return name_parameter(value)
            return value.render(name_parameter) if isinstance(value, Message) else value

        return self.template.format_map({name: rendered(v) for name, v in self.fields.items()})

    def __str__(self) -> str:
        return self.render(str)


class _WithMessage(Exception):
    """An exception or warning with a message."""

    message: Message

    def __init__(self, code: str, template: str, /, **fields: object) -> None:
        self.message = Message(code, template, fields)
        super().__init__(str(self.message))

    @property
    def code(self) -> str:
        """The kind of fault, the same whatever the wording."""
        return self.message.code

    @property
    def fields(self) -> Mapping[str, object]:
        """Values of the fields in this case."""
        return self.message.fields

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(type(self), self.code, self.message.template, **self.fields)
        return again, (), self.__dict__


class InputError(_WithMessage, ValueError):
    """Invalid input; the message says what was wrong, what was found and what to do.

    Parameters
    ----------
    code : str
        The kind of fault.
    template : str
        The text, with fields in braces.
    **fields
        Values of the fields, :class:`Parameter` for a parameter.

    Examples
    --------
    >>> from slabfield.validation import InputError, check_choice
    >>> try:
    ...     check_choice("preset", "fast", ("default", "paper"))
    ... except InputError as error:
    ...     print(error)
    ...     print(error.code, error.fields["value"])
    preset must be one of 'default', 'paper'; got 'fast'. Choose one of these.
    unknown-choice 'fast'
    """


class NotFiniteError(InputError):
    """A chain reached values that are not finite, and did so again after a restart.

    Examples
    --------
    >>> from slabfield.validation import InputError, NotFiniteError
    >>> issubclass(NotFiniteError, InputError)
    True
    """


class InputWarning(_WithMessage, UserWarning):
    """Valid input whose result may not mean what it seems to; parameters as for `InputError`.

    Examples
    --------
    >>> import warnings
    >>> from slabfield.validation import InputWarning
    >>> from slabfield.encoding import code_table
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     table = code_table([[0, 1], [0, 0], [0, 1]])
    >>> caught[0].category is InputWarning
    True
    """


def warn_user(warning: InputWarning) -> None:
    """Issue a warning that names the user's line: the last one outside this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


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


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that a misspelled one is closest to, or None if none is close.

    Examples
    --------
    >>> from slabfield.validation.errors import closest_name
    >>> closest_name("slep", ["sleep", "work"]), closest_name("WORK", ["sleep", "work"])
    ('sleep', 'work')
    """
    by_lower_case = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), by_lower_case, n=1)
    return by_lower_case[close[0]] if close else None


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
            "too-many-columns",
            "{X} must have at most {limit:,} columns; found {n_columns:,}, which have {n_pairs:,} "
            "pairs. Choose the columns that are to be nodes.",
            X=Parameter("X"),
            limit=MAX_COLUMNS,
            n_columns=n_columns,
            n_pairs=n_pairs,
        )
