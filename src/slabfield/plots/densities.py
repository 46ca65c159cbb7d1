"""The picture of how dense the network is."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots.inputs import check_panels, check_posterior
from slabfield.plots.style import BLUE, INK, LIMIT_DASHES, SKY, SMALL, headline, tidy
from slabfield.posterior import Posterior

Array = NDArray[np.float64]

WIDE_ENOUGH = 0.02
"""Share of the whole range that the posterior must take for both to be shown side by side."""


def density(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the share of edges that are present, with its prior.

    Bars are the posterior, the dashed line is the prior, with p0 integrated over its own prior.
    Where the posterior is too narrow to be seen beside the prior, only its part of the range is
    shown; the legend says where the prior lies.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import density
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> len(density(posterior).lines)
    1
    """
    posterior = check_posterior(posterior)
    n_edges = posterior.draws.n_edges
    counts = posterior.draws.n_present.ravel()
    ax = check_panels(ax, 1, (6.0, 3.6))[0]
    low, high = int(counts.min()), int(counts.max())
    step = _edges_a_bar(counts)
    # Bars of whole numbers of edges; their area is one.
    borders = (np.arange(low, high + step + 1, step) - 0.5) / n_edges
    ax.hist(
        counts / n_edges, borders.tolist(), density=True, color=SKY, edgecolor=BLUE, linewidth=0.5,
        label=f"posterior: {_in_words(counts / n_edges)}",
    )  # fmt: skip
    prior = prior_of_count(posterior.settings.get("inclusion_prior"), n_edges)
    shown = [borders[0], borders[-1]]
    if prior is not None:
        ends = (np.searchsorted(np.cumsum(prior), [0.025, 0.975]) / n_edges).tolist()
        grid = np.arange(n_edges + 1) / n_edges
        ax.plot(
            grid, prior * n_edges, color=INK, linestyle=LIMIT_DASHES, linewidth=1.4,
            label=f"prior: mean {grid @ prior:.2g}, 95% in {ends[0]:.2g} to {ends[1]:.2g}",
        )  # fmt: skip
        whole = [min(shown[0], ends[0]), max(shown[1], ends[1])]
        if borders[-1] - borders[0] >= WIDE_ENOUGH * (whole[1] - whole[0]) * 5:
            shown = whole
    room = 0.05 * (shown[1] - shown[0]) or 0.5 / n_edges
    ax.set_xlim(max(shown[0] - room, -room / 2), min(shown[1] + room, 1 + room / 2))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"density: share of {n_edges} possible edges that are present")
    tidy(ax)
    # Above the bars, where it covers none of them
    ax.set_ylim(top=ax.get_ylim()[1] * 1.3)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper right")
    headline(ax, "Posterior of the density")
    return ax


def prior_of_count(facts: Any, n_edges: int) -> Array | None:
    """Prior probability of every number of present edges, from 0 to all.

    Parameters
    ----------
    facts : dict or None
        ``settings["inclusion_prior"]`` of a posterior.
    n_edges : int
        Number of candidate edges.

    Returns
    -------
    array of shape (n_edges + 1,), or None
        None where the prior is not known.

    Examples
    --------
    >>> from slabfield.plots.densities import prior_of_count
    >>> prior_of_count({"a": 1.0, "b": 1.0, "edges": None}, 3).round(2)
    array([0.25, 0.25, 0.25, 0.25])
    """
    from scipy.stats import betabinom, binom

    if not isinstance(facts, dict) or not {"a", "b", "edges"} <= facts.keys():
        return None
    own = np.broadcast_to(np.asarray(facts["edges"], dtype=np.float64), (n_edges,))
    learnt = int(np.isnan(own).sum())
    chances = betabinom.pmf(np.arange(learnt + 1), learnt, facts["a"], facts["b"])
    for value in np.unique(own[~np.isnan(own)]):
        same = int(np.sum(own == value))
        chances = np.convolve(chances, binom.pmf(np.arange(same + 1), same, value))
    return np.asarray(chances, dtype=np.float64)


def _edges_a_bar(counts: NDArray[np.int64]) -> int:
    """Freedman and Diaconis's width, in whole edges: bars are not rougher than draws are few."""
    low, high = np.quantile(counts, [0.25, 0.75])
    return max(int(2 * (high - low) / np.cbrt(counts.size)), 1)


def _in_words(values: Array) -> str:
    low, high = np.quantile(values, [0.025, 0.975])
    return f"mean {values.mean():.2g}, 95% in {low:.2g} to {high:.2g}"
