"""Laplace approximation of a block: mode and Hessian by Newton's method."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield._jit import jit
from slabfield.kernels.laplace import (
    factorize,
    new_laplace,
    newton_mode,
    solve_backward,
    solve_forward,
    tilted,
)

K, N_ROWS = 4, 300.0
N = K * (K + 1) // 2
compiled_newton_mode = jit(lambda laplace, n_all, n, rows, mode, neg_hessian: newton_mode(
    laplace, n_all, n, rows, mode, neg_hessian))  # fmt: skip


@pytest.fixture
def laplace():
    rng = np.random.default_rng(5)
    laplace = new_laplace(N, 1 << K)
    laplace.features[:] = rng.normal(size=laplace.features.shape) * 0.5
    laplace.weights[:] = rng.random(1 << K)
    laplace.now[:] = rng.normal(size=N) * 0.3
    share = rng.random(1 << K)
    laplace.linear[:] = N_ROWS * laplace.features @ (share / share.sum())
    laplace.precision[:] = rng.random(N) + 0.5
    return laplace


def log_density(laplace, theta):
    """Log density of the parameters, up to a constant, in NumPy."""
    table = laplace.weights * np.exp((theta - laplace.now) @ laplace.features)
    quadratic = 0.5 * laplace.precision @ theta**2
    return laplace.linear @ theta - N_ROWS * np.log(table.sum()) - quadratic


@pytest.mark.parametrize("listed", [[0], [3, 1], [7, 2, 9, 0, 5], list(range(N))])
def test_mode_and_hessian_equal_finite_differences(laplace, listed):
    n = len(listed)
    laplace.order[:n] = listed
    mode, neg_hessian = laplace.now.copy(), laplace.neg_hessian[0]
    log_det = compiled_newton_mode(laplace, N, n, N_ROWS, mode, neg_hessian)
    others = np.setdiff1d(np.arange(N), listed)
    assert np.array_equal(mode[others], laplace.now[others])
    step = 1e-4
    unit = np.eye(N)[listed] * step
    gradient = [
        (log_density(laplace, mode + e) - log_density(laplace, mode - e)) / (2 * step) for e in unit
    ]
    np.testing.assert_allclose(gradient, 0.0, atol=2e-4)
    second = [
        [
            (log_density(laplace, mode + e + f) - log_density(laplace, mode + e - f)
             - log_density(laplace, mode - e + f) + log_density(laplace, mode - e - f))
            / (4 * step**2)
            for f in unit
        ]
        for e in unit
    ]  # fmt: skip
    found = neg_hessian[np.ix_(listed, listed)]
    np.testing.assert_allclose(found, -np.array(second), rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(log_det, 0.5 * np.linalg.slogdet(found)[1], rtol=1e-6)


def test_mode_does_not_depend_on_the_start(laplace):
    laplace.order[:] = np.arange(N)
    near, far = laplace.now.copy(), laplace.now + 3.0
    for mode in (near, far):
        assert np.isfinite(
            compiled_newton_mode(laplace, N, N, N_ROWS, mode, laplace.neg_hessian[0])
        )
    np.testing.assert_allclose(near, far, atol=1e-6)


def test_missing_mode_is_reported(laplace):
    laplace.order[:1] = 0
    laplace.features[0] = 0.0
    laplace.precision[0] = 0.0
    assert (
        compiled_newton_mode(laplace, N, 1, N_ROWS, laplace.now.copy(), laplace.neg_hessian[0])
        == -np.inf
    )


def test_tilted_table_equals_numpy(laplace):
    values = laplace.now + np.linspace(-1, 1, N)
    buffers = np.zeros((3, 1 << K))
    log_sum = tilted(values, laplace.now, N, laplace.features, laplace.weights, *buffers)
    table = laplace.weights * np.exp((values - laplace.now) @ laplace.features)
    assert log_sum == pytest.approx(np.log(table.sum()))
    np.testing.assert_allclose(buffers[1] / buffers[1].sum(), table / table.sum())
    np.testing.assert_allclose(buffers[0] * laplace.weights, buffers[1])


def test_cholesky_factors_and_solutions():
    rng = np.random.default_rng(6)
    root = rng.normal(size=(5, 5))
    matrix, order, factor = root @ root.T + np.eye(5), np.array([4, 0, 3]), np.zeros((5, 5))
    log_det = factorize(matrix, order, 3, factor)
    part = matrix[np.ix_(order, order)]
    expected = np.linalg.cholesky(part)
    np.testing.assert_allclose(np.tril(factor[:3, :3]), expected)
    assert log_det == pytest.approx(np.log(np.diag(expected)).sum())
    forward = rng.normal(size=3)
    backward = forward.copy()
    before = forward.copy()
    solve_forward(factor, 3, forward)
    solve_backward(factor, 3, backward)
    np.testing.assert_allclose(expected @ forward, before)
    np.testing.assert_allclose(expected.T @ backward, before)
    assert factorize(-matrix, order, 3, factor) == -np.inf
