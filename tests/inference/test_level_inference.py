"""Exact inference and Gibbs runs of fields of nodes with levels, against brute force."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from level_fields import (
    MIXED,
    all_rows,
    binary_twins,
    goodness_of_fit,
    probabilities,
    random_field,
    scaled,
)
from slabfield.inference import elimination, enumeration
from slabfield.inference.level_gibbs_runs import LevelGibbsRuns
from slabfield.inference.row_tables import connected_sets
from slabfield.models.energy_field import EnergyField

kinds = st.lists(
    st.sampled_from([("ordinal", 2), ("ordinal", 4), ("nominal", 3), ("blume-capel", 3)]),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(kinds, st.integers(0, 10**6), st.sampled_from([0.3, 0.7, 1.0]))
def test_log_partition_equals_the_sum_over_all_rows(
    nodes: list[tuple[str, int]], seed: int, share: float
) -> None:
    field = random_field(nodes, seed, scale=2.0, share=share)
    expected = np.logaddexp.reduce(field.log_potential(all_rows(field)))
    assert enumeration.log_partition(field) == pytest.approx(expected, abs=1e-10)
    assert elimination.log_partition(field) == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(enumeration.probabilities(field), probabilities(field), atol=1e-12)
    energies = EnergyField.of(field)
    np.testing.assert_allclose(
        energies.log_potential(all_rows(field)), field.log_potential(all_rows(field)), atol=1e-10
    )


def test_the_index_of_a_state_has_a_digit_for_each_node() -> None:
    field = random_field(MIXED, 0)
    index = np.arange(np.prod(field.n_states))
    np.testing.assert_array_equal(enumeration.states_of(index, field.n_states), all_rows(field))


def test_nodes_with_two_levels_are_binary_nodes() -> None:
    binary, levels = binary_twins(9, 3)
    for method in (enumeration, elimination):
        assert method.log_partition(levels) == pytest.approx(
            method.log_partition(binary), abs=1e-10
        )
        np.testing.assert_array_equal(
            method.sample(levels, 200, np.random.default_rng(1)),
            method.sample(binary, 200, np.random.default_rng(1)),
        )
    rows = np.random.default_rng(0).integers(0, 2, (30, 9))
    np.testing.assert_allclose(
        enumeration.log_likelihood(levels, rows),
        enumeration.log_likelihood(binary, rows),
        atol=1e-10,
    )
    assert elimination.plan(levels) == elimination.plan(binary)


def test_a_long_chain_is_eliminated() -> None:
    """Transfer matrices of a chain of 60 nodes of three levels."""
    field = random_field([("nominal", 3)] * 60, 5)
    first, second = field.model.ends
    sizes = np.diff(field.model.group_start)
    coupling = np.where(np.repeat(second - first == 1, sizes), field.coupling, 0.0)
    chain = field.model.field(field.bias, coupling)
    message = chain.node_energy(0)
    for i in range(1, 60):
        joint = message[:, None] + chain.pair_energy(i - 1, i)
        message = np.logaddexp.reduce(joint, axis=0) + chain.node_energy(i)
    expected = np.logaddexp.reduce(message)
    assert elimination.log_partition(chain) == pytest.approx(expected, rel=1e-12)
    assert elimination.plan(chain).largest_table == 3


def test_strong_energies_do_not_overflow() -> None:
    field = random_field(MIXED, 1, scale=3_000.0)
    largest = field.log_potential(all_rows(field)).max()
    assert enumeration.log_partition(field) == pytest.approx(largest)
    assert elimination.log_partition(field) == pytest.approx(largest)
    rows = elimination.sample(field, 5, np.random.default_rng(0))
    np.testing.assert_allclose(field.log_potential(rows), largest)


@pytest.mark.parametrize("method", [enumeration, elimination])
def test_draws_have_the_right_distribution(method: Any) -> None:
    field = random_field(MIXED, 2, share=0.8)
    rows = method.sample(field, 50_000, np.random.default_rng(3))
    assert rows.dtype == np.uint8
    assert goodness_of_fit(field, rows) > 1e-3
    # the test has power: draws of a slightly wrong field fail it
    wrong = method.sample(scaled(field, 1.1), 50_000, np.random.default_rng(3))
    assert goodness_of_fit(field, wrong) < 1e-6


def test_states_of_gibbs_runs_have_the_right_distribution() -> None:
    field = random_field(MIXED, 2, share=0.8)
    rng = np.random.default_rng(4)
    runs = LevelGibbsRuns(field.n_states, 20_000, rng)
    runs.advance(field, 40)
    assert goodness_of_fit(field, runs.states.T) > 1e-3
    runs.advance(scaled(field, 1.15), 40)  # continues with another field
    assert goodness_of_fit(field, runs.states.T) < 1e-6


def test_mean_conditionals_are_marginals() -> None:
    field = random_field(MIXED, 6, scale=0.7)
    energies = EnergyField.of(field)
    runs = LevelGibbsRuns(field.n_states, 500, np.random.default_rng(0))
    runs.advance(field, 20)
    found = runs.mean_conditionals(energies, 200)
    rows, weights = all_rows(field), probabilities(field)
    expected = [np.bincount(rows[:, i], weights) for i in range(field.n_nodes)]
    assert np.abs(found - np.concatenate(expected)).max() < 0.01
    other = [np.bincount(rows[:, i], probabilities(scaled(field, 1.3))) for i in range(4)]
    assert np.abs(found - np.concatenate(other)).max() > 0.01


@pytest.mark.parametrize("use", ["log_partition", "sample"])
def test_memory_is_that_of_the_plan(use: str) -> None:
    field = random_field([("ordinal", 4), ("nominal", 3)] * 4, 1, share=1.0)
    needed = getattr(elimination.plan(field), f"{use}_bytes")
    arguments = (1, np.random.default_rng(0)) if use == "sample" else ()
    tracemalloc.start()
    try:
        getattr(elimination, use)(field, *arguments, memory_limit=needed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.7 * needed < peak < needed + 200_000
    with pytest.raises(elimination.TableTooLargeError, match=f"at least {needed:,} bytes"):
        getattr(elimination, use)(field, *arguments, memory_limit=needed - 1)


def test_too_many_states_are_refused() -> None:
    field = random_field([("ordinal", 3)] * 13, 0)
    with pytest.raises(ValueError, match=r"1,048,576 joint states.*has 1,594,323 states"):
        enumeration.log_partition(field)
    with pytest.raises(ValueError, match=r"codes from 0.*also hold \[3\]"):
        enumeration.log_likelihood(random_field(MIXED, 0), [[3, 0, 0, 3]])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_connected_sets_are_those_of_each_row(seed: int) -> None:
    from scipy.sparse.csgraph import connected_components

    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((7, 7)) < 0.3, 1)
    edges, hidden = upper | upper.T, rng.random((12, 7)) < 0.6
    found = sorted(
        (row, tuple(nodes.tolist()))
        for nodes, rows in connected_sets(edges, hidden)
        for row in rows.tolist()
    )
    expected = []
    for row, unknown in enumerate(hidden):
        nodes = np.flatnonzero(unknown)
        n, label = connected_components(edges[np.ix_(nodes, nodes)])
        expected += [(row, tuple(nodes[label == c].tolist())) for c in range(n)]
    assert found == sorted(expected)
