"""Plot of a comparison of methods."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from matplotlib.axes import Axes

from slabfield.plots._style import BLUE, GREY, PLAIN, new_axes, tidy


def comparison(scores: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Plot the held-out likelihood of methods, one line each, best first.

    Parameters
    ----------
    scores : sequence
        Each with ``method``, ``cll``, ``cll_error``, ``density`` and ``cpu_seconds``.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn in.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from slabfield.plots import comparison
    >>> one = {"cll_error": 0.1, "density": 0.1, "cpu_seconds": 1.0}
    >>> scores = [SimpleNamespace(method="a", cll=-3.0, **one)]
    >>> scores += [SimpleNamespace(method="b", cll=-2.0, **one)]
    >>> [label.get_text()[0] for label in comparison(scores).get_yticklabels()]
    ['a', 'b']
    """
    if ax is None:
        ax = new_axes(7.0, 1.2 + 0.55 * len(scores))
    ordered = sorted(scores, key=lambda score: float(score.cll))
    for k, score in enumerate(ordered):
        own = score.method.startswith("slabfield")
        color, marker = (BLUE, "o") if own else (GREY, "s")
        ax.errorbar(score.cll, k, xerr=score.cll_error, fmt=marker, color=color, capsize=3)
    labels = [
        f"{score.method}\ndensity {score.density:.2g}"
        + ("" if isnan(score.cpu_seconds) else f", {score.cpu_seconds:.2g} CPU s")
        for score in ordered
    ]
    ax.set_yticks(range(len(ordered)), labels, **PLAIN)
    ax.set_ylim(-0.6, len(ordered) - 0.4)
    ax.set_xlabel("held-out conditional log-likelihood of groups, mean and standard error")
    tidy(ax, grid="x")
    return ax
