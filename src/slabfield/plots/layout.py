"""Where the nodes of a picture go."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

Array = NDArray[np.float64]

LEAST_CLOSENESS = 0.1
"""Pairs less close than this are put as far apart as pairs of this closeness."""

MOST_FOR_STRESS = 150
"""With more nodes than this the springs are laid out by a cheaper method."""

ROUNDS = 500
"""Attempts to part boxes."""

BEND_ROOM, MOST_BEND, BEND_POINTS = 1.25, 0.8, 25
"""How wide of a box a line goes, how much it bends at most for its length, and its points."""


def strongest_coupling(probability: Array, strength: Array) -> float:
    """Return the strength of the widest line of a network, whatever threshold it is drawn at.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.layout import strongest_coupling
    >>> strongest_coupling(np.array([0.9, 0.1]), np.array([-1.5, 4.0]))
    1.5
    """
    likely = float(np.max(np.abs(strength) * (probability >= 0.5), initial=0.0))
    return likely or float(np.max(np.abs(strength) * probability, initial=0.0)) or 1.0


def place_network(probability: Array, strength: Array) -> Array:
    """Place the nodes of a network so that those joined by probable, strong edges lie close.

    Parameters
    ----------
    probability : array of shape (D, D)
        Inclusion probabilities.
    strength : array of shape (D, D)
        Couplings, 0 where there never was one.

    Returns
    -------
    array of shape (D, 2)
        As :func:`place_nodes` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.layout import place_network
    >>> pair = np.array([[0, 0.9], [0.9, 0]])
    >>> place_network(pair, pair)[:, 0]
    array([-1.,  1.])
    """
    strongest = strongest_coupling(probability, strength)
    return place_nodes(probability * np.minimum(np.abs(strength) / strongest, 1))


def place_nodes(closeness: Array) -> Array:
    """Place nodes so that close pairs lie close together.

    All pairs count, so the places do not depend on which edges are drawn. The same matrix always
    gives the same places.

    Parameters
    ----------
    closeness : array of shape (D, D)
        Within [0, 1] and symmetric, such as inclusion probabilities; its diagonal is ignored.

    Returns
    -------
    array of shape (D, 2)
        Places, centred, the picture wider than high, within [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.layout import place_nodes
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    >>> np.abs(place_nodes(chain)[:, 0]).round(2) + 0.0
    array([1., 0., 1.])
    """
    n_nodes = closeness.shape[0]
    if n_nodes < 3:
        return np.column_stack([np.linspace(-1, 1, n_nodes), np.zeros(n_nodes)])
    lengths = 1 / np.clip(closeness, LEAST_CLOSENESS, 1)
    np.fill_diagonal(lengths, 0)
    # The root, and the bound above, keep clusters that are hardly linked from drifting so far
    # apart that the names within one cover each other.
    distances = np.sqrt(shortest_path(lengths, directed=False))
    start = _principal_places(distances)
    if n_nodes <= MOST_FOR_STRESS:
        places = _relax_distances(distances, start)
    else:
        places = _relax_springs(closeness, start)
    return _framed(places)


def part_boxes(places: Array, sizes: Array, bounds: Array) -> Array:
    """Move boxes that cover each other apart, as little as it takes.

    Parameters
    ----------
    places : array of shape (D, 2)
        Their centres.
    sizes : array of shape (D, 2)
        Their widths and heights, in the same units.
    bounds : array of shape (2,)
        Centres stay within plus and minus these.

    Returns
    -------
    array of shape (D, 2)
        New centres. Where there is no room for all boxes some still overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.layout import part_boxes
    >>> part_boxes(np.array([[0, 0], [0.1, 0]]), np.full((2, 2), 0.5), np.ones(2)).round(2)
    array([[-0.2,  0. ],
           [ 0.3,  0. ]])
    """
    moved = np.array(places, dtype=np.float64)
    needed = (sizes[:, None] + sizes[None]) / 2
    for _ in range(ROUNDS):
        apart = moved[:, None] - moved[None]
        missing = needed - np.abs(apart)
        covered = np.all(missing > 1e-9, axis=2)
        np.fill_diagonal(covered, False)
        if not covered.any():
            break
        # Along the side where the shorter way leads out; each of the two goes half of it.
        sideways = missing[..., 0] <= missing[..., 1]
        along = np.stack([sideways, ~sideways], axis=2)
        # Boxes on the same spot part in the order of their numbers.
        order = np.sign(np.subtract.outer(np.arange(len(moved)), np.arange(len(moved))))
        sign = np.where(apart == 0, order[..., None], np.sign(apart))
        steps = np.where(along & covered[..., None], sign * missing / 2, 0).sum(axis=1)
        busy = np.maximum(covered.sum(axis=1), 1)[:, None]
        moved = np.clip(moved + steps / busy, -bounds, bounds)
    return moved


def bent_lines(
    places: Array, sizes: Array, first: NDArray[np.intp], second: NDArray[np.intp]
) -> list[Array]:
    """Draw edges as lines that go around the boxes of other nodes, not behind them.

    Behind a box a line would look as if it ended there. An edge in whose way there is none is
    straight; others are parabolas, as flat as can be.

    Parameters
    ----------
    places, sizes : array of shape (D, 2)
        Centres of the boxes, widths and heights.
    first, second : array of int
        The ends of the edges.

    Returns
    -------
    list of arrays of shape (n, 2)
        The points of each line.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.plots.layout import bent_lines
    >>> places = np.array([[-1, 0], [0, 0.02], [1, 0], [0, -1]])
    >>> lines = bent_lines(places, np.full((4, 2), 0.2), np.array([0, 0]), np.array([1, 2]))
    >>> len(lines[0]), bool(lines[1][:, 1].min() < -0.08)
    (2, True)
    """
    return [_bent(places, sizes, int(i), int(j)) for i, j in zip(first, second, strict=True)]


def _bent(places: Array, sizes: Array, i: int, j: int) -> Array:
    start, along = places[i], places[j] - places[i]
    squared = float(along @ along)
    if squared == 0:
        return np.stack([start, places[j]])
    across = np.array([-along[1], along[0]]) / np.sqrt(squared)
    # where the others are along the line and beside it, and how far their boxes reach
    at, beside = (places - start) @ along / squared, (places - start) @ across
    reach = sizes @ np.abs(across) / 2
    near = (at > 0.02) & (at < 0.98)
    near[[i, j]] = False
    at, beside, reach = at[near], beside[near], reach[near]
    shape = 2 * at * (1 - at)

    def in_the_way(bend: float) -> int:
        return int(np.sum(np.abs(shape * bend - beside) < reach))

    if in_the_way(0.0) == 0:
        return np.stack([start, places[j]])
    steep = np.maximum(shape, 0.25)
    room = reach * BEND_ROOM
    bends = np.concatenate([[0.0], (beside + room) / steep, (beside - room) / steep])
    # not beyond the picture
    middle = start + along / 2 + bends[:, None] / 2 * across
    low, high = (places - sizes / 2).min(axis=0), (places + sizes / 2).max(axis=0)
    inside = np.all((middle >= low) & (middle <= high), axis=1)
    bends = bends[inside & (np.abs(bends) <= MOST_BEND * np.sqrt(squared)) | (bends == 0)]
    bend = min(bends.tolist(), key=lambda b: (in_the_way(b), abs(b)))
    t = np.linspace(0, 1, BEND_POINTS)[:, None]
    return np.asarray(start + t * along + 2 * t * (1 - t) * bend * across)


def _principal_places(distances: Array) -> Array:
    """Classical scaling: the plane that keeps squared distances best."""
    n_nodes = distances.shape[0]
    centre = np.eye(n_nodes) - 1 / n_nodes
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    places = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-9))
    # Equal nodes would start, and stay, on the same spot.
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
    weights = np.where(closeness > LEAST_CLOSENESS, closeness, 0)
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
    """Turn the long side level, fix what is left and what is up, and scale to [-1, 1]."""
    places = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(places, full_matrices=False)
    turned = places @ axes.T
    turned *= np.where(turned[np.abs(turned).argmax(axis=0), [0, 1]] < 0, -1, 1)
    return np.asarray(turned / np.abs(turned).max())
