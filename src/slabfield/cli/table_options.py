"""From the options of ``fit`` and ``compare`` to a table and the estimator's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slabfield.cli.edge_lists import read_pairs
from slabfield.cli.edge_prior_options import read_communities, read_inclusion
from slabfield.cli.fit_run import FitRequest
from slabfield.cli.kind_options import parse_kinds, parse_levels
from slabfield.cli.option_values import (
    parse_binarize,
    parse_draws,
    parse_na_values,
    parse_slab,
    select_columns,
    select_names,
)
from slabfield.cli.options import Decimal, Likelihood, Missing, Preset, ScoreRule
from slabfield.cli.row_selection import parse_where, select_rows
from slabfield.encoding import CodedTable, read_counted
from slabfield.io.reading import BIG_FILE, comes_in_chunks, read_table

if TYPE_CHECKING:
    import pandas as pd


def read_request(
    file: Path,
    *,
    columns: Sequence[str] | None,
    drop: Sequence[str] | None,
    sheet: str | None,
    binarize: Sequence[str] | None,
    na: Missing = Missing.error,
    na_values: Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
    ordinal: Sequence[str] | None = None,
    nominal: Sequence[str] | None = None,
    blume_capel: Sequence[str] | None = None,
    scores: ScoreRule = ScoreRule.standard,
    encoding: str | None = None,
    decimal: Decimal | None = None,
    slab: str | None = None,
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
    tolerance: float,
    seed: int | None,
    jobs: int | None,
    max_memory: str | None = None,
    where: Sequence[str] | None = None,
    counted: bool = False,
) -> tuple[Any, FitRequest, list[str]]:
    """Read a table and the options that go with it.

    Parameters
    ----------
    file : Path
        The table.
    columns, drop, sheet, binarize, na, na_values, levels, ordinal, nominal, blume_capel, scores, \
encoding, decimal, slab, forbid, require, inclusion, communities, within, between, likelihood, \
preset, chains, draws, time_budget, warmup, tolerance, seed, jobs, max_memory, where
        The options of the same names.
    counted : bool
        Whether a large file may be read in chunks, into its distinct rows.

    Returns
    -------
    table : DataFrame, or CodedTable for a large file
        The selected columns, which become nodes.
    request : FitRequest
        Parameters of the estimator.
    notes : list of str
        What was guessed about the file.
    """
    thresholds, n_draws = parse_binarize(_together(binarize)), parse_draws(draws)
    kept, left_out = _together(columns), _together(drop)
    slab_prior = parse_slab(slab)
    separator = None if decimal is None else decimal.value
    codes, answers = parse_na_values(na_values), parse_levels(levels)
    kinds, rule = parse_kinds(ordinal, nominal, blume_capel), scores.value
    notes: list[str] = []
    table: pd.DataFrame | CodedTable
    in_chunks = counted and sheet is None and na is not Missing.impute and not where
    if in_chunks and comes_in_chunks(file, BIG_FILE):
        table = read_counted(
            file, lambda names: select_names(names, kept, left_out), thresholds, na=na.value,
            na_values=codes, levels=answers, encoding=encoding, decimal=separator, notes=notes,
            kinds=kinds, scores=rule,
        )  # fmt: skip
        names, thresholds, codes, answers, kinds = table.names, None, None, None, None
        rule = ScoreRule.standard.value
    else:
        whole = read_table(file, sheet, encoding, separator, notes)
        if where:
            n_rows, every = len(whole), [str(name) for name in whole.columns]
            whole = select_rows(whole, parse_where(where, every))
            notes.append(f"{len(whole):,} of {n_rows:,} rows have {', '.join(where)}.")
        table = select_columns(whole, kept, left_out)
        names = [str(name) for name in table.columns]
    request = FitRequest(
        likelihood=likelihood.value,
        preset=preset.value,
        n_chains=chains,
        n_draws=n_draws,
        time_budget=time_budget,
        n_warmup=warmup,
        tolerance=tolerance,
        binarize=thresholds,
        na=na.value,
        na_values=codes,
        levels=answers,
        kinds=kinds,
        scores=rule,
        random_state=seed,
        n_jobs=jobs,
        max_memory=max_memory,
        forbid=read_pairs(forbid or (), names, "--forbid"),
        require=read_pairs(require or (), names, "--require"),
        inclusion_prior=read_inclusion(inclusion or (), names),
        slab_prior=slab_prior,
        communities=read_communities(communities, names),
        within=within,
        between=between,
    )
    return table, request, notes


def _together(texts: Sequence[str] | None) -> str | None:
    """Join what an option that was given several times lists."""
    return ",".join(texts) if texts else None
