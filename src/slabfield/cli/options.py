"""Options that several commands have, in the groups that ``--help`` shows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

OUTPUT, DATA, EDGES, RUN = "Output", "Table", "Prior knowledge", "Sampling"


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


class Missing(StrEnum):
    """What is done about missing entries."""

    error = "error"
    drop = "drop"
    impute = "impute"


File = Annotated[
    Path,
    typer.Argument(
        show_default=False,
        help="A CSV, TSV, Parquet or Excel (.xlsx) file with names in its first line; text may be "
        "packed with gzip.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        rich_help_panel=DATA,
        help="Use only these columns; a name that holds a comma goes in double quotes.",
    ),
]
Drop = Annotated[
    str | None, typer.Option(metavar="A,B,C", rich_help_panel=DATA, help="Leave these out.")
]
Binarize = Annotated[
    str | None,
    typer.Option(
        metavar="NUM|NAME=NUM,...",
        rich_help_panel=DATA,
        help="1 where a value is at least NUM, in every numeric column or in those named.",
    ),
]
Na = Annotated[
    Missing,
    typer.Option(
        rich_help_panel=DATA,
        help="Missing entries: refuse them, drop their rows, or draw them along with the field.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(rich_help_panel=DATA, help="Sheet of an Excel file; the first if not given."),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A:B",
        rich_help_panel=EDGES,
        help="There is no edge between columns A and B. Repeat it for more, or name a CSV file of "
        "pairs: @FILE.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A:B",
        rich_help_panel=EDGES,
        help="There is an edge between columns A and B; likewise.",
    ),
]
Inclusion = Annotated[
    list[str] | None,
    typer.Option(
        metavar="P|A:B=P",
        rich_help_panel=EDGES,
        help="Prior probability of every edge, or of that between columns A and B (repeat it, or "
        "name a CSV file of columns and probabilities: @FILE); learnt if not given.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=EDGES,
        help="A CSV file with the group of every column: name, group.",
    ),
]
Within = Annotated[
    float | None,
    typer.Option(
        metavar="P", rich_help_panel=EDGES, help="Prior probability of edges within a group."
    ),
]
Between = Annotated[
    float | None,
    typer.Option(
        metavar="P", rich_help_panel=EDGES, help="Prior probability of edges between groups."
    ),
]
Engine = Annotated[
    Likelihood,
    typer.Option(rich_help_panel=RUN, help="auto: exact where the table of all states is small."),
]
Settled = Annotated[
    Preset,
    typer.Option(rich_help_panel=RUN, help="paper: the settings of Chen and Welling (2012)."),
]
Chains = Annotated[
    int,
    typer.Option(
        min=1, rich_help_panel=RUN, help="Independent runs; four or more show convergence."
    ),
]
Draws = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        rich_help_panel=RUN,
        help="Draws kept of each chain; auto, unless --preset says otherwise: until converged.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        rich_help_panel=RUN,
        help="Stop then, with the draws that there are; warm-up takes half of it at most.",
    ),
]
Warmup = Annotated[
    int | None, typer.Option(min=0, rich_help_panel=RUN, help="Draws thrown away before those.")
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, rich_help_panel=RUN, help="The same seed gives the same result."),
]
Jobs = Annotated[
    int | None,
    typer.Option(rich_help_panel=RUN, help="Chains run at the same time; -1: all cores."),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=RUN,
        help="Refuse a run that takes more, for example 4GB; what is available if not given.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        rich_help_panel=RUN,
        help="Run on the workers of this Dask scheduler (needs the extra dask).",
    ),
]
Out = Annotated[
    Path, typer.Option(rich_help_panel=OUTPUT, help="Folder for everything that is written.")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", rich_help_panel=OUTPUT, help="Print warnings and errors only."),
]
