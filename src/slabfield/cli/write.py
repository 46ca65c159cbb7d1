"""Writing results."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from slabfield.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

    from slabfield.posterior import Posterior

THRESHOLDS = (0.5, 0.9, 0.99)
MOST_EDGES_A_NODE = 3
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_edges(edges: pd.DataFrame, path: Path) -> None:
    """Write the table of edges as CSV.

    A name that a spreadsheet would take for a formula is written with a single quote before it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from slabfield.cli.write import write_edges
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
        safe[column] = [_harmless(str(name)) for name in edges[column]]

    def write(temporary: Path) -> None:
        safe.to_csv(temporary, index=False, float_format="%.6g", encoding="utf-8")

    write_atomically(path, write)


def readable_threshold(posterior: Posterior) -> float:
    """Choose the lowest of a few thresholds that leaves no more than a few edges a node.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from slabfield.cli.write import readable_threshold
    >>> readable_threshold(SimpleNamespace(inclusion_probability=np.full((20, 20), 0.7)))
    0.9
    """
    probability = posterior.inclusion_probability
    for threshold in THRESHOLDS:
        if (probability >= threshold).sum() <= 2 * MOST_EDGES_A_NODE * len(probability):
            return threshold
    return THRESHOLDS[-1]


def write_network(posterior: Posterior, path: Path, dpi: int = 150) -> None:
    """Write the picture of the network, at a threshold that leaves it readable.

    Examples
    --------
    >>> from slabfield.cli.write import write_network
    >>> callable(write_network)
    True
    """
    from matplotlib.figure import Figure

    from slabfield.plots import network

    figure = network(posterior, readable_threshold(posterior)).figure
    assert isinstance(figure, Figure)

    def write(temporary: Path) -> None:
        with warnings.catch_warnings():
            # Names in scripts the font lacks are drawn as boxes; the table has them in full.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(temporary, dpi=dpi)

    write_atomically(path, write)


def _harmless(name: str) -> str:
    return f"'{name}" if name.startswith(FORMULA_STARTS) else name
