"""Evaluation measures against enumeration, elimination, plain NumPy and scikit-learn."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score, precision_score, recall_score

from slabfield import SpikeSlabMRF, evaluate
from slabfield.baselines import ChowLiuTree
from slabfield.datasets import draw_rows, make_block, make_lattice
from slabfield.inference import elimination, enumeration
from slabfield.kernels.annealing import anneal
from slabfield.kernels.gibbs import new_streams
from slabfield.kernels.row_conditionals import conditional_log_probabilities
from slabfield.models.field import BinaryField
from slabfield.validation import InputError

Array = NDArray[np.float64]


def random_field(n_nodes: int, seed: int, scale: float = 1.0) -> BinaryField:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(scale=scale, size=(n_nodes, n_nodes)), 1)
    return BinaryField(rng.normal(size=n_nodes), upper + upper.T)


def random_rows(n: int, n_nodes: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 2, (n, n_nodes), dtype=np.uint8)


def by_enumeration(field: BinaryField, row: Any, group: Any) -> float:
    """Log P(group | rest) from the potentials of all states of the group."""
    states = np.tile(row, (2 ** len(group), 1))
    states[:, group] = list(itertools.product([0, 1], repeat=len(group)))
    logs = field.log_potential(states)
    return float(field.log_potential([row])[0] - np.logaddexp.reduce(logs))


# --- conditional log-likelihood ---------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_conditionals_equal_enumeration(size: int) -> None:
    field, rows = random_field(10, 1, scale=2.0), random_rows(20, 10)
    rng = np.random.default_rng(2)
    groups = np.stack([rng.permutation(10)[:size] for _ in rows])
    found = evaluate.conditional_log_likelihood(field, rows, groups)
    expected = [by_enumeration(field, *pair) for pair in zip(rows, groups, strict=True)]
    assert np.allclose(found, expected, atol=1e-11)
    # the test has power: other couplings fail it
    other = BinaryField(field.bias, 1.1 * field.coupling)
    assert not np.allclose(evaluate.conditional_log_likelihood(other, rows, groups), expected)


def test_the_group_of_all_nodes_gives_the_likelihood() -> None:
    field, rows = random_field(12, 3), random_rows(30, 12)
    exact = enumeration.log_likelihood(field, rows)
    assert np.allclose(evaluate.conditional_log_likelihood(field, rows), exact)
    shuffled = np.random.default_rng(0).permutation(12)
    assert np.allclose(evaluate.conditional_log_likelihood(field, rows, shuffled), exact)


def test_a_group_of_sixteen_among_many_nodes_with_strong_couplings() -> None:
    field, rows = random_field(40, 4, scale=6.0), random_rows(3, 40)
    found = evaluate.conditional_log_likelihood(field, rows, np.arange(16) * 2)
    expected = [by_enumeration(field, row, np.arange(16) * 2) for row in rows]
    assert np.allclose(found, expected, rtol=1e-10)


def test_a_mixture_averages_probabilities() -> None:
    fields, rows = [random_field(8, seed) for seed in range(3)], random_rows(10, 8)
    groups = evaluate.lattice_patches((2, 4), 10, 0, patch=(2, 2))
    each = np.stack([evaluate.conditional_log_likelihood(f, rows, groups) for f in fields])
    mixed = evaluate.conditional_log_likelihood(fields, rows, groups)
    assert np.allclose(mixed, np.log(np.exp(each).mean(axis=0)))
    assert not np.allclose(mixed, each.mean(axis=0))
    joint = evaluate.log_likelihood(fields, rows)
    parts = np.stack([enumeration.log_likelihood(f, rows) for f in fields])
    assert np.allclose(joint.values, np.log(np.exp(parts).mean(axis=0)))


def test_compiled_conditionals_equal_their_plain_python() -> None:
    field, rows = random_field(6, 5), random_rows(5, 6).astype(float)
    groups = np.array([[0, 2], [1, 5], [3, 4], [5, 0], [2, 1]])
    compiled, plain = np.zeros(5), np.zeros(5)
    arguments = (np.array(field.bias), np.array(field.coupling), rows, groups)
    conditional_log_probabilities(*arguments, compiled)
    conditional_log_probabilities.py_func(*arguments, plain)
    assert np.allclose(compiled, plain, atol=1e-14)


def test_patches_are_squares_at_uniformly_random_positions() -> None:
    patches = evaluate.lattice_patches((5, 4), 4000, random_state=1)
    rows, columns = patches // 4, patches % 4
    assert np.array_equal(rows - rows[:, :1], np.tile(np.repeat([0, 1, 2], 3), (4000, 1)))
    assert np.array_equal(columns - columns[:, :1], np.tile([0, 1, 2] * 3, (4000, 1)))
    corners, counts = np.unique(patches[:, 0], return_counts=True)
    assert corners.tolist() == [0, 1, 4, 5, 8, 9]
    assert abs(counts - 4000 / 6).max() < 4.5 * np.sqrt(4000 / 6)


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        (np.arange(17), "17 nodes with more states"),
        ([0, 0], "a node twice"),
        ([0, 20], "nodes from 0 to 20"),
        ([0.5], "type float64"),
        (np.zeros((3, 2), int), r"shape \(3, 2\)"),
    ],
)
def test_bad_groups_are_refused(groups: Any, found: str) -> None:
    with pytest.raises(InputError, match=found):
        evaluate.conditional_log_likelihood(random_field(20, 0), random_rows(4, 20), groups)


def test_bad_models_and_rows_are_refused() -> None:
    field = random_field(3, 0)
    with pytest.raises(InputError, match="got str"):
        evaluate.pseudo_log_likelihood(["field"], random_rows(4, 3))
    with pytest.raises(InputError, match=r"of \[3, 4\] nodes"):
        evaluate.pseudo_log_likelihood([field, random_field(4, 0)], random_rows(4, 3))
    with pytest.raises(InputError, match="at least one field"):
        evaluate.pseudo_log_likelihood([], random_rows(4, 3))
    with pytest.raises(InputError, match=r"also hold \[2\]"):
        evaluate.pseudo_log_likelihood(field, [[0, 1, 2]])
    with pytest.raises(InputError, match="3 columns"):
        evaluate.pseudo_log_likelihood(field, [[0, 1]])
    with pytest.raises(InputError, match="must fit into the lattice"):
        evaluate.lattice_patches((2, 5), 3)


# --- pseudo-likelihood and likelihood ---------------------------------------------------------


def test_pseudo_likelihood_is_the_sum_of_single_conditionals() -> None:
    field, rows = random_field(7, 6), random_rows(2500, 7)
    single = [evaluate.conditional_log_likelihood(field, rows, [i]) for i in range(7)]
    np.testing.assert_allclose(evaluate.pseudo_log_likelihood(field, rows), np.sum(single, 0))
    fields = [field, random_field(7, 7)]
    single = [evaluate.conditional_log_likelihood(fields, rows, [i]) for i in range(7)]
    np.testing.assert_allclose(evaluate.pseudo_log_likelihood(fields, rows), np.sum(single, 0))


def test_the_true_field_predicts_best() -> None:
    field, rows, _ = make_lattice(4000, shape=(5, 5), random_state=2)
    patches = evaluate.lattice_patches((5, 5), 4000, 0)
    off = BinaryField(field.bias, 0.8 * field.coupling)
    tree = ChowLiuTree().fit(rows[:200])
    for model in (off, tree):
        for measure in (
            lambda m: evaluate.conditional_log_likelihood(m, rows, patches).mean(),
            lambda m: evaluate.pseudo_log_likelihood(m, rows).mean(),
            lambda m: evaluate.log_likelihood(m, rows).values.mean(),
        ):
            assert measure(field) > measure(model)


def test_auto_chooses_a_feasible_exact_method() -> None:
    small, lattice = random_field(6, 0), make_lattice(3, random_state=1)
    assert evaluate.log_likelihood(small, random_rows(3, 6)).method == "enumeration"
    result = evaluate.log_likelihood(lattice.field, lattice.rows)
    expected = lattice.field.log_potential(lattice.rows) - elimination.log_partition(lattice.field)
    assert result.method == "elimination"
    assert np.allclose(result.values, expected)
    assert not result.standard_error.any()
    forced = evaluate.log_partition(lattice.field, memory_limit=1000, n_temperatures=20)
    assert forced.method == "annealing"
    with pytest.raises(elimination.TableTooLargeError):
        evaluate.log_partition(lattice.field, "elimination", memory_limit=1000)
    with pytest.raises(InputError, match="method must be one of"):
        evaluate.log_partition(small, "guess")  # type: ignore[arg-type]


def test_annealing_is_within_its_standard_errors() -> None:
    field = make_lattice(2, random_state=4).field
    exact = elimination.log_partition(field)
    scores = []
    for seed in range(20):
        found = evaluate.log_partition(
            field, "annealing", seed, n_particles=128, n_temperatures=200
        )
        assert 0 < found.standard_error < 0.08
        assert 60 < found.effective_particles < 128
        scores.append((found.value - exact) / found.standard_error)
    assert abs(np.mean(scores)) < 4 / np.sqrt(20)
    assert 0.5 < np.std(scores) < 1.7
    # the test has power: a field that is 2% stronger would fail it
    stronger = BinaryField(field.bias, 1.02 * field.coupling)
    assert abs(elimination.log_partition(stronger) - exact) > 4 * 0.05 / np.sqrt(20)


def test_annealed_likelihoods_have_the_standard_error_of_the_constant() -> None:
    field, rows, _ = make_lattice(4, shape=(6, 6), random_state=4)
    annealed = evaluate.log_likelihood(field, rows, "annealing", 0, n_temperatures=100)
    exact = evaluate.log_likelihood(field, rows)
    assert annealed.method == "annealing"
    assert np.ptp(annealed.standard_error) < 1e-12
    assert np.all(np.abs(annealed.values - exact.values) < 5 * annealed.standard_error)
    two = evaluate.log_likelihood([field, field], rows, "annealing", 0, n_temperatures=100)
    assert np.all(two.standard_error < annealed.standard_error)


def test_compiled_annealing_equals_its_plain_python() -> None:
    field, rng = random_field(4, 1), np.random.default_rng(0)
    neighbors = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]], np.int32)
    weights = np.take_along_axis(field.coupling, neighbors.astype(int), axis=1)
    base, degree = np.zeros(4), np.full(4, 3)
    states = (rng.random((4, 33)) < 0.5).astype(np.float32)
    streams, found = new_streams(33, rng), []
    for function in (anneal, anneal.py_func):
        logs = np.zeros(33)
        function(
            states.copy(), base, np.array(field.bias), neighbors, weights, degree,
            np.linspace(0, 1, 6), 2, streams.copy(), logs,
        )  # fmt: skip
        found.append(logs)
    assert np.allclose(found[0], found[1], atol=1e-6)


def test_posterior_draws_become_fields() -> None:
    rows = make_block(60, random_state=0, n_groups=1).rows
    model = SpikeSlabMRF(n_draws=50, n_chains=2, random_state=0, n_jobs=1).fit(rows)
    fields = model.posterior_.fields(1000)
    assert len(fields) == 100
    draws = model.posterior_.draws
    assert np.array_equal(fields[-1].bias, draws.bias[1, -1])
    assert fields[-1].n_edges == draws.present[1, -1].sum()
    assert len(model.posterior_.fields(7)) == 7
    mixed = evaluate.conditional_log_likelihood(fields, rows)
    assert np.all(mixed < 0)
    assert evaluate.conditional_log_likelihood(model, rows).shape == (60,)


# --- structure --------------------------------------------------------------------------------


def test_recovery_equals_scikit_learn() -> None:
    truth, found = random_field(9, 1).coupling > 0.2, random_field(9, 2).coupling > 0.5
    upper = np.triu_indices(9, 1)
    result = evaluate.edge_recovery(truth, found)
    assert np.isclose(result.precision, precision_score(truth[upper], found[upper]))
    assert np.isclose(result.recall, recall_score(truth[upper], found[upper]))
    assert np.isclose(result.f1, f1_score(truth[upper], found[upper]))
    assert result.n_edges == found[upper].sum()
    assert result.density == found[upper].mean() == evaluate.edge_density(found)


def test_recovery_without_edges() -> None:
    none, one = np.zeros((3, 3)), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    empty = evaluate.edge_recovery(one, none)
    assert np.isnan(empty.precision)
    assert empty[1:] == (0.0, 0.0, 0.0, 0)
    assert np.isnan(evaluate.edge_recovery(none, none).f1)
    assert np.isnan(evaluate.edge_recovery(none, one).recall)


def test_the_curve_passes_through_every_threshold() -> None:
    field = make_block(10, random_state=1).field
    score = np.abs(random_field(12, 3).coupling + field.coupling)
    curve = evaluate.precision_recall(field, score)
    for k in range(0, curve.thresholds.size, 7):
        at = evaluate.edge_recovery(field, score >= curve.thresholds[k])
        assert np.isclose(curve.precision[k], at.precision)
        assert np.isclose(curve.recall[k], at.recall)
    upper = np.triu_indices(12, 1)
    true, values = field.edges[upper], score[upper]
    wins = np.mean(values[true][:, None] > values[~true])
    assert np.isclose(curve.auc, wins)
    assert 0 < curve.average_precision < 1
    with pytest.raises(InputError, match="0 edges among 3 pairs"):
        evaluate.precision_recall(np.zeros((3, 3)), np.zeros((3, 3)))


def test_calibration_of_calibrated_and_of_overconfident_probabilities() -> None:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((200, 200)), 1)
    probability = upper + upper.T
    drawn = np.triu(rng.random((200, 200)) < probability, 1)
    truth = drawn | drawn.T
    table = evaluate.calibration(truth, probability)
    assert table.n_pairs.sum() == 19900
    assert len(table) == 10
    inside = (table.share_low <= table.mean_probability) & (
        table.mean_probability <= table.share_high
    )
    assert inside.sum() >= 8
    extreme = np.where(probability > 0.5, probability**0.3, probability**3)
    sure = evaluate.calibration(truth, extreme)
    outside = (sure.share_low > sure.mean_probability) | (sure.share_high < sure.mean_probability)
    assert outside.all()
    pooled = evaluate.calibration([truth, truth], np.stack([probability, probability]), n_bins=5)
    assert pooled.n_pairs.sum() == 2 * 19900


def test_bad_matrices_are_refused() -> None:
    good = np.zeros((3, 3))
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        evaluate.edge_density(np.zeros(3))
    with pytest.raises(InputError, match="symmetric"):
        evaluate.edge_density(np.triu(np.ones((3, 3))))
    with pytest.raises(InputError, match="same nodes"):
        evaluate.edge_recovery(good, np.zeros((4, 4)))
    with pytest.raises(InputError, match="not couplings"):
        evaluate.calibration(good, good - 1)
    with pytest.raises(InputError, match="as many truths"):
        evaluate.calibration([good], np.zeros((2, 3, 3)))


def test_the_mean_log_likelihood_of_a_known_field_is_its_negative_entropy() -> None:
    field = make_block(10, random_state=1).field
    rows = draw_rows(field, 3000, random_state=5)
    found = evaluate.log_likelihood(field, rows).values
    p = enumeration.probabilities(field)
    entropy = -(p * np.log(p)).sum()
    assert abs(-found.mean() - entropy) < 4.5 * found.std() / np.sqrt(3000)
