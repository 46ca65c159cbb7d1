"""Figure 5: precision and recall of edges on lattices."""

from __future__ import annotations

import numpy as np
import pandas as pd

from slabfield.evaluate import precision_recall
from slabfield.reproduce.data_sets import DataSet, open_data_set
from slabfield.reproduce.drawing import STYLES, curve, finish, legend_below, new_figure
from slabfield.reproduce.fitted_models import L1, field_of
from slabfield.reproduce.method_scores import (
    N_ROWS,
    bayes_piece,
    data_sets,
    grid,
    score_pieces,
    score_table,
)
from slabfield.reproduce.workbench import Workbench

RECALLS = np.linspace(0.05, 1.0, 20)
RANKED = "Bayes, ranked"


def make(bench: Workbench) -> None:
    """Score all methods at each number of rows; the grid of fixed p0 is only for 100 rows."""
    tables, ranks = [], []
    wanted: dict[int, list[float | None]] = {n: [None] for n in sorted(bench.scale.sizes)}
    wanted[N_ROWS] = [None, *grid(bench, "lattice")]
    every = {n_rows: data_sets(bench, "lattice", n_rows) for n_rows in wanted}
    bench.finish([p for n in wanted for p in score_pieces(bench, every[n], wanted[n])], "figure 5")
    for n_rows, sets in every.items():
        tables.append(score_table(bench, sets, wanted[n_rows], "figure 5"))
        ranks.append(_ranked(bench, sets))
    kept = ["n_rows", "seed", "method", "setting", "density", "precision", "recall", "f1"]
    table, ranked = pd.concat(tables)[kept], pd.concat(ranks)
    bench.table("figure05", table)
    bench.table("figure05_ranked", ranked)
    sizes = sorted(table["n_rows"].unique())
    figure, axes = new_figure(len(sizes), width=3.7, height=3.7)
    for ax, n_rows in zip(axes[0], sizes, strict=True):
        mine = table[table["n_rows"] == n_rows]
        # Precision is undefined at a strength without edges
        mine = mine[mine["precision"].notna()]
        for method in (*L1, "Bayes p0", "Bayes"):
            curve(ax, mine, method, "recall", "precision")
        line = ranked[ranked["n_rows"] == n_rows].groupby("recall")["precision"].mean()
        ax.plot(line.index, line, "--", color=STYLES["Bayes"]["color"], label=RANKED, linewidth=1)
        ax.set(xlim=(0, 1.02), ylim=(0, 1.05))
        finish(ax, f"lattice, {n_rows} rows", "recall", "precision")
    legend_below(figure, axes[0, sizes.index(N_ROWS)], 6)
    bench.picture("figure05", figure)


def _ranked(bench: Workbench, sets: list[DataSet]) -> pd.DataFrame:
    """Precision at given recalls, with edges ranked by inclusion probability and p0 learned."""
    pieces = [bayes_piece(bench, data_set, None) for data_set in sets]
    rows = []
    for data_set, result in zip(sets, bench.results(pieces, "figure 5"), strict=True):
        truth = open_data_set(data_set).truth
        score = field_of(result["bias"], result["probability"]).coupling
        found = precision_recall(truth, score)
        for recall in RECALLS:
            best = found.precision[found.recall >= recall - 1e-12].max()
            row = {"n_rows": data_set.n_rows, "seed": data_set.seed, "recall": recall}
            rows.append({**row, "precision": best})
    return pd.DataFrame(rows)
