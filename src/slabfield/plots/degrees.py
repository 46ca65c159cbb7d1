"""The picture of how many edges each node has."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from slabfield.checks import check_positive_int
from slabfield.plots.inputs import check_panels, check_posterior
from slabfield.plots.style import (
    BLUE,
    INK,
    PLAIN,
    SKY,
    headline,
    list_size,
    short_name,
    tidy,
)
from slabfield.posterior import Posterior


def degree(posterior: Posterior, n_nodes: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the number of edges at each node, the most connected at the top.

    A dot is the mean, a thick line holds the middle 50% of the draws and a thin one 95%.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    n_nodes : int
        How many nodes at most.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import degree
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> len(degree(posterior).get_yticks())
    4
    """
    posterior = check_posterior(posterior)
    n_nodes = check_positive_int("n_nodes", n_nodes)
    drawn = posterior.degree.reshape(-1, posterior.n_nodes)
    mean = drawn.mean(axis=0)
    chosen = np.argsort(-mean, kind="stable")[:n_nodes]
    ends = np.quantile(drawn[:, chosen], [0.025, 0.25, 0.75, 0.975], axis=0)
    ax = check_panels(ax, 1, list_size(chosen.size))[0]
    places = np.arange(chosen.size)
    # A little more on both sides shows a degree that hardly varies, too.
    ax.hlines(places, ends[0] - 0.1, ends[3] + 0.1, color=BLUE, linewidth=1.2)
    ax.hlines(places, ends[1] - 0.1, ends[2] + 0.1, color=SKY, linewidth=5)
    ax.plot(mean[chosen], places, "o", color=INK, markersize=4)
    names = [short_name(posterior.feature_names[node], 24) for node in chosen]
    ax.set_yticks(places, names, **PLAIN)
    ax.set_ylim(chosen.size - 0.4, -0.6)
    ax.set_xlim(left=min(-0.2, ax.get_xlim()[0]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("edges at the node: mean, middle 50% and 95% of the draws")
    tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    some = f"the {chosen.size} most connected of " if chosen.size < posterior.n_nodes else ""
    headline(ax, f"Degrees of {some}{posterior.n_nodes} nodes")
    return ax
