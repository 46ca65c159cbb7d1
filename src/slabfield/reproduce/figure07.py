"""Figure 7: conditional log-likelihood against density, exact and approximate, on blocks."""

from __future__ import annotations

import pandas as pd

from slabfield.reproduce.drawing import finish, new_figure
from slabfield.reproduce.figure06 import CLL, panel
from slabfield.reproduce.method_scores import data_sets, grid, score_table
from slabfield.reproduce.workbench import Workbench

SHOWN = (
    "Bayes p0", "Bayes Exact p0", "Bayes PM p0", "Bayes Exact PM p0",
    "Bayes", "Bayes Exact", "Bayes PM", "Bayes Exact PM",
)  # fmt: skip


def make(bench: Workbench) -> None:
    """Score the Bayesian models with particles and with the exact likelihood."""
    sets, p0s = data_sets(bench, "block"), [None, *grid(bench, "block")]
    table = pd.concat([
        score_table(bench, sets, p0s, "figure 7", methods=(), likelihood=likelihood)
        for likelihood in ("particles", "exact")
    ], ignore_index=True)  # fmt: skip
    bench.table("figure07", table)
    figure, axes = new_figure(width=6.6, height=4.0)
    panel(axes[0, 0], table, SHOWN)
    finish(axes[0, 0], "block, 100 rows", "edge density", CLL)
    figure.legend(loc="outside right upper", frameon=False)
    bench.picture("figure07", figure)
