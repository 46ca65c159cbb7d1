"""Sentences on nodes with levels for a section on methods: kinds, scores, thresholds, priors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slabfield.encoding import Variable
from slabfield.encoding.scores import standard_scores
from slabfield.posterior.wording import counted, joined, were
from slabfield.validation.errors import listed, shown_value

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

KIND_NAMES = {
    "binary": "binary", "ordinal": "ordinal", "blume-capel": "Blume-Capel", "nominal": "nominal",
}  # fmt: skip
# Variables with levels that never occurred that are listed
MAX_NAMES = 8


def variables_text(variables: Sequence[Variable]) -> str:
    """Return the number of variables, and how many there are of each kind.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.posterior.methods_levels import variables_text
    >>> sleep = Variable.binary("sleep", (0, 1))
    >>> variables_text([sleep, sleep])
    '2 binary variables'
    >>> variables_text([sleep, Variable("place", "nominal", ("a", "b", "c"), ())])
    '2 variables (1 binary and 1 nominal)'
    """
    counts = Counter(variable.kind for variable in variables)
    kinds = [kind for kind in KIND_NAMES if counts[kind]]
    if len(kinds) == 1:
        return counted(len(variables), f"{KIND_NAMES[kinds[0]]} variable")
    parts = joined([f"{counts[kind]:,} {KIND_NAMES[kind]}" for kind in kinds])
    return f"{counted(len(variables), 'variable')} ({parts})"


def level_sentences(posterior: Posterior) -> list[str]:
    """Describe what the model makes of levels; nothing if all variables are binary."""
    if not posterior.has_levels:
        return []
    variables = posterior.variables
    kinds = {variable.kind for variable in variables}
    found = [*_dropped(variables)]
    if "ordinal" in kinds or "nominal" in kinds:
        named = joined([kind for kind in ("ordinal", "nominal") if kind in kinds])
        found.append(
            f"Every level but the first of {named} variables had a threshold of its own, its log "
            "weight relative to the first level."
        )
    if "blume-capel" in kinds:
        found.append(
            "In Blume-Capel variables, the log weight of a level was a linear and a quadratic "
            "function of its distance from a reference level."
        )
    if any(variable.is_scored for variable in variables):
        found.append(_scores(variables))
    if not posterior.edge_is_signed.all():
        found.append(
            "A pair with a nominal variable of three or more levels had several parameters, in "
            "zero-sum coding (Helmert contrasts divided by the square root of 2), which were "
            "present or absent together; the strength of such an edge is their Euclidean norm."
        )
    return found


def slab_sentences(posterior: Posterior) -> list[str]:
    """State the scale of couplings, and which slabs there are."""
    if not posterior.has_levels:
        return []
    found = [
        "With these scores, a coupling of a given size stands for about the same correlation "
        "whatever the number of levels; sigma0 is on this scale."
    ]
    if not all(_standard(variable) for variable in posterior.variables):
        found = ["The scale of sigma0 is that of the products of these scores."]
    if posterior.draws.sigma0_nominal is not None:
        found.append(
            "Pairs with one parameter and pairs with several each had a sigma0 of their own, with "
            "the same prior."
        )
    return found


def bias_prior_sentence(posterior: Posterior, scale: float) -> str:
    """State the prior of biases, or of thresholds and the parameters of Blume-Capel variables."""
    if not posterior.has_levels:
        return f"Biases had normal priors with mean 0 and standard deviation {scale:g}."
    kinds = {variable.kind for variable in posterior.variables}
    text = (
        "Thresholds had a normal prior with mean 0 and covariance "
        f"{scale**2 / 2:g} (I + J), J being the matrix of ones, as differences of independent "
        "normal variables have; it does not depend on which level is the first"
    )
    if kinds == {"blume-capel"}:
        return (
            "The linear and quadratic parameters had normal priors with mean 0 and standard "
            f"deviation {scale:g}."
        )
    if "blume-capel" in kinds:
        text += f"; linear and quadratic parameters had a standard deviation of {scale:g}"
    return f"{text}."


def _scores(variables: Sequence[Variable]) -> str:
    own = [variable.name for variable in variables if not _standard(variable)]
    text = (
        "Couplings multiply scores of levels: with K levels, numbered a from 0, the score was "
        "a sqrt(3 / (K^2 - 1)), which is 0 and 1 for two levels"
    )
    if own:
        text += f"; {listed(own, MAX_NAMES)} had other scores"
    return f"{text}."


def _standard(variable: Variable) -> bool:
    """Whether the scores are the standard ones of all levels, those that never occurred included.

    The number of levels is only known if they were stated, or if the last one occurred.
    """
    if not variable.is_scored:
        return True
    n_levels = len(variable.levels or ()) or variable.positions[-1] + 1
    for size in {n_levels, variable.n_levels}:
        scores = standard_scores(max(size, 2))
        places = variable.positions if size == n_levels else range(size)
        if max(places) < len(scores) and np.allclose(scores[list(places)], variable.scores):
            return True
    return False


def dropped_levels(variable: Variable) -> list[str]:
    """Return the levels that never occurred and have no label, as text.

    Their labels if they were stated, else their places, from 1.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.posterior.methods_levels import dropped_levels
    >>> dropped_levels(Variable("mood", "ordinal", (1, 2, 4), (0, 1, 3), positions=(0, 1, 3)))
    ['number 3']
    """
    stated = variable.levels or ()
    n_levels = max(len(stated), variable.positions[-1] + 1)
    missing = sorted(set(range(n_levels)) - set(variable.positions))
    if variable.threshold is not None:
        return []
    return [
        shown_value(stated[place]) if place < len(stated) else f"number {place + 1}"
        for place in missing
    ]


def _dropped(variables: Sequence[Variable]) -> list[str]:
    dropped = [(variable.name, dropped_levels(variable)) for variable in variables]
    parts = [f"{listed(levels)} of {name}" for name, levels in dropped if levels]
    n_levels = sum(len(levels) for _, levels in dropped)
    if not parts:
        return []
    levels = "A level that never occurred" if n_levels == 1 else "Levels that never occurred"
    return [f"{levels} {were(n_levels)} left out: {listed(parts, MAX_NAMES)}."]
