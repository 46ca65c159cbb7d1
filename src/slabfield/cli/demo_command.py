"""``slabfield demo``."""

from __future__ import annotations

from pathlib import Path

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import NOT_CONVERGED, handle_errors


def demo(
    out: options.Out = Path("slabfield-demo"),
    draws: options.Draws = "auto",
    seed: options.Seed = 1,
    jobs: options.Jobs = None,
    threshold: options.Threshold = None,
    formats: options.Formats = "png",
    dpi: options.Dpi = 150,
    quiet: options.Quiet = False,
) -> None:
    """Learn the network of 18 symptoms of ADHD from the data of 355 children."""
    with handle_errors(quiet=quiet):
        from slabfield.cli.fit_run import FitRequest, run
        from slabfield.cli.option_values import parse_draws
        from slabfield.cli.result_files import read_picture_options
        from slabfield.datasets import load_adhd

        pictures = read_picture_options(threshold, formats, dpi)
        table = load_adhd().data
        request = FitRequest(n_draws=parse_draws(draws), random_state=seed, n_jobs=jobs)
        converged = run(table, request, out, quiet, pictures=pictures, file="Symptoms of ADHD")
    if not converged:
        raise typer.Exit(NOT_CONVERGED)
