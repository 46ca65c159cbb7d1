"""Validation of the arguments of plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from slabfield.plots._style import new_figure
from slabfield.posterior import Posterior
from slabfield.validation import InputError, Parameter, find_node
from slabfield.validation.errors import shown_value


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


def per_node(what: str, value: Any, names: list[str], default: Sequence[Any]) -> list[Any]:
    """Return a value for each node: from a mapping of some nodes, or a sequence for all.

    Parameters
    ----------
    what : str
        Name of the parameter.
    default : sequence
        Values of nodes that a mapping leaves out, or of all if the value is None.
    """
    if value is None:
        return list(default)
    if isinstance(value, Mapping):
        found = list(default)
        for node, each in value.items():
            found[find_node(what, node, names)] = each
        return found
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != len(names):
        raise InputError(
            "not-one-value-per-node",
            "{parameter} must be a dict from names of nodes, or a list with a value for each of "
            "the {n_nodes} nodes; got {value}. Pass one of these.",
            parameter=Parameter(what),
            n_nodes=len(names),
            value=shown_value(value),
        )
    return list(value)


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
        figure = new_figure(size[0], size[1] * n + 0.3)
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
