"""Baselines: solved to their optimum, and combined and selected as documented."""

from __future__ import annotations

import itertools
import pickle
import shutil
import subprocess
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from helpers import run_descent
from skips import NO_GLMNET, NO_R
from slabfield.baselines import ChowLiuTree, L1Neighborhood, L1PseudoLikelihood
from slabfield.baselines.neighborhood import combine
from slabfield.baselines.node_solver import (
    information,
    largest_strengths,
    mean_losses,
    solve_node,
    varying,
)
from slabfield.baselines.path import fold_of_rows
from slabfield.baselines.tree import mutual_information, pair_tables
from slabfield.datasets import make_block, make_lattice
from slabfield.inference import enumeration
from slabfield.kernels.l1_pairs import all_statistics
from slabfield.models.field import BinaryField
from slabfield.validation import InputError, InputWarning

Array = NDArray[np.float64]

BLOCK = make_block(200, random_state=1).rows
LATTICE = make_lattice(100, shape=(6, 6), random_state=3).rows
LIMIT = 1e-9
# scikit-learn renamed how an L1 penalty is asked for
L1: dict[str, Any] = (
    {"l1_ratio": 1}
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    else {"penalty": "l1"}
)


def awkward_rows() -> NDArray[np.uint8]:
    """Return a table with duplicate, complementary, rare and perfectly separable columns."""
    rng = np.random.default_rng(0)
    rows = (rng.random((40, 8)) < 0.5).astype(np.uint8)
    rows[:, 1], rows[:, 2] = rows[:, 0], 1 - rows[:, 0]
    rows[:, 3] = 0
    rows[7, 3] = 1
    rows[:, 4] = rows[:, 5] & rows[:, 6]
    return rows


def entropy(u: Array) -> Array:
    inside = np.clip(u, 1e-300, 1 - 1e-16)
    return -inside * np.log(inside) - (1 - inside) * np.log1p(-inside)


def sigmoid(eta: Array) -> Array:
    return 0.5 * (1 + np.tanh(eta / 2))


def balanced(y: Array, eta: Array) -> Array:
    """Probabilities scaled so that residuals sum to 0, as dual feasibility requires."""
    p = sigmoid(eta)
    ones, total, n = y.sum(), p.sum(), y.size
    return p * (ones / total) if total >= ones else 1 - (1 - p) * (n - ones) / (n - total)


def node_gap(x: Array, node: int, intercept: float, coefficient: Array, strength: float) -> float:
    """Relative duality gap of one regression, in plain NumPy."""
    y, eta = x[:, node], intercept + x @ coefficient
    primal = np.mean(np.logaddexp(0, eta) - y * eta) + strength * np.abs(coefficient).sum()
    residual = y - balanced(y, eta)
    others = np.arange(x.shape[1]) != node
    largest = np.abs(x[:, others].T @ residual).max() / len(x)
    dual = entropy(y - min(1.0, strength / largest) * residual).mean()
    return float((primal - dual) / primal)


def pair_gap(x: Array, bias: Array, coupling: Array, strength: float) -> float:
    """Relative duality gap of the penalized pseudo-likelihood, in plain NumPy."""
    eta = bias + x @ coupling
    primal = np.sum(np.logaddexp(0, eta) - x * eta) / len(x) + strength * np.abs(coupling).sum()
    residual = np.stack([x[:, i] - balanced(x[:, i], eta[:, i]) for i in range(bias.size)], 1)
    product = x.T @ residual
    both = np.abs(product + product.T) / (2 * len(x))
    np.fill_diagonal(both, 0)
    dual = entropy(x - min(1.0, strength / both.max()) * residual).sum() / len(x)
    return float((primal - dual) / primal)


# --- the solvers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows", [BLOCK, LATTICE, awkward_rows()], ids=["block", "lattice", "awkward"]
)
def test_regressions_reach_their_optimum_on_the_whole_path(rows: NDArray[np.uint8]) -> None:
    columns, x = np.ascontiguousarray(rows.T), rows.astype(float)
    largest = largest_strengths(columns)
    for node in range(0, len(columns), 3):
        strengths = np.geomspace(largest[node], 1e-3 * largest[node], 60)
        path = solve_node(columns, node, strengths, LIMIT)
        gaps = [
            node_gap(x, node, *solution)
            for solution in zip(path.intercept, path.coefficient, strengths, strict=True)
        ]
        assert max(gaps) <= LIMIT
        assert np.allclose(path.gap, gaps, atol=1e-12)
        assert not path.coefficient[0].any()
        assert path.coefficient[-1].any()


