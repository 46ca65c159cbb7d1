"""Figure 11: Gibbs samples from models of density 0.2 learned from MNIST images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from slabfield.reproduce.cache import Result
from slabfield.reproduce.data_sets import DataSet, open_data_set
from slabfield.reproduce.drawing import new_figure
from slabfield.reproduce.fitted_models import L1, field_of, mean_cll
from slabfield.reproduce.images import gibbs_samples, moment_error
from slabfield.reproduce.method_scores import bayes_piece, data_sets, grid, path_piece
from slabfield.reproduce.single_field import at_density
from slabfield.reproduce.workbench import Workbench

DENSITY = 0.2
# Images shown for each method
N_SHOWN = 36
# Gibbs sweeps per sample
N_SWEEPS = 500
# Samples per method for the moment error
N_MEASURED = 2_000
# Images per row and column of a sheet
SIDE = 6
# Pixels between images
GAP = 1


def make(bench: Workbench) -> None:
    """Sample the model of each method; show 36 samples of the first data set, measure more."""
    scale = bench.scale
    sets = data_sets(bench, "mnist", max(scale.image_sizes))
    p0s = grid(bench, "mnist")
    pieces = [[path_piece(bench, data_set, method) for method in L1] for data_set in sets]
    for data_set, mine in zip(sets, pieces, strict=True):
        mine += [bayes_piece(bench, data_set, p0) for p0 in p0s]
    bench.finish([piece for mine in pieces for piece in mine], "figure 11")
    n_samples = N_MEASURED if scale.name != "tiny" else 40
    rows, every = [], []
    for data_set, mine in zip(sets, pieces, strict=True):
        models = _models(p0s, bench.results(mine, "figure 11"))
        found, sheets = _sampled(data_set, models, n_samples)
        rows += found
        every.append(sheets)
    bench.table("figure11", pd.DataFrame(rows))
    np.savez_compressed(bench.out / "figure11_samples.npz", **every[0])
    figure, axes = new_figure(3, 2, width=3.6, height=3.1)
    shape = open_data_set(sets[0]).shape
    for ax, (title, images) in zip(axes.ravel(), every[0].items(), strict=True):
        ax.imshow(_sheet(images, shape), cmap="gray_r", vmin=0, vmax=1)
        ax.set_title(title, fontsize=10)
        ax.axis("off")
    bench.picture("figure11", figure)


def _models(p0s: Sequence[float], found: list[Result]) -> dict[str, tuple[Any, Any]]:
    """Biases and couplings of each method at the density nearest to DENSITY."""
    models = {}
    for method, result in zip(L1, found, strict=False):
        k = int(np.argmin(np.abs((result["edges"] != 0).mean(axis=1) - DENSITY)))
        models[method] = result["bias"][k], result["edges"][k]
    fits = found[len(L1) :]
    single = at_density(p0s, fits, DENSITY)
    models["Bayes PM p0"] = single.bias, single.edges
    mixed = fits[int(np.argmin([abs(float(f["density"]) - DENSITY) for f in fits]))]
    models["Bayes p0"] = mixed["draw_bias"], mixed["draw_edges"].astype(np.float64)
    return models


def _sampled(
    data_set: DataSet, models: dict[str, tuple[Any, Any]], n_samples: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Scores of each method on one data set, and the images to show."""
    data = open_data_set(data_set)
    rows, sheets = [], {"test images": data.test[:N_SHOWN].astype(np.float64)}
    for method, (bias, edges) in models.items():
        each = max(1, n_samples // len(np.atleast_2d(bias)))
        samples = gibbs_samples(bias, edges, each, N_SWEEPS, seed=1)
        density = float((edges != 0).mean())
        error = moment_error(samples, data_set)
        fields = [
            field_of(*one) for one in zip(np.atleast_2d(bias), np.atleast_2d(edges), strict=True)
        ]
        row = {"seed": data_set.seed, "method": method, "n_rows": data_set.n_rows}
        row |= {"density": density, "moment_error": error, "cll": mean_cll(fields, data)}
        rows.append(row)
        chosen = np.linspace(0, len(samples) - 1, N_SHOWN).astype(int)
        sheets[f"{method}, density {density:.2f}"] = samples[chosen]
    return rows, sheets


def _sheet(images: Any, shape: tuple[int, int]) -> Any:
    """Arrange images in a square with gray lines between them."""
    height, width = shape
    sheet = np.full((SIDE * (height + GAP) + GAP, SIDE * (width + GAP) + GAP), 0.4)
    for k, image in enumerate(images):
        top, left = (k // SIDE) * (height + GAP) + GAP, (k % SIDE) * (width + GAP) + GAP
        sheet[top : top + height, left : left + width] = np.reshape(image, shape)
    return sheet
