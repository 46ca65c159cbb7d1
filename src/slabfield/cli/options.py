"""Options shared by several commands, grouped as in ``--help``."""

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
    """Which settings of the sampler are used."""

    default = "default"
    paper = "paper"


class Missing(StrEnum):
    """How missing entries are treated."""

    error = "error"
    drop = "drop"
    impute = "impute"


class MissingComplete(StrEnum):
    """How missing entries are treated where all methods need complete rows."""

    error = "error"
    drop = "drop"


class ScoreRule(StrEnum):
    """Rules for the scores of levels."""

    standard = "standard"
    raw = "raw"
    range = "range"


class Decimal(StrEnum):
    """Decimal separators."""

    comma = ","
    point = "."


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="CSV, TSV, Parquet or Excel (.xlsx) file with column names in the first line; CSV and "
        "TSV may be gzipped.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,C",
        rich_help_panel=DATA,
        help="Use only these columns; put a name that contains a comma in double quotes.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B,C", rich_help_panel=DATA, help="Leave these columns out."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE",
        rich_help_panel=DATA,
        help="Use only rows with this value of a column, or with one of several (A=1,2), and leave "
        "the column out; of several conditions all must hold.",
    ),
]
Binarize = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NUM|median|NAME=NUM,...",
        rich_help_panel=DATA,
        help="Code values of at least NUM as 1 and others as 0, in all numeric columns or in those "
        "named; median splits a column into halves.",
    ),
]
NaComplete = Annotated[
    MissingComplete,
    typer.Option("--na", rich_help_panel=DATA, help="Missing entries: refuse, or drop their rows."),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="V,V,...|NAME:V,V,...",
        rich_help_panel=DATA,
        help="Values that stand for missing answers, such as 9,99, in all columns or in NAME "
        "(NAME:none if it has none). Repeatable.",
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=V<V<...",
        rich_help_panel=DATA,
        help="All answers of column NAME, in their order (NAME=V,V,... too); other values are "
        "refused. Repeatable; @FILE reads lines of a name and its levels.",
    ),
]
Ordinal = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,C",
        rich_help_panel=DATA,
        help="These columns are ordinal. Repeatable; @FILE reads names.",
    ),
]
Nominal = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,C",
        rich_help_panel=DATA,
        help="These columns are nominal. Repeatable; @FILE reads names.",
    ),
]
BlumeCapel = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A:REF,B,C",
        rich_help_panel=DATA,
        help="These columns are Blume-Capel, with REF or the middle one as reference level. "
        "Repeatable; @FILE reads names.",
    ),
]
Scores = Annotated[
    ScoreRule,
    typer.Option(
        rich_help_panel=DATA,
        help="Scores of levels: standard makes couplings comparable; raw counts steps; range "
        "scales to 0 to 1.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=DATA,
        help="Encoding of a text file, for example latin-1; guessed by default.",
    ),
]
DecimalOption = Annotated[
    Decimal | None,
    typer.Option(
        "--decimal",
        rich_help_panel=DATA,
        help="Decimal separator of a text file; guessed by default.",
    ),
]
Na = Annotated[
    Missing,
    typer.Option(
        rich_help_panel=DATA,
        help="Missing entries: refuse them, drop their rows, or impute them during sampling.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(rich_help_panel=DATA, help="Sheet of an Excel file; the first by default."),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A:B",
        rich_help_panel=EDGES,
        help="Exclude the edge between A and B. Repeatable; @FILE reads pairs from a CSV file.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A:B",
        rich_help_panel=EDGES,
        help="Force the edge between A and B. Repeatable; @FILE reads pairs from a CSV file.",
    ),
]
Inclusion = Annotated[
    list[str] | None,
    typer.Option(
        metavar="P|A:B=P",
        rich_help_panel=EDGES,
        help="Prior probability of all edges (P), or of the edge between A and B (A:B=P). "
        "Repeatable; @FILE reads pairs and probabilities from a CSV file. Learned by default.",
    ),
]
Slab = Annotated[
    str | None,
    typer.Option(
        metavar="SIGMA0|C,D",
        rich_help_panel=EDGES,
        help="Prior standard deviation of couplings: a number fixes it; C,D learns it, with "
        "sigma0^-2 ~ Gamma(shape C, rate D). Default: 5,5.",
    ),
]
Communities = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=EDGES,
        help="CSV file with a column name and its community on each line.",
    ),
]
Within = Annotated[
    float | None,
    typer.Option(
        metavar="P", rich_help_panel=EDGES, help="Prior probability of edges within a community."
    ),
]
Between = Annotated[
    float | None,
    typer.Option(
        metavar="P", rich_help_panel=EDGES, help="Prior probability of edges between communities."
    ),
]
Engine = Annotated[
    Likelihood,
    typer.Option(
        rich_help_panel=RUN,
        help="How to compute the likelihood; auto is exact up to 20 columns, particles above.",
    ),
]
PresetOption = Annotated[
    Preset,
    typer.Option(
        rich_help_panel=RUN, help="paper: the settings of Chen and Welling (2012), much slower."
    ),
]
Chains = Annotated[
    int,
    typer.Option(
        min=1, rich_help_panel=RUN, help="Independent chains; at least four to assess convergence."
    ),
]
Draws = Annotated[
    str,
    typer.Option(
        metavar="N|auto",
        rich_help_panel=RUN,
        help="Draws kept per chain; auto runs until convergence.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        rich_help_panel=RUN,
        help="Stop after SECONDS of warm-up and sampling; at most half is spent on warm-up.",
    ),
]
Warmup = Annotated[
    int | None,
    typer.Option(min=0, rich_help_panel=RUN, help="Warm-up draws per chain (discarded)."),
]
Tolerance = Annotated[
    float,
    typer.Option(
        metavar="ERROR",
        rich_help_panel=RUN,
        help="Largest Monte Carlo standard error of an inclusion probability at convergence.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, rich_help_panel=RUN, help="Random seed; the same seed gives the same result."
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(rich_help_panel=RUN, help="Chains to run in parallel; all cores by default."),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=RUN,
        help="Memory limit, for example 4GB (default: available memory); larger runs are refused.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        rich_help_panel=RUN,
        help="Run on the workers of this Dask scheduler (requires the dask extra).",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="P",
        rich_help_panel=OUTPUT,
        help="Show edges of inclusion probability P or more in the network, its graph file and the "
        "report; by default 0.5, or 0.9 or 0.99 if there would be more than three edges per node.",
    ),
]
Formats = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="png,svg,pdf",
        rich_help_panel=OUTPUT,
        help="Formats of the plots, separated by commas.",
    ),
]
Dpi = Annotated[
    int,
    typer.Option(
        min=30, max=1200, rich_help_panel=OUTPUT, help="Dots per inch of plots in PNG format."
    ),
]
Out = Annotated[Path, typer.Option(rich_help_panel=OUTPUT, help="Output folder.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", rich_help_panel=OUTPUT, help="Print only warnings and errors."),
]
