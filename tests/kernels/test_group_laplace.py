"""The Laplace approximation of a group of parameters, compared with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize
from scipy.special import logsumexp

from level_loops import chain_of_group, laplace_of_group


def group(seed, n_levels, n_rows, strength=1.0):
    """Conditional of the centered group of two nominal nodes, near what their data say."""
    rng = np.random.default_rng(seed)
    embeddings, margins = [], []
    for k in n_levels:
        margin = rng.dirichlet(np.full(k, 3.0))
        basis = np.linalg.qr(np.column_stack([np.ones(k), rng.normal(size=(k, k - 1))]))[0][:, 1:]
        embeddings.append((basis - margin @ basis) / np.sqrt(2))
        margins.append(margin)
    feature = np.einsum("au,bv->uvab", *embeddings).reshape(
        (n_levels[0] - 1) * (n_levels[1] - 1), -1
    )
    weight = np.outer(*margins).ravel()
    truth = weight * np.exp(strength * rng.normal(size=len(feature)) @ feature)
    counts = rng.multinomial(n_rows, truth / truth.sum())
    extra = rng.normal(size=(len(feature), len(feature))) / 10
    precision = np.eye(len(feature)) * rng.gamma(10) / 10 + extra @ extra.T
    return feature @ counts, float(n_rows), precision, weight, feature


GROUPS = {
    "2 x 3": group(1, (2, 3), 100),
    "3 x 3": group(2, (3, 3), 300),
    "4 x 4": group(3, (4, 4), 100, 2.0),
    "5 x 5, few rows": group(4, (5, 5), 20, 2.0),
    "3 x 4, many rows": group(5, (3, 4), 100_000),
    "no rows": group(6, (3, 3), 0),
}


def log_density(b, linear, n_rows, precision, weight, feature):
    return linear @ b - n_rows * logsumexp(np.log(weight) + b @ feature) - b @ precision @ b / 2


def negative_hessian(b, linear, n_rows, precision, weight, feature):
    share = np.exp(np.log(weight) + b @ feature)
    share /= share.sum()
    return n_rows * np.cov(feature, aweights=share, ddof=0) + precision


@pytest.mark.parametrize("name", GROUPS)
def test_mode_determinant_and_weights(name):
    case = GROUPS[name]
    mode, at_mode, log_det, values, log_weight, distance = laplace_of_group(*case, 50)
    best = optimize.minimize(lambda b: -log_density(b, *case), np.zeros(mode.size), method="BFGS")
    hessian = negative_hessian(mode, *case)
    off = mode - best.x
    assert off @ hessian @ off < 1e-3
    assert at_mode == pytest.approx(log_density(mode, *case), abs=1e-8)
    # the Hessian is that of the last Newton step but one
    assert log_det == pytest.approx(0.5 * np.linalg.slogdet(hessian)[1], abs=1e-2)
    expected = [log_density(b, *case) - log_density(mode, *case) for b in values]
    half = log_weight - np.array(expected)
    off = values - mode
    np.testing.assert_allclose(half, 0.5 * ((off @ hessian) * off).sum(axis=1), rtol=0.02)
    assert np.abs(distance).max() < 1e-9


@pytest.mark.parametrize("name", ["3 x 3", "4 x 4"])
def test_proposals_have_the_covariance_of_the_inverse_hessian(name):
    case = GROUPS[name]
    mode, _, _, values, *_ = laplace_of_group(*case, 100_000)
    root = np.linalg.cholesky(negative_hessian(mode, *case))
    whitened = (values - mode) @ root
    assert np.abs(whitened.mean(axis=0)).max() < 0.016
    assert np.abs(np.cov(whitened.T) - np.eye(mode.size)).max() < 0.03


def evidence_error(case, n_draws=100_000):
    """Log integral by weighted proposals, less that by quadrature; groups of two parameters."""
    mode, at_mode, log_det, _, log_weight, _ = laplace_of_group(*case, n_draws)
    found = at_mode - log_det + np.log(2 * np.pi) + np.log(np.exp(log_weight).mean())
    sd = np.sqrt(np.diag(np.linalg.inv(negative_hessian(mode, *case))))
    low, high = mode - 9 * sd, mode + 9 * sd
    expected, _ = integrate.dblquad(
        lambda x, y: np.exp(log_density(np.array([x, y]), *case) - at_mode),
        low[1], high[1], low[0], high[0], epsrel=1e-6,
    )  # fmt: skip
    return found - at_mode - np.log(expected), np.exp(log_weight).std() / np.sqrt(n_draws)


@pytest.mark.parametrize("seed", [1, 8, 9])
def test_weights_of_proposals_correct_the_laplace_integral(seed):
    # without weights the error is several standard errors (next test)
    error, standard_error = evidence_error(group(seed, (2, 3), 30, 2.0))
    assert abs(error) < 4 * standard_error + 1e-5


def test_the_laplace_integral_by_itself_is_not_exact():
    case = group(8, (2, 3), 30, 2.0)
    error, standard_error = evidence_error(case)
    *_, log_weight, _ = laplace_of_group(*case, 100_000)
    laplace_error = error - np.log(np.exp(log_weight).mean())
    assert abs(laplace_error) > 10 * standard_error


def saturated(n_rows=400):
    """Two biases of five levels, as of a Blume-Capel node: far out, the density decays linearly."""
    distance = np.arange(-2.0, 3.0)
    feature = np.stack([distance, distance**2])
    counts = np.array([40, 90, 140, 90, 40]) * n_rows / 400
    return feature @ counts, float(n_rows), np.eye(2) / 100, np.full(5, 0.2), feature


def test_a_group_far_from_its_mode_returns_by_a_walk():
    far = [1.0, 12.0]
    stuck = chain_of_group(*saturated(), far, 500, walks=False)
    assert (stuck == far).all()
    path = chain_of_group(*saturated(), far, 2000, walks=True)
    mode = laplace_of_group(*saturated())[0]
    assert np.abs(path[-1000:].mean(axis=0) - mode).max() < 0.05


def test_walks_leave_the_density_invariant():
    # with few rows the tails are so heavy that the region of walks has a noticeable probability
    case = saturated(8)
    linear, n_rows, precision, weight, feature = case
    mode, at_mode, *_ = laplace_of_group(*case)
    path = chain_of_group(*case, mode, 5_000_000, walks=True)
    grid = np.stack(np.meshgrid(np.linspace(-40, 40, 401), np.linspace(-60, 40, 501)), axis=-1)
    log_weights = grid @ linear - n_rows * logsumexp(np.log(weight) + grid @ feature, axis=-1)
    weights = np.exp(log_weights - 0.5 * ((grid @ precision) * grid).sum(axis=-1) - at_mode)
    weights /= weights.sum()
    hessian = negative_hessian(mode, *case)

    def far(points):
        off = points - mode
        return 0.5 * np.einsum("...i,ij,...j->...", off, hessian, off) > 10.0

    expected = float(weights[far(grid)].sum())
    in_batches = far(path).reshape(100, -1).mean(axis=1)
    error = in_batches.std(ddof=1) / 10
    assert abs(in_batches.mean() - expected) < 4 * error
    assert error < 0.25 * expected
