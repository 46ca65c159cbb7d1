"""Baselines of nodes with levels: their likelihoods, and the edges that they find."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from slabfield.baselines import (
    ChowLiuTree,
    Independent,
    L1Multinomial,
    L1Neighborhood,
    L1PseudoLikelihood,
)
from slabfield.baselines.multinomial import predictors_of
from slabfield.baselines.table_fields import field_of_tables
from slabfield.baselines.tree import mutual_information, pair_tables
from slabfield.datasets import SimulatedLevels, make_nominal, make_ordinal
from slabfield.datasets.simulated_levels import draw_level_rows
from slabfield.encoding import CodedTable, Variable
from slabfield.inference import enumeration
from slabfield.models.levels import PairwiseLevels, nominal_features
from slabfield.validation import InputError

Array = NDArray[np.float64]
Codes = NDArray[np.uint8]


def coded(rows: Codes, variables: tuple[Variable, ...]) -> CodedTable:
    return CodedTable(rows, variables, [], True, np.zeros(rows.shape, np.bool_))


def table_of(data: SimulatedLevels) -> CodedTable:
    return coded(data.rows, data.variables)


def mixed_variables() -> tuple[Variable, ...]:
    return (
        Variable("mood", "ordinal", (1, 2, 3, 4), (0.0, 0.4, 0.8, 1.2)),
        Variable.binary("sleep", ("no", "yes")),
        Variable("place", "nominal", ("north", "south", "west"), ()),
        Variable("pain", "ordinal", (0, 1, 2), (0.0, 0.6, 1.2)),
    )


def mixed_rows(n_rows: int = 300) -> Codes:
    rng = np.random.default_rng(2)
    sizes = [variable.n_levels for variable in mixed_variables()]
    rows = np.stack([rng.integers(size, size=n_rows) for size in sizes], axis=1)
    rows[:, 2] = np.where(rng.random(n_rows) < 0.6, rows[:, 0] % 3, rows[:, 2])
    rows[:, 3] = np.where(rng.random(n_rows) < 0.5, rows[:, 2], rows[:, 3])
    return rows.astype(np.uint8)


def scores_of(model: Any, rows: Codes) -> Array:
    """Pseudo-log-likelihood of each row from the conditionals of the fitted field."""
    picked = [
        model.field_.conditional(i, rows)[np.arange(len(rows)), rows[:, i]]
        for i in range(rows.shape[1])
    ]
    return np.log(picked).sum(axis=0)


# --- fields from tables -----------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 4)])
def test_a_field_has_the_given_log_weights(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    energies = [rng.normal(size=size) for size in sizes]
    tables = {(i, j): rng.normal(size=(sizes[i], sizes[j])) for i, j in [(0, 1), (1, 2)]}
    states = np.array(list(itertools.product(*map(range, sizes))))
    expected = sum(energies[i][states[:, i]] for i in range(3)) + sum(
        table[states[:, i], states[:, j]] for (i, j), table in tables.items()
    )
    found = field_of_tables(energies, tables)
    difference = found.log_potential(states) - expected
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)
    assert found.n_edges == 2


# --- the tree ---------------------------------------------------------------------------------


def test_the_tree_has_the_likelihood_of_its_factorization() -> None:
    rows, sizes = mixed_rows(), [4, 2, 3, 3]
    tree = ChowLiuTree(smoothing=2.0).fit(coded(rows, mixed_variables()))
    marginal = [np.bincount(rows[:, i], minlength=k) + 2.0 / k for i, k in enumerate(sizes)]
    marginal = [each / 302 for each in marginal]
    expected = sum(np.log(marginal[i][rows[:, i]]) for i in range(4))
    joint = enumeration.probabilities(tree.field_).reshape(sizes, order="F")
    for i, j in tree.edges_.tolist():
        pair = np.zeros((sizes[i], sizes[j]))
        np.add.at(pair, (rows[:, i], rows[:, j]), 1.0)
        pair = (pair + 2.0 / pair.size) / 302
        others = tuple(k for k in range(4) if k not in (i, j))
        np.testing.assert_allclose(joint.sum(axis=others), pair)
        ratio = pair / np.outer(marginal[i], marginal[j])
        expected = expected + np.log(ratio[rows[:, i], rows[:, j]])
    np.testing.assert_allclose(np.log(joint[tuple(rows.T)]), expected)
    assert tree.edges_.tolist()[-1] == [2, 3]
    assert np.count_nonzero(tree.coupling_) == 6
    np.testing.assert_array_equal(tree.coupling_ != 0, tree.field_.edges)


def test_information_of_levels_equals_its_definition() -> None:
    rows = mixed_rows()
    found = mutual_information(pair_tables(rows, [4, 2, 3, 3], 0.0))
    joint = np.zeros((4, 3))
    np.add.at(joint, (rows[:, 0], rows[:, 2]), 1 / len(rows))
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    present = joint > 0
    expected = np.sum(joint[present] * np.log(joint[present] / independent[present]))
    assert np.isclose(found[0, 2], expected)
    assert np.isclose(found[2, 0], expected)


def test_the_tree_of_a_field_is_found() -> None:
    edges = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
    model = PairwiseLevels([nominal_features(3)] * 6)
    coupling = np.zeros(model.interactions.n_parameters)
    rng = np.random.default_rng(1)
    for pair in edges:
        coupling[model.group(model.interactions.find(*pair))] = rng.choice([-2.0, 2.0], 4)
    truth = model.field(rng.normal(0, 0.2, model.n_biases), coupling)
    rows, _ = draw_level_rows(truth, 3_000, rng, "enumeration", 1)
    labels = ("a", "b", "c")
    variables = tuple(Variable(f"x{k}", "nominal", labels, ()) for k in range(6))
    tree = ChowLiuTree().fit(coded(rows, variables))
    assert sorted(map(tuple, tree.edges_.tolist())) == edges
    for pair in edges:
        found, expected = tree.field_.pair_energy(*pair), truth.pair_energy(*pair)
        assert np.abs(found - expected).max() < 0.4 < np.abs(expected).max()


def test_a_tree_of_levels_without_smoothing_refuses_an_empty_cell() -> None:
    rows = mixed_rows(40)
    rows[:, 3] = rows[:, 2]
    with pytest.raises(InputError) as refused:
        ChowLiuTree(smoothing=0.0).fit(coded(rows, mixed_variables()))
    assert refused.value.code == "combination-never-occurs"


# --- independent nodes ------------------------------------------------------------------------


def test_independent_nodes_have_smoothed_frequencies() -> None:
    rows = mixed_rows(50)
    rows[:, 0] = np.minimum(rows[:, 0], 2)  # the last level never occurs
    model = Independent().fit(coded(rows, mixed_variables()))
    assert model.field_.n_edges == 0
    assert not model.coupling_.any()
    for i, variable in enumerate(mixed_variables()):
        count = np.bincount(rows[:, i], minlength=variable.n_levels)
        expected = (count + 1) / (50 + variable.n_levels)
        np.testing.assert_allclose(model.field_.conditional(i, rows[:1])[0], expected)


def test_independent_binary_nodes_are_scored_and_predicted() -> None:
    rows = np.array([[0, 1], [1, 1], [0, 0]], np.uint8)
    model = Independent().fit(rows)
    np.testing.assert_allclose(model.predict_proba(rows[:1]), [[0.4, 0.6]])
    assert np.isclose(model.score_samples(rows[:1])[0], np.log(0.6 * 0.6))
    assert repr(model) == "<Independent, fitted: nodes 2, rows 3, edges 0 of 1>"


# --- L1 regressions ---------------------------------------------------------------------------


def test_regressions_reach_their_optimum() -> None:
    rows, strength = mixed_rows(), 0.02
    model = L1Multinomial(strength=strength).fit(coded(rows, mixed_variables()))
    predictors, owner = predictors_of(rows, mixed_variables())
    for i in (0, 2, 3):
        found = model.regressions_[i]
        probability = np.exp(found.log_probabilities(predictors))
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        residual = np.eye(probability.shape[1])[rows[:, i]] - probability
        gradient = (residual.T @ predictors / len(rows))[:, owner != i]
        coefficient = found.coefficient[:, owner != i]
        assert not found.coefficient[:, owner == i].any()
        at = coefficient != 0
        assert at.any()
        assert not at.all()
        np.testing.assert_allclose(gradient[at], strength * np.sign(coefficient[at]), atol=1e-3)
        assert np.abs(gradient[~at]).max() < strength + 1e-3
        assert np.abs(residual.mean(axis=0)).max() < 1e-3


def test_edges_by_the_two_rules() -> None:
    data = make_nominal(3_000, 6, 3, 2.0, 3, coupling_scale=0.8)
    found = {
        rule: L1Multinomial(rule=rule, select="bic").fit(table_of(data)).coupling_
        for rule in ("and", "or")
    }
    both, either = found["and"] != 0, found["or"] != 0
    assert np.array_equal(both, both.T)
    assert np.all(either[both])
    assert either.sum() >= both.sum() > 0
    # BIC keeps too many edges, but those of the field are the strongest
    absent = ~data.edges & ~np.eye(6, dtype=np.bool_)
    assert found["and"][data.edges].min() > found["and"][absent].max()


def test_cross_validation_predicts_better_than_independence() -> None:
    data = make_ordinal(600, 7, 4, 2.0, 1)
    train, test = coded(data.rows[:400], data.variables), data.rows[400:]
    model = L1Multinomial(n_strengths=6, n_folds=3, random_state=0).fit(train)
    independent, tree = Independent().fit(train), ChowLiuTree().fit(train)
    ours = model.score_codes(test)
    assert ours.mean() > scores_of(independent, test).mean() + 0.2
    assert scores_of(tree, test).mean() > scores_of(independent, test).mean() + 0.2
    # labels in a data frame are encoded alike
    np.testing.assert_allclose(model.score_samples(data.table[400:]), ours)
    assert np.isclose(model.score(data.table[400:]), ours.mean())
    again = L1Multinomial(n_strengths=6, n_folds=3, random_state=0, n_jobs=2).fit(train)
    assert np.array_equal(again.coupling_, model.coupling_)


def test_levels_that_never_occur_keep_a_small_probability() -> None:
    rows = mixed_rows(80)
    rows[:, 0] = np.minimum(rows[:, 0], 2)
    rows[:, 1] = 0
    model = L1Multinomial(strength=0.05).fit(coded(rows, mixed_variables()))
    predictors, _ = predictors_of(rows, mixed_variables())
    for i, n_levels in ((0, 4), (1, 2)):
        probability = np.exp(model.regressions_[i].log_probabilities(predictors))
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_allclose(probability[:, -1], 0.5 / (80 + 0.5 * n_levels))
    unseen = rows[:1].copy()
    unseen[0, :2] = 3, 1
    assert np.isfinite(model.score_codes(unseen)).all()
    assert not model.coupling_[1].any()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (L1Multinomial(rule="max"), "rule must be one of 'and', 'or'; got 'max'"),
        (L1Multinomial(select="ebic"), "select must be one of 'cv', 'bic'"),
        (L1Multinomial(strength=0), "strength must be a number greater than 0"),
        (L1Multinomial(n_folds=1), "n_folds must be a whole number of at least 2"),
    ],
)
def test_bad_parameters_are_refused(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.fit(mixed_rows()[:, 1:2] % 2)


# --- which baselines take levels --------------------------------------------------------------


@pytest.mark.parametrize("model", [L1Neighborhood(), L1PseudoLikelihood()])
def test_baselines_of_two_values_refuse_levels(model: Any) -> None:
    assert not model.takes_levels
    with pytest.raises(InputError) as refused:
        model.fit(coded(mixed_rows(), mixed_variables()))
    assert refused.value.code == "coded-levels"
    assert "three or more levels in 'mood', 'place' and 'pain'" in str(refused.value)
