"""Compiled loops against plain Python, NumPy and SciPy."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from helpers import draw_conditionals, draw_windows, integrals, log_integrals
from slabfield.kernels import gibbs, table
from slabfield.kernels.counts import count_all_pairs, n_words, pack


def small_field(n_nodes=5, n=70, seed=0):
    rng = np.random.default_rng(seed)
    states = (rng.random((n_nodes, n)) < 0.5).astype(np.float32)
    bias = rng.normal(size=n_nodes)
    neighbours = np.array([[j for j in range(n_nodes) if j != i] for i in range(n_nodes)], np.int32)
    weights = rng.normal(size=neighbours.shape).astype(np.float32)
    degree = np.array([4, 3, 2, 1, 0], np.int64)
    return states, bias, neighbours, weights, degree, gibbs.new_lanes(n, rng)


def test_sweep_equals_its_plain_python():
    states, bias, neighbours, weights, degree, lanes = small_field()
    plain, plain_lanes = states.copy(), lanes.copy()
    work = np.zeros(states.shape[1], np.float32)
    for _ in range(3):
        gibbs.sweep(states, bias, neighbours, weights, degree, lanes, work)
        for i in range(5):
            field = np.zeros_like(work)
            gibbs.accumulate.py_func(
                field, np.float32(bias[i]), neighbours[i], weights[i], degree[i], plain
            )
            with np.errstate(over="ignore"):
                gibbs.resample.py_func(plain[i], field, plain_lanes)
    assert np.array_equal(states, plain)
    assert np.array_equal(lanes, plain_lanes)


@pytest.mark.parametrize("field", [-12.0, -4.0, -0.3, 0.0, 1.7, 6.0])
def test_resample_draws_with_the_logistic_probability(field):
    n, rounds = 4096, 250
    lanes = gibbs.new_lanes(n, np.random.default_rng(3))
    state, h = np.zeros(n, np.float32), np.full(n, field, np.float32)
    ones = 0
    for _ in range(rounds):
        gibbs.resample(state, h, lanes)
        ones += int(state.sum())
    p = 1 / (1 + math.exp(-field))
    assert abs(ones - n * rounds * p) < 4.5 * math.sqrt(n * rounds * p * (1 - p)) + 1


def test_rational_tanh_is_within_its_stated_error():
    y = np.linspace(-9, 9, 100_001).astype(np.float32)
    z = y * y
    top = y * (gibbs.P0 + z * (gibbs.P1 + z * (gibbs.P2 + z * (gibbs.P3 + z * gibbs.P4))))
    bottom = gibbs.ONE + z * (gibbs.Q1 + z * (gibbs.Q2 + z * (gibbs.Q3 + z * gibbs.Q4)))
    assert np.abs(top.astype(float) / bottom - np.tanh(y.astype(float))).max() < 4e-7


def test_lanes_are_xoshiro128plus():
    # The first outputs from the state 1, 2, 3, 4, worked out with Python's whole numbers
    mask = 2**32 - 1
    a, b, c, d = 1, 2, 3, 4
    lanes = np.array([[1], [2], [3], [4]], np.uint32)
    for _ in range(50):
        t = (b << 9) & mask
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        d = ((d << 11) | (d >> 21)) & mask
        gibbs.resample(np.zeros(1, np.float32), np.zeros(1, np.float32), lanes)
        assert lanes[:, 0].tolist() == [a, b, c, d]


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
    x = values + shift
    table.exponentiate(x, shift, x.view(np.int64))
    assert np.abs(x[:-1] / expected - 1).max() < 2e-13
    assert 0 < x[-1] < 1e-300


@pytest.mark.parametrize("n_nodes", [4, 6, 9])
def test_sub_cubes(n_nodes):
    rng = np.random.default_rng(n_nodes)
    weights = rng.random(1 << n_nodes)
    index = np.arange(weights.size)
    block = np.zeros(table.BLOCK)
    for low in range(n_nodes):
        for high in range(low, n_nodes):
            inside = ((index >> low) & (index >> high) & 1).astype(bool)
            total = table.sum_where(weights, low, high, block)
            assert total == pytest.approx(weights[inside].sum())
            if low < high:
                quadrants = table.quadrant_sums(weights, low, high, block)
                for k, found in enumerate(quadrants):
                    here = ((index >> low) & 1 == k & 1) & ((index >> high) & 1 == k >> 1)
                    assert found == pytest.approx(weights[here].sum())
            scaled = weights.copy()
            table.scale_where(scaled, low, high, 1.7)
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


def log_density(a, slope, n_rows, precision, pair):
    w0, w1, w2, w3, u, v = pair
    terms = [(w0, 0.0), (w1, -u), (w2, -v), (w3, 1 - u - v)]
    logs = [math.log(w) + f * a for w, f in terms if w > 0]
    growth = max(logs) + math.log(sum(math.exp(x - max(logs)) for x in logs))
    return slope * a - n_rows * growth - 0.5 * precision * a * a


@pytest.mark.parametrize("name", PAIRS)
def test_log_integral_against_quadrature(name):
    slope, n_rows, precision, pair = PAIRS[name]
    mode, value = log_integrals(slope, n_rows, precision, pair)
    top = log_density(mode, slope, n_rows, precision, pair)
    step = 1e-5 / math.sqrt(precision + n_rows / 4)
    rise = log_density(mode + step, slope, n_rows, precision, pair) - log_density(
        mode - step, slope, n_rows, precision, pair
    )
    assert abs(rise / step) < 1e-3 * math.sqrt(precision + n_rows / 4) + 1e-4 * n_rows
    spread = 1 / math.sqrt(precision)
    edges = mode + np.array([-1, -0.1, -0.01, 0.01, 0.1, 1]) * 40 * spread
    pieces = [
        integrate.quad(
            lambda a: math.exp(log_density(a, slope, n_rows, precision, pair) - top),
            low, high, limit=500, epsabs=0, epsrel=1e-11,
        )[0]
        for low, high in pairwise(edges)
    ]  # fmt: skip
    assert value - top == pytest.approx(math.log(sum(pieces)), abs=2e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_draw_conditional_has_its_density(name):
    slope, n_rows, precision, pair = PAIRS[name]
    mode, value = log_integrals(slope, n_rows, precision, pair)
    draws = draw_conditionals(slope, n_rows, precision, pair, mode, 20_000, 5)
    grid = np.linspace(draws.min() - draws.std(), draws.max() + draws.std(), 20_001)
    density = np.exp([log_density(a, slope, n_rows, precision, pair) - value for a in grid])
    cdf = integrate.cumulative_simpson(density, x=grid, initial=0)
    assert cdf[-1] == pytest.approx(1, abs=1e-4)

    def p_value(scale):
        return stats.kstest(mode + scale * (draws - mode), lambda a: np.interp(a, grid, cdf)).pvalue

    assert p_value(1.0) > 1e-3
    assert p_value(1.1) < 1e-3


@pytest.mark.parametrize("precision", [0.5, 30.0])
@pytest.mark.parametrize("slope", [0.0, 3.0, -40.0, 160.0])
@pytest.mark.parametrize("width", [0.002, 0.4, 3.0])
def test_window_proposal(slope, precision, width):
    log_share, kept = integrals(slope, precision, width)
    top = max(abs(kept) * width - precision * width**2 / 2, 0.0)
    if abs(kept) < precision * width:
        top = kept**2 / precision / 2
    points = [kept / precision] if abs(kept) < precision * width else None
    exact = integrate.quad(
        lambda a: math.exp(kept * a - precision * a * a / 2 - top), -width, width,
        points=points, epsabs=0, epsrel=1e-11, limit=200,
    )[0]  # fmt: skip
    assert log_share == pytest.approx(math.log(exact) + top, abs=1e-8)
    draws = draw_windows(kept, precision, width, 20_000, 7)
    assert np.abs(draws).max() <= width
    sd, mean = 1 / math.sqrt(precision), kept / precision
    grid = np.linspace(-width, width, 4001)
    density = np.exp(kept * grid - precision * grid**2 / 2 - top)
    cdf = integrate.cumulative_simpson(density, x=grid, initial=0)
    result = stats.kstest(draws, lambda a: np.interp(a, grid, cdf / cdf[-1]))
    assert result.pvalue > 1e-3, (mean, sd)
