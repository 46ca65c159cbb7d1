"""Fields of nodes with levels: their distribution, and rows sampled from them."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from slabfield.datasets import SimulatedLevels, make_nominal, make_ordinal
from slabfield.datasets.simulated_levels import draw_level_rows
from slabfield.encoding.scores import standard_scores
from slabfield.models.level_field import LevelField
from slabfield.models.levels import (
    PairwiseLevels,
    nominal_features,
    ordinal_features,
)
from slabfield.validation import InputError

MAKERS = {"ordinal": make_ordinal, "nominal": make_nominal}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_field_of_a_seed_does_not_depend_on_the_number_of_rows(make):
    few, many, again = (make(n, 6, random_state=7) for n in (10, 500, 500))
    np.testing.assert_array_equal(few.field.coupling, many.field.coupling)
    np.testing.assert_array_equal(few.field.bias, many.field.bias)
    np.testing.assert_array_equal(many.rows, again.rows)
    assert not np.array_equal(few.field.bias, make(10, 6, random_state=8).field.bias)
    assert few.rows.shape == (10, 6)
    assert few.rows.dtype == np.uint8


@pytest.mark.parametrize(("make", "n_levels"), [(make_ordinal, 5), (make_nominal, 3)])
def test_all_levels_occur_and_have_their_labels(make, n_levels):
    for seed in range(5):
        data: SimulatedLevels = make(500, 8, n_levels, random_state=seed)
        assert data.method == "enumeration"
        counts = np.array([np.bincount(column, minlength=n_levels) for column in data.rows.T])
        assert counts.shape == (8, n_levels)
        assert counts.min() > 0
    assert data.table.columns.tolist() == [variable.name for variable in data.variables]
    for k, variable in enumerate(data.variables):
        labels = dict(enumerate(variable.labels))
        assert data.table[variable.name].tolist() == [labels[code] for code in data.rows[:, k]]


def parameters(make, n_levels: int) -> tuple[np.ndarray, int]:
    """Return the parameters of all edges of many fields, and the number of edges."""
    found, n_edges = [], 0
    for seed in range(60):
        made = make(1, 20, n_levels, 3.0, seed, coupling_scale=0.25, method="gibbs", n_sweeps=1)
        found.append(made.field.coupling[made.field.coupling != 0])
        n_edges += made.field.n_edges
    return np.concatenate(found), n_edges


@pytest.mark.parametrize(("make", "size"), [(make_ordinal, 1), (make_nominal, 9)])
def test_graph_and_couplings_have_the_stated_distribution(make, size):
    values, n_edges = parameters(make, 4)
    assert values.size == size * n_edges
    pairs, probability = 60 * 190, 3.0 / 19
    # five standard errors; a quarter on the Ising scale is one on that of standard scores
    assert abs(n_edges - pairs * probability) < 5 * np.sqrt(pairs * probability * (1 - probability))
    assert abs(values.mean()) < 5 / np.sqrt(values.size)
    assert abs(np.mean(values**2) - 1) < 5 * np.sqrt(2 / values.size)


def test_log_odds_ratios_of_nominal_levels_are_all_alike():
    tables = []
    for seed in range(200):
        field = make_nominal(1, 2, 3, 1.0, seed, coupling_scale=0.25).field
        tables.append(field.pair_energy(0, 1))
    energy = np.array(tables)
    for (a, b), (c, d) in itertools.product(itertools.combinations(range(3), 2), repeat=2):
        ratio = energy[:, a, c] - energy[:, a, d] - energy[:, b, c] + energy[:, b, d]
        assert abs(np.mean(ratio**2) - 1) < 5 * np.sqrt(2 / len(ratio))


def test_couplings_do_not_shift_the_levels():
    """Without biases and with centered scores, a field looks the same from both ends."""
    field = make_ordinal(1, 6, 4, random_state=2, bias_scale=0.0).field
    states = np.array(list(itertools.product(range(4), repeat=6)))
    energy = field.log_potential(states)
    np.testing.assert_allclose(energy - energy.mean(), (energy - energy.mean())[::-1], atol=1e-10)


def mixed_field(factor: float = 1.0) -> LevelField:
    """Return a ring of nodes of several kinds, with one coupling scaled."""
    model = PairwiseLevels(
        [
            ordinal_features(standard_scores(4)),
            nominal_features(3),
            ordinal_features(standard_scores(2)),
            nominal_features(3),
        ]
    )
    coupling = np.zeros(model.interactions.n_parameters)
    for pair, values in {
        (0, 1): [1.5, -1.0],
        (0, 2): [-1.5],
        (1, 3): np.multiply(factor, [4.0, 0.0, 0.5, 4.0]),
        (2, 3): [1.0, 1.0],
    }.items():
        coupling[model.group(model.interactions.find(*pair))] = values
    bias = np.random.default_rng(3).normal(0, 0.4, model.n_biases)
    return LevelField(model, bias, coupling)


@pytest.mark.parametrize("method", ["enumeration", "elimination", "gibbs"])
@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (1.1, False)])
def test_rows_have_the_right_distribution(method, factor, fits):
    n_rows = 60_000
    rng = np.random.default_rng(5)
    rows, used = draw_level_rows(mixed_field(factor), n_rows, rng, method, 30)
    assert used == method
    shape = tuple(mixed_field().n_states)
    states = np.array(list(itertools.product(*map(range, shape))))
    weights = np.exp(mixed_field().log_potential(states))
    counts = np.bincount(np.ravel_multi_index(tuple(rows.T), shape), minlength=len(states))
    pvalue = chisquare(counts, n_rows * weights / weights.sum()).pvalue
    assert pvalue > 1e-3 if fits else pvalue < 1e-6


def test_gibbs_has_settled_at_the_default_size_of_a_questionnaire():
    """Runs of 300 sweeps have the marginals of runs three times as long."""
    field = make_ordinal(1, 30, random_state=1, n_sweeps=1).field
    short, long = (
        draw_level_rows(field, 1_000, np.random.default_rng(seed), "gibbs", n_sweeps)[0]
        for seed, n_sweeps in ((1, 300), (2, 900))
    )
    energy = [field.log_potential(rows) for rows in (short, long)]
    error = np.sqrt(sum(values.var() for values in energy) / 1_000)
    assert abs(energy[0].mean() - energy[1].mean()) < 4 * error
    difference = short.astype(float).mean(axis=0) - long.astype(float).mean(axis=0)
    assert np.all(np.abs(difference) < 4.5 * np.sqrt((short.var(0) + long.var(0)) / 1_000))
    # what has not settled is noticed: two sweeps from uniform states
    early, _ = draw_level_rows(field, 1_000, np.random.default_rng(1), "gibbs", 2)
    values = field.log_potential(early)
    assert abs(values.mean() - energy[1].mean()) > 4 * error


def test_method_is_chosen_by_the_number_of_states():
    assert make_ordinal(5, 8, random_state=0).method == "enumeration"
    assert make_ordinal(5, 9, random_state=0).method == "elimination"
    assert make_ordinal(5, 60, random_state=0, n_sweeps=1).method == "gibbs"
    with pytest.raises(InputError) as refused:
        make_ordinal(5, 9, random_state=0, method="enumeration")
    assert refused.value.code == "too-many-states-to-enumerate"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: make_ordinal(0), "not-a-whole-number"),
        (lambda: make_ordinal(5, 1), "not-a-whole-number"),
        (lambda: make_ordinal(5, 5, 1), "not-a-whole-number"),
        (lambda: make_nominal(5, 5, 27), "too-many-levels"),
        (lambda: make_nominal(5, 5, 3, 5.0), "mean-degree-out-of-range"),
        (lambda: make_nominal(5, coupling_scale=-1), "not-in-range"),
        (lambda: make_nominal(5, method="exact"), "unknown-choice"),
    ],
)
def test_bad_arguments_are_refused(call, code):
    with pytest.raises(InputError) as refused:
        call()
    assert refused.value.code == code
