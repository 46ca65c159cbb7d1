"""Models that can be evaluated: a field, a fitted estimator, or a mixture of fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield import validation
from slabfield.models.field import BinaryField

Array = NDArray[np.float64]
Evaluable: TypeAlias = Any
"""A BinaryField, a fitted estimator with ``bias_`` and ``coupling_``, or a sequence of them."""


def as_fields(model: Evaluable) -> list[BinaryField]:
    """Return the components of a mixture of fields; a single field is a mixture of one.

    Returns
    -------
    list of BinaryField
        All over the same number of nodes.
    """
    members = list(model) if isinstance(model, Sequence) else [model]
    fields = [_as_field(member) for member in members]
    if not fields or len({field.n_nodes for field in fields}) > 1:
        found = sorted({field.n_nodes for field in fields})
        raise validation.InputError(
            "unequal-fields",
            "A mixture needs at least one field, and all over the same nodes; found {n_fields} "
            "fields, of {n_nodes} nodes. Pass fields learned from the same columns.",
            n_fields=len(fields),
            n_nodes=found,
        )
    return fields


def _as_field(member: Any) -> BinaryField:
    if isinstance(member, BinaryField):
        return member
    if hasattr(member, "bias_") and hasattr(member, "coupling_"):
        return BinaryField(member.bias_, member.coupling_)
    raise validation.InputError(
        "not-a-field",
        "The model must be a BinaryField, a fitted estimator, or a list of these; got {kind}. Fit "
        "the estimator first, or build BinaryField(bias, coupling); of a Posterior, pass "
        "posterior.fields(100).",
        kind=type(member).__name__,
    )


def check_rows(rows: ArrayLike, n_nodes: int) -> NDArray[np.uint8]:
    """Check that rows hold 0 and 1 and have a column for each node, and return them.

    Parameters
    ----------
    rows : array of shape (N, D)
        States.

    Returns
    -------
    array of uint8, shape (N, D)
        The rows.
    """
    states = np.asarray(rows)
    if states.ndim != 2 or states.shape[1] != n_nodes or not len(states):
        raise validation.InputError(
            "rows-of-wrong-shape",
            "{parameter} must be a table of {n_nodes} columns, one for each node, with at least "
            "one row; found an array of shape {shape}. Pass rows of shape (N, {n_nodes}).",
            parameter=validation.Parameter("rows"),
            n_nodes=n_nodes,
            shape=states.shape,
        )
    invalid = states[(states != 0) & (states != 1)]
    if invalid.size:
        raise validation.InputError(
            "rows-not-binary",
            "{parameter} must hold only 0 and 1; they also hold {found}. Code them as the training "
            "table was coded: the larger of two numbers is 1.",
            parameter=validation.Parameter("rows"),
            found=np.unique(invalid)[:5].tolist(),
        )
    return np.ascontiguousarray(states.astype(np.uint8))


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
