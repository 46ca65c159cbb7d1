"""Figure 9: conditional log-likelihood against F1, on blocks and lattices."""

from __future__ import annotations

from slabfield.reproduce.drawing import curve, finish, frame_cll, legend_below, new_figure
from slabfield.reproduce.figure06 import CLL, KINDS, all_scores
from slabfield.reproduce.fitted_models import L1
from slabfield.reproduce.workbench import Workbench

SHOWN = (*L1, "Bayes p0", "Bayes PM p0", "Bayes", "Bayes PM")


def make(bench: Workbench) -> None:
    """Plot the scores of figure 6 against F1; a good model is at the upper right."""
    table = all_scores(bench, "figure 9")
    bench.table("figure09", table[["world", "seed", "method", "setting", "f1", "cll", "true_cll"]])
    figure, axes = new_figure(2, width=5.0, height=4.0)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        mine = table[(table["world"] == kind) & table["f1"].notna()]
        for method in SHOWN:
            curve(ax, mine, method, "f1", "cll")
        frame_cll(ax, mine)
        finish(ax, f"{kind}, 100 rows", "F1 of edges", CLL)
    legend_below(figure, axes[0, 0], 4)
    bench.picture("figure09", figure)
