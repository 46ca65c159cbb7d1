"""Plot of the evidence for and against edges."""

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
from slabfield.plots._threshold import MAX_EDGES_PER_NODE
from slabfield.posterior import Posterior
from slabfield.posterior.evidence_classes import (
    CLASSES,
    MODERATE,
    NOT_ASSESSED,
    STRONG,
    count_classes,
    factor_text,
)
from slabfield.validation import check_choice

Array = NDArray[np.float64]

VIEWS = ("auto", "network", "ranked")
# Up to this number of nodes, "auto" draws a network
MAX_NETWORK_NODES = 30
# Largest |log10 Bayes factor| that is drawn
MAX_LOG10_FACTOR = 4.0
# Edges named in the ranked view, at either end
MAX_NAMES = 5


class Style(NamedTuple):
    """Style of the edges of one class, as lines and as markers."""

    color: str
    width: float
    line: Literal["solid"] | tuple[float, tuple[float, ...]]
    alpha: float
    marker: str


STYLES = dict(
    zip(
        CLASSES,
        (
            Style(BLUE, 3.2, "solid", 1.0, "o"),
            Style(BLUE, 1.2, "solid", 1.0, "."),
            Style(GREY, 0.9, (0.0, (1.0, 2.0)), 1.0, "D"),
            Style(ORANGE, 0.7, (0.0, (3.0, 3.0)), 0.7, "."),
            Style(ORANGE, 1.6, (0.0, (5.0, 3.0)), 0.9, "s"),
        ),
        strict=True,
    )
)


def evidence(posterior: Posterior, view: str = "auto", ax: Axes | None = None) -> Axes:
    """Plot the evidence for and against edges, by the classes of their Bayes factors.

    Edges with evidence for them are solid and blue, those with evidence against them dashed and
    orange; strong evidence (a Bayes factor above 10 or below 1/10) has thicker lines than moderate
    evidence (above 3 or below 1/3). Edges with inconclusive evidence are not drawn in a network. If
    the evidence is against more than three edges per node, these are left out instead, and the
    inconclusive edges are gray and dotted: where there is no line, the evidence is against an edge.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    view : {"auto", "network", "ranked"}
        "network" draws pairs as lines between nodes, placed as in
        :func:`slabfield.plots.network`; "ranked" draws sorted Bayes factors and names those at
        either end. "auto" is "network" up to 30 nodes, and "ranked" above.
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
    >>> evidence(posterior).get_title(loc="left")[:12]
    'Evidence for'
    """
    posterior = check_posterior(posterior)
    view = check_choice("view", view, VIEWS)
    factor = posterior.interactions.of_matrix(posterior.bayes_factor)
    as_network = view == "network" or (view == "auto" and posterior.n_nodes <= MAX_NETWORK_NODES)
    if as_network:
        ax = check_panels(ax, 1, network_size(posterior.n_nodes))[0]
        _draw_network(ax, posterior)
    else:
        ax = check_panels(ax, 1, (7.5, 4.2))[0]
        _draw_ranked(ax, posterior, factor)
    counts = count_classes(factor)
    n_for, n_against = (
        sum(counts[name] for name in CLASSES if name.endswith(side)) for side in ("for", "against")
    )
    n_assessed = factor.size - counts[NOT_ASSESSED]
    headline(ax, f"Evidence for {n_for} and against {n_against} of {n_assessed} edges")
    return ax


def _draw_network(ax: Axes, posterior: Posterior) -> None:
    places, boxes = fit_names(
        ax,
        place_network(
            posterior.inclusion_probability, np.nan_to_num(posterior.coupling_given_presence)
        ),
        posterior.feature_names,
    )
    first, second = posterior.interactions.ends
    counts = count_classes(posterior.edge_bayes_factor)
    drawn = _drawn_classes(counts, MAX_EDGES_PER_NODE * posterior.n_nodes)
    # presence on top of absence
    for level, name in enumerate(reversed(drawn)):
        style, chosen = STYLES[name], posterior.edge_evidence == name
        ax.add_collection(
            LineCollection(
                bent_lines(places, boxes, first[chosen], second[chosen]), colors=style.color,
                linewidths=style.width, linestyles=style.line, alpha=style.alpha,
                zorder=1 + level / 10,
            )
        )  # fmt: skip
    draw_nodes(ax, places, posterior.feature_names, set(range(posterior.n_nodes)))
    omitted = [name for name in counts if name not in drawn and counts[name]]
    handles = [
        Line2D([], [], color=style.color, linewidth=style.width, linestyle=style.line,
               alpha=style.alpha)
        for style in (STYLES[name] for name in drawn)
    ]  # fmt: skip
    handles += [Line2D([], [], linestyle="none") for _ in omitted]
    words = {NOT_ASSESSED: "forced or forbidden"}
    labels = [f"{name} ({counts[name]})" for name in drawn]
    labels += [f"{words.get(name, name)} ({counts[name]}), not drawn" for name in omitted]
    ax.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False,
        fontsize=SMALL, labelcolor=GREY, handlelength=3,
    )  # fmt: skip


