"""Printing of results: the most probable edges as a table, a summary in words, and warnings."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, Literal
from warnings import WarningMessage

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slabfield.cli.parameter_options import in_options
from slabfield.validation import InputWarning

if TYPE_CHECKING:
    import pandas as pd

    from slabfield.posterior import Posterior

# Edges that are printed: if there are more, half of them are the most probable ones
MAX_ROWS = 20
# Probabilities near which a further edge is printed
LEVELS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
# Least number of characters for the names of an edge
MIN_EDGE_WIDTH = 15
# Width of tables that are written to a file or a pipe
FILE_WIDTH = 160
# Heading of the only column of text besides the names
EVIDENCE = "\nEvidence"
# Kind of the edges whose coupling is a norm, without a sign
STRENGTH = "strength"
# Fewest chains whose convergence can be assessed
CHAINS_NEEDED = 4
# Code of the warning that says how to continue in Python; the command line has its own line for it
FOR_PYTHON = "interrupted"


def show_text(text: str) -> None:
    """Print a paragraph literally, without markup."""
    console = Console()
    console.print(_plain(text), soft_wrap=not console.is_terminal)


def show_edges(edges: pd.DataFrame) -> None:
    """Print the most probable edges and some others, and the number of all edges."""
    chosen = rows_to_print(edges["inclusion_probability"].to_numpy())
    console, n_first = table_console(), MAX_ROWS // 2
    table = edge_table(edges.iloc[chosen], len(chosen), console.width)
    if len(chosen) == len(edges):
        console.print(table)
        _explain_strengths(edges)
        return
    table.rows[n_first - 1].end_section = True
    console.print(table)
    _explain_strengths(edges.iloc[chosen])
    show_text(
        f"The {n_first} most probable of {len(edges):,} edges, then one near each lower tenth of "
        "probability, down to the least probable; edges.csv has them all."
    )


def table_console() -> Console:
    """Return a console as wide as the terminal, or as ``FILE_WIDTH`` where there is none."""
    console = Console()
    if console.is_dumb_terminal:
        columns, lines = shutil.get_terminal_size()
        return Console(width=columns, height=lines)  # without both, rich takes 80 columns
    streams = (sys.stdin, sys.stdout, sys.stderr)
    in_terminal = any(stream is not None and stream.isatty() for stream in streams)
    return console if in_terminal or "COLUMNS" in os.environ else Console(width=FILE_WIDTH)


def rows_to_print(probability: NDArray[np.float64]) -> list[int]:
    """Choose which edges to print, of edges in order of falling inclusion probability.

    All, if they are at most ``MAX_ROWS``. Else the first half of ``MAX_ROWS``, which may all be
    certain, and from the rest the first edge at or below each of ``LEVELS``, and the last.
    """
    n_edges, n_first = len(probability), MAX_ROWS // 2
    if n_edges <= MAX_ROWS:
        return list(range(n_edges))
    below = [int(np.argmax(probability <= level)) for level in LEVELS if probability[-1] <= level]
    return [*range(n_first), *sorted({k for k in (*below, n_edges - 1) if k >= n_first})]


def edge_table(edges: pd.DataFrame, max_rows: int, width: int) -> Table:
    """Lay out the first edges as a table.

    Names of nodes are shortened in the middle where they do not fit; headings never are. In a very
    narrow console the last columns are left out.

    Parameters
    ----------
    edges : DataFrame
        The table that ``Posterior.to_dataframe`` returns.
    width : int
        Width of the console, in characters.

    Returns
    -------
    rich.table.Table
        A row for each edge: its nodes, inclusion probability, Bayes factor and class of evidence,
        coupling and interval.
    """
    from slabfield.posterior.evidence_classes import factor_text

    first = edges.head(max_rows).to_dict("records")
    columns = {
        "Inclusion\nprobability": [_probability(edge["inclusion_probability"]) for edge in first],
        "Bayes\nfactor": [factor_text(edge["bayes_factor"]) for edge in first],
        EVIDENCE: [edge["evidence"] for edge in first],
        "Coupling\nif present": [_coupling(edge) for edge in first],
        "95% interval\nif present": [_interval(edge) for edge in first],
    }
    while (longest := width - _width(columns)) < MIN_EDGE_WIDTH and len(columns) > 1:
        columns.popitem()
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("\nEdge", no_wrap=True)
    for heading in columns:
        justify: Literal["left", "right"] = "left" if heading == EVIDENCE else "right"
        table.add_column(heading, justify=justify, no_wrap=True)
    for k, edge in enumerate(first):
        name = _edge_name(str(edge["node_1"]), str(edge["node_2"]), longest)
        table.add_row(name, *(cells[k] for cells in columns.values()))
    return table


def summarize(
    posterior: Posterior,
    edges: pd.DataFrame,
    resume_command: str,
    n_fixed: tuple[int, int] = (0, 0),
) -> str:
    """Summarize the evidence for and against edges, and whether the run can be trusted.

    Parameters
    ----------
    edges : DataFrame
        The table that ``Posterior.to_dataframe`` returns.
    resume_command : str
        The command that continues the run.
    n_fixed : (int, int)
        Numbers of edges that the user forbade and required.
    """
    from slabfield.posterior.evidence_classes import evidence_sentences
    from slabfield.posterior.wording import counted

    found = evidence_sentences(posterior)
    if any(n_fixed):
        found.append(f"You required {counted(n_fixed[1], 'edge')} and forbade {n_fixed[0]:,}.")
    found.append(convergence_text(posterior, resume_command))
    return " ".join(found)


def show_warnings(caught: Iterable[WarningMessage], posterior: Posterior) -> None:
    """Print the warnings of a fit and of its posterior to standard error, each once."""
    given = [item.message.message for item in caught if isinstance(item.message, InputWarning)]
    for text in dict.fromkeys(
        in_options(message)
        for message in [*given, *posterior.messages]
        if message.code != FOR_PYTHON
    ):
        typer.echo(f"Warning: {text}", err=True)


def convergence_text(posterior: Posterior, resume_command: str) -> str:
    """Say whether the chains have converged, and what to do if not."""
    worst, engine = posterior.convergence.worst, posterior.settings.get("engine")
    if posterior.converged:
        return f"Engine: {engine}. The chains have converged: {worst}."
    chains = "The only chain has" if posterior.draws.n_chains == 1 else "The chains have"
    return (
        f"Engine: {engine}. {chains} not converged: {worst}. Take these numbers as provisional"
        f"{_remedy(posterior, resume_command)}"
    )


def _remedy(posterior: Posterior, resume_command: str) -> str:
    """Return advice for a run that has not converged."""
    from slabfield.posterior.diagnostics import MORE_DRAWS_HELP

    if any(problem.code in MORE_DRAWS_HELP for problem in posterior.problems):
        return f". To continue until convergence: {resume_command}"  # no dot, to be copied
    if posterior.draws.n_chains < CHAINS_NEEDED:
        return f": run at least four chains to see whether they agree (--chains {CHAINS_NEEDED})."
    return "."


def _probability(value: float) -> str:
    """Format a probability so that only 1 is shown as 1.00 and only 0 as 0.00."""
    if 0.995 <= value < 1:
        return "> 0.99"
    return "< 0.01" if 0 < value < 0.005 else f"{value:.2f}"


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the width of a table without its first column; 3 characters separate two columns."""
    parts = ([*heading.split("\n"), *cells] for heading, cells in columns.items())
    return sum(3 + max(map(len, column)) for column in parts) + 4


