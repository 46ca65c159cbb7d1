"""Checks of single parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isnan
from numbers import Integral, Real
from typing import Any, Literal, overload

import numpy as np

from slabfield.validation.errors import InputError, Parameter, listed, shown_value


def check_choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed strings."""
    if isinstance(value, str) and value in allowed:
        return value
    words = ", ".join(repr(word) for word in allowed)
    raise InputError(
        "unknown-choice",
        "{parameter} must be one of {allowed}; got {value}. Choose one of these.",
        parameter=Parameter(name),
        allowed=words,
        value=shown_value(value),
    )


@overload
def check_positive_int(
    name: str, value: object, *, allow_none: Literal[False] = ..., low: int = ...
) -> int: ...
@overload
def check_positive_int(
    name: str, value: object, *, allow_none: Literal[True], low: int = ...
) -> int | None: ...


def check_positive_int(
    name: str, value: object, *, allow_none: bool = False, low: int = 1
) -> int | None:
    """Return `value` as an int if it is a whole number of at least `low`.

    Parameters
    ----------
    value : object
        The value given. True and False are not numbers here.
    allow_none : bool
        Whether None (for "choose for me") is passed through.
    """
    if value is None and allow_none:
        return None
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low:
        return int(value)
    wanted = f"a whole number of at least {low}" + (", or None" if allow_none else "")
    advice = " or leave it out" if allow_none else ""
    raise InputError(
        "not-a-whole-number",
        "{parameter} must be {wanted}; got {value}. Pass for example {example}{advice}.",
        parameter=Parameter(name),
        wanted=wanted,
        value=shown_value(value),
        example=Parameter(name, max(low, 4)),
        advice=advice,
    )


def check_number(
    name: str,
    value: object,
    low: float = -inf,
    high: float = inf,
    *,
    include_low: bool = True,
    include_high: bool = True,
) -> float:
    """Return `value` as a float if it is a number between `low` and `high`.

    Parameters
    ----------
    value : object
        The value given. True and False are not numbers here.
    low, high : float
        The bounds. Infinite values are never accepted.
    include_low, include_high : bool
        Whether the bounds themselves are allowed.
    """
    if is_number(value):
        number = float(value)  # type: ignore[arg-type]
        above = number >= low if include_low else number > low
        below = number <= high if include_high else number < high
        if above and below and abs(number) < inf:
            return number
    bounds = _bounds(low, high, include_low, include_high)
    raise InputError(
        "not-in-range",
        "{parameter} must be a {finite}number{bounds}; got {value}. Pass a number in that range.",
        parameter=Parameter(name),
        finite="finite " if bounds == "" else "",
        bounds=bounds,
        value=shown_value(value),
    )


def check_exact_size(n_nodes: int, n_states: int, limit: int) -> None:
    """Refuse more joint states than the exact engine supports.

    Parameters
    ----------
    n_nodes, n_states : int
        Number of nodes, and of their joint states.
    limit : int
        Largest number of joint states that are enumerated.
    """
    if n_states > limit:
        raise InputError(
            "too-many-states-for-exact",
            "{exact} keeps a table of all joint states, at most {limit:,} of them (20 columns of 2 "
            "values, 8 of 5); found {n_nodes} columns with {n_states} joint states. Use "
            "{particles}, or drop columns.",
            exact=Parameter("likelihood", "exact"),
            limit=limit,
            n_nodes=n_nodes,
            n_states=f"{n_states:.2g}" if n_states > 1e9 else f"{n_states:,}",
            particles=Parameter("likelihood", "particles"),
        )


def check_free_biases(variables: Iterable[Any]) -> None:
    """Refuse Blume-Capel variables with the paper's moves, which have a bias for every level."""
    found = [repr(variable.name) for variable in variables if variable.kind == "blume-capel"]
    if found:
        raise InputError(
            "blume-capel-with-paper",
            "{paper} has a bias for every level of a column; found Blume-Capel columns {columns}. "
            "Make them ordinal, or leave out {paper}.",
            paper=Parameter("preset", "paper"),
            columns=listed(found),
        )


def check_full_size(n_parameters: int, limit: int) -> None:
    """Refuse a full preconditioner for too many parameters."""
    if n_parameters > limit:
        raise InputError(
            "too-many-parameters-for-full",
            "{full} keeps the covariance of all parameters and takes at most {limit}; found "
            "{n_parameters} biases and candidate edges. Use {diagonal}.",
            full=Parameter("sampler", {"preconditioner": "full"}),
            limit=limit,
            n_parameters=n_parameters,
            diagonal=Parameter("sampler", {"preconditioner": "diagonal"}),
        )


def seed_of(random_state: Any) -> int:
    """Return an integer seed from a random state as scikit-learn accepts it.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        None takes a new seed from the system; the other two generate one.

    Examples
    --------
    >>> from slabfield.validation import seed_of
    >>> seed_of(3)
    3
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return check_positive_int("random_state", random_state, low=0)


def is_number(value: object) -> bool:
    """Whether `value` is a real number other than True, False and NaN.

    Examples
    --------
    >>> from slabfield.validation.parameters import is_number
    >>> is_number(2), is_number(True), is_number(float("nan"))
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(float(value))


def _bounds(low: float, high: float, include_low: bool, include_high: bool) -> str:
    parts = []
    if low > -inf:
        parts.append(f"{'of at least' if include_low else 'greater than'} {low:g}")
    if high < inf:
        parts.append(f"{'at most' if include_high else 'less than'} {high:g}")
    return " " + " and ".join(parts) if parts else ""
