"""Neighborhood selection for nodes with levels: an L1-penalized multinomial regression per node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from slabfield import encoding, validation
from slabfield.baselines.complete_rows import code_complete
from slabfield.baselines.neighborhood import combine
from slabfield.baselines.path import fold_of_rows, strength_grid
from slabfield.estimators import TableModel

Array = NDArray[np.float64]
Codes = NDArray[np.uint8]

RULES = ("and", "or")
SELECTIONS = ("cv", "bic")
TOLERANCE = 1e-4
"""Largest relative change of a coefficient at which a regression counts as solved."""
MOST_EPOCHS = 2_000

# scikit-learn 1.8 renamed how an L1 penalty is asked for
_RENAMED = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
L1: dict[str, Any] = {"l1_ratio": 1.0} if _RENAMED else {"penalty": "l1"}


class NodeRegression(NamedTuple):
    """The regression of a node: log weights of its levels are linear in the predictors."""

    intercept: Array
    """Shape (K,); minus infinity for a level that did not occur."""
    coefficient: Array
    """Shape (K, number of predictors)."""
    n_rows: int

    def log_probabilities(self, predictors: Array) -> Array:
        """Log probability of each level, (N, K).

        A level that did not occur in the N fitted rows has the probability 0.5 / (N + 0.5 K).
        """
        logits = predictors @ self.coefficient.T + self.intercept
        logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
        unseen = ~np.isfinite(self.intercept)
        rare = 0.5 / (self.n_rows + 0.5 * unseen.size)
        logits[:, unseen] = np.log(rare)
        logits[:, ~unseen] += np.log1p(-rare * np.count_nonzero(unseen))
        return logits

    def losses(self, predictors: Array, codes: Codes) -> Array:
        """Minus the log probability of the level of each row."""
        return -self.log_probabilities(predictors)[np.arange(codes.size), codes]


class L1Multinomial(TableModel):
    r"""Edges of nodes with levels, from one L1-penalized multinomial regression for each node.

    .. math:: \min_{b, v}\; -\frac1N \sum_r \log P(x_{ri} \mid x_{r,-i})
        + \lambda \sum_a \sum_m |v_{am}|, \quad
        P(x_i = a \mid x_{-i}) \propto e^{b_a + \sum_m v_{am} f_m(x_{-i})}

    Predictors f are the scores of binary and ordinal columns, and an indicator of each level of
    nominal ones. The regressions are those of scikit-learn. They need not agree on a joint
    distribution: this model scores rows by their pseudo-likelihood, but cannot sample them.

    Parameters
    ----------
    rule : {"and", "or"}
        Which pairs are edges: those with a nonzero coefficient in both regressions, or in either.
    select : {"cv", "bic"}
        How the strength of each node is chosen: by cross-validation, or by
        :math:`-2 \log L + k \log N` with k the number of nonzero coefficients.
    strength : float, optional
        Fixed regularization strength of all nodes; None chooses it as ``select`` says.
    n_folds : int
        Number of folds of "cv".
    n_strengths : int
        Number of strengths tried, downward from the smallest at which there is no edge.
    binarize : number, "median" or dict, optional
        Turn numeric columns into 1 where the value is at least this; a dict names columns.
    random_state : int, RandomState, Generator or None
        Seed of the folds.
    n_jobs : int, optional
        Number of nodes solved in parallel, in threads; None is one, -1 uses all cores.
    na : {"error", "drop"}
        Refuse missing entries, or drop the rows that have any.
    na_values : value, list or dict, optional
        Values that stand for missing answers, such as 99; a dict names columns.
    levels : dict, optional
        All answers of the columns it names, in their order.

    Attributes
    ----------
    coupling_ : array of shape (D, D)
        Strength of each edge, the mean of two norms of coefficients; 0 where there is none.
    regressions_ : list of NodeRegression
    strength_ : array of shape (D,)
        Strength of the penalty of each node.
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
    >>> from slabfield.baselines import L1Multinomial
    >>> from slabfield.datasets import make_block
    >>> rows = make_block(200, random_state=1, n_groups=1).rows
    >>> model = L1Multinomial(select="bic", n_strengths=5).fit(rows)
    >>> model.coupling_.shape, model.score(rows) < 0
    ((4, 4), True)
    """

    takes_levels = True

    def __init__(
        self,
        rule: str = "and",
        select: str = "cv",
        strength: float | None = None,
        n_folds: int = 5,
        n_strengths: int = 15,
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
        self.n_folds = n_folds
        self.n_strengths = n_strengths
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.na = na
        self.na_values = na_values
        self.levels = levels

    def fit(self, X: Any, y: Any = None) -> L1Multinomial:
        """Choose strengths and fit the regressions; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            A column for each node.
        y : ignored

        Returns
        -------
        L1Multinomial
            Itself, fitted.
        """
        self._check_settings()
        table = code_complete(self, X)
        predictors, owner = predictors_of(table.rows, table.variables)
        fold = None
        if self.strength is None and self.select == "cv":
            fold = fold_of_rows(len(table.rows), self.n_folds, self.random_state)
        tasks = [
            (predictors * (owner != i), table.rows[:, i], variable.n_levels, fold, self.strength)
            for i, variable in enumerate(table.variables)
        ]
        with threadpool_limits(1):
            run = Parallel(self.n_jobs, prefer="threads")
            found = list(run(delayed(_fit_node)(*task, self.n_strengths) for task in tasks))
        self.strength_ = np.array([strength for strength, _ in found])
        self.regressions_ = [regression for _, regression in found]
        squares = [np.sum(each.coefficient**2, axis=0) for each in self.regressions_]
        norms = [np.sqrt(np.bincount(owner, weights=each)) for each in squares]
        self.coupling_ = combine(np.stack(norms), self.rule)
        encoding.keep_names(self, table)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Mean pseudo-log-likelihood of a row, in nats; higher is better. y is ignored."""
        return float(self.score_samples(X).mean())

    def score_samples(self, X: Any) -> Array:
        """Pseudo-log-likelihood of each row.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.

        Returns
        -------
        array of shape (N,)
            In nats.
        """
        return self.score_codes(self._encoder().transform(X, model=type(self).__name__).rows)

    def score_codes(self, rows: Codes) -> Array:
        """Pseudo-log-likelihood of each row of codes, shape (N,)."""
        predictors, _ = predictors_of(rows, self.variables_)
        total = np.zeros(len(rows))
        for i, regression in enumerate(self.regressions_):
            total -= regression.losses(predictors, rows[:, i])
        return total

    def _check_settings(self) -> None:
        validation.check_choice("rule", self.rule, RULES)
        validation.check_choice("select", self.select, SELECTIONS)
        if self.strength is not None:
            validation.check_number("strength", self.strength, 0.0, include_low=False)
        validation.check_positive_int("n_folds", self.n_folds, low=2)
        validation.check_positive_int("n_strengths", self.n_strengths, low=2)
        if self.n_jobs != -1:
            validation.check_positive_int("n_jobs", self.n_jobs, allow_none=True)