@pytest.mark.parametrize(
    "rows", [BLOCK, LATTICE, awkward_rows()], ids=["block", "lattice", "awkward"]
)
def test_pseudo_likelihood_reaches_its_optimum_on_the_whole_path(rows: NDArray[np.uint8]) -> None:
    x = rows.astype(float)
    path = L1PseudoLikelihood(n_strengths=60, smallest=1e-2).path(rows)
    gaps = [
        pair_gap(x, *solution)
        for solution in zip(path.bias, path.coupling, path.strengths, strict=True)
    ]
    assert max(gaps) <= LIMIT
    assert np.allclose(path.gap, gaps, atol=1e-12)
    assert path.density[0] == 0 < path.density[30] < path.density[-1]
    assert np.array_equal(path.coupling, path.coupling.swapaxes(1, 2))


def test_the_gaps_detect_a_slightly_wrong_solution() -> None:
    columns, x = np.ascontiguousarray(BLOCK.T), BLOCK.astype(float)
    path = solve_node(columns, 0, np.array([0.02]), LIMIT)
    assert node_gap(x, 0, path.intercept[0], path.coefficient[0], 0.02) <= LIMIT
    assert node_gap(x, 0, path.intercept[0], 1.001 * path.coefficient[0], 0.02) > 1e3 * LIMIT
    pairs = L1PseudoLikelihood().path(BLOCK, [0.02])
    assert pair_gap(x, pairs.bias[0], pairs.coupling[0], 0.02) <= LIMIT
    assert pair_gap(x, pairs.bias[0] + 1e-4, pairs.coupling[0], 0.02) > LIMIT


@pytest.mark.parametrize("seed", range(12))
def test_random_small_tables_are_solved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows, n_nodes = int(rng.integers(4, 30)), int(rng.integers(2, 12))
    rows = (rng.random((n_rows, n_nodes)) < rng.random(n_nodes)).astype(np.uint8)
    rows[0], rows[1] = 0, 1
    x, columns = rows.astype(float), np.ascontiguousarray(rows.T)
    strengths = np.geomspace(0.25, 1e-4, 8)
    for node in range(n_nodes):
        path = solve_node(columns, node, strengths, LIMIT)
        for k in range(8):
            assert node_gap(x, node, path.intercept[k], path.coefficient[k], strengths[k]) <= LIMIT
    pairs = L1PseudoLikelihood().path(rows, strengths)
    for k in range(8):
        assert pair_gap(x, pairs.bias[k], pairs.coupling[k], pairs.strengths[k]) <= LIMIT


