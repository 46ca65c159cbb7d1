"""Joint tables of nodes with levels, compared with NumPy arrays of as many dimensions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from level_loops import block_of, joint_table, marginals, multiply_marginals, reweight
from level_runs import model_of

KINDS = [("ordinal", 4), ("nominal", 3), ("ordinal", 2), ("blume-capel", 5), ("nominal", 4)]


def states_of(model):
    """All joint states in the order of the table: the first node changes fastest."""
    levels = [range(k) for k in model.n_states]
    return np.array([state[::-1] for state in product(*levels[::-1])])


def as_array(table, model):
    """The table with one axis per node."""
    return table.reshape(model.n_states[::-1]).T


@pytest.mark.parametrize("kinds", [KINDS, KINDS[::-1], [("nominal", 2)], [("ordinal", 3)] * 4])
def test_joint_table_equals_log_potential(kinds):
    model, rng = model_of(kinds), np.random.default_rng(3)
    states = states_of(model)
    bias, coupling = rng.normal(size=model.n_biases), rng.normal(size=model.group_start[-1])
    table, scratch = np.full(len(states), np.nan), np.full(len(states), np.nan)
    shift = joint_table(model.features(states), bias, coupling, table, scratch)
    expected = model.log_potential(states, bias, coupling)
    np.testing.assert_allclose(np.log(table) + shift, expected, atol=1e-9)
    assert table.max() == pytest.approx(1.0)


def opened(model, nodes, joint):
    """Arrays of a block of nodes, its cells summed out of a joint table."""
    d, n_levels = model.n_nodes, model.n_states
    size = int(n_levels[nodes].prod())
    stride, offset, digits = (np.zeros(n, np.int64) for n in (d, size, d))
    inside, cells, level = np.zeros(d, bool), np.zeros(size), np.zeros((len(nodes), size), np.int64)
    found = block_of(joint, n_levels, np.array(nodes), stride, inside, digits, offset, cells, level)
    assert found == size
    return stride, inside, digits, offset, cells, level


@pytest.mark.parametrize("nodes", [[0, 1], [3, 1], [4, 0, 2], [2, 4, 3, 1, 0]])
def test_blocks_are_sums_over_the_other_nodes(nodes):
    model, rng = model_of(KINDS), np.random.default_rng(4)
    joint = rng.random(int(model.n_states.prod()))
    whole = as_array(joint, model)
    stride, inside, digits, offset, cells, level = opened(model, nodes, joint)
    rest = tuple(i for i in range(model.n_nodes) if i not in nodes)
    expected = whole.sum(axis=rest).transpose(np.argsort(np.argsort(nodes)))
    np.testing.assert_allclose(cells, expected[tuple(level)], rtol=1e-12)
    assert len(np.unique(level, axis=1).T) == cells.size
    factor = rng.random(cells.size)
    expected_factor = np.zeros(expected.shape)
    expected_factor[tuple(level)] = factor
    by = expected_factor.transpose(np.argsort(nodes)).reshape(
        [1 if i in rest else model.n_states[i] for i in range(model.n_nodes)]
    )
    expected_table = whole * by
    reweight(joint, model.n_states, stride, inside, digits, offset, factor)
    np.testing.assert_allclose(as_array(joint, model), expected_table, rtol=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (2, 0), (1, 2)])
def test_pairs_and_nodes_of_a_block(low, high):
    model, rng = model_of(KINDS), np.random.default_rng(5)
    nodes = [3, 0, 4]
    *_, level = opened(model, nodes, rng.random(int(model.n_states.prod())))
    n = model.n_states[nodes]
    table = rng.random((level.shape[1], 2))  # two groups of particles
    whole = np.zeros((*n, 2))
    whole[tuple(level)] = table
    pair, node = np.full((n[low] * n[high], 2), np.nan), np.full((n[low], 2), np.nan)
    marginals(table, level, low, high, pair, node)
    (other,) = {0, 1, 2} - {low, high}
    expected = np.moveaxis(whole, (low, high, other), (0, 1, 2)).sum(axis=2)
    np.testing.assert_allclose(pair.reshape(n[low], n[high], 2), expected)
    np.testing.assert_allclose(node, expected.sum(axis=1))
    pair_factor, node_factor = rng.random(pair.shape[0]), rng.random(n[low])
    before = table.copy()
    multiply_marginals(table, level, low, high, n[high], pair_factor, node_factor)
    by = pair_factor.reshape(n[low], n[high])[level[low], level[high]] * node_factor[level[low]]
    np.testing.assert_allclose(table, before * by[:, None])
