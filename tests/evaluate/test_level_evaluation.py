"""Likelihoods, predictions and samples of fields of nodes with levels, against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from level_fields import (
    MIXED,
    all_rows,
    binary_twins,
    goodness_of_fit,
    probabilities,
    random_field,
    scaled,
)
from slabfield import evaluate
from slabfield.evaluate import prediction, sampling
from slabfield.models.level_field import LevelField
from slabfield.validation import InputError

LARGER = [*MIXED, ("ordinal", 2), ("nominal", 4)]


def random_rows(field: LevelField, n: int, seed: int = 0) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, field.n_states, (n, field.n_nodes)).astype(np.uint8)


def given_known(
    field: LevelField, row: NDArray[Any], known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Probabilities of all joint states given the known entries of a row."""
    agrees = np.all((all_rows(field) == row) | ~known, axis=1)
    weights = probabilities(field) * agrees
    return np.asarray(weights / weights.sum())


def of_group(field: LevelField, row: NDArray[Any], group: Any) -> float:
    """Log P(group | rest) of a row."""
    known = ~np.isin(np.arange(field.n_nodes), group)
    same = np.all(all_rows(field) == row, axis=1)
    return float(np.log(given_known(field, row, known)[same][0]))


def marginal(
    field: LevelField, row: NDArray[Any], unknown: NDArray[np.bool_], node: int
) -> NDArray[np.float64]:
    """Probabilities of the levels of a node given the known other entries of a row."""
    known = ~unknown & (np.arange(field.n_nodes) != node)
    weights = given_known(field, row, known)
    return np.bincount(all_rows(field)[:, node], weights, minlength=field.n_states[node])


# --- likelihoods ------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.4, 1.0]))
def test_conditionals_equal_brute_force(seed: int, share: float) -> None:
    field = random_field(MIXED, seed, share=share)
    rows = random_rows(field, 6, seed)
    each = [[of_group(field, row, [i]) for i in range(4)] for row in rows]
    found = evaluate.pseudo_log_likelihood(field, rows)
    np.testing.assert_allclose(found, np.sum(each, axis=1), atol=1e-10)
    groups = np.stack([np.random.default_rng(seed + r).permutation(4)[:2] for r in range(6)])
    pairs = [of_group(field, *both) for both in zip(rows, groups, strict=True)]
    found = evaluate.conditional_log_likelihood(field, rows, groups)
    np.testing.assert_allclose(found, pairs, atol=1e-10)


def test_likelihoods_of_other_parameters_differ() -> None:
    field = random_field(MIXED, 1)
    rows = random_rows(field, 20)
    for measure in (
        evaluate.pseudo_log_likelihood,
        lambda one, x: evaluate.conditional_log_likelihood(one, x, [0, 3]),
        lambda one, x: evaluate.log_likelihood(one, x).values,
    ):
        difference = measure(scaled(field, 1.01), rows) - measure(field, rows)
        assert np.abs(difference).max() > 1e-3


def test_every_exact_method_gives_the_likelihood() -> None:
    field = random_field(LARGER, 2, share=0.6)
    rows = random_rows(field, 15)
    expected = [of_group(field, row, np.arange(6)) for row in rows]
    for method in ("enumeration", "elimination"):
        found = evaluate.log_likelihood(field, rows, method)
        np.testing.assert_allclose(found.values, expected, atol=1e-10)
        assert found.method == method
        assert not found.standard_error.any()
    np.testing.assert_allclose(
        evaluate.conditional_log_likelihood(field, rows), expected, atol=1e-10
    )


def test_annealing_has_the_error_that_it_states() -> None:
    field = random_field(LARGER, 3, scale=1.5)
    exact = evaluate.log_partition(field).value
    runs = [
        evaluate.log_partition(field, "annealing", seed, n_particles=200, n_temperatures=60)
        for seed in range(40)
    ]
    z = np.array([(run.value - exact) / run.standard_error for run in runs])
    assert np.abs(z).max() < 4.5
    assert 0.6 < z.std() < 1.6
    # the test has power: log Z of a slightly wrong field is outside
    error = np.mean([run.standard_error for run in runs])
    wrong = evaluate.log_partition(scaled(field, 1.05)).value
    assert abs(wrong - exact) > 4.5 * error / np.sqrt(len(runs))


