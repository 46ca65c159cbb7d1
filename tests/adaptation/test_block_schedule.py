"""Plans: blocks that cover given edges, and every node."""

from __future__ import annotations

import numpy as np
import pytest

from level_runs import model_of, problem_of
from slabfield.adaptation.associations import association
from slabfield.adaptation.block_schedule import (
    EDGES_PER_NODE,
    EXTRA_FLIPS,
    LIKELY,
    MOST_FLIPS,
    RANDOM_SHARE,
    SWEEPS_PER_VISIT,
    all_pairs_plan,
    cover,
    flips_needed,
    make_plan,
    mixed,
    plan_for_particles,
    star_blocks,
    with_moves,
)
from slabfield.adaptation.edge_swaps import SwapCandidate
from slabfield.datasets import make_block
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.block_sweep import bring_together
from slabfield.moves.edge_gibbs import new_inclusion_stats


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
    # every block covers an edge that no other covers
    assert len(blocks) <= first.size
    if len(first):
        without = covered(blocks[1:], n_nodes)[first, second]
        assert not without.all()


@pytest.mark.parametrize(("first", "second", "n_nodes", "k"), list(graphs()))
def test_star_blocks_have_every_node_and_its_first_neighbors(first, second, n_nodes, k):
    blocks = star_blocks(first, second, n_nodes, k, k - 1)
    assert all(len(set(block)) == k for block in blocks.tolist())
    assert blocks[:, 0].tolist() == list(range(n_nodes))
    for i in range(n_nodes):
        mine = np.flatnonzero((first == i) | (second == i))[: k - 1]
        assert set(first[mine]) | set(second[mine]) <= set(blocks[i]) | {i}


def test_a_clique_is_one_block():
    first, second = np.triu_indices(6, 1)
    blocks = cover(first + 10, second + 10, 30, 6)
    assert [set(block) for block in blocks.tolist()] == [set(range(10, 16))]


def test_make_plan_covers_edges_of_high_priority_and_likely_edges():
    n_nodes, k, rng = 60, 6, np.random.default_rng(1)
    model = BinaryPairwise(n_nodes)
    first, second = model.ends
    priority = rng.random(first.size) * 0.5
    probability = np.zeros(first.size)
    likely = rng.permutation(first.size)[:50]
    priority[likely], probability[likely] = 0.0, LIKELY
    plan = make_plan(priority, probability, model.ends, n_nodes, k)
    together = covered(plan.blocks, n_nodes)
    best = np.argsort(-priority)[: EDGES_PER_NODE * n_nodes]
    assert together[first[best], second[best]].all()
    assert together[first[likely], second[likely]].all()
    assert plan.blocks.dtype == np.int64
    assert plan.n_random == int(RANDOM_SHARE * len(plan.blocks))
    assert np.array_equal(np.flatnonzero(plan.undecided), np.sort(likely))


def test_edges_of_a_swap_share_a_block_and_are_flipped_there():
    model = BinaryPairwise(40)
    # each alone looks decided
    score, probability = np.ones(model.n_interactions), np.zeros(model.n_interactions)
    swaps = [
        SwapCandidate(((10, 20), (10, 30)), (10, 20, 30)),
        SwapCandidate(((10, 20), (10, 7)), (10, 20, 7)),
        SwapCandidate(((31, 32), (33, 34), (31, 34), (33, 32)), (31, 32, 33, 34)),
    ]
    plan = plan_for_particles(score, probability, np.zeros(0, np.int64), model.ends, 40, 6, swaps)
    assert any({10, 20, 30, 7} <= set(block) for block in plan.blocks.tolist())
    assert all(len(set(block)) == 6 for block in plan.blocks.tolist())
    assert len(plan.blocks) == 42
    assert plan.undecided.all()
    assert plan.n_random == 0
    wanted = [{tuple(sorted(edge)) for edge in edges} for edges, _ in swaps]
    found = [set(move) for move in moves_of(plan)]
    assert all(move in found for move in wanted)
    assert len(found) == 3
    # they stay at the end of warm-up, though none was recorded as likely
    frozen = with_moves(plan, stats_of(probability), 40)
    assert frozen.n_flips == EXTRA_FLIPS
    assert list(moves_of(frozen)) == list(moves_of(plan))
    # and are not listed twice if they were recorded
    inclusion_stats = new_inclusion_stats(score.size, 10)
    number = int(np.repeat(np.arange(42), np.diff(plan.move_start))[0])
    inclusion_stats.flips[0, 0], inclusion_stats.flips[0, 1:] = number, plan.moves[0]
    inclusion_stats.flip_probability[0], inclusion_stats.n_flips[0] = 0.9, 1
    assert list(moves_of(with_moves(plan, inclusion_stats, 40))) == list(moves_of(plan))


