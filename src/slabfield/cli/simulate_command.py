"""``slabfield simulate``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import handle_errors

if TYPE_CHECKING:
    import pandas as pd

    from slabfield.datasets import Simulated, SimulatedLevels

FIELD = "Field"


class Graph(StrEnum):
    """The graph of the field."""

    block = "block"
    lattice = "lattice"
    random = "random"


class Kind(StrEnum):
    """The kind of all nodes."""

    binary = "binary"
    ordinal = "ordinal"
    nominal = "nominal"


class Method(StrEnum):
    """How rows are drawn."""

    auto = "auto"
    gibbs = "gibbs"


def simulate(
    graph: Annotated[
        Graph,
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
    kind: Annotated[
        Kind | None,
        typer.Option(
            show_default="binary; with --levels, ordinal",
            rich_help_panel=FIELD,
            help="Kind of the nodes of a random field.",
        ),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(
            min=2,
            show_default="ordinal 5, nominal 3",
            rich_help_panel=FIELD,
            help="Number of levels of each node of a random field.",
        ),
    ] = None,
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
            help="auto: exact sampling, refused if it needs too much memory (with --levels, gibbs "
            "then); gibbs: approximate.",
        ),
    ] = Method.auto,
    out: options.Out = Path("slabfield-simulated"),
    quiet: options.Quiet = False,
) -> None:
    """Draw rows from a field with known edges, to test how well they are recovered.

    Writes rows.csv, an input of slabfield fit, and the true parameters: edges and couplings in
    truth.csv, biases in biases.csv. They are on the 0/1 scale; of ordinal nodes, on the scale of
    standard scores; of nominal nodes, the strength of an edge is the norm of its parameters.
    """
    with handle_errors():
        from slabfield import datasets
        from slabfield.io.atomic import make_folder

        check_kind(graph, kind, levels)
        kind = kind or (Kind.binary if levels is None else Kind.ordinal)
        shared: dict[str, Any] = {"coupling_scale": coupling_scale, "method": method.value}
        data: Simulated | SimulatedLevels
        if graph is Graph.block:
            data = datasets.make_block(rows, seed, n_groups=groups, group_size=group_size, **shared)
        elif graph is Graph.lattice:
            data = datasets.make_lattice(rows, parse_shape(shape), seed, **shared)
        elif kind is Kind.binary:
            data = datasets.make_random(rows, nodes, mean_degree, seed, **shared)
        else:
            make = {Kind.ordinal: datasets.make_ordinal, Kind.nominal: datasets.make_nominal}[kind]
            some: dict[str, Any] = {} if levels is None else {"n_levels": levels}
            data = make(rows, nodes, mean_degree=mean_degree, random_state=seed, **some, **shared)
        make_folder(out)
        write_tables(tables_of(data), out)
        if not quiet:
            typer.echo(
                f"{len(data.rows):,} rows of a {graph.value} field with {data.field.n_nodes} nodes "
                f"and {data.field.n_edges} edges (drawn by {data.method}).\n"
                f"Written in {out}: rows.csv, truth.csv and biases.csv."
            )


def check_kind(graph: Graph, kind: Kind | None, levels: int | None) -> None:
    """Refuse levels of binary nodes, and nodes with levels on graphs that have only binary ones."""
    from slabfield.validation import InputError

    if kind is Kind.binary and levels is not None and levels != 2:
        raise InputError(
            "levels-of-binary-nodes",
            "--kind binary has two levels; got --levels {levels}. Pass --kind ordinal or nominal.",
            levels=levels,
        )
    if graph is not Graph.random and (levels is not None or kind in (Kind.ordinal, Kind.nominal)):
        raise InputError(
            "levels-on-other-graph",
            "--kind and --levels are of random fields; got them for a {graph} field. Use slabfield "
            "simulate random, or leave them out.",
            graph=graph.value,
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


def tables_of(data: Any) -> dict[str, pd.DataFrame]:
    """Return the rows and the true parameters, by the names of their files."""
    names = [f"x{k + 1}" for k in range(data.field.n_nodes)]
    return _level_tables(data, names) if hasattr(data, "variables") else _binary_tables(data, names)


def _binary_tables(data: Simulated, names: list[str]) -> dict[str, pd.DataFrame]:
    import numpy as np
    import pandas as pd

    first, second = np.nonzero(np.triu(data.field.coupling, 1))
    edges = {
        "node_1": [names[i] for i in first],
        "node_2": [names[j] for j in second],
        "coupling": data.field.coupling[first, second],
    }
    return {
        "rows.csv": pd.DataFrame(data.rows, columns=names),
        "truth.csv": pd.DataFrame(edges),
        "biases.csv": pd.DataFrame({"node": names, "bias": data.field.bias}),
    }


def _level_tables(data: SimulatedLevels, names: list[str]) -> dict[str, pd.DataFrame]:
    import numpy as np
    import pandas as pd

    field, interactions = data.field, data.field.model.interactions
    pairs = np.argwhere(np.triu(field.edges)).tolist()
    groups = [field.coupling[interactions.group(interactions.find(i, j))] for i, j in pairs]
    signed = all(variable.is_scored for variable in data.variables)
    edges = {
        "node_1": [names[i] for i, _ in pairs],
        "node_2": [names[j] for _, j in pairs],
        **(
            {"coupling": [float(group[0]) for group in groups]}
            if signed
            else {"strength": [float(np.linalg.norm(group)) for group in groups]}
        ),
    }
    biases = [
        (names[i], label, energy)
        for i, variable in enumerate(data.variables)
        for label, energy in zip(variable.labels, field.node_energy(i), strict=True)
    ]
    return {
        "rows.csv": data.table.set_axis(names, axis=1),
        "truth.csv": pd.DataFrame(edges),
        "biases.csv": pd.DataFrame(biases, columns=["node", "level", "bias"]),
    }


def write_tables(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write each table under its name."""
    from slabfield.io.atomic import write_atomically

    for name, table in tables.items():

        def write(temporary: Path, table: pd.DataFrame = table) -> None:
            table.to_csv(temporary, index=False)

        write_atomically(folder / name, write)
