"""From the options of ``fit`` and ``compare`` to a table and the estimator's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slabfield.cli.edge_lists import read_pairs
from slabfield.cli.edge_prior_options import read_communities, read_inclusion
from slabfield.cli.fit_run import FitRequest
from slabfield.cli.option_values import parse_binarize, parse_draws, select_columns, select_names
from slabfield.cli.options import Likelihood, Missing, Preset
from slabfield.encoding import CodedTable, read_counted
from slabfield.io.reading import BIG_FILE, comes_in_chunks, read_table

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
    inclusion: Sequence[str] | None = None,
    communities: str | None = None,
    within: float | None = None,
    between: float | None = None,
    likelihood: Likelihood,
    preset: Preset = Preset.default,
    chains: int,
    draws: str,
    time_budget: float | None,
    warmup: int | None,
    seed: int | None,
    jobs: int | None,
    max_memory: str | None = None,
    counted: bool = False,
) -> tuple[Any, FitRequest]:
    """Read a table and the options that go with it.

    Parameters
    ----------
    file : Path
        The table.
    columns, drop, sheet, binarize, na, forbid, require, inclusion, communities, within, between, \
likelihood, preset, chains, draws, time_budget, warmup, seed, jobs, max_memory
        The options of the same names.
    counted : bool
        Whether a large file may be read in chunks, into its distinct rows.

    Returns
    -------
    table : DataFrame, or CodedTable for a large file
        The selected columns, which become nodes.
    request : FitRequest
        Parameters of the estimator.
    """
    thresholds, n_draws = parse_binarize(binarize), parse_draws(draws)
    table: pd.DataFrame | CodedTable
    if counted and sheet is None and na is Missing.error and comes_in_chunks(file, BIG_FILE):
        table = read_counted(file, lambda names: select_names(names, columns, drop), thresholds)
        names, thresholds = table.names, None
    else:
        table = select_columns(read_table(file, sheet), columns, drop)
        names = [str(name) for name in table.columns]
    request = FitRequest(
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
        max_memory=max_memory,
        forbid=read_pairs(forbid or (), names, "--forbid"),
        require=read_pairs(require or (), names, "--require"),
        inclusion_prior=read_inclusion(inclusion or (), names),
        communities=read_communities(communities, names),
        within=within,
        between=between,
    )
    return table, request
