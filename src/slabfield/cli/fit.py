"""``slabfield fit``."""

from __future__ import annotations

from pathlib import Path

import typer

from slabfield.cli import options
from slabfield.cli.failures import NOT_CONVERGED, plain_failures


def fit(
    file: options.File,
    out: options.Out = Path("slabfield-out"),
    columns: options.Columns = None,
    drop: options.Drop = None,
    binarize: options.Binarize = None,
    na: options.Na = options.Missing.error,
    sheet: options.Sheet = None,
    forbid: options.Forbid = None,
    require: options.Require = None,
    inclusion: options.Inclusion = None,
    groups: options.Groups = None,
    within: options.Within = None,
    between: options.Between = None,
    likelihood: options.Engine = options.Likelihood.auto,
    preset: options.Settled = options.Preset.default,
    chains: options.Chains = 4,
    draws: options.Draws = None,
    time_budget: options.Budget = None,
    warmup: options.Warmup = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Learn a network from the two-valued columns of FILE.

    Writes the table of edges edges.csv, pictures, the graph network.graphml, all
    draws (posterior.nc) and the page report.html. In edges.csv a name that a spreadsheet would take
    for a formula, one that begins with = + - or @, has a single quote before it.
    """
    with plain_failures(quiet=quiet):
        from slabfield.cli.request import read_request
        from slabfield.cli.run import run

        table, settings = read_request(
            file, columns=columns, drop=drop, sheet=sheet, binarize=binarize, na=na, forbid=forbid,
            require=require, inclusion=inclusion, groups=groups, within=within,
            between=between, likelihood=likelihood, preset=preset, chains=chains, draws=draws,
            time_budget=time_budget, warmup=warmup, seed=seed, jobs=jobs, max_memory=max_memory,
            counted=True,
        )  # fmt: skip
        converged = run(table, settings, out, quiet, cluster)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)
