"""Plot of a posterior as a network."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from slabfield.models.interactions import Interactions
from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._layout import bent_lines, part_boxes, place_network, strongest_coupling
from slabfield.plots._style import BLUE, DASHES, GREY, ORANGE, PLAIN, SMALL, headline, short_name
from slabfield.validation import check_number

Array = NDArray[np.float64]

# Half the width of the axes; nodes lie within [-1, 1]
MARGIN = 1.1
# Widths of lines, in points
MIN_WIDTH, MAX_WIDTH = 0.8, 6.0
# Opacity of an edge of probability 0
MIN_OPACITY = 0.1
NEEDED = ("feature_names", "inclusion_probability", "coupling_mean")


class NetworkSource(Protocol):
    """Interface of the input; a ``Posterior`` implements it."""

    @property
    def feature_names(self) -> list[str]:
        """Names of the nodes."""

    @property
    def inclusion_probability(self) -> Array:
        """Posterior probability of each edge, shape (D, D)."""

    @property
    def coupling_mean(self) -> Array:
        """Posterior mean of each coupling given presence, shape (D, D)."""


def network(posterior: NetworkSource, threshold: float = 0.5, ax: Axes | None = None) -> Axes:
    """Plot the network of probable edges.

    The width of a line shows the strength of the coupling, its opacity the inclusion probability;
    positive couplings are solid blue, negative ones dashed orange. Nodes joined by probable,
    strong edges lie close together. All pairs count, so positions do not depend on the threshold.
    Nodes without a drawn edge are gray.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    threshold : float
        Smallest inclusion probability of an edge that is drawn.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure, available as ``network(...).figure``.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from slabfield.plots import network
    >>> probability = np.array([[0, 0.9, 0.1], [0.9, 0, 0.6], [0.1, 0.6, 0]])
    >>> coupling = np.array([[0, 1.5, 0.2], [1.5, 0, -0.8], [0.2, -0.8, 0]])
    >>> posterior = SimpleNamespace(
    ...     feature_names=["sleep", "work", "joy"],
    ...     inclusion_probability=probability,
    ...     coupling_mean=coupling,
    ... )
    >>> network(posterior).get_title(loc="left")
    '2 of 3 possible edges have probability 0.5 or more'
    """
    posterior = check_posterior(posterior, NEEDED)
    threshold = check_number("threshold", threshold, 0, 1)
    probability = np.asarray(posterior.inclusion_probability, dtype=np.float64)
    strength = np.nan_to_num(np.asarray(posterior.coupling_mean, dtype=np.float64))
    names = list(posterior.feature_names)
    strongest = strongest_coupling(probability, strength)
    ax = check_panels(ax, 1, network_size(len(names)))[0]
    places, boxes = fit_names(ax, place_network(probability, strength), names)
    rows, columns = Interactions.pairs(len(names)).ends
    drawn = (probability[rows, columns] >= threshold) & (probability[rows, columns] > 0)
    rows, columns = rows[drawn], columns[drawn]
    _draw_edges(ax, places, boxes, rows, columns, probability, strength, strongest)
    draw_nodes(ax, places, names, joined=set(rows.tolist()) | set(columns.tolist()))
    _draw_legend(ax, strongest, threshold)
    headline(
        ax, f"{rows.size} of {drawn.size} possible edges have probability {threshold:g} or more"
    )
    return ax


def network_size(n_nodes: int) -> tuple[float, float]:
    """Return the width and height in inches of a plot of ``n_nodes`` nodes."""
    side = float(np.clip(5.5 + 0.055 * n_nodes, 6, 16))
    return side * 1.25, side


def _draw_edges(
    ax: Axes,
    places: Array,
    boxes: Array,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    probability: Array,
    strength: Array,
    strongest: float,
) -> None:
    """Draw edges in order of probability, so that the most probable ones lie on top."""
    order = np.argsort(probability[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    positive = strength[rows, columns] >= 0
    for sign, color, dashes in ((positive, BLUE, None), (~positive, ORANGE, DASHES)):
        i, j = rows[sign], columns[sign]
        ax.add_collection(
            LineCollection(
                bent_lines(places, boxes, i, j),
                linewidths=[_width(a, strongest) for a in strength[i, j]],
                colors=[(color, _opacity(p)) for p in probability[i, j]],
                linestyles=dashes or "solid",
                zorder=1,
            )
        )


def _width(strength: float, strongest: float) -> float:
    return MIN_WIDTH + (MAX_WIDTH - MIN_WIDTH) * min(abs(strength) / strongest, 1)


def _opacity(probability: float) -> float:
    return float(MIN_OPACITY + (1 - MIN_OPACITY) * np.clip(probability, 0, 1) ** 3)


def draw_nodes(ax: Axes, places: Array, names: list[str], joined: set[int]) -> None:
    """Write the names of the nodes at their positions; nodes without an edge are gray."""
    fontsize = _font_size(len(names))
    for k, name in enumerate(names):
        color = "black" if k in joined else GREY
        ax.text(
            float(places[k, 0]),
            float(places[k, 1]),
            short_name(name),
            ha="center",
            va="center",
            fontsize=fontsize,
            color=color,
            **PLAIN,
            zorder=2,
            bbox={"boxstyle": "round,pad=0.3", "fc": "white", "ec": color, "lw": 0.8},
        )
    height = _height(places)
    ax.set_xlim(-MARGIN, MARGIN)
    ax.set_ylim(-MARGIN * height, MARGIN * height)
    ax.axis("off")


def fit_names(ax: Axes, places: Array, names: list[str]) -> tuple[Array, Array]:
    """Move nodes so that their names do not overlap; return positions and sizes of the names."""
    unit = _font_size(len(names)) * ax.figure.dpi / 72
    letters = np.array([len(short_name(name)) for name in names])
    # A letter is about 0.62 of the font size wide; the rest is the frame and padding
    wide, high = (0.62 * letters + 1.2) * unit, np.full(len(names), 2.2 * unit)
    scale = 2 * MARGIN * np.array([1, _height(places)]) / (ax.bbox.width, ax.bbox.height)
    bounds = np.array([1.0, _height(places)])
    sizes = np.column_stack([wide, high]) * scale
    return part_boxes(places, sizes, bounds), sizes


def _font_size(n_nodes: int) -> float:
    return float(np.clip(11 - n_nodes / 32, 5.5, 10.5))


def _height(places: Array) -> float:
    """Half the height of the plot; a flat network keeps its aspect ratio."""
    return max(float(np.abs(places[:, 1]).max()), 0.3)


def _draw_legend(ax: Axes, strongest: float, threshold: float) -> None:
    """Draw a legend of sign, strength and probability, with two samples each."""
    weak = strongest / 4
    sure, unsure = _opacity(1.0), _opacity(max(threshold, 0.5))
    samples = [
        ("positive coupling", BLUE, 2.5, 1.0),
        ("negative coupling", ORANGE, 2.5, 1.0),
        (f"strength {strongest:.2g}", GREY, _width(strongest, strongest), 1.0),
        (f"strength {weak:.2g}", GREY, _width(weak, strongest), 1.0),
        ("probability 1", GREY, 2.5, sure),
        (f"probability {max(threshold, 0.5):g}", GREY, 2.5, unsure),
    ]
    handles = [
        Line2D([], [], label=label, color=color, linewidth=width, alpha=opacity)
        for label, color, width, opacity in samples
    ]
    handles[1].set_linestyle(DASHES)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=3,
        frameon=False,
        fontsize=SMALL,
        labelcolor=GREY,
        handlelength=3,
    )
