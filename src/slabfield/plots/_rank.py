"""Rank plots of chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels
from slabfield.plots._series import Series, choose_series, effective_draws, summary
from slabfield.plots._style import BLUE, GREY, INK, SKY, headline, tidy
from slabfield.posterior import Posterior
from slabfield.validation import check_positive_int

Array = NDArray[np.float64]

# Height of a bar of the expected share, in units of the distance between chains
HEIGHT = 0.4


def rank(
    posterior: Posterior,
    var_names: str | Sequence[Any] | None = None,
    n_bins: int = 20,
    ax: Any = None,
) -> NDArray[Any]:
    """Plot, for each chain, the distribution of its ranks among the draws of all chains.

    If the chains agree, all bars are about as high as the line across them, and most end within
    the gray band of two standard errors, given the effective draws. Bars that lean to one side
    mean a chain whose values are too high or too low; bars that are high in the middle or at both
    ends mean a variance that is too small or too large. Ties, such as couplings of absent edges,
    are broken at random.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    var_names : str or sequence, optional
        Each "p0", "sigma0", "sigma0_nominal" (if there are two slabs), "density", "potential" (the
        log potential of the data), the name of a bias (``posterior.bias_names``), or a pair of
        nodes, by name or number, for the coupling or strength of their edge. By default p0, sigma0
        and the density, without those that were fixed.
    n_bins : int
        Number of bars per chain.
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
    chosen = choose_series(posterior, var_names)
    n_chains = len(chosen[0].values)
    panels = check_panels(ax, len(chosen), (6.0, 0.8 + 0.35 * n_chains))
    for panel, series in zip(panels, chosen, strict=True):
        _draw(panel, series, n_bins)
    panels[-1].set_xlabel("rank among all draws, in percent")
    return panels


def shares_of_ranks(values: Array, n_bins: int) -> Array:
    """Share of each chain's draws in each of ``n_bins`` equal bins of the ranks of all draws.

    Parameters
    ----------
    values : array (chains, draws)
        Ties are broken at random, with a fixed seed.

    Returns
    -------
    array (chains, n_bins)
        Each row sums to 1.
    """
    flat = values.ravel()
    ties = np.random.default_rng(0).random(flat.size)
    ranks = np.empty(flat.size, dtype=np.int64)
    ranks[np.lexsort((ties, flat))] = np.arange(flat.size)
    bins = (ranks * n_bins // flat.size).reshape(values.shape)
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
    if not series.varies:
        return
    shares = shares_of_ranks(series.values, n_bins) * n_bins
    # Two standard errors of a share, relative to its mean, at ess / n_chains draws per chain
    error = 2 * np.sqrt((n_bins - 1) * n_chains / ess) if ess > 0 else np.nan
    borders = np.linspace(0, 100, n_bins + 1)
    for chain, row in enumerate(shares):
        baseline = chain + HEIGHT
        height = HEIGHT * np.minimum(row, 2.4)
        if np.isfinite(error):
            low, high = HEIGHT * max(1 - error, 0), HEIGHT * min(1 + error, 2.4)
            ax.axhspan(
                baseline - low, baseline - high, color=GREY, alpha=0.25, linewidth=0, zorder=2
            )
        ax.stairs(baseline - height, borders, baseline=baseline, fill=True, fc=SKY, ec=BLUE, lw=0.8)
        ax.hlines(baseline - HEIGHT, 0, 100, color=INK, linewidth=1, zorder=3)
        ax.hlines(baseline, 0, 100, color=GREY, linewidth=0.6, zorder=3)
