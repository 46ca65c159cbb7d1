"""Posterior predictive check of pair frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import (
    BLUE,
    GREY,
    INK,
    LIMIT_DASHES,
    ORANGE,
    PLAIN,
    SMALL,
    edge_names,
    headline,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.posterior.couplings import check_ci_prob
from slabfield.posterior.predictive import pair_frequencies, replicate_pairs
from slabfield.validation import check_positive_int

Array = NDArray[np.float64]


def predictive_check(
    posterior: Posterior,
    X: Any,
    n_draws: int = 100,
    ci_prob: float = 0.95,
    n_named: int = 5,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot how often both nodes of a pair are 1, in the data and in replicated data.

    Each replicate has as many rows as X, drawn from the field of one posterior draw: exactly up to
    16 nodes; above, by Gibbs runs that start from fair coin tosses and may miss modes of a
    multimodal field. A vertical line is the central interval of the replicates. If the pairwise
    model fits, about ``ci_prob`` of the lines cross the diagonal for new rows, and more for the
    rows that were fitted. Pairs whose line does not are orange squares; those
    farthest from the diagonal are named.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    X : array or DataFrame of shape (N, D)
        The fitted data, or other data with the same columns.
    n_draws : int
        Number of replicates.
    ci_prob : float
        Share of the replicates in an interval.
    n_named : int
        Number of pairs named, farthest from the diagonal first.
    random_state : int
        Seed of the replicates.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import predictive_check
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> predictive_check(posterior, rows, n_draws=20).get_xlabel()
    'share of rows with both 1, observed'
    """
    posterior = check_posterior(posterior)
    n_draws = check_positive_int("n_draws", n_draws, low=2)
    ci_prob = check_ci_prob(ci_prob)
    n_named = check_positive_int("n_named", n_named, low=0)
    random_state = check_positive_int("random_state", random_state, low=0)
    rows = posterior.encoder.transform(X, model="Posterior").rows
    replicates = replicate_pairs(posterior, len(rows), n_draws, random_state)
    observed = posterior.interactions.of_matrix(pair_frequencies(rows))
    replicated = posterior.interactions.of_matrix(replicates.pairs)
    low, high = np.quantile(replicated, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    mean, sd = replicated.mean(axis=0), replicated.std(axis=0)
    outside = (observed < low) | (observed > high)
    ax = check_panels(ax, 1, (5.6, 5.4))[0]
    _draw_pairs(ax, observed, mean, low, high, outside)
    z_score = np.abs(observed - mean) / np.maximum(sd, 1 / (2 * len(rows)))
    worst = np.flatnonzero(outside)
    worst = worst[np.argsort(-z_score[worst], kind="stable")][:n_named]
    _name_worst(ax, edge_names(posterior, worst))
    n_outside = int(outside.sum())
    headline(ax, f"{n_outside} of {observed.size} pairs outside {100 * ci_prob:g}% of replicates")
    return ax


def _draw_pairs(
    ax: Axes, observed: Array, mean: Array, low: Array, high: Array, outside: NDArray[np.bool_]
) -> None:
    end = 1.05 * max(float(observed.max()), float(high.max()), 0.01)
    ax.plot([0, end], [0, end], color=GREY, linewidth=0.8, linestyle=LIMIT_DASHES, zorder=1)
    size = float(np.clip(40 / np.sqrt(observed.size), 1.5, 4.5))
    opacity = 0.5 * min(1.0, float(np.sqrt(200 / observed.size)))
    kinds = ((~outside, BLUE, "o", "within"), (outside, ORANGE, "s", "outside"))
    for level, (chosen, color, marker, label) in enumerate(kinds):
        x = observed[chosen]
        ax.vlines(
            x, low[chosen], high[chosen], color=color, linewidth=0.3 * size, alpha=opacity,
            zorder=2 + level,
        )  # fmt: skip
        ax.plot(
            x, mean[chosen], marker, color=color, markersize=size + level, linestyle="none",
            label=f"{label} ({chosen.sum()})", zorder=2.5 + level,
            mec=INK if level else color, mew=0.4,
        )  # fmt: skip
    ax.set_xlim(0, end)
    ax.set_ylim(0, end)
    ax.set_aspect("equal")
    ax.set_xlabel("share of rows with both 1, observed")
    ax.set_ylabel("replicated: mean and interval")
    tidy(ax)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper left")


def _name_worst(ax: Axes, names: list[str]) -> None:
    """List pairs below the legend, where points are rare."""
    if names:
        ax.text(
            0.03, 0.86, "largest deviations:\n" + "\n".join(names), transform=ax.transAxes,
            va="top", fontsize=SMALL, color=INK, zorder=5, **PLAIN,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.7},
        )  # fmt: skip
