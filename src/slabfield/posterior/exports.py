"""Tables and graphs for other programs, written whole or not at all."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slabfield.files import check_target, write_atomically

if TYPE_CHECKING:
    import pandas as pd

# The wide ones are formulas to spreadsheets in some languages
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_edges(edges: pd.DataFrame, path: Path) -> None:
    """Write the table of edges as CSV.

    A name that a spreadsheet would take for a formula is written with a single quote before it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from slabfield.posterior.exports import write_edges
    >>> edges = pd.DataFrame({"node_1": ["=1+1"], "node_2": ["b"], "mean": [0.5]})
    >>> with TemporaryDirectory() as folder:
    ...     write_edges(edges, Path(folder) / "edges.csv")
    ...     print((Path(folder) / "edges.csv").read_text())
    node_1,node_2,mean
    '=1+1,b,0.5
    <BLANKLINE>
    """
    safe = edges.copy()
    for column in ("node_1", "node_2"):
        safe[column] = [harmless_name(str(name)) for name in edges[column]]

    def write(temporary: Path) -> None:
        safe.to_csv(temporary, index=False, float_format="%.6g", encoding="utf-8")

    write_atomically(path, write)


def read_edges(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of edges back, with names as they were.

    Parameters
    ----------
    path : str or path
        An ``edges.csv``.

    Returns
    -------
    DataFrame
        Its rows and columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from slabfield.posterior.exports import read_edges, write_edges
    >>> edges = pd.DataFrame({"node_1": ["=1+1"], "node_2": ["NA"], "mean": [0.5]})
    >>> with TemporaryDirectory() as folder:
    ...     write_edges(edges, Path(folder) / "edges.csv")
    ...     read_edges(Path(folder) / "edges.csv")["node_1"][0]
    '=1+1'
    """
    import pandas as pd

    names = ("node_1", "node_2")
    # a node may be called NA
    edges = pd.read_csv(path, dtype=dict.fromkeys(names, str), keep_default_na=False, na_values={})
    for column in edges.columns:
        if column in names:
            edges[column] = [original_name(name) for name in edges[column]]
        else:
            edges[column] = pd.to_numeric(edges[column].replace("", None))
    return edges


def write_graph(graph: Any, path: str | os.PathLike[str], form: str) -> None:
    """Write a networkx graph as GraphML or GEXF.

    A character that XML cannot hold is replaced; a number is added to a name that then is the same
    as another.

    Parameters
    ----------
    graph : networkx.Graph
        Nodes named by text.
    path : str or path
        The file, in a folder that exists.
    form : {"graphml", "gexf"}

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import networkx as nx
    >>> from slabfield.posterior.exports import write_graph
    >>> with TemporaryDirectory() as folder:
    ...     write_graph(nx.path_graph(["sleep", "work"]), Path(folder) / "a.graphml", "graphml")
    ...     nx.read_graphml(Path(folder) / "a.graphml").number_of_edges()
    1
    """
    import networkx as nx

    named = nx.relabel_nodes(graph, _xml_names(list(graph)))
    writer = {"graphml": nx.write_graphml, "gexf": nx.write_gexf}[form]
    write_atomically(check_target(path), lambda temporary: writer(named, temporary))


def _xml_names(names: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = safe = NOT_XML.sub("\ufffd", name)
        count = 1
        while safe in taken or (safe != name and safe in names):
            count += 1
            safe = f"{plain} {count}"
        taken.add(safe)
        given[name] = safe
    return given


def harmless_name(name: str) -> str:
    """Put a single quote before a name that a spreadsheet would take for a formula.

    Names that are so already get another one, so that :func:`original_name` takes off what was put.

    Examples
    --------
    >>> from slabfield.posterior.exports import harmless_name
    >>> harmless_name("=1+1"), harmless_name("sleep")
    ("'=1+1", 'sleep')
    """
    return f"'{name}" if name.lstrip("'").startswith(FORMULA_STARTS) else name


def original_name(written: str) -> str:
    """Undo :func:`harmless_name`.

    Examples
    --------
    >>> from slabfield.posterior.exports import original_name
    >>> original_name("'=1+1"), original_name("'tis")
    ('=1+1', "'tis")
    """
    quoted = written.startswith("'") and written.lstrip("'").startswith(FORMULA_STARTS)
    return written[1:] if quoted else written
