"""Sub-cubes against plain NumPy: sums over all states, means over particles, and their noise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from slabfield.exact import enumeration
from slabfield.kernels import cloud, cube, gibbs
from slabfield.likelihood.cubes import (
    block_size,
    exact_cubes,
    more_particles,
    particle_cubes,
)
from slabfield.likelihood.engine import advance, leave_block, open_block
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.noise import chance_of, noise_at
from slabfield.moves.pair import judge, scale_of
from slabfield.moves.state import insert, new_state, remove


def random_state_of(n_nodes, strength, seed, density=0.7):
    """A model and a state with couplings of this standard deviation."""
    rng = np.random.default_rng(seed)
    model = BinaryPairwise(n_nodes)
    state = new_state(n_nodes, model.n_interactions, model.n_interactions)
    state.bias[:] = strength * rng.standard_normal(n_nodes)
    for alpha in np.flatnonzero(rng.random(model.n_interactions) < density):
        insert(state, alpha)
        state.coupling[alpha] = strength * rng.standard_normal()
    return model, state


def marginal(model, state, nodes):
    """Probabilities of the states of some nodes, from the table of all states."""
    chance = enumeration.probabilities(model.field(state.bias, state.coupling))
    index = np.arange(chance.size)
    place = sum(((index >> i) & 1) << b for b, i in enumerate(nodes))
    return np.bincount(place, chance, minlength=1 << len(nodes))


def conditional(model, state, particles, nodes):
    """P(x_S | x_rest) of every particle (a column): shape (2^k, n)."""
    k, rows = len(nodes), np.repeat(particles.T[None], 1 << len(nodes), axis=0).astype(float)
    bits = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    rows[:, :, nodes] = bits[:, None, :]
    field = model.field(state.bias, state.coupling)
    logs = np.stack([field.log_potential(some) for some in rows])
    weight = np.exp(logs - logs.max(axis=0))
    return weight / weight.sum(axis=0)


# --- kernels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [1, 3])
def test_sums_and_tilts_of_a_block(lanes):
    k, rng = 5, np.random.default_rng(lanes)
    mass, sums = rng.random((1 << k, lanes)), np.zeros((4, lanes))
    bit = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    for low in range(k):
        cube.halves(mass, k, low, sums)
        np.testing.assert_allclose(sums[0], mass[bit[:, low] == 0].sum(axis=0))
        np.testing.assert_allclose(sums[3], mass[bit[:, low] == 1].sum(axis=0))
        tilted = mass.copy()
        cube.tilt_node(tilted, k, low, 1.7)
        np.testing.assert_allclose(tilted, mass * np.where(bit[:, low], 1.7, 1.0)[:, None])
        for high in range(low + 1, k):
            cube.quadrants(mass, k, low, high, sums)
            for place in range(4):
                here = bit[:, low] + 2 * bit[:, high] == place
                np.testing.assert_allclose(sums[place], mass[here].sum(axis=0))
            tilted = mass.copy()
            cube.tilt(tilted, k, low, high, 0.3, 1.9, 2.7)
            factor = np.array([1.0, 0.3, 1.9, 2.7])[bit[:, low] + 2 * bit[:, high]]
            np.testing.assert_allclose(tilted, mass * factor[:, None])


def test_energies_of_a_block():
    k, rng = 4, np.random.default_rng(1)
    shift, matrix = rng.normal(size=k), rng.normal(size=(k, k))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    energy = np.zeros(1 << k)
    cube.block_energy(shift, matrix, energy)
    x = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    np.testing.assert_allclose(energy, x @ shift + 0.5 * np.sum((x @ matrix) * x, axis=1))


def test_edges_are_numbered_as_in_the_model():
    first, second = BinaryPairwise(7).ends
    numbers = [cube.edge_number(7, i, j) for i, j in zip(first, second, strict=True)]
    assert numbers == list(range(21))


def test_single_exponential_is_exp():
    values = np.concatenate([np.linspace(-79, 0, 3000), [-1e4]]).astype(np.float32)
    expected = np.exp(values.astype(float))
    powers = np.zeros(values.size, np.float32)
    cloud.exponentiate_single(values, powers, powers.view(np.int32))
    # r carries the rounding of an argument of up to 80: 80 * 2^-24 relative, and a little more
    assert np.abs(values[:-1] / expected[:-1] - 1).max() < 6e-6
    assert np.abs(values[2500:3000] / expected[2500:3000] - 1).max() < 1e-6
    assert 0 < values[-1] < 1e-34


@pytest.mark.parametrize("weight", [-300.0, -44.0, -2.0, 0.5, 30.0, 44.0, 300.0])
def test_chances_with_a_partner_summed_out_are_numbers_for_any_coupling(weight):
    h, g = (grid.ravel() for grid in np.meshgrid(*[np.linspace(-60, 60, 41)] * 2))
    rows = [values.astype(np.float32) for values in (h, g, g)]
    cloud.joint_exponents(rows[0], rows[1], np.float32(weight), rows[2])
    powers = np.zeros(h.size, np.float32)
    for row in rows:
        cloud.exponentiate_single(row, powers, powers.view(np.int32))
    found = np.zeros(h.size, np.float32)
    cloud.joint_chance(*rows, found)
    near = (np.abs(h) <= 25) & (np.abs(g) <= 25)
    exact = expit(h + np.logaddexp(0, g + weight) - np.logaddexp(0, g))
    np.testing.assert_allclose(found[near], exact[near], rtol=1e-4, atol=2e-6)
    assert ((found >= 0) & (found <= 1)).all()


def test_uniform_numbers_come_from_the_lanes():
    lanes = gibbs.new_lanes(500, np.random.default_rng(3))
    others, uniform = lanes.copy(), np.zeros(500, np.float32)
    drawn = []
    for _ in range(100):
        word = lanes[0] + lanes[3]
        cloud.fill_uniform(lanes, uniform)
        gibbs.resample(np.zeros(500, np.float32), np.zeros(500, np.float32), others)
        assert np.array_equal(lanes, others)  # the generator that has its own test
        np.testing.assert_allclose(uniform, (word >> 8) / 2.0**24, atol=1e-7)
        drawn.append(uniform.copy())
    assert stats.kstest(np.concatenate(drawn), "uniform").pvalue > 1e-3


# --- all states of the others ------------------------------------------------------------------


@pytest.mark.parametrize("strength", [1.0, 8.0])
@pytest.mark.parametrize("n_nodes", [2, 3, 6, 7, 9, 13, 14])
def test_exact_mass_equals_the_marginals(n_nodes, strength):
    model, state = random_state_of(n_nodes, strength, n_nodes)
    engine, k = exact_cubes(model), block_size(n_nodes)
    rng = np.random.default_rng(n_nodes)
    # the last group of a sweep may have a single node
    for size in {min(k // 2 + 1, n_nodes), k - 1, k} - {0, 1}:
        mass = np.zeros((1 << k, 1))
        nodes = rng.permutation(n_nodes)[:size]
        open_block(engine, state, nodes, mass)
        found = mass[: 1 << size, 0] / mass[: 1 << size].sum()
        expected = marginal(model, state, nodes)
        # relative precision of rare states too: each is a sum of its own
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-290)
        wrong = state._replace(bias=1.1 * state.bias, coupling=1.1 * state.coupling)
        assert not np.allclose(found, marginal(model, wrong, nodes), rtol=1e-10, atol=0)


# --- particles ---------------------------------------------------------------------------------


def engine_with(model, state, particles, k, n_sweeps=0, seed=1, weighted=False):
    """A particle engine in the given states, which knows the state's edges."""
    engine = particle_cubes(
        model, particles.shape[1], n_sweeps, k, weighted, np.random.default_rng(seed)
    )
    advance(engine, state, np.random.default_rng(0))
    engine.states[:] = particles
    return engine


