"""``slabfield compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import NOT_CONVERGED, handle_errors


def compare(
    file: options.File,
    out: options.Out = Path("slabfield-compare"),
    columns: options.Columns = None,
    drop: options.Drop = None,
    binarize: options.Binarize = None,
    na: options.NaComplete = options.MissingComplete.error,
    na_values: options.NaValues = None,
    levels: options.Levels = None,
    sheet: options.Sheet = None,
    encoding: options.Encoding = None,
    decimal: options.DecimalOption = None,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.9,
            rich_help_panel=options.DATA,
            help="Share of the rows held out for testing.",
        ),
    ] = 0.25,
    forbid: options.Forbid = None,
    require: options.Require = None,
    inclusion: options.Inclusion = None,
    slab: options.Slab = None,
    communities: options.Communities = None,
    within: options.Within = None,
    between: options.Between = None,
    likelihood: options.Engine = options.Likelihood.auto,
    chains: options.Chains = 4,
    draws: options.Draws = "auto",
    time_budget: options.Budget = None,
    warmup: options.Warmup = None,
    tolerance: options.Tolerance = 0.02,
    seed: options.Seed = 1,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare slabfield with other methods on FILE, by how well they predict held-out rows.

    Writes compare.csv and compare.png. Only slabfield uses the prior knowledge about edges.
    """
    with handle_errors(quiet=quiet, options={"na='impute'": None}):
        from slabfield.cli.comparison_table import run_comparison
        from slabfield.cli.printing import show_text
        from slabfield.cli.table_options import read_request

        table, request, notes = read_request(
            file, columns=columns, drop=drop, sheet=sheet, binarize=binarize,
            na=options.Missing(na), na_values=na_values, levels=levels, encoding=encoding,
            decimal=decimal, slab=slab, forbid=forbid,
            require=require, inclusion=inclusion, communities=communities, within=within,
            between=between, likelihood=likelihood, chains=chains, draws=draws,
            time_budget=time_budget, warmup=warmup, tolerance=tolerance, seed=seed, jobs=jobs,
        )  # fmt: skip
        for note in () if quiet else notes:
            show_text(note)
        converged = run_comparison(table, request, held_out, out, quiet, cluster)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)
