"""Figure 10: conditional log-likelihood against density on patches of MNIST digits."""

from __future__ import annotations

import pandas as pd

from slabfield.reproduce.drawing import finish, legend_below, new_figure
from slabfield.reproduce.figure06 import CLL, SHOWN, panel
from slabfield.reproduce.method_scores import data_sets, grid, score_pieces, score_table
from slabfield.reproduce.workbench import Workbench


def make(bench: Workbench) -> None:
    """Score all methods on 3 x 3 groups of test images, for both numbers of training images."""
    p0s = [None, *grid(bench, "mnist")]
    sizes = bench.scale.image_sizes
    every = [data_sets(bench, "mnist", n) for n in sizes]
    bench.finish([p for s in every[::-1] for p in score_pieces(bench, s, p0s)], "figure 10")
    tables = [score_table(bench, sets, p0s, "figure 10") for sets in every]
    table = pd.concat(tables, ignore_index=True)
    bench.table("figure10", table)
    figure, axes = new_figure(len(sizes), width=5.0, height=4.0)
    for ax, n in zip(axes[0], sizes, strict=True):
        panel(ax, table[table["n_rows"] == n], SHOWN)
        finish(ax, f"MNIST patches, {n} images", "edge density", CLL)
    legend_below(figure, axes[0, 0], 6 if len(sizes) > 1 else 3)
    bench.picture("figure10", figure)
