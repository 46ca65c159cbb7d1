"""What ``slabfield report`` does: a stored posterior as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli.failures import plain_failures

Stored = Annotated[
    Path,
    typer.Argument(metavar="POSTERIOR.nc", help="What fit wrote, or Posterior.save in Python."),
]
Target = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="The page; left out: report.html beside the posterior."),
]


def report(posterior: Stored, out: Target = None) -> None:
    """Write the page of a stored POSTERIOR.nc: one file that opens in a browser, offline."""
    with plain_failures():
        from slabfield import load_posterior
        from slabfield.files import check_target
        from slabfield.report import write_report

        target = check_target(posterior.with_name("report.html") if out is None else out)
        write_report(load_posterior(posterior), target)
    typer.echo(f"Written: {target}")
