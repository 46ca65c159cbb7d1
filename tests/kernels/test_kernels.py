"""Compiled kernels compared with plain Python, NumPy and SciPy."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from helpers import (
    conditional_integral,
    log_concave_draws,
    truncated_draws,
    truncated_integral,
    window_draws,
    window_integral,
)
from slabfield._jit import polynomial
from slabfield.kernels import gibbs, state_table
from slabfield.kernels.pair_counts import count_all_pairs, n_words, pack


def small_field(n_nodes=5, n=70, seed=0):
    rng = np.random.default_rng(seed)
    states = (rng.random((n_nodes, n)) < 0.5).astype(np.float32)
    bias = rng.normal(size=n_nodes)
    neighbors = np.array([[j for j in range(n_nodes) if j != i] for i in range(n_nodes)], np.int32)
    weights = rng.normal(size=neighbors.shape).astype(np.float32)
    degree = np.array([4, 3, 2, 1, 0], np.int64)
    return states, bias, neighbors, weights, degree, gibbs.new_streams(n, rng)


def test_sweep_equals_its_plain_python():
    states, bias, neighbors, weights, degree, streams = small_field()
    plain, plain_streams = states.copy(), streams.copy()
    work = np.zeros(states.shape[1], np.float32)
    for _ in range(3):
        gibbs.sweep(states, bias, neighbors, weights, degree, streams, work)
        for i in range(5):
            field = np.zeros_like(work)
            gibbs.accumulate.py_func(
                field, np.float32(bias[i]), neighbors[i], weights[i], degree[i], plain
            )
            with np.errstate(over="ignore"):
                gibbs.resample.py_func(plain[i], field, plain_streams)
    assert np.array_equal(states, plain)
    assert np.array_equal(streams, plain_streams)


@pytest.mark.parametrize("field", [-12.0, -4.0, -0.3, 0.0, 1.7, 6.0])
def test_resample_draws_with_the_logistic_probability(field):
    n, rounds = 4096, 250
    streams = gibbs.new_streams(n, np.random.default_rng(3))
    state, h = np.zeros(n, np.float32), np.full(n, field, np.float32)
    ones = 0
    for _ in range(rounds):
        gibbs.resample(state, h, streams)
        ones += int(state.sum())
    p = 1 / (1 + math.exp(-field))
    assert abs(ones - n * rounds * p) < 4.5 * math.sqrt(n * rounds * p * (1 - p)) + 1


def test_rational_tanh_is_within_its_stated_error():
    y = np.linspace(-9, 9, 100_001).astype(np.float32)
    z = y * y
    numerator, denominator = y * polynomial(z, gibbs.NUMERATOR), polynomial(z, gibbs.DENOMINATOR)
    assert np.abs(numerator.astype(float) / denominator - np.tanh(y.astype(float))).max() < 4e-7


def test_streams_are_xoshiro128plus():
    # The first outputs from the state 1, 2, 3, 4, computed with Python integers
    mask = 2**32 - 1
    a, b, c, d = 1, 2, 3, 4
    streams = np.array([[1], [2], [3], [4]], np.uint32)
    for _ in range(50):
        t = (b << 9) & mask
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        d = ((d << 11) | (d >> 21)) & mask
        gibbs.resample(np.zeros(1, np.float32), np.zeros(1, np.float32), streams)
        assert streams[:, 0].tolist() == [a, b, c, d]


@pytest.mark.parametrize("n", [1, 15, 64, 100, 128, 1000])
def test_pair_counts_equal_a_matrix_product(n):
    rng = np.random.default_rng(n)
    states = (rng.random((23, n)) < rng.random((23, 1))).astype(np.float32)
    packed = np.zeros((n_words(n), 23), np.uint64)
    pack(states, packed)
    counts = np.zeros(23 * 22 // 2, np.int64)
    count_all_pairs(packed, counts)
    assert np.array_equal(counts, (states @ states.T)[np.triu_indices(23, 1)])


def test_exponentiate_is_exp():
    values = np.concatenate([np.linspace(-690, 0, 5000), [-1e5]])
    expected = np.exp(values[:-1])
    shift = 3.0
    x, powers = values + shift, np.zeros(values.size)
    state_table.exponentiate(x, shift, powers, powers.view(np.int64))
    assert np.abs(x[:-1] / expected - 1).max() < 2e-13
    assert 0 < x[-1] < 1e-300


@pytest.mark.parametrize("n_nodes", [4, 6, 9])
def test_sums_and_scaling_where_two_nodes_are_one(n_nodes):
    rng = np.random.default_rng(n_nodes)
    weights = rng.random(1 << n_nodes)
    index = np.arange(weights.size)
    block = np.zeros(state_table.BLOCK)
    for low in range(n_nodes):
        for high in range(low, n_nodes):
            inside = ((index >> low) & (index >> high) & 1).astype(bool)
            total = state_table.sum_where(weights, low, high, block)
            assert total == pytest.approx(weights[inside].sum())
            scaled = weights.copy()
            state_table.scale_where(scaled, low, high, 1.7)
            assert np.allclose(scaled, np.where(inside, 1.7 * weights, weights))


PAIRS = {
    "middling": (30.0, 100.0, 1.0, (0.3, 0.2, 0.25, 0.25, 0.45, 0.5)),
    "never together": (0.0, 100.0, 0.5, (0.9, 0.05, 0.0499, 1e-4, 0.05, 0.05)),
    "always together": (100.0, 100.0, 0.7, (0.01, 0.0, 0.0, 0.99, 0.99, 0.99)),
    "a bias": (3.0, 1000.0, 0.01, (0.5, 0.0, 0.0, 0.5, 0.0, 0.0)),
    "many rows": (2.0e5, 1.0e6, 1.0, (0.4, 0.2, 0.2, 0.2, 0.4, 0.4)),
    "a constant column": (50.0, 50.0, 1e-4, (1e-40, 0.0, 0.0, 1.0, 0.0, 0.0)),
    "one state only": (50.0, 50.0, 1e-4, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)),
    "nothing known": (0.0, 1.0, 0.01, (0.25, 0.25, 0.25, 0.25, 0.5, 0.5)),
}


def log_density(a, linear, n_rows, precision, pair):
    w0, w1, w2, w3, u, v = pair
    terms = [(w0, 0.0), (w1, -u), (w2, -v), (w3, 1 - u - v)]
    logs = [math.log(w) + f * a for w, f in terms if w > 0]
    log_m = max(logs) + math.log(sum(math.exp(x - max(logs)) for x in logs))
    return linear * a - n_rows * log_m - 0.5 * precision * a * a


def quadrature(linear, n_rows, precision, pair, mode):
    """Log integral relative to the density at the mode, by an adaptive rule."""
    at_mode = log_density(mode, linear, n_rows, precision, pair)
    prior_sd = 1 / math.sqrt(precision)
    edges = mode + np.array([-1, -0.1, -0.01, 0.01, 0.1, 1]) * 40 * prior_sd
    pieces = [
        integrate.quad(
            lambda a: math.exp(log_density(a, linear, n_rows, precision, pair) - at_mode),
            low, high, limit=500, epsabs=0, epsrel=1e-11,
        )[0]
        for low, high in pairwise(edges)
    ]  # fmt: skip
    return math.log(sum(pieces))


# Bounds on the error of log integrals. The integral omits tails more than 18 log units below the
# mode, some 1e-8 to 1e-6 where they are exponential; the error of the trapezoidal rule is of that
# size unless the density has corners sharper than the step. An error of 2e-6 in log odds is one of
# at most 5e-7 in a probability, which no run is long enough to detect. The conditional of a bias
# may have corners, but no update uses its integral: the tolerance of step halving, 2e-2, suffices.
INTEGRAL_ERROR = dict.fromkeys(PAIRS, 2e-6)
INTEGRAL_ERROR |= {"a bias": 2e-2, "a constant column": 2e-2, "one state only": 2e-2}


@pytest.mark.parametrize("name", PAIRS)
def test_integral_equals_quadrature(name):
    linear, n_rows, precision, pair = PAIRS[name]
    mode, sd, value, _, left, right = conditional_integral(linear, n_rows, precision, pair)
    at_mode = log_density(mode, linear, n_rows, precision, pair)
    step = 1e-5 / math.sqrt(precision + n_rows / 4)
    rise = log_density(mode + step, linear, n_rows, precision, pair) - log_density(
        mode - step, linear, n_rows, precision, pair
    )
    assert abs(rise / step) < 1e-3 * math.sqrt(precision + n_rows / 4) + 1e-4 * n_rows
    exact = quadrature(linear, n_rows, precision, pair, mode)
    assert value - at_mode == pytest.approx(exact, abs=INTEGRAL_ERROR[name])
    assert left[0] > 0 > right[0]
    assert left[1] < 0 < right[1]
    assert 0 < sd <= 1 / math.sqrt(precision)


def random_edge(rng, rare):
    """Conditional of a centered coupling in a typical update: rows of two nodes, and biases."""
    n_rows = int(rng.choice([20, 100, 1000]))
    bias = rng.normal(size=2) - rare * rng.uniform(1, 5, 2)
    weight = np.exp([0, bias[0], bias[1], bias.sum() + rng.normal() * rng.integers(2)])
    counts = rng.multinomial(n_rows, weight / weight.sum())
    ones = counts[[1, 2]] + counts[3]
    now = np.log((ones + 0.5) / (n_rows - ones + 0.5)) + rng.normal(size=2) / np.sqrt(0.05 * n_rows)
    weight = np.exp([0, now[0], now[1], now.sum()])
    v, u = ones / n_rows
    linear = counts[3] - u * ones[0] - v * ones[1] + 0.01 * (now[0] * u + now[1] * v)
    precision = rng.gamma(10) / 10 + 0.01 * (u * u + v * v)
    return float(linear), float(n_rows), precision, (*(weight / weight.sum()).tolist(), u, v)


@pytest.mark.parametrize(("rare", "bound"), [(0, 1e-5), (1, 1e-4)])
def test_integrals_of_random_edges(rare, bound):
    # Nodes that are rarely 1 have the sharpest corners. The largest error among thousands of edges
    # is 1e-4 in log odds, or 2.5e-5 in a probability.
    rng = np.random.default_rng(12)
    errors = []
    for _ in range(150):
        edge = random_edge(rng, rare)
        mode, sd, value, *_ = conditional_integral(*edge)
        grid = mode + sd * np.linspace(-25, 25, 4001)
        logs = np.array([log_density(a, *edge) for a in grid])
        assert logs[[0, -1]].max() < logs.max() - 20
        exact = np.log(np.exp(logs - logs.max()).sum() * (grid[1] - grid[0])) + logs.max()
        errors.append(abs(value - exact))
    assert max(errors) < bound
    assert np.median(errors) < 1e-7


@pytest.mark.parametrize("name", PAIRS)
def test_log_concave_draws_have_the_density(name):
    linear, n_rows, precision, pair = PAIRS[name]
    mode, _, value, around, left, right = conditional_integral(linear, n_rows, precision, pair)
    draws = mode + log_concave_draws(n_rows, precision, around, left, right, 20_000, 5)
    grid = np.linspace(draws.min() - draws.std(), draws.max() + draws.std(), 20_001)
    density = np.exp([log_density(a, linear, n_rows, precision, pair) - value for a in grid])
    cdf = integrate.cumulative_simpson(density, x=grid, initial=0)
    assert cdf[-1] == pytest.approx(1, abs=max(1e-4, INTEGRAL_ERROR[name]))
    cdf /= cdf[-1]

    def p_value(scale):
        return stats.kstest(mode + scale * (draws - mode), lambda a: np.interp(a, grid, cdf)).pvalue

    assert p_value(1.0) > 1e-3
    assert p_value(1.1) < 1e-3


# Intervals of a conditional, in standard deviations from the mode
INTERVALS = [(-1.0, 2.0), (0.3, 4.0), (-6.0, -1.5), (2.0, 2.5), (-30.0, 30.0)]


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("name", PAIRS)
def test_truncated_conditional(name, interval):
    linear, n_rows, precision, pair = PAIRS[name]
    mode, sd, _, around, left, right = conditional_integral(linear, n_rows, precision, pair)
    low, high = interval[0] * sd, interval[1] * sd
    at_mode = log_density(mode, linear, n_rows, precision, pair)
    # a grid that is dense where the density is highest
    peak, far = min(max(0.0, low), high), np.geomspace(1e-6, 1.0, 20_001)
    grid = np.unique(
        np.concatenate([peak + (low - peak) * far, [peak], peak + (high - peak) * far])
    )
    logs = (
        np.array([log_density(mode + a, linear, n_rows, precision, pair) for a in grid]) - at_mode
    )
    cdf = integrate.cumulative_trapezoid(np.exp(logs - logs.max()), x=grid, initial=0)
    exact = math.log(cdf[-1]) + logs.max()
    assert truncated_integral(low, high, n_rows, precision, around) == pytest.approx(
        exact, abs=2e-3
    )
    draws = truncated_draws(low, high, n_rows, precision, around, left, right, 10_000, 5)
    assert low <= draws.min()
    assert draws.max() <= high

    def p_value(some):
        return stats.kstest(some, lambda a: np.interp(a, grid, cdf / cdf[-1])).pvalue

    assert p_value(draws) > 1e-4
    # power: draws with a standard deviation 15% smaller are rejected
    middle = np.median(draws)
    assert p_value(middle + 0.85 * (draws - middle)) < 1e-4


@pytest.mark.parametrize("precision", [0.5, 30.0])
@pytest.mark.parametrize("gradient", [0.0, 3.0, -40.0, 160.0])
@pytest.mark.parametrize("width", [0.002, 0.4, 3.0])
def test_window_proposal(gradient, precision, width):
    log_share, clipped = window_integral(gradient, precision, width)
    largest = max(abs(clipped) * width - precision * width**2 / 2, 0.0)
    if abs(clipped) < precision * width:
        largest = clipped**2 / precision / 2
    points = [clipped / precision] if abs(clipped) < precision * width else None
    exact = integrate.quad(
        lambda a: math.exp(clipped * a - precision * a * a / 2 - largest), -width, width,
        points=points, epsabs=0, epsrel=1e-11, limit=200,
    )[0]  # fmt: skip
    assert log_share == pytest.approx(math.log(exact) + largest, abs=1e-8)
    draws = window_draws(clipped, precision, width, 20_000, 7)
    assert np.abs(draws).max() <= width
    sd, mean = 1 / math.sqrt(precision), clipped / precision
    grid = np.linspace(-width, width, 4001)
    density = np.exp(clipped * grid - precision * grid**2 / 2 - largest)
    cdf = integrate.cumulative_simpson(density, x=grid, initial=0)
    result = stats.kstest(draws, lambda a: np.interp(a, grid, cdf / cdf[-1]))
    assert result.pvalue > 1e-3, (mean, sd)
