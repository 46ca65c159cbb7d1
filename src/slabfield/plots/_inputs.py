"""Validation of the arguments of plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from slabfield.posterior import Posterior
from slabfield.validation import InputError, Parameter
from slabfield.validation.errors import listed, shown_value


def check_posterior(value: object, needed: Sequence[str] = ()) -> Any:
    """Return the argument if it is a posterior, or raise an InputError.

    Parameters
    ----------
    needed : sequence of str
        If given, any object with these attributes is accepted.
    """
    compatible = bool(needed) and all(hasattr(value, name) for name in needed)
    if isinstance(value, Posterior) or compatible:
        return value
    kind = type(value).__name__
    advice = (
        "Fit it and pass model.posterior_"
        if hasattr(value, "fit")
        else "Pass what model.posterior_ or slabfield.load_posterior(FILE) gives"
    )
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    raise InputError(
        "not-a-posterior",
        "{parameter} must be a Posterior; got {article} {kind}. {advice}.",
        parameter=Parameter("posterior"),
        article=article,
        kind=kind,
        advice=advice,
    )


def find_edge(posterior: Posterior, pair: object) -> int:
    """Return the index of the edge between two nodes, given by name or by number.

    Parameters
    ----------
    posterior : Posterior
        Posterior with the edge.

    Returns
    -------
    int
        Index in the order of the interactions.
    """
    if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
        raise InputError(
            "plotted-edge-not-a-pair",
            "An edge must be a pair of nodes; got {value}. Pass, for example, ({first!r}, "
            "{last!r}).",
            value=shown_value(pair),
            first=posterior.feature_names[0],
            last=posterior.feature_names[-1],
        )
    i, j = (_find_node(posterior, node) for node in pair)
    if i == j:
        raise InputError(
            "plotted-edge-to-itself",
            "An edge must join two nodes; got {node!r} twice. Pass two different nodes.",
            node=posterior.feature_names[i],
        )
    return int(posterior.interactions.find(i, j))


def check_panels(ax: Any, n: int, size: tuple[float, float]) -> NDArray[Any]:
    """Return the axes of ``n`` panels: those given, or new ones stacked vertically.

    Parameters
    ----------
    ax : Axes, array of Axes or None
        The argument ``ax`` of a plot.
    size : pair of float
        Width and height in inches of a new panel.

    Returns
    -------
    array of Axes, shape (n,)
    """
    if ax is None:
        figure = Figure(figsize=(size[0], size[1] * n + 0.3), layout="constrained")
        return np.asarray(figure.subplots(n, 1, squeeze=False)[:, 0])
    panels = np.asarray(ax, dtype=object).ravel()
    if panels.size != n or not all(isinstance(panel, Axes) for panel in panels):
        found = (
            f"{panels.size} of them"
            if all(isinstance(panel, Axes) for panel in panels)
            else f"{shown_value(ax)}"
        )
        raise InputError(
            "wrong-axes",
            "{parameter} must be {wanted}, one for each panel; got {found}. Leave it out, or pass "
            "{advice}.",
            parameter=Parameter("ax"),
            wanted="one matplotlib Axes" if n == 1 else f"{n} matplotlib Axes",
            found=found,
            advice="one" if n == 1 else f"those of figure.subplots({n})",
        )
    return panels


def _find_node(posterior: Posterior, node: object) -> int:
    names = posterior.feature_names
    if isinstance(node, str) and node in names:
        return names.index(node)
    is_integer = isinstance(node, int | np.integer) and not isinstance(node, bool)
    if is_integer and 0 <= node < len(names):  # type: ignore[operator]
        return int(node)  # type: ignore[call-overload, no-any-return]
    raise InputError(
        "unknown-plotted-node",
        "A node must be one of the names {names}, or its number from 0 to {last}; got {node}. Pass "
        "one of these.",
        names=listed([repr(name) for name in names]),
        last=len(names) - 1,
        node=shown_value(node),
    )
