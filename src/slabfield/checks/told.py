"""What an estimator is told, before any work is done."""

from __future__ import annotations

from typing import Any

from slabfield.checks.errors import InputError
from slabfield.checks.parameters import check_choice, check_number, check_positive_int
from slabfield.checks.priors import WIDEST_BIAS

LIKELIHOODS = ("auto", "exact", "particles", "pseudo")
PRESETS = ("default", "paper")


def check_told(told: Any) -> None:
    """Check the parameters of a ``SpikeSlabMRF`` that do not depend on the table.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF
    >>> from slabfield.checks import check_told
    >>> check_told(SpikeSlabMRF())
    """
    check_choice("likelihood", told.likelihood, LIKELIHOODS)
    check_choice("preset", told.preset, PRESETS)
    if told.preset == "paper" and told.likelihood == "pseudo":
        raise InputError(
            "preset='paper' is the paper's algorithm, on particles or exact; found "
            "likelihood='pseudo'. Leave the preset out, or pass likelihood='particles'."
        )
    if told.preconditioner is not None:
        check_choice("preconditioner", told.preconditioner, ("diagonal", "full"))
    check_positive_int("n_chains", told.n_chains)
    if told.n_jobs != -1:
        check_positive_int("n_jobs", told.n_jobs, allow_none=True)
    if isinstance(told.n_draws, str):
        check_choice("n_draws", told.n_draws, ("auto",))
    else:
        check_positive_int("n_draws", told.n_draws, allow_none=True)
    check_positive_int("max_draws", told.max_draws)
    if told.time_budget is not None:
        check_number("time_budget", told.time_budget, low=0.0, include_low=False)
    for name in ("n_particles", "n_sweeps", "thin"):
        check_positive_int(name, getattr(told, name), allow_none=True)
    check_positive_int("n_warmup", told.n_warmup, allow_none=True, low=0)
    check_number("bias_scale", told.bias_scale, 0.0, WIDEST_BIAS, include_low=False)
    check_number("edge_threshold", told.edge_threshold, low=0.0, high=1.0)
    for name in ("step_size", "jump_scale", "pseudo_weight"):
        if getattr(told, name) is not None:
            check_number(name, getattr(told, name), low=0.0, include_low=False)
    if told.persistence is not None:
        check_number("persistence", told.persistence, 0.0, 1.0, include_high=False)
    for name in ("add_probability", "delete_probability"):
        if getattr(told, name) is not None:
            check_number(name, getattr(told, name), 0.0, 1.0, include_low=False)
