"""``slabfield simulate``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import handle_errors

if TYPE_CHECKING:
    from slabfield.datasets import Simulated

FIELD = "Field"


class Kind(StrEnum):
    """The graph of the field."""

    block = "block"
    lattice = "lattice"
    random = "random"


class Method(StrEnum):
    """How rows are drawn."""

    auto = "auto"
    gibbs = "gibbs"


def simulate(
    kind: Annotated[
        Kind,
        typer.Argument(
            metavar="block|lattice|random",
            show_default=False,
            help="block: dense groups of nodes; lattice: neighbors on a grid; random: every edge "
            "equally likely.",
        ),
    ],
    rows: Annotated[int, typer.Option(min=1, rich_help_panel=FIELD, help="Rows to draw.")] = 1000,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            rich_help_panel=FIELD,
            help="Random seed; the field does not depend on --rows.",
        ),
    ] = None,
    groups: Annotated[
        int, typer.Option(min=1, rich_help_panel=FIELD, help="Number of groups of a block field.")
    ] = 3,
    group_size: Annotated[
        int, typer.Option(min=1, rich_help_panel=FIELD, help="Nodes per group.")
    ] = 4,
    shape: Annotated[
        str,
        typer.Option(metavar="HxW", rich_help_panel=FIELD, help="Height and width of a lattice."),
    ] = "10x10",
    nodes: Annotated[
        int, typer.Option(min=2, rich_help_panel=FIELD, help="Number of nodes of a random field.")
    ] = 50,
    mean_degree: Annotated[
        float, typer.Option(min=0, rich_help_panel=FIELD, help="Mean degree of a random field.")
    ] = 4.0,
    coupling_scale: Annotated[
        float,
        typer.Option(
            min=0,
            rich_help_panel=FIELD,
            help="Standard deviation of couplings on the Ising scale, 1/4 of the 0/1 scale.",
        ),
    ] = 0.5,
    method: Annotated[
        Method,
        typer.Option(
            rich_help_panel=FIELD,
            help="auto: exact sampling, refused if it needs too much memory; gibbs: approximate.",
        ),
    ] = Method.auto,
    out: options.Out = Path("slabfield-simulated"),
    quiet: options.Quiet = False,
) -> None:
    """Draw rows from a field with known edges, to test how well they are recovered.

    Writes rows.csv, an input of slabfield fit, and the true parameters on the 0/1 scale: edges and
    couplings in truth.csv, biases in biases.csv.
    """
    with handle_errors():
        from slabfield import datasets
        from slabfield.io.atomic import make_folder

        if kind is Kind.block:
            data = datasets.make_block(
                rows, seed, n_groups=groups, group_size=group_size,
                coupling_scale=coupling_scale, method=method.value,
            )  # fmt: skip
        elif kind is Kind.lattice:
            data = datasets.make_lattice(
                rows, parse_shape(shape), seed, coupling_scale=coupling_scale, method=method.value
            )
        else:
            data = datasets.make_random(
                rows, nodes, mean_degree, seed, coupling_scale=coupling_scale, method=method.value
            )
        make_folder(out)
        write_simulated(data, out)
        if not quiet:
            typer.echo(
                f"{len(data.rows):,} rows of a {kind.value} field with {data.field.n_nodes} nodes "
                f"and {data.field.n_edges} edges (drawn by {data.method}).\n"
                f"Written in {out}: rows.csv, truth.csv and biases.csv."
            )


def parse_shape(text: str) -> tuple[int, int]:
    """Read a height and a width.

    Examples
    --------
    >>> from slabfield.cli.simulate_command import parse_shape
    >>> parse_shape("10x12")
    (10, 12)
    """
    from slabfield.validation import InputError

    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            "invalid-shape",
            "--shape must be a height and a width separated by x; got {value!r}. Pass for example "
            "--shape 10x10.",
            value=text,
        )
    return int(parts[0]), int(parts[1])


def write_simulated(data: Simulated, folder: Path) -> None:
    """Write the rows and the true parameters."""
    import numpy as np
    import pandas as pd

    from slabfield.io.atomic import write_atomically

    names = [f"x{k + 1}" for k in range(data.field.n_nodes)]
    first, second = np.nonzero(np.triu(data.field.coupling, 1))
    edges = {
        "node_1": [names[i] for i in first],
        "node_2": [names[j] for j in second],
        "coupling": data.field.coupling[first, second],
    }
    tables = {
        "rows.csv": pd.DataFrame(data.rows, columns=names),
        "truth.csv": pd.DataFrame(edges),
        "biases.csv": pd.DataFrame({"node": names, "bias": data.field.bias}),
    }
    for name, table in tables.items():

        def write(temporary: Path, table: pd.DataFrame = table) -> None:
            table.to_csv(temporary, index=False)

        write_atomically(folder / name, write)
