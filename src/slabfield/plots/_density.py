"""Plot of the edge density."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import BLUE, INK, LIMIT_DASHES, SKY, SMALL, headline, tidy
from slabfield.posterior import Posterior

Array = NDArray[np.float64]

# Prior and posterior share an axis if the posterior takes five times this share of the range
MIN_WIDTH = 0.02


def density(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Plot the posterior of the share of edges that are present, with its prior.

    Bars are the posterior, the dashed line is the prior, with p0 integrated out. If the posterior
    is too narrow to be visible on the range of the prior, only the range of the posterior is
    shown; the legend summarizes the prior.

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
    step = _bin_width(counts)
    # Each bar covers a whole number of edges; the total area is one
    borders = (np.arange(low, high + step + 1, step) - 0.5) / n_edges
    ax.hist(
        counts / n_edges, borders.tolist(), density=True, color=SKY, edgecolor=BLUE, linewidth=0.5,
        label=f"posterior: {_mean_and_interval(counts / n_edges)}",
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
        both = [min(shown[0], ends[0]), max(shown[1], ends[1])]
        if borders[-1] - borders[0] >= MIN_WIDTH * (both[1] - both[0]) * 5:
            shown = both
    margin = 0.05 * (shown[1] - shown[0]) or 0.5 / n_edges
    ax.set_xlim(max(shown[0] - margin, -margin / 2), min(shown[1] + margin, 1 + margin / 2))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"density: share of {n_edges} possible edges that are present")
    tidy(ax)
    # Leave space above the bars for the legend
    ax.set_ylim(top=ax.get_ylim()[1] * 1.3)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper right")
    headline(ax, "Posterior of the density")
    return ax


def prior_of_count(inclusion_prior: Any, n_edges: int) -> Array | None:
    """Prior probability of each number of present edges, from 0 to ``n_edges``.

    Parameters
    ----------
    inclusion_prior : dict or None
        ``settings["inclusion_prior"]`` of a posterior.

    Returns
    -------
    array of shape (n_edges + 1,), or None
        None if the prior is not known.
    """
    from scipy.stats import betabinom, binom

    known = isinstance(inclusion_prior, dict) and {"a", "b", "edges"} <= inclusion_prior.keys()
    if not known:
        return None
    given = np.broadcast_to(np.asarray(inclusion_prior["edges"], dtype=np.float64), (n_edges,))
    n_learned = int(np.isnan(given).sum())
    a, b = inclusion_prior["a"], inclusion_prior["b"]
    pmf = betabinom.pmf(np.arange(n_learned + 1), n_learned, a, b)
    for value in np.unique(given[~np.isnan(given)]):
        count = int(np.sum(given == value))
        pmf = np.convolve(pmf, binom.pmf(np.arange(count + 1), count, value))
    return np.asarray(pmf, dtype=np.float64)


def _bin_width(counts: NDArray[np.int64]) -> int:
    """Bin width by the rule of Freedman and Diaconis, in whole edges."""
    low, high = np.quantile(counts, [0.25, 0.75])
    return max(int(2 * (high - low) / np.cbrt(counts.size)), 1)


def _mean_and_interval(values: Array) -> str:
    low, high = np.quantile(values, [0.025, 0.975])
    return f"mean {values.mean():.2g}, 95% in {low:.2g} to {high:.2g}"
