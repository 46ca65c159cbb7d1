"""Absent edges: conditionals of nodes, their products, and the posterior of such a chain."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield import SpikeSlabMRF
from slabfield.adaptation.block_schedule import covered_by, list_moves
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.particle_chain import initialize_particles
from slabfield.configuration import default_particles
from slabfield.datasets import make_block
from slabfield.likelihood.blocks import open_block_particles, particle_blocks, with_conditionals
from slabfield.likelihood.node_conditionals import (
    can_sum_out_partners,
    mark_ends_outdated,
    mark_outdated,
    update_conditional,
)
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.absent_edges import screen_edge
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import insert, new_state
from slabfield.moves.edge_gibbs import new_block, new_inclusion_stats
from slabfield.moves.imputation import new_missing_entries
from slabfield.moves.iteration import advance_engine, new_record
from slabfield.priors import Prior
from slabfield.problem import Problem

N_NODES, N_PARTICLES = 8, 64
MODEL = BinaryPairwise(N_NODES)
EDGE = {(i, j): m for m, (i, j) in enumerate(zip(*MODEL.ends, strict=True))}
# 1 and 2 are partners, as are 5 and 6; 0 is coupled to 2, 3 to 5, and 4 and 7 to none
COUPLINGS = {(1, 2): 4.0, (5, 6): -3.0, (0, 2): 0.6, (3, 5): 0.8}


@pytest.fixture(scope="module")
def engine_and_state():
    rng = np.random.default_rng(1)
    state = new_state(N_NODES, MODEL.n_interactions, MODEL.n_interactions)
    state.bias[:] = rng.normal(size=N_NODES)
    for edge, value in COUPLINGS.items():
        insert(state, EDGE[edge])
        state.coupling[EDGE[edge]] = value
    engine = with_conditionals(particle_blocks(MODEL, N_PARTICLES, 1, 6, False, rng))
    advance_engine(engine, state, rng)
    engine.work.outdated[:] = True
    for i in range(N_NODES):
        update_conditional(engine, state, i)
    return engine, state


def separable(engine, i, j):
    return can_sum_out_partners(engine.work.partner, engine.neighbors, engine.degree, i, j)


def table_of(engine, state, nodes):
    table = np.zeros((1 << len(nodes), 16))
    open_block_particles(engine, state, np.array(nodes), table)
    return table / table.sum(axis=0)


def group_means(values):
    return values.reshape(-1, 16).mean(axis=0)


@pytest.mark.parametrize("i", range(N_NODES))
def test_cached_conditionals_equal_block_tables(engine_and_state, i):
    engine, state = engine_and_state
    alone = table_of(engine, state, [i])
    np.testing.assert_allclose(group_means(engine.work.conditional[0, i]), alone[1], rtol=1e-5)
    partner = {1: 2, 2: 1, 5: 6, 6: 5}.get(i, -1)
    assert engine.work.partner[i] == partner
    both = table_of(engine, state, [i, partner]) if partner >= 0 else alone
    np.testing.assert_allclose(
        group_means(engine.work.conditional[1, i]), both[1::2].sum(axis=0), rtol=1e-5
    )
    for k in range(2):
        sums = engine.work.conditional[k, i].reshape(-1, 16).sum(axis=0)
        np.testing.assert_allclose(engine.work.conditional_sums[k, i], sums, rtol=1e-5)


@pytest.mark.parametrize("edge", [e for e in EDGE if e not in COUPLINGS])
def test_products_of_conditionals_are_the_table_of_an_absent_edge(engine_and_state, edge):
    engine, state = engine_and_state
    i, j = edge
    which = int(separable(engine, i, j))
    partners = [int(p) for p in engine.work.partner[[i, j]] if p >= 0] if which else []
    table = table_of(engine, state, [i, j, *partners])
    product = group_means(engine.work.conditional[which, i] * engine.work.conditional[which, j])
    np.testing.assert_allclose(product, table[3::4].sum(axis=0), rtol=1e-5)


def test_for_which_pairs_partners_can_be_summed_out(engine_and_state):
    engine, _ = engine_and_state
    assert separable(engine, 1, 5)
    assert separable(engine, 1, 4)
    # the partner of 1 is a neighbor of 0, that of 6 of 3; 4 and 7 have none
    assert not separable(engine, 0, 1)
    assert not separable(engine, 3, 6)
    assert not separable(engine, 4, 7)


def test_conditionals_that_depend_on_changed_edges_or_nodes_are_outdated(engine_and_state):
    engine, _ = engine_and_state
    outdated = engine.work.outdated
    # 1 is the partner of 2, and 6 of 5; 0 is a neighbor of 2, and 3 of 5
    for mark, nodes, expected in (
        (mark_ends_outdated, [1, 7], [1, 2, 7]),
        (mark_ends_outdated, [2, 3], [1, 2, 3]),
        (mark_outdated, [1, 7], [0, 1, 2, 7]),
    ):
        outdated[:] = False
        mark(engine, np.array(nodes))
        assert np.flatnonzero(outdated).tolist() == expected
    outdated[:] = False


@pytest.mark.parametrize("gain", [5.0, -8.0, 15.0])
def test_screening_is_close_to_the_integral(gain):
    """Without noise, the inclusion probability is that of the integral, to a few percent."""
    same = [np.full(16, value) for value in (2.0, 3.5, 4.0)]
    n_rows, slab, u, v = 300.0, 1.5, 0.4, 0.6
    both, one, other = 0.25, 3.5 / 8, 0.5
    linear = n_rows * (both - u * one - v * other) + gain
    a = np.linspace(-6, 6, 200_001)
    total = (1 - one - other + both) + (one - both) * np.exp(-u * a)
    total += (other - both) * np.exp(-v * a) + both * np.exp((1 - u - v) * a)
    log_density = linear * a - n_rows * np.log(total) - 0.5 * slab * a**2
    evidence = np.log(np.sum(np.exp(log_density)) * (a[1] - a[0]) * np.sqrt(slab / (2 * np.pi)))
    # the prior odds cancel the evidence, so that the probability is close to one half
    probability, noise, _ = screen_edge(*same, 128, linear, u, v, -evidence, n_rows, slab, slab)
    assert noise == pytest.approx(0.0, abs=1e-20)
    assert probability == pytest.approx(0.5, abs=0.02)


def test_differences_between_groups_are_noise_in_screening():
    rng = np.random.default_rng(2)
    first, second = rng.random(16) * 8, rng.random(16) * 8
    found = screen_edge(
        first * second / 8, first, second, 128, -9.0, 0.4, 0.6, -2.0, 300.0, 1.5, 1.5
    )
    assert found[1] > 0


def test_a_chain_with_mostly_unscheduled_edges_has_the_posterior_of_enumeration():
    """Blocks are within either half of the nodes: the 16 edges between them are updated singly."""
    rows = make_block(200, random_state=4).rows[:, :N_NODES]
    exact = SpikeSlabMRF(likelihood="exact", n_draws=4_000, random_state=1).fit(rows)
    rng = np.random.default_rng(4)
    missing_entries = new_missing_entries(MODEL, rows, np.zeros(rows.shape, bool))
    prior = Prior.standard(MODEL.n_interactions)
    problem = Problem(MODEL, rows, MODEL.sums(rows), prior, missing_entries)
    engine = with_conditionals(particle_blocks(MODEL, 4_096, 2, 4, False, rng))
    initialize_particles(engine, problem, rng)
    state = new_state(N_NODES, MODEL.n_interactions, MODEL.n_interactions)
    advance_engine(engine, state, rng)
    halves = [*range(4)], [*range(4, 8)]
    blocks = np.array([[i, *(j for j in half if j != i)] for half in halves for i in half])
    covered = covered_by(blocks, N_NODES, MODEL.n_interactions)
    assert np.sum(~covered) == 16
    plan = Plan(blocks, 0, covered, *list_moves([], len(blocks)), covered, 2, blocks[:0])
    block = new_block(problem.sums.bias / 200, 4, 16)
    chain = CollapsedChain(
        problem, default_particles(), engine, state, block, plan,
        new_inclusion_stats(MODEL.n_interactions), rng,
    )  # fmt: skip
    chain.iterate(new_record(0, N_NODES, *[MODEL.n_interactions] * 2), 0, 0, 200)
    chain = chain._replace(inclusion_stats=new_inclusion_stats(MODEL.n_interactions))
    record = new_record(1_500, N_NODES, *[MODEL.n_interactions] * 2)
    chain.iterate(record, 0, 1_500, 1)
    expected = exact.posterior_.edge_probability
    assert np.sqrt(np.mean((record.present.mean(axis=0) - expected) ** 2)) < 0.02
    assert np.sqrt(np.mean((chain.inclusion_stats.mean_probability - expected) ** 2)) < 0.02
    assert chain.inclusion_stats.visits.min() == 1_500
