"""Conditional and pseudo-log-likelihoods: log probabilities of some nodes given the others."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield import validation
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows, log_mean_exp
from slabfield.inference.enumeration import log_weights
from slabfield.inference.row_tables import log_total, row_slices, row_tables
from slabfield.kernels.row_conditionals import conditional_log_probabilities
from slabfield.models.energy_field import EnergyField
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field

Codes = NDArray[np.uint8]
Integers = NDArray[np.int64]

MAX_GROUP_STATES = 2**16
"""Largest number of joint states of a group, which are summed for every row and field."""

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
    model : BinaryField or LevelField, fitted estimator, or sequence of these
        A sequence is a mixture: the conditional probabilities of its fields are averaged, not
        their logarithms (the paper's "Bayes" with posterior draws; see `Posterior.fields`).
    rows : array of shape (N, D)
        States: codes 0, 1, ...
    groups : array of shape (N, g) or (g,), optional
        The nodes of each row's group, or of one group for all rows, with at most 65,536 joint
        states (16 binary nodes, 10 of three levels). None takes all nodes, which gives the
        log-likelihood.

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
    states = check_rows(rows, fields[0].n_states)
    chosen = _check_groups(groups, len(states), fields[0].n_states)
    return log_mean_exp(
        np.stack([group_log_probabilities(field, states, chosen) for field in fields])
    )


@singledispatch
def group_log_probabilities(field: Field, states: Codes, groups: Integers) -> Array:
    """Log probability of each row's group of nodes, (N, g), given the rest of the row."""
    energies = EnergyField.of(field)
    distinct, which = np.unique(np.sort(groups, axis=1), axis=0, return_inverse=True)
    found = np.empty(len(states))
    for k, nodes in enumerate(distinct):
        here = np.flatnonzero(which.ravel() == k)
        found[here] = _given_rest(energies, states[here], nodes)
    return found


@group_log_probabilities.register
def _(field: BinaryField, states: Codes, groups: Integers) -> Array:
    found = np.empty(len(states))
    conditional_log_probabilities(
        np.array(field.bias), np.array(field.coupling), states.astype(np.float64), groups, found
    )
    return found


def _given_rest(energies: EnergyField, states: Codes, nodes: Integers) -> Array:
    """Log probability of one group of nodes in each row given the rest of the row."""
    block = energies.among(nodes)
    inside = log_weights(block)
    unknown = np.isin(np.arange(energies.n_nodes), nodes)
    logits = energies.logits(states, np.tile(unknown, (len(states), 1)))
    logits = logits[:, energies.columns(nodes)]
    stride = np.concatenate([[1], np.cumprod(block.n_states)[:-1]])
    index = states[:, nodes].astype(np.int64) @ stride
    if unknown.all():  # nothing is conditioned on: one table for all rows
        (table,) = row_tables(block, inside, logits[:1])
        return np.asarray(table[index] - log_total(table))
    found = np.empty(len(states))
    for rows in row_slices(len(states), inside.size):
        table = row_tables(block, inside, logits[rows])
        found[rows] = table[np.arange(len(table)), index[rows]] - log_total(table)
    return found


def pseudo_log_likelihood(model: Evaluable, rows: ArrayLike) -> Array:
    """Pseudo-log-likelihood of each row: the sum of the log conditionals of its nodes.

    Parameters
    ----------
    model : BinaryField or LevelField, fitted estimator, or sequence of these
        A sequence is a mixture: conditional probabilities are averaged before the logarithm.
    rows : array of shape (N, D)
        States: codes 0, 1, ...

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
    states = check_rows(rows, fields[0].n_states)
    sums = np.empty(len(states))
    for begin in range(0, len(states), CHUNK):
        x = states[begin : begin + CHUNK]
        mixed = log_conditionals(fields[0], x)
        for field in fields[1:]:
            np.logaddexp(mixed, log_conditionals(field, x), out=mixed)
        sums[begin : begin + CHUNK] = (mixed - np.log(len(fields))).sum(axis=1)
    return sums


@singledispatch
def log_conditionals(field: Field, states: Codes) -> Array:
    """Log P(x_i | rest) of every node of every row."""
    energies = EnergyField.of(field)
    logs = energies.log_softmax(energies.logits(states))
    return np.take_along_axis(logs, energies.start[:-1] + states, axis=1)


@log_conditionals.register
def _(field: BinaryField, states: Codes) -> Array:
    x = states.astype(np.float64)
    eta = field.bias + x @ field.coupling
    return np.asarray(x * eta - np.logaddexp(0.0, eta))


def _check_groups(groups: ArrayLike | None, n_rows: int, n_states: Integers) -> Integers:
    n_nodes = len(n_states)
    chosen = np.arange(n_nodes) if groups is None else np.asarray(groups)
    if chosen.ndim == 1:
        chosen = np.tile(chosen, (n_rows, 1))
    if chosen.ndim != 2 or len(chosen) != n_rows or not np.issubdtype(chosen.dtype, np.integer):
        found = f"an array of shape {chosen.shape} and type {chosen.dtype}"
    elif not chosen.shape[1]:
        found = "none"
    elif chosen.min() < 0 or chosen.max() >= n_nodes:
        found = f"nodes from {chosen.min()} to {chosen.max()}"
    elif np.log(n_states[chosen]).sum(axis=1).max() > np.log(MAX_GROUP_STATES) + 1e-9:
        found = f"{chosen.shape[1]} nodes with more states"
    elif np.any(np.diff(np.sort(chosen, axis=1), axis=1) == 0):
        found = "a node twice in one group"
    else:
        return np.ascontiguousarray(chosen, dtype=np.int64)
    raise validation.InputError(
        "invalid-groups",
        "{parameter} must hold different nodes from 0 to {last}, for all rows or for each of the "
        "{n_rows}, with at most {limit:,} joint states in a group; found {found}. Pass an integer "
        "array of shape (g,) or ({n_rows}, g), for example from lattice_patches.",
        parameter=validation.Parameter("groups"),
        limit=MAX_GROUP_STATES,
        last=n_nodes - 1,
        n_rows=n_rows,
        found=found,
    )