@pytest.mark.parametrize("strength", [0.1, 0.02, 0.005])
def test_coefficients_are_those_of_scikit_learn(strength: float) -> None:
    columns = np.ascontiguousarray(BLOCK.T)
    for node in (0, 5):
        others = np.arange(12) != node
        theirs = LogisticRegression(
            **L1, C=1 / (strength * len(BLOCK)), solver="saga", tol=1e-11, max_iter=200_000,
            random_state=0,
        ).fit(BLOCK[:, others].astype(float), BLOCK[:, node])  # fmt: skip
        ours = solve_node(columns, node, np.array([strength]), LIMIT)
        assert np.allclose(ours.coefficient[0, others], theirs.coef_[0], atol=1e-6)
        assert np.allclose(ours.intercept[0], theirs.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("seed", [1013, 1029, 1039, 1063, 1113])
def test_nearly_separable_tables_at_tiny_strengths_are_solved(seed: int) -> None:
    # seeds found by search: plain coordinate descent stopped at gaps from 1e-7 to 0.5 on these
    rng = np.random.default_rng(seed)
    n_rows, n_nodes = int(rng.integers(4, 80)), int(rng.integers(2, 20))
    rows = (rng.random((n_rows, n_nodes)) < rng.random(n_nodes)).astype(np.uint8)
    if seed % 3 == 0:
        rows[:, 1], rows[:, 2] = rows[:, 0], rows[:, 3] ^ rows[:, 0]
    rows[0], rows[1] = 0, 1
    pairs = L1PseudoLikelihood().path(rows, np.geomspace(0.25, 1e-4, 8))
    for k in range(8):
        gap = pair_gap(rows.astype(float), pairs.bias[k], pairs.coupling[k], pairs.strengths[k])
        assert gap <= LIMIT


def test_couplings_are_those_of_scikit_learn_on_the_stacked_problem() -> None:
    rows, strength, big = BLOCK[:, :5].astype(float), 0.03, 1e3
    n_rows, n_nodes = rows.shape
    pairs = list(itertools.combinations(range(n_nodes), 2))
    design = np.zeros((n_nodes, n_rows, n_nodes + len(pairs)))
    for i in range(n_nodes):
        design[i, :, i] = big  # makes the coefficient of the bias, and so its penalty, small
    for e, (i, j) in enumerate(pairs):
        design[i, :, n_nodes + e], design[j, :, n_nodes + e] = rows[:, j], rows[:, i]
    theirs = LogisticRegression(
        **L1, C=1 / (2 * strength * n_rows), solver="liblinear", tol=1e-10,
        fit_intercept=False, max_iter=100_000, random_state=0,
    ).fit(design.reshape(-1, n_nodes + len(pairs)), rows.T.ravel())  # fmt: skip
    ours = L1PseudoLikelihood().path(rows, [strength])
    found = [ours.coupling[0, i, j] for i, j in pairs]
    assert np.allclose(found, theirs.coef_[0, n_nodes:], atol=2e-3)
    assert np.allclose(ours.bias[0], big * theirs.coef_[0, :n_nodes], atol=2e-3)


GLMNET = """
library(glmnet)
X <- as.matrix(read.csv(file("stdin"), header = FALSE))
fit <- glmnet(X[, -1], X[, 1], family = "binomial", standardize = FALSE, thresh = 1e-16,
              lambda = c(STRENGTHS), maxit = 1e7)
write.table(cbind(fit$a0, t(as.matrix(fit$beta))), sep = ",", row.names = FALSE,
            col.names = FALSE)
"""


def test_coefficients_are_those_of_glmnet() -> None:
    if shutil.which("Rscript") is None:
        pytest.skip(NO_R)
    check = subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True, check=False)
    if check.returncode:
        pytest.skip(NO_GLMNET)
    strengths = np.geomspace(0.1, 0.002, 8)
    script = GLMNET.replace("STRENGTHS", ", ".join(f"{s:.17g}" for s in strengths))
    table = "\n".join(",".join(map(str, row)) for row in LATTICE) + "\n"
    result = subprocess.run(
        ["Rscript", "-e", script], input=table, capture_output=True, text=True, check=True
    )
    theirs = np.array([[float(v) for v in line.split(",")] for line in result.stdout.split()])
    ours = solve_node(np.ascontiguousarray(LATTICE.T), 0, strengths, LIMIT)
    assert np.allclose(ours.intercept, theirs[:, 0], atol=1e-5)
    assert np.allclose(ours.coefficient[:, 1:], theirs[:, 1:], atol=1e-5)


def test_compiled_descent_equals_plain_proximal_gradient() -> None:
    rng = np.random.default_rng(4)
    root = rng.normal(size=(9, 12))
    # as in a regression, the gradient lies in the range of the matrix: else there is no minimum
    gram, gradient = root.T @ root, root.T @ rng.normal(scale=3, size=9)
    start = rng.normal(size=12) * (rng.random(12) < 0.5)
    value, moved, remaining = start.copy(), np.zeros(12), gradient.copy()
    run_descent(gram, remaining, value, moved, 1.0, 1e-12)
    plain, rate = start.copy(), 1 / np.linalg.eigvalsh(gram)[-1]
    for _ in range(20_000):
        wanted = plain - rate * (gradient + gram @ (plain - start))
        plain = np.sign(wanted) * np.maximum(np.abs(wanted) - rate, 0)

    def objective(point: Array) -> float:
        d = point - start
        return float(gradient @ d + d @ gram @ d / 2 + np.abs(point).sum())

    assert np.isclose(objective(value), objective(plain), rtol=1e-12)
    assert np.allclose(moved, value - start)
    assert np.allclose(remaining, gradient + gram @ moved)
    assert objective(1.001 * value) > objective(value) + 1e-9


