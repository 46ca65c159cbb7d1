"""Collapsed updates of nodes with levels: what must not depend on how levels are coded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from level_runs import model_of, problem_of, run_exact
from reference import plain_levels
from slabfield.chains.chain_run import run_chain
from slabfield.configuration import default_exact
from slabfield.models.binary import BinaryPairwise
from slabfield.models.levels import NodeFeatures, PairwiseLevels, free_biases, ordinal_features
from slabfield.priors import Prior
from slabfield.problem import Problem

# Monte Carlo errors of inclusion probabilities: about .002 for one parameter, .005 for several
SAME, SAME_GROUPS = 0.012, 0.025
N_DRAWS = 10_000


def sampled_rows(kinds, n_rows, seed):
    nodes, rng = [plain_levels.node(*kind) for kind in kinds], np.random.default_rng(seed)
    return plain_levels.draw_rows(nodes, *plain_levels.draw_field(nodes, rng), n_rows, rng)


def fit(model, rows, seed=1):
    """Inclusion probabilities, and means of the couplings."""
    run = run_exact(problem_of(model, rows), N_DRAWS, 300, seed)
    return run.inclusion, run.record.coupling.mean(axis=0)


@pytest.fixture(scope="module")
def binary():
    """Rows of five binary nodes, and what the binary sampler says about them."""
    rows = sampled_rows([("ordinal", 2)] * 5, 150, 3)
    model = BinaryPairwise(5)
    problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
    settings = replace(default_exact(), n_draws=N_DRAWS, n_warmup=300)
    record = run_chain(problem, settings, 1, 0, lambda _: None).record
    return rows, record.present.mean(axis=0), record.coupling


@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
def test_two_levels_give_the_binary_answer(binary, kind):
    rows, present, coupling = binary
    found, means = fit(model_of([(kind, 2)] * 5), rows)
    # Monte Carlo errors: .005 of shares of draws, up to .04 posterior sd of the couplings' means
    assert np.abs(found - present).max() < 0.02
    assert np.abs((means - coupling.mean(axis=0)) / coupling.std(axis=0)).max() < 0.15


def test_two_levels_with_other_scores_do_not(binary):
    rows, present, coupling = binary
    found, means = fit(PairwiseLevels([ordinal_features([0.0, 1.2])] * 5), rows)
    assert np.abs(found - present).max() > 0.02
    assert np.abs((means - coupling.mean(axis=0)) / coupling.std(axis=0)).max() > 0.15


def relabeled(rows, orders):
    """Rows with the levels of every column renamed."""
    return np.column_stack([np.array(order)[x] for order, x in zip(orders, rows.T, strict=True)])


NOMINAL = [("nominal", 3), ("nominal", 4), ("nominal", 3), ("nominal", 3)]
ORDERS = [(2, 0, 1), (3, 1, 0, 2), (1, 0, 2), (0, 2, 1)]


def change_by_relabeling(model):
    rows = sampled_rows(NOMINAL, 100, 5)
    return fit(model, rows)[0] - fit(model, relabeled(rows, ORDERS))[0]


def test_labels_of_nominal_levels_do_not_matter():
    assert np.abs(change_by_relabeling(model_of(NOMINAL))).max() < SAME_GROUPS


def test_labels_matter_where_one_level_is_the_reference():
    nodes = [
        NodeFeatures(free_biases(k)[0], np.eye(k)[:, 1:], free_biases(k)[1], True)
        for _, k in NOMINAL
    ]
    assert np.abs(change_by_relabeling(PairwiseLevels(nodes))).max() > SAME_GROUPS


def test_reversing_an_ordinal_column_turns_the_signs_of_its_couplings():
    kinds = [("ordinal", 4), ("ordinal", 3), ("ordinal", 5), ("ordinal", 3)]
    rows, model = sampled_rows(kinds, 150, 6), model_of(kinds)
    inclusion, coupling = fit(model, rows)
    backward = rows.copy()
    backward[:, 0] = 3 - rows[:, 0]
    found, means = fit(model, backward, seed=2)
    sign = np.where(model.ends[0] == 0, -1.0, 1.0)
    assert np.abs(found - inclusion).max() < SAME
    assert np.abs(means - sign * coupling).max() < 0.02
    assert np.abs(means - coupling).max() > 0.1
