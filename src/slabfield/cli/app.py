"""The commands, put together; each has a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from slabfield.cli.bench import bench
from slabfield.cli.compare import compare
from slabfield.cli.demo import demo
from slabfield.cli.fit import fit
from slabfield.cli.report import report
from slabfield.cli.reproduce import reproduce
from slabfield.cli.resume import resume
from slabfield.cli.simulate import simulate

app = typer.Typer(
    name="slabfield",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Learn which variables of a table depend directly on each other, and how surely.",
    epilog="Exit codes: 0 fine, 1 the chains have not converged, 2 bad input. Results are printed "
    "on standard output, progress and warnings on standard error.",
)
for command in (fit, resume, demo, report, compare, simulate, reproduce, bench):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        import slabfield

        typer.echo(f"slabfield {slabfield.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    pass
