"""Rows sampled from a field of nodes with levels: exactly where its tables are small enough."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from slabfield.inference import elimination, enumeration
from slabfield.models.level_field import LevelField
from slabfield.models.protocol import n_joint_states
from slabfield.validation import InputError, Parameter, check_choice, check_positive_int

Codes = NDArray[np.uint8]
LevelMethod = Literal["auto", "enumeration", "elimination", "gibbs"]


def draw_level_rows(
    field: LevelField, n_rows: int, rng: np.random.Generator, method: str, n_sweeps: int
) -> tuple[Codes, str]:
    """Sample rows of codes, and say how they were sampled.

    Parameters
    ----------
    field : LevelField
        The field to sample from.
    method : {'auto', 'enumeration', 'elimination', 'gibbs'}
        'auto' samples exactly where it can, and else takes 'gibbs'.
    n_sweeps : int
        Number of sweeps of each run of 'gibbs'.

    Returns
    -------
    rows : array of shape (n_rows, D), uint8
        Independent draws.
    method : str
        'enumeration', 'elimination' or 'gibbs'.
    """
    n_rows = check_positive_int("n_rows", n_rows)
    n_sweeps = check_positive_int("n_sweeps", n_sweeps)
    check_choice("method", method, get_args(LevelMethod))
    small = n_joint_states(field) <= enumeration.MAX_STATES
    if method == "enumeration" or (method == "auto" and small):
        _check_enumerable(field)
        return enumeration.sample(field, n_rows, rng), "enumeration"
    if method in ("auto", "elimination"):
        try:
            return elimination.sample(field, n_rows, rng), "elimination"
        except elimination.TableTooLargeError:
            if method == "elimination":
                raise
    from slabfield.inference.level_gibbs_runs import LevelGibbsRuns

    runs = LevelGibbsRuns(field.n_states, n_rows, rng)
    runs.advance(field, n_sweeps)
    return np.ascontiguousarray(runs.states.T), "gibbs"


def _check_enumerable(field: LevelField) -> None:
    n_states = n_joint_states(field)
    if n_states > enumeration.MAX_STATES:
        raise InputError(
            "too-many-states-to-enumerate",
            "{enumeration} lists every joint state, of which there may be at most {limit:,}; this "
            "field has {n_states:.3g}. Pass {gibbs}, or fewer nodes or levels.",
            enumeration=Parameter("method", "enumeration"),
            limit=enumeration.MAX_STATES,
            n_states=float(n_states),
            gibbs=Parameter("method", "gibbs"),
        )
