"""Plot of the autocorrelation of chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels
from slabfield.plots._series import Series, choose_series, summary
from slabfield.plots._style import BLUE, GREY, PALE, headline, tidy
from slabfield.posterior import Posterior
from slabfield.posterior.convergence import array_stats
from slabfield.validation import check_positive_int

Array = NDArray[np.float64]

# Longest lag by default, in draws
DEFAULT_MAX_LAG = 50


def autocorrelation(
    posterior: Posterior,
    var_names: str | Sequence[Any] | None = None,
    max_lag: int | None = None,
    ax: Any = None,
) -> NDArray[Any]:
    """Plot the autocorrelation of draws against the lag.

    Stems are the mean over chains, thin lines single chains. A chain mixes well if the stems soon
    fall into the band around zero, which is the 95% range for independent draws.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    var_names : str or sequence, optional
        Each "p0", "sigma0", "sigma0_nominal" (if there are two slabs), "density", "potential" (the
        log potential of the data), the name of a bias (``posterior.bias_names``), or a pair of
        nodes, by name or number, for the coupling or strength of their edge. By default p0, sigma0
        and the density, without those that were fixed.
    max_lag : int, optional
        Longest lag in draws; by default 50, or half the number of draws if that is less.
    ax : array of matplotlib Axes, optional
        Where to draw, one for each quantity; by default in a new figure.

    Returns
    -------
    array of matplotlib Axes
        One for each quantity.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import autocorrelation
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> len(autocorrelation(posterior, ["density"], max_lag=10))
    1
    """
    chosen = choose_series(posterior, var_names)
    n_draws = chosen[0].values.shape[1]
    requested = check_positive_int("max_lag", max_lag, allow_none=True)
    longest = min(requested or min(DEFAULT_MAX_LAG, n_draws // 2), n_draws - 1)
    panels = check_panels(ax, len(chosen), (6.0, 1.6))
    for panel, series in zip(panels, chosen, strict=True):
        _draw(panel, series, longest)
    panels[-1].set_xlabel("lag in draws")
    return panels


def correlations(values: Array, longest: int) -> Array:
    """Autocorrelation of each chain about its own mean; 0 beyond lag 0 if it never changes.

    Parameters
    ----------
    values : array (chains, draws)

    Returns
    -------
    array (chains, longest + 1)
    """
    found = np.zeros((len(values), longest + 1))
    found[:, 0] = 1.0
    changes = np.ptp(values, axis=1) > 0
    found[changes] = array_stats().autocorr(values[changes], axis=1)[:, : longest + 1]
    return found


def _draw(ax: Axes, series: Series, longest: int) -> None:
    tidy(ax)
    headline(ax, summary(series))
    if not series.varies:
        return
    lags = np.arange(longest + 1)
    by_chain = correlations(series.values, longest)
    noise = 1.96 / np.sqrt(series.values.size)
    ax.axhspan(-noise, noise, color=PALE, alpha=0.5, linewidth=0)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.plot(lags, by_chain.T, color=GREY, linewidth=0.6, alpha=0.8)
    mean = by_chain.mean(axis=0)
    ax.vlines(lags, 0, mean, color=BLUE, linewidth=1.6)
    ax.plot(lags, mean, "o", color=BLUE, markersize=3)
    ax.set_xlim(-0.5, longest + 0.5)
    ax.set_ylim(min(-0.15, float(by_chain.min()) - 0.05), 1.05)
