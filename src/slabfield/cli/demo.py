"""``slabfield demo``."""

from __future__ import annotations

from pathlib import Path

import typer

from slabfield.cli import options
from slabfield.cli.failures import NOT_CONVERGED, plain_failures


def demo(
    out: options.Out = Path("slabfield-demo"),
    draws: options.Draws = None,
    seed: options.Seed = 1,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Learn the network of 16 pixels of handwritten digits, which scikit-learn carries."""
    with plain_failures(quiet=quiet):
        from slabfield.cli.parse import parse_draws
        from slabfield.cli.run import Settings, run
        from slabfield.datasets import load_digits_binary

        table = load_digits_binary(pool=2)
        settings = Settings(n_draws=parse_draws(draws), random_state=seed, n_jobs=jobs)
        converged = run(table, settings, out, quiet)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)