def predictors_of(
    rows: Codes, variables: Sequence[encoding.Variable]
) -> tuple[Array, NDArray[np.int64]]:
    """Return the predictors that columns make, and the column that each of them is of.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.baselines.multinomial import predictors_of
    >>> from slabfield.encoding import Variable
    >>> variables = [Variable.binary("a", (0, 1)), Variable("b", "nominal", ("x", "y", "z"), ())]
    >>> predictors, owner = predictors_of(np.array([[1, 2]], np.uint8), variables)
    >>> predictors.tolist(), owner.tolist()
    ([[1.0, 0.0, 0.0, 1.0]], [0, 1, 1, 1])
    """
    columns = [
        np.array(variable.scores)[codes, None]
        if variable.is_scored
        else np.eye(variable.n_levels)[codes]
        for codes, variable in zip(rows.T, variables, strict=True)
    ]
    sizes = [column.shape[1] for column in columns]
    return np.hstack(columns), np.repeat(np.arange(len(columns)), sizes)


def _fit_node(
    predictors: Array,
    codes: Codes,
    n_levels: int,
    fold: NDArray[np.int64] | None,
    strength: float | None,
    n_strengths: int,
) -> tuple[float, NodeRegression]:
    """Choose the strength of a node if there is none, and return it with the regression."""
    share = np.bincount(codes, minlength=n_levels) / codes.size
    gradient = predictors.T @ (np.eye(n_levels)[codes] - share) / codes.size
    largest = float(np.abs(gradient).max(initial=0.0))
    if strength is not None:
        grid = np.array([strength])
    else:
        grid = strength_grid(largest, codes.size, predictors.shape[1], n_strengths, None)
    path = list(_path(predictors, codes, n_levels, grid))
    if fold is None:
        scores = np.array([_information(each, predictors, codes) for each in path])
    else:
        scores = _held_out_losses(predictors, codes, n_levels, fold, grid)
    best = int(np.argmin(scores))
    return float(grid[best]), path[best]


def _held_out_losses(
    predictors: Array, codes: Codes, n_levels: int, fold: NDArray[np.int64], grid: Array
) -> Array:
    """Sum of the held-out losses of each strength over the folds."""
    total = np.zeros(grid.size)
    for k in range(fold.max() + 1):
        train, test = fold != k, fold == k
        for m, each in enumerate(_path(predictors[train], codes[train], n_levels, grid)):
            total[m] += each.losses(predictors[test], codes[test]).sum()
    return total


def _information(regression: NodeRegression, predictors: Array, codes: Codes) -> float:
    size = np.count_nonzero(regression.coefficient)
    loss = regression.losses(predictors, codes).sum()
    return float(2 * loss + size * np.log(codes.size))


def _path(
    predictors: Array, codes: Codes, n_levels: int, strengths: Array
) -> Iterator[NodeRegression]:
    """Solve for decreasing strengths, each from the solution of the one before."""
    seen = np.unique(codes)
    solver = LogisticRegression(
        solver="saga", tol=TOLERANCE, max_iter=MOST_EPOCHS, warm_start=True, random_state=0, **L1
    )
    for strength in strengths:
        intercept = np.full(n_levels, -np.inf)
        coefficient = np.zeros((n_levels, predictors.shape[1]))
        intercept[seen] = 0.0
        if seen.size > 1:
            solver.set_params(C=1.0 / (strength * codes.size)).fit(predictors, codes)
            # of two levels, scikit-learn keeps the second only
            which = seen[-len(solver.coef_) :]
            intercept[which], coefficient[which] = solver.intercept_, solver.coef_
        yield NodeRegression(intercept, coefficient, codes.size)