def assert_knows_the_edges(engine, model, state):
    matrix = model.field(state.bias, state.coupling).coupling
    for i in range(model.n_nodes):
        listed = engine.neighbours[i, : engine.degree[i]]
        assert sorted(listed) == np.flatnonzero(matrix[i]).tolist()
        np.testing.assert_allclose(engine.weights[i, : engine.degree[i]], matrix[i, listed], 1e-6)


@pytest.mark.parametrize("strength", [1.0, 6.0])
@pytest.mark.parametrize(("n_nodes", "size", "k"), [(8, 6, 6), (8, 4, 6), (8, 5, 6), (3, 3, 3),
                                                    (7, 2, 4), (7, 3, 4)])  # fmt: skip
def test_particle_mass_is_the_mean_of_conditionals(n_nodes, size, k, strength):
    model, state = random_state_of(n_nodes, strength, size)
    rng = np.random.default_rng(size)
    particles = rng.integers(0, 2, (n_nodes, 80)).astype(np.float32)
    engine = engine_with(model, state, particles, k)
    nodes, mass = rng.permutation(n_nodes)[:size], np.zeros((1 << k, cloud.GROUPS))
    open_block(engine, state, nodes, mass)
    expected = conditional(model, state, particles, nodes)
    # single precision throughout
    for lane in range(cloud.GROUPS):
        mean = expected[:, lane :: cloud.GROUPS].mean(axis=1)
        np.testing.assert_allclose(mass[: 1 << size, lane] / 5, mean, rtol=2e-4, atol=3e-7)
    np.testing.assert_allclose(
        mass[: 1 << size].sum(axis=1) / 80, expected.mean(axis=1), rtol=2e-4, atol=3e-7
    )
    wrong = state._replace(coupling=1.1 * state.coupling)
    wrong = conditional(model, wrong, particles, nodes).mean(axis=1)
    assert not np.allclose(mass[: 1 << size].sum(axis=1) / 80, wrong, rtol=2e-4, atol=3e-7)


