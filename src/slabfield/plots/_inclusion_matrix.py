"""Heat map of inclusion probabilities."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import BLUE, GREY, LIST_NAME_LENGTH, PLAIN, SMALL, headline, label_width
from slabfield.posterior import Posterior
from slabfield.posterior.node_names import short_name

# Up to this number of nodes, cells show their numbers
MAX_NODES_WITH_NUMBERS = 16
# Names on an axis
MAX_NAMES = 120
# White to dark blue with decreasing lightness, so that the order survives printing in gray
SHADES = LinearSegmentedColormap.from_list("slabfield", ["#FFFFFF", "#9CC9E5", BLUE, "#002A4A"])


def inclusion_matrix(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Plot the inclusion probability of every pair of nodes as a heat map.

    Darker is more probable. Up to 16 nodes, the cells also show the numbers.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import inclusion_matrix
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> inclusion_matrix(posterior).images[0].get_array().shape
    (4, 4)
    """
    posterior = check_posterior(posterior)
    probability = np.array(posterior.inclusion_probability)
    np.fill_diagonal(probability, np.nan)
    n_nodes = posterior.n_nodes
    names = [short_name(name, LIST_NAME_LENGTH) for name in posterior.feature_names]
    font = float(np.clip(9.5 - n_nodes / 25, 5, 9))
    side = float(np.clip(0.33 * n_nodes, 2, 9)) + label_width(names, font)
    ax = check_panels(ax, 1, (side + 1.5, side + 0.8))[0]
    ax.set_facecolor("0.85")
    image = ax.imshow(np.ma.masked_invalid(probability), cmap=SHADES, vmin=0, vmax=1)
    _name_both_sides(ax, names, font)
    if n_nodes <= MAX_NODES_WITH_NUMBERS:
        _write_numbers(ax, probability)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label("inclusion probability", size=SMALL, color=GREY)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    headline(ax, f"Inclusion probabilities of {posterior.draws.n_edges} possible edges")
    return ax


def _name_both_sides(ax: Axes, names: list[str], font: float) -> None:
    n_nodes = len(names)
    # With very many nodes, only some names fit
    shown = slice(None, None, int(np.ceil(n_nodes / MAX_NAMES)))
    ax.set_xticks(np.arange(n_nodes)[shown], names[shown], rotation=90, fontsize=font, **PLAIN)
    ax.set_yticks(np.arange(n_nodes)[shown], names[shown], fontsize=font, **PLAIN)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if n_nodes <= 40:
        ax.set_xticks(np.arange(n_nodes - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(n_nodes - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)


def _write_numbers(
    ax: Axes, probability: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> None:
    for i, j in np.argwhere(np.isfinite(probability)):
        value = probability[i, j]
        color = "white" if value > 0.55 else "black"
        text = f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
        ax.text(j, i, text, ha="center", va="center", fontsize=7, color=color)
