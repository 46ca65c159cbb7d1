"""The picture of a posterior as a network."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from slabfield.checks import check_number
from slabfield.plots.layout import place_network, strongest_coupling

Array = NDArray[np.float64]

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"
DASHES = (0.0, (2.2, 1.1))
THINNEST, THICKEST = 0.8, 6.0
FAINTEST = 0.15
LONGEST_NAME = 16


class NetworkSource(Protocol):
    """What a network is drawn from; a ``Posterior`` is one."""

    @property
    def feature_names(self) -> list[str]:
        """A name for each node."""

    @property
    def inclusion_probability(self) -> Array:
        """Posterior probability of each edge, shape (D, D)."""

    @property
    def coupling_mean(self) -> Array:
        """Posterior mean of each coupling given that the edge is there, shape (D, D)."""


def network(posterior: NetworkSource, threshold: float = 0.5, ax: Axes | None = None) -> Axes:
    """Draw the nodes and the edges that are probable enough.

    A line is as wide as the coupling is strong, solid blue where it is positive and dashed orange
    where it is negative, and as opaque as the edge is probable. Nodes joined by probable, strong
    edges lie close together; all pairs count, so that nodes stay where they are when the threshold
    changes.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    threshold : float
        Edges of at least this inclusion probability are drawn.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure, which ``network(...).figure`` gives.

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
    threshold = check_number("threshold", threshold, 0, 1)
    probability = np.asarray(posterior.inclusion_probability, dtype=np.float64)
    strength = np.nan_to_num(np.asarray(posterior.coupling_mean, dtype=np.float64))
    names = list(posterior.feature_names)
    strongest = strongest_coupling(probability, strength)
    places = place_network(probability, strength)
    if ax is None:
        margins = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15)
        ax = Figure(figsize=_size(len(names)), layout=margins).add_subplot()
    rows, columns = np.triu_indices(len(names), 1)
    drawn = (probability[rows, columns] >= threshold) & (probability[rows, columns] > 0)
    rows, columns = rows[drawn], columns[drawn]
    _draw_edges(ax, places, rows, columns, probability, strength, strongest)
    _draw_nodes(ax, places, names, joined=set(rows.tolist()) | set(columns.tolist()))
    _draw_key(ax, strongest, threshold)
    ax.set_title(
        f"{rows.size} of {drawn.size} possible edges have probability {threshold:g} or more",
        loc="left",
        fontsize=10,
        color=GREY,
    )
    return ax


def _size(n_nodes: int) -> tuple[float, float]:
    side = float(np.clip(5 + 0.1 * n_nodes, 6, 16))
    return side * 1.25, side


def _draw_edges(
    ax: Axes,
    places: Array,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    probability: Array,
    strength: Array,
    strongest: float,
) -> None:
    """Draw the least probable edges first, so that the sure ones lie on top."""
    order = np.argsort(probability[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    positive = strength[rows, columns] >= 0
    for sign, colour, dashes in ((positive, BLUE, None), (~positive, ORANGE, DASHES)):
        i, j = rows[sign], columns[sign]
        ax.add_collection(
            LineCollection(
                list(np.stack([places[i], places[j]], axis=1)),
                linewidths=[_width(a, strongest) for a in strength[i, j]],
                colors=[(colour, _opacity(p)) for p in probability[i, j]],
                linestyles=dashes or "solid",
                zorder=1,
            )
        )


def _width(strength: float, strongest: float) -> float:
    return THINNEST + (THICKEST - THINNEST) * min(abs(strength) / strongest, 1)


def _opacity(probability: float) -> float:
    return float(FAINTEST + (1 - FAINTEST) * np.clip(probability, 0, 1) ** 2)


def _draw_nodes(ax: Axes, places: Array, names: list[str], joined: set[int]) -> None:
    fontsize = float(np.clip(11 - len(names) / 16, 5.5, 10))
    for k, name in enumerate(names):
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        colour = "black" if k in joined else GREY
        ax.text(
            float(places[k, 0]),
            float(places[k, 1]),
            short,
            ha="center",
            va="center",
            fontsize=fontsize,
            color=colour,
            parse_math=False,
            zorder=2,
            bbox={"boxstyle": "round,pad=0.3", "fc": "white", "ec": colour, "lw": 0.8},
        )
    # A flat network keeps its shape; any other fills the picture.
    height = max(float(np.abs(places[:, 1]).max()), 0.3)
    ax.set_xlim(-1.1, 1.1)
    ax.set_ylim(-1.08 * height, 1.08 * height)
    ax.axis("off")


def _draw_key(ax: Axes, strongest: float, threshold: float) -> None:
    """Explain colour and dashes, width, and opacity, each with two samples."""
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
        Line2D([], [], label=label, color=colour, linewidth=width, alpha=opacity)
        for label, colour, width, opacity in samples
    ]
    handles[1].set_linestyle(DASHES)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=3,
        frameon=False,
        fontsize=8,
        labelcolor=GREY,
        handlelength=3,
    )