def _drawn_classes(counts: dict[str, int], most: int) -> list[str]:
    """Classes that a network shows as lines: not more than ``most`` edges with evidence against."""
    against = [name for name in CLASSES if name.endswith("against")]
    if sum(counts[name] for name in against) <= most:
        return [name for name in CLASSES if name != "inconclusive"]
    few = counts["inconclusive"] <= most
    return [name for name in CLASSES if name not in against and (few or name != "inconclusive")]


def _draw_ranked(ax: Axes, posterior: Posterior, factor: Array) -> None:
    candidates = np.flatnonzero(~np.isnan(factor))
    order = candidates[np.argsort(-factor[candidates], kind="stable")]
    height = np.clip(np.log10(factor[order]), -MAX_LOG10_FACTOR, MAX_LOG10_FACTOR)
    rank, found = np.arange(1, order.size + 1), posterior.edge_evidence[order]
    moderate = float(np.log10(MODERATE))
    ax.axhspan(-moderate, moderate, color="0.93", linewidth=0)
    for name, style in STYLES.items():
        chosen = found == name
        ax.plot(
            rank[chosen], height[chosen], style.marker, color=style.color, markersize=3.5,
            linestyle="none", label=f"{name} ({chosen.sum()})",
        )  # fmt: skip
    low = min(-1.5, float(height.min(initial=0.0)) - 0.2)
    ax.set_ylim(low, MAX_LOG10_FACTOR + 0.4)
    ax.set_xlim(-0.02 * order.size, 1.02 * order.size + 1)
    _label_factors(ax, low)
    ax.set_xlabel("edges, from the most to the least supported")
    ax.set_ylabel("Bayes factor of presence")
    tidy(ax)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper right", title_fontsize=SMALL)
    _name_most_decided(ax, posterior, order)


def _label_factors(ax: Axes, low: float) -> None:
    """Label the axis with factors, not logarithms; the upper end includes all values beyond."""
    limits = [np.log10(value) for value in (1 / STRONG, 1 / MODERATE, MODERATE, STRONG)]
    ticks = {float(at): f"{10.0**at:g}" if at > 0 else f"1/{10.0**-at:g}" for at in limits}
    ticks |= {0.0: "1", 2.0: "100", 3.0: "1,000", -2.0: "1/100", -3.0: "1/1,000"}
    ticks |= {
        MAX_LOG10_FACTOR: f"{10**MAX_LOG10_FACTOR:,.0f} or more",
        -MAX_LOG10_FACTOR: f"1/{10**MAX_LOG10_FACTOR:,.0f} or less",
    }
    ticks = {at: label for at, label in ticks.items() if at >= low}
    ax.yaxis.set_major_locator(FixedLocator(list(ticks)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: ticks.get(y, "")))
    for at in limits:
        ax.axhline(float(at), color=GREY, linewidth=0.8, linestyle=LIMIT_DASHES)


def _name_most_decided(ax: Axes, posterior: Posterior, order: NDArray[np.intp]) -> None:
    """Name the edges with the strongest evidence, in the middle above, which curves leave free."""
    lines = []
    for side, ranked in (("for", order), ("against", order[::-1])):
        of_side = [e for e in ranked[:MAX_NAMES] if posterior.edge_evidence[e].endswith(side)]
        if of_side:
            lines.append(f"strongest evidence {side}:")
            lines += [
                f"  {name} ({factor_text(posterior.edge_bayes_factor[edge])})"
                for name, edge in zip(edge_names(posterior, of_side), of_side, strict=True)
            ]
    if lines:
        ax.text(
            0.4, 0.97, "\n".join(lines), transform=ax.transAxes, va="top", fontsize=SMALL,
            color=INK, **PLAIN,
        )  # fmt: skip