def _coupling(edge: Mapping[Any, Any]) -> str:
    coupling = edge["coupling_given_presence"]
    if isnan(coupling):
        return ""
    return f"|{coupling:.2f}|" if edge.get("kind") == STRENGTH else f"{coupling:z.2f}"


def _explain_strengths(edges: pd.DataFrame) -> None:
    if "kind" in edges and (edges["kind"] == STRENGTH).any():
        show_text(
            "Between bars: the strength of a pair with a nominal variable, the norm of its "
            "parameters. It has no sign; thresholds.csv and the report have more about levels."
        )


def _interval(edge: Mapping[Any, Any]) -> str:
    lower, upper = edge["lower_given_presence"], edge["upper_given_presence"]
    return "" if isnan(lower) else f"{lower:z.2f} to {upper:z.2f}"


def _edge_name(first: str, second: str, longest: int) -> Text:
    """Return the names of two nodes with a hyphen, in at most so many cells of a terminal."""
    from slabfield.posterior.node_names import short_name

    names = [_plain(first).plain, _plain(second).plain]
    for length in range(max(longest, 1), 0, -1):
        text = Text(" - ".join(short_name(name, length) for name in names))
        if text.cell_len <= longest:
            break
    return text


def _plain(text: str) -> Text:
    """Return text without markup or control characters of the terminal."""
    return Text("".join(letter if letter.isprintable() else "?" for letter in text))
