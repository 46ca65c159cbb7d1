"""A posterior as an xarray DataTree, with the groups and dimensions of ArviZ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from slabfield.draws import DENSE_LIMIT, Draws
from slabfield.models.interactions import Interactions
from slabfield.posterior.integrity import FORMAT
from slabfield.posterior.node_names import level_names
from slabfield.validation import InputError, Parameter

if TYPE_CHECKING:
    import xarray as xr

    from slabfield.posterior.posterior import Posterior

# Draws with more entries than this (chains * draws * parameters) are stored sparsely
MAX_DENSE = 4_000_000
# Edges get names as coordinates up to this number of edges
MAX_NAMED = 100_000
# Characters of an attribute; longer text is cut
MAX_ATTRIBUTE_LENGTH = 200
# Characters of the kinds and labels of variables; more are left out (HDF5 has a limit of 64 kB)
MAX_VARIABLES_LENGTH = 20_000

OF_PARAMETERS = (
    "parameters of edges, 0 where the edge is absent; coupling is the only one of an edge, or the "
    "norm of several"
)


def make_tree(posterior: Posterior, dense: bool | None = None) -> xr.DataTree:
    """Lay out a posterior as a tree; see ``Posterior.to_datatree``."""
    import xarray as xr

    draws = posterior.draws
    if dense is None:
        dense = draws.n_chains * draws.n_draws * draws.interactions.n_parameters <= MAX_DENSE
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

    draws, dims = posterior.draws, ("chain", "draw")
    variables: dict[str, Any] = {}
    coordinates = _draw_coordinates(posterior) | bias_coordinates(posterior)
    if dense:
        present, coupling = _dense(draws.values, draws)
        variables |= {
            "coupling": ((*dims, "edge"), coupling, {"about": "0 where the edge is absent"}),
            "present": ((*dims, "edge"), present, {"about": "1 where the edge is present"}),
        }
        coordinates |= edge_coordinates(posterior)
        if draws.interactions.n_parameters > draws.n_edges:
            variables["parameters"] = (
                (*dims, "parameter"), _dense(draws.parameters, draws)[1], {"about": OF_PARAMETERS}
            )  # fmt: skip
            coordinates |= _parameter_coordinates(posterior)
    variables |= {
        "bias": ((*dims, *bias_coordinates(posterior)), draws.bias),
        "p0": (dims, draws.p0),
        "sigma0": (dims, draws.sigma0),
    }
    if draws.sigma0_nominal is not None:
        about = {"about": "scale of the slab of edges with several parameters"}
        variables["sigma0_nominal"] = (dims, draws.sigma0_nominal, about)
    return xr.Dataset(variables, coordinates, _variables_attribute(posterior))


def _dense(values: Any, draws: Draws) -> tuple[Any, Any]:
    """Dense presence and values, bit for bit: SciPy's conversion would lose negative zeros."""
    shape = values.shape
    if shape[0] * shape[1] > DENSE_LIMIT:
        raise InputError(
            "too-large-for-dense",
            "{parameter} must be False for more than {limit:,} entries; there are {n_draws:,} "
            "draws of {n_parameters:,} couplings. Leave the argument out.",
            parameter=Parameter("dense"),
            limit=DENSE_LIMIT,
            n_draws=shape[0],
            n_parameters=shape[1],
        )
    # ArviZ subtracts draws from each other, which NumPy refuses to do with truth values
    present, coupling = np.zeros(shape, np.int8), np.zeros(shape)
    rows = np.repeat(np.arange(shape[0]), np.diff(values.indptr))
    present[rows, values.indices] = 1
    coupling[rows, values.indices] = values.data
    by_chain = (draws.n_chains, draws.n_draws, shape[1])
    return present.reshape(by_chain), coupling.reshape(by_chain)


def _sample_stats(posterior: Posterior) -> xr.Dataset:
    import xarray as xr

    about = {"about": "log potential of the data: the log-likelihood without the term in log Z"}
    return xr.Dataset(
        {
            "potential": (("chain", "draw"), posterior.draws.potential, about),
            "density": (("chain", "draw"), posterior.density),
        },
        _draw_coordinates(posterior),
    )


def _inclusion(posterior: Posterior) -> xr.Dataset:
    """Summaries of edges, in a group of their own: ArviZ expects only draws in ``posterior``."""
    import xarray as xr

    draws = posterior.draws
    about = {"about": "mean conditional probability of presence; NaN if not recorded"}
    probability_error = {"about": "Monte Carlo standard error of conditional_probability"}
    factor = {"about": "log Bayes factor of presence; NaN if not recorded"}
    error = {"about": "Monte Carlo standard error of log_bayes_factor"}
    return xr.Dataset(
        {
            "conditional_probability": (("edge",), draws.conditional_probability, about),
            "probability_mcse": (("edge",), draws.probability_mcse, probability_error),
            "log_bayes_factor": (("edge",), draws.log_bayes_factor, factor),
            "log_bayes_factor_mcse": (("edge",), draws.log_bayes_factor_mcse, error),
            "probability": (("edge",), posterior.edge_probability),
        },
        edge_coordinates(posterior) | _ends(posterior),
    )


