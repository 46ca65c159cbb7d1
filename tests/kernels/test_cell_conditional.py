"""The conditional of one parameter given a table of cells, compared with numerical integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from level_loops import conditional_of_cells


def random_cells(rng, n_levels, n_rows, strength=1.0):
    """Conditional of a centered coupling of two nodes, near what their data say."""
    k_i, k_j = n_levels
    f_i, f_j = (np.arange(k) * np.sqrt(3 / (k**2 - 1)) for k in n_levels)
    left, right = rng.dirichlet(np.ones(k_i)), rng.dirichlet(np.ones(k_j))
    feature = np.outer(f_i - left @ f_i, f_j - right @ f_j).ravel()
    weight = np.outer(left, right).ravel()
    truth = weight * np.exp(strength * rng.normal() * feature)
    counts = rng.multinomial(n_rows, truth / truth.sum())
    return float(counts @ feature), float(n_rows), float(rng.gamma(10) / 10), weight, feature


def uniform_cells(n_rows, total, precision=1.0):
    feature = np.outer([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]).ravel()
    return total, n_rows, precision, np.full(9, 1 / 9), feature


CELLS = {
    "2 x 2": random_cells(np.random.default_rng(1), (2, 2), 100),
    "3 x 3": random_cells(np.random.default_rng(2), (3, 3), 100),
    "5 x 5": random_cells(np.random.default_rng(3), (5, 5), 1000, 2.0),
    "2 x 5": random_cells(np.random.default_rng(4), (2, 5), 300),
    "7 x 7, many rows": random_cells(np.random.default_rng(5), (7, 7), 1_000_000),
    "one row": random_cells(np.random.default_rng(6), (4, 4), 1),
    "nothing known": uniform_cells(0.0, 0.0),
    "always together": uniform_cells(100.0, 99.0, 0.05),
    "never together": uniform_cells(100.0, -99.0, 0.05),
    "cells without weight": (
        20.0, 100.0, 0.5, np.array([0.5, 0.0, 0.0, 0.5]), np.array([0.3, -0.4, -0.4, 0.7])
    ),
    "far from the mode": uniform_cells(1000.0, 900.0, 0.01),
}  # fmt: skip


def log_density(a, linear, n_rows, precision, weight, feature):
    with np.errstate(divide="ignore"):
        logs = np.log(weight) + np.multiply.outer(a, feature)
    return linear * a - n_rows * logsumexp(logs, axis=-1) - 0.5 * precision * a * a


def grid_of(mode, sd, cells):
    """A fine grid that contains all but a share of 1e-12 of the density, and the density on it."""
    a = mode + sd * np.linspace(-60, 60, 12_001)
    logs = log_density(a, *cells)
    assert max(logs[0], logs[-1]) < logs.max() - 28
    return a, logs


# Bounds on the error of log integrals. Where nearly all rows are in the extreme cells and the slab
# is wide, the density has a corner sharper than the step; an error of 5e-4 in log odds is one of at
# most 1.3e-4 in a probability.
INTEGRAL_ERROR = dict.fromkeys(CELLS, 1e-5)
INTEGRAL_ERROR |= {"always together": 5e-4, "never together": 5e-4}


@pytest.mark.parametrize("name", CELLS)
def test_mode_and_integral_equal_quadrature(name):
    cells = CELLS[name]
    mode, sd, log_integral, _ = conditional_of_cells(*cells)
    a, logs = grid_of(mode, sd, cells)
    expected = logsumexp(logs) + np.log(a[1] - a[0])
    assert log_integral == pytest.approx(expected, abs=INTEGRAL_ERROR[name])
    assert abs(mode - a[logs.argmax()]) < 0.03 * sd  # a step of the grid is 0.01 sd
    step = 1e-3 * sd
    curvature = np.diff(log_density(mode + step * np.array([-1, 0, 1]), *cells), 2)[0] / step**2
    assert sd == pytest.approx((-curvature) ** -0.5, rel=1e-2)


def test_integrals_of_random_cells():
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(100):
        levels = rng.integers(2, 7, 2)
        cells = random_cells(rng, levels, int(rng.choice([20, 100, 1000])), 2.0)
        mode, sd, log_integral, _ = conditional_of_cells(*cells)
        a, logs = grid_of(mode, sd, cells)
        errors.append(abs(log_integral - logsumexp(logs) - np.log(a[1] - a[0])))
    assert max(errors) < 1e-4


def p_value(name, n_draws=20_000, wrong=1.0):
    """Kolmogorov-Smirnov test of draws against the integrated density, N times ``wrong``."""
    cells = CELLS[name]
    mode, sd, _, draws = conditional_of_cells(*cells, n_draws)
    linear, n_rows, *rest = cells
    a, logs = grid_of(mode, sd, (linear * wrong, n_rows * wrong, *rest))
    cumulative = np.cumsum(np.exp(logs - logs.max()))
    return stats.kstest(draws, lambda x: np.interp(x, a, cumulative / cumulative[-1])).pvalue


@pytest.mark.parametrize("name", CELLS)
def test_draws_follow_the_density(name):
    assert p_value(name) > 1e-4


def test_draws_of_another_density_are_detected():
    assert p_value("3 x 3", wrong=1.1) < 1e-4
