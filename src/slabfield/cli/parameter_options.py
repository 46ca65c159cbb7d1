"""The options that correspond to parameters, and messages in terms of them."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from slabfield.validation import Message, Parameter
from slabfield.validation.errors import LONGEST_ITEM, MOST_NAMED, SHOWN, shortened

OPTIONS = {
    "X": "FILE",
    "between": "--between",
    "binarize": "--binarize",
    "checkpoint": "--out",
    "cluster": "--cluster",
    "communities": "--communities",
    "coupling_scale": "--coupling-scale",
    "decimal": "--decimal",
    "drop": "--drop",
    "encoding": "--encoding",
    "figure": "FIGURE",
    "folder": "FOLDER",
    "forbid": "--forbid",
    "group_size": "--group-size",
    "inclusion_prior": "--inclusion",
    "kinds": "--ordinal, --nominal or --blume-capel",
    "levels": "--levels",
    "likelihood": "--likelihood",
    "max_memory": "--max-memory",
    "mean_degree": "--mean-degree",
    "method": "--method",
    "n_chains": "--chains",
    "n_draws": "--draws",
    "n_groups": "--groups",
    "n_jobs": "--jobs",
    "n_levels": "--levels",
    "n_nodes": "--nodes",
    "n_rows": "--rows",
    "n_warmup": "--warmup",
    "na": "--na",
    "na_values": "--na-values",
    "out": "--out",
    "path": "--out",
    "preset": "--preset",
    "random_state": "--seed",
    "require": "--require",
    "scale": "--scale",
    "scores": "--scores",
    "shape": "--shape",
    "sheet": "--sheet",
    "slab_prior": "--slab",
    "threshold": "--threshold",
    "time_budget": "--time-budget",
    "tolerance": "--tolerance",
    "within": "--within",
}
"""The option or argument of each parameter that can be set on the command line."""


def _shown_thresholds(thresholds: Mapping[str, float | str] | float | str) -> str:
    if isinstance(thresholds, Mapping):
        pairs = thresholds.items()
        return _shown_list([f"{_shown_name(name)}={_shown_number(at)}" for name, at in pairs])
    return _shown_number(thresholds)


def _shown_number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown_codes(codes: Mapping[str, Sequence[object]] | Sequence[object] | object) -> str:
    if isinstance(codes, Mapping):
        each = [
            shlex.quote(f"{_shown_name(name)}:{_joined(some) or 'none'}")
            for name, some in codes.items()
        ]
        return " --na-values ".join(_first(each))
    return shlex.quote(_joined(codes))


def _shown_levels(levels: Mapping[str, Sequence[object]]) -> str:
    each = [f"{_shown_name(name)}={_joined(some)}" for name, some in levels.items()]
    return " --levels ".join(map(shlex.quote, each))


def _joined(values: object) -> str:
    """Join values with commas, each in quotes if it contains one."""
    several = isinstance(values, Sequence) and not isinstance(values, str)
    items: Any = values if several else [values]
    line = io.StringIO()
    csv.writer(line).writerow([_shown_number(item) for item in items])
    return line.getvalue().rstrip("\r\n")


def _shown_names(names: Sequence[str]) -> str:
    return _shown_list([_shown_name(name) for name in names])


def _shown_name(name: str) -> str:
    return shortened(name, LONGEST_ITEM)


def _shown_list(items: Sequence[str]) -> str:
    """Join items with commas, quoted where the option or the shell needs it."""
    line = io.StringIO()
    csv.writer(line).writerow(_first(items))
    return shlex.quote(line.getvalue().rstrip("\r\n"))


def _first(items: Sequence[str]) -> Sequence[str]:
    """Return all items, so that they can be pasted; of very many, the first few."""
    return items if len(items) <= MOST_NAMED else [*items[:SHOWN], "..."]


def _shown_pairs(pairs: Iterable[tuple[object, object]]) -> str:
    return " ".join(f"{first}:{second}" for first, second in pairs)


def _shown_probabilities(probabilities: Mapping[tuple[object, object], float]) -> str:
    return " ".join(f"{first}:{second}={p:g}" for (first, second), p in probabilities.items())


def _shown_shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _kind_options(kinds: Any) -> str:
    """Return the options that give columns their kinds."""
    written = []
    for name, kind in kinds.items():
        word, *reference = kind if isinstance(kind, tuple) else (kind,)
        value = ":".join([_shown_name(name), *map(_shown_number, reference)])
        written.append(f"--{word} {_shown_list([value])}")
    return " ".join(written)


VALUES: dict[str, Callable[[Any], str]] = {
    "binarize": _shown_thresholds,
    "drop": _shown_names,
    "forbid": _shown_pairs,
    "inclusion_prior": _shown_probabilities,
    "levels": _shown_levels,
    "na_values": _shown_codes,
    "require": _shown_pairs,
    "shape": _shown_shape,
    "slab_prior": _joined,
}
"""How values of options are written, where this is not as in Python."""


def as_option(parameter: Parameter, options: Mapping[str, str | None] = OPTIONS) -> str:
    """Return the option that sets a parameter, with its value if the reference has one.

    Parameters
    ----------
    parameter : Parameter
        The parameter.
    options : mapping from str to str or None
        The option of each parameter, or of a parameter with a value (``na='drop'``); None if the
        command has none.

    Returns
    -------
    str

    Examples
    --------
    >>> from slabfield.cli.parameter_options import as_option
    >>> from slabfield.validation import Parameter
    >>> as_option(Parameter("n_draws", 100)), as_option(Parameter("max_draws"))
    ('--draws 100', 'max_draws (in Python)')
    """
    if parameter.in_options is not None:
        return parameter.in_options
    option = options.get(str(parameter), options.get(parameter.name))
    if option is None:
        return f"{parameter} (in Python)"
    if not parameter.has_value:
        return option
    if parameter.name == "kinds":  # an option for each kind
        return _kind_options(parameter.value)
    return f"{option} {VALUES.get(parameter.name, str)(parameter.value)}"


def in_options(message: Message, options: Mapping[str, str | None] = OPTIONS) -> str:
    """Return the text of a message for users of the command line; `options` as for `as_option`.

    Examples
    --------
    >>> from slabfield.cli.parameter_options import in_options
    >>> from slabfield.validation import Message, Parameter
    >>> in_options(Message("run-longer", "Raise {n_draws}.", {"n_draws": Parameter("n_draws")}))
    'Raise --draws.'
    """
    return message.render(lambda parameter: as_option(parameter, options))
