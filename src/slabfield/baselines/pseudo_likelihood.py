"""L1-penalized maximum pseudo-likelihood, jointly over all couplings."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from slabfield import encoding
from slabfield.baselines.complete_rows import code_complete
from slabfield.baselines.path import (
    RegularizationPath,
    check_settings,
    check_strengths,
    fold_of_rows,
    strength_grid,
    warn_of_gap,
)
from slabfield.baselines.pseudo_solver import PairPath, PairSolver
from slabfield.estimators import FieldModel, notify_compiling

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]

SELECTIONS = ("cv", "bic")
MOST_STEPS = 200
"""Upper bound on Newton steps for one strength."""

WARM_STARTS = 10
"""Number of strengths solved on the way to the chosen strength."""


class L1PseudoLikelihood(FieldModel):
    r"""A binary field that maximizes the L1-penalized pseudo-likelihood.

    Each edge has one coupling, shared by the conditionals of its two nodes; biases are not
    penalized (Hoefling & Tibshirani 2009; "MLE" in the paper):

    .. math:: \min_{b, \theta}\; -\frac1N \sum_r \sum_i \log P(x_{ri} \mid x_{r,-i})
        + \lambda \sum_{i \ne j} |\theta_{ij}|

    The penalty counts a coupling twice, as the loss does, so that strengths are comparable with
    those of `L1Neighborhood`. A constant column gets no couplings; its bias is the log odds with
    half a row of each value added.

    Parameters
    ----------
    select : {"cv", "bic"}
        How the strength is chosen: by the held-out pseudo-likelihood, or by
        :math:`-2 \log PL + k \log N` with k the number of edges.
    strength : float, optional
        Fixed regularization strength; None chooses it as ``select`` says.
    n_folds : int
        Number of folds of "cv".
    n_strengths : int
        Number of strengths tried, downward from the smallest at which there is no edge.
    smallest : float, optional
        Ratio of the last strength to the first; None takes 0.01, or 0.001 if there are more than
        100 rows per node.
    tolerance : float
        Largest duality gap at which a problem counts as solved, relative to the objective.
    binarize : number, "median" or dict, optional
        Turn numeric columns into 1 where the value is at least this; a dict names columns.
    na : {"error", "drop"}
        Refuse missing entries, or drop the rows that have any.
    na_values : value, list or dict, optional
        Values that stand for missing answers, such as 99; a dict names columns.
    levels : dict, optional
        All answers of the columns it names, in their order.
    random_state : int, RandomState, Generator or None
        Seed of the folds.
    n_jobs : int, optional
        Number of folds solved in parallel, in threads; None and -1 use all cores.

    Attributes
    ----------
    coupling_ : array of shape (D, D)
        Symmetric, zero on the diagonal, on the 0/1 scale.
    bias_ : array of shape (D,)
    strength_ : float
    gap_ : float
        Relative duality gap of the solution.
    coding_notes_ : list of str
    variables_ : tuple of Variable
        For each column its name, its labels, and its cut point or None.
    node_names_ : list of str
        The column names of the table, or x0, x1, ...
    n_rows_, n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table had column names.

    Examples
    --------
    >>> from slabfield.baselines import L1PseudoLikelihood
    >>> from slabfield.datasets import make_block
    >>> rows = make_block(200, random_state=1).rows
    >>> model = L1PseudoLikelihood(select="bic").fit(rows)
    >>> model.coupling_.shape, bool(model.gap_ < 1e-9)
    ((12, 12), True)
    """

    def __init__(
        self,
        select: str = "cv",
        strength: float | None = None,
        n_folds: int = 5,
        n_strengths: int = 100,
        smallest: float | None = None,
        tolerance: float = 1e-9,
        binarize: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        na: str = "error",
        na_values: Any = None,
        levels: Any = None,
    ) -> None:
        self.select = select
        self.strength = strength
        self.n_folds = n_folds
        self.n_strengths = n_strengths
        self.smallest = smallest
        self.tolerance = tolerance
        self.binarize = binarize
        self.na = na
        self.na_values = na_values
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> L1PseudoLikelihood:
        """Choose the strength and fit a field to the rows of X; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            Two-valued columns.
        y : ignored

        Returns
        -------
        L1PseudoLikelihood
            Itself, fitted.
        """
        check_settings(self, SELECTIONS)
        # matrix products are small: threads inside them would only wait for each other
        with threadpool_limits(1), notify_compiling():
            return self._fit(X)

    def _fit(self, X: Any) -> L1PseudoLikelihood:
        table = code_complete(self, X)
        solver = PairSolver(table.rows, self.tolerance, MOST_STEPS)
        largest = solver.largest_strength()
        if self.strength is not None:
            self.strength_ = float(self.strength)
        else:
            self.strength_ = self._choose(table.rows, self._grid(largest, table.rows))
        if largest > self.strength_:
            strengths = np.geomspace(largest, self.strength_, WARM_STARTS)
        else:
            strengths = np.array([self.strength_])
        path = solver.solve(strengths)
        self.gap_ = float(path.gap[-1])
        warn_of_gap(self.gap_, self.tolerance)
        self.coupling_, self.bias_ = path.coupling[-1], path.bias[-1]
        encoding.keep_names(self, table)
        return self

    def path(self, X: Any, strengths: ArrayLike | None = None) -> RegularizationPath:
        """Fit a field for each strength of a path; none is chosen.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            Two-valued columns.
        strengths : array, optional
            The strengths; None takes ``n_strengths`` of them, from one at which all couplings are
            0 downward.

        Returns
        -------
        RegularizationPath
            Strengths in decreasing order with their fields.

        Examples
        --------
        >>> from slabfield.baselines import L1PseudoLikelihood
        >>> from slabfield.datasets import make_block
        >>> rows = make_block(100, random_state=1).rows
        >>> L1PseudoLikelihood().path(rows, [0.1, 0.05]).density.shape
        (2,)
        """
        check_settings(self, SELECTIONS)
        rows = code_complete(self, X).rows
        solver = PairSolver(rows, self.tolerance, MOST_STEPS)
        if strengths is None:
            grid = self._grid(solver.largest_strength(), rows)
        else:
            grid = check_strengths(strengths)
        with threadpool_limits(1):
            path = solver.solve(grid)
        warn_of_gap(float(path.gap.max()), self.tolerance)
        return RegularizationPath(grid, path.bias, path.coupling, path.gap)

    def _grid(self, largest: float, rows: Bits) -> Array:
        n_rows, n_nodes = rows.shape
        return strength_grid(largest, n_rows, n_nodes, self.n_strengths, self.smallest)

    def _choose(self, rows: Bits, grid: Array) -> float:
        if self.select == "bic":
            path = PairSolver(rows, self.tolerance, MOST_STEPS).solve(grid)
            n_edges = np.count_nonzero(path.coupling, axis=(1, 2)) / 2
            score = 2 * len(rows) * mean_losses(path, rows) + n_edges * np.log(len(rows))
        else:
            fold = fold_of_rows(len(rows), self.n_folds, self.random_state)
            jobs = -1 if self.n_jobs is None else self.n_jobs
            losses = Parallel(jobs, prefer="threads")(
                delayed(_held_out)(rows[fold != k], rows[fold == k], grid, self.tolerance)
                for k in range(self.n_folds)
            )
            score = np.average(losses, axis=0, weights=np.bincount(fold))
        return float(grid[np.argmin(score)])


def mean_losses(path: PairPath, rows: Bits) -> Array:
    """Mean negative pseudo-log-likelihood of a row, for each strength.

    Parameters
    ----------
    path : PairPath
        Fields for K strengths.
    rows : array of shape (N, D)
        States, 0 or 1.

    Returns
    -------
    array of shape (K,)
        The losses.
    """
    x = rows.astype(np.float64)
    losses = []
    for bias, coupling in zip(path.bias, path.coupling, strict=True):
        eta = bias + x @ coupling
        losses.append(float((np.logaddexp(0.0, eta) - x * eta).sum() / len(x)))
    return np.array(losses)


def _held_out(train: Bits, held_out: Bits, grid: Array, tolerance: float) -> Array:
    return mean_losses(PairSolver(train, tolerance, MOST_STEPS).solve(grid), held_out)
