"""Neighborhood selection: an L1-penalized logistic regression per node, combined into a field."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from slabfield import encoding, validation
from slabfield.baselines.complete_rows import code_complete
from slabfield.baselines.node_solver import NodePath, largest_strengths, scores, solve_node
from slabfield.baselines.path import (
    RegularizationPath,
    check_settings,
    check_strengths,
    fold_of_rows,
    strength_grid,
    warn_of_gap,
)
from slabfield.estimators import FieldModel, notify_compiling

Array = NDArray[np.float64]

RULES = ("max", "min", "and", "or")
SELECTIONS = ("cv", "ebic", "bic")
WARM_STARTS = 10
"""Number of strengths solved on the way to the chosen strength."""


def combine(coefficients: Array, rule: str) -> Array:
    """Combine the two coefficients of every pair of nodes into one symmetric matrix.

    Parameters
    ----------
    coefficients : array of shape (..., D, D)
        Row i holds the coefficients of the regression of node i.
    rule : {"max", "min", "and", "or"}
        "max" or "min": the coefficient of larger or of smaller magnitude. "and" or "or": the mean
        of the two where both are, or either is, nonzero.

    Returns
    -------
    array of shape (..., D, D)
        The couplings.
    """
    other = np.swapaxes(coefficients, -1, -2)
    upper = np.triu(np.ones(coefficients.shape[-2:], dtype=np.bool_))
    # two symmetric matrices: for each pair, the coefficient from the regression of the node of
    # lower index, and that from the regression of the other
    low, high = np.where(upper, coefficients, other), np.where(upper, other, coefficients)
    if rule == "max":
        return np.where(np.abs(high) > np.abs(low), high, low)
    if rule == "min":
        return np.where(np.abs(high) < np.abs(low), high, low)
    both = (low != 0) & (high != 0)
    return np.where(both | (rule == "or"), (low + high) / 2, 0.0)


class L1Neighborhood(FieldModel):
    r"""A binary field from one L1-penalized logistic regression for each node.

    Node i is regressed on all others (Ravikumar, Wainwright & Lafferty 2010); the intercept is
    not penalized, and predictors are 0 and 1, not standardized:

    .. math:: \min_{b, v}\; \frac1N \sum_r [\log(1 + e^{\eta_r}) - x_{ri} \eta_r]
        + \lambda \sum_j |v_j|, \quad \eta_r = b + \sum_{j \ne i} v_j x_{rj}

    Each pair of nodes then has two coefficients, which ``rule`` combines into one coupling; a bias
    is the intercept of its node. A constant column gets no couplings; its bias is the log odds
    with half a row of each value added.

    Parameters
    ----------
    rule : {"max", "min", "and", "or"}
        "max" and "min" take the coefficient of larger and smaller magnitude ("Wain Max" and
        "Wain Min" of the paper). "and" and "or" take the mean of the two where both are, or
        either is, nonzero, as IsingFit does.
    select : {"cv", "ebic", "bic"}
        How the strength is chosen: by cross-validation, or by an information criterion.
    strength : float, optional
        Fixed regularization strength of all nodes; None chooses it as ``select`` says.
    shared : bool
        Choose one strength for all nodes, by the sum of their scores, instead of one for each.
    gamma : float
        Weight of the additional penalty of "ebic" on the number of edges; 0 makes it "bic".
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
        Number of nodes solved in parallel, in threads; None and -1 use all cores.

    Attributes
    ----------
    coupling_ : array of shape (D, D)
        Symmetric, zero on the diagonal, on the 0/1 scale.
    bias_ : array of shape (D,)
    strength_ : array of shape (D,)
        Strength of each node.
    gap_ : float
        Largest relative duality gap of the D regressions.
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
    >>> from slabfield.baselines import L1Neighborhood
    >>> from slabfield.datasets import make_block
    >>> rows = make_block(200, random_state=1).rows
    >>> model = L1Neighborhood(rule="min", select="ebic").fit(rows)
    >>> model.coupling_.shape, bool(model.gap_ < 1e-9)
    ((12, 12), True)
    """

    def __init__(
        self,
        rule: str = "max",
        select: str = "cv",
        strength: float | None = None,
        shared: bool = False,
        gamma: float = 0.25,
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
        self.rule = rule
        self.select = select
        self.strength = strength
        self.shared = shared
        self.gamma = gamma
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

    def fit(self, X: Any, y: Any = None) -> L1Neighborhood:
        """Choose the strengths and fit a field to the rows of X; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            Two-valued columns.
        y : ignored

        Returns
        -------
        L1Neighborhood
            Itself, fitted.
        """
        table, columns = self._check_input(X)
        largest = largest_strengths(columns)
        self.strength_ = self._choose(columns, largest)
        paths = self._solve(columns, _warm_start_grids(largest, self.strength_))
        self.gap_ = max(float(path.gap[-1]) for path in paths)
        warn_of_gap(self.gap_, self.tolerance)
        self.coupling_ = combine(np.stack([path.coefficient[-1] for path in paths]), self.rule)
        self.bias_ = np.array([path.intercept[-1] for path in paths])
        encoding.keep_names(self, table)
        return self

    def path(self, X: Any, strengths: ArrayLike | None = None) -> RegularizationPath:
        """Fit a field for each strength of a path, the same for all nodes; none is chosen.

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
        >>> from slabfield.baselines import L1Neighborhood
        >>> from slabfield.datasets import make_block
        >>> rows = make_block(100, random_state=1).rows
        >>> L1Neighborhood(n_strengths=5, smallest=0.1).path(rows).density.shape
        (5,)
        """
        _, columns = self._check_input(X)
        if strengths is None:
            grid = self._grid(float(largest_strengths(columns).max()), columns)
        else:
            grid = check_strengths(strengths)
        paths = self._solve(columns, [grid] * len(columns))
        gap = np.max([path.gap for path in paths], axis=0)
        warn_of_gap(float(gap.max()), self.tolerance)
        coefficients = np.stack([path.coefficient for path in paths], axis=1)
        bias = np.stack([path.intercept for path in paths], axis=1)
        return RegularizationPath(grid, bias, combine(coefficients, self.rule), gap)

    def _check_input(self, X: Any) -> tuple[encoding.CodedTable, NDArray[np.uint8]]:
        validation.check_choice("rule", self.rule, RULES)
        check_settings(self, SELECTIONS)
        validation.check_number("gamma", self.gamma, 0.0)
        table = code_complete(self, X)
        return table, np.ascontiguousarray(table.rows.T)

    def _grid(self, largest: float, columns: NDArray[np.uint8]) -> Array:
        n_nodes, n_rows = columns.shape
        return strength_grid(largest, n_rows, n_nodes, self.n_strengths, self.smallest)

    def _choose(self, columns: NDArray[np.uint8], largest: Array) -> Array:
        """Choose the strength of each node."""
        n_nodes = len(columns)
        if self.strength is not None:
            return np.full(n_nodes, float(self.strength))
        first_strengths = np.full(n_nodes, largest.max()) if self.shared else largest
        grids = [self._grid(float(first), columns) for first in first_strengths]
        folds = self._folds(columns)
        gamma = self.gamma if self.select == "ebic" else 0.0
        score = np.stack(
            self._run(scores, [
                (columns, folds, i, grids[i], gamma, self.tolerance) for i in range(n_nodes)
            ])
        )  # fmt: skip
        if self.shared:
            score = np.broadcast_to(score.sum(axis=0), score.shape)
        best = np.argmin(score, axis=1)
        return np.array([grid[k] for grid, k in zip(grids, best, strict=True)])

    def _folds(self, columns: NDArray[np.uint8]) -> Any:
        """Training and held-out columns of each fold, or None without cross-validation."""
        if self.select != "cv":
            return None
        fold = fold_of_rows(columns.shape[1], self.n_folds, self.random_state)
        return [
            (np.ascontiguousarray(columns[:, fold != k]), columns[:, fold == k])
            for k in range(self.n_folds)
        ]

    def _solve(self, columns: NDArray[np.uint8], grids: list[Array]) -> list[NodePath]:
        tasks = [(columns, i, grid, self.tolerance) for i, grid in enumerate(grids)]
        return self._run(solve_node, tasks)

    def _run(self, function: Any, tasks: list[Any]) -> list[Any]:
        jobs = -1 if self.n_jobs is None else self.n_jobs
        # compiled code releases the interpreter lock, so threads suffice and nothing is copied
        with threadpool_limits(1), notify_compiling():
            run = Parallel(jobs, prefer="threads")
            return list(run(delayed(function)(*task) for task in tasks))


def _warm_start_grids(largest: Array, strengths: Array) -> list[Array]:
    """Return, for each node, a few decreasing strengths that end at the chosen one."""
    return [
        np.geomspace(first, last, WARM_STARTS) if first > last else np.array([last])
        for first, last in zip(largest, strengths, strict=True)
    ]
