"""Chains of Langevin dynamics with a fixed structure (figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.estimators.spike_slab import SpikeSlabMRF
from slabfield.reproduce.data_sets import open_data_set

Array = NDArray[np.float64]

# Lags of the stored autocorrelation, in draws
MAX_LAGS = 5_000


def fit_langevin(
    data_set: Sequence[Any],
    persistence: float | None,
    step_size: float | None,
    n_draws: int,
    n_warmup: int,
    thin: int,
) -> dict[str, Any]:
    """Draw couplings and biases given the true structure.

    Parameters
    ----------
    data_set : DataSet
        The data set, with a known true field.
    persistence, step_size : float, optional
        Settings of the paper's sampler; None for both draws from the exact posterior instead.
    n_draws, n_warmup, thin : int
        Draws, warm-up draws, and iterations per draw.

    Returns
    -------
    dict of arrays
        For each parameter (biases, then edges) ``mean`` and ``sd``, ``autocorrelation`` at lags in
        draws, and ``time``, the integrated autocorrelation time in iterations.
    """
    data = open_data_set(data_set)
    assert data.truth is not None
    prior = data.truth.edges.astype(np.float64)
    params: dict[str, Any] = {"likelihood": "exact"}
    sampler: dict[str, Any] = {"thin": thin}
    if step_size is not None:
        params = {"likelihood": "particles", "preset": "paper"}
        sampler |= {"persistence": persistence, "step_size": step_size}
    model = SpikeSlabMRF(
        n_chains=1, n_jobs=1, random_state=data_set[1], inclusion_prior=prior, n_draws=n_draws,
        n_warmup=n_warmup, sampler=sampler, **params,
    ).fit(data.train)  # fmt: skip
    draws = model.posterior_.draws
    forced = np.flatnonzero(draws.interactions.of_matrix(prior))
    series = np.concatenate([draws.bias[0], draws.dense(forced)[1][0]], axis=1)
    correlation = autocorrelation(series)
    return {
        "mean": series.mean(axis=0),
        "sd": series.std(axis=0),
        "autocorrelation": correlation[: min(MAX_LAGS, n_draws // 4)],
        "time": thin * integrated_time(correlation),
    }


def autocorrelation(series: Array) -> Array:
    """Autocorrelation of each column, by lag."""
    n = len(series)
    centered = series - series.mean(axis=0)
    power = np.abs(np.fft.rfft(centered, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(power, axis=0)[:n]
    return np.asarray(covariance / covariance[0])


def integrated_time(correlation: Array) -> Array:
    """Integrated autocorrelation time in draws, summed up to a window of five such times."""
    sums = 2 * np.cumsum(correlation, axis=0) - 1
    windows = np.arange(len(sums))[:, None] >= 5 * sums
    first = np.where(windows.any(axis=0), windows.argmax(axis=0), len(sums) - 1)
    return np.asarray(sums[first, np.arange(sums.shape[1])])