def test_large_fields_are_annealed() -> None:
    """20 nodes of 5 levels, all joined: too many states, and too large a treewidth."""
    field = random_field([("ordinal", 5)] * 20, 0, scale=0.1)
    rows = random_rows(field, 3)
    found = evaluate.log_likelihood(
        field, rows, random_state=0, n_particles=50, n_temperatures=50, memory_limit=10**6
    )
    assert found.method == "annealing"
    assert np.all(found.standard_error > 0)
    np.testing.assert_allclose(np.diff(found.values), np.diff(field.log_potential(rows)))


def test_a_mixture_averages_probabilities() -> None:
    fields = [random_field(MIXED, seed) for seed in range(3)]
    rows = random_rows(fields[0], 10)
    groups = [1, 2]
    each = [evaluate.conditional_log_likelihood(field, rows, groups) for field in fields]
    mixed = evaluate.conditional_log_likelihood(fields, rows, groups)
    np.testing.assert_allclose(mixed, np.log(np.exp(each).mean(axis=0)))
    single = np.array(
        [[[of_group(field, row, [i]) for i in range(4)] for row in rows] for field in fields]
    )
    np.testing.assert_allclose(
        evaluate.pseudo_log_likelihood(fields, rows),
        np.log(np.exp(single).mean(axis=0)).sum(axis=1),
    )


def test_groups_are_limited_by_their_states() -> None:
    field = random_field([("ordinal", 4)] * 9, 0, share=0.2)
    rows = random_rows(field, 2)
    assert evaluate.conditional_log_likelihood(field, rows, np.arange(8)).shape == (2,)
    with pytest.raises(InputError, match="9 nodes with more states") as caught:
        evaluate.conditional_log_likelihood(field, rows)
    assert (caught.value.code, caught.value.fields["limit"]) == ("invalid-groups", 2**16)


@pytest.mark.parametrize("value", [3, -1, 0.5, np.nan])
def test_codes_that_are_no_levels_are_refused(value: float) -> None:
    field = random_field(MIXED, 0)
    with pytest.raises(InputError) as caught:
        evaluate.pseudo_log_likelihood(field, [[0, 0, 0, 0], [0, value, 0, 3]])
    assert caught.value.code == "rows-not-levels"
    assert (caught.value.fields["node"], caught.value.fields["last"]) == (1, 2)


def test_fields_of_other_levels_are_no_mixture() -> None:
    fields = [random_field(MIXED, 0), random_field(MIXED[::-1], 0)]
    with pytest.raises(InputError, match="the same nodes and levels"):
        evaluate.pseudo_log_likelihood(fields, [[0, 0, 0, 0]])


# --- predictions ------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.4, 0.8]), st.sampled_from([0.0, 0.4, 0.9]))
def test_predictions_equal_brute_force(seed: int, share: float, missing: float) -> None:
    field = random_field(LARGER, seed, share=share)
    rows = random_rows(field, 5, seed)
    unknown = np.random.default_rng(seed + 1).random(rows.shape) < missing
    found = evaluate.node_probabilities(field, rows, unknown)
    for node, probability in enumerate(found):
        expected = [
            marginal(field, row, gaps, node) for row, gaps in zip(rows, unknown, strict=True)
        ]
        np.testing.assert_allclose(probability, expected, atol=1e-10)


def test_the_shape_of_predictions_is_that_of_scikit_learn() -> None:
    field = random_field(MIXED, 4)
    rows = random_rows(field, 7)
    every = evaluate.node_probabilities(field, rows)
    assert [each.shape for each in every] == [(7, 3), (7, 3), (7, 2), (7, 4)]
    one = evaluate.node_probabilities(field, rows, nodes=3)
    assert isinstance(one, np.ndarray)
    np.testing.assert_allclose(one, every[3])
    some = evaluate.node_probabilities(field, rows, nodes=[3, 0])
    np.testing.assert_allclose(some[0], every[3])
    np.testing.assert_allclose(some[1], every[0])


