"""Tree-block Gibbs: choice of the forest, upward messages, and invariance of the field."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_fields import lists_of
from slabfield.kernels.gibbs import new_streams
from slabfield.kernels.tree_gibbs import sample_forest, sample_induced_forest, upward_message


def random_field(seed, d, density, scale):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, scale, (d, d)) * (rng.random((d, d)) < density), 1)
    return rng.normal(size=d), upper + upper.T


def forest_of(coupling, seed):
    d = len(coupling)
    inside, order, above = np.zeros(d, np.bool_), np.zeros(d, np.int64), np.zeros(d, np.int64)
    rng = np.random.default_rng(seed)
    lists = lists_of(coupling)
    count = sample_induced_forest(*lists, inside, np.zeros(d, np.int64), order, above, rng)
    return lists[0], inside, order[:count], above


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 30), density=st.floats(0, 1))
def test_induced_forest_has_no_cycles_and_is_maximal(seed, d, density):
    _, coupling = random_field(seed, d, density, 2.0)
    neighbors, inside, order, above = forest_of(coupling, seed)
    assert np.array_equal(np.sort(order), np.flatnonzero(inside))
    graph = nx.from_numpy_array(coupling != 0)
    forest = graph.subgraph(order.tolist())
    assert nx.is_forest(forest)
    for i in np.flatnonzero(~inside).tolist():
        assert not nx.is_forest(graph.subgraph([*order.tolist(), i]))
    place = {i: k for k, i in enumerate(order.tolist())}
    parents = [(i, int(neighbors[i, above[i]])) for i in order.tolist() if above[i] >= 0]
    assert {frozenset(pair) for pair in parents} == {frozenset(edge) for edge in forest.edges}
    assert all(place[parent] < place[i] for i, parent in parents)


def test_forest_contains_the_strongest_edge():
    _, coupling = random_field(1, 12, 0.6, 0.5)
    coupling[3, 7] = coupling[7, 3] = 6.0
    seen = [forest_of(coupling, seed)[1] for seed in range(50)]
    assert all(inside[3] and inside[7] for inside in seen)
    assert len({inside.tobytes() for inside in seen}) > 2


@pytest.mark.parametrize("weight", [-9.0, -0.3, 0.0, 2.0, 9.0])
def test_upward_message_is_an_odds_ratio(weight):
    field = np.linspace(-40, 40, 400)
    odds = np.full(400, 2.0, np.float32)
    upward_message(np.exp(field).astype(np.float32), np.float32(np.exp(weight)), odds)
    expected = np.log(2) + np.logaddexp(0, field + weight) - np.logaddexp(0, field)
    np.testing.assert_allclose(np.log(odds), expected, atol=2e-6, rtol=1e-6)


def test_odds_stay_finite_with_many_children():
    odds = np.array([1e25, 1e25, 1e-25], np.float32)
    parent = np.ones(3, np.float32)
    for factor in [np.float32(np.exp(25.0))] * 9:
        upward_message(odds, factor, parent)
    assert parent.tolist() == pytest.approx([1e25, 1e25, 1.0])


@pytest.mark.parametrize("start", ["the field", "noise"])
@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_tree_gibbs_leaves_the_field_invariant_and_converges_to_it(start, kind):
    """Frequencies of all 256 states in 65,536 particles: mean chi-squared per state is near 1."""
    d, n, rng = 8, 65_536, np.random.default_rng(5)
    bias, coupling = random_field(2, d, 0.5, 2.0)
    every = (np.arange(1 << d)[:, None] >> np.arange(d)) & 1
    energy = every @ bias + 0.5 * np.einsum("si,ij,sj->s", every, coupling, every)
    probability = np.exp(energy - np.logaddexp.reduce(energy))
    states = every[rng.choice(1 << d, n, p=probability)] if start == "the field" else rng.integers(
        0, 2, (n, d)
    )  # fmt: skip
    states = np.ascontiguousarray(states.T, dtype=kind)
    some = np.zeros((2, n), np.float32), np.zeros(d, np.int32), np.zeros(d, np.float32)
    buffers = (*some[0], *some[1:], np.zeros(d, np.bool_), *np.zeros((3, d), np.int64))
    streams, fields = new_streams(n, rng), np.zeros((d, n), np.float32)
    for _ in range(3 if start == "the field" else 30):
        sample_forest(states, bias, *lists_of(coupling), streams, fields, buffers, rng)
    count = np.bincount((states.T @ (1 << np.arange(d))).astype(int), minlength=1 << d)
    common = n * probability > 5
    error = (count - n * probability)[common] ** 2 / (n * probability)[common]
    assert error.mean() == pytest.approx(1.0, abs=0.35)
