"""Figure 1: diagram of the moves of the sampler on one edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slabfield.reproduce.drawing import GREY, STYLES, new_figure
from slabfield.reproduce.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABSENT, PRESENT = 0.0, 1.6
WINDOW = 0.7
BLUE, ORANGE = STYLES["Bayes PM"]["color"], STYLES["Bayes"]["color"]


def make(bench: Workbench) -> None:
    """Draw the diagram; this is the only figure without numbers."""
    figure, ((axes,),) = new_figure(width=6.4, height=3.8)
    x = np.linspace(-2.4, 4.0, 400)
    slab = PRESENT + 0.9 * np.exp(-0.5 * ((x - 1.4) / 0.85) ** 2)
    axes.fill_between(x, PRESENT, slab, color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(x, slab, color=BLUE, linewidth=1)
    axes.plot([-2.4, 4.0], [PRESENT, PRESENT], color="black", linewidth=1)
    axes.fill_between([-WINDOW, WINDOW], PRESENT - 0.08, PRESENT + 0.08, color=ORANGE, alpha=0.35)
    axes.plot([0], [ABSENT], "o", color="black", markersize=10)
    _arrow(axes, (0, ABSENT + 0.1), (-WINDOW / 2, PRESENT - 0.12), ORANGE, -0.3)
    _arrow(axes, (WINDOW / 2, PRESENT - 0.12), (0.03, ABSENT + 0.1), ORANGE, -0.3)
    axes.text(-0.62, 0.75, "add: draw $a$,\naccept with $Q_{add}$", ha="right", va="center")
    axes.text(0.72, 0.75, "delete, if $|A|<\\Delta$:\naccept with $Q_{del}$", va="center")
    for begin, stop in ((1.9, 1.15), (1.15, 2.25), (2.25, 1.6)):
        _arrow(axes, (begin, PRESENT + 0.22), (stop, PRESENT + 0.22), BLUE, -0.5)
    axes.text(1.4, PRESENT + 0.98, "Langevin steps move $A$", ha="center", color=BLUE)
    axes.text(WINDOW + 0.08, PRESENT - 0.22, "$[-\\Delta, \\Delta]$", color=ORANGE)
    axes.text(-2.4, PRESENT + 0.1, "$Y=1$, coupling $A$", va="bottom")
    axes.text(-2.4, ABSENT, "$Y=0$, coupling $0$", va="center")
    axes.text(4.0, PRESENT - 0.12, "$A$", va="top", ha="right")
    axes.plot([0, 0], [ABSENT, PRESENT], ":", color=GREY, linewidth=0.8)
    axes.set(xlim=(-2.6, 4.2), ylim=(-0.3, 2.75))
    axes.axis("off")
    bench.picture("figure01", figure)


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str, bend: float
) -> None:
    style = {
        "arrowstyle": "-|>", "color": color, "linewidth": 1.4,
        "connectionstyle": f"arc3,rad={bend}",
    }  # fmt: skip
    axes.annotate("", xy=end, xytext=start, arrowprops=style)
