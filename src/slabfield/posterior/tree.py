"""A posterior as a tree of labelled arrays, in the groups and dimensions that ArviZ knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from slabfield.checks import InputError
from slabfield.draws import DENSE_LIMIT
from slabfield.posterior.seal import FORMAT

if TYPE_CHECKING:
    import xarray as xr

    from slabfield.posterior.posterior import Posterior

# Draws of more numbers than this (chains * draws * edges) are stored sparsely
MOST_DENSE = 4_000_000
MOST_NAMED = 100_000
ONE_LINE = 200


def make_tree(posterior: Posterior, dense: bool | None = None) -> xr.DataTree:
    """Lay out a posterior as a tree; see ``Posterior.to_datatree``."""
    import xarray as xr

    draws = posterior.draws
    if dense is None:
        dense = draws.n_chains * draws.n_draws * draws.n_edges <= MOST_DENSE
    groups = {
        "/": xr.Dataset(attrs=_attributes(posterior)),
        "posterior": _posterior_group(posterior, dense),
        "sample_stats": _sample_stats(posterior),
        "inclusion": _inclusion(posterior),
        "run": _run(posterior),
    }
    if not dense:
        groups["sparse"] = _sparse(posterior)
    return xr.DataTree.from_dict(groups, name="slabfield")


def _posterior_group(posterior: Posterior, dense: bool) -> xr.Dataset:
    import xarray as xr

    draws, each = posterior.draws, ("chain", "draw")
    variables: dict[str, Any] = {}
    coordinates = _of_draws(posterior) | {"node": printable(posterior.feature_names)}
    if dense:
        present, coupling = _dense(posterior)
        variables |= {
            "coupling": ((*each, "edge"), coupling, {"about": "0 where the edge is absent"}),
            "present": ((*each, "edge"), present),
        }
        coordinates |= of_edges(posterior)
    variables |= {
        "bias": ((*each, "node"), draws.bias),
        "p0": (each, draws.p0),
        "sigma0": (each, draws.sigma0),
    }
    return xr.Dataset(variables, coordinates)


def _dense(posterior: Posterior) -> tuple[Any, Any]:
    """Presence and couplings, bit for bit: SciPy would add to zero, and lose a negative one."""
    draws = posterior.draws
    shape = (draws.n_chains * draws.n_draws, draws.n_edges)
    if shape[0] * shape[1] > DENSE_LIMIT:
        raise InputError(
            f"dense must be False for more than {DENSE_LIMIT:,} numbers; there are {shape[0]:,} "
            f"draws of {shape[1]:,} edges. Leave it out."
        )
    present, coupling = np.zeros(shape, np.bool_), np.zeros(shape)
    rows = np.repeat(np.arange(shape[0]), np.diff(draws.values.indptr))
    present[rows, draws.values.indices] = True
    coupling[rows, draws.values.indices] = draws.values.data
    each = (draws.n_chains, draws.n_draws, draws.n_edges)
    return present.reshape(each), coupling.reshape(each)


def _sample_stats(posterior: Posterior) -> xr.Dataset:
    import xarray as xr

    about = {"about": "log potential of the data: up to log Z the log-likelihood"}
    return xr.Dataset(
        {
            "potential": (("chain", "draw"), posterior.draws.potential, about),
            "density": (("chain", "draw"), posterior.density),
        },
        _of_draws(posterior),
    )


def _inclusion(posterior: Posterior) -> xr.Dataset:
    """Keep what has no draws apart: ArviZ expects draws of all that is in ``posterior``."""
    import xarray as xr

    about = {"about": "mean conditional probability of presence; NaN where there is none"}
    return xr.Dataset(
        {
            "chance": (("edge",), posterior.draws.chance, about),
            "probability": (("edge",), posterior.edge_probability),
        },
        of_edges(posterior),
    )


def _sparse(posterior: Posterior) -> xr.Dataset:
    import xarray as xr

    values = posterior.draws.values
    about = {
        "about": "Draw k of chain c is row r = c * draws + k. Its edges are edge_number[start[r] : "
        "start[r + 1]], and their couplings the same part of value."
    }
    return xr.Dataset(
        {
            "start": (("row",), values.indptr.astype(np.int64)),
            "edge_number": (("entry",), values.indices.astype(np.int32)),
            "value": (("entry",), values.data),
        },
        attrs=about,
    )


def _run(posterior: Posterior) -> xr.Dataset:
    import xarray as xr

    texts = {
        "feature_names": posterior.feature_names,
        "settings": posterior.settings,
        "info": posterior.info,
    }
    about = {"about": "JSON: what the run was told, and what happened in each chain"}
    return xr.Dataset(
        {name: ((), _as_json(name, value)) for name, value in texts.items()},
        attrs=about,
    )


def _attributes(posterior: Posterior) -> dict[str, Any]:
    """Facts to read at a glance; the group ``run`` has all of them."""
    import slabfield

    facts = {
        "title": "Posterior of a binary Markov random field with a spike-and-slab prior",
        "slabfield_format": FORMAT,
        "creation_library": "slabfield",
        "creation_library_version": slabfield.__version__,
        "inference_library": "slabfield",
    }
    settings = posterior.settings
    for name in ("engine", "scheme", "preset", "seed", "n_rows", "data_fingerprint", "versions"):
        if settings.get(name) is not None:
            shown = settings[name]
            text = shown if isinstance(shown, str) else _as_json("settings", shown)
            facts[name] = printable([text[:ONE_LINE]])[0]
    return facts


def _of_draws(posterior: Posterior) -> dict[str, Any]:
    draws = posterior.draws
    return {"chain": np.arange(draws.n_chains), "draw": np.arange(draws.n_draws)}


def of_edges(posterior: Posterior) -> dict[str, Any]:
    """Coordinates of the edges: which nodes they join and, where they are few, their names."""
    first, second = (nodes.astype(np.int32) for nodes in np.triu_indices(posterior.n_nodes, 1))
    found: dict[str, Any] = {"node_1": (("edge",), first), "node_2": (("edge",), second)}
    if first.size <= MOST_NAMED:
        names = printable(posterior.feature_names)
        found["edge"] = [f"{names[i]} - {names[j]}" for i, j in zip(first, second, strict=True)]
    return found


def printable(names: list[str]) -> list[str]:
    """Names that a file can hold; ``run`` has them exactly."""
    safe = (name.encode("utf-8", "replace").decode() for name in names)
    return [name.replace("\0", "?") for name in safe]


def _as_json(name: str, value: Any) -> str:
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{name} must hold only what JSON can; found something else ({error}). Put numbers, "
            "text, lists and dicts of these there."
        ) from None


def _plain(value: Any) -> Any:
    """Turn what NumPy has for numbers into what JSON has."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__}")