def test_statistics_equal_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    eta = rng.normal(scale=8, size=(3, 201))
    eta[0, :4] = 0.0, 690.0, -690.0, 1e-9
    bits = (rng.random(eta.shape) < 0.5).astype(np.uint8)
    residual, weight, sums = np.zeros_like(eta), np.zeros_like(eta), np.zeros(3)
    loss, _ = all_statistics(eta, bits, np.arange(3), residual, weight, sums)
    assert np.isclose(loss, (np.logaddexp(0, eta) - bits * eta).sum(), rtol=1e-13)
    assert np.allclose(residual, bits - sigmoid(eta), atol=1e-14)
    assert np.allclose(weight, sigmoid(eta) * sigmoid(-eta), rtol=1e-10, atol=1e-16)
    assert np.allclose(sums, residual.sum(axis=1))


# --- from regressions to a field --------------------------------------------------------------


def test_rules_that_combine_coefficients() -> None:
    coefficients = np.array([[0, 1.0, 0, -2], [0.5, 0, 3, 2], [0.2, -4, 0, 0], [1, -2, 0, 0]])
    expected = {
        "max": [1.0, 0.2, -2, -4, 2, 0],
        "min": [0.5, 0, 1, 3, 2, 0],
        "and": [0.75, 0, -0.5, -0.5, 0, 0],
        "or": [0.75, 0.1, -0.5, -0.5, 0, 0],
    }
    for rule, values in expected.items():
        coupling = combine(coefficients, rule)
        assert np.array_equal(coupling, coupling.T)
        assert np.allclose(coupling[np.triu_indices(4, 1)], values)


def test_the_path_is_the_combined_regressions() -> None:
    columns = np.ascontiguousarray(BLOCK.T)
    path = L1Neighborhood(rule="min").path(BLOCK, [0.02, 0.05])
    assert path.strengths.tolist() == [0.05, 0.02]
    each = [solve_node(columns, i, path.strengths, LIMIT) for i in range(12)]
    expected = combine(np.stack([node.coefficient[1] for node in each]), "min")
    assert np.allclose(path.coupling[1], expected)
    assert np.allclose(path.bias[1], [node.intercept[1] for node in each])
    wider = L1Neighborhood(rule="max").path(BLOCK, [0.02, 0.05])
    assert np.all(wider.density >= path.density)
    assert path.field(1).n_edges == round(path.density[1] * 66)
    assert len(path) == 2


def test_ebic_equals_its_formula_and_is_minimized() -> None:
    columns = np.ascontiguousarray(BLOCK.T)
    model = L1Neighborhood(select="ebic", rule="and", n_strengths=30).fit(BLOCK)
    for node in (0, 7):
        first = largest_strengths(columns)[node]
        path = solve_node(columns, node, np.geomspace(first, 1e-2 * first, 30), LIMIT)
        eta = path.intercept[:, None] + path.coefficient @ columns
        loglik = (columns[node] * eta - np.logaddexp(0, eta)).sum(axis=1)
        size = (path.coefficient != 0).sum(axis=1)
        expected = -2 * loglik + size * np.log(200) + 2 * 0.25 * size * np.log(11)
        assert np.allclose(information(path, columns, node, 0.25), expected)
        best = np.geomspace(first, 1e-2 * first, 30)[np.argmin(expected)]
        assert np.isclose(model.strength_[node], best)
    sparser = L1Neighborhood(select="ebic", gamma=2.0, n_strengths=30).fit(BLOCK)
    denser = L1Neighborhood(select="bic", n_strengths=30).fit(BLOCK)
    assert np.count_nonzero(sparser.coupling_) < np.count_nonzero(denser.coupling_)


def test_cross_validation_minimizes_the_held_out_loss() -> None:
    model = L1Neighborhood(n_strengths=20, n_folds=4, random_state=3, shared=True).fit(BLOCK)
    columns, fold = np.ascontiguousarray(BLOCK.T), fold_of_rows(200, 4, 3)
    first = largest_strengths(columns).max()
    strengths, total = np.geomspace(first, 1e-2 * first, 20), np.zeros(20)
    for k, node in itertools.product(range(4), range(12)):
        train = np.ascontiguousarray(columns[:, fold != k])
        path = solve_node(train, node, strengths, LIMIT)
        total += mean_losses(path, columns[:, fold == k], node) * (fold == k).sum()
    assert np.allclose(model.strength_, strengths[np.argmin(total)])


