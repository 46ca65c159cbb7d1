"""Atomic export of tables and graphs for other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.io.atomic import check_target, write_atomically

if TYPE_CHECKING:
    import pandas as pd

# Spreadsheets in some languages read the full-width characters as formulas, too
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
# Columns of a table of edges that hold text
NODES, TEXTS = ("node_1", "node_2"), ("node_1", "node_2", "evidence", "kind")
NUMBER = re.compile(r"-?\d+(\.\d+)?")
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_edges(edges: pd.DataFrame, path: Path) -> None:
    """Write the table of edges as CSV.

    A name that a spreadsheet would read as a formula gets a leading single quote.
    """
    _write_table(edges, NODES, path)


def write_thresholds(thresholds: pd.DataFrame, path: Path) -> None:
    """Write the table of thresholds as CSV, with names as in :func:`write_edges`.

    Labels that are numbers, such as -1, stay as they are.
    """
    labels = thresholds["level"]
    safe = [label if NUMBER.fullmatch(label) else harmless_name(label) for label in labels]
    _write_table(thresholds.assign(level=safe), ("node",), path)


def _write_table(table: pd.DataFrame, names: Sequence[str], path: Path) -> None:
    """Write a table as CSV; the names in some columns are made harmless."""
    safe = table.copy()
    for column in names:
        safe[column] = [harmless_name(str(name)) for name in table[column]]

    def write(temporary: Path) -> None:
        safe.to_csv(temporary, index=False, float_format="%.6g", encoding="utf-8")

    write_atomically(path, write)


def read_edges(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of edges and restore the original names.

    Parameters
    ----------
    path : str or path
        A file that :func:`write_edges` wrote, such as ``edges.csv``.
    """
    import pandas as pd

    # A node may be called NA
    edges = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str), keep_default_na=False, na_values={})
    for column in NODES:
        edges[column] = [original_name(name) for name in edges[column]]
    for column in edges.columns.difference([*TEXTS]):
        edges[column] = pd.to_numeric(edges[column].replace("", None))
    return edges


def write_matrix(matrix: NDArray[np.float64], names: Sequence[str], path: Path) -> None:
    """Write a (D, D) matrix as CSV, with the names of the nodes in the first row and column.

    R reads it with ``read.csv(path, row.names = 1, check.names = FALSE)``. A name that a
    spreadsheet would read as a formula gets a leading single quote.
    """
    import pandas as pd

    safe = [harmless_name(name) for name in names]
    table = pd.DataFrame(matrix, safe, safe)

    def write(temporary: Path) -> None:
        table.to_csv(temporary, float_format="%.6g", encoding="utf-8")

    write_atomically(path, write)


def write_graph(graph: Any, path: str | os.PathLike[str], form: str) -> None:
    """Write a networkx graph as GraphML or GEXF; nodes get the attributes ``name`` and ``label``.

    Characters that XML cannot hold are replaced; names that become equal get a number appended.

    Parameters
    ----------
    graph : networkx.Graph
        Graph whose nodes are strings.
    form : {"graphml", "gexf"}
    """
    import networkx as nx

    named = nx.relabel_nodes(graph, _xml_names(list(graph)))
    for node, attributes in named.nodes.items():
        attributes.update(name=node, label=node)
    writer = {"graphml": nx.write_graphml, "gexf": nx.write_gexf}[form]
    write_atomically(check_target(path), lambda temporary: writer(named, temporary))


def _xml_names(names: list[str]) -> dict[str, str]:
    replacement: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = safe = NOT_XML.sub("\ufffd", name)
        count = 1
        while safe in taken or (safe != name and safe in names):
            count += 1
            safe = f"{plain} {count}"
        taken.add(safe)
        replacement[name] = safe
    return replacement


def harmless_name(name: str) -> str:
    """Put a single quote before a name that a spreadsheet would read as a formula.

    Names that already have such a quote get another one, so that :func:`original_name` is exact.
    """
    return f"'{name}" if name.lstrip("'").startswith(FORMULA_STARTS) else name


def original_name(written: str) -> str:
    """Undo :func:`harmless_name`."""
    quoted = written.startswith("'") and written.lstrip("'").startswith(FORMULA_STARTS)
    return written[1:] if quoted else written
