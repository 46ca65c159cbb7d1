"""What ``fit`` and ``compare`` are asked for: a table, and the settings of the estimator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slabfield.checks.reading import read_table
from slabfield.cli.options import Likelihood, Missing, Preset
from slabfield.cli.pairs import read_pairs
from slabfield.cli.parse import parse_binarize, parse_draws, select_columns
from slabfield.cli.run import Settings

if TYPE_CHECKING:
    import pandas as pd


def read_request(
    file: Path,
    *,
    columns: str | None,
    drop: str | None,
    sheet: str | None,
    binarize: str | None,
    na: Missing = Missing.error,
    forbid: Sequence[str] | None,
    require: Sequence[str] | None,
    likelihood: Likelihood,
    preset: Preset = Preset.default,
    chains: int,
    draws: str | None,
    time_budget: float | None,
    warmup: int | None,
    seed: int | None,
    jobs: int | None,
) -> tuple[pd.DataFrame, Settings]:
    """Read a file and what the options say.

    Parameters
    ----------
    file : Path
        The table.
    columns, drop, sheet, binarize, na, forbid, require, likelihood, preset, chains, draws, \
time_budget, warmup, seed, jobs
        Options of the same names.

    Returns
    -------
    table : DataFrame
        The columns that are to be nodes.
    settings : Settings
        What the estimator is given.

    Examples
    --------
    >>> from slabfield.cli.request import read_request
    >>> callable(read_request)
    True
    """
    thresholds, n_draws = parse_binarize(binarize), parse_draws(draws, preset.value)
    table = select_columns(read_table(file, sheet), columns, drop)
    names = [str(name) for name in table.columns]
    settings = Settings(
        likelihood=likelihood.value,
        preset=preset.value,
        n_chains=chains,
        n_draws=n_draws,
        time_budget=time_budget,
        n_warmup=warmup,
        binarize=thresholds,
        na=na.value,
        random_state=seed,
        n_jobs=jobs,
        forbid=read_pairs(forbid or (), names, "--forbid"),
        require=read_pairs(require or (), names, "--require"),
    )
    return table, settings
