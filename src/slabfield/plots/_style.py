"""Shared style of all plots: colors, sizes, names as plain text.

Nothing here changes matplotlib's settings. Figures are made without ``pyplot``, so that no global
state remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from slabfield.posterior import Posterior

# Palette of Okabe and Ito, safe for color-blind readers; the colors also differ in lightness
BLUE, ORANGE, SKY, GREY, PALE, INK = (
    "#0072B2", "#D55E00", "#56B4E9", "#555555", "#BBBBBB", "#222222",
)  # fmt: skip
DASHES = (0.0, (2.2, 1.1))
LIMIT_DASHES = (0.0, (4.0, 2.0))
# Arguments of every text with a name: dollar signs and underscores are ordinary characters
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
# Font sizes, in points
SMALL, NORMAL = 8.0, 9.0
# Characters of a name in a plot
MAX_NAME_LENGTH = 16


def short_name(name: str, longest: int = MAX_NAME_LENGTH) -> str:
    r"""Return a name on one line, truncated to a maximum length.

    Parameters
    ----------
    name : str
        Any text; line breaks and other control characters become spaces.

    Returns
    -------
    str
        The name, or its beginning with an ellipsis.

    Examples
    --------
    >>> from slabfield.plots._style import short_name
    >>> short_name("trouble sleeping at night"), short_name("two\nlines")
    ('trouble sleepin…', 'two lines')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def edge_names(
    posterior: Posterior, edges: ArrayLike | None = None, longest: int = MAX_NAME_LENGTH
) -> list[str]:
    """Return the names of all edges, or of some: the names of the nodes, cut, with a hyphen."""
    names = [short_name(name, longest) for name in posterior.feature_names]
    return posterior.interactions.labels(names, edges)


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def tidy(ax: Axes, grid: str | None = None) -> None:
    """Remove the top and right spines, reduce font sizes, and optionally add a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    ax.xaxis.label.set_fontsize(NORMAL)
    ax.yaxis.label.set_fontsize(NORMAL)
    if grid in ("x", "y", "both"):
        ax.grid(axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def headline(ax: Axes, text: str) -> None:
    """Write a title above the plot, on the left."""
    ax.set_title(text, loc="left", fontsize=10, color=GREY, **PLAIN)


def list_size(n_lines: int, width: float = 6.5) -> tuple[float, float]:
    """Return the size in inches of a plot with ``n_lines`` labeled lines.

    Examples
    --------
    >>> from slabfield.plots._style import list_size
    >>> list_size(30)
    (6.5, 6.6)
    """
    return width, round(float(np.clip(1.2 + 0.18 * n_lines, 2.5, 30)), 2)
