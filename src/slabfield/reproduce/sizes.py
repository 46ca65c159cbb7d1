"""Density and likelihood against the number of training rows."""

from __future__ import annotations

import pandas as pd

from slabfield.reproduce.drawing import GREY, STYLES, finish, legend_below, new_figure
from slabfield.reproduce.figure06 import CLL, KINDS
from slabfield.reproduce.fitted_models import L1
from slabfield.reproduce.method_scores import data_sets, grid, score_pieces, score_table
from slabfield.reproduce.workbench import Workbench


def make(bench: Workbench) -> None:
    """Score all methods at each number of rows; the grid of fixed p0 is only for blocks."""
    p0s: dict[str, list[float | None]] = {"block": [None, *grid(bench, "block")], "lattice": [None]}
    every = [(data_sets(bench, kind, n), p0s[kind]) for kind in KINDS for n in bench.scale.sizes]
    bench.finish([p for sets, some in every for p in score_pieces(bench, sets, some)], "sizes")
    tables = [score_table(bench, sets, some, "sizes") for sets, some in every]
    table = pd.concat(tables, ignore_index=True)
    bench.table("sizes", table)
    best = best_of_paths(table)
    figure, axes = new_figure(2, 2, width=5.0, height=3.3)
    for column, kind in enumerate(KINDS):
        mine = best[best["world"] == kind]
        for row, (what, words) in enumerate((("density", "edge density"), ("cll", CLL))):
            ax = axes[row, column]
            for method in (*L1, "Bayes", "Bayes PM"):
                part = mine[mine["method"] == method].groupby("n_rows")[what].agg(["mean", "std"])
                ax.errorbar(
                    part.index, part["mean"], yerr=part["std"].fillna(0.0), label=method,
                    linewidth=1.2, capsize=2, **STYLES[method],
                )  # fmt: skip
            truth = mine["true_density" if what == "density" else "true_cll"].mean()
            ax.axhline(truth, color=GREY, linewidth=0.9, label="true model")
            ax.set_xscale("log")
            ax.set_xticks(bench.scale.sizes, map(str, bench.scale.sizes))
            ax.minorticks_off()
            note = ", L1 at its best strength" if row == 0 else ""
            finish(ax, f"{kind}{note}", "training rows", words)
    legend_below(figure, axes[0, 0], 6)
    bench.picture("sizes", figure)


def best_of_paths(table: pd.DataFrame) -> pd.DataFrame:
    """Select the best strength of each L1 method and data set, and Bayes with p0 learned.

    The strength is chosen on the test rows, which favors the L1 methods.
    """
    paths = table[table["method"].isin(L1)]
    keys = ["world", "n_rows", "seed", "method"]
    best = paths.loc[paths.groupby(keys)["cll"].idxmax()]
    return pd.concat([best, table[table["method"].isin(("Bayes", "Bayes PM"))]])
