"""Posterior predictive check of pairs of nodes, and of levels."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import (
    BLUE,
    GREY,
    INK,
    LIMIT_DASHES,
    MAX_NAME_LENGTH,
    ORANGE,
    PLAIN,
    SMALL,
    edge_names,
    headline,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.posterior.couplings import check_ci_prob
from slabfield.posterior.node_names import short_name
from slabfield.posterior.predictive import TableSummary, replicate_tables, summarize
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

    Where nodes have more than two levels, the association of every pair takes its place: the
    correlation of the scores of the two nodes, or Cramer's V if one is nominal. Small triangles
    then are the shares of rows in each level of each node.

    Each replicate has as many rows as X, drawn from the field of one posterior draw: exactly up to
    65,536 joint states (16 binary nodes); above, by Gibbs runs that start from uniformly random
    states and may miss modes of a multimodal field. A vertical line is the central interval of the
    replicates. If the pairwise model fits, about ``ci_prob`` of the lines cross the diagonal for
    new rows, and more for the rows that were fitted. Pairs and levels whose line does not are
    orange, with black edges; those farthest from the diagonal are named.

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
        Number of pairs or levels named, farthest from the diagonal first.
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
    replicates = replicate_tables(posterior, len(rows), n_draws, random_state).summary
    points = _points(posterior, summarize(rows, posterior.encoder.variables), replicates)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    low, high = np.quantile(points.replicated, tails, axis=0)
    mean, sd = points.replicated.mean(axis=0), points.replicated.std(axis=0)
    outside = (points.observed < low) | (points.observed > high)
    ax = check_panels(ax, 1, (5.6, 5.4))[0]
    _draw_points(ax, points, mean, low, high, outside)
    z_score = np.abs(points.observed - mean) / np.maximum(sd, 1 / (2 * len(rows)))
    worst = np.flatnonzero(outside)
    worst = worst[np.argsort(-z_score[worst], kind="stable")][:n_named]
    n_entries = 2 if points.n_pairs == outside.size else 4  # of the legend
    _name_worst(ax, _names(posterior, worst, points.n_pairs), 0.96 - 0.05 * n_entries)
    n_outside = int(outside.sum())
    what = "pairs" if points.n_pairs == outside.size else "pairs and levels"
    headline(ax, f"{n_outside} of {outside.size} {what} outside {100 * ci_prob:g}% of replicates")
    return ax


class _Points(NamedTuple):
    """What is drawn: pairs first, then levels; observed (M,), replicated (n_draws, M)."""

    observed: Array
    replicated: Array
    n_pairs: int
    label: str


def _points(posterior: Posterior, observed: TableSummary, replicated: TableSummary) -> _Points:
    """Return pairs of binary nodes alone; else pairs and the levels of nodes."""
    of_pairs = posterior.interactions.of_matrix
    pairs, again = of_pairs(observed.pairs), of_pairs(replicated.pairs)
    if posterior.model.single_binary:
        return _Points(pairs, again, pairs.size, "share of rows with both 1, observed")
    kinds = {variable.is_scored for variable in posterior.encoder.variables}
    association = {
        (True,): "correlation", (False,): "Cramer's V", (False, True): "correlation or Cramer's V",
    }[tuple(sorted(kinds))]  # fmt: skip
    return _Points(
        np.concatenate([pairs, observed.nodes]),
        np.concatenate([again, replicated.nodes], axis=1),
        pairs.size,
        f"{association}; share of a level (triangles), observed",
    )


def _names(posterior: Posterior, chosen: NDArray[np.intp], n_pairs: int) -> list[str]:
    """Names of pairs, and of levels, which come after them."""
    levels = [
        short_name(f"{variable.name} = {label}", MAX_NAME_LENGTH)
        for variable in posterior.encoder.variables
        for label in variable.labels
    ]
    return [
        edge_names(posterior, [k])[0] if k < n_pairs else levels[k - n_pairs]
        for k in chosen.tolist()
    ]


def _draw_points(
    ax: Axes, points: _Points, mean: Array, low: Array, high: Array, outside: NDArray[np.bool_]
) -> None:
    observed, is_pair = points.observed, np.arange(outside.size) < points.n_pairs
    start = min(1.05 * min(float(observed.min()), float(low.min())), 0.0)
    end = 1.05 * max(float(observed.max()), float(high.max()), 0.01)
    ax.plot([start, end], [start, end], color=GREY, lw=0.8, linestyle=LIMIT_DASHES, zorder=1)
    size = float(np.clip(40 / np.sqrt(observed.size), 1.5, 4.5))
    opacity = 0.5 * min(1.0, float(np.sqrt(200 / observed.size)))
    kinds = [(is_pair, "os", "")]
    if not is_pair.all():
        kinds = [(is_pair, "os", "pairs "), (~is_pair, "^v", "levels ")]
    for (some, markers, what), out in product(kinds, (0, 1)):
        chosen = some & (outside if out else ~outside)
        marker, color = markers[out], ORANGE if out else BLUE
        label = what + ("outside" if out else "within")
        x = observed[chosen]
        ax.vlines(
            x, low[chosen], high[chosen], color=color, linewidth=0.3 * size, alpha=opacity,
            zorder=2 + out,
        )  # fmt: skip
        ax.plot(
            x, mean[chosen], marker, color=color, markersize=size + out, linestyle="none",
            label=f"{label} ({chosen.sum()})", zorder=2.5 + out,
            mec=INK if out else color, mew=0.4,
        )  # fmt: skip
    ax.set_xlim(start, end)
    ax.set_ylim(start, end)
    ax.set_aspect("equal")
    ax.set_xlabel(points.label)
    ax.set_ylabel("replicated: mean and interval")
    tidy(ax)
    ax.legend(fontsize=SMALL, frameon=False, loc="upper left")


def _name_worst(ax: Axes, names: list[str], height: float) -> None:
    """List pairs and levels below the legend, where points are rare."""
    if names:
        ax.text(
            0.03, height, "largest deviations:\n" + "\n".join(names), transform=ax.transAxes,
            va="top", fontsize=SMALL, color=INK, zorder=5, **PLAIN,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.7},
        )  # fmt: skip
