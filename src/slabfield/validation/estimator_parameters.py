"""Checks of an estimator's parameters, before any work is done."""

from __future__ import annotations

from typing import Any

from slabfield.validation.errors import InputError, Parameter
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
    if estimator.preconditioner is not None:
        check_choice("preconditioner", estimator.preconditioner, ("diagonal", "full"))
    check_positive_int("n_chains", estimator.n_chains)
    if estimator.n_jobs != -1:
        check_positive_int("n_jobs", estimator.n_jobs, allow_none=True)
    if isinstance(estimator.n_draws, str):
        check_choice("n_draws", estimator.n_draws, ("auto",))
    else:
        check_positive_int("n_draws", estimator.n_draws, allow_none=True)
    check_positive_int("max_draws", estimator.max_draws)
    if estimator.time_budget is not None:
        check_number("time_budget", estimator.time_budget, low=0.0, include_low=False)
    for name in ("n_particles", "n_sweeps", "thin"):
        check_positive_int(name, getattr(estimator, name), allow_none=True)
    check_positive_int("n_warmup", estimator.n_warmup, allow_none=True, low=0)
    check_number("bias_scale", estimator.bias_scale, 0.0, MAX_BIAS_SCALE, include_low=False)
    check_number("edge_threshold", estimator.edge_threshold, low=0.0, high=1.0)
    for name in ("step_size", "jump_scale", "pseudo_weight"):
        if getattr(estimator, name) is not None:
            check_number(name, getattr(estimator, name), low=0.0, include_low=False)
    if estimator.persistence is not None:
        check_number("persistence", estimator.persistence, 0.0, 1.0, include_high=False)
    for name in ("add_probability", "delete_probability"):
        if getattr(estimator, name) is not None:
            check_number(name, getattr(estimator, name), 0.0, 1.0, include_low=False)
