"""Plot of a posterior as a network."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import is_color_like, to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from numpy.typing import ArrayLike, NDArray

from slabfield.models.interactions import Interactions
from slabfield.plots._inputs import check_panels, check_posterior, per_node
from slabfield.plots._layout import bent_lines, part_boxes, place_network, strongest_coupling
from slabfield.plots._style import (
    BLUE,
    DASHES,
    GREY,
    ORANGE,
    PLAIN,
    SMALL,
    UNSIGNED,
    headline,
    wrap_name,
)
from slabfield.plots._threshold import readable_threshold
from slabfield.validation import InputError, Parameter, check_number
from slabfield.validation.errors import shown_value

Array = NDArray[np.float64]

# Widths of lines, in points
MIN_WIDTH, MAX_WIDTH = 0.8, 6.0
# Opacity of an edge of probability 0
MIN_OPACITY = 0.1
# Share of the area that names may take, in a new figure and in any
NEW_SHARE, MAX_SHARE = 0.22, 0.4
# Smallest and largest height of a new figure, in inches, and its width over its height
MIN_HEIGHT, MAX_HEIGHT, ASPECT = 6.0, 16.0, 1.25
# Width of a column of the legend, in inches of axes whose layout is not final
COLUMN_WIDTH = 1.3
# Space around a name and between lines, as a share of the font size
PADDING, LINE_HEIGHT = 0.35, 1.25
NEEDED = ("feature_names", "inclusion_probability", "coupling_given_presence")


class NetworkSource(Protocol):
    """Interface of the input; a ``Posterior`` implements it."""

    @property
    def feature_names(self) -> list[str]:
        """Names of the nodes."""

    @property
    def inclusion_probability(self) -> Array:
        """Posterior probability of each edge, shape (D, D)."""

    @property
    def coupling_given_presence(self) -> Array:
        """Posterior mean of each coupling given presence, shape (D, D)."""


def network(
    posterior: NetworkSource,
    threshold: float | None = None,
    *,
    max_coupling: float | None = None,
    pos: Mapping[Any, Any] | ArrayLike | None = None,
    labels: Mapping[Any, str] | Sequence[str] | None = None,
    node_color: Any = None,
    node_size: Any = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the network of probable edges.

    The width of a line shows the absolute coupling given presence, its opacity the inclusion
    probability; positive couplings are solid blue, negative ones dashed orange. Edges without a
    sign, of nominal nodes, are solid violet, and their width shows the strength. Nodes joined by
    probable, strong edges lie close together. All pairs count, so neither positions nor widths
    depend on the threshold. Nodes without a drawn edge are gray.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    threshold : float, optional
        Smallest inclusion probability of an edge that is drawn. By default 0.5; 0.9 if there would
        be more than three edges per node, and 0.99 if there still are.
    max_coupling : float, optional
        Absolute coupling of the widest lines; stronger edges are as wide. Pass the same number to
        several plots to compare them. By default the largest of all edges of probability 0.5 or
        more.
    pos : mapping or array of shape (D, 2), optional
        Position of every node, by name or in order, in any unit: what
        :func:`slabfield.plots.network_layout` or a layout of networkx returns. Nodes move from
        there only where their names would overlap.
    labels : mapping or sequence of str, optional
        Text to show in place of names: a mapping from some names, or a list for all nodes.
    node_color : color, mapping or sequence of colors, optional
        Background of names; white by default.
    node_size : float, mapping or sequence of floats, optional
        Size of names relative to the usual one; 1 by default.
    title : str, optional
        Title, in place of the number of edges drawn.
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
    ...     coupling_given_presence=coupling,
    ... )
    >>> network(posterior).get_title(loc="left")
    '2 of 3 possible edges have probability 0.5 or more'
    >>> labels = {"joy": "joy of life"}
    >>> ax = network(posterior, 0.8, labels=labels, node_color={"sleep": "gold"}, max_coupling=2)
    >>> [text.get_text() for text in ax.texts]
    ['sleep', 'work', 'joy of life']
    """
    posterior = check_posterior(posterior, NEEDED)
    names = list(posterior.feature_names)
    shown = [str(label) for label in per_node("labels", labels, names, names)]
    colors = _node_colors(node_color, names)
    size = _node_sizes(node_size, names)
    given = None if pos is None else _given_places(pos, names)
    threshold = (
        readable_threshold(posterior)
        if threshold is None
        else check_number("threshold", threshold, 0, 1)
    )
    probability, strength = _matrices(posterior)
    strongest = (
        strongest_coupling(probability, strength)
        if max_coupling is None
        else check_number("max_coupling", max_coupling, 0, include_low=False)
    )
    rows, columns = Interactions.pairs(len(names)).ends
    drawn = (probability[rows, columns] >= threshold) & (probability[rows, columns] > 0)
    rows, columns = rows[drawn], columns[drawn]
    signed = np.asarray(getattr(posterior, "has_sign", np.True_), dtype=np.bool_)
    signed = np.broadcast_to(signed, probability.shape)
    counted = f"{rows.size} of {drawn.size} possible edges have probability {threshold:g} or more"
    ax = check_panels(ax, 1, _size_for(shown, size))[0]
    headline(ax, counted if title is None else title)
    joined = set(rows.tolist()) | set(columns.tolist())
    exceeded = bool(np.any(np.abs(strength[rows, columns]) > strongest))
    all_signed = bool(np.all(signed[rows, columns]))
    _draw_legend(ax, strongest, exceeded, threshold, len(joined) < len(names), all_signed)
    _settle_layout(ax)
    placed = place_network(probability, strength) if given is None else given
    places, boxes = fit_names(ax, placed, shown, size, keep_aspect=given is not None)
    _draw_edges(ax, places, boxes, rows, columns, probability, strength, signed, strongest)
    draw_nodes(ax, places, shown, joined, colors, size)
    return ax


