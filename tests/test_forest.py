"""Forests: which nodes they have, what children say of their parents, and what is drawn."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slabfield.kernels.forest import draw_forest, plant, tell_parent
from slabfield.kernels.gibbs import new_lanes


def lists_of(coupling):
    d = len(coupling)
    neighbours, weights = np.zeros((d, d), np.int32), np.zeros((d, d), np.float32)
    degree = np.zeros(d, np.int64)
    for i in range(d):
        near = np.flatnonzero(coupling[i])
        degree[i] = near.size
        neighbours[i, : near.size], weights[i, : near.size] = near, coupling[i, near]
    return neighbours, weights, degree


def random_field(seed, d, density, scale):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, scale, (d, d)) * (rng.random((d, d)) < density), 1)
    return rng.normal(size=d), upper + upper.T


def planted(coupling, seed):
    d = len(coupling)
    inside, order, above = np.zeros(d, np.bool_), np.zeros(d, np.int64), np.zeros(d, np.int64)
    rng = np.random.default_rng(seed)
    lists = lists_of(coupling)
    count = plant(*lists, inside, np.zeros(d, np.int64), order, above, rng)
    return lists[0], inside, order[:count], above


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 30), density=st.floats(0, 1))
def test_a_forest_has_no_rings_and_no_node_could_join_it(seed, d, density):
    _, coupling = random_field(seed, d, density, 2.0)
    neighbours, inside, order, above = planted(coupling, seed)
    assert np.array_equal(np.sort(order), np.flatnonzero(inside))
    graph = nx.from_numpy_array(coupling != 0)
    forest = graph.subgraph(order.tolist())
    assert nx.is_forest(forest)
    for i in np.flatnonzero(~inside).tolist():
        assert not nx.is_forest(graph.subgraph([*order.tolist(), i]))
    place = {i: k for k, i in enumerate(order.tolist())}
    parents = [(i, int(neighbours[i, above[i]])) for i in order.tolist() if above[i] >= 0]
    assert {frozenset(pair) for pair in parents} == {frozenset(edge) for edge in forest.edges}
    assert all(place[parent] < place[i] for i, parent in parents)


def test_the_strongest_edge_is_mostly_in_the_forest():
    _, coupling = random_field(1, 12, 0.6, 0.5)
    coupling[3, 7] = coupling[7, 3] = 6.0
    seen = [planted(coupling, seed)[1] for seed in range(50)]
    assert all(inside[3] and inside[7] for inside in seen)
    assert len({inside.tobytes() for inside in seen}) > 2


@pytest.mark.parametrize("weight", [-9.0, -0.3, 0.0, 2.0, 9.0])
def test_what_a_child_says_is_a_ratio(weight):
    field = np.linspace(-40, 40, 400)
    told = np.full(400, 2.0, np.float32)
    tell_parent(np.exp(field).astype(np.float32), np.float32(np.exp(weight)), told)
    wanted = np.log(2) + np.logaddexp(0, field + weight) - np.logaddexp(0, field)
    np.testing.assert_allclose(np.log(told), wanted, atol=2e-6, rtol=1e-6)


def test_odds_stay_finite_however_many_children_agree():
    odds = np.array([1e25, 1e25, 1e-25], np.float32)
    told = np.ones(3, np.float32)
    for factor in [np.float32(np.exp(25.0))] * 9:
        tell_parent(odds, factor, told)
    assert told.tolist() == pytest.approx([1e25, 1e25, 1.0])


@pytest.mark.parametrize("start", ["the field", "noise"])
@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_forests_keep_the_field_and_lead_to_it(start, kind):
    """Shares of all 256 states in 65,536 particles: chi-squared beside its degrees of freedom."""
    d, n, rng = 8, 65_536, np.random.default_rng(5)
    bias, coupling = random_field(2, d, 0.5, 2.0)
    every = (np.arange(1 << d)[:, None] >> np.arange(d)) & 1
    energy = every @ bias + 0.5 * np.einsum("si,ij,sj->s", every, coupling, every)
    chance = np.exp(energy - np.logaddexp.reduce(energy))
    states = every[rng.choice(1 << d, n, p=chance)] if start == "the field" else rng.integers(
        0, 2, (n, d)
    )  # fmt: skip
    states = np.ascontiguousarray(states.T, dtype=kind)
    some = np.zeros((2, n), np.float32), np.zeros(d, np.int32), np.zeros(d, np.float32)
    room = (*some[0], *some[1:], np.zeros(d, np.bool_), *np.zeros((3, d), np.int64))
    lanes, fields = new_lanes(n, rng), np.zeros((d, n), np.float32)
    for _ in range(3 if start == "the field" else 30):
        draw_forest(states, bias, *lists_of(coupling), lanes, fields, room, rng)
    count = np.bincount((states.T @ (1 << np.arange(d))).astype(int), minlength=1 << d)
    common = n * chance > 5
    error = (count - n * chance)[common] ** 2 / (n * chance)[common]
    assert error.mean() == pytest.approx(1.0, abs=0.35)
