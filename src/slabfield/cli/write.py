"""Writing results."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from slabfield.files import write_atomically
from slabfield.posterior.exports import write_edges

if TYPE_CHECKING:
    import pandas as pd

    from slabfield.posterior import Posterior


def write_results(posterior: Posterior, edges: pd.DataFrame, folder: Path) -> list[str]:
    """Write table, picture, graph, posterior and report, each whole or not at all.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    edges : DataFrame
        The table that ``Posterior.to_dataframe`` returns.
    folder : Path
        Where to write.

    Returns
    -------
    list of str
        The names of the files.

    Examples
    --------
    >>> from slabfield.cli.write import write_results
    >>> callable(write_results)
    True
    """
    from slabfield.report import write_report

    write_edges(edges, folder / "edges.csv")
    write_network(posterior, folder / "network.png")
    posterior.write_graphml(folder / "network.graphml")
    posterior.save(folder / "posterior.nc")
    write_report(posterior, folder / "report.html")
    return ["edges.csv", "network.png", "network.graphml", "posterior.nc", "report.html"]


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
    from slabfield.plots.threshold import readable_threshold

    figure = network(posterior, readable_threshold(posterior)).figure
    assert isinstance(figure, Figure)

    def write(temporary: Path) -> None:
        with warnings.catch_warnings():
            # Names in scripts the font lacks are drawn as boxes; the table has them in full.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(temporary, dpi=dpi)

    write_atomically(path, write)
