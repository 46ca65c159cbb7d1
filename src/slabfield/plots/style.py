"""What makes all pictures of one family: colours, sizes, names as plain text.

Nothing here touches matplotlib's settings. Figures are made without ``pyplot``, so that drawing
leaves nothing behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart; dark and light differ in grey too
BLUE, ORANGE, SKY, GREY, PALE, INK = (
    "#0072B2", "#D55E00", "#56B4E9", "#555555", "#BBBBBB", "#222222",
)  # fmt: skip
DASHES = (0.0, (2.2, 1.1))
LIMIT_DASHES = (0.0, (4.0, 2.0))
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
"""Arguments of every text that holds a name: dollar signs and underscores mean themselves."""

SMALL, NORMAL = 8.0, 9.0
LONGEST_NAME = 16


def short_name(name: str, longest: int = LONGEST_NAME) -> str:
    r"""Return a name on one line, cut where it is too long to be drawn.

    Parameters
    ----------
    name : str
        Any text; line breaks and other control characters become spaces.
    longest : int
        Most characters.

    Returns
    -------
    str
        The name, or its beginning and an ellipsis.

    Examples
    --------
    >>> from slabfield.plots.style import short_name
    >>> short_name("trouble sleeping at night"), short_name("two\nlines")
    ('trouble sleepin…', 'two lines')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def edge_name(names: list[str], edge: tuple[int, int], longest: int = LONGEST_NAME) -> str:
    """Return the name of an edge: those of its nodes, with a dash between them.

    Examples
    --------
    >>> from slabfield.plots.style import edge_name
    >>> edge_name(["sleep", "work"], (0, 1))
    'sleep - work'
    """
    return " - ".join(short_name(names[node], longest) for node in edge)


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure that belongs to nobody else.

    Examples
    --------
    >>> from slabfield.plots.style import new_axes
    >>> new_axes(4, 3).figure.get_size_inches()
    array([4., 3.])
    """
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def tidy(ax: Axes, grid: str | None = None) -> None:
    """Remove the frame's top and right, make text small, and add a faint grid on request.

    Examples
    --------
    >>> from slabfield.plots.style import new_axes, tidy
    >>> ax = new_axes(4, 3)
    >>> tidy(ax, grid="x")
    >>> ax.spines["top"].get_visible()
    False
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    ax.xaxis.label.set_fontsize(NORMAL)
    ax.yaxis.label.set_fontsize(NORMAL)
    if grid in ("x", "y", "both"):
        ax.grid(axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def headline(ax: Axes, text: str) -> None:
    """Say above the picture, on the left, what it shows.

    Examples
    --------
    >>> from slabfield.plots.style import headline, new_axes
    >>> ax = new_axes(4, 3)
    >>> headline(ax, "3 edges")
    >>> ax.get_title(loc="left")
    '3 edges'
    """
    ax.set_title(text, loc="left", fontsize=10, color=GREY, **PLAIN)


def list_size(n_lines: int, width: float = 6.5) -> tuple[float, float]:
    """Return the size of a picture with so many named lines below each other.

    Examples
    --------
    >>> from slabfield.plots.style import list_size
    >>> list_size(30)
    (6.5, 6.6)
    """
    return width, round(float(np.clip(1.2 + 0.18 * n_lines, 2.5, 30)), 2)