def _sparse(posterior: Posterior) -> xr.Dataset:
    import xarray as xr

    values, name = posterior.draws.parameters, sparse_number(posterior.interactions)
    variables = {
        "start": (("row",), values.indptr.astype(np.int64)),
        name: (("entry",), values.indices.astype(np.int32)),
        "value": (("entry",), values.data),
    }
    of_group = ""
    if posterior.interactions.n_parameters > posterior.draws.n_edges:
        variables["first_parameter"] = (("group",), posterior.interactions.group_start)
        of_group = " Edge e has the parameters from first_parameter[e] to first_parameter[e + 1]."
    about = (
        "Draw k of chain c is row r = c * draws + k. Its present edges have the numbers "
        f"{name}[start[r] : start[r + 1]], and their couplings are the same slice of value."
    )
    return xr.Dataset(variables, attrs={"about": about + of_group})


def sparse_number(interactions: Interactions) -> str:
    """Name of the column numbers of sparse draws: of edges, or of the parameters of edges."""
    several = interactions.n_parameters > len(interactions)
    return "parameter_number" if several else "edge_number"


def _run(posterior: Posterior) -> xr.Dataset:
    import xarray as xr

    texts = {
        "encoder": posterior.encoder.as_record(),
        "settings": posterior.settings,
        "info": posterior.info,
    }
    about = {"about": "JSON: the variables, the settings of the run, and statistics of each chain"}
    return xr.Dataset(
        {name: ((), _as_json(name, value)) for name, value in texts.items()},
        attrs=about,
    )


def _attributes(posterior: Posterior) -> dict[str, Any]:
    """The most important settings as attributes; the group ``run`` has all of them."""
    import slabfield

    attributes = {
        "title": f"Posterior of a {'' if posterior.has_levels else 'binary '}Markov random field "
        "with a spike-and-slab prior",
        "slabfield_format": FORMAT,
        "creation_library": "slabfield",
        "creation_library_version": slabfield.__version__,
        "inference_library": "slabfield",
    }
    settings = posterior.settings
    for name in ("engine", "scheme", "preset", "seed", "n_rows", "data_fingerprint", "versions"):
        if settings.get(name) is not None:
            value = settings[name]
            text = value if isinstance(value, str) else _as_json("settings", value)
            attributes[name] = printable([text[:MAX_ATTRIBUTE_LENGTH]])[0]
    return attributes


def _draw_coordinates(posterior: Posterior) -> dict[str, Any]:
    draws = posterior.draws
    return {"chain": np.arange(draws.n_chains), "draw": np.arange(draws.n_draws)}


def edge_coordinates(posterior: Posterior) -> dict[str, Any]:
    """Names of the edges, unless there are too many."""
    interactions = posterior.interactions
    if len(interactions) > MAX_NAMED:
        return {}
    return {"edge": interactions.labels(printable(posterior.feature_names))}


def bias_coordinates(posterior: Posterior) -> dict[str, Any]:
    """Names of the biases: one for each node, or with levels one for each threshold."""
    if posterior.has_levels:
        return {"threshold": printable(posterior.bias_names)}
    return {"node": printable(posterior.feature_names)}


def _parameter_coordinates(posterior: Posterior) -> dict[str, Any]:
    """Names of parameters: the edge, and the number of the parameter in its group, from 1."""
    interactions = posterior.interactions
    if interactions.n_parameters > MAX_NAMED:
        return {}
    labels = interactions.labels(printable(posterior.feature_names))
    sizes = np.diff(interactions.group_start).tolist()
    return {
        "parameter": [
            label if size == 1 else f"{label}[{k + 1}]"
            for label, size in zip(labels, sizes, strict=True)
            for k in range(size)
        ]
    }


def _variables_attribute(posterior: Posterior) -> dict[str, str]:
    """Kinds and labels of the variables as JSON, if there are levels and they are not too many."""
    if not posterior.has_levels:
        return {}
    found = {
        name: {"kind": variable.kind, "labels": level_names(variable)}
        for name, variable in zip(posterior.feature_names, posterior.variables, strict=True)
    }
    text = _as_json("variables", found)
    return {"variables": text} if len(text) <= MAX_VARIABLES_LENGTH else {}


def _ends(posterior: Posterior) -> dict[str, Any]:
    """The nodes that each edge joins.

    Only ``inclusion`` has them: ArviZ cannot tabulate ``posterior`` with coordinates that only some
    of its variables have.
    """
    first, second = (nodes.astype(np.int32) for nodes in posterior.interactions.ends)
    return {"node_1": (("edge",), first), "node_2": (("edge",), second)}


def printable(names: list[str]) -> list[str]:
    """Replace characters that a file cannot hold; the group ``run`` has the exact names."""
    safe = (name.encode("utf-8", "replace").decode() for name in names)
    return [name.replace("\0", "?") for name in safe]


def _as_json(name: str, value: Any) -> str:
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            "not-serializable",
            "{name} must be serializable as JSON; found something else ({error}). Use only "
            "numbers, text, and lists and dicts of these.",
            name=name,
            error=str(error),
        ) from None


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays to plain Python numbers and lists."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__}")
