"""Tables of scores: each method on each data set, over p0 or over strengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slabfield.evaluate import edge_recovery
from slabfield.reproduce.cache import Piece, Result
from slabfield.reproduce.data_sets import DataSet, open_data_set
from slabfield.reproduce.fitted_models import L1, field_of, fit_bayes, fit_path, true_cll
from slabfield.reproduce.workbench import Workbench

if TYPE_CHECKING:
    import pandas as pd

# Training rows of the paper's figures 2 to 9
N_ROWS = 100
# Large fields get fewer draws if p0 is at least this value, because they are slow
DENSE = 0.2

Row = dict[str, Any]


def data_sets(bench: Workbench, kind: str, n_rows: int = N_ROWS) -> list[DataSet]:
    """Return the data sets of one kind and size."""
    scale = bench.scale
    n_sets = {"block": scale.block_sets, "lattice": scale.lattice_sets, "mnist": scale.image_sets}
    side = scale.side if kind == "lattice" else 0
    return [DataSet(kind, seed, n_rows, scale.n_test, side) for seed in range(1, n_sets[kind] + 1)]


def grid(bench: Workbench, kind: str) -> tuple[float, ...]:
    """Return the grid of fixed p0."""
    scale = bench.scale
    grids = {"block": scale.p0, "lattice": scale.lattice_p0, "mnist": scale.image_p0}
    return grids[kind]


def bayes_piece(
    bench: Workbench,
    data_set: DataSet,
    p0: float | None,
    likelihood: str = "particles",
    **more: Any,
) -> Piece:
    """Return the fit of the Bayesian model, with the run length of the scale for this kind."""
    scale = bench.scale
    params: Row = {"n_chains": scale.n_chains}
    slow = data_set.kind == "mnist" or (p0 is not None and p0 >= DENSE)
    if data_set.kind == "block":
        params |= {"n_draws": scale.n_draws, "n_warmup": scale.n_warmup}
    elif slow:
        params |= {"n_draws": scale.dense_draws, "n_warmup": scale.dense_warmup}
    else:
        params |= {"n_draws": scale.large_draws, "n_warmup": scale.large_warmup}
    if data_set.kind == "mnist":
        params["sampler"] = {"n_particles": scale.image_particles}
    settings = sorted((params | more).items())
    return Piece(
        fit_bayes, {"data_set": data_set, "p0": p0, "likelihood": likelihood, "settings": settings}
    )


def path_piece(bench: Workbench, data_set: DataSet, method: str) -> Piece:
    """Return the path of an L1 method."""
    n_strengths = bench.scale.n_strengths
    arguments = {"data_set": data_set, "method": method, "n_strengths": n_strengths}
    return Piece(fit_path, arguments)


def score_pieces(
    bench: Workbench,
    sets: Sequence[DataSet],
    p0s: Sequence[float | None],
    methods: Sequence[str] = tuple(L1),
    likelihood: str = "particles",
    **more: Any,
) -> list[Piece]:
    """Return the pieces of a table of scores, slowest first."""
    dense_first = sorted(p0s, key=lambda p0: 0.0 if p0 is None else -p0)
    pieces = [
        bayes_piece(bench, data_set, p0, likelihood, **more)
        for p0 in dense_first
        for data_set in sets
    ]
    pieces += [path_piece(bench, data_set, method) for data_set in sets for method in methods]
    known = [data_set for data_set in sets if data_set.kind != "mnist"]
    return pieces + [Piece(true_cll, {"data_set": data_set}) for data_set in known]


def score_table(
    bench: Workbench,
    sets: Sequence[DataSet],
    p0s: Sequence[float | None],
    label: str,
    methods: Sequence[str] = tuple(L1),
    likelihood: str = "particles",
    **more: Any,
) -> pd.DataFrame:
    """Fit methods to data sets and score them.

    Parameters
    ----------
    p0s : sequence of float or None
        Settings of Bayesian models: None learns p0 ("Bayes", "Bayes PM"), a number fixes it
        ("Bayes p0", "Bayes PM p0").
    methods : sequence of str
        L1 methods.
    likelihood : {"particles", "exact"}
        Of the Bayesian models; "exact" names them "Bayes Exact".
    **more
        Other parameters of the Bayesian models.

    Returns
    -------
    DataFrame
        A row for each data set, method and setting: ``setting`` is p0 or the strength as a share
        of the largest; ``density``, ``cll`` (mean conditional log-likelihood of test groups);
        ``true_cll``, ``true_density``, ``precision``, ``recall`` and ``f1`` if the true field is
        known; for Bayesian models also ``density_sd`` within chains, and means of ``sigma0`` and
        ``p0``.
    """
    import pandas as pd

    pieces = score_pieces(bench, sets, p0s, methods, likelihood, **more)
    found = list(zip(pieces, bench.results(pieces, label), strict=True))
    known = {
        piece.arguments["data_set"]: float(result["cll"])
        for piece, result in found
        if piece.function is true_cll
    }
    rows: list[Row] = []
    for piece, result in found:
        if piece.function is true_cll:
            continue
        arguments, data_set = piece.arguments, piece.arguments["data_set"]
        made = (
            _bayes_rows(data_set, arguments["p0"], likelihood, result)
            if piece.function is fit_bayes
            else _path_rows(data_set, arguments["method"], result)
        )
        shared = {"world": data_set.kind, "n_rows": data_set.n_rows, "seed": data_set.seed}
        rows += [shared | row | {"true_cll": known.get(data_set, np.nan)} for row in made]
    return pd.DataFrame(rows)


def _bayes_rows(
    data_set: DataSet, p0: float | None, likelihood: str, result: Result
) -> Iterator[Row]:
    """Return the rows of the mixture of draws and of the posterior means."""
    first = "Bayes Exact" if likelihood == "exact" else "Bayes"
    last = "" if p0 is None else " p0"
    structure = _structure(data_set, result["bias"], result["edges"])
    of_chain = {name: float(result[name]) for name in ("density_sd", "sigma0", "p0")}
    shared = {"setting": np.nan if p0 is None else p0, **structure, **of_chain}
    mixture = {"density": float(result["density"]), "cll": float(result["cll_bayes"])}
    yield {"method": f"{first}{last}", **shared, **mixture}
    yield {"method": f"{first} PM{last}", **shared, "cll": float(result["cll_pm"])}


def _path_rows(data_set: DataSet, method: str, result: Result) -> Iterator[Row]:
    for k, strength in enumerate(result["strengths"]):
        yield {
            "method": method, "setting": strength / result["strengths"][0],
            "cll": result["cll"][k], **_structure(data_set, result["bias"][k], result["edges"][k]),
        }  # fmt: skip


def _structure(data_set: DataSet, bias: Any, edges: Any) -> Row:
    """Density and edge recovery of one graph."""
    field = field_of(bias, edges)
    row: Row = {"density": float((edges != 0).mean())}
    truth = open_data_set(data_set).truth
    if truth is not None:
        found = edge_recovery(truth, field)
        row |= {"precision": found.precision, "recall": found.recall, "f1": found.f1}
        row["true_density"] = truth.n_edges / edges.size
    return row


def averages(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Mean and sd of columns over data sets, for each method and setting.

    Returns
    -------
    DataFrame
        Columns ``method``, ``setting``, and for each column ``<name>_mean`` and ``<name>_sd``,
        which is 0 if there is only one data set.
    """
    import pandas as pd

    # Settings of different data sets are equal up to rounding
    rounded = table.assign(setting=table["setting"].round(9))
    grouped = rounded.groupby(["method", "setting"], dropna=False, sort=False)[list(columns)]
    found = grouped.agg(["mean", "std"])
    ends = {"mean": "mean", "std": "sd"}
    flat = pd.DataFrame({
        f"{name}_{end}": found[name, what].fillna(0.0) if end == "sd" else found[name, what]
        for name in columns for what, end in ends.items()
    })  # fmt: skip
    return flat.reset_index()
