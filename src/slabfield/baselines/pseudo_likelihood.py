"""One L1-penalised pseudo-likelihood for all couplings together."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from slabfield import checks
from slabfield.baselines.path import (
    RegularisationPath,
    check_settings,
    check_strengths,
    fold_of_rows,
    strength_grid,
    warn_of_gap,
)
from slabfield.baselines.pseudo_solver import PairPath, PairSolver
from slabfield.face import FieldModel, tell_of_compiling

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]

SELECTIONS = ("cv", "bic")
MOST_STEPS = 200
WARM_STARTS = 10


class L1PseudoLikelihood(FieldModel):
    r"""A binary field that maximises the L1-penalised pseudo-likelihood.

    One coupling for each edge, shared by the conditionals of its two nodes; biases are free
    (Hoefling & Tibshirani 2009; "MLE" in the paper):

    .. math:: \min_{b, \theta}\; -\frac1N \sum_r \sum_i \log P(x_{ri} \mid x_{r,-i})
        + \lambda \sum_{i \ne j} |\theta_{ij}|

    The penalty counts a coupling twice, as the loss does, so that strengths compare with those of
    `L1Neighbourhood`. A column that never changes gets no couplings, and as its bias the log odds
    with half a row of each value added.

    Parameters
    ----------
    select : {"cv", "bic"}
        How the strength is chosen: by the held-out pseudo-likelihood, or by
        :math:`-2 \log PL + k \log N` with k the number of edges.
    strength : float, optional
        The strength; nothing is chosen then.
    n_folds : int
        Folds of "cv".
    n_strengths : int
        Strengths tried, from the smallest that leaves no edge down.
    smallest : float, optional
        Last strength as a share of the first; None takes 0.01, or 0.001 where there are more
        than 100 rows a node.
    tolerance : float
        Duality gap, relative to the objective, to which every problem is solved.
    binarize : number, "median" or dict, optional
        Turn numeric columns into 1 where the value is at least this; a dict names columns.
    random_state : int, RandomState, Generator or None
        Seed of the folds.
    n_jobs : int, optional
        Folds solved at a time, in threads; None and -1 take as many as there are cores.

    Attributes
    ----------
    coupling_ : array of shape (D, D)
        Symmetric, zero on the diagonal, on the 0/1 scale.
    bias_ : array of shape (D,)
    strength_ : float
    gap_ : float
        Relative duality gap reached.
    coding_notes_ : list of str
    coding_ : list of pairs
        For each column its two labels, and the number it was cut at or None.
    node_names_ : list of str
        Those of the table, or x0, x1, ...
    n_rows_, n_features_in_ : int
    feature_names_in_ : array of str
        Only where the table had column names.

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
    ) -> None:
        self.select = select
        self.strength = strength
        self.n_folds = n_folds
        self.n_strengths = n_strengths
        self.smallest = smallest
        self.tolerance = tolerance
        self.binarize = binarize
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
        # products are small: threads would wait for each other
        with threadpool_limits(1), tell_of_compiling():
            return self._fit(X)

    def _fit(self, X: Any) -> L1PseudoLikelihood:
        table = checks.code_binary(X, self.binarize)
        solver = PairSolver(table.rows, self.tolerance, MOST_STEPS)
        largest = solver.largest_strength()
        if self.strength is not None:
            self.strength_ = float(self.strength)
        else:
            self.strength_ = self._choose(table.rows, self._grid(largest, table.rows))
        if largest > self.strength_:
            approach = np.geomspace(largest, self.strength_, WARM_STARTS)
        else:
            approach = np.array([self.strength_])
        path = solver.solve(approach)
        self.gap_ = float(path.gap[-1])
        warn_of_gap(self.gap_, self.tolerance)
        self.coupling_, self.bias_ = path.coupling[-1], path.bias[-1]
        checks.keep_names(self, table)
        return self

    def path(self, X: Any, strengths: ArrayLike | None = None) -> RegularisationPath:
        """Fit a field for each of many strengths; chooses nothing.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            Two-valued columns.
        strengths : array, optional
            The strengths; None takes ``n_strengths`` of them, from where all couplings are 0.

        Returns
        -------
        RegularisationPath
            Strengths in falling order with their fields.

        Examples
        --------
        >>> from slabfield.baselines import L1PseudoLikelihood
        >>> from slabfield.datasets import make_block
        >>> rows = make_block(100, random_state=1).rows
        >>> L1PseudoLikelihood().path(rows, [0.1, 0.05]).density.shape
        (2,)
        """
        check_settings(self, SELECTIONS)
        rows = checks.code_binary(X, self.binarize).rows
        solver = PairSolver(rows, self.tolerance, MOST_STEPS)
        if strengths is None:
            grid = self._grid(solver.largest_strength(), rows)
        else:
            grid = check_strengths(strengths)
        with threadpool_limits(1):
            path = solver.solve(grid)
        warn_of_gap(float(path.gap.max()), self.tolerance)
        return RegularisationPath(grid, path.bias, path.coupling, path.gap)

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
    """Minus the pseudo-log-likelihood of a row on average, for each strength.

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

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.baselines.pseudo_likelihood import mean_losses
    >>> from slabfield.baselines.pseudo_solver import PairPath
    >>> coins = PairPath(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.zeros(1))
    >>> mean_losses(coins, np.array([[0, 1], [1, 1]], dtype=np.uint8)).round(3)
    array([1.386])
    """
    x = rows.astype(np.float64)
    losses = []
    for bias, coupling in zip(path.bias, path.coupling, strict=True):
        eta = bias + x @ coupling
        losses.append(float((np.logaddexp(0.0, eta) - x * eta).sum() / len(x)))
    return np.array(losses)


def _held_out(train: Bits, held_out: Bits, grid: Array, tolerance: float) -> Array:
    return mean_losses(PairSolver(train, tolerance, MOST_STEPS).solve(grid), held_out)