def p_value_of_states(particles, chance):
    """Chi-square of how often each state of all rows is seen, rare ones together."""
    place = (particles.astype(np.int64) << np.arange(len(particles))[:, None]).sum(axis=0)
    seen = np.bincount(place, minlength=chance.size)
    order = np.argsort(chance)
    group = np.floor(np.cumsum(chance[order]) * 40).astype(int)
    expected = np.bincount(group, chance[order]) * particles.shape[1]
    counted = np.bincount(group, seen[order])
    kept = expected > 0
    return stats.chisquare(counted[kept], expected[kept] * (counted.sum() / expected.sum())).pvalue


def change_within(model, state, nodes, factor=1.0):
    """Change what a block's update may change: one edge new, one gone, one other, and biases."""
    first, second = model.ends
    inside = np.flatnonzero(np.isin(first, nodes) & np.isin(second, nodes))
    there = [alpha for alpha in inside if state.present[alpha]]
    absent = [alpha for alpha in inside if not state.present[alpha]]
    insert(state, absent[0])
    state.coupling[absent[0]] = 1.3 * factor
    state.coupling[there[0]] = -0.8 * factor
    state.bias[nodes] += np.linspace(-1.0, 1.0, len(nodes))
    remove(state, there[1])
    state.coupling[there[1]] = 0.0


def test_leaving_a_block_draws_it_from_its_conditional():
    model, state = random_state_of(8, 0.8, 5)
    nodes, rng = np.array([6, 0, 3, 5, 1]), np.random.default_rng(2)
    rest = rng.integers(0, 2, (8, 1))
    particles = np.repeat(rest, 40_000, axis=1).astype(np.float32)
    engine = engine_with(model, state, particles, 6)
    mass = np.zeros((64, 16))
    open_block(engine, state, nodes, mass)
    change_within(model, state, nodes)
    leave_block(engine, state, nodes, mass, rng)
    outside = np.setdiff1d(np.arange(8), nodes)
    assert np.array_equal(engine.states[outside], particles[outside])
    chance = conditional(model, state, rest, nodes)[:, 0]
    assert p_value_of_states(engine.states[nodes], chance) > 1e-3
    assert_knows_the_edges(engine, model, state)
    state.coupling[:] *= 1.1
    wrong = conditional(model, state, rest, nodes)[:, 0]
    assert p_value_of_states(engine.states[nodes], wrong) < 1e-3


