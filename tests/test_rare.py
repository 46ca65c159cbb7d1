"""Rare edges: chances of nodes, their products, and what a chain of such updates ends at."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield import SpikeSlabMRF
from slabfield.datasets import make_block
from slabfield.likelihood.chances import apart, mark_ends_stale, mark_stale, show_chance
from slabfield.likelihood.cubes import open_block_particles, particle_cubes, with_chances
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.impute import new_unknown
from slabfield.moves.pair import new_block, new_tally
from slabfield.moves.rare import glance
from slabfield.moves.state import insert, new_state
from slabfield.moves.sweep import Plan
from slabfield.priors import Prior
from slabfield.sampler.collapsed import CollapsedChain, scatter
from slabfield.sampler.iteration import new_record, settle
from slabfield.sampler.plan import covered_by, list_moves
from slabfield.sampler.settings import default_particles
from slabfield.sampler.warmup import Problem

N_NODES, N_PARTICLES = 8, 64
MODEL = BinaryPairwise(N_NODES)
EDGE = {(i, j): m for m, (i, j) in enumerate(zip(*MODEL.ends, strict=True))}
# 1 and 2 are partners, so are 5 and 6; 0 hangs on 2, 3 on 5, and 4 and 7 on nothing
COUPLINGS = {(1, 2): 4.0, (5, 6): -3.0, (0, 2): 0.6, (3, 5): 0.8}


@pytest.fixture(scope="module")
def engine_and_state():
    rng = np.random.default_rng(1)
    state = new_state(N_NODES, MODEL.n_interactions, MODEL.n_interactions)
    state.bias[:] = rng.normal(size=N_NODES)
    for edge, value in COUPLINGS.items():
        insert(state, EDGE[edge])
        state.coupling[EDGE[edge]] = value
    engine = with_chances(particle_cubes(MODEL, N_PARTICLES, 1, 6, False, rng))
    settle(engine, state, rng)
    engine.work.stale[:] = True
    for i in range(N_NODES):
        show_chance(engine, state, i)
    return engine, state


def are_apart(engine, i, j):
    return apart(engine.work.partner, engine.neighbours, engine.degree, i, j)


def table_of(engine, state, nodes):
    mass = np.zeros((1 << len(nodes), 16))
    open_block_particles(engine, state, np.array(nodes), mass)
    return mass / mass.sum(axis=0)


def lanes_of(values):
    return values.reshape(-1, 16).mean(axis=0)


@pytest.mark.parametrize("i", range(N_NODES))
def test_chances_are_conditional_probabilities(engine_and_state, i):
    engine, state = engine_and_state
    alone = table_of(engine, state, [i])
    np.testing.assert_allclose(lanes_of(engine.work.chance[0, i]), alone[1], rtol=1e-5)
    partner = {1: 2, 2: 1, 5: 6, 6: 5}.get(i, -1)
    assert engine.work.partner[i] == partner
    both = table_of(engine, state, [i, partner]) if partner >= 0 else alone
    np.testing.assert_allclose(
        lanes_of(engine.work.chance[1, i]), both[1::2].sum(axis=0), rtol=1e-5
    )
    for k in range(2):
        sums = engine.work.chance[k, i].reshape(-1, 16).sum(axis=0)
        np.testing.assert_allclose(engine.work.chance_sums[k, i], sums, rtol=1e-5)


@pytest.mark.parametrize("edge", [e for e in EDGE if e not in COUPLINGS])
def test_products_of_chances_are_the_table_of_an_absent_edge(engine_and_state, edge):
    engine, state = engine_and_state
    i, j = edge
    which = int(are_apart(engine, i, j))
    partners = [int(p) for p in engine.work.partner[[i, j]] if p >= 0] if which else []
    table = table_of(engine, state, [i, j, *partners])
    product = lanes_of(engine.work.chance[which, i] * engine.work.chance[which, j])
    np.testing.assert_allclose(product, table[3::4].sum(axis=0), rtol=1e-5)


def test_which_pairs_are_apart(engine_and_state):
    engine, _ = engine_and_state
    assert are_apart(engine, 1, 5)
    assert are_apart(engine, 1, 4)
    # the partner of 1 is a neighbour of 0, that of 6 of 3; 4 and 7 have none
    assert not are_apart(engine, 0, 1)
    assert not are_apart(engine, 3, 6)
    assert not are_apart(engine, 4, 7)


def test_chances_that_depend_on_an_edge_or_on_what_was_drawn_are_stale(engine_and_state):
    engine, _ = engine_and_state
    stale = engine.work.stale
    # 1 is the partner of 2, and 6 of 5; 0 is a neighbour of 2, and 3 of 5
    for mark, nodes, wanted in (
        (mark_ends_stale, [1, 7], [1, 2, 7]),
        (mark_ends_stale, [2, 3], [1, 2, 3]),
        (mark_stale, [1, 7], [0, 1, 2, 7]),
    ):
        stale[:] = False
        mark(engine, np.array(nodes))
        assert np.flatnonzero(stale).tolist() == wanted
    stale[:] = False


@pytest.mark.parametrize("gain", [5.0, -8.0, 15.0])
def test_a_glance_is_close_to_the_integral(gain):
    """Without noise, the chance is that of the integral over the coupling, to a few percent."""
    same = [np.full(16, value) for value in (2.0, 3.5, 4.0)]
    n_rows, slab, u, v = 300.0, 1.5, 0.4, 0.6
    both, one, other = 0.25, 3.5 / 8, 0.5
    slope = n_rows * (both - u * one - v * other) + gain
    a = np.linspace(-6, 6, 200_001)
    total = (1 - one - other + both) + (one - both) * np.exp(-u * a)
    total += (other - both) * np.exp(-v * a) + both * np.exp((1 - u - v) * a)
    log_density = slope * a - n_rows * np.log(total) - 0.5 * slab * a**2
    evidence = np.log(np.sum(np.exp(log_density)) * (a[1] - a[0]) * np.sqrt(slab / (2 * np.pi)))
    # prior odds that make up for it, so that a chance is near one half
    chance, noise, _ = glance(*same, 128, slope, u, v, -evidence, n_rows, slab, slab)
    assert noise == pytest.approx(0.0, abs=1e-20)
    assert chance == pytest.approx(0.5, abs=0.02)


def test_lanes_that_differ_are_noise_to_a_glance():
    rng = np.random.default_rng(2)
    first, second = rng.random(16) * 8, rng.random(16) * 8
    found = glance(first * second / 8, first, second, 128, -9.0, 0.4, 0.6, -2.0, 300.0, 1.5, 1.5)
    assert found[1] > 0


def test_a_chain_whose_edges_are_mostly_rare_has_the_posterior_of_enumeration():
    """Blocks are within either half of the nodes: the 16 edges across are updated one by one."""
    rows = make_block(200, random_state=4).rows[:, :N_NODES]
    exact = SpikeSlabMRF(likelihood="exact", n_draws=4_000, random_state=1).fit(rows)
    rng = np.random.default_rng(4)
    unknown = new_unknown(MODEL, rows, np.zeros(rows.shape, bool))
    prior = Prior.standard(MODEL.n_interactions)
    problem = Problem(MODEL, rows, MODEL.sums(rows), prior, unknown)
    engine = with_chances(particle_cubes(MODEL, 4_096, 2, 4, False, rng))
    scatter(engine, problem, rng)
    state = new_state(N_NODES, MODEL.n_interactions, MODEL.n_interactions)
    settle(engine, state, rng)
    halves = [*range(4)], [*range(4, 8)]
    blocks = np.array([[i, *(j for j in half if j != i)] for half in halves for i in half])
    covered = covered_by(blocks, N_NODES, MODEL.n_interactions)
    assert np.sum(~covered) == 16
    plan = Plan(blocks, 0, covered, *list_moves([], len(blocks)), covered, 2, blocks[:0])
    block = new_block(problem.sums.bias / 200, 4, 16)
    chain = CollapsedChain(
        problem, default_particles(), engine, state, block, plan,
        new_tally(MODEL.n_interactions), rng,
    )  # fmt: skip
    chain.iterate(new_record(0, N_NODES, *[MODEL.n_interactions] * 2), 0, 0, 200)
    chain = chain._replace(tally=new_tally(MODEL.n_interactions))
    record = new_record(1_500, N_NODES, *[MODEL.n_interactions] * 2)
    chain.iterate(record, 0, 1_500, 1)
    wanted = exact.posterior_.edge_probability
    assert np.sqrt(np.mean((record.present.mean(axis=0) - wanted) ** 2)) < 0.02
    assert np.sqrt(np.mean((chain.tally.mean_chance - wanted) ** 2)) < 0.02
    assert chain.tally.visits.min() == 1_500
