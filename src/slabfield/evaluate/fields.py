"""Models that can be evaluated: a field, a fitted estimator, or a mixture of fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield import validation
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field

Array = NDArray[np.float64]
Evaluable: TypeAlias = Any
"""A field, a fitted estimator with ``field_`` or ``bias_`` and ``coupling_``, or a sequence."""


def as_fields(model: Evaluable) -> list[Field]:
    """Return the components of a mixture of fields; a single field is a mixture of one.

    Returns
    -------
    list of Field
        All over the same nodes, with the same numbers of levels.
    """
    members = list(model) if isinstance(model, Sequence) else [model]
    fields = [_as_field(member) for member in members]
    if len({tuple(field.n_states.tolist()) for field in fields}) != 1:
        found = sorted({field.n_nodes for field in fields})
        raise validation.InputError(
            "unequal-fields",
            "A mixture needs at least one field, and all over the same nodes and levels; found "
            "{n_fields} fields, of {n_nodes} nodes. Pass fields learned from the same columns.",
            n_fields=len(fields),
            n_nodes=found,
        )
    return fields


def _as_field(member: Any) -> Field:
    field: Field = getattr(member, "field_", member)
    if hasattr(field, "pair_energy"):
        return field
    if hasattr(member, "bias_") and hasattr(member, "coupling_"):
        return BinaryField(member.bias_, member.coupling_)
    raise validation.InputError(
        "not-a-field",
        "The model must be a field, a fitted estimator, or a list of these; got {kind}. Fit the "
        "estimator first, or build BinaryField(bias, coupling); of a Posterior, pass "
        "posterior.fields(100).",
        kind=type(member).__name__,
    )


def check_rows(rows: ArrayLike, n_states: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Check that rows hold the codes of levels and have a column for each node, and return them.

    Parameters
    ----------
    rows : array of shape (N, D)
        States.
    n_states : array of shape (D,)
        Number of levels of each node.

    Returns
    -------
    array of uint8, shape (N, D)
        The rows.
    """
    states = np.asarray(rows)
    if states.ndim != 2 or states.shape[1] != len(n_states) or not len(states):
        raise validation.InputError(
            "rows-of-wrong-shape",
            "{parameter} must be a table of {n_nodes} columns, one for each node, with at least "
            "one row; found an array of shape {shape}. Pass rows of shape (N, {n_nodes}).",
            parameter=validation.Parameter("rows"),
            n_nodes=len(n_states),
            shape=states.shape,
        )
    valid = np.zeros(states.shape, np.bool_)
    for code in range(n_states.max(initial=0)):
        valid |= (states == code) & (code < n_states)
    if not valid.all():
        _refuse_codes(states, ~valid, n_states)
    return np.ascontiguousarray(states.astype(np.uint8))


def _refuse_codes(
    states: NDArray[np.generic], invalid: NDArray[np.bool_], n_states: NDArray[np.int64]
) -> None:
    """Raise the error for rows with codes that are no levels."""
    if np.all(n_states == 2):
        raise validation.InputError(
            "rows-not-binary",
            "{parameter} must hold only 0 and 1; they also hold {found}. Code them as the training "
            "table was coded: the larger of two numbers is 1.",
            parameter=validation.Parameter("rows"),
            found=np.unique(states[invalid])[:5].tolist(),
        )
    node = int(np.flatnonzero(invalid.any(axis=0))[0])
    raise validation.InputError(
        "rows-not-levels",
        "{parameter} must hold the codes of levels, in column {node} whole numbers from 0 to "
        "{last}; it also holds {found}. Code them as the training table was coded.",
        parameter=validation.Parameter("rows"),
        node=node,
        last=int(n_states[node]) - 1,
        found=np.unique(states[invalid[:, node], node])[:5].tolist(),
    )


def log_mean_exp(values: Array) -> Array:
    """Logarithm of the mean of exponentials along the first axis.

    Parameters
    ----------
    values : array of shape (K, ...)
        Logarithms.

    Returns
    -------
    array of shape (...)
        Logarithm of their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate.fields import log_mean_exp
    >>> np.exp(log_mean_exp(np.log([0.1, 0.3]))).round(3)
    np.float64(0.2)
    """
    return np.asarray(np.logaddexp.reduce(values, axis=0) - np.log(len(values)))[()]
