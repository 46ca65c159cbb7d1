r"""The field with a given graph that is nearest to a posterior predictive distribution.

A mixture of fields is projected onto the fields that have some edges and no others (Goutis and
Robert 1998). What is minimized is the divergence of the conditional distribution of every node
given the others, averaged over rows of the mixture (equation 40 of ``docs/maths.md``): a convex
function, like the loss of logistic regressions that share their couplings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slabfield.evaluate.prediction import node_probabilities
from slabfield.models.levels import PairwiseLevels, in_biases

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Least variance of a feature, in rows, by which its parameter is scaled
LEAST_VARIANCE = 0.5
# Quasi-Newton steps at most, and the relative gain of a step at which they end
MOST_STEPS, LEAST_GAIN = 1_000, 1e-10
# Steps whose gradients are remembered
MEMORY = 20


class Parameters(NamedTuple):
    """Parameters of a field: its biases, and those of all candidate edges, zero where absent."""

    bias: Array
    coupling: Array


class _Features(NamedTuple):
    """Features of all nodes in some rows.

    ``embedded`` (rows, coordinates) holds the deviations of the embeddings from their ``mean`` over
    the rows, ``share`` the share of the rows in each level of every node, ``bias`` (levels, biases)
    and ``embedding`` (levels, coordinates) the features of all levels; ``in_biases`` (biases,
    coordinates) turns functions of the embedding into biases. Parameter q of the chosen edges,
    ``parameters[q]`` of all, multiplies coordinates ``first[q]`` and ``second[q]``.
    """

    embedded: Array
    mean: Array
    share: Array
    bias: Any
    embedding: Any
    in_biases: Any
    level_start: Integers
    parameters: Integers
    first: Integers
    second: Integers


def nearest_to_mixture(
    model: PairwiseLevels,
    edges: NDArray[np.bool_],
    fields: Sequence[Any],
    rows: NDArray[np.integer],
    start: Parameters,
) -> Parameters:
    """Return the parameters of the field with these edges that is nearest to a mixture of fields.

    Parameters as in :func:`nearest_parameters`; ``rows`` are rows of the mixture.
    """
    found = node_probabilities(fields, rows)
    if not isinstance(found, list):
        found = [np.column_stack([1.0 - share, share]) for share in found.T]
    return nearest_parameters(model, edges, rows, np.hstack(found), start)


def nearest_parameters(
    model: PairwiseLevels,
    edges: NDArray[np.bool_],
    rows: NDArray[np.integer],
    wanted: Array,
    start: Parameters,
) -> Parameters:
    """Return the parameters of the nearest field with these edges.

    Parameters
    ----------
    model : PairwiseLevels
    edges : array of bool (n_edges,)
        Which edges the field has.
    rows : array (N, D)
        Rows of the mixture, over which divergences are averaged.
    wanted : array (N, number of levels of all nodes)
        Probabilities of the levels of every node given the others, under the mixture.
    start : Parameters
        Where the search starts; where the rows leave a parameter undetermined, also where it ends.
    """
    from scipy.optimize import minimize

    features = _features_of(model, edges, rows)
    n_biases, scale = model.n_biases, _scales(features)

    def loss(scaled: Array) -> tuple[float, Array]:
        values = scaled * scale
        pull = features.embedded @ _as_matrix(features, values[n_biases:])
        logits = features.embedding.dot(pull.T).T + features.bias.dot(values[:n_biases])
        log_probability = _log_softmax(logits, features.level_start)
        excess = np.exp(log_probability) - wanted
        by_coordinate = features.embedding.T.dot(excess.T) @ features.embedded
        slope = np.concatenate([
            features.bias.T.dot(excess.sum(axis=0)),
            by_coordinate[features.first, features.second]
            + by_coordinate[features.second, features.first],
        ])  # fmt: skip
        return -float(np.vdot(wanted, log_probability)), slope * scale

    own = start.coupling[features.parameters]
    values = np.concatenate([start.bias + _biases_at_mean(features, own), own])
    options: Any = {"maxiter": MOST_STEPS, "maxcor": MEMORY, "ftol": LEAST_GAIN, "gtol": 1e-6}
    found = minimize(loss, values / scale, jac=True, method="L-BFGS-B", options=options).x * scale
    coupling = np.zeros_like(start.coupling)
    coupling[features.parameters] = found[n_biases:]
    return Parameters(found[:n_biases] - _biases_at_mean(features, found[n_biases:]), coupling)


def _features_of(
    model: PairwiseLevels, edges: NDArray[np.bool_], rows: NDArray[np.integer]
) -> _Features:
    x, n_levels = np.asarray(rows, dtype=np.int64), model.n_states
    embedded = np.hstack([node.embedding[x[:, i]] for i, node in enumerate(model.nodes)])
    sizes = np.array([node.embedding.shape[1] for node in model.nodes])
    coordinate_start = np.cumsum([0, *sizes])
    interactions, chosen = model.interactions, np.flatnonzero(edges)
    ends = [side[chosen] for side in interactions.ends]
    pairs = [
        np.meshgrid(*(coordinate_start[i] + np.arange(sizes[i]) for i in pair), indexing="ij")
        for pair in zip(*(side.tolist() for side in ends), strict=True)
    ]
    none = [np.zeros(0, np.int64)]
    first, second = (np.concatenate([*(p[k].ravel() for p in pairs), *none]) for k in range(2))
    begin, end = interactions.group_start[chosen], interactions.group_start[chosen + 1]
    counts = [np.bincount(x[:, i], minlength=n) for i, n in enumerate(n_levels)]
    mean = embedded.mean(axis=0)
    return _Features(
        embedded - mean,
        mean,
        np.concatenate(counts) / len(x),
        sparse.block_diag([node.bias for node in model.nodes], "csr"),
        sparse.block_diag([node.embedding for node in model.nodes], "csr"),
        sparse.block_diag([in_biases(node)[1] for node in model.nodes], "csr"),
        np.cumsum([0, *n_levels]).astype(np.int64),
        np.concatenate([*(np.arange(*group) for group in zip(begin, end, strict=True)), *none]),
        first,
        second,
    )


def _scales(features: _Features) -> Array:
    """Return about one standard deviation of every parameter, so that steps fit all of them."""
    n_rows = len(features.embedded)
    variance = np.maximum(features.embedded.var(axis=0), LEAST_VARIANCE / n_rows)
    squares, mean = (
        features.bias.power(2).T.dot(features.share),
        features.bias.T.dot(features.share),
    )
    of_biases = np.maximum(squares - mean**2, LEAST_VARIANCE / n_rows)
    of_couplings = 2 * variance[features.first] * variance[features.second]
    scales: Array = 1.0 / np.sqrt(n_rows * np.concatenate([of_biases, of_couplings]))
    return scales


def _biases_at_mean(features: _Features, coupling: Array) -> Array:
    """Return the biases that couplings amount to if all other nodes are at their means."""
    biases: Array = features.in_biases.dot(_as_matrix(features, coupling) @ features.mean)
    return biases


def _as_matrix(features: _Features, coupling: Array) -> Array:
    """Return the symmetric matrix of the parameters of two coordinates."""
    size = features.embedded.shape[1]
    matrix = np.zeros((size, size))
    matrix[features.first, features.second] = coupling
    matrix[features.second, features.first] = coupling
    return matrix


def _log_softmax(logits: Array, start: Integers) -> Array:
    """Return the log probabilities of the levels of every node from their log weights."""
    sizes = np.diff(start)
    largest = np.maximum.reduceat(logits, start[:-1], axis=1)
    shifted: Array = logits - np.repeat(largest, sizes, axis=1)
    totals = np.add.reduceat(np.exp(shifted), start[:-1], axis=1)
    shifted -= np.repeat(np.log(totals), sizes, axis=1)
    return shifted
