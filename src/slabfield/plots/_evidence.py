"""Plot of the evidence for edges: present, absent or undecided."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._layout import bent_lines, place_network
from slabfield.plots._network import draw_nodes, fit_names, network_size
from slabfield.plots._style import (
    BLUE,
    GREY,
    INK,
    LIMIT_DASHES,
    ORANGE,
    PLAIN,
    SMALL,
    edge_names,
    headline,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.posterior.edge_support import LIKELY
from slabfield.validation import check_choice, check_number

Array = NDArray[np.float64]

VIEWS = ("auto", "network", "ranked")
# Up to this number of nodes, "auto" draws a network
MAX_NETWORK_NODES = 20
# Largest |log10 Bayes factor| that is drawn; draws cannot quantify larger ones
MAX_LOG10_FACTOR = 4.0
# Edges named in the ranked view
MAX_NAMES = 5


class Style(NamedTuple):
    """Style of the edges of one class, as lines and as markers."""

    color: str
    width: float
    line: Literal["solid"] | tuple[float, tuple[float, ...]]
    marker: str


STYLES = {
    "present": Style(BLUE, 3.2, "solid", "o"),
    "undecided": Style(GREY, 0.9, (0.0, (1.0, 2.0)), "D"),
    "absent": Style(ORANGE, 0.9, (0.0, (5.0, 3.0)), "s"),
}


def evidence(
    posterior: Posterior, threshold: float = 10.0, view: str = "auto", ax: Axes | None = None
) -> Axes:
    """Plot which edges are present, absent or undecided by their Bayes factors.

    An edge is present if the data multiply its prior odds by at least ``threshold``, absent if
    they divide its prior odds by at least ``threshold``, and undecided otherwise. Present edges
    are solid and blue, absent ones dashed and orange, undecided ones dotted and gray.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    threshold : float
        Bayes factor that counts as decisive, greater than 1.
    view : {"auto", "network", "ranked"}
        "network" draws every pair as a line between nodes, placed as in
        :func:`slabfield.plots.network`; "ranked" draws sorted Bayes factors and names the largest.
        "auto" is "network" up to 20 nodes, and "ranked" above.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import evidence
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> evidence(posterior, threshold=3).get_title(loc="left")[:25]
    'Bayes factor of 3 decides'
    """
    posterior = check_posterior(posterior)
    threshold = check_number("threshold", threshold, 1, include_low=False)
    view = check_choice("view", view, VIEWS)
    factor = posterior.interactions.of_matrix(posterior.bayes_factor)
    evidence_class = classify_edges(factor, threshold)
    as_network = view == "network" or (view == "auto" and posterior.n_nodes <= MAX_NETWORK_NODES)
    if as_network:
        ax = check_panels(ax, 1, network_size(posterior.n_nodes))[0]
        _draw_network(ax, posterior, evidence_class)
    else:
        ax = check_panels(ax, 1, (7.5, 4.2))[0]
        _draw_ranked(ax, posterior, factor, evidence_class, threshold)
    candidate = evidence_class != "fixed"
    decided = int(np.sum(candidate & (evidence_class != "undecided")))
    headline(ax, f"Bayes factor of {threshold:g} decides {decided} of {candidate.sum()} edges")
    return ax


def classify_edges(factor: Array, threshold: float) -> NDArray[np.str_]:
    """Classify Bayes factors as present, absent or undecided; NaN is an edge fixed by the prior."""
    # Compare with the rounded 1 / threshold, so that both limits are inclusive
    conditions = [np.isnan(factor), factor >= threshold, factor <= 1 / threshold]
    return np.select(conditions, ["fixed", "present", "absent"], "undecided")


def _draw_network(ax: Axes, posterior: Posterior, evidence_class: NDArray[np.str_]) -> None:
    places, boxes = fit_names(
        ax,
        place_network(
            posterior.inclusion_probability, np.nan_to_num(posterior.coupling_given_presence)
        ),
        posterior.feature_names,
    )
    first, second = posterior.interactions.ends
    for level, name in enumerate(("absent", "undecided", "present")):
        style, chosen = STYLES[name], evidence_class == name
        lines = bent_lines(places, boxes, first[chosen], second[chosen])
        ax.add_collection(
            LineCollection(
                lines, colors=style.color, linewidths=style.width, linestyles=style.line,
                alpha=0.55 if name == "absent" else 1.0, zorder=1 + level / 10,
            )
        )  # fmt: skip
    draw_nodes(ax, places, posterior.feature_names, set(range(posterior.n_nodes)))
    handles = [
        Line2D([], [], color=style.color, linewidth=style.width, linestyle=style.line)
        for style in STYLES.values()
    ]
    labels = [f"{name} ({np.sum(evidence_class == name)})" for name in STYLES]
    if np.any(evidence_class == "fixed"):
        handles.append(Line2D([], [], linestyle="none"))
        labels.append(f"forced or forbidden ({np.sum(evidence_class == 'fixed')}), not drawn")
    ax.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False,
        fontsize=SMALL, labelcolor=GREY, handlelength=3,
    )  # fmt: skip


def _draw_ranked(
    ax: Axes,
    posterior: Posterior,
    factor: Array,
    evidence_class: NDArray[np.str_],
    threshold: float,
) -> None:
    candidates = np.flatnonzero(~np.isnan(factor))
    order = candidates[np.argsort(-factor[candidates], kind="stable")]
    with np.errstate(divide="ignore"):
        log_factor = np.log10(factor[order])
    bound = max(MAX_LOG10_FACTOR, 1.4 * float(np.log10(threshold)))
    height, rank = np.clip(log_factor, -bound, bound), np.arange(1, order.size + 1)
    limit = float(np.log10(threshold))
    ax.axhspan(-limit, limit, color="0.93", linewidth=0)
    for name, style in STYLES.items():
        chosen = evidence_class[order] == name
        ax.plot(
            rank[chosen], height[chosen], style.marker, color=style.color, markersize=3.5,
            linestyle="none", label=f"{name} ({chosen.sum()})",
        )  # fmt: skip
    ax.set_ylim(-bound - 0.4, bound + 0.4)
    ax.set_xlim(-0.02 * order.size, 1.02 * order.size + 1)
    _label_factors(ax, bound, limit, threshold)
    ax.set_xlabel("edges, from the most to the least supported")
    ax.set_ylabel("Bayes factor of presence")
    tidy(ax)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper right", title_fontsize=SMALL)
    _name_most_supported(ax, posterior, order)


def _label_factors(ax: Axes, bound: float, limit: float, threshold: float) -> None:
    """Label the axis with factors, not logarithms; the ends include all values beyond."""
    ticks = {-bound: f"1/{10**bound:,.0f} or less", -limit: f"1/{threshold:g}", 0.0: "1"}
    ticks |= {limit: f"{threshold:g}", bound: f"{10**bound:,.0f} or more"}
    ax.yaxis.set_major_locator(FixedLocator(list(ticks)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: ticks.get(y, "")))
    for at in (-limit, limit):
        ax.axhline(at, color=GREY, linewidth=0.8, linestyle=LIMIT_DASHES)


def _name_most_supported(ax: Axes, posterior: Posterior, order: NDArray[np.intp]) -> None:
    """Name the most supported edges at the lower left, which a falling curve leaves free."""
    named = [e for e in order[:MAX_NAMES] if posterior.edge_probability[e] >= LIKELY]
    names = edge_names(posterior, named)
    if names:
        ax.text(
            0.02, 0.03, "most supported:\n" + "\n".join(names), transform=ax.transAxes,
            va="bottom", fontsize=SMALL, color=INK, **PLAIN,
        )  # fmt: skip
