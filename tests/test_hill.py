"""The hill of a block: Newton's method ends at the top, and knows how steep it is."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield._jit import jit
from slabfield.kernels.hill import climb, factorise, new_hill, solve_backward, solve_forward, tilted

K, N_ROWS = 4, 300.0
N = K * (K + 1) // 2
climbing = jit(lambda hill, n_all, n, rows, mode, steepness: climb(
    hill, n_all, n, rows, mode, steepness))  # fmt: skip


@pytest.fixture
def hill():
    rng = np.random.default_rng(5)
    hill = new_hill(K)
    hill.features[:] = rng.normal(size=hill.features.shape) * 0.5
    hill.weights[:] = rng.random(1 << K)
    hill.now[:] = rng.normal(size=N) * 0.3
    share = rng.random(1 << K)
    hill.linear[:] = N_ROWS * hill.features @ (share / share.sum())
    hill.precision[:] = rng.random(N) + 0.5
    return hill


def height(hill, theta):
    """Log posterior of parameters, written plainly."""
    table = hill.weights * np.exp((theta - hill.now) @ hill.features)
    quadratic = 0.5 * hill.precision @ theta**2
    return hill.linear @ theta - N_ROWS * np.log(table.sum()) - quadratic


@pytest.mark.parametrize("listed", [[0], [3, 1], [7, 2, 9, 0, 5], list(range(N))])
def test_the_top_is_where_no_step_helps_and_its_steepness_is_that_of_the_hill(hill, listed):
    n = len(listed)
    hill.order[:n] = listed
    mode, steepness = hill.now.copy(), hill.steepness[0]
    log_det = climbing(hill, N, n, N_ROWS, mode, steepness)
    others = np.setdiff1d(np.arange(N), listed)
    assert np.array_equal(mode[others], hill.now[others])
    step = 1e-4
    unit = np.eye(N)[listed] * step
    slope = [(height(hill, mode + e) - height(hill, mode - e)) / (2 * step) for e in unit]
    np.testing.assert_allclose(slope, 0.0, atol=2e-4)
    second = [
        [
            (height(hill, mode + e + f) - height(hill, mode + e - f)
             - height(hill, mode - e + f) + height(hill, mode - e - f)) / (4 * step**2)
            for f in unit
        ]
        for e in unit
    ]  # fmt: skip
    found = steepness[np.ix_(listed, listed)]
    np.testing.assert_allclose(found, -np.array(second), rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(log_det, 0.5 * np.linalg.slogdet(found)[1], rtol=1e-6)


def test_the_top_does_not_depend_on_where_one_starts(hill):
    hill.order[:] = np.arange(N)
    near, far = hill.now.copy(), hill.now + 3.0
    for mode in (near, far):
        assert np.isfinite(climbing(hill, N, N, N_ROWS, mode, hill.steepness[0]))
    np.testing.assert_allclose(near, far, atol=1e-6)


def test_a_hill_without_a_top_is_told(hill):
    hill.order[:1] = 0
    hill.features[0] = 0.0
    hill.precision[0] = 0.0
    assert climbing(hill, N, 1, N_ROWS, hill.now.copy(), hill.steepness[0]) == -np.inf


def test_the_table_at_other_parameters(hill):
    values = hill.now + np.linspace(-1, 1, N)
    room = np.zeros((3, 1 << K))
    log_sum = tilted(values, hill.now, N, hill.features, hill.weights, *room)
    table = hill.weights * np.exp((values - hill.now) @ hill.features)
    assert log_sum == pytest.approx(np.log(table.sum()))
    np.testing.assert_allclose(room[1] / room[1].sum(), table / table.sum())
    np.testing.assert_allclose(room[0] * hill.weights, room[1])


def test_factors_and_solutions():
    rng = np.random.default_rng(6)
    root = rng.normal(size=(5, 5))
    matrix, order, factor = root @ root.T + np.eye(5), np.array([4, 0, 3]), np.zeros((5, 5))
    log_det = factorise(matrix, order, 3, factor)
    part = matrix[np.ix_(order, order)]
    wanted = np.linalg.cholesky(part)
    np.testing.assert_allclose(np.tril(factor[:3, :3]), wanted)
    assert log_det == pytest.approx(np.log(np.diag(wanted)).sum())
    forward = rng.normal(size=3)
    backward = forward.copy()
    before = forward.copy()
    solve_forward(factor, 3, forward)
    solve_backward(factor, 3, backward)
    np.testing.assert_allclose(wanted @ forward, before)
    np.testing.assert_allclose(wanted.T @ backward, before)
    assert factorise(-matrix, order, 3, factor) == -np.inf
