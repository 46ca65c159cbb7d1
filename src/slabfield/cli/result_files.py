"""Writing of result files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slabfield.io.atomic import write_atomically
from slabfield.posterior.exports import write_edges

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from slabfield.posterior import Posterior


def write_results(posterior: Posterior, edges: pd.DataFrame, folder: Path) -> list[str]:
    """Write the table, plots, graph, posterior and report, each atomically.

    Parameters
    ----------
    edges : DataFrame
        The table that ``Posterior.to_dataframe`` returns.
    """
    from slabfield.report import write_report

    write_edges(edges, folder / "edges.csv")
    pictures = write_pictures(posterior, folder)
    posterior.write_graphml(folder / "network.graphml")
    posterior.save(folder / "posterior.nc")
    write_report(posterior, folder / "report.html")
    return ["edges.csv", *pictures, "network.graphml", "posterior.nc", "report.html"]


def write_pictures(posterior: Posterior, folder: Path, dpi: int = 150) -> list[str]:
    """Write the main plots; the threshold of the network keeps it readable."""
    import numpy as np

    from slabfield import plots
    from slabfield.plots._threshold import readable_threshold

    drawn: dict[str, Any] = {
        "network.png": plots.network(posterior, readable_threshold(posterior)),
        "inclusion.png": plots.inclusion_matrix(posterior),
        "forest.png": plots.edge_forest(posterior),
        "evidence.png": plots.evidence(posterior),
        "convergence.png": plots.convergence(posterior),
    }
    for name, axes in drawn.items():
        figure = np.asarray(axes).flat[0].figure

        def write(temporary: Path, figure: Figure = figure) -> None:
            with warnings.catch_warnings():
                # characters that the font lacks are drawn as boxes; the table has them in full
                warnings.filterwarnings("ignore", message="Glyph .* missing from font")
                figure.savefig(temporary, dpi=dpi)

        write_atomically(folder / name, write)
    return list(drawn)