def network_layout(posterior: NetworkSource) -> dict[str, tuple[float, float]]:
    """Return the positions that :func:`slabfield.plots.network` gives to nodes.

    Nodes joined by probable, strong edges lie close together. Pass the result as ``pos`` to plots
    of other posteriors, so that every node has the same place in all of them.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.

    Returns
    -------
    dict
        Position (x, y) of every node, by name, within [-1, 1]; networkx draws with it, too.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from slabfield.plots import network, network_layout
    >>> one = SimpleNamespace(
    ...     feature_names=["sleep", "work"],
    ...     inclusion_probability=np.array([[0, 0.9], [0.9, 0]]),
    ...     coupling_given_presence=np.array([[0, 1.5], [1.5, 0]]),
    ... )
    >>> network_layout(one)
    {'sleep': (-1.0, 0.0), 'work': (1.0, 0.0)}
    >>> ax = network(one, pos=network_layout(one))
    """
    posterior = check_posterior(posterior, NEEDED)
    places = place_network(*_matrices(posterior))
    return {
        name: (float(x), float(y))
        for name, (x, y) in zip(posterior.feature_names, places, strict=True)
    }


def network_size(n_nodes: int) -> tuple[float, float]:
    """Return the width and height in inches of a plot of ``n_nodes`` nodes with short names."""
    height = float(np.clip(5.5 + 0.055 * n_nodes, MIN_HEIGHT, MAX_HEIGHT))
    return height * ASPECT, height


def fit_names(
    ax: Axes,
    places: Array,
    names: list[str],
    size: ArrayLike = 1.0,
    keep_aspect: bool = False,
) -> tuple[Array, Array]:
    """Move nodes so that their names do not overlap; return positions and sizes of the names.

    Names lie within the axes, whose limits are set. With ``keep_aspect``, positions may be in any
    unit, and a unit is as long horizontally as vertically; otherwise they are within [-1, 1].
    """
    # Rounded, since the layout of the figure may differ in the last digit
    frame = np.round(np.array([ax.bbox.width, ax.bbox.height]) * 72 / ax.figure.dpi, 3)
    if keep_aspect:
        places = (places - (places.min(axis=0) + places.max(axis=0)) / 2) / frame
        places = places / (float(np.abs(places).max()) or 1.0)
    # A flat network does not fill the height of the plot
    height = 1.0 if keep_aspect else max(float(np.abs(places[:, 1]).max()), 0.3)
    ax.set_xlim(-1, 1)
    ax.set_ylim(-height, height)
    boxes = _name_sizes(names, size) * _font_size(ax, names, size) / frame * (2, 2 * height)
    bounds = np.maximum(np.array([1.0, height]) - boxes / 2, 0)
    # Shrink the layout until no name at its edge crosses the frame
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.nanmin(bounds / np.abs(places), axis=0, initial=1.0)
    shrink = shrink.min() if keep_aspect else shrink
    return part_boxes(places * shrink, boxes, bounds), boxes


