"""Data of the report on nodes with levels, as plain lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.posterior.methods_levels import KIND_NAMES
from slabfield.posterior.node_names import bias_terms, level_names
from slabfield.report.json_numbers import numbers

if TYPE_CHECKING:
    from slabfield.posterior import Posterior


def level_payload(posterior: Posterior) -> dict[str, Any] | None:
    """Collect kinds, levels, thresholds and embeddings of nodes; None if all are binary.

    Returns
    -------
    dict
        Lists with one entry for each node: ``kind``, ``labels``, ``reference`` (its label, or
        None), ``share`` (of rows in each level; None if it is not known), ``terms``, ``mean``,
        ``lower`` and ``upper`` of its thresholds, and the rows of its ``embedding``, from which the
        page computes the table of a pair.
    """
    if not posterior.has_levels:
        return None
    table, start, variables = posterior.thresholds(), posterior.bias_start, posterior.variables
    shares = posterior.level_shares
    found: dict[str, Any] = {
        "kind": [KIND_NAMES[variable.kind] for variable in variables],
        "labels": [level_names(variable) for variable in variables],
        "reference": [variable.reference for variable in variables],
        "position": [list(variable.positions) for variable in variables],
        "share": None if shares is None else [numbers(share, 4) for share in shares],
        "terms": [bias_terms(variable) for variable in variables],
        "embedding": [
            [numbers(row) for row in features.embedding] for features in posterior.node_features
        ],
    }
    for name in ("mean", "lower", "upper"):
        values = table[name].to_numpy()
        found[name] = [numbers(part, 4) for part in np.split(values, start[1:-1])]
    return found


def unsigned_payload(posterior: Posterior, kept: NDArray[np.intp]) -> dict[str, Any]:
    """Collect the log odds ratios of adjacent levels, and the parameters of edges without a sign.

    Empty if all nodes are binary. ``parameters`` has the mean of each parameter, given presence,
    or None for an edge with only one, which is its coupling.
    """
    if not posterior.has_levels:
        return {}
    first, second = posterior.interactions.ends_of(kept)
    signed = posterior.edge_is_signed[kept].tolist()
    parameters = [
        None if has_sign else numbers(posterior.parameter_mean[posterior.interactions.group(edge)])
        for edge, has_sign in zip(kept.tolist(), signed, strict=True)
    ]
    return {
        "coupling_raw": numbers(posterior.coupling_raw[first, second]),
        "parameters": parameters,
    }
