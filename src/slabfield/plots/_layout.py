"""Layout of networks: positions of nodes and paths of edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from slabfield.posterior.summaries import LIKELY

Array = NDArray[np.float64]

# Pairs with a smaller closeness are placed like pairs of this closeness
MIN_CLOSENESS = 0.1
# Larger networks use a spring layout, which is cheaper than stress minimization
MAX_STRESS_NODES = 150
# Iterations of the removal of overlaps
MAX_ROUNDS = 500
# Clearance of a bent line, as a multiple of the extent of the box it avoids
BEND_CLEARANCE = 1.25
# Largest bend, as a share of the length of the line
MAX_BEND = 0.8
# Points of a bent line
BEND_POINTS = 25


def strongest_coupling(probability: Array, strength: Array) -> float:
    """Return the strength of the widest line of a network, independent of the threshold."""
    likely = float(np.max(np.abs(strength) * (probability >= LIKELY), initial=0.0))
    return likely or float(np.max(np.abs(strength) * probability, initial=0.0)) or 1.0


def place_network(probability: Array, strength: Array) -> Array:
    """Place the nodes of a network; probable, strong edges are short.

    Parameters
    ----------
    probability : array of shape (D, D)
        Inclusion probabilities.
    strength : array of shape (D, D)
        Couplings, 0 for edges that were never present.

    Returns
    -------
    array of shape (D, 2)
        Positions, as :func:`place_nodes` returns them.
    """
    strongest = strongest_coupling(probability, strength)
    return place_nodes(probability * np.minimum(np.abs(strength) / strongest, 1))


def place_nodes(closeness: Array) -> Array:
    """Place nodes by stress minimization; the target distances decrease with closeness.

    All pairs count, so the positions do not depend on which edges are drawn. The layout is
    deterministic.

    Parameters
    ----------
    closeness : array of shape (D, D)
        Symmetric, within [0, 1], such as inclusion probabilities; the diagonal is ignored.

    Returns
    -------
    array of shape (D, 2)
        Centered positions within [-1, 1]; the wider extent is horizontal.
    """
    n_nodes = closeness.shape[0]
    if n_nodes < 3:
        return np.column_stack([np.linspace(-1, 1, n_nodes), np.zeros(n_nodes)])
    lengths = 1 / np.clip(closeness, MIN_CLOSENESS, 1)
    np.fill_diagonal(lengths, 0)
    # The square root and the lower bound keep weakly linked clusters from drifting so far apart
    # that the names within a cluster overlap.
    distances = np.sqrt(shortest_path(lengths, directed=False))
    start = _classical_scaling(distances)
    if n_nodes <= MAX_STRESS_NODES:
        places = _relax_distances(distances, start)
    else:
        places = _relax_springs(closeness, start)
    return _framed(places)


def part_boxes(places: Array, sizes: Array, bounds: Array) -> Array:
    """Move overlapping boxes apart, as little as possible.

    Parameters
    ----------
    places : array of shape (D, 2)
        Centers of the boxes.
    sizes : array of shape (D, 2)
        Widths and heights, in the same units.
    bounds : array of shape (2,)
        Centers stay within plus and minus these bounds.

    Returns
    -------
    array of shape (D, 2)
        New centers. Some boxes still overlap if the area is too small for all of them.
    """
    moved = np.array(places, dtype=np.float64)
    needed = (sizes[:, None] + sizes[None]) / 2
    for _ in range(MAX_ROUNDS):
        apart = moved[:, None] - moved[None]
        overlap = needed - np.abs(apart)
        overlaps = np.all(overlap > 1e-9, axis=2)
        np.fill_diagonal(overlaps, False)
        if not overlaps.any():
            break
        # Move along the axis with the smaller overlap; each of the two boxes moves half of it.
        horizontal = overlap[..., 0] <= overlap[..., 1]
        along = np.stack([horizontal, ~horizontal], axis=2)
        # Boxes at the same position separate in the order of their indices.
        order = np.sign(np.subtract.outer(np.arange(len(moved)), np.arange(len(moved))))
        sign = np.where(apart == 0, order[..., None], np.sign(apart))
        steps = np.where(along & overlaps[..., None], sign * overlap / 2, 0).sum(axis=1)
        n_overlaps = np.maximum(overlaps.sum(axis=1), 1)[:, None]
        moved = np.clip(moved + steps / n_overlaps, -bounds, bounds)
    return moved


def bent_lines(
    places: Array, sizes: Array, first: NDArray[np.intp], second: NDArray[np.intp]
) -> list[Array]:
    """Return the paths of edges, bent around the boxes of other nodes.

    A line behind a box would seem to end there. An edge that meets no box is straight; the others
    are parabolas, as flat as possible.

    Parameters
    ----------
    places, sizes : array of shape (D, 2)
        Centers of the boxes, and their widths and heights.
    first, second : array of int
        Nodes that each edge joins.

    Returns
    -------
    list of arrays of shape (n, 2)
        Points of each line.
    """
    return [_bent(places, sizes, int(i), int(j)) for i, j in zip(first, second, strict=True)]


def _bent(places: Array, sizes: Array, i: int, j: int) -> Array:
    start, along = places[i], places[j] - places[i]
    squared = float(along @ along)
    if squared == 0:
        return np.stack([start, places[j]])
    across = np.array([-along[1], along[0]]) / np.sqrt(squared)
    # Positions of the other boxes along and across the line, and half their extent across it
    at, beside = (places - start) @ along / squared, (places - start) @ across
    extent = sizes @ np.abs(across) / 2
    near = (at > 0.02) & (at < 0.98)
    near[[i, j]] = False
    at, beside, extent = at[near], beside[near], extent[near]
    shape = 2 * at * (1 - at)

    def n_hits(bend: float) -> int:
        return int(np.sum(np.abs(shape * bend - beside) < extent))

    if n_hits(0.0) == 0:
        return np.stack([start, places[j]])
    scale = np.maximum(shape, 0.25)
    clearance = extent * BEND_CLEARANCE
    bends = np.concatenate([[0.0], (beside + clearance) / scale, (beside - clearance) / scale])
    # Only bends that stay within the layout
    middle = start + along / 2 + bends[:, None] / 2 * across
    low, high = (places - sizes / 2).min(axis=0), (places + sizes / 2).max(axis=0)
    inside = np.all((middle >= low) & (middle <= high), axis=1)
    bends = bends[inside & (np.abs(bends) <= MAX_BEND * np.sqrt(squared)) | (bends == 0)]
    bend = min(bends.tolist(), key=lambda b: (n_hits(b), abs(b)))
    t = np.linspace(0, 1, BEND_POINTS)[:, None]
    return np.asarray(start + t * along + 2 * t * (1 - t) * bend * across)


def _classical_scaling(distances: Array) -> Array:
    """Classical multidimensional scaling to two dimensions."""
    n_nodes = distances.shape[0]
    center = np.eye(n_nodes) - 1 / n_nodes
    values, vectors = np.linalg.eigh(-0.5 * center @ distances**2 @ center)
    places = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-9))
    # Nodes with equal distances would start, and stay, at the same position
    angles = np.arange(n_nodes) * 2.4
    places += 1e-3 * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(places)


def _relax_distances(distances: Array, start: Array) -> Array:
    n_nodes = distances.shape[0]
    nodes = range(n_nodes)
    placed = nx.kamada_kawai_layout(
        nx.empty_graph(n_nodes),
        dist={i: {j: distances[i, j] for j in nodes} for i in nodes},
        pos={i: start[i] for i in nodes},
    )
    return np.array([placed[i] for i in nodes])


def _relax_springs(closeness: Array, start: Array) -> Array:
    weights = np.where(closeness > MIN_CLOSENESS, closeness, 0)
    np.fill_diagonal(weights, 0)
    nodes = range(weights.shape[0])
    placed = nx.spring_layout(
        nx.from_numpy_array(weights),
        pos={i: start[i] for i in nodes},
        seed=0,
        iterations=100,
    )
    return np.array([placed[i] for i in nodes])


def _framed(places: Array) -> Array:
    """Rotate the longest axis to horizontal, fix the signs of both axes, and scale to [-1, 1]."""
    places = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(places, full_matrices=False)
    rotated = places @ axes.T
    rotated *= np.where(rotated[np.abs(rotated).argmax(axis=0), [0, 1]] < 0, -1, 1)
    return np.asarray(rotated / np.abs(rotated).max())
