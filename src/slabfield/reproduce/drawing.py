"""Shared parts of the figures: one color and marker for each method, sizes, and curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from slabfield.reproduce.method_scores import averages

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Palette of Okabe and Ito, safe for color-blind readers
STYLES: dict[str, dict[str, Any]] = {
    "Bayes": {"color": "#D55E00", "marker": "*"},
    "Bayes PM": {"color": "#0072B2", "marker": "P"},
    "Bayes p0": {"color": "#D55E00", "marker": "o"},
    "Bayes PM p0": {"color": "#0072B2", "marker": "s"},
    "Bayes Exact": {"color": "#000000", "marker": "*"},
    "Bayes Exact PM": {"color": "#56B4E9", "marker": "P"},
    "Bayes Exact p0": {"color": "#000000", "marker": "x"},
    "Bayes Exact PM p0": {"color": "#56B4E9", "marker": "+"},
    "Wain Max": {"color": "#009E73", "marker": "^"},
    "Wain Min": {"color": "#CC79A7", "marker": "v"},
    "MLE": {"color": "#E69F00", "marker": "d"},
}
GREY = "#555555"
# Size of the marker of a method with one setting, in points
SINGLE_SIZE = 11.0


def new_figure(n_columns: int = 1, n_rows: int = 1, width: float = 4.6, height: float = 3.7) -> Any:
    """Make a figure and its axes, an array of shape (rows, columns)."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def curve(axes: Axes, table: pd.DataFrame, method: str, x: str, y: str) -> None:
    """Plot mean and sd over data sets of a method: a line over settings, or a single point.

    The sd of a likelihood is that of its difference from the true model, if that is known.

    Parameters
    ----------
    table : DataFrame
        As ``score_table`` returns it.
    """
    mine = table[table["method"] == method]
    if mine.empty:
        return
    sd_column = y
    if y == "cll" and mine["true_cll"].notna().all():
        # Data sets differ in how well their true model predicts
        mine, sd_column = mine.assign(below=mine["cll"] - mine["true_cll"]), "below"
    found = averages(mine, sorted({x, y, sd_column})).sort_values("setting")
    single = len(found) == 1
    axes.errorbar(
        found[f"{x}_mean"], found[f"{y}_mean"], yerr=found[f"{sd_column}_sd"],
        xerr=found[f"{x}_sd"] if single else None, label=method,
        linestyle="none" if single else "-", markersize=SINGLE_SIZE if single else 4.5,
        linewidth=1.2, elinewidth=0.8, capsize=2, zorder=5 if single else 3, **STYLES[method],
    )  # fmt: skip


def frame_cll(axes: Axes, table: pd.DataFrame, column: str = "cll") -> None:
    """Limit the axis of a likelihood to the range of useful models.

    The range is from the best model to the worst Bayesian model, extended by 60% at the lower end.
    """
    best = table[column].max()
    if "true_cll" in table:
        best = np.nanmax([best, table["true_cll"].max()])
    worst = table.loc[table["method"].str.startswith("Bayes"), column].min()
    extent = max(best - worst, 1e-3)
    low = max(table[column].min(), worst - 0.6 * extent)
    axes.set_ylim(low - 0.05 * extent, best + 0.08 * extent)


def density_axis(axes: Axes) -> None:
    """Scale the axis of densities by the square root, which separates small densities."""
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.abs(x)), np.square))
    ticks = (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(0, 1.03)


def finish(axes: Axes, title: str, x: str, y: str) -> None:
    """Write title and labels, and remove the top and right spines."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(figure: Figure, axes: Axes, n_columns: int) -> None:
    """Write one legend for all axes, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, frameon=False)
