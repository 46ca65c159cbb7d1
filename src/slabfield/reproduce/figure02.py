"""Figure 2: autocorrelation, means and sds with partial momentum refreshment and without."""

from __future__ import annotations

import numpy as np
import pandas as pd

from slabfield.reproduce.bench import Workbench
from slabfield.reproduce.cache import Piece, Result
from slabfield.reproduce.drawing import GREY, STYLES, finish, new_figure
from slabfield.reproduce.langevin import fit_langevin
from slabfield.reproduce.scores import worlds

ALPHAS = (0.9, 0.0)
THIN = 100
# what a step that is too large does: step sizes with persistences, on shorter chains
LARGE_STEPS = (1e-2, 3e-2)
SHORTER = 3e-3
PERSISTENCES = (0.0, 0.9, 0.99)
MOST_POINTS = 400
SHOWN_TIMES = 2.0
"""Lags are shown up to this many autocorrelation times without momentum."""

COLOURS = {0.9: STYLES["Bayes"]["color"], 0.0: STYLES["Bayes PM"]["color"]}

Setting = tuple[float, float]


def make(bench: Workbench) -> None:
    """Run a chain for each persistence, and shorter ones with larger steps."""
    world = worlds(bench, "block")[0]
    step = bench.scale.paper_step
    settings: list[Setting] = [(alpha, step) for alpha in ALPHAS]
    settings += [(alpha, large) for large in LARGE_STEPS for alpha in PERSISTENCES]
    pieces = [_piece(bench, world, *setting) for setting in settings]
    exact = {
        "world": world, "persistence": None, "step_size": None,
        "n_draws": bench.scale.exact_draws, "n_warmup": 100, "thin": 2,
    }  # fmt: skip
    *found, exactly = bench.results([*pieces, Piece(fit_langevin, exact)], "figure 2")
    chains = dict(zip(settings, found, strict=True))
    two = {alpha: chains[alpha, step] for alpha in ALPHAS}
    moments = _moments(two, exactly)
    times = pd.DataFrame({
        f"time_{alpha:g}": two[alpha]["time"] for alpha in ALPHAS
    })  # fmt: skip
    iterations = THIN * pieces[0].arguments["n_draws"]
    told = pd.concat([moments, times], axis=1).assign(iterations=iterations)
    bench.table("figure02_moments", told)
    bench.table("figure02_steps", _steps(chains, exactly))
    curves = _curves(two)
    bench.table("figure02_autocorrelation", curves)
    _draw(bench, curves, moments)


def _piece(bench: Workbench, world: object, alpha: float, step: float) -> Piece:
    scale = bench.scale
    share = scale.paper_thin / THIN * (1.0 if step <= scale.paper_step else SHORTER / step)
    return Piece(fit_langevin, {
        "world": world, "persistence": alpha, "step_size": step, "thin": THIN,
        "n_draws": max(20, int(scale.paper_draws * share)),
        "n_warmup": max(5, int(scale.paper_warmup * share)),
    })  # fmt: skip


def _typical(times: np.ndarray) -> list[int]:
    """Two parameters whose autocorrelation times are in the middle of all."""
    order = np.argsort(times)
    return [int(order[len(order) // 3]), int(order[2 * len(order) // 3])]


def _moments(two: dict[float, Result], exactly: Result) -> pd.DataFrame:
    columns = {"parameter": np.arange(exactly["mean"].size)}
    for what in ("mean", "sd"):
        columns |= {f"{what}_{alpha:g}": two[alpha][what] for alpha in ALPHAS}
        columns[f"{what}_exact"] = exactly[what]
    return pd.DataFrame(columns)


def _steps(chains: dict[Setting, Result], exactly: Result) -> pd.DataFrame:
    """How far every setting is from the exact posterior."""
    rows = [
        {
            "persistence": alpha, "step_size": step,
            "mean_error": np.sqrt(np.mean(((r["mean"] - exactly["mean"]) / exactly["sd"]) ** 2)),
            "sd_ratio": np.mean(r["sd"] / exactly["sd"]),
            "sd_ratio_sd": np.std(r["sd"] / exactly["sd"], ddof=1),
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
            kept = np.arange(0, n_lags, max(1, n_lags // MOST_POINTS))
            told = {"parameter": parameter, "persistence": alpha, "lag": THIN * kept}
            parts.append(pd.DataFrame({**told, "value": values[kept]}))
    return pd.concat(parts)


def _draw(bench: Workbench, curves: pd.DataFrame, moments: pd.DataFrame) -> None:
    figure, axes = new_figure(2, 2, height=3.3)
    for ax, (parameter, mine) in zip(axes[0], curves.groupby("parameter"), strict=True):
        for alpha in ALPHAS:
            part = mine[mine["persistence"] == alpha]
            ax.plot(part["lag"], part["value"], color=COLOURS[alpha], label=f"$\\alpha={alpha:g}$")
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
        ax.plot(x, y, "o", color=COLOURS[0.9], markersize=4)
        finish(ax, f"{words} of all parameters", "$\\alpha=0$", "$\\alpha=0.9$")
    bench.picture("figure02", figure)
