"""Figure 4: inclusion probability, mean and sd of every edge, the paper's sampler against exact."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from slabfield.reproduce.drawing import GREY, finish, new_figure
from slabfield.reproduce.figure03 import paper_and_exact
from slabfield.reproduce.workbench import Workbench

PANELS = {
    "probability": "inclusion probability", "mean": "mean if present", "sd": "sd if present"
}  # fmt: skip
# Means and sds are compared for edges present in at least this share of the draws of both
MIN_SHARE = 0.02


def make(bench: Workbench) -> None:
    """Run both samplers at each p0; each point is an edge at one p0."""
    p0s = bench.scale.p0
    pieces = [piece for p0 in p0s for piece in paper_and_exact(bench, p0)]
    found = bench.results(pieces, "figure 4")
    parts = []
    for p0, approximate, exact in zip(p0s, found[::2], found[1::2], strict=True):
        columns = {"p0": np.full(exact["probability"].size, p0)}
        columns["edge"] = np.arange(exact["probability"].size)
        for what in PANELS:
            columns |= {what: approximate[what], f"{what}_exact": exact[what]}
        n_draws = bench.scale.paper_draws * bench.scale.paper_chains
        columns["visit_share"] = approximate["visits"] / n_draws
        parts.append(pd.DataFrame(columns))
    table = pd.concat(parts)
    bench.table("figure04", table)
    visited = table[(table["visit_share"] >= MIN_SHARE) & (table["probability_exact"] >= MIN_SHARE)]
    figure, axes = new_figure(3, width=3.6, height=3.6)
    for ax, (what, words) in zip(axes[0], PANELS.items(), strict=True):
        shown = table if what == "probability" else visited
        x, y = shown[f"{what}_exact"], shown[what]
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        ax.plot(ends, ends, color=GREY, linewidth=0.8)
        points = ax.scatter(
            x, y, c=shown["p0"], s=9, cmap="viridis", norm=LogNorm(min(p0s), max(p0s)), alpha=0.8
        )
        finish(ax, words, "Bayes Exact p0", "Bayes p0" if what == "probability" else "")
    figure.colorbar(points, ax=axes[0, -1], label="p0")
    bench.picture("figure04", figure)
