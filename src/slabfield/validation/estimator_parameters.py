"""Checks of an estimator's parameters, before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from slabfield.validation.errors import InputError, Parameter, listed, shown_value
from slabfield.validation.level_parameters import check_kinds, check_scores
from slabfield.validation.parameters import check_choice, check_number, check_positive_int
from slabfield.validation.prior_parameters import MAX_BIAS_SCALE

LIKELIHOODS = ("auto", "exact", "particles", "pseudo")
PRESETS = ("default", "paper")


def validate_params(estimator: Any) -> None:
    """Check the parameters of a ``SpikeSlabMRF`` that do not depend on the table."""
    check_choice("likelihood", estimator.likelihood, LIKELIHOODS)
    check_choice("preset", estimator.preset, PRESETS)
    if estimator.preset == "paper" and estimator.likelihood == "pseudo":
        raise InputError(
            "paper-preset-with-pseudo",
            "{paper} is the paper's algorithm, on particles or exact; found {pseudo}. Leave the "
            "preset out, or pass {particles}.",
            paper=Parameter("preset", "paper"),
            pseudo=Parameter("likelihood", "pseudo"),
            particles=Parameter("likelihood", "particles"),
        )
    check_positive_int("n_chains", estimator.n_chains)
    if estimator.n_jobs != -1:
        check_positive_int("n_jobs", estimator.n_jobs, allow_none=True)
    check_run_length(estimator.n_draws, estimator.time_budget)
    check_positive_int("max_draws", estimator.max_draws)
    check_number("tolerance", estimator.tolerance, 0.0, 0.5, include_low=False)
    if estimator.progress is not None:
        _check_switch("progress", estimator.progress)
    check_positive_int("n_warmup", estimator.n_warmup, allow_none=True, low=0)
    check_number("bias_scale", estimator.bias_scale, 0.0, MAX_BIAS_SCALE, include_low=False)
    check_number("edge_threshold", estimator.edge_threshold, low=0.0, high=1.0)
    check_sampler(estimator.sampler)
    check_kinds(estimator.kinds)
    check_scores(estimator.scores)


def check_run_length(n_draws: object, time_budget: object) -> None:
    """Check a number of draws, "auto" or None, and a time budget in seconds or None.

    Examples
    --------
    >>> from slabfield.validation import check_run_length
    >>> check_run_length("auto", 60)
    """
    if isinstance(n_draws, str):
        check_choice("n_draws", n_draws, ("auto",))
    else:
        check_positive_int("n_draws", n_draws, allow_none=True)
    if time_budget is not None:
        check_number("time_budget", time_budget, low=0.0, include_low=False)


def check_sampler(value: object) -> dict[str, Any]:
    """Return settings of the sampler after checking their names and values.

    Examples
    --------
    >>> from slabfield.validation import check_sampler
    >>> check_sampler({"thin": 5}), check_sampler(None)
    ({'thin': 5}, {})
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(
            "sampler-not-a-mapping",
            "{sampler} must be a mapping from names of settings to values; got {value}. Pass for "
            "example {example}.",
            sampler=Parameter("sampler"),
            value=shown_value(value),
            example=Parameter("sampler", {"thin": 5}),
        )
    for name, setting in value.items():
        if name not in SAMPLER:
            raise InputError(
                "unknown-sampler-setting",
                "{sampler} has the settings {known}; got {name}. Choose among these.",
                sampler=Parameter("sampler"),
                known=listed(sorted(SAMPLER), shown=len(SAMPLER)),
                name=shown_value(name),
            )
        SAMPLER[name](f"sampler[{name!r}]", setting)
    return dict(value)


def _check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InputError(
            "not-a-switch",
            "{parameter} must be True or False; got {value}. Pass one of these.",
            parameter=Parameter(name),
            value=shown_value(value),
        )


def _check_preconditioner(name: str, value: object) -> None:
    check_choice(name, value, ("diagonal", "full"))


def _check_positive(name: str, value: object) -> None:
    check_number(name, value, low=0.0, include_low=False)


def _check_proposal(name: str, value: object) -> None:
    check_number(name, value, 0.0, 1.0, include_low=False)


def _check_persistence(name: str, value: object) -> None:
    check_number(name, value, 0.0, 1.0, include_high=False)


SAMPLER: dict[str, Callable[[str, Any], object]] = {
    "n_particles": check_positive_int,
    "n_sweeps": check_positive_int,
    "thin": check_positive_int,
    "restart": _check_switch,
    "preconditioner": _check_preconditioner,
    "step_size": _check_positive,
    "jump_scale": _check_positive,
    "pseudo_weight": _check_positive,
    "persistence": _check_persistence,
    "add_probability": _check_proposal,
    "delete_probability": _check_proposal,
}
"""The settings of the sampler, and how each is checked."""
