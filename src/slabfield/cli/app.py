"""The ``slabfield`` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from slabfield.cli.compare_command import compare
from slabfield.cli.demo_command import demo
from slabfield.cli.fit_command import fit
from slabfield.cli.report_command import report
from slabfield.cli.reproduce_command import reproduce
from slabfield.cli.resume_command import resume
from slabfield.cli.simulate_command import simulate

app = typer.Typer(
    name="slabfield",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Learn which variables of a table depend directly on each other, and how certain that is.",
    epilog="Exit codes: 0 success, 1 chains have not converged, 2 invalid input. Results go to "
    "standard output, progress and warnings to standard error.",
)
for command in (fit, resume, demo, report, compare, simulate, reproduce):
    app.command()(command)


def _show_version(requested: bool) -> None:
    if requested:
        import slabfield

        typer.echo(f"slabfield {slabfield.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