def test_an_edge_is_flipped_in_a_block_with_the_edge_that_follows():
    model = BinaryPairwise(40)
    score, probability = np.ones(model.n_interactions), np.zeros(model.n_interactions)
    swaps = [SwapCandidate(((10, 20),), (10, 20, 30))]
    plan = plan_for_particles(score, probability, np.zeros(0, np.int64), model.ends, 40, 6, swaps)
    assert [set(move) for move in moves_of(plan)] == [{(10, 20)}]
    number = int(np.repeat(np.arange(len(plan.blocks)), np.diff(plan.move_start))[0])
    assert {10, 20, 30} <= set(plan.blocks[number].tolist())


def stats_of(probability, variance=None):
    """Statistics of one visit of every edge, and no recorded flip."""
    inclusion_stats = new_inclusion_stats(probability.size, 10)
    variance = np.zeros_like(probability) if variance is None else variance
    visits = [probability, np.ones_like(probability), variance]
    inclusion_stats.evidence.sums[0, :, 2:] = np.column_stack(visits)
    inclusion_stats.evidence.batch[1] = 1
    return inclusion_stats


def test_edges_that_single_updates_mix_are_not_flipped():
    """Of four undecided edges of a block, the first two hang on each other."""
    model = BinaryPairwise(30)
    edges = [(0, 1), (0, 2), (0, 3), (1, 2)]
    numbers = [int(model.interactions.find(i, j)) for i, j in edges]
    probability, variance = np.zeros(model.n_interactions), np.zeros(model.n_interactions)
    probability[numbers], variance[numbers] = 0.5, [0.01, 0.1, 0.2, 0.25]
    inclusion_stats = stats_of(probability, variance)
    assert np.flatnonzero(mixed(inclusion_stats)).tolist() == sorted(numbers[2:])
    plan = plan_for_particles(
        probability, probability, np.zeros(0, np.int64), model.ends, 30, 6, (),
        mixed(inclusion_stats),
    )  # fmt: skip
    assert np.flatnonzero(~plan.undecided).tolist() == sorted(numbers[2:])
    number = next(n for n, block in enumerate(plan.blocks.tolist()) if {0, 1, 2, 3} <= set(block))
    block = plan.blocks[number].tolist()
    at = [(block[low], block[high]) for high in range(6) for low in range(high)]
    place = {frozenset(pair): where for where, pair in enumerate(at)}
    recorded = [(edges[0], edges[1]), (edges[2], edges[3]), (edges[1], edges[3])]
    for row, flipped in enumerate(recorded):
        places = [place[frozenset(edge)] for edge in flipped]
        inclusion_stats.flips[row] = [number, *places, -1, -1, -1]
        inclusion_stats.flip_probability[row] = 0.5
    inclusion_stats.n_flips[0] = len(recorded)
    frozen = with_moves(plan, inclusion_stats, 30)
    scheduled = {frozenset(move) for move in moves_of(frozen)}
    assert scheduled == {frozenset(recorded[0]), frozenset(recorded[2])}
    assert np.flatnonzero(frozen.undecided).tolist() == sorted(numbers[:2])


def moves_of(plan):
    """Scheduled flips, by the nodes of their edges."""
    ends = [(low, high) for high in range(plan.blocks.shape[1]) for low in range(high)]
    for number, block in enumerate(plan.blocks.tolist()):
        for move in plan.moves[plan.move_start[number] : plan.move_start[number + 1]].tolist():
            at = [ends[place] for place in move if place >= 0]
            yield tuple(tuple(sorted((block[low], block[high]))) for low, high in at)


def test_particle_blocks_have_the_nodes_that_undecided_edges_depend_on():
    """0 - 9 is undecided; 9 is tied to 5, and 5 to 7: their couplings have to follow."""
    model = BinaryPairwise(30)
    edge = {(i, j): m for m, (i, j) in enumerate(zip(*model.ends, strict=True))}
    probability, score = np.zeros(model.n_interactions), np.ones(model.n_interactions)
    probability[edge[0, 9]] = 0.3
    present = np.array([edge[5, 9], edge[5, 7], edge[12, 13]])
    probability[present], score[present] = 1.0, 500.0
    plan = plan_for_particles(score, probability, present, model.ends, 30, 6)
    own = {block[0]: set(block) for block in plan.blocks.tolist()}
    assert {0, 9, 5, 7} <= own[0]
    assert sorted(own) == list(range(30))
    assert plan.covered[edge[0, 9]]
    together = covered(plan.blocks, 30)[model.ends]
    assert np.array_equal(plan.covered, together)


def test_particle_blocks_cover_all_edges_that_are_certain():
    """Twelve nodes form a clique; the block of a node holds five of its edges."""
    model = BinaryPairwise(30)
    clique = model.ends[1] < 12
    score, present = np.ones(clique.size), np.flatnonzero(clique)
    certain, unlikely = (
        plan_for_particles(score, np.where(clique, probability, 0.0), present, model.ends, 30, 6)
        for probability in (0.99, 0.001)
    )
    assert np.all(certain.covered[clique])
    assert not np.all(unlikely.covered[clique])


