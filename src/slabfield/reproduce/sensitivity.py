"""Sensitivity to the hyperparameters: each from 1 to 20, the others at their defaults."""

from __future__ import annotations

from typing import Any

import pandas as pd

from slabfield.reproduce.drawing import finish, legend_below, new_figure
from slabfield.reproduce.figure06 import CLL, KINDS
from slabfield.reproduce.method_scores import data_sets, score_pieces, score_table
from slabfield.reproduce.workbench import Workbench

NAMES = ("a", "b", "c", "d", "sigma_b")
DEFAULTS = {"a": 5.0, "b": 5.0, "c": 5.0, "d": 5.0, "sigma_b": 10.0}
COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00")
PANELS = {"density": "edge density", "f1": "F1 of edges", "cll": CLL}


def make(bench: Workbench) -> None:
    """Fit the Bayesian model, with p0 learned, under each setting, and score it."""
    every = [
        (kind, name, value, estimator_params({**DEFAULTS, name: value}))
        for kind in KINDS for name in NAMES
        for value in sorted({*bench.scale.hyper, DEFAULTS[name]})
    ]  # fmt: skip
    sets = {kind: data_sets(bench, kind) for kind in KINDS}
    sets["lattice"] = sets["lattice"][: bench.scale.sensitivity_sets]
    pieces = [score_pieces(bench, sets[k], [None], (), **params) for k, _, _, params in every]
    bench.finish([piece for some in pieces for piece in some], "sensitivity")
    parts = [
        score_table(bench, sets[kind], [None], "sensitivity", (), **params).assign(
            parameter=name, value=value
        )
        for kind, name, value, params in every
    ]
    table = pd.concat(parts, ignore_index=True)
    bench.table("sensitivity", table)
    figure, axes = new_figure(3, 2, width=3.6, height=3.0)
    bayes = table[table["method"] == "Bayes"]
    for row, kind in enumerate(KINDS):
        for ax, (what, words) in zip(axes[row], PANELS.items(), strict=True):
            mine = bayes[bayes["world"] == kind]
            for name, color in zip(NAMES, COLORS, strict=True):
                part = mine[mine["parameter"] == name].groupby("value")[what].agg(["mean", "std"])
                ax.errorbar(
                    part.index, part["mean"], yerr=part["std"].fillna(0.0), marker="o",
                    markersize=3.5, capsize=2, color=color, linewidth=1,
                    label="$\\sigma_b$" if name == "sigma_b" else f"${name}$",
                )  # fmt: skip
            finish(ax, kind, "value", words)
    legend_below(figure, axes[0, 0], 5)
    bench.picture("sensitivity", figure)


def estimator_params(values: dict[str, float]) -> dict[str, Any]:
    """Return the prior parameters of the estimator that differ from its defaults."""
    params: dict[str, Any] = {
        "inclusion_prior": (values["a"], values["b"]), "slab_prior": (values["c"], values["d"]),
        "bias_scale": values["sigma_b"],
    }  # fmt: skip
    defaults = {"inclusion_prior": (5.0, 5.0), "slab_prior": (5.0, 5.0), "bias_scale": 10.0}
    return {name: value for name, value in params.items() if value != defaults[name]}
