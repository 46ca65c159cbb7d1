"""``slabfield report``: an HTML report of a stored posterior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli.error_handling import handle_errors

Stored = Annotated[
    Path,
    typer.Argument(
        metavar="POSTERIOR.nc", help="A posterior written by fit, or by Posterior.save in Python."
    ),
]
Target = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html", help="Output file; by default report.html next to the posterior."
    ),
]


def report(posterior: Stored, out: Target = None) -> None:
    """Write an HTML report of a stored posterior: one file that opens in a browser, offline."""
    with handle_errors():
        from slabfield import load_posterior
        from slabfield.io.atomic import check_target
        from slabfield.report import write_report

        target = check_target(posterior.with_name("report.html") if out is None else out)
        write_report(load_posterior(posterior), target)
    typer.echo(f"Written: {target}")
