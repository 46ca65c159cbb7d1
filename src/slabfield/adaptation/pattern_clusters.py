"""Clusters of nodes that exclude or imply each other, found in the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels.pattern_gibbs import Clusters, no_clusters
from slabfield.models.protocol import Sums

# Most nodes of a cluster
MOST_NODES = 10
# Most patterns of a cluster
MOST_PATTERNS = 48
# Least absolute correlation, in standard errors, of two nodes with a joint state that no row has
LEAST_TIE = 4.0


def find_clusters(
    rows: NDArray[np.uint8], sums: Sums, ends: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> Clusters:
    """Return clusters that cover every tied node, each grown by the strongest ties."""
    n_nodes = sums.bias.size
    ties = ties_of(sums, ends)
    clusters: list[tuple[list[int], NDArray[np.int64]]] = []
    covered = np.zeros(n_nodes, np.bool_)
    for i in np.argsort(-ties.sum(axis=1), kind="stable").tolist():
        nodes = grow(i, ties)
        if len(nodes) < 2 or covered[i]:
            continue
        covered[nodes] = True
        clusters.append((nodes, patterns_of(rows[:, nodes])))
    if not clusters:
        return no_clusters()
    starts = [np.cumsum([0, *(len(c[k]) for c in clusters)]) for k in range(2)]
    return Clusters(
        np.concatenate([np.array(nodes, np.int64) for nodes, _ in clusters]),
        starts[0].astype(np.int64),
        np.concatenate([patterns for _, patterns in clusters]),
        starts[1].astype(np.int64),
    )


def ties_of(sums: Sums, ends: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
    """Absolute correlations of nodes that exclude or imply each other, and zero for others."""
    n, one, both = sums.n_rows, sums.bias, np.zeros((sums.bias.size,) * 2)
    both[ends] = sums.coupling
    both += both.T
    mean = (one + 0.5) / (n + 1.0)
    deviation = np.sqrt(mean * (1 - mean))
    size = np.abs(both / n - np.outer(mean, mean)) / np.outer(deviation, deviation)
    fewest = np.minimum.reduce(
        [both, one[:, None] - both, one - both, n - one[:, None] - one + both]
    )
    tied = (fewest < 0.5) & (size * np.sqrt(n) > LEAST_TIE)
    np.fill_diagonal(tied, False)
    return np.where(tied, size, 0.0)


def grow(i: int, ties: NDArray[np.float64]) -> list[int]:
    """Grow a cluster from a node by the strongest ties to any of its nodes."""
    nodes = [i]
    while len(nodes) < MOST_NODES:
        tied = ties[nodes].max(axis=0)
        tied[nodes] = 0.0
        best = int(np.argmax(tied))
        if tied[best] == 0.0:
            break
        nodes.append(best)
    return nodes


def patterns_of(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the most frequent patterns of the columns as integers, bit b for column b."""
    codes = (rows.astype(np.int64) << np.arange(rows.shape[1])).sum(axis=1)
    patterns, counts = np.unique(codes, return_counts=True)
    return patterns[np.argsort(-counts, kind="stable")[:MOST_PATTERNS]]
