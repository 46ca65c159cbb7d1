"""Conditional and pseudo-log-likelihoods: log probabilities of some nodes given the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield import validation
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows, log_mean_exp
from slabfield.kernels.row_conditionals import conditional_log_probabilities
from slabfield.models.field import BinaryField

MAX_GROUP = 16
"""Largest number of nodes in a group: their 2^16 states are summed for every row and field."""

CHUNK = 2_000
"""Number of rows whose conditionals are in memory at a time."""


def lattice_patches(
    shape: tuple[int, int],
    n_rows: int,
    random_state: int | np.random.Generator | None = None,
    patch: tuple[int, int] = (3, 3),
) -> NDArray[np.int64]:
    """Choose groups for `conditional_log_likelihood`: a random patch of a lattice for each row.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the lattice. The node at (r, c) is r * width + c.
    n_rows : int
        Number of groups.
    random_state : int, numpy.random.Generator or None
        Source of randomness.
    patch : (int, int)
        Height and width of the patch. All positions within the lattice are equally likely.

    Returns
    -------
    array of shape (n_rows, height * width of the patch)
        The nodes of each group.

    Examples
    --------
    >>> from slabfield.evaluate import lattice_patches
    >>> lattice_patches((3, 4), 1, random_state=0, patch=(2, 2)).tolist()
    [[5, 6, 9, 10]]
    """
    height, width = (validation.check_positive_int("shape", side) for side in shape)
    n_rows = validation.check_positive_int("n_rows", n_rows, low=0)
    tall, wide = (validation.check_positive_int("patch", side) for side in patch)
    if tall > height or wide > width:
        raise validation.InputError(
            "patch-too-large",
            "A patch must fit into the lattice; got {patch} for {shape}. Pass a smaller patch.",
            patch=validation.Parameter("patch", tuple(patch)),
            shape=validation.Parameter("shape", tuple(shape)),
        )
    rng = np.random.default_rng(random_state)
    top = rng.integers(height - tall + 1, size=n_rows)
    left = rng.integers(width - wide + 1, size=n_rows)
    inside = (np.arange(tall)[:, None] * width + np.arange(wide)).ravel()
    return np.asarray((top * width + left)[:, None] + inside, dtype=np.int64)


def conditional_log_likelihood(
    model: Evaluable, rows: ArrayLike, groups: ArrayLike | None = None
) -> Array:
    """Log probability of a group of nodes of each row, given the rest of the row.

    Parameters
    ----------
    model : BinaryField, fitted estimator, or sequence of these
        A sequence is a mixture: the conditional probabilities of its fields are averaged, not
        their logarithms (the paper's "Bayes" with posterior draws; see `Posterior.fields`).
    rows : array of shape (N, D)
        States, 0 or 1.
    groups : array of shape (N, g) or (g,), optional
        The nodes of each row's group, or of one group for all rows; at most 16. None takes all
        nodes, which gives the log-likelihood.

    Returns
    -------
    array of shape (N,)
        Log probabilities, one for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import conditional_log_likelihood
    >>> from slabfield.models.field import BinaryField
    >>> field = BinaryField([0.0, 0.0], [[0, np.log(3)], [np.log(3), 0]])
    >>> np.exp(conditional_log_likelihood(field, [[1, 1], [1, 0]], groups=[0])).round(3)
    array([0.75, 0.5 ])
    """
    fields = as_fields(model)
    states = check_rows(rows, fields[0].n_nodes)
    chosen = _check_groups(groups, *states.shape)
    x = states.astype(np.float64)
    log_probability = np.empty((len(fields), len(states)))
    for k, field in enumerate(fields):
        conditional_log_probabilities(
            np.array(field.bias), np.array(field.coupling), x, chosen, log_probability[k]
        )
    return log_mean_exp(log_probability)


def pseudo_log_likelihood(model: Evaluable, rows: ArrayLike) -> Array:
    """Pseudo-log-likelihood of each row: the sum of the log conditionals of its nodes.

    Parameters
    ----------
    model : BinaryField, fitted estimator, or sequence of these
        A sequence is a mixture: conditional probabilities are averaged before the logarithm.
    rows : array of shape (N, D)
        States, 0 or 1.

    Returns
    -------
    array of shape (N,)
        In nats.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import pseudo_log_likelihood
    >>> from slabfield.models.field import BinaryField
    >>> coins = BinaryField(np.zeros(4), np.zeros((4, 4)))
    >>> pseudo_log_likelihood(coins, [[0, 1, 1, 0]]).round(3)
    array([-2.773])
    """
    fields = as_fields(model)
    states = check_rows(rows, fields[0].n_nodes)
    sums = np.empty(len(states))
    for begin in range(0, len(states), CHUNK):
        x = states[begin : begin + CHUNK].astype(np.float64)
        mixed = _log_conditionals(fields[0], x)
        for field in fields[1:]:
            np.logaddexp(mixed, _log_conditionals(field, x), out=mixed)
        sums[begin : begin + CHUNK] = (mixed - np.log(len(fields))).sum(axis=1)
    return sums


def _log_conditionals(field: BinaryField, x: Array) -> Array:
    """Log P(x_i | rest) of every node of every row."""
    eta = field.bias + x @ field.coupling
    return np.asarray(x * eta - np.logaddexp(0.0, eta))


def _check_groups(groups: ArrayLike | None, n_rows: int, n_nodes: int) -> NDArray[np.int64]:
    chosen = np.arange(n_nodes) if groups is None else np.asarray(groups)
    if chosen.ndim == 1:
        chosen = np.tile(chosen, (n_rows, 1))
    if chosen.ndim != 2 or len(chosen) != n_rows or not np.issubdtype(chosen.dtype, np.integer):
        found = f"an array of shape {chosen.shape} and type {chosen.dtype}"
    elif not 1 <= chosen.shape[1] <= MAX_GROUP:
        found = f"{chosen.shape[1]} nodes"
    elif chosen.min() < 0 or chosen.max() >= n_nodes:
        found = f"nodes from {chosen.min()} to {chosen.max()}"
    elif np.any(np.diff(np.sort(chosen, axis=1), axis=1) == 0):
        found = "a node twice in one group"
    else:
        return np.ascontiguousarray(chosen, dtype=np.int64)
    raise validation.InputError(
        "invalid-groups",
        "{parameter} must hold 1 to {limit} different nodes from 0 to {last}, for all rows or for "
        "each of the {n_rows}; found {found}. Pass an integer array of shape (g,) or ({n_rows}, "
        "g), for example from lattice_patches.",
        parameter=validation.Parameter("groups"),
        limit=MAX_GROUP,
        last=n_nodes - 1,
        n_rows=n_rows,
        found=found,
    )
