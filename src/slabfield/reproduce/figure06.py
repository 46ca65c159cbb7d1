"""Figure 6: conditional log-likelihood against edge density, on blocks and lattices."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from slabfield.exact.planning import plan
from slabfield.reproduce.bench import Workbench
from slabfield.reproduce.drawing import (
    GREY,
    curve,
    density_axis,
    finish,
    frame_cll,
    legend_below,
    new_figure,
)
from slabfield.reproduce.models import L1, field_of
from slabfield.reproduce.scores import (
    bayes_piece,
    grid,
    path_piece,
    score_pieces,
    score_table,
    worlds,
)

KINDS = ("block", "lattice")
SHOWN = ("Wain Max", "MLE", "Bayes p0", "Bayes PM p0", "Bayes", "Bayes PM")
CLL = "mean conditional log-likelihood"


def all_scores(bench: Workbench, label: str) -> pd.DataFrame:
    """Scores of all methods on all block and lattice data sets of 100 rows."""
    every = [(worlds(bench, kind), [None, *grid(bench, kind)]) for kind in KINDS[::-1]]
    bench.finish([p for sets, p0s in every for p in score_pieces(bench, sets, p0s)], label)
    tables = [score_table(bench, sets, p0s, label) for sets, p0s in every[::-1]]
    return pd.concat(tables, ignore_index=True)


def make(bench: Workbench) -> None:
    """Score all methods; "Wain Min" is in the table, and like in the paper not in the picture."""
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
    """Draw curves of methods over density, with the truth where it is known."""
    for method in methods:
        curve(ax, table, method, "density", "cll")
    if "true_density" in table and table["true_density"].notna().any():
        ax.axvline(table["true_density"].mean(), color=GREY, linewidth=0.9)
        ax.axhline(table["true_cll"].mean(), color=GREY, linewidth=0.9, linestyle=":")
    frame_cll(ax, table[table["method"].isin(methods)])
    density_axis(ax)


def _widths(bench: Workbench) -> pd.DataFrame:
    """Width of exact inference in the model of each method that predicts best.

    A table of 2^width numbers is what it takes to sum a graph out, in an order found greedily.
    """
    rows = []
    for kind in KINDS:
        sets = worlds(bench, kind)
        pieces = [bayes_piece(bench, world, None) for world in sets]
        pieces += [path_piece(bench, world, method) for method in L1 for world in sets]
        names = [name for name in ("Bayes PM", *L1) for _ in sets]
        for name, piece, result in zip(
            names, pieces, bench.results(pieces, "figure 6"), strict=True
        ):
            bias, edges = result["bias"], result["edges"]
            if name in L1:
                best = int(np.argmax(result["cll"]))
                bias, edges = bias[best], edges[best]
            width = plan(field_of(bias, edges)).width
            told = {"world": kind, "seed": piece.arguments["world"].seed, "method": name}
            rows.append({**told, "density": (edges != 0).mean(), "width": width})
    return pd.DataFrame(rows)
