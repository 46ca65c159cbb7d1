"""Trace plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels
from slabfield.plots._series import Series, choose_series, summary
from slabfield.plots._style import BLUE, GREY, INK, PALE, headline, tidy
from slabfield.posterior import Posterior


def trace(
    posterior: Posterior, var_names: str | Sequence[Any] | None = None, ax: Any = None
) -> NDArray[Any]:
    """Plot quantities against the draw number, with the chains side by side.

    Chains that agree look alike, without a trend. A dark line marks the mean of each chain. A
    coupling is a dot if its edge is present, and a gray cross at zero if it is absent.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    var_names : str or sequence, optional
        Each "p0", "sigma0", "sigma0_nominal" (if there are two slabs), "density", "potential" (the
        log potential of the data), the name of a bias (``posterior.bias_names``), or a pair of
        nodes, by name or number, for the coupling or strength of their edge. By default p0, sigma0
        and the density, without those that were fixed.
    ax : array of matplotlib Axes, optional
        Where to draw, one for each quantity; by default in a new figure.

    Returns
    -------
    array of matplotlib Axes
        One for each quantity.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import trace
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> trace(posterior, ["density", (0, 1)])[1].get_title(loc="left")[:7]
    'x0 - x1'
    """
    chosen = choose_series(posterior, var_names)
    panels = check_panels(ax, len(chosen), (7.5, 1.7))
    for panel, series in zip(panels, chosen, strict=True):
        _draw(panel, series)
    panels[-1].set_xlabel(f"{chosen[0].values.shape[1]} draws per chain, in order")
    return panels


def _draw(ax: Axes, series: Series) -> None:
    n_chains, n_draws = series.values.shape
    for chain, values in enumerate(series.values):
        at = chain * n_draws + np.arange(n_draws)
        if series.present is None:
            ax.plot(at, values, color=BLUE, linewidth=0.5)
        else:
            present = series.present[chain]
            ax.plot(at[~present], values[~present], "x", color=PALE, markersize=2, zorder=1)
            ax.plot(at[present], values[present], ".", color=BLUE, markersize=2.5)
        ax.hlines(values.mean(), at[0], at[-1], color=INK, linewidth=1.6, zorder=3)
        if chain:
            ax.axvline(chain * n_draws - 0.5, color=GREY, linewidth=0.8)
    ax.set_xlim(-0.5, n_chains * n_draws - 0.5)
    # With many chains, label only some of them
    named = np.arange(0, n_chains, int(np.ceil(n_chains / 10)))
    ax.set_xticks((named + 0.5) * n_draws, [f"chain {chain + 1}" for chain in named])
    tidy(ax)
    ax.tick_params(axis="x", length=0)
    headline(ax, summary(series))
