"""Figure 6: conditional log-likelihood against edge density, on blocks and lattices."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from slabfield.inference.elimination_order import plan
from slabfield.reproduce.drawing import (
    GREY,
    curve,
    density_axis,
    finish,
    frame_cll,
    legend_below,
    new_figure,
)
from slabfield.reproduce.fitted_models import L1, field_of
from slabfield.reproduce.method_scores import (
    bayes_piece,
    data_sets,
    grid,
    path_piece,
    score_pieces,
    score_table,
)
from slabfield.reproduce.workbench import Workbench

KINDS = ("block", "lattice")
SHOWN = ("Wain Max", "MLE", "Bayes p0", "Bayes PM p0", "Bayes", "Bayes PM")
CLL = "mean conditional log-likelihood"


def all_scores(bench: Workbench, label: str) -> pd.DataFrame:
    """Scores of all methods on all block and lattice data sets of 100 rows."""
    every = [(data_sets(bench, kind), [None, *grid(bench, kind)]) for kind in KINDS[::-1]]
    bench.finish([p for sets, p0s in every for p in score_pieces(bench, sets, p0s)], label)
    tables = [score_table(bench, sets, p0s, label) for sets, p0s in every[::-1]]
    return pd.concat(tables, ignore_index=True)


def make(bench: Workbench) -> None:
    """Score all methods; as in the paper, "Wain Min" is in the table but not in the figure."""
    table = all_scores(bench, "figure 6")
    bench.table("figure06", table)
    bench.table("figure06_width", _widths(bench))
    figure, axes = new_figure(2, width=5.0, height=4.0)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        panel(ax, table[table["world"] == kind], SHOWN)
        finish(ax, f"{kind}, 100 rows", "edge density", CLL)
    legend_below(figure, axes[0, 0], 6)
    bench.picture("figure06", figure)


def panel(ax: Axes, table: pd.DataFrame, methods: tuple[str, ...]) -> None:
    """Plot curves of methods over density, with the true model if it is known."""
    for method in methods:
        curve(ax, table, method, "density", "cll")
    if "true_density" in table and table["true_density"].notna().any():
        ax.axvline(table["true_density"].mean(), color=GREY, linewidth=0.9)
        ax.axhline(table["true_cll"].mean(), color=GREY, linewidth=0.9, linestyle=":")
    frame_cll(ax, table[table["method"].isin(methods)])
    density_axis(ax)


def _widths(bench: Workbench) -> pd.DataFrame:
    """Width of exact inference in the best-predicting model of each method.

    Variable elimination, in a greedy order, needs a table of 2^width numbers.
    """
    rows = []
    for kind in KINDS:
        sets = data_sets(bench, kind)
        pieces = [bayes_piece(bench, data_set, None) for data_set in sets]
        pieces += [path_piece(bench, data_set, method) for method in L1 for data_set in sets]
        names = [name for name in ("Bayes PM", *L1) for _ in sets]
        for name, piece, result in zip(
            names, pieces, bench.results(pieces, "figure 6"), strict=True
        ):
            bias, edges = result["bias"], result["edges"]
            if name in L1:
                best = int(np.argmax(result["cll"]))
                bias, edges = bias[best], edges[best]
            width = plan(field_of(bias, edges)).width
            row = {"world": kind, "seed": piece.arguments["data_set"].seed, "method": name}
            rows.append({**row, "density": (edges != 0).mean(), "width": width})
    return pd.DataFrame(rows)
