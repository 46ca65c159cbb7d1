"""Rows sampled from a field of nodes with levels: exactly where all states can be listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets.gibbs_rows import ROWS_AT_ONCE, color_classes
from slabfield.models.level_field import LevelField
from slabfield.models.protocol import Array
from slabfield.validation import InputError, Parameter, check_choice, check_positive_int

Codes = NDArray[np.uint8]
LevelMethod = Literal["auto", "enumeration", "gibbs"]

MOST_STATES = 2**20
"""Largest number of joint states that are enumerated."""


def draw_level_rows(
    field: LevelField, n_rows: int, rng: np.random.Generator, method: str, n_sweeps: int
) -> tuple[Codes, str]:
    """Sample rows of codes, and say how they were sampled.

    Parameters
    ----------
    field : LevelField
        The field to sample from.
    method : {'auto', 'enumeration', 'gibbs'}
        'auto' enumerates fields of up to about a million states, and else takes 'gibbs'.
    n_sweeps : int
        Number of sweeps of each run of 'gibbs'.

    Returns
    -------
    rows : array of shape (n_rows, D), uint8
        Independent draws.
    method : str
        'enumeration' or 'gibbs'.
    """
    n_rows = check_positive_int("n_rows", n_rows)
    n_sweeps = check_positive_int("n_sweeps", n_sweeps)
    check_choice("method", method, get_args(LevelMethod))
    n_states = float(np.prod(field.n_states, dtype=np.float64))
    if method == "auto":
        method = "enumeration" if n_states <= MOST_STATES else "gibbs"
    if method == "gibbs":
        return gibbs_level_rows(field, n_rows, rng, n_sweeps), method
    if n_states > MOST_STATES:
        raise InputError(
            "too-many-states-to-enumerate",
            "{enumeration} lists every joint state, of which there may be at most {limit:,}; this "
            "field has {n_states:.3g}. Pass {gibbs}, or fewer nodes or levels.",
            enumeration=Parameter("method", "enumeration"),
            limit=MOST_STATES,
            n_states=n_states,
            gibbs=Parameter("method", "gibbs"),
        )
    return enumerated_rows(field, n_rows, rng), method


def state_probabilities(field: LevelField) -> Array:
    """Probability of every joint state, an array with one axis of K_i levels for each node i."""
    shape, d = tuple(field.n_states.tolist()), field.n_nodes
    table = np.zeros(shape)
    for i in range(d):
        table += field.node_energy(i).reshape([-1 if k == i else 1 for k in range(d)])
    for i, j in np.argwhere(np.triu(field.edges)).tolist():
        ends = [shape[k] if k in (i, j) else 1 for k in range(d)]
        table += field.pair_energy(i, j).reshape(ends)
    table -= table.max()
    np.exp(table, out=table)
    table /= table.sum()
    return table


def enumerated_rows(field: LevelField, n_rows: int, rng: np.random.Generator) -> Codes:
    """Sample rows exactly, from the table of all joint states."""
    cumulative = np.cumsum(state_probabilities(field))
    cumulative /= cumulative[-1]
    # side="right" skips states of probability 0, and u < 1 keeps the index inside the table
    index = np.searchsorted(cumulative, rng.random(n_rows), side="right")
    return np.stack(np.unravel_index(index, tuple(field.n_states)), axis=1).astype(np.uint8)


class _Update(NamedTuple):
    """Nodes with as many levels each that are not neighbors, so that they change together.

    ``coordinates`` (n, e) are their places among the coordinates of all nodes, and ``embedding``
    (n, K, e) those of their levels. The sparse ``weights`` (n K, all coordinates) and ``energy``
    (n K, 1) give the log weights of their levels.
    """

    nodes: NDArray[np.intp]
    coordinates: NDArray[np.int64]
    embedding: Array
    weights: Any
    energy: Array

    def logits(self, embedded: Array) -> Array:
        """Log weights of the levels, (n, K, rows), given the coordinates of all nodes."""
        total = self.weights @ embedded
        total += self.energy
        return np.asarray(total).reshape(*self.embedding.shape[:2], -1)

    def set_levels(self, levels: NDArray[np.intp], embedded: Array) -> None:
        """Set the coordinates of the nodes to those of levels (n, rows)."""
        which = np.arange(len(levels))[:, None]
        for k in range(self.coordinates.shape[1]):
            embedded[self.coordinates[:, k]] = self.embedding[:, :, k][which, levels]


def gibbs_level_rows(
    field: LevelField, n_rows: int, rng: np.random.Generator, n_sweeps: int
) -> Codes:
    r"""Sample rows as the last states of independent Gibbs runs from uniformly random states.

    .. math:: P(x_i = a \mid x_{-i}) \propto \exp(G_i[a] \cdot \mu_i
        + V_i[a] \cdot \sum_j B_{ij} V_j[x_j])

    Returns
    -------
    array of shape (n_rows, D), uint8
        One state in each row.
    """
    updates = list(_updates(field))
    n_coordinates = sum(update.coordinates.size for update in updates)
    rows = np.empty((n_rows, field.n_nodes), dtype=np.uint8)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        block = rows[start : start + ROWS_AT_ONCE]
        embedded = np.empty((n_coordinates, len(block)))
        for update in updates:
            n, n_levels, _ = update.embedding.shape
            update.set_levels(rng.integers(n_levels, size=(n, len(block))), embedded)
        for _ in range(n_sweeps):
            for update in updates:
                levels = _sample_levels(update.logits(embedded), rng)
                update.set_levels(levels, embedded)
                block[:, update.nodes] = levels.T
    return rows


def _updates(field: LevelField) -> Iterator[_Update]:
    from scipy.sparse import csr_array

    model, n_levels = field.model, field.n_states
    sizes = np.array([node.embedding.shape[1] for node in model.nodes])
    start = np.cumsum([0, *sizes])
    for color in color_classes(field):
        for kind in sorted({(int(n_levels[i]), int(sizes[i])) for i in color}):
            nodes = color[(n_levels[color] == kind[0]) & (sizes[color] == kind[1])]
            weights = np.zeros((nodes.size, kind[0], start[-1]))
            for k, i in enumerate(nodes.tolist()):
                for j in np.flatnonzero(field.edges[i]).tolist():
                    group = field.coupling[model.group(model.interactions.find(i, j))]
                    pair = group.reshape(sizes[min(i, j)], sizes[max(i, j)])
                    weights[k, :, start[j] : start[j + 1]] = model.nodes[i].embedding @ (
                        pair if i < j else pair.T
                    )
            yield _Update(
                nodes,
                start[nodes][:, None] + np.arange(kind[1]),
                np.stack([model.nodes[i].embedding for i in nodes]),
                csr_array(weights.reshape(-1, start[-1])),
                np.concatenate([field.node_energy(i) for i in nodes])[:, None],
            )


def _sample_levels(logits: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Sample a level from each column of (nodes, levels, rows) log weights, by inversion."""
    logits -= logits.max(axis=1, keepdims=True)
    cumulative = np.cumsum(np.exp(logits, out=logits), axis=1, out=logits)
    uniform = rng.random((len(logits), logits.shape[2])) * cumulative[:, -1]
    return np.asarray(np.count_nonzero(cumulative[:, :-1] <= uniform[:, None], axis=1))
