"""``slabfield report``: an HTML report of a stored posterior, and its plots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import handle_errors

Stored = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER|POSTERIOR.nc",
        show_default=False,
        help="The --out folder of a run, or a posterior that Posterior.save wrote in Python.",
    ),
]
Target = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        rich_help_panel=options.OUTPUT,
        help="Output file; by default report.html next to the posterior.",
    ),
]
Plots = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="png,svg,pdf",
        rich_help_panel=options.OUTPUT,
        help="Write the plots, too, next to the report, in these formats.",
    ),
]


def report(
    posterior: Stored,
    out: Target = None,
    threshold: options.Threshold = None,
    formats: Plots = None,
    dpi: options.Dpi = 150,
) -> None:
    """Write an HTML report of a stored posterior: one file that opens in a browser, offline.

    With --format, also draws the plots again, for example with another --threshold.
    """
    with handle_errors():
        from slabfield import load_posterior
        from slabfield.cli.result_files import (
            read_picture_options,
            source_text,
            write_pictures,
            written_at,
        )
        from slabfield.io.atomic import check_target
        from slabfield.posterior.storage import find_posterior
        from slabfield.report import write_report

        pictures = read_picture_options(threshold, formats, dpi)
        source = find_posterior(posterior)
        target = check_target(source.with_name("report.html") if out is None else out)
        loaded = load_posterior(source)
        write_report(loaded, target, threshold, source_text(loaded, written_at(source)))
        drawn = write_pictures(loaded, target.parent, pictures) if pictures.formats else []
    for path in [target, *(target.parent / name for name in drawn)]:
        typer.echo(f"Written: {path}")
