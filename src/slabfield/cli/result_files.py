"""Writing of result files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slabfield.cli.option_values import FORMATS, parse_formats
from slabfield.io.atomic import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from slabfield.posterior import Posterior

# Table of the thresholds, if nodes have levels
THRESHOLDS = "thresholds.csv"
# Names of the plots that are written
PICTURES = ("network", "inclusion", "forest", "evidence", "convergence")
# Metadata without the time of writing, so that equal results are equal files
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
# Identifiers in SVG files that do not change from run to run, and fonts that journals take in PDFs
FILE_STYLE: dict[Any, Any] = {"svg.hashsalt": "slabfield", "pdf.fonttype": 42}


class PictureOptions(NamedTuple):
    """Which edges are drawn, and how pictures are written.

    Parameters
    ----------
    threshold : float, optional
        Smallest inclusion probability of the edges in the network, the forest plot, the graph file
        and the first view of the report; by default as in :func:`slabfield.plots.network`.
    formats : sequence of str
        Of "png", "svg" and "pdf".
    dpi : int
        Resolution of PNG files, in dots per inch.
    """

    threshold: float | None = None
    formats: Sequence[str] = ("png",)
    dpi: int = 150


def read_picture_options(threshold: float | None, formats: str | None, dpi: int) -> PictureOptions:
    """Check the options of a command about pictures, before any work is done."""
    return PictureOptions(threshold, parse_formats(formats), dpi)


def write_results(
    posterior: Posterior,
    edges: pd.DataFrame,
    folder: Path,
    options: PictureOptions = PictureOptions(),  # noqa: B008
    source: str = "",
) -> list[str]:
    """Write tables, plots, graph, posterior and report, each atomically; return their names.

    Parameters
    ----------
    edges : DataFrame
        The table that ``Posterior.to_dataframe`` returns.
    source : str
        As for :func:`slabfield.report.write_report`.
    """
    import numpy as np

    from slabfield.posterior.exports import write_edges, write_matrix, write_thresholds
    from slabfield.posterior.storage import POSTERIOR_FILE
    from slabfield.report import write_report

    threshold = threshold_of(posterior, options)
    write_edges(edges, folder / "edges.csv")
    names = posterior.feature_names
    write_matrix(posterior.inclusion_probability, names, folder / "inclusion.csv")
    couplings = np.nan_to_num(posterior.coupling_given_presence)
    write_matrix(couplings, names, folder / "couplings.csv")
    (folder / THRESHOLDS).unlink(missing_ok=True)  # of an earlier result
    if posterior.has_levels:
        write_thresholds(posterior.thresholds(), folder / THRESHOLDS)
    for name in PICTURES:  # of an earlier result, in other formats
        for form in set(FORMATS) - set(options.formats):
            (folder / f"{name}.{form}").unlink(missing_ok=True)
    pictures = write_pictures(posterior, folder, options._replace(threshold=threshold))
    posterior.write_graphml(folder / "network.graphml", threshold)
    posterior.save(folder / POSTERIOR_FILE)
    write_report(posterior, folder / "report.html", threshold, source)
    tables = ["edges.csv", "inclusion.csv", "couplings.csv"]
    tables += [THRESHOLDS] if posterior.has_levels else []
    return [*tables, *pictures, "network.graphml", POSTERIOR_FILE, "report.html"]


def source_text(posterior: Posterior, at: datetime) -> str:
    """Say which file a posterior is of, when and with which version it was made."""
    settings = posterior.settings
    version = settings.get("versions", {}).get("slabfield", "of an unknown version")
    fitted = f"Fitted on {at:%Y-%m-%d} with slabfield {version}."
    if "file" not in settings:
        return fitted
    size = f"{settings['n_rows']:,} rows \N{MULTIPLICATION SIGN} {posterior.n_nodes:,} columns"
    return f"{settings['file']}: {size}. {fitted}"


def written_at(path: Path) -> datetime:
    """Return when a file was written, in local time."""
    return datetime.fromtimestamp(path.stat().st_mtime)


def write_pictures(posterior: Posterior, folder: Path, options: PictureOptions) -> list[str]:
    """Write the main plots in every format; return the names of the files."""
    import numpy as np

    from slabfield import plots

    threshold = threshold_of(posterior, options)
    drawn: dict[str, Any] = {
        "network": plots.network(posterior, threshold),
        "inclusion": plots.inclusion_matrix(posterior),
        "forest": plots.edge_forest(posterior, threshold=threshold),
        "evidence": plots.evidence(posterior),
        "convergence": plots.convergence(posterior),
    }
    written = []
    for name, axes in drawn.items():
        figure = np.asarray(axes).flat[0].figure
        for form in options.formats:
            _write_figure(figure, folder / f"{name}.{form}", form, options.dpi)
            written.append(f"{name}.{form}")
    return written


def threshold_of(posterior: Posterior, options: PictureOptions) -> float:
    """Return the threshold that was given, or the one that keeps the network readable."""
    from slabfield.plots._threshold import readable_threshold

    return readable_threshold(posterior) if options.threshold is None else options.threshold


def _write_figure(figure: Figure, path: Path, form: str, dpi: int) -> None:
    import matplotlib as mpl

    def write(temporary: Path) -> None:
        with warnings.catch_warnings(), mpl.rc_context(FILE_STYLE):
            # characters that the font lacks are drawn as boxes; the table has them in full
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(temporary, format=form, dpi=dpi, metadata=METADATA.get(form))

    write_atomically(path, write)
