"""The picture of what the data say about every edge: there, not there, or undecided."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from slabfield.checks import check_choice, check_number
from slabfield.plots.inputs import check_panels, check_posterior
from slabfield.plots.layout import bent_lines, place_network
from slabfield.plots.networks import draw_nodes, fit_names, network_size
from slabfield.plots.style import (
    BLUE,
    GREY,
    INK,
    LIMIT_DASHES,
    ORANGE,
    PLAIN,
    SMALL,
    edge_name,
    headline,
    tidy,
)
from slabfield.posterior import Posterior

Array = NDArray[np.float64]

VIEWS = ("auto", "network", "ranked")
MOST_FOR_NETWORK = 20
FARTHEST = 4.0
"""Powers of ten of the Bayes factor that are drawn; beyond, draws cannot tell."""
MOST_NAMES = 5


class Look(NamedTuple):
    """How one verdict is drawn, as a line and as a mark."""

    colour: str
    width: float
    line: Literal["solid"] | tuple[float, tuple[float, ...]]
    mark: str


LOOKS = {
    "present": Look(BLUE, 3.2, "solid", "o"),
    "undecided": Look(GREY, 0.9, (0.0, (1.0, 2.0)), "D"),
    "absent": Look(ORANGE, 0.9, (0.0, (5.0, 3.0)), "s"),
}


def evidence(
    posterior: Posterior, threshold: float = 10.0, view: str = "auto", ax: Axes | None = None
) -> Axes:
    """Draw for which edges the data say that they are there, are not there, or too little.

    The Bayes factor decides: an edge is present where the data make it at least ``threshold``
    times as probable against its absence as it was before, absent where they do so for its
    absence, and else undecided. Present edges are solid and blue, absent ones dashed and orange,
    undecided ones dotted and grey.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    threshold : float
        Bayes factor from which on the data are taken to decide, greater than 1.
    view : {"auto", "network", "ranked"}
        "network" draws every pair as a line between nodes, which lie as in
        :func:`slabfield.plots.network`; "ranked" draws Bayes factors in order, with the strongest
        named. "auto" is a network up to 20 nodes, and ranked above.
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
    >>> evidence(posterior, threshold=3).get_title(loc="left")[:28]
    'Bayes factor of 3 decides on'
    """
    posterior = check_posterior(posterior)
    threshold = check_number("threshold", threshold, 1, include_low=False)
    view = check_choice("view", view, VIEWS)
    factor = posterior.bayes_factor[np.triu_indices(posterior.n_nodes, 1)]
    verdict = give_verdicts(factor, threshold)
    as_network = view == "network" or (view == "auto" and posterior.n_nodes <= MOST_FOR_NETWORK)
    if as_network:
        ax = check_panels(ax, 1, network_size(posterior.n_nodes))[0]
        _draw_network(ax, posterior, verdict)
    else:
        ax = check_panels(ax, 1, (7.5, 4.2))[0]
        _draw_ranked(ax, posterior, factor, verdict, threshold)
    asked = verdict != "not asked"
    decided = int(np.sum(asked & (verdict != "undecided")))
    headline(ax, f"Bayes factor of {threshold:g} decides on {decided} of {asked.sum()} edges")
    return ax


def give_verdicts(factor: Array, threshold: float) -> NDArray[np.str_]:
    """Sort Bayes factors into present, absent and undecided; NaN was not asked of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.verdicts import give_verdicts
    >>> give_verdicts(np.array([10.0, 2.0, 0.1, np.nan]), 10.0).tolist()
    ['present', 'undecided', 'absent', 'not asked']
    """
    # 1 / threshold is rounded: a factor that is just that must count on both sides.
    conditions = [np.isnan(factor), factor >= threshold, factor <= 1 / threshold]
    return np.select(conditions, ["not asked", "present", "absent"], "undecided")


def _draw_network(ax: Axes, posterior: Posterior, verdict: NDArray[np.str_]) -> None:
    places, boxes = fit_names(
        ax,
        place_network(posterior.inclusion_probability, np.nan_to_num(posterior.coupling_mean)),
        posterior.feature_names,
    )
    first, second = np.triu_indices(posterior.n_nodes, 1)
    for level, name in enumerate(("absent", "undecided", "present")):
        look, chosen = LOOKS[name], verdict == name
        lines = bent_lines(places, boxes, first[chosen], second[chosen])
        ax.add_collection(
            LineCollection(
                lines, colors=look.colour, linewidths=look.width, linestyles=look.line,
                alpha=0.55 if name == "absent" else 1.0, zorder=1 + level / 10,
            )
        )  # fmt: skip
    draw_nodes(ax, places, posterior.feature_names, set(range(posterior.n_nodes)))
    handles = [
        Line2D([], [], color=look.colour, linewidth=look.width, linestyle=look.line)
        for look in LOOKS.values()
    ]
    labels = [f"{name} ({np.sum(verdict == name)})" for name in LOOKS]
    if np.any(verdict == "not asked"):
        handles.append(Line2D([], [], linestyle="none"))
        labels.append(f"forced or forbidden ({np.sum(verdict == 'not asked')}), not drawn")
    ax.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False,
        fontsize=SMALL, labelcolor=GREY, handlelength=3,
    )  # fmt: skip


def _draw_ranked(
    ax: Axes, posterior: Posterior, factor: Array, verdict: NDArray[np.str_], threshold: float
) -> None:
    asked = np.flatnonzero(~np.isnan(factor))
    order = asked[np.argsort(-factor[asked], kind="stable")]
    with np.errstate(divide="ignore"):
        power = np.log10(factor[order])
    far = max(FARTHEST, 1.4 * float(np.log10(threshold)))
    place, rank = np.clip(power, -far, far), np.arange(1, order.size + 1)
    limit = float(np.log10(threshold))
    ax.axhspan(-limit, limit, color="0.93", linewidth=0)
    for name, look in LOOKS.items():
        chosen = verdict[order] == name
        ax.plot(
            rank[chosen], place[chosen], look.mark, color=look.colour, markersize=3.5,
            linestyle="none", label=f"{name} ({chosen.sum()})",
        )  # fmt: skip
    ax.set_ylim(-far - 0.4, far + 0.4)
    ax.set_xlim(-0.02 * order.size, 1.02 * order.size + 1)
    _label_factors(ax, far, limit, threshold)
    ax.set_xlabel("edges, from the most to the least supported")
    ax.set_ylabel("Bayes factor of presence")
    tidy(ax)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper right", title_fontsize=SMALL)
    _name_first(ax, posterior, order)


def _label_factors(ax: Axes, far: float, limit: float, threshold: float) -> None:
    """Write factors, not powers, beside the axis; the ends stand for all that lies beyond."""
    ticks = {-far: f"1/{10**far:,.0f} or less", -limit: f"1/{threshold:g}", 0.0: "1"}
    ticks |= {limit: f"{threshold:g}", far: f"{10**far:,.0f} or more"}
    ax.yaxis.set_major_locator(FixedLocator(list(ticks)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: ticks.get(y, "")))
    for at in (-limit, limit):
        ax.axhline(at, color=GREY, linewidth=0.8, linestyle=LIMIT_DASHES)


def _name_first(ax: Axes, posterior: Posterior, order: NDArray[np.intp]) -> None:
    """Name the edges with the most support, at the bottom left, where a falling curve never is."""
    first, second = np.triu_indices(posterior.n_nodes, 1)
    some = [e for e in order[:MOST_NAMES] if posterior.edge_probability[e] >= 0.5]
    names = [edge_name(posterior.feature_names, (int(first[e]), int(second[e]))) for e in some]
    if names:
        ax.text(
            0.02, 0.03, "most supported:\n" + "\n".join(names), transform=ax.transAxes,
            va="bottom", fontsize=SMALL, color=INK, **PLAIN,
        )  # fmt: skip