@pytest.mark.parametrize("n_sweeps", [0, 2])
@pytest.mark.parametrize("strength", [0.8, 2.0])
def test_weighted_particles_follow_a_change_at_once(n_sweeps, strength):
    model, state = random_state_of(8, strength, 5)
    nodes, rng = np.array([6, 0, 3, 5, 1]), np.random.default_rng(3)
    before = enumeration.probabilities(model.field(state.bias, state.coupling))
    particles = (rng.choice(256, 100_000, p=before) >> np.arange(8)[:, None]) & 1
    engine = engine_with(model, state, particles, 6, n_sweeps, weighted=True)
    mass = np.zeros((64, 16))
    open_block(engine, state, nodes, mass)
    change_within(model, state, nodes)
    leave_block(engine, state, nodes, mass, rng)
    assert engine.importance.mean() == pytest.approx(1.0, abs=1e-3)
    # fewer than the particles, so that hardly one is taken twice
    share = engine.importance.astype(float) / engine.importance.sum(dtype=float)
    some = engine.states[:, rng.choice(100_000, 4_000, p=share)]
    chance = enumeration.probabilities(model.field(state.bias, state.coupling))
    assert p_value_of_states(some, chance) > 1e-3
    assert p_value_of_states(some, before) < 1e-3


def test_particles_drawn_anew_are_those_with_weight():
    n = 3 * cloud.GROUPS
    states = np.arange(2 * n, dtype=np.float32).reshape(2, n)
    importance = np.ones(n, np.float32)
    # of the first two groups; all others stay as they are
    importance.reshape(3, -1)[:, 0] = [0.0, 3.0, 0.5]
    importance.reshape(3, -1)[:, 1] = [0.5, 0.0, 2.0]
    parents, room = np.zeros(n, np.int32), np.zeros(n, np.float32)
    cloud.resample_all(states, importance, 0.4, parents, room)
    kept, of = np.arange(n).reshape(3, -1), parents.reshape(3, -1)
    assert of[:, 0].tolist() == [kept[1, 0], kept[1, 0], kept[1, 0]]
    assert of[:, 1].tolist() == [kept[2, 0], kept[2, 1], kept[2, 1]]
    assert np.array_equal(of[:, 2:], kept[:, 2:])
    assert np.array_equal(states, np.stack([parents, n + parents]))
    assert importance.tolist() == [1.0] * n


@pytest.mark.parametrize("n_sweeps", [0, 2])
def test_particles_from_the_field_stay_so(n_sweeps):
    model, state = random_state_of(7, 0.8, 9)
    rng = np.random.default_rng(4)
    particles = enumeration.sample(model.field(state.bias, state.coupling), 40_000, rng).T
    engine = engine_with(model, state, particles, 4, n_sweeps)
    mass = np.zeros((16, 16))
    for _ in range(6):
        nodes = rng.permutation(7)[:4]
        open_block(engine, state, nodes, mass)
        leave_block(engine, state, nodes, mass, rng)
        assert_knows_the_edges(engine, model, state)
    assert np.mean(engine.states == particles) < 0.9
    chance = enumeration.probabilities(model.field(state.bias, state.coupling))
    assert p_value_of_states(engine.states, chance) > 1e-3
    wrong = enumeration.probabilities(model.field(state.bias, 1.1 * state.coupling))
    assert p_value_of_states(engine.states, wrong) < 1e-3


@pytest.mark.parametrize("n_sweeps", [0.0, 0.25, 1.0])
def test_a_share_of_a_sweep_comes_after_that_share_of_blocks(n_sweeps):
    model, state = random_state_of(8, 0.8, 5)
    rng = np.random.default_rng(6)
    engine = engine_with(model, state, rng.integers(0, 2, (8, 160)).astype(np.float32), 4, n_sweeps)
    nodes, mass = np.array([6, 0, 3, 5]), np.zeros((16, 16))
    outside, times = np.setdiff1d(np.arange(8), nodes), 0
    for _ in range(400):
        before = engine.states[outside].copy()
        open_block(engine, state, nodes, mass)
        leave_block(engine, state, nodes, mass, rng)
        times += not np.array_equal(engine.states[outside], before)
    # five standard deviations
    assert times == pytest.approx(400 * n_sweeps, abs=5 * np.sqrt(400 * n_sweeps * (1 - n_sweeps)))


