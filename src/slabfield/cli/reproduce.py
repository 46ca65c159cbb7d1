"""``slabfield reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli import options
from slabfield.cli.failures import plain_failures


def reproduce(
    figure: Annotated[
        str, typer.Argument(help="1 to 11, sizes, sensitivity, or all (and a page of claims).")
    ],
    scale: Annotated[
        str, typer.Option(metavar="quick|paper", help="paper: the sizes of the paper, for days.")
    ] = "quick",
    out: Annotated[
        Path, typer.Option(help="Folder for tables and pictures; finished work is kept there.")
    ] = Path("slabfield-reproduction"),
    jobs: Annotated[int, typer.Option(help="Pieces done at the same time; -1: all cores.")] = -1,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a FIGURE of Chen and Welling (2012) anew; a run that was stopped goes on."""
    left = "what was finished is kept, and the same command goes on from there"
    with plain_failures(left, quiet):
        from slabfield.reproduce.run import reproduce as make

        make(figure, scale, out, jobs, quiet, cluster)
