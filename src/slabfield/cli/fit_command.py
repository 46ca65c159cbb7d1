"""``slabfield fit``."""

from __future__ import annotations

from pathlib import Path

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import NOT_CONVERGED, handle_errors


def fit(
    file: options.File,
    out: options.Out = Path("slabfield-out"),
    columns: options.Columns = None,
    drop: options.Drop = None,
    where: options.Where = None,
    binarize: options.Binarize = None,
    na: options.Na = options.Missing.error,
    na_values: options.NaValues = None,
    levels: options.Levels = None,
    ordinal: options.Ordinal = None,
    nominal: options.Nominal = None,
    blume_capel: options.BlumeCapel = None,
    scores: options.Scores = options.ScoreRule.standard,
    sheet: options.Sheet = None,
    encoding: options.Encoding = None,
    decimal: options.DecimalOption = None,
    forbid: options.Forbid = None,
    require: options.Require = None,
    inclusion: options.Inclusion = None,
    slab: options.Slab = None,
    communities: options.Communities = None,
    within: options.Within = None,
    between: options.Between = None,
    likelihood: options.Engine = options.Likelihood.auto,
    preset: options.PresetOption = options.Preset.default,
    chains: options.Chains = 4,
    draws: options.Draws = "auto",
    time_budget: options.Budget = None,
    warmup: options.Warmup = None,
    tolerance: options.Tolerance = 0.02,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    cluster: options.Cluster = None,
    threshold: options.Threshold = None,
    formats: options.Formats = "png",
    dpi: options.Dpi = 150,
    quiet: options.Quiet = False,
) -> None:
    """Learn a network from the columns of FILE, which hold two values or a few levels each.

    Writes the table of edges (edges.csv), matrices of inclusion probabilities and couplings
    (inclusion.csv, couplings.csv), plots, the graph (network.graphml), all draws (posterior.nc) and
    a report (report.html). In CSV files, names that a spreadsheet would read as formulas (those
    that begin with = + - or @) are preceded by a single quote.
    """
    with handle_errors(quiet=quiet):
        from slabfield.cli.fit_run import run
        from slabfield.cli.printing import show_text
        from slabfield.cli.result_files import read_picture_options
        from slabfield.cli.table_options import read_request

        pictures = read_picture_options(threshold, formats, dpi)
        table, request, notes = read_request(
            file, columns=columns, drop=drop, sheet=sheet, binarize=binarize, na=na,
            na_values=na_values, levels=levels, ordinal=ordinal, nominal=nominal,
            blume_capel=blume_capel, scores=scores, encoding=encoding, decimal=decimal, slab=slab,
            forbid=forbid, require=require, inclusion=inclusion, communities=communities,
            within=within, between=between, likelihood=likelihood, preset=preset, chains=chains,
            draws=draws, time_budget=time_budget, warmup=warmup, tolerance=tolerance, seed=seed,
            jobs=jobs, max_memory=max_memory, where=where, counted=True,
        )  # fmt: skip
        for note in () if quiet else notes:
            show_text(note)
        converged = run(table, request, out, quiet, cluster, pictures, file.name)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)
