"""Figure 8: absolute couplings of the true model, Wain Max and Bayes PM, sparse and dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from slabfield.models.interactions import Interactions
from slabfield.reproduce.data_sets import open_data_set
from slabfield.reproduce.drawing import STYLES, finish, new_figure
from slabfield.reproduce.method_scores import bayes_piece, data_sets, grid, path_piece
from slabfield.reproduce.single_field import at_density
from slabfield.reproduce.workbench import Workbench

# Densities of the models
TARGETS = {"sparse": 0.03, "dense": 0.65}
# Edges in the inset
ZOOM = 60
# With more edges than this, markers are smaller
MANY = 1_000
STYLE: dict[str, dict[str, Any]] = {
    "true": {"color": "black", "marker": "o", "markersize": 3},
    "Wain Max": {**STYLES["Wain Max"], "markersize": 4},
    "Bayes PM": {**STYLES["Bayes PM"], "markersize": 4},
}


def make(bench: Workbench) -> None:
    """Choose the models nearest to each density, and plot all edges of at least one of them."""
    data_set = data_sets(bench, "lattice")[0]
    p0s = grid(bench, "lattice")
    pieces = [path_piece(bench, data_set, "Wain Max")]
    pieces += [bayes_piece(bench, data_set, p0) for p0 in p0s]
    path, *fits = bench.results(pieces, "figure 8")
    truth = open_data_set(data_set).truth
    assert truth is not None
    true_edges = Interactions.pairs(truth.n_nodes).of_matrix(truth.coupling)
    parts = []
    for name, density in TARGETS.items():
        k = int(np.argmin(np.abs((path["edges"] != 0).mean(axis=1) - density)))
        single = at_density(p0s, fits, density)
        columns = {"true": true_edges, "Wain Max": path["edges"][k], "Bayes PM": single.edges}
        table = pd.DataFrame({method: np.abs(values) for method, values in columns.items()})
        table = table[(table != 0).any(axis=1)].sort_values("true", kind="stable")
        table.insert(0, "model", name)
        table["p0"], table["threshold"] = single.p0, single.threshold
        parts.append(table)
    found = pd.concat(parts)
    bench.table("figure08", found)
    figure, axes = new_figure(1, 2, width=8.5, height=3.4)
    for ax, name in zip(axes[:, 0], TARGETS, strict=True):
        _panel(ax, found[found["model"] == name], f"{name} models", true_edges.size)
    axes[0, 0].legend(frameon=False, loc="upper left", markerscale=1.5)
    bench.picture("figure08", figure)


def _panel(ax: Axes, table: pd.DataFrame, title: str, n_pairs: int) -> None:
    x = np.arange(len(table))
    inset = ax.inset_axes((0.24, 0.5, 0.44, 0.47))
    for method, style in STYLE.items():
        shown = table[method].where(table[method] > 0)
        for target, size in ((ax, 0.6 if len(table) > MANY else 1.0), (inset, 1.0)):
            scaled = style | {"markersize": size * style["markersize"]}
            target.plot(x, shown, linestyle="none", markeredgewidth=0, label=method, **scaled)
    true = table["true"] > 0
    top = 1.1 * max(table["true"].max(), table.loc[true, "Bayes PM"].max())
    ax.set(ylim=(0, 2.0 * min(2.2 * top, 1.05 * table[list(STYLE)].max().max())))
    inset.set(xlim=(max(len(table) - ZOOM, 0), len(table)), ylim=(0, top))
    inset.tick_params(labelsize=7)
    ax.indicate_inset_zoom(inset, edgecolor="gray")
    densities = ", ".join(
        f"{method} {100 * (table[method] > 0).sum() / n_pairs:.1f}%" for method in STYLE
    )
    finish(ax, f"{title}: {densities} of pairs", "edges by size in the true model", "|coupling|")