@pytest.mark.parametrize("select", ["cv", "bic"])
def test_pseudo_likelihood_minimizes_the_score(select: str) -> None:
    model = L1PseudoLikelihood(select=select, n_strengths=15, n_folds=3, random_state=3).fit(BLOCK)
    path = L1PseudoLikelihood(n_strengths=15).path(BLOCK)

    def loss(rows: Any, bias: Array, coupling: Array) -> float:
        eta = bias + rows @ coupling
        return float((np.logaddexp(0, eta) - rows * eta).sum())

    if select == "bic":
        score = [
            2 * loss(BLOCK, path.bias[k], path.coupling[k]) + path.field(k).n_edges * np.log(200)
            for k in range(15)
        ]
    else:
        fold, score = fold_of_rows(200, 3, 3), np.zeros(15)
        for f in range(3):
            part = L1PseudoLikelihood().path(BLOCK[fold != f], path.strengths)
            score += [loss(BLOCK[fold == f], part.bias[k], part.coupling[k]) for k in range(15)]
    best = int(np.argmin(score))
    assert np.isclose(model.strength_, path.strengths[best])
    assert np.allclose(model.coupling_, path.coupling[best], atol=1e-6)


def test_true_edges_are_found_in_many_rows() -> None:
    field, rows, _ = make_lattice(3000, shape=(4, 4), random_state=5)
    strong = np.abs(field.coupling) > 0.8
    for model in (L1Neighborhood(select="ebic", rule="min"), L1PseudoLikelihood(select="bic")):
        found = model.fit(rows).coupling_
        assert np.all(np.sign(found[strong]) == np.sign(field.coupling[strong]))
        # far above the true density of 0.2, the precision of a random guess
        assert np.mean(field.edges[found != 0]) > 0.4
    assert np.mean(field.edges[ChowLiuTree().fit(rows).coupling_ != 0]) > 0.8


# --- conventions ------------------------------------------------------------------------------

QUICK = [
    L1Neighborhood(n_strengths=8, n_folds=2, random_state=0),
    L1PseudoLikelihood(n_strengths=8, n_folds=2, random_state=0),
    ChowLiuTree(),
]


@pytest.mark.parametrize("model", QUICK, ids=lambda model: type(model).__name__)
def test_estimators_follow_the_conventions(model: Any) -> None:
    names = [f"node{i}" for i in range(12)]
    fitted = clone(model).fit(pd.DataFrame(BLOCK, columns=names))
    assert fitted.feature_names_in_.tolist() == names
    assert fitted.n_features_in_ == 12
    assert fitted.get_params() == model.get_params()
    assert np.array_equal(fitted.coupling_, fitted.coupling_.T)
    assert not np.diag(fitted.coupling_).any()
    BinaryField(fitted.bias_, fitted.coupling_)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.coupling_, fitted.coupling_)
    plain = clone(model).fit(BLOCK)
    assert not hasattr(plain, "feature_names_in_")
    assert np.array_equal(plain.coupling_, fitted.coupling_)
    assert not hasattr(fitted.fit(BLOCK), "feature_names_in_")


def test_the_number_of_jobs_changes_nothing() -> None:
    for model in QUICK[:2]:
        one, two = (clone(model).set_params(n_jobs=n).fit(BLOCK) for n in (1, 2))
        assert np.array_equal(one.coupling_, two.coupling_)
        assert np.array_equal(one.strength_, two.strength_)


def test_a_fixed_strength_is_used_unchanged() -> None:
    for model in (L1Neighborhood(strength=0.03), L1PseudoLikelihood(strength=0.03)):
        path = model.path(BLOCK, [0.03])
        assert np.allclose(model.fit(BLOCK).coupling_, path.coupling[0], atol=1e-6)
        assert np.all(model.strength_ == 0.03)
        assert not model.set_params(strength=5.0).fit(BLOCK).coupling_.any()


