"""Shared style of all plots: colors, sizes, names as plain text.

Nothing here changes matplotlib's settings. Figures are made without ``pyplot``, so that no global
state remains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from slabfield.io.notebook import in_notebook
from slabfield.posterior import Posterior
from slabfield.posterior.node_names import short_name

# Palette of Okabe and Ito, safe for color-blind readers; the colors also differ in lightness
BLUE, ORANGE, SKY, GREY, PALE, INK = (
    "#0072B2", "#D55E00", "#56B4E9", "#555555", "#BBBBBB", "#222222",
)  # fmt: skip
# Color of edges without a sign
UNSIGNED = "#7A6A8A"
DASHES = (0.0, (2.2, 1.1))
LIMIT_DASHES = (0.0, (4.0, 2.0))
# Arguments of every text with a name: dollar signs and underscores are ordinary characters
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
# Font sizes, in points
SMALL, NORMAL = 8.0, 9.0
# Characters of a name in a plot, on one line, and lines of the name of a node in a network
MAX_NAME_LENGTH, MAX_LINES = 16, 3
# Characters of a name beside an axis that lists nodes
LIST_NAME_LENGTH = 32
# Mean width of a letter, as a share of the font size
LETTER_WIDTH = 0.6
# Parts of a name between which a line may break, with what separates them
WORDS = re.compile(r"[^\s_./-]*[\s_./-]+|[^\s_./-]+")


def wrap_name(name: str) -> str:
    r"""Return a name on a few lines of similar length; a very long one is shortened in the middle.

    Lines break at spaces and after underscores, periods, slashes and hyphens.

    Parameters
    ----------
    name : str
        Any text.

    Returns
    -------
    str
        At most ``MAX_LINES`` lines of at most ``MAX_NAME_LENGTH`` characters.

    Examples
    --------
    >>> from slabfield.plots._style import wrap_name
    >>> wrap_name("often have trouble sleeping")
    'often have\ntrouble sleeping'
    """
    for longest in range(MAX_LINES * MAX_NAME_LENGTH, 0, -1):
        parts = WORDS.findall(short_name(name, longest))
        lines = _fill_lines([_short_part(part) for part in parts])
        if len(lines) <= MAX_LINES:
            break
    return "\n".join(lines)


def _short_part(part: str) -> str:
    """Shorten a word that is longer than a line; what separates it from the next stays."""
    return part if len(part.rstrip()) <= MAX_NAME_LENGTH else short_name(part, MAX_NAME_LENGTH)


def _fill_lines(parts: list[str]) -> list[str]:
    """Arrange parts of a name in as few lines as possible, as equal in length as possible."""
    n_lines = len(_greedy_lines(parts, MAX_NAME_LENGTH))
    widths = range(1, MAX_NAME_LENGTH + 1)
    fits = (lines for w in widths if len(lines := _greedy_lines(parts, w)) <= n_lines)
    return next(fits, [])


def _greedy_lines(parts: list[str], width: int) -> list[str]:
    lines: list[str] = []
    for part in parts:
        if lines and len((lines[-1] + part).rstrip()) <= width:
            lines[-1] += part
        else:
            lines.append(part)
    return [line.rstrip() for line in lines]


def edge_names(
    posterior: Posterior, edges: ArrayLike | None = None, longest: int = MAX_NAME_LENGTH
) -> list[str]:
    """Return the names of all edges, or of some: short names of the nodes, with a hyphen."""
    names = [short_name(name, longest) for name in posterior.feature_names]
    return posterior.interactions.labels(names, edges)


def new_figure(width: float, height: float) -> Figure:
    """Return a new figure; in a notebook one of pyplot, which the cell then shows."""
    if not in_notebook():
        return Figure(figsize=(width, height), layout="constrained")
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure."""
    return new_figure(width, height).add_subplot()


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


def list_size(labels: Sequence[str]) -> tuple[float, float]:
    """Return the size in inches of a plot with one line for each label.

    Examples
    --------
    >>> from slabfield.plots._style import list_size
    >>> list_size(["sleep - work"] * 30)
    (6.5, 6.6)
    """
    width = max(6.5, 4.5 + label_width(labels, SMALL))
    return width, round(float(np.clip(1.2 + 0.18 * len(labels), 2.5, 30)), 2)


def label_width(labels: Sequence[str], size: float) -> float:
    """Return the width in inches of the longest label, in a font of this size in points."""
    return max(map(len, labels), default=0) * LETTER_WIDTH * size / 72