def test_predictions_of_a_mixture_are_averages() -> None:
    fields = [random_field(MIXED, seed) for seed in range(3)]
    rows = random_rows(fields[0], 8)
    unknown = np.random.default_rng(0).random(rows.shape) < 0.5
    mixed = evaluate.node_probabilities(fields, rows, unknown)
    each = [evaluate.node_probabilities(field, rows, unknown) for field in fields]
    for node in range(4):
        np.testing.assert_allclose(mixed[node], np.mean([one[node] for one in each], axis=0))


def test_many_unknown_nodes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    field = random_field(LARGER, 5, share=0.5)
    rows = random_rows(field, 12)
    unknown = np.random.default_rng(1).random(rows.shape) < 0.6
    exact = np.hstack(evaluate.node_probabilities(field, rows, unknown))
    monkeypatch.setattr(prediction, "MOST_STATES", 4)
    sampled = np.hstack(evaluate.node_probabilities(field, rows, unknown, random_state=0))
    assert 0 < np.abs(sampled - exact).max() < 0.05
    # the test has power: a wrong field fails it
    wrong = np.hstack(evaluate.node_probabilities(scaled(field, 1.5), rows, unknown))
    assert np.abs(wrong - exact).max() > 0.05
    # rows do not depend on each other
    alone = np.hstack(evaluate.node_probabilities(field, rows[4:5], unknown[4:5], random_state=0))
    np.testing.assert_allclose(alone[0], sampled[4])


# --- new rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["enumeration", "elimination", "gibbs"])
def test_every_method_to_sample_rows(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if method != "enumeration":
        monkeypatch.setattr(sampling, "MOST_STATES", 2)
    if method == "gibbs":
        monkeypatch.setattr(sampling, "MEMORY_LIMIT", 1)
        monkeypatch.setattr(sampling, "N_SWEEPS", 50)
    field = random_field(MIXED, 2, scale=1.5, share=0.8)
    rows = evaluate.sample_rows(field, 20_000, random_state=0)
    assert rows.dtype == np.uint8
    assert goodness_of_fit(field, rows) > 1e-3
    wrong = evaluate.sample_rows(scaled(field, 1.15), 20_000, random_state=0)
    assert goodness_of_fit(field, wrong) < 1e-6
    np.testing.assert_array_equal(rows, evaluate.sample_rows(field, 20_000, random_state=0))


# --- binary nodes -----------------------------------------------------------------------------


def test_nodes_with_two_levels_are_binary_nodes() -> None:
    binary, levels = binary_twins(8, 1)
    rows = random_rows(levels, 30)
    unknown = np.random.default_rng(1).random(rows.shape) < 0.4
    groups = np.stack([np.random.default_rng(r).permutation(8)[:3] for r in range(30)])
    for measure in (
        lambda field: evaluate.pseudo_log_likelihood(field, rows),
        lambda field: evaluate.conditional_log_likelihood(field, rows, groups),
        lambda field: evaluate.log_likelihood(field, rows).values,
        lambda field: evaluate.log_likelihood(field, rows, "elimination").values,
        lambda field: evaluate.node_probabilities(field, rows),
        lambda field: evaluate.node_probabilities(field, rows, unknown),
        lambda field: evaluate.node_probabilities(field, rows, unknown, nodes=[5, 2]),
        lambda field: evaluate.sample_rows(field, 50, random_state=0),
    ):
        np.testing.assert_allclose(measure(levels), measure(binary), atol=1e-10)


# --- recovery of edges ------------------------------------------------------------------------


def test_edges_of_a_field_are_the_truth() -> None:
    field = random_field(LARGER, 8, share=0.5)
    assert evaluate.edge_density(field) == field.n_edges / 15
    assert evaluate.edge_recovery(field, field.edges).f1 == 1.0
    first, second = np.argwhere(np.triu(field.edges))[0]
    fewer = field.edges.copy()
    fewer[first, second] = fewer[second, first] = False
    assert evaluate.edge_recovery(field, fewer).recall == 1 - 1 / field.n_edges
    assert evaluate.precision_recall(field, field).auc == 1.0
    # one parameter has a sign, several have a norm
    strengths = field.edge_strengths
    assert strengths[0, 2] == field.coupling[field.model.group(1)][0]
    norm = np.linalg.norm(field.coupling[field.model.group(field.model.interactions.find(1, 5))])
    assert strengths[1, 5] == pytest.approx(norm)