def draw_nodes(
    ax: Axes,
    places: Array,
    names: list[str],
    joined: set[int],
    colors: Sequence[Any] | None = None,
    size: ArrayLike = 1.0,
) -> None:
    """Write the names of the nodes at their positions; nodes without an edge are gray."""
    sizes = np.broadcast_to(size, len(names)) * _font_size(ax, names, size)
    for k, name in enumerate(names):
        fill = "white" if colors is None else colors[k]
        outline = "black" if k in joined else GREY
        ax.text(
            float(places[k, 0]),
            float(places[k, 1]),
            wrap_name(name),
            ha="center",
            va="center",
            fontsize=float(sizes[k]),
            linespacing=LINE_HEIGHT / 1.2,
            color=outline if _is_light(fill) else "white",
            **PLAIN,
            zorder=2,
            bbox={"boxstyle": f"round,pad={PADDING}", "fc": fill, "ec": outline, "lw": 0.8},
        )
    ax.axis("off")


def _settle_layout(ax: Axes) -> None:
    """Hide the axis and let the figure arrange its axes, so that their size is final."""
    ax.axis("off")
    figure = ax.figure.figure
    if figure.get_layout_engine() is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure.draw_without_rendering()


def _matrices(posterior: NetworkSource) -> tuple[Array, Array]:
    """Inclusion probabilities, and couplings, 0 where an edge was never present."""
    probability = np.asarray(posterior.inclusion_probability, dtype=np.float64)
    strength = np.asarray(posterior.coupling_given_presence, dtype=np.float64)
    return probability, np.nan_to_num(strength)


def _node_colors(node_color: Any, names: list[str]) -> list[Any]:
    if node_color is not None and is_color_like(node_color):
        return [node_color] * len(names)
    colors = per_node("node_color", node_color, names, ["white"] * len(names))
    for color in colors:
        if not is_color_like(color):
            raise InputError(
                "not-a-color",
                "{parameter} must hold colors that matplotlib knows; got {color}. Pass for example "
                "{example}.",
                parameter=Parameter("node_color"),
                color=shown_value(color),
                example=Parameter("node_color", {names[0]: "gold"}),
            )
    return colors


def _node_sizes(node_size: Any, names: list[str]) -> Array:
    if np.ndim(node_size) == 0 and not isinstance(node_size, Mapping | None):
        node_size = [node_size] * len(names)
    sizes = per_node("node_size", node_size, names, [1.0] * len(names))
    return np.array([check_number("node_size", size, 0.1, 10) for size in sizes])


