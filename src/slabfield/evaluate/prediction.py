"""Marginal probabilities of single nodes given the known entries of a row."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import singledispatch
from time import monotonic

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from slabfield import validation
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows
from slabfield.evaluate.level_prediction import GibbsLength, level_probabilities
from slabfield.kernels.gibbs import new_streams
from slabfield.kernels.row_marginals import sum_out_hidden
from slabfield.models.energy_field import EnergyField
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field

Bools = NDArray[np.bool_]
Codes = NDArray[np.uint8]

MOST_STATES = 2**16
"""Largest number of joint states of connected unknown nodes that are summed; else sampled."""

UNKNOWN = 255
"""Code of unknown entries where rows are compared; no node has so many levels."""

N_RUNS = 8
"""Number of Gibbs runs for each row and field, where nodes are sampled."""

N_BURN_IN = 100
"""Sweeps of each Gibbs run that are discarded."""

N_SWEEPS = 200
"""Sweeps of each Gibbs run that are averaged."""

PROGRESS_SECONDS = 5.0
"""Seconds between two lines of progress."""


def node_probabilities(
    model: Evaluable,
    rows: ArrayLike,
    unknown: ArrayLike | None = None,
    nodes: int | Sequence[int] | None = None,
    random_state: int | np.random.Generator | None = None,
    *,
    progress: bool = False,
) -> Array | list[Array]:
    """Probabilities of single nodes, given the known entries of the other nodes of their row.

    Other unknown nodes of the row are summed out: exactly where those connected by edges have at
    most 65,536 joint states (16 binary nodes, 10 of three levels), and else by Gibbs sampling (8
    runs of 200 sweeps for each field and row). A row's probabilities do not depend on the other
    rows.

    Parameters
    ----------
    model : BinaryField or LevelField, fitted estimator, or sequence of these
        A sequence is a mixture: probabilities are averaged.
    rows : array of shape (N, D)
        States: codes 0, 1, ...; unknown entries are ignored.
    unknown : array of bool, shape (N, D), optional
        Which entries are unknown; None if all are known.
    nodes : int or sequence of int, optional
        The nodes to predict; None predicts all.
    random_state : int, Generator or None
        Source of randomness of the Gibbs sampling.
    progress : bool
        Write the number of fields done, and the time left, to standard error every five seconds.

    Returns
    -------
    array of shape (N, number of predicted nodes)
        If all nodes of the model have two levels: the probability that each node is 1.
    list of arrays of shape (N, K), or one such array
        If some node has more levels: the probability of each level of each predicted node. A single
        node, given by its number, has an array of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import node_probabilities
    >>> from slabfield.models.field import BinaryField
    >>> field = BinaryField([0.0, 0.0], [[0, np.log(3)], [np.log(3), 0]])
    >>> node_probabilities(field, [[1, 1], [0, 0]]).round(3)
    array([[0.75, 0.75],
           [0.5 , 0.5 ]])
    >>> node_probabilities(field, [[1, 1]], unknown=[[True, True]]).round(3)
    array([[0.667, 0.667]])
    >>> from slabfield.models.levels import PairwiseLevels, ordinal_features
    >>> levels = PairwiseLevels([ordinal_features([0, 1, 2]), ordinal_features([0, 1])])
    >>> node_probabilities(levels.field([0, 0, 0], [np.log(2)]), [[0, 1]], nodes=0).round(3)
    array([[0.143, 0.286, 0.571]])
    """
    fields = as_fields(model)
    n_states = fields[0].n_states
    hidden = _check_unknown(unknown, (len(np.asarray(rows)), len(n_states)))
    states = check_rows(np.where(hidden, 0, np.asarray(rows)), n_states)
    chosen = np.arange(len(n_states)) if nodes is None else np.atleast_1d(np.asarray(nodes))
    targets = chosen.astype(np.intp)
    total = _sum_over_fields(fields, states, hidden, targets, random_state, progress)
    total /= len(fields)
    if np.all(n_states == 2):
        return total
    parts = np.split(total, np.cumsum(n_states[targets])[:-1], axis=1)
    return parts[0] if nodes is not None and np.ndim(nodes) == 0 else parts


def _sum_over_fields(
    fields: Sequence[Field],
    states: Codes,
    hidden: Bools,
    targets: NDArray[np.intp],
    random_state: int | np.random.Generator | None,
    progress: bool,
) -> Array:
    """Sum over the fields of the probabilities of the targets, one column each or one a level."""
    # rows that are equal, their unknown entries included, are predicted once
    incomplete = np.flatnonzero(hidden.any(axis=1))
    distinct, which = np.unique(
        np.where(hidden, np.uint8(UNKNOWN), states)[incomplete], axis=0, return_inverse=True
    )
    gaps = distinct == UNKNOWN
    known = np.where(gaps, np.uint8(0), distinct)
    rng = np.random.default_rng(random_state)
    total: Array | float = 0.0
    total_of_distinct: Array | float = 0.0
    began = reported = monotonic()
    for k, field in enumerate(fields):
        if incomplete.size < len(states):
            total = total + given_others(field, states, targets)
        if incomplete.size:
            total_of_distinct = total_of_distinct + given_known(field, known, gaps, targets, rng)
        if progress and monotonic() >= reported + PROGRESS_SECONDS:
            reported = monotonic()
            _report(k + 1, len(fields), reported - began)
    if not incomplete.size:
        return np.asarray(total)
    of_incomplete = np.asarray(total_of_distinct)[which.ravel()]
    if incomplete.size == len(states):
        return of_incomplete
    found = np.asarray(total)
    found[incomplete] = of_incomplete
    return found


@singledispatch
def given_others(field: Field, states: Codes, targets: NDArray[np.intp]) -> Array:
    """Probabilities of the targets given all other nodes of each row."""
    energies = EnergyField.of(field)
    logs = energies.log_softmax(energies.logits(states))
    return np.exp(logs[:, _columns(energies, targets)])


@given_others.register
def _(field: BinaryField, states: Codes, targets: NDArray[np.intp]) -> Array:
    x = states.astype(np.float64)
    return np.asarray(expit(field.bias[targets] + x @ field.coupling[:, targets]))


@singledispatch
def given_known(
    field: Field, known: Codes, gaps: Bools, targets: NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """Probabilities of the targets given the known entries of each row, the gaps summed out."""
    energies = EnergyField.of(field)
    wanted = np.isin(np.arange(energies.n_nodes), targets)
    length = GibbsLength(N_RUNS, N_BURN_IN, N_SWEEPS)
    found = level_probabilities(energies, known, gaps, wanted, MOST_STATES, length, rng)
    return found[:, _columns(energies, targets)]


@given_known.register
def _(
    field: BinaryField,
    known: Codes,
    gaps: Bools,
    targets: NDArray[np.intp],
    rng: np.random.Generator,
) -> Array:
    x, wanted = known.astype(np.float64), np.isin(np.arange(field.n_nodes), targets)
    most_nodes, probability = MOST_STATES.bit_length() - 1, np.zeros(x.shape)
    sum_out_hidden(
        x, gaps, field.bias + x @ field.coupling, np.array(field.coupling), wanted,
        most_nodes, new_streams(N_RUNS, rng), N_BURN_IN, N_SWEEPS, probability,
    )  # fmt: skip
    return probability[:, targets]


def _columns(energies: EnergyField, targets: NDArray[np.intp]) -> NDArray[np.int64]:
    """Columns of all levels of the targets; of level 1 alone if all nodes have two levels."""
    if np.all(energies.n_states == 2):
        return energies.start[targets] + 1
    return energies.columns(targets)


def _report(n_done: int, n_fields: int, seconds: float) -> None:
    left = seconds * (n_fields - n_done) / n_done
    print(
        f"predicted by {n_done} of {n_fields} fields, {left:.0f} s left",
        file=sys.stderr,
        flush=True,
    )


def _check_unknown(unknown: ArrayLike | None, shape: tuple[int, int]) -> Bools:
    if unknown is None:
        return np.zeros(shape, np.bool_)
    hidden = np.asarray(unknown)
    if hidden.shape != shape or hidden.dtype != np.bool_:
        raise validation.InputError(
            "invalid-unknown-mask",
            "The mask of unknown entries must hold True and False and have the shape of the table, "
            "{shape}; found an array of shape {found} and type {kind}. Pass for example "
            "numpy.isnan(X).",
            shape=shape,
            found=hidden.shape,
            kind=str(hidden.dtype),
        )
    return hidden