def test_likely_flips_are_scheduled_in_the_block_where_they_are_likeliest():
    model = BinaryPairwise(30)
    probability = np.zeros(model.n_interactions)
    plan = plan_for_particles(probability, probability, np.zeros(0, np.int64), model.ends, 30, 6)
    blocks = plan.blocks.copy()
    blocks[3], blocks[8] = [3, 8, 9, 10, 11, 12], [8, 3, 9, 13, 14, 15]
    plan = plan._replace(blocks=blocks)
    inclusion_stats = new_inclusion_stats(model.n_interactions, 6)
    # edge 3 - 8 is at position 0 in both; 8 - 9 at 2 in the first and at 1 in the second
    recorded = [
        (3, 0, -1, 0.1), (8, 0, -1, 0.15), (8, 0, -1, 0.1), (3, 2, 0, 0.3), (8, 1, 0, 0.2),
        (3, 9, -1, 0.01),
    ]  # fmt: skip
    for row, (number, one, two, value) in enumerate(recorded):
        inclusion_stats.flips[row] = [number, one, two, -1, -1, -1]
        inclusion_stats.flip_probability[row] = value
    inclusion_stats.n_flips[0] = len(recorded)
    frozen = with_moves(plan, inclusion_stats, 30)
    assert sorted(moves_of(frozen)) == [((3, 8),), ((3, 8), (8, 9))]
    starts = frozen.move_start
    assert starts[4] - starts[3] == 1
    assert starts[9] - starts[8] == 1
    assert starts[-1] == len(frozen.moves) == 2


def test_every_pair_is_visited_often_enough_where_likely_edges_are_few():
    n_nodes, k = 400, 6
    model = BinaryPairwise(n_nodes)
    priority = np.zeros(model.n_interactions)
    # the edges of a few cliques: few blocks
    plan = make_plan(priority, priority, model.ends, n_nodes, k)
    share = plan.n_random * k * (k - 1) / 2 / model.n_interactions
    assert share >= 0.9 / SWEEPS_PER_VISIT


def test_more_flips_are_proposed_where_edges_are_few():
    n_flips = [
        flips_needed(np.full(66, density), 2.0) for density in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0)
    ]
    assert n_flips == [MOST_FLIPS, MOST_FLIPS, 11, 4, 11, MOST_FLIPS]
    assert flips_needed(np.full(66, 0.5), 0.5) == 1


def test_the_plan_of_all_pairs_has_no_blocks():
    rows = make_block(300, random_state=2).rows
    model = BinaryPairwise(rows.shape[1])
    plan = all_pairs_plan(6, problem_of(model, rows))
    assert plan.blocks.shape == (0, 6)
    assert plan.n_random == 0
    assert plan.undecided.all()
    # every node is grouped with the nodes most correlated with it
    correlation = np.abs(np.corrcoef(rows.T))
    for i, nodes in enumerate(plan.together):
        assert nodes[0] == i
        assert len(set(nodes.tolist())) == 6
        assert np.delete(correlation[i], nodes).max() <= correlation[i, nodes].min() + 1e-3


def test_nodes_are_brought_together_behind_the_first():
    rng = np.random.default_rng(3)
    together = np.array([[i, *rng.permutation(np.delete(np.arange(9), i))[:4]] for i in range(9)])
    for _ in range(20):
        before = rng.permutation(9)
        order = before.copy()
        bring_together(order, together)
        np.testing.assert_array_equal(order[:5], together[before[0]])
        np.testing.assert_array_equal(np.sort(order), np.arange(9))
    bring_together(order, together[:, :0])  # nothing to bring: unchanged
    np.testing.assert_array_equal(order[:5], together[before[0]])


def test_association_is_the_squared_correlation_times_rows():
    rows = make_block(300, random_state=2).rows
    model = BinaryPairwise(rows.shape[1])
    score = association(model, problem_of(model, rows))
    correlation = np.corrcoef(rows.T)[model.ends]
    np.testing.assert_allclose(score, 300 * correlation**2, rtol=0.01, atol=0.05)
    # a column that never varies has a score too
    rows[:, 0] = 0
    assert np.isfinite(association(model, problem_of(model, rows))).all()


def test_association_of_levels_sums_the_squared_correlations_of_coordinates():
    rows = np.random.default_rng(1).integers(0, 3, (200, 3))
    rows[:, 1] = np.maximum(rows[:, 0], rows[:, 1])
    model = model_of([("ordinal", 3), ("ordinal", 3), ("nominal", 3)])
    score = association(model, problem_of(model, rows))
    correlation = np.corrcoef(rows[:, 0], rows[:, 1])[0, 1]
    assert score[0] == pytest.approx(200 * correlation**2)
    coordinates = model.nodes[2].embedding[rows[:, 2]].T
    both = [np.corrcoef(rows[:, 0], values)[0, 1] ** 2 for values in coordinates]
    assert score[1] == pytest.approx(200 * sum(both))
    assert score[0] > 10 * score[1]
