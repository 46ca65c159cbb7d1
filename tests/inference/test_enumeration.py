"""Enumeration against a plain loop over all states."""

import tracemalloc
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from slabfield.inference import enumeration
from slabfield.models.field import BinaryField


def random_field(n_nodes: int, seed: int, scale: float = 1.0, density: float = 0.6) -> BinaryField:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, scale, (n_nodes, n_nodes)), 1)
    upper *= rng.random((n_nodes, n_nodes)) < density
    return BinaryField(rng.normal(0, scale, n_nodes), upper + upper.T)


def log_weight(field: BinaryField, state: tuple[int, ...]) -> float:
    nodes = range(field.n_nodes)
    total = sum(field.bias[i] * state[i] for i in nodes)
    return total + sum(field.coupling[i, j] * state[i] * state[j] for i in nodes for j in range(i))


def brute_force(field: BinaryField) -> tuple[list[tuple[int, ...]], np.ndarray, float]:
    """States in the order of the index (node 0 is the lowest bit), log weights, log Z."""
    states = [bits[::-1] for bits in product((0, 1), repeat=field.n_nodes)]
    logs = np.array([log_weight(field, state) for state in states])
    largest = logs.max()
    return states, logs, largest + log(sum(exp(value - largest) for value in logs))


def goodness_of_fit(field: BinaryField, rows: np.ndarray) -> float:
    """P-value of the rows under the field, from the counts of all its states."""
    _, logs, log_z = brute_force(field)
    index = rows.astype(int) @ (1 << np.arange(field.n_nodes))
    counts = np.bincount(index, minlength=logs.size)
    return float(chisquare(counts, len(rows) * np.exp(logs - log_z)).pvalue)


small_fields = st.builds(
    random_field,
    n_nodes=st.integers(1, 7),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    density=st.sampled_from([0.0, 0.3, 1.0]),
)


@given(small_fields)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_all_functions_equal_a_loop_over_states(field):
    states, logs, log_z = brute_force(field)
    x, weight = np.array(states), np.exp(logs - log_z)
    mean, pair_mean = enumeration.moments(field)
    assert enumeration.log_partition(field) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(enumeration.probabilities(field), weight, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(mean, weight @ x, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(pair_mean, x.T @ (weight[:, None] * x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(
        enumeration.log_likelihood(field, x), logs - log_z, rtol=1e-9, atol=1e-10
    )


def test_bit_i_of_the_index_is_node_i():
    field = BinaryField([0.0, 0.0, 50.0], np.zeros((3, 3)))
    assert np.flatnonzero(enumeration.probabilities(field) > 0.1).tolist() == [4, 5, 6, 7]


def test_couplings_beyond_the_range_of_exp():
    field = BinaryField([0.0, -3000.0], [[0.0, 5000.0], [5000.0, 0.0]])
    assert enumeration.log_partition(field) == 2000.0
    assert enumeration.moments(field)[1].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_field_without_nodes_has_one_state():
    empty = BinaryField(np.zeros(0), np.zeros((0, 0)))
    assert enumeration.log_partition(empty) == 0.0
    assert enumeration.sample(empty, 3, np.random.default_rng(0)).shape == (3, 0)


def test_the_largest_allowed_field():
    field = BinaryField(np.full(enumeration.MAX_NODES, 0.3), np.zeros((20, 20)))
    log_z = enumeration.log_partition(field)
    assert log_z == pytest.approx(20 * np.log1p(np.exp(0.3)), rel=1e-12)
    assert enumeration.moments(field)[1][3, 7] == pytest.approx((1 / (1 + np.exp(-0.3))) ** 2)


@pytest.mark.parametrize("name", ["log_partition", "moments", "probabilities"])
def test_refuses_too_many_nodes_before_allocating(name):
    field = BinaryField(np.zeros(40), np.zeros((40, 40)))
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"for example 20 binary nodes; this one of 40.*Use slabfield"
        ):
            getattr(enumeration, name)(field)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_refuses_rows_that_do_not_fit():
    field = random_field(3, seed=0)
    with pytest.raises(ValueError, match=r"found an array of shape \(2, 4\).*shape \(n, 3\)"):
        enumeration.log_likelihood(field, np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"only 0 and 1; they also hold \[-1\].*Code the values"):
        enumeration.log_likelihood(field, [[0, 1, -1]])
    with pytest.raises(ValueError, match="n must be a whole number"):
        enumeration.sample(field, -1, np.random.default_rng(0))


def ring_field(factor: float) -> BinaryField:
    """Five nodes in a ring; a factor other than 1 makes one coupling wrong."""
    coupling = 1.6 * (np.eye(5, k=1) + np.eye(5, k=4))
    coupling[1, 2] *= factor
    return BinaryField(np.full(5, -1.0), coupling + coupling.T)


def test_draws_have_the_right_distribution():
    field = ring_field(1.0)
    rows = enumeration.sample(field, 40_000, np.random.default_rng(11))
    assert rows.dtype == np.uint8
    assert goodness_of_fit(field, rows) > 1e-3


def test_draws_of_a_slightly_wrong_field_are_rejected():
    rows = enumeration.sample(ring_field(1.1), 40_000, np.random.default_rng(11))
    assert goodness_of_fit(ring_field(1.0), rows) < 1e-6


def test_impossible_states_are_never_drawn():
    field = BinaryField([-2000.0, 0.0, 2000.0], np.zeros((3, 3)))
    rows = enumeration.sample(field, 1000, np.random.default_rng(0))
    assert not rows[:, 0].any()
    assert rows[:, 2].all()
    assert 400 < rows[:, 1].sum() < 600


def test_a_uniform_number_of_exactly_zero_draws_no_impossible_state():
    class Zeros(np.random.Generator):
        def random(self, n):
            return np.zeros(n)

    field = BinaryField([2000.0], [[0.0]])
    assert enumeration.sample(field, 3, Zeros(np.random.PCG64())).all()
