"""One chain of Langevin dynamics with a fixed structure, as a piece of work (figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.estimator import SpikeSlabMRF
from slabfield.reproduce.worlds import open_world

Array = NDArray[np.float64]

MOST_LAGS = 5_000


def fit_langevin(
    world: Sequence[Any],
    persistence: float | None,
    step_size: float | None,
    n_draws: int,
    n_warmup: int,
    thin: int,
) -> dict[str, Any]:
    """Draw couplings and biases with the true structure given.

    Parameters
    ----------
    world : World
        The data set; its truth is known.
    persistence, step_size : float, optional
        Settings of the paper's sampler; None for both draws from the exact posterior instead.
    n_draws, n_warmup, thin : int
        Draws, draws thrown away, and iterations between draws.

    Returns
    -------
    dict of arrays
        ``mean`` and ``sd`` of every parameter (biases, then edges), its ``autocorrelation`` over
        lags counted in draws, and the integrated ``time`` of it in iterations.

    Examples
    --------
    >>> from slabfield.reproduce.langevin import fit_langevin
    >>> from slabfield.reproduce.worlds import World
    >>> found = fit_langevin(World("block", 1, 50, 1), None, None, 40, 5, 1)
    >>> found["mean"].shape == found["sd"].shape
    True
    """
    data = open_world(world)
    assert data.truth is not None
    prior = data.truth.edges.astype(np.float64)
    told: dict[str, Any] = {"likelihood": "exact"}
    if step_size is not None:
        told = {"likelihood": "particles", "preset": "paper"}
        told |= {"persistence": persistence, "step_size": step_size}
    model = SpikeSlabMRF(
        n_chains=1, n_jobs=1, random_state=world[1], inclusion_prior=prior, n_draws=n_draws,
        n_warmup=n_warmup, thin=thin, **told,
    ).fit(data.train)  # fmt: skip
    draws = model.posterior_.draws
    forced = np.flatnonzero(prior[np.triu_indices(len(prior), 1)])
    series = np.concatenate([draws.bias[0], draws.of_edges(forced)[1][0]], axis=1)
    correlation = autocorrelation(series)
    return {
        "mean": series.mean(axis=0),
        "sd": series.std(axis=0),
        "autocorrelation": correlation[: min(MOST_LAGS, n_draws // 4)],
        "time": thin * integrated_time(correlation),
    }


def autocorrelation(series: Array) -> Array:
    """Autocorrelation of each column, by lag.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.reproduce.langevin import autocorrelation
    >>> autocorrelation(np.array([[1.0], [-1.0], [1.0], [-1.0]]))[:2, 0]
    array([ 1.  , -0.75])
    """
    n = len(series)
    centred = series - series.mean(axis=0)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    shared = np.fft.irfft(power, axis=0)[:n]
    return np.asarray(shared / shared[0])


def integrated_time(correlation: Array) -> Array:
    """Integrated autocorrelation time, in draws: the sum up to a window of five such times.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.reproduce.langevin import integrated_time
    >>> integrated_time(0.5 ** np.arange(100.0)[:, None]).round(2)
    array([3.])
    """
    sums = 2 * np.cumsum(correlation, axis=0) - 1
    windows = np.arange(len(sums))[:, None] >= 5 * sums
    first = np.where(windows.any(axis=0), windows.argmax(axis=0), len(sums) - 1)
    return np.asarray(sums[first, np.arange(sums.shape[1])])
