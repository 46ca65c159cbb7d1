"""Figure 2: autocorrelation, means and sds with partial momentum refreshment and without."""

from __future__ import annotations

import numpy as np
import pandas as pd

from slabfield.reproduce.cache import Piece, Result
from slabfield.reproduce.drawing import GREY, STYLES, finish, new_figure
from slabfield.reproduce.langevin_runs import fit_langevin
from slabfield.reproduce.method_scores import data_sets
from slabfield.reproduce.workbench import Workbench

# Persistences that are compared at the step size of the paper
ALPHAS = (0.9, 0.0)
# Iterations per draw
THIN = 100
# Step sizes that are too large, and the persistences that they are run with
LARGE_STEPS = (1e-2, 3e-2)
PERSISTENCES = (0.0, 0.9, 0.99)
# The length of chains with large steps is this over the step size, relative to the others
SHORTER = 3e-3
# Points of a curve
MAX_POINTS = 400
# Longest lag, in autocorrelation times of the chain without momentum
SHOWN_TIMES = 2.0

COLORS = {0.9: STYLES["Bayes"]["color"], 0.0: STYLES["Bayes PM"]["color"]}

Setting = tuple[float, float]


def make(bench: Workbench) -> None:
    """Run a chain for each persistence, and shorter ones with larger steps."""
    data_set = data_sets(bench, "block")[0]
    step = bench.scale.paper_step
    settings: list[Setting] = [(alpha, step) for alpha in ALPHAS]
    settings += [(alpha, large) for large in LARGE_STEPS for alpha in PERSISTENCES]
    pieces = [_piece(bench, data_set, *setting) for setting in settings]
    exact = {
        "data_set": data_set, "persistence": None, "step_size": None,
        "n_draws": bench.scale.exact_draws, "n_warmup": 100, "thin": 2,
    }  # fmt: skip
    *found, exact_result = bench.results([*pieces, Piece(fit_langevin, exact)], "figure 2")
    chains = dict(zip(settings, found, strict=True))
    two = {alpha: chains[alpha, step] for alpha in ALPHAS}
    moments = _moments(two, exact_result)
    times = pd.DataFrame({
        f"time_{alpha:g}": two[alpha]["time"] for alpha in ALPHAS
    })  # fmt: skip
    iterations = THIN * pieces[0].arguments["n_draws"]
    table = pd.concat([moments, times], axis=1).assign(iterations=iterations)
    bench.table("figure02_moments", table)
    bench.table("figure02_steps", _steps(chains, exact_result))
    curves = _curves(two)
    bench.table("figure02_autocorrelation", curves)
    _draw(bench, curves, moments)


def _piece(bench: Workbench, data_set: object, alpha: float, step: float) -> Piece:
    scale = bench.scale
    share = scale.paper_thin / THIN * (1.0 if step <= scale.paper_step else SHORTER / step)
    return Piece(fit_langevin, {
        "data_set": data_set, "persistence": alpha, "step_size": step, "thin": THIN,
        "n_draws": max(20, int(scale.paper_draws * share)),
        "n_warmup": max(5, int(scale.paper_warmup * share)),
    })  # fmt: skip


def _typical(times: np.ndarray) -> list[int]:
    """Two parameters with typical autocorrelation times: the lower and upper tertile."""
    order = np.argsort(times)
    return [int(order[len(order) // 3]), int(order[2 * len(order) // 3])]


def _moments(two: dict[float, Result], exact: Result) -> pd.DataFrame:
    columns = {"parameter": np.arange(exact["mean"].size)}
    for what in ("mean", "sd"):
        columns |= {f"{what}_{alpha:g}": two[alpha][what] for alpha in ALPHAS}
        columns[f"{what}_exact"] = exact[what]
    return pd.DataFrame(columns)


def _steps(chains: dict[Setting, Result], exact: Result) -> pd.DataFrame:
    """Errors of each setting relative to the exact posterior."""
    rows = [
        {
            "persistence": alpha, "step_size": step,
            "mean_error": np.sqrt(np.mean(((r["mean"] - exact["mean"]) / exact["sd"]) ** 2)),
            "sd_ratio": np.mean(r["sd"] / exact["sd"]),
            "sd_ratio_sd": np.std(r["sd"] / exact["sd"], ddof=1),
        }
        for (alpha, step), r in chains.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _curves(two: dict[float, Result]) -> pd.DataFrame:
    times = two[0.0]["time"]
    parts = []
    for alpha, result in two.items():
        for parameter in _typical(times):
            values = result["autocorrelation"][:, parameter]
            n_lags = min(values.size, max(10, int(SHOWN_TIMES * times[parameter] / THIN)))
            lags = np.arange(0, n_lags, max(1, n_lags // MAX_POINTS))
            columns = {"parameter": parameter, "persistence": alpha, "lag": THIN * lags}
            parts.append(pd.DataFrame({**columns, "value": values[lags]}))
    return pd.concat(parts)


def _draw(bench: Workbench, curves: pd.DataFrame, moments: pd.DataFrame) -> None:
    figure, axes = new_figure(2, 2, height=3.3)
    for ax, (parameter, mine) in zip(axes[0], curves.groupby("parameter"), strict=True):
        for alpha in ALPHAS:
            part = mine[mine["persistence"] == alpha]
            ax.plot(part["lag"], part["value"], color=COLORS[alpha], label=f"$\\alpha={alpha:g}$")
        ax.axhline(0, color=GREY, linewidth=0.6)
        ax.locator_params(axis="x", nbins=5)
        title = f"parameter {parameter}, $\\epsilon={bench.scale.paper_step:g}$"
        finish(ax, title, "lag in iterations", "autocorrelation")
        ax.legend(frameon=False)
    for ax, (what, words) in zip(
        axes[1], (("mean", "posterior mean"), ("sd", "posterior sd")), strict=True
    ):
        x, y = moments[f"{what}_0"], moments[f"{what}_0.9"]
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        ax.plot(ends, ends, color=GREY, linewidth=0.8)
        ax.plot(x, y, "o", color=COLORS[0.9], markersize=4)
        finish(ax, f"{words} of all parameters", "$\\alpha=0$", "$\\alpha=0.9$")
    bench.picture("figure02", figure)
