"""Plot of the degrees of nodes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import (
    BLUE,
    INK,
    LIST_NAME_LENGTH,
    PLAIN,
    SKY,
    headline,
    list_size,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.posterior.node_names import short_name
from slabfield.validation import check_positive_int


def degree(posterior: Posterior, n_nodes: int = 40, ax: Axes | None = None) -> Axes:
    """Plot the posterior of the degree of each node, largest mean first.

    A dot is the mean, a thick line the central 50% of the draws, a thin line the central 95%.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    n_nodes : int
        Maximum number of nodes.
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
    draws = posterior.degree.reshape(-1, posterior.n_nodes)
    mean = draws.mean(axis=0)
    chosen = np.argsort(-mean, kind="stable")[:n_nodes]
    ends = np.quantile(draws[:, chosen], [0.025, 0.25, 0.75, 0.975], axis=0)
    names = [short_name(posterior.feature_names[node], LIST_NAME_LENGTH) for node in chosen]
    ax = check_panels(ax, 1, list_size(names))[0]
    positions = np.arange(chosen.size)
    # Extend both ends a little, so that an interval of length zero is visible
    ax.hlines(positions, ends[0] - 0.1, ends[3] + 0.1, color=BLUE, linewidth=1.2)
    ax.hlines(positions, ends[1] - 0.1, ends[2] + 0.1, color=SKY, linewidth=5)
    ax.plot(mean[chosen], positions, "o", color=INK, markersize=4)
    ax.set_yticks(positions, names, **PLAIN)
    ax.set_ylim(chosen.size - 0.4, -0.6)
    ax.set_xlim(left=min(-0.2, ax.get_xlim()[0]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("degree: mean, central 50% and 95% of the draws")
    tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    some = f"the {chosen.size} most connected of " if chosen.size < posterior.n_nodes else ""
    headline(ax, f"Degrees of {some}{posterior.n_nodes} nodes")
    return ax
