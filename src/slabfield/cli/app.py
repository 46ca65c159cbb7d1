"""The commands and their options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli.report import report

BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 2, 1, 130

HINTS = {
    "df.drop(": "--drop NAME,... leaves columns out",
    "binarize": "--binarize NUMBER cuts every numeric column, --binarize NAME=NUMBER,... some",
    "likelihood=": "--likelihood particles",
}
"""What the advice of a message is called on the command line."""

app = typer.Typer(
    name="slabfield",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn which variables of a table depend directly on each other, and how surely.",
    epilog="Exit codes: 0 fine, 1 the chains have not converged, 2 bad input.",
)


class Likelihood(StrEnum):
    """How the likelihood is computed."""

    auto = "auto"
    exact = "exact"
    particles = "particles"
    pseudo = "pseudo"


class Preset(StrEnum):
    """Which settings are used."""

    default = "default"
    paper = "paper"


Out = Annotated[Path, typer.Option(help="Folder for table, picture, graph, posterior and report.")]
Chains = Annotated[int, typer.Option(min=1, help="Independent runs.")]
Draws = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="Draws kept of each chain; auto, unless --preset says otherwise: until converged.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Stop then, with the draws that there are."),
]
Warmup = Annotated[int | None, typer.Option(min=0, help="Draws thrown away before those.")]
Seed = Annotated[int | None, typer.Option(min=0, help="The same seed gives the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")]
Jobs = Annotated[int | None, typer.Option(help="Chains run at the same time; -1: all cores.")]
File = Annotated[Path, typer.Argument(help="A CSV or TSV file, names in its first line.")]
Columns = Annotated[str | None, typer.Option(metavar="A,B,C", help="Use only these columns.")]
Drop = Annotated[str | None, typer.Option(metavar="A,B,C", help="Leave these out.")]
Binarize = Annotated[
    str | None,
    typer.Option(
        metavar="NUM|NAME=NUM,...",
        help="1 where a value is at least NUM, in every numeric column or in those named.",
    ),
]
Engine = Annotated[
    Likelihood, typer.Option(help="auto: exact where the table of all states is small.")
]


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


@app.command()
def fit(
    file: File,
    out: Out = Path("slabfield-out"),
    columns: Columns = None,
    drop: Drop = None,
    binarize: Binarize = None,
    likelihood: Engine = Likelihood.auto,
    preset: Annotated[
        Preset, typer.Option(help="paper: the settings of Chen and Welling (2012).")
    ] = Preset.default,
    chains: Chains = 4,
    draws: Draws = None,
    time_budget: Budget = None,
    warmup: Warmup = None,
    seed: Seed = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Learn a network from the two-valued columns of FILE."""
    with _plain_failures():
        from slabfield.cli.run import Settings, run
        from slabfield.cli.table import parse_binarize, parse_draws, read_table, select_columns

        settings = Settings(
            likelihood=likelihood.value,
            preset=preset.value,
            n_chains=chains,
            n_draws=parse_draws(draws, preset.value),
            time_budget=time_budget,
            n_warmup=warmup,
            binarize=parse_binarize(binarize),
            random_state=seed,
            n_jobs=jobs,
        )
        table = select_columns(read_table(file), columns, drop)
        converged = run(table, settings, out, quiet)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


@app.command()
def compare(
    file: File,
    out: Annotated[
        Path, typer.Option(help="Folder to write compare.csv and compare.png in.")
    ] = Path("slabfield-compare"),
    columns: Columns = None,
    drop: Drop = None,
    binarize: Binarize = None,
    held_out: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the rows to test on.")
    ] = 0.25,
    likelihood: Engine = Likelihood.auto,
    chains: Chains = 4,
    draws: Draws = None,
    time_budget: Budget = None,
    warmup: Warmup = None,
    seed: Seed = 1,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Compare slabfield with other methods on FILE, by how well they predict held-out rows."""
    with _plain_failures():
        from slabfield.cli.compare import run_comparison
        from slabfield.cli.run import Settings
        from slabfield.cli.table import parse_binarize, parse_draws, read_table, select_columns

        settings = Settings(
            likelihood=likelihood.value,
            n_chains=chains,
            n_draws=parse_draws(draws),
            time_budget=time_budget,
            n_warmup=warmup,
            binarize=parse_binarize(binarize),
            random_state=seed,
            n_jobs=jobs,
        )
        table = select_columns(read_table(file), columns, drop)
        converged = run_comparison(table, settings, held_out, out, quiet)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


@app.command()
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
    quiet: Quiet = False,
) -> None:
    """Make a FIGURE of Chen and Welling (2012) anew; a run that was stopped goes on."""
    with _plain_failures("what was finished is kept, and the same command goes on from there"):
        from slabfield.reproduce.run import reproduce as make

        make(figure, scale, out, jobs, quiet)


@app.command()
def demo(
    out: Out = Path("slabfield-demo"),
    draws: Draws = None,
    seed: Seed = 1,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Learn the network of 16 pixels of handwritten digits, which scikit-learn carries."""
    with _plain_failures():
        from slabfield.cli.run import Settings, run
        from slabfield.cli.table import parse_draws
        from slabfield.datasets import load_digits_binary

        table = load_digits_binary(pool=2)
        settings = Settings(n_draws=parse_draws(draws), random_state=seed, n_jobs=jobs)
        converged = run(table, settings, out, quiet)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


app.command()(report)


@contextmanager
def _plain_failures(left: str = "nothing was written") -> Iterator[None]:
    """Turn bad input and Ctrl-C into a message and an exit code; bugs keep their traceback."""
    from slabfield.checks import InputError

    try:
        yield
    except InputError as error:
        message = str(error)
        typer.echo(f"Error: {message}", err=True)
        hints = [hint for word, hint in HINTS.items() if word in message]
        if hints:
            typer.echo(f"On the command line: {'; '.join(hints)}.", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; {left}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
