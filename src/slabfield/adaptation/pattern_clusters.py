"""Clusters of nodes that exclude or imply each other, found in the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slabfield.adaptation.associations import association
from slabfield.kernels.pattern_gibbs import Clusters, no_clusters
from slabfield.problem import Problem

# Most nodes of a cluster
MOST_NODES = 10
# Most patterns of a cluster
MOST_PATTERNS = 48
# Least absolute correlation, in standard errors, of two nodes with a joint state that no row has
LEAST_TIE = 4.0


def find_clusters(problem: Problem) -> Clusters:
    """Return clusters that cover every tied node, each grown by the strongest ties."""
    rows, n_nodes = problem.rows, problem.model.n_nodes
    ties = ties_of(problem)
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


def ties_of(problem: Problem) -> NDArray[np.float64]:
    """Absolute correlations of nodes that exclude or imply each other, and zero for others."""
    sums, ends = problem.sums, problem.model.ends
    n, both = sums.n_rows, sums.coupling
    one, other = (sums.bias[nodes] for nodes in ends)
    fewest = np.minimum.reduce([both, one - both, other - both, n - one - other + both])
    score = association(problem.model, problem)
    correlation = np.where((fewest < 0.5) & (score > LEAST_TIE**2), np.sqrt(score / n), 0.0)
    ties = np.zeros((sums.bias.size, sums.bias.size))
    ties[ends] = correlation
    ties.T[ends] = correlation
    return ties


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
