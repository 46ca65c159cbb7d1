"""Forest plot of couplings."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._inputs import check_panels, check_posterior
from slabfield.plots._style import (
    BLUE,
    GREY,
    LIST_NAME_LENGTH,
    ORANGE,
    PLAIN,
    SMALL,
    UNSIGNED,
    edge_names,
    headline,
    list_size,
    tidy,
)
from slabfield.posterior import Posterior
from slabfield.validation import check_number, check_positive_int


def edge_forest(
    posterior: Posterior,
    n_edges: int = 30,
    threshold: float = 0.5,
    ci_prob: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Plot the couplings of probable edges with their intervals, strongest first.

    Mean and highest-density interval are given presence of the edge; the inclusion probability is
    on the right. Positive couplings are blue circles, negative ones orange squares. Strengths of
    edges without a sign, of nominal nodes, are violet diamonds.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    n_edges : int
        Maximum number of edges.
    threshold : float
        Smallest inclusion probability of an edge that is drawn.
    ci_prob : float
        Posterior probability of the intervals.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> from slabfield.plots import edge_forest
    >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
    >>> len(edge_forest(posterior, n_edges=2, threshold=0).get_yticks())
    2
    """
    posterior = check_posterior(posterior)
    n_edges = check_positive_int("n_edges", n_edges)
    threshold = check_number("threshold", threshold, 0, 1)
    lower, upper = posterior.coupling_interval(ci_prob)
    chosen, n_probable = _strongest(posterior, threshold, n_edges)
    names = edge_names(posterior, chosen, LIST_NAME_LENGTH)
    ax = check_panels(ax, 1, list_size(names))[0]
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
    ends = posterior.interactions.cliques(chosen)
    for place, (edge, (i, j)) in enumerate(zip(chosen, ends, strict=True)):
        mean = posterior.edge_mean[edge]
        color, marker = (BLUE, "o") if mean >= 0 else (ORANGE, "s")
        if not posterior.edge_is_signed[edge]:
            color, marker = UNSIGNED, "D"
        if np.isfinite(lower[i, j]):
            ax.plot([lower[i, j], upper[i, j]], [place, place], color=color, linewidth=1.6)
        ax.plot(mean, place, marker=marker, color=color, markersize=5, linestyle="none")
        _write_probability(ax, place, posterior.edge_probability[edge])
    ax.set_yticks(range(len(chosen)), names, **PLAIN)
    ax.set_ylim(len(chosen) - 0.4, -1.4)
    _write_beside(ax, -1, "probability")
    tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    unsigned = not np.all(posterior.edge_is_signed[chosen])
    what = "coupling (diamonds: strength, without sign)" if unsigned else "coupling"
    ax.set_xlabel(f"{what} given presence: mean and {100 * ci_prob:g}% interval")
    headline(ax, _summary(len(chosen), n_probable, threshold))
    return ax


def _strongest(
    posterior: Posterior, threshold: float, n_edges: int
) -> tuple[NDArray[np.intp], int]:
    """Return the strongest probable edges, and the number of all probable edges."""
    visited = np.isfinite(posterior.edge_mean)
    probable = np.flatnonzero(visited & (posterior.edge_probability >= threshold))
    order = np.argsort(-np.abs(posterior.edge_mean[probable]), kind="stable")
    return probable[order][:n_edges], probable.size


def _summary(n_drawn: int, n_probable: int, threshold: float) -> str:
    if n_probable == 0:
        return f"No edge has probability {threshold:g} or more"
    which = "All" if n_drawn == n_probable else f"The strongest {n_drawn} of"
    return f"{which} {n_probable} edges of probability {threshold:g} or more"


def _write_probability(ax: Axes, place: float, probability: float) -> None:
    rounded = f"{probability:.2f}" if probability < 0.995 else "> 0.99" if probability < 1 else "1"
    _write_beside(ax, place, rounded)


def _write_beside(ax: Axes, place: float, text: str) -> None:
    ax.text(
        1.01, place, text, transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL,
        color=GREY,
    )  # fmt: skip
