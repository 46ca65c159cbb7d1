"""Marginal probabilities of single nodes given the known entries of a row."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from slabfield import validation
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows
from slabfield.kernels.gibbs import new_streams
from slabfield.kernels.row_marginals import sum_out_hidden

Bools = NDArray[np.bool_]

MOST_ENUMERATED = 16
"""Largest connected set of unknown nodes whose 2^16 states are summed; larger ones are sampled."""

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
    nodes: Sequence[int] | None = None,
    random_state: int | np.random.Generator | None = None,
    *,
    progress: bool = False,
) -> Array:
    """Probability that each node is 1, given the known entries of the other nodes of its row.

    Other unknown nodes of the row are summed out: exactly where at most 16 of them are connected
    by edges, and else by Gibbs sampling (8 runs of 200 sweeps for each field and row). A row's
    probabilities do not depend on the other rows.

    Parameters
    ----------
    model : BinaryField, fitted estimator, or sequence of these
        A sequence is a mixture: probabilities are averaged.
    rows : array of shape (N, D)
        States, 0 or 1; unknown entries are ignored.
    unknown : array of bool, shape (N, D), optional
        Which entries are unknown; None if all are known.
    nodes : sequence of int, optional
        The nodes to predict; None predicts all.
    random_state : int, Generator or None
        Source of randomness of the Gibbs sampling.
    progress : bool
        Write the number of fields done, and the time left, to standard error every five seconds.

    Returns
    -------
    array of shape (N, D), or (N, len(nodes))
        The probabilities.

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
    """
    fields = as_fields(model)
    n_nodes = fields[0].n_nodes
    hidden = _check_unknown(unknown, (len(np.asarray(rows)), n_nodes))
    states = check_rows(np.where(hidden, 0, np.asarray(rows)), n_nodes)
    targets = np.arange(n_nodes) if nodes is None else np.asarray(nodes, dtype=np.intp)
    wanted = np.isin(np.arange(n_nodes), targets)
    # rows that are equal, their unknown entries included, are predicted once
    incomplete = np.flatnonzero(hidden.any(axis=1))
    distinct, which = np.unique(
        np.where(hidden, 2, states)[incomplete], axis=0, return_inverse=True
    )
    known, gaps = np.where(distinct == 2, 0.0, distinct), distinct == 2
    x = states.astype(np.float64)
    rng = np.random.default_rng(random_state)
    total, total_of_distinct = np.zeros((len(x), targets.size)), np.zeros(known.shape)
    probability = np.zeros(known.shape)
    began = reported = monotonic()
    for k, field in enumerate(fields):
        total += expit(field.bias[targets] + x @ field.coupling[:, targets])
        if incomplete.size:
            sum_out_hidden(
                known, gaps, field.bias + known @ field.coupling, np.array(field.coupling), wanted,
                MOST_ENUMERATED, new_streams(N_RUNS, rng), N_BURN_IN, N_SWEEPS, probability,
            )  # fmt: skip
            total_of_distinct += probability
        if progress and monotonic() >= reported + PROGRESS_SECONDS:
            reported = monotonic()
            _report(k + 1, len(fields), reported - began)
    total[incomplete] = total_of_distinct[:, targets][which.ravel()]
    return total / len(fields)


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
