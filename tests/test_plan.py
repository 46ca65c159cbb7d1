"""Plans: blocks that cover the edges they are given, and every node."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield.datasets import make_block
from slabfield.models.binary import BinaryPairwise
from slabfield.sampler.plan import (
    EDGES_PER_NODE,
    LIKELY,
    MOST_FLIPS,
    RANDOM_SHARE,
    RAREST,
    cover,
    find_rivals,
    flips_worth,
    make_plan,
    no_plan,
    screen,
    star_blocks,
)


def covered(blocks, n_nodes):
    """Which pairs of nodes lie within a block."""
    together = np.zeros((n_nodes, n_nodes), bool)
    for block in blocks:
        together[np.ix_(block, block)] = True
    return together


def graphs():
    rng = np.random.default_rng(0)
    for n_nodes, k, n_edges in [(6, 6, 9), (7, 6, 0), (25, 6, 1), (40, 6, 160), (30, 4, 435)]:
        first, second = np.triu_indices(n_nodes, 1)
        chosen = rng.permutation(first.size)[:n_edges]
        yield first[chosen], second[chosen], n_nodes, k
    star = np.arange(1, 50)
    yield np.zeros_like(star), star, 50, 6


@pytest.mark.parametrize(("first", "second", "n_nodes", "k"), list(graphs()))
def test_cover_has_every_edge(first, second, n_nodes, k):
    blocks = cover(first, second, n_nodes, k)
    assert blocks.shape[1] == k
    assert all(len(set(block)) == k for block in blocks.tolist())
    assert covered(blocks, n_nodes)[first, second].all()
    # every block is there for an edge of its own
    assert len(blocks) <= first.size
    if len(first):
        without = covered(blocks[1:], n_nodes)[first, second]
        assert not without.all()


@pytest.mark.parametrize(("first", "second", "n_nodes", "k"), list(graphs()))
def test_stars_have_every_node_and_its_first_neighbours(first, second, n_nodes, k):
    blocks, left = star_blocks(first, second, n_nodes, k)
    assert all(len(set(block)) == k for block in blocks.tolist())
    assert blocks[:, 0].tolist() == list(range(n_nodes))
    together = covered(blocks, n_nodes)[first, second]
    assert together[~left].all()
    for i in range(n_nodes):
        mine = np.flatnonzero((first == i) | (second == i))[: k - 1]
        assert not left[mine].any()
        assert set(first[mine]) | set(second[mine]) <= set(blocks[i]) | {i}


def test_a_clique_is_one_block():
    first, second = np.triu_indices(6, 1)
    blocks = cover(first + 10, second + 10, 30, 6)
    assert [set(block) for block in blocks.tolist()] == [set(range(10, 16))]


def test_make_plan_covers_the_worthy_and_the_likely():
    n_nodes, k, rng = 60, 6, np.random.default_rng(1)
    model = BinaryPairwise(n_nodes)
    first, second = model.ends
    worth = rng.random(first.size) * 0.5
    chance = np.zeros(first.size)
    likely = rng.permutation(first.size)[:50]
    worth[likely], chance[likely] = 0.0, LIKELY
    plan = make_plan(worth, chance, model.ends, n_nodes, k)
    together = covered(plan.blocks, n_nodes)
    best = np.argsort(-worth)[: EDGES_PER_NODE * n_nodes]
    assert together[first[best], second[best]].all()
    assert together[first[likely], second[likely]].all()
    assert plan.blocks.dtype == np.int64
    assert plan.n_random == int(RANDOM_SHARE * len(plan.blocks))
    assert np.array_equal(np.flatnonzero(plan.open), np.sort(likely))


def test_edges_that_may_stand_for_one_another_share_a_block():
    """10 - 20 is there; 10 - 30, with 30 close to 20, does so almost as much; 10 - 35 is not."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (1_000, 40))
    rows[:, 20] = np.where(rng.random(1_000) < 0.75, rows[:, 10], rows[:, 20])
    rows[:, 30] = np.where(rng.random(1_000) < 0.97, rows[:, 20], rows[:, 30])
    rows[:, 35] = np.where(rng.random(1_000) < 0.2, rows[:, 20], rows[:, 35])
    model = BinaryPairwise(40)
    first, second = model.ends
    score = screen(model.sums(rows), model.ends)
    edge = {(i, j): m for m, (i, j) in enumerate(zip(first, second, strict=True))}
    present = np.array([edge[10, 20], edge[20, 30]])
    rivals = find_rivals(score, present, model.ends, 40)
    assert {(10, 20, 30)} <= set(map(tuple, rivals.nodes.tolist()))
    assert not any(35 in nodes for nodes in rivals.nodes.tolist())
    assert np.all(np.diff(rivals.alike) <= 0)
    assert find_rivals(score, present[:0], model.ends, 40).alike.size == 0
    # each alone looks decided, and others are worth more
    chance, worth = np.zeros(score.size), np.full(score.size, 0.2)
    chance[present] = 1.0
    worth[[edge[10, 20], edge[10, 30], edge[20, 30]]] = 0.0
    without = make_plan(worth, chance, model.ends, 40, 6)
    assert not any({10, 20, 30} <= set(block) for block in without.blocks.tolist())
    plan = make_plan(worth, chance, model.ends, 40, 6, rivals)
    assert any({10, 20, 30} <= set(block) for block in plan.blocks.tolist())
    assert all(len(set(block)) == 6 for block in plan.blocks.tolist())
    assert plan.open[edge[10, 20]]
    assert plan.open[edge[10, 30]]
    assert not plan.open[edge[10, 35]]


def test_every_pair_is_met_often_enough_where_likely_edges_are_few():
    n_nodes, k = 400, 6
    model = BinaryPairwise(n_nodes)
    worth = np.zeros(model.n_interactions)
    # the edges of a few cliques: few blocks
    plan = make_plan(worth, worth, model.ends, n_nodes, k)
    share = plan.n_random * k * (k - 1) / 2 / model.n_interactions
    assert share >= 0.9 / RAREST


def test_flips_are_tried_more_often_where_edges_are_few():
    tries = [flips_worth(np.full(66, density)) for density in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0)]
    assert tries == [MOST_FLIPS, MOST_FLIPS, 11, 4, 11, MOST_FLIPS]


def test_no_plan_has_no_blocks():
    plan = no_plan(6, 10)
    assert plan.blocks.shape == (0, 6)
    assert plan.n_random == 0
    assert plan.open.all()


def test_screen_is_the_squared_correlation_times_rows():
    rows = make_block(300, random_state=2).rows
    model = BinaryPairwise(rows.shape[1])
    score = screen(model.sums(rows), model.ends)
    correlation = np.corrcoef(rows.T)[model.ends]
    np.testing.assert_allclose(score, 300 * correlation**2, rtol=0.01, atol=0.05)
    # a column that never varies has a score too
    rows[:, 0] = 0
    assert np.isfinite(screen(model.sums(rows), model.ends)).all()
