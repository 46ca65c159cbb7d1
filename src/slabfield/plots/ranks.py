"""The picture of how chains rank among each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.checks import check_positive_int
from slabfield.plots.inputs import check_panels
from slabfield.plots.series import Series, choose_series, effective_draws, summary
from slabfield.plots.style import BLUE, GREY, INK, SKY, headline, tidy
from slabfield.posterior import Posterior

Array = NDArray[np.float64]

HEIGHT = 0.4
"""How high a bar of the expected share is, where rows are 1 apart."""


def rank(
    posterior: Posterior, what: Sequence[Any] | None = None, n_bins: int = 20, ax: Any = None
) -> NDArray[Any]:
    """Draw, for each chain, how its draws rank among those of all chains.

    Where chains agree every bar is about as high as the line across them, and most end within the
    grey band, which is twice the standard error that so many effective draws have. A chain whose
    bars lean to one side is too high or too low; bars high in the middle or at both ends mean too
    narrow or too wide. Equal values, such as couplings of absent edges, are ranked at random.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    what : sequence, optional
        Each "p0", "sigma0", "density", "potential" (the log potential of the data), or a pair of
        nodes, by name or number, for the coupling of their edge. By default the first three,
        without those that were fixed.
    n_bins : int
        Number of bars of each chain.
    ax : array of matplotlib Axes, optional
        Where to draw, one for each quantity; by default in a new figure.

    Returns
    -------
    array of matplotlib Axes
        One for each quantity.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import rank
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> len(rank(posterior, ["density", (0, 1)]))
    2
    """
    n_bins = check_positive_int("n_bins", n_bins, low=2)
    chosen = choose_series(posterior, what)
    n_chains = len(chosen[0].values)
    panels = check_panels(ax, len(chosen), (6.0, 0.8 + 0.35 * n_chains))
    for panel, series in zip(panels, chosen, strict=True):
        _draw(panel, series, n_bins)
    panels[-1].set_xlabel("rank among all draws, in percent")
    return panels


def shares_of_ranks(values: Array, n_bins: int) -> Array:
    """Share of each chain's draws in each of so many equal parts of the ranking of all.

    Parameters
    ----------
    values : array (chains, draws)
        Equal ones are ranked at random, always in the same way.
    n_bins : int
        Number of parts.

    Returns
    -------
    array (chains, n_bins)
        Each row adds up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.ranks import shares_of_ranks
    >>> shares_of_ranks(np.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    array([[1., 0.],
           [0., 1.]])
    """
    flat = values.ravel()
    ties = np.random.default_rng(0).random(flat.size)
    place = np.empty(flat.size, dtype=np.int64)
    place[np.lexsort((ties, flat))] = np.arange(flat.size)
    bins = (place * n_bins // flat.size).reshape(values.shape)
    counts = np.stack([np.bincount(row, minlength=n_bins) for row in bins])
    return np.asarray(counts / values.shape[1])


def _draw(ax: Axes, series: Series, n_bins: int) -> None:
    n_chains = len(series.values)
    _, ess = effective_draws(series)
    ax.set_yticks(range(n_chains), [f"chain {chain + 1}" for chain in range(n_chains)])
    ax.set_ylim(n_chains - 0.5 + 0.1, -0.6)
    ax.set_xlim(0, 100)
    tidy(ax)
    ax.tick_params(axis="y", length=0)
    headline(ax, summary(series))
    if not series.moves:
        return
    shares = shares_of_ranks(series.values, n_bins) * n_bins
    # The spread of a share when each chain has its part of the effective draws
    error = 2 * np.sqrt((n_bins - 1) * n_chains / ess) if ess > 0 else np.nan
    borders = np.linspace(0, 100, n_bins + 1)
    for chain, row in enumerate(shares):
        floor = chain + HEIGHT
        height = HEIGHT * np.minimum(row, 2.4)
        if np.isfinite(error):
            low, high = HEIGHT * max(1 - error, 0), HEIGHT * min(1 + error, 2.4)
            ax.axhspan(floor - low, floor - high, color=GREY, alpha=0.25, linewidth=0, zorder=2)
        ax.stairs(floor - height, borders, baseline=floor, fill=True, fc=SKY, ec=BLUE, lw=0.8)
        ax.hlines(floor - HEIGHT, 0, 100, color=INK, linewidth=1, zorder=3)
        ax.hlines(floor, 0, 100, color=GREY, linewidth=0.6, zorder=3)