def _given_places(pos: Any, names: list[str]) -> Array:
    """Return positions as an array (D, 2)."""
    missing = [(np.nan, np.nan)] * len(names)
    places = per_node("pos", pos, names, missing)
    try:
        array = np.array(places, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    bad = [name for name, place in zip(names, array, strict=False) if not np.isfinite(place).all()]
    if array.shape != (len(names), 2) or bad:
        raise InputError(
            "invalid-position",
            "{parameter} must have a position (x, y) of two numbers for each of the {n_nodes} "
            "nodes; found {found}. Add what is missing.",
            parameter=Parameter("pos"),
            n_nodes=len(names),
            found=f"none for {bad[0]!r}" if bad else shown_value(pos),
        )
    return array


def _name_sizes(names: list[str], size: ArrayLike) -> Array:
    """Width and height of each name with its frame, in units of the usual font size."""
    font = FontProperties(size=100)
    found = []
    for name in names:
        lines = wrap_name(name).split("\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # characters that the font lacks
            wide = max(
                text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]
                for line in lines
            )
        found.append(
            [1.05 * wide / 100 + 2 * PADDING + 0.3, LINE_HEIGHT * len(lines) + 2 * PADDING + 0.3]
        )
    return np.asarray(np.array(found) * np.broadcast_to(size, len(names))[:, None])


def _size_for(names: list[str], size: ArrayLike) -> tuple[float, float]:
    """Return the size in inches of a new figure in which all names have room."""
    area = np.prod(_name_sizes(names, size) * _largest_font(len(names)) / 72, axis=1).sum()
    height = max(network_size(len(names))[1], float(np.sqrt(area / NEW_SHARE / ASPECT)) + 0.8)
    height = min(height, MAX_HEIGHT)
    return height * ASPECT, height


def _font_size(ax: Axes, names: list[str], size: ArrayLike) -> float:
    """Usual font size of names in points; smaller where they would take too much of the axes."""
    area = round(ax.bbox.width * ax.bbox.height * (72 / ax.figure.dpi) ** 2, 3)
    needed = float(np.prod(_name_sizes(names, size), axis=1).sum())
    return min(_largest_font(len(names)), float(np.sqrt(MAX_SHARE * area / needed)))


def _largest_font(n_nodes: int) -> float:
    return float(np.clip(11 - n_nodes / 32, 5.5, 10.5))


def _is_light(color: Any) -> bool:
    return float(np.dot(to_rgb(color), (0.299, 0.587, 0.114))) > 0.5


def _draw_edges(
    ax: Axes,
    places: Array,
    boxes: Array,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    probability: Array,
    strength: Array,
    signed: NDArray[np.bool_],
    strongest: float,
) -> None:
    """Draw edges in order of probability, so that the most probable ones lie on top."""
    order = np.argsort(probability[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    positive, has_sign = strength[rows, columns] >= 0, signed[rows, columns]
    styles = [(has_sign & positive, BLUE, None), (has_sign & ~positive, ORANGE, DASHES)]
    if not has_sign.all():
        styles.append((~has_sign, UNSIGNED, None))
    for chosen, color, dashes in styles:
        i, j = rows[chosen], columns[chosen]
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


def _draw_legend(
    ax: Axes,
    strongest: float,
    exceeded: bool,
    threshold: float,
    some_alone: bool,
    all_signed: bool,
) -> None:
    """Draw a legend with two samples each of color and style, width, and opacity.

    Gray names and edges without a sign have one each, if there are any.
    """
    weak, unsure = strongest / 4, max(threshold, 0.5)
    more = " or more" if exceeded else ""
    what = "coupling of" if all_signed else "strength of"
    plus_minus = "\N{PLUS-MINUS SIGN}" if all_signed else ""
    samples = [
        ("positive coupling", BLUE, 2.5, 1.0),
        ("negative coupling", ORANGE, 2.5, 1.0),
        (f"{what} {plus_minus}{strongest:.2g}{more}", GREY, MAX_WIDTH, 1.0),
        (f"{what} {plus_minus}{weak:.2g}", GREY, _width(weak, strongest), 1.0),
        ("probability 1", GREY, 2.5, _opacity(1.0)),
        (f"probability {unsure:g}", GREY, 2.5, _opacity(unsure)),
    ]
    handles = [
        Line2D([], [], label=label, color=color, linewidth=width, alpha=opacity)
        for label, color, width, opacity in samples
    ]
    handles[1].set_linestyle(DASHES)
    if not all_signed:
        handles.append(Line2D([], [], label="without sign", color=UNSIGNED, linewidth=2.5))
    if some_alone:
        handles.append(
            Line2D(
                [], [], label="no edge drawn", marker="s", markersize=8, linestyle="none",
                markerfacecolor="white", markeredgecolor=GREY,
            )
        )  # fmt: skip
    # Two samples of a kind are in one column, or, in narrow axes, in one row
    n_columns, room = len(handles[0::2]), int(ax.bbox.width / ax.figure.dpi / COLUMN_WIDTH)
    if room < n_columns:
        n_columns = min(max(room, 1), 2)
        handles = handles[0::2] + handles[1::2] if n_columns == 2 else handles
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=n_columns,
        frameon=False,
        fontsize=SMALL,
        labelcolor=GREY,
        handlelength=3,
    )
