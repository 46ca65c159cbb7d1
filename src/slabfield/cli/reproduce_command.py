"""``slabfield reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import handle_errors


def reproduce(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="1 to 11, sizes, sensitivity, or all (also checks the paper's claims).",
        ),
    ],
    scale: Annotated[
        str, typer.Option(metavar="quick|paper", help="paper: the sizes of the paper (takes days).")
    ] = "quick",
    out: Annotated[
        Path, typer.Option(help="Output folder for tables and figures; finished work is reused.")
    ] = Path("slabfield-reproduction"),
    jobs: Annotated[int, typer.Option(help="Tasks to run in parallel; -1 uses all cores.")] = -1,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Reproduce a FIGURE of Chen and Welling (2012); an interrupted run continues."""
    on_interrupt = "finished work is kept, and the same command continues from there"
    with handle_errors(on_interrupt, quiet):
        from slabfield.reproduce.runner import reproduce as make

        make(figure, scale, out, jobs, quiet, cluster)
