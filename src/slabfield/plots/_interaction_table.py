"""Heat map of the table of a pair of nodes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import (
    BLUE,
    GREY,
    LIST_NAME_LENGTH,
    ORANGE,
    PLAIN,
    SMALL,
    headline,
    label_width,
)
from slabfield.posterior import Posterior
from slabfield.posterior.node_names import short_name
from slabfield.validation import find_node

# Orange below zero, white at zero, blue above, as the couplings of a network
SHADES = LinearSegmentedColormap.from_list("slabfield_signed", [ORANGE, "#FFFFFF", BLUE])
# Up to this number of cells, they show their numbers
MAX_CELLS_WITH_NUMBERS = 150
# Size of a cell, in inches
CELL = 0.55


def interaction_table(
    posterior: Posterior, a: str | int, b: str | int, ax: Axes | None = None
) -> Axes:
    """Plot the log weights of all pairs of levels of two nodes as a heat map.

    Posterior means given presence of the edge, as
    :meth:`slabfield.Posterior.interaction_table` returns them. Blue pairs of levels occur together
    more often than without the edge, all other nodes held fixed, orange ones less often, relative
    to the levels of score 0, or for a nominal node to the mean over its levels.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    a, b : str or int
        The nodes, by name or number; rows are the levels of the first.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import interaction_table
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> interaction_table(posterior, "x0", "x1").images[0].get_array().shape
    (2, 2)
    """
    posterior = check_posterior(posterior)
    table = posterior.interaction_table(a, b)
    weights = table.to_numpy()
    rows, columns = (
        [short_name(label, LIST_NAME_LENGTH) for label in index]
        for index in (table.index, table.columns)
    )
    width = CELL * len(columns) + label_width(rows, SMALL) + 1.8
    height = CELL * len(rows) + label_width(columns, SMALL) + 1.0
    ax = check_panels(ax, 1, (max(width, 5.0), max(height, 2.5)))[0]
    ax.set_facecolor("0.85")
    largest = float(np.nanmax(np.abs(weights), initial=0.0)) or 1.0
    image = ax.imshow(np.ma.masked_invalid(weights), cmap=SHADES, vmin=-largest, vmax=largest)
    ax.set_xticks(range(len(columns)), columns, rotation=90, fontsize=SMALL, **PLAIN)
    ax.set_yticks(range(len(rows)), rows, fontsize=SMALL, **PLAIN)
    ax.set_xlabel(short_name(str(table.columns.name), LIST_NAME_LENGTH), color=GREY, **PLAIN)
    ax.set_ylabel(short_name(str(table.index.name), LIST_NAME_LENGTH), color=GREY, **PLAIN)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if weights.size <= MAX_CELLS_WITH_NUMBERS:
        for i, j in np.argwhere(np.isfinite(weights)):
            dark = abs(weights[i, j]) > 0.6 * largest
            ax.text(
                j, i, f"{weights[i, j]:z.2f}", ha="center", va="center", fontsize=7,
                color="white" if dark else "black",
            )  # fmt: skip
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.set_label("log weight", size=SMALL, color=GREY)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    i, j = (find_node(which, node, posterior.feature_names) for which, node in (("a", a), ("b", b)))
    probability = posterior.inclusion_probability[i, j]
    headline(ax, f"Log weights if the edge is present (probability {probability:.2f})")
    return ax