def test_a_block_on_particles_has_six_nodes_at_most():
    with pytest.raises(ValueError, match="6 nodes at most, not 7"):
        particle_cubes(BinaryPairwise(9), 32, 1, 7, False, np.random.default_rng(0))


def test_more_and_fewer_particles_begin_as_copies():
    model, state = random_state_of(5, 1.0, 1)
    particles = np.random.default_rng(0).integers(0, 2, (5, 32)).astype(np.float32)
    engine = engine_with(model, state, particles, 4)
    more = more_particles(engine, 64, np.random.default_rng(1))
    # the halves, which started from different places, stay apart
    one, other = particles[:, :16], particles[:, 16:]
    assert np.array_equal(more.states, np.hstack([one, one, other, other]))
    fewer = more_particles(engine, 16, np.random.default_rng(1))
    assert np.array_equal(fewer.states, np.hstack([one[:, :8], other[:, :8]]))
    assert_knows_the_edges(more, model, state)
    # copies part: each has random numbers of its own
    assert not np.array_equal(more.lanes[:, :32], more.lanes[:, 32:])


# --- noise -------------------------------------------------------------------------------------

N_ROWS, N_PARTICLES, N_REPEATS = 400, 64, 1500
# nodes of the block, and the edge that is judged
NODES, LOW, HIGH = np.array([2, 5, 0, 3]), 0, 1


def spread_of(precision, around):
    """Standard deviation by the curvature at the mode, from the shares of the four states."""
    t0, t1, t2, t3, u, v, mean, _ = around
    feature = np.array([0.0, -u, -v, 1 - u - v])
    return (N_ROWS * (np.array([t0, t1, t2, t3]) @ (feature - mean) ** 2) + precision) ** -0.5


@cache
def noisy_case():
    """An edge of a field, judged exactly and many times by independent particles.

    Returns what was judged exactly, and by every set of particles: evidence, noise, mode, the share
    of the draw's variance that noise takes, and the draw's spread (the last of the exact one only).
    """
    model, state = random_state_of(7, 1.5, 3)
    field, rng = model.field(state.bias, state.coupling), np.random.default_rng(8)
    sums = model.sums(enumeration.sample(field, N_ROWS, rng))
    mean = sums.bias / N_ROWS
    i, j = NODES[LOW], NODES[HIGH]
    facts = (cube.edge_number(7, i, j), LOW, HIGH, i, j, mean[j], mean[i])
    scale = scale_of(float(N_ROWS), 1.0, 0.01)

    def judged(engine, lanes):
        mass, room, residual = np.zeros((16, lanes)), np.zeros((4, lanes)), np.zeros(lanes)
        open_block(engine, state, NODES, mass)
        evidence, noise, shift, needs = judge(
            mass, 4, room, residual, facts, sums.coupling, sums.bias, state.coupling, state.bias,
            scale,
        )  # fmt: skip
        spread = spread_of(needs[1], needs[3])
        return evidence, noise / (1 + shift), needs[0], needs[2], spread

    exact = judged(exact_cubes(model)._replace(work=cube.new_exact_work(7, 4, 4)), 1)
    engine = engine_with(model, state, np.zeros((7, N_PARTICLES), np.float32), 4)
    found = []
    for _ in range(N_REPEATS):
        engine.states[:] = enumeration.sample(field, N_PARTICLES, rng).T
        found.append(judged(engine, cloud.GROUPS))
    return exact, np.array(found).T[:4]


