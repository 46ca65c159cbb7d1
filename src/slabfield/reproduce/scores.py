"""Tables of scores: every method on every data set, over p0 or over strengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slabfield.evaluate import edge_recovery
from slabfield.reproduce.bench import Workbench
from slabfield.reproduce.cache import Piece, Result
from slabfield.reproduce.models import L1, field_of, fit_bayes, fit_path, true_cll
from slabfield.reproduce.worlds import World, open_world

if TYPE_CHECKING:
    import pandas as pd

N_ROWS = 100
"""Training rows of the paper's figures 2 to 9."""

DENSE = 0.2
"""From this p0 on, a large field takes so long that fewer draws are made."""

Row = dict[str, Any]


def worlds(bench: Workbench, kind: str, n_rows: int = N_ROWS) -> list[World]:
    """Return the data sets of one kind and size."""
    scale = bench.scale
    n_sets = {"block": scale.block_sets, "lattice": scale.lattice_sets, "mnist": scale.image_sets}
    side = scale.side if kind == "lattice" else 0
    return [World(kind, seed, n_rows, scale.n_test, side) for seed in range(1, n_sets[kind] + 1)]


def grid(bench: Workbench, kind: str) -> tuple[float, ...]:
    """Return where p0 is fixed."""
    scale = bench.scale
    grids = {"block": scale.p0, "lattice": scale.lattice_p0, "mnist": scale.image_p0}
    return grids[kind]


def bayes_piece(
    bench: Workbench, world: World, p0: float | None, likelihood: str = "particles", **more: Any
) -> Piece:
    """Return the fit of the Bayesian model, as long as the scale has it for this kind of data."""
    scale = bench.scale
    told: Row = {"n_chains": scale.n_chains}
    slow = world.kind == "mnist" or (p0 is not None and p0 >= DENSE)
    if world.kind == "block":
        told |= {"n_draws": scale.n_draws, "n_warmup": scale.n_warmup}
    elif slow:
        told |= {"n_draws": scale.dense_draws, "n_warmup": scale.dense_warmup}
    else:
        told |= {"n_draws": scale.large_draws, "n_warmup": scale.large_warmup}
    if world.kind == "mnist":
        told["n_particles"] = scale.image_particles
    settings = sorted((told | more).items())
    return Piece(
        fit_bayes, {"world": world, "p0": p0, "likelihood": likelihood, "settings": settings}
    )


def path_piece(bench: Workbench, world: World, method: str) -> Piece:
    """Return the path of an L1 method."""
    told = {"world": world, "method": method, "n_strengths": bench.scale.n_strengths}
    return Piece(fit_path, told)


def score_pieces(
    bench: Workbench,
    sets: Sequence[World],
    p0s: Sequence[float | None],
    methods: Sequence[str] = tuple(L1),
    likelihood: str = "particles",
    **more: Any,
) -> list[Piece]:
    """Return what has to be done for a table of scores, what takes longest first."""
    dense_first = sorted(p0s, key=lambda p0: 0.0 if p0 is None else -p0)
    pieces = [
        bayes_piece(bench, world, p0, likelihood, **more) for p0 in dense_first for world in sets
    ]
    pieces += [path_piece(bench, world, method) for world in sets for method in methods]
    known = [world for world in sets if world.kind != "mnist"]
    return pieces + [Piece(true_cll, {"world": world}) for world in known]


def score_table(
    bench: Workbench,
    sets: Sequence[World],
    p0s: Sequence[float | None],
    label: str,
    methods: Sequence[str] = tuple(L1),
    likelihood: str = "particles",
    **more: Any,
) -> pd.DataFrame:
    """Fit methods to data sets and score them.

    Parameters
    ----------
    bench : Workbench
        Where it is done.
    sets : sequence of World
        The data sets.
    p0s : sequence of float or None
        Bayesian models: None is p0 learnt ("Bayes", "Bayes PM"), a number p0 fixed ("Bayes p0",
        "Bayes PM p0").
    label : str
        What to call it while it runs.
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
        ``true_cll`` and ``true_density``, ``precision``, ``recall``, ``f1`` where the truth is
        known; of Bayesian models also ``density_sd`` within chains, and means of ``sigma0`` and
        ``p0``.
    """
    import pandas as pd

    pieces = score_pieces(bench, sets, p0s, methods, likelihood, **more)
    found = list(zip(pieces, bench.results(pieces, label), strict=True))
    known = {
        piece.arguments["world"]: float(result["cll"])
        for piece, result in found
        if piece.function is true_cll
    }
    rows: list[Row] = []
    for piece, result in found:
        if piece.function is true_cll:
            continue
        told, world = piece.arguments, piece.arguments["world"]
        made = (
            _bayes_rows(world, told["p0"], likelihood, result)
            if piece.function is fit_bayes
            else _path_rows(world, told["method"], result)
        )
        shared = {"world": world.kind, "n_rows": world.n_rows, "seed": world.seed}
        rows += [shared | row | {"true_cll": known.get(world, np.nan)} for row in made]
    return pd.DataFrame(rows)


def _bayes_rows(world: World, p0: float | None, likelihood: str, result: Result) -> Iterator[Row]:
    """Return the rows of the mixture and of the posterior means."""
    first = "Bayes Exact" if likelihood == "exact" else "Bayes"
    last = "" if p0 is None else " p0"
    structure = _structure(world, result["bias"], result["edges"])
    of_chain = {name: float(result[name]) for name in ("density_sd", "sigma0", "p0")}
    shared = {"setting": np.nan if p0 is None else p0, **structure, **of_chain}
    mixture = {"density": float(result["density"]), "cll": float(result["cll_bayes"])}
    yield {"method": f"{first}{last}", **shared, **mixture}
    yield {"method": f"{first} PM{last}", **shared, "cll": float(result["cll_pm"])}


def _path_rows(world: World, method: str, result: Result) -> Iterator[Row]:
    for k, strength in enumerate(result["strengths"]):
        yield {
            "method": method, "setting": strength / result["strengths"][0],
            "cll": result["cll"][k], **_structure(world, result["bias"][k], result["edges"][k]),
        }  # fmt: skip


def _structure(world: World, bias: Any, edges: Any) -> Row:
    """Measures of one graph."""
    field = field_of(bias, edges)
    row: Row = {"density": float((edges != 0).mean())}
    truth = open_world(world).truth
    if truth is not None:
        found = edge_recovery(truth, field)
        row |= {"precision": found.precision, "recall": found.recall, "f1": found.f1}
        row["true_density"] = truth.n_edges / edges.size
    return row


def averages(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Mean and sd over data sets of some columns, for each method and setting.

    Returns
    -------
    DataFrame
        Columns ``method``, ``setting``, and of each column ``<name>_mean`` and ``<name>_sd`` (sd
        0 where there is one data set).
    """
    import pandas as pd

    # settings of different data sets are equal but for rounding
    rounded = table.assign(setting=table["setting"].round(9))
    grouped = rounded.groupby(["method", "setting"], dropna=False, sort=False)[list(columns)]
    found = grouped.agg(["mean", "std"])
    ends = {"mean": "mean", "std": "sd"}
    flat = pd.DataFrame({
        f"{name}_{end}": found[name, what].fillna(0.0) if end == "sd" else found[name, what]
        for name in columns for what, end in ends.items()
    })  # fmt: skip
    return flat.reset_index()
