r"""A quadratic form in the place of N log Z of a small field: the *bowl* (equation 29)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner, jit
from slabfield.kernels.cube import couplings_among, edge_number, exact_mass
from slabfield.kernels.logistic import dot
from slabfield.kernels.table import BLOCK, fill_table, superset_sums, total_of

Array = NDArray[np.float64]


class Bowl(NamedTuple):
    """Slope and steepness of the form at zero, of biases and then couplings.

    With the biases integrated out the steepness of the couplings is ``reduced``; biases ``follow``
    couplings, by minus so much, and have covariance ``bias_spread`` about that, with its Cholesky
    factor. ``count`` is of leaps tried and made. The rest is workspace.
    """

    slope: Any
    steepness: Any
    reduced: Any
    follow: Any
    bias_spread: Any
    bias_factor: Any
    count: Any
    table: Any
    row: Any
    pull: Any
    present: Any
    order: Any
    inside: Any
    factor: Any
    normal: Any
    bias: Any
    coupling: Any


def new_bowl(d: int) -> Bowl:
    """Return room for the bowl of a field of d nodes."""
    n = d * (d - 1) // 2
    return Bowl(
        np.zeros(d + n), np.zeros((d + n, d + n)), np.zeros((n, n)), np.zeros((n, d)),
        np.zeros((d, d)), np.zeros((d, d)), np.zeros(2, np.int64), np.zeros((n + 1, n + 1)),
        np.zeros(n + 1), np.zeros(d), np.zeros(n, np.bool_), np.arange(n), np.zeros(n, np.int32),
        np.zeros((n, n)), np.zeros(d + n), np.zeros(d), np.zeros(n),
    )  # fmt: skip


def lay(bowl: Bowl, bias: Array, coupling: Array, n_rows: float, bias_precision: float) -> bool:
    """Lay a bowl along N log Z where some fields are, a row of the arrays each; tell if it holds.

    Its steepness is the mean of theirs, and its slope at their mean the mean of theirs: of all
    quadratic forms about the one nearest to N log Z there, not only the one that touches it.
    """
    d = bias.shape[1]
    mean, joint = mean_moments(bias, coupling)
    steepness = n_rows * joint
    centre = np.concatenate([bias.mean(axis=0), coupling.mean(axis=0)])
    bowl.steepness[:] = steepness
    bowl.slope[:] = n_rows * mean - steepness @ centre
    try:
        bowl.bias_spread[:] = np.linalg.inv(steepness[:d, :d] + bias_precision * np.eye(d))
        bowl.bias_factor[:] = np.linalg.cholesky(bowl.bias_spread)
    except np.linalg.LinAlgError:
        return False
    across = steepness[d:, :d]
    bowl.follow[:] = across @ bowl.bias_spread
    bowl.reduced[:] = steepness[d:, d:] - bowl.follow @ across.T
    return bool(np.all(np.isfinite(bowl.reduced)))


@jit
def mean_moments(bias, coupling):
    """Mean over fields of the mean and covariance of all features: nodes, then pairs of nodes."""
    n_fields, d = bias.shape
    size = d + coupling.shape[1]
    sets = np.zeros(size, np.int64)
    matrix = np.zeros((d, d))
    for j in range(d):
        sets[j] = 1 << j
        for i in range(j):
            sets[d + edge_number(d, i, j)] = (1 << i) | (1 << j)
    room = max(1 << d, BLOCK)
    weights, scratch = np.zeros(room), np.zeros(room)
    mean, joint = np.zeros(size), np.zeros((size, size))
    for field in range(n_fields):
        for j in range(d):
            for i in range(j):
                matrix[j, i] = coupling[field, edge_number(d, i, j)]
        weights[:] = 0.0
        fill_table(weights[: 1 << d], scratch, bias[field], matrix)
        superset_sums(weights)
        share = 1.0 / weights[0]
        for a in range(size):
            one = share * weights[sets[a]]
            mean[a] += one / n_fields
            for b in range(a + 1):
                both = share * weights[sets[a] | sets[b]]
                joint[a, b] += (both - one * share * weights[sets[b]]) / n_fields
    for a in range(size):
        for b in range(a):
            joint[b, a] = joint[a, b]
    return mean, joint


@inner
def log_sum(engine, bias, coupling, mass):
    """Log partition function of a field; ``mass`` is room for the table of a block."""
    k = min(bias.size, engine.work[0].shape[0])
    for i in range(bias.size):
        engine.nodes[i] = i
    couplings_among(coupling, bias.size, engine.nodes, engine.matrix)
    scale = exact_mass(bias, engine.matrix, k, engine.work, mass)
    return scale + math.log(total_of(mass[: 1 << k].reshape(1 << k)))


@inner
def excess(engine, mass, n_rows, bias, coupling, inside, n):
    """By how much the bowl is above N log Z, but for a constant; ``inside`` lists n edges."""
    bowl, d, total = engine.bowl, bias.size, 0.0
    for i in range(d):
        total += bias[i] * (bowl.slope[i] + 0.5 * dot(bowl.steepness[i, :d], bias))
    for a in range(n):
        row = bowl.steepness[d + inside[a]]
        product = bowl.slope[d + inside[a]] + dot(row[:d], bias)
        for b in range(n):
            product += 0.5 * row[d + inside[b]] * coupling[inside[b]]
        total += coupling[inside[a]] * product
    return total - n_rows * log_sum(engine, bias, coupling, mass)