def test_noise_of_lanes_is_the_variance_over_sets_of_particles():
    exact, (evidence, noise, _, _) = noisy_case()
    assert 0.7 < noise.mean() < 1.5  # neither nothing nor out of bounds
    # the variance of 1500 numbers is known to 4 percent, their mean to .03
    assert evidence.var() == pytest.approx(noise.mean(), rel=0.12)
    assert evidence.mean() == pytest.approx(exact[0], abs=0.1)


def test_noise_of_the_slope_is_the_variance_of_the_mode():
    exact, (_, _, mode, share) = noisy_case()
    assert mode.mean() == pytest.approx(exact[2], abs=0.2 * mode.std())
    # in units of the conditional's own variance, which the exact judgement knows
    assert mode.var() / exact[4] ** 2 == pytest.approx(share.mean(), rel=0.15)


def test_noise_of_lanes_that_are_random_numbers():
    lanes = np.random.default_rng(1).gamma(30.0, size=(4, cloud.GROUPS, 4000))
    pair = (*(lanes.sum(axis=1).mean(axis=1) / lanes.sum(axis=(0, 1)).mean()), 0.4, 0.3)
    seen, told = [], []
    for t in range(4000):
        residual = np.zeros(cloud.GROUPS)
        evidence, slope = noise_at(lanes[:, :, t].copy(), 50.0, pair, 0.8, residual)
        told.append((evidence, slope))
        seen.append(log_mean_and_slope(lanes[:, :, t].sum(axis=1), 50.0, pair, 0.8))
    np.testing.assert_allclose(np.var(seen, axis=0), np.mean(told, axis=0), rtol=0.1)


def log_mean_and_slope(weights, n_rows, pair, a):
    """N log of M(a) / M(0), and N times the feature's mean at a, from weights of four states."""
    u, v = pair[4], pair[5]
    feature = np.array([0.0, -u, -v, 1 - u - v])
    tilted = weights * np.exp(feature * a)
    return (
        n_rows * np.log(tilted.sum() / weights.sum()), n_rows * (tilted @ feature) / tilted.sum()
    )  # fmt: skip


@pytest.mark.parametrize("exact_chance", [0.003, 0.02, 0.15, 0.5, 0.9])
def test_noise_is_taken_out_of_chances(exact_chance):
    """On average over particles, presence has the exact probability, but not by plain odds."""
    exact, (evidence, noise, _, _) = noisy_case()
    odds = evidence + logit(exact_chance) - exact[0]
    found = np.array([chance_of(one, v) for one, v in zip(odds, noise, strict=True)])
    error, off = found.std() / np.sqrt(found.size), abs(found.mean() - exact_chance)
    assert error < 0.05 * exact_chance
    assert off < min(3 * error, 0.018)
    if exact_chance != 0.5:
        assert abs(expit(odds).mean() - exact_chance) > 9 * error


def test_chances_by_noisy_odds_are_right_on_average():
    x, weight = np.polynomial.hermite_e.hermegauss(60)
    weight /= weight.sum()
    # the worst error of a probability, and of the smaller of it and its opposite, by itself
    limits = ((0.1, 1e-5, 1e-4), (0.25, 1e-4, 1e-3), (1.0, 1e-3, 5e-3), (2.0, 4e-3, 0.1))
    for noise, most, part in limits:
        plain = []
        for odds in np.linspace(-12, 12, 49):
            noisy = odds + np.sqrt(noise) * x
            plain.append(abs(weight @ expit(noisy) - expit(odds)))
            found = weight @ np.array([chance_of(one, noise) for one in noisy])
            assert abs(found - expit(odds)) < most
            least = min(found, 1 - found)
            assert least == pytest.approx(expit(-abs(odds)), rel=part)
        assert max(plain) > 5 * most
    for odds in (-3.0, -0.5, 2.0):
        assert chance_of(odds, 0.0) == pytest.approx(expit(odds), rel=1e-14)
        assert chance_of(odds, 50.0) == chance_of(odds, 2.0)
        for noise in np.linspace(0.0, 2.0, 21):
            assert 0.0 < chance_of(odds, noise) < 1.0
            assert chance_of(-odds, noise) == pytest.approx(1.0 - chance_of(odds, noise))
