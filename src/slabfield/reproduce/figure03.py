"""Figure 3: histograms of four couplings, paper's sampler and exact posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from slabfield.models.interactions import Interactions
from slabfield.reproduce.cache import Piece
from slabfield.reproduce.drawing import STYLES, finish, new_figure
from slabfield.reproduce.fitted_models import BINS, fit_bayes
from slabfield.reproduce.method_scores import data_sets
from slabfield.reproduce.workbench import Workbench

N_EDGES = 4
# Smallest inclusion probability of an edge that may be shown
MIN_PROBABILITY = 0.1
# Bins of the stored histograms per bar
BINS_PER_BAR = 2


def paper_and_exact(bench: Workbench, p0: float | None) -> list[Piece]:
    """Return the fits by the paper's and by the exact sampler, on the first block data set."""
    scale = bench.scale
    data_set = data_sets(bench, "block")[0]
    approximate = {
        "preset": "paper", "n_chains": scale.paper_chains, "n_draws": scale.paper_draws,
        "n_warmup": scale.paper_warmup,
        "sampler": {
            "thin": scale.paper_thin, "step_size": scale.paper_step,
            "jump_scale": scale.paper_window,
        },
    }  # fmt: skip
    exact: dict[str, Any] = {"n_chains": 2, "n_draws": scale.exact_draws, "n_warmup": 200}
    return [
        Piece(fit_bayes, {
            "data_set": data_set, "p0": p0, "likelihood": likelihood,
            "settings": sorted(settings.items()),
        })
        for likelihood, settings in (("particles", approximate), ("exact", exact))
    ]  # fmt: skip


def make(bench: Workbench) -> None:
    """Run both samplers with p0 learned, and choose four probable edges at random."""
    found = bench.results(paper_and_exact(bench, None), "figure 3")
    both = dict(zip(("Bayes", "Bayes Exact"), found, strict=True))
    likely = np.flatnonzero(both["Bayes Exact"]["probability"] >= MIN_PROBABILITY)
    chosen = np.sort(np.random.default_rng(1).permutation(likely)[:N_EDGES])
    pairs = Interactions.pairs(both["Bayes"]["bias"].size)
    rows = []
    figure, axes = new_figure(N_EDGES, width=3.1, height=3.0)
    for ax, edge, (i, j) in zip(axes[0], chosen, pairs.cliques(chosen), strict=False):
        name = f"{i} - {j}"
        titles = []
        visited = np.zeros(0)
        for method, result in both.items():
            counts = result["histogram"][edge].reshape(-1, BINS_PER_BAR).sum(axis=1)
            bounds = BINS[::BINS_PER_BAR]
            height = counts / max(counts.sum(), 1) / np.diff(bounds)
            probability = float(result["probability"][edge])
            titles.append(f"{probability:.3f}")
            rows += [
                {"edge": name, "method": method, "probability": probability, "low": low,
                 "height": h}
                for low, h in zip(bounds[:-1], height, strict=True)
            ]  # fmt: skip
            ax.stairs(
                height, bounds, label=method, color=STYLES[method]["color"],
                fill=method == "Bayes", alpha=0.5 if method == "Bayes" else 1.0,
            )  # fmt: skip
            visited = np.concatenate([visited, bounds[:-1][height > 0]])
        ax.set_xlim(visited.min() - 0.3, visited.max() + 0.5)
        finish(ax, f"edge {name}: {titles[0]} (exact {titles[1]})", "coupling if present", "")
    axes[0, 0].set_ylabel("density of draws")
    axes[0, 0].legend(frameon=False, fontsize=8)
    bench.table("figure03", pd.DataFrame(rows))
    bench.picture("figure03", figure)