def test_constant_columns_get_a_smoothed_bias_and_no_edges() -> None:
    rows = BLOCK[:50].copy()
    rows[:, 3], rows[:, 8] = 0, 1
    for model in QUICK:
        with pytest.warns(InputWarning):
            fitted = clone(model).fit(rows)
        assert np.all(np.isfinite(fitted.bias_))
        if not isinstance(model, ChowLiuTree):
            assert not fitted.coupling_[[3, 8]].any()
            assert np.allclose(fitted.bias_[[3, 8]], [np.log(0.5 / 50.5), np.log(50.5 / 0.5)])
    columns = np.ascontiguousarray(rows.T)
    assert varying(columns).sum() == 10
    with pytest.warns(InputWarning):
        assert not L1Neighborhood().path(np.tile([0, 1, 1], (9, 1))).coupling.any()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (L1Neighborhood(rule="mean"), "rule must be one of 'max', 'min', 'and', 'or'; got 'mean'"),
        (L1Neighborhood(select="aic"), "select must be one of"),
        (L1PseudoLikelihood(select="ebic"), "select must be one of 'cv', 'bic'"),
        (L1PseudoLikelihood(strength=0.0), "strength must be a number greater than 0"),
        (L1PseudoLikelihood(n_folds=500), "500 folds. Pass n_folds=200 or less"),
        (L1Neighborhood(n_strengths=1), "n_strengths must be a whole number of at least 2"),
        (L1Neighborhood(smallest=2), "smallest must be a number"),
        (L1Neighborhood(gamma=-1), "gamma must be a number"),
        (ChowLiuTree(smoothing=-1), "smoothing must be a number"),
    ],
)
def test_bad_parameters_are_refused(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.fit(BLOCK)


def test_bad_strengths_are_refused() -> None:
    for strengths in ([0.1, -1.0], [], [[0.1]], [np.nan]):
        with pytest.raises(InputError, match="strengths must be a list of positive"):
            L1PseudoLikelihood().path(BLOCK, strengths)


def test_an_unreachable_gap_warns() -> None:
    with pytest.warns(ConvergenceWarning, match="stopped at"):
        L1Neighborhood(tolerance=1e-18, strength=0.01).fit(BLOCK[:, :4])


# --- the tree ---------------------------------------------------------------------------------


def test_the_tree_has_the_smoothed_marginals() -> None:
    tree = ChowLiuTree(smoothing=2.0).fit(BLOCK)
    mean, pair_mean = enumeration.moments(BinaryField(tree.bias_, tree.coupling_))
    x = BLOCK.astype(float)
    assert np.allclose(mean, (x.sum(axis=0) + 1) / 202)
    expected = (x.T @ x + 0.5) / 202
    for i, j in tree.edges_:
        assert np.isclose(pair_mean[i, j], expected[i, j])
    assert len(tree.edges_) == 11 == np.count_nonzero(tree.coupling_) // 2


def test_the_tree_has_maximum_likelihood() -> None:
    rows = BLOCK[:, :4]
    tree = ChowLiuTree(smoothing=0.0).fit(rows)
    information = mutual_information(pair_tables(rows, [2] * 4, 0.0))
    pairs = list(itertools.combinations(range(4), 2))
    totals = {}
    for chosen in itertools.combinations(pairs, 3):
        reached = {0}
        for _ in range(3):
            reached |= {n for pair in chosen if reached & set(pair) for n in pair}
        if len(reached) == 4:
            totals[chosen] = sum(information[pair] for pair in chosen)
    assert len(totals) == 16
    assert max(totals, key=lambda key: totals[key]) == tuple(map(tuple, tree.edges_.tolist()))
    ours = enumeration.log_likelihood(BinaryField(tree.bias_, tree.coupling_), rows).sum()
    p = rows.mean(axis=0)
    independent = (rows * np.log(p) + (1 - rows) * np.log(1 - p)).sum()
    assert np.isclose(ours, independent + 200 * max(totals.values()))


def test_a_tree_without_smoothing_refuses_an_empty_cell() -> None:
    with pytest.raises(InputError, match=r"'x0' and 'x1'.*smoothing=1"):
        ChowLiuTree(smoothing=0).fit([[0, 0], [1, 1], [1, 0], [0, 0]])


@pytest.mark.parametrize(
    "baseline",
    [
        partial(L1Neighborhood, strength=0.05),
        partial(L1PseudoLikelihood, strength=0.05),
        ChowLiuTree,
    ],
)
def test_codes_for_missing_answers(baseline: Any) -> None:
    frame = pd.DataFrame(
        make_block(80, random_state=0, n_groups=1).rows, columns=list("abcdef")[:4]
    )
    coded = frame.copy()
    coded.loc[:3, "a"] = 9
    with pytest.raises(InputError) as refused:
        baseline().fit(coded)
    assert refused.value.code == "invalid-columns"
    model = baseline(na="drop", na_values={"a": 9}).fit(coded)
    assert np.array_equal(model.coupling_, baseline().fit(frame[4:]).coupling_)
    assert model.predict_proba(coded[:1]).shape == (1, 4)
    with pytest.raises(InputError) as refused:
        baseline(na="impute").fit(frame)
    assert refused.value.code == "unknown-choice"
