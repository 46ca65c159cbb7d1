"""Regularization paths, their grids of strengths, and checks shared by the L1 estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from slabfield import validation
from slabfield.models.field import BinaryField
from slabfield.validation.errors import shown_value

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Fields for decreasing regularization strengths.

    Parameters
    ----------
    strengths : array of shape (K,)
        Decreasing, on the scale of the mean loss of a row.
    bias : array of shape (K, D)
    coupling : array of shape (K, D, D)
        Symmetric, on the 0/1 scale.
    gap : array of shape (K,)
        Largest duality gap of the problems solved for each strength, relative to the objective.

    Examples
    --------
    >>> from slabfield.baselines import L1PseudoLikelihood
    >>> from slabfield.datasets import make_block
    >>> path = L1PseudoLikelihood(n_strengths=20).path(make_block(100, random_state=1).rows)
    >>> path.field(0).n_edges, path.field(19).n_edges > 18, bool(path.gap.max() < 1e-9)
    (0, True, True)
    """

    strengths: Array
    bias: Array = field(repr=False)
    coupling: Array = field(repr=False)
    gap: Array = field(repr=False)

    def __len__(self) -> int:
        """Return the number of strengths."""
        return int(self.strengths.size)

    def field(self, index: int) -> BinaryField:
        """Return the field of one strength."""
        return BinaryField(self.bias[index], self.coupling[index])

    @property
    def density(self) -> Array:
        """Share of pairs that have an edge, for each strength."""
        n_nodes = self.bias.shape[1]
        counts = np.count_nonzero(self.coupling, axis=(1, 2))
        return np.asarray(counts / (n_nodes * (n_nodes - 1)))


def strength_grid(largest: float, n_rows: int, n_nodes: int, n: int, smallest: Any) -> Array:
    """Return a geometric grid of decreasing strengths.

    Parameters
    ----------
    largest : float
        First strength, at which all couplings are 0.
    smallest : float, optional
        Ratio of the last to the first; None takes 0.01, or 0.001 if there are more than 100 rows
        per node.

    Returns
    -------
    array of shape (n,)
        The strengths.

    Examples
    --------
    >>> from slabfield.baselines.path import strength_grid
    >>> strength_grid(1.0, 10, 20, 3, None).round(3)
    array([1.  , 0.1 , 0.01])
    """
    ratio = (1e-3 if n_rows > 100 * n_nodes else 1e-2) if smallest is None else float(smallest)
    # the largest strength is 0 only without any dependence in the table; then any will do
    return np.geomspace(1.0, ratio, n) * (largest if largest > 0 else 1.0)


def check_strengths(strengths: ArrayLike) -> Array:
    """Check that strengths are a list of positive numbers, and return them in decreasing order.

    Examples
    --------
    >>> from slabfield.baselines.path import check_strengths
    >>> check_strengths([0.1, 0.3])
    array([0.3, 0.1])
    """
    values = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise validation.InputError(
            "invalid-strengths",
            "{parameter} must be a list of positive, finite numbers; got {value}. Pass for example "
            "{example}.",
            parameter=validation.Parameter("strengths"),
            value=shown_value(strengths),
            example=validation.Parameter("strengths", [0.1, 0.03]),
        )
    return np.sort(values)[::-1].copy()


def check_settings(estimator: Any, selections: tuple[str, ...]) -> None:
    """Check the parameters that the two L1 estimators share."""
    validation.check_choice("select", estimator.select, selections)
    if estimator.strength is not None:
        validation.check_number("strength", estimator.strength, 0.0, include_low=False)
    validation.check_positive_int("n_folds", estimator.n_folds, low=2)
    validation.check_positive_int("n_strengths", estimator.n_strengths, low=2)
    if estimator.smallest is not None:
        validation.check_number(
            "smallest", estimator.smallest, 0.0, 1.0, include_low=False, include_high=False
        )
    validation.check_number("tolerance", estimator.tolerance, 0.0, include_low=False)
    if estimator.n_jobs != -1:
        validation.check_positive_int("n_jobs", estimator.n_jobs, allow_none=True)


def fold_of_rows(n_rows: int, n_folds: int, random_state: Any) -> NDArray[np.int64]:
    """Assign every row to a random fold; the sizes of the folds differ by at most one row."""
    if n_rows < n_folds:
        raise validation.InputError(
            "fewer-rows-than-folds",
            "Cross-validation needs at least as many rows as folds; found {n_rows} rows for "
            "{found_folds} folds. Pass {n_folds} or less, or another value of {select}.",
            n_rows=n_rows,
            found_folds=n_folds,
            n_folds=validation.Parameter("n_folds", max(2, n_rows)),
            select=validation.Parameter("select"),
        )
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    rng = np.random.default_rng(random_state)
    return np.asarray(rng.permutation(np.arange(n_rows) % n_folds), dtype=np.int64)


def warn_of_gap(gap: float, tolerance: float) -> None:
    """Warn if a solver stopped before it reached its tolerance."""
    if gap > tolerance:
        warn(
            f"The solver must reach a relative duality gap of {tolerance:g}; it stopped at "
            f"{gap:.2g}. Raise smallest or tolerance, or drop columns that are nearly constant.",
            ConvergenceWarning,
            stacklevel=3,
        )
