"""Block tables against plain NumPy: sums over all states, means over particles, and their noise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from random_fields import engine_with, random_state_of
from slabfield.inference import enumeration
from slabfield.kernels import block_particles, block_table, gibbs
from slabfield.likelihood.blocks import block_size, exact_blocks, particle_blocks
from slabfield.likelihood.protocols import leave_block, more_particles, open_block
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import insert, remove
from slabfield.moves.edge_gibbs import Edge, edge_evidence, scale_of
from slabfield.moves.particle_noise import corrected_probability, noise_at


def marginal(model, state, nodes):
    """Probabilities of the states of some nodes, from the table of all states."""
    probability = enumeration.probabilities(model.field(state.bias, state.coupling))
    index = np.arange(probability.size)
    code = sum(((index >> i) & 1) << b for b, i in enumerate(nodes))
    return np.bincount(code, probability, minlength=1 << len(nodes))


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


@pytest.mark.parametrize("n_groups", [1, 3])
def test_marginals_and_reweighting_of_a_block(n_groups):
    k, rng = 5, np.random.default_rng(n_groups)
    table, sums = rng.random((1 << k, n_groups)), np.zeros((4, n_groups))
    bit = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    for low in range(k):
        block_table.node_marginal(table, k, low, sums)
        np.testing.assert_allclose(sums[0], table[bit[:, low] == 0].sum(axis=0))
        np.testing.assert_allclose(sums[3], table[bit[:, low] == 1].sum(axis=0))
        reweighted = table.copy()
        block_table.reweight_node(reweighted, k, low, 1.7)
        np.testing.assert_allclose(reweighted, table * np.where(bit[:, low], 1.7, 1.0)[:, None])
        for high in range(low + 1, k):
            block_table.pair_marginal(table, k, low, high, sums)
            for place in range(4):
                here = bit[:, low] + 2 * bit[:, high] == place
                np.testing.assert_allclose(sums[place], table[here].sum(axis=0))
            reweighted = table.copy()
            block_table.reweight_pair(reweighted, k, low, high, 0.3, 1.9, 2.7)
            factor = np.array([1.0, 0.3, 1.9, 2.7])[bit[:, low] + 2 * bit[:, high]]
            np.testing.assert_allclose(reweighted, table * factor[:, None])


def test_energies_of_a_block():
    k, rng = 4, np.random.default_rng(1)
    shift, matrix = rng.normal(size=k), rng.normal(size=(k, k))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    energy = np.zeros(1 << k)
    block_table.block_energy(shift, matrix, energy)
    x = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    np.testing.assert_allclose(energy, x @ shift + 0.5 * np.sum((x @ matrix) * x, axis=1))


def test_edges_are_numbered_as_in_the_model():
    first, second = BinaryPairwise(7).ends
    numbers = [block_table.edge_number(7, i, j) for i, j in zip(first, second, strict=True)]
    assert numbers == list(range(21))


def test_single_exponential_is_exp():
    values = np.concatenate([np.linspace(-79, 0, 3000), [-1e4]]).astype(np.float32)
    expected = np.exp(values.astype(float))
    powers = np.zeros(values.size, np.float32)
    block_particles.exponentiate_single(values, powers, powers.view(np.int32))
    # r carries the rounding of an argument of up to 80: 80 * 2^-24 relative, and a little more
    assert np.abs(values[:-1] / expected[:-1] - 1).max() < 6e-6
    assert np.abs(values[2500:3000] / expected[2500:3000] - 1).max() < 1e-6
    assert 0 < values[-1] < 1e-34


@pytest.mark.parametrize("weight", [-300.0, -44.0, -2.0, 0.5, 30.0, 44.0, 300.0])
def test_probability_with_a_partner_summed_out_is_finite_for_any_coupling(weight):
    h, g = (grid.ravel() for grid in np.meshgrid(*[np.linspace(-60, 60, 41)] * 2))
    rows = [values.astype(np.float32) for values in (h, g, g)]
    block_particles.joint_exponents(rows[0], rows[1], np.float32(weight), rows[2])
    powers = np.zeros(h.size, np.float32)
    for row in rows:
        block_particles.exponentiate_single(row, powers, powers.view(np.int32))
    found = np.zeros(h.size, np.float32)
    block_particles.joint_probability(*rows, found)
    near = (np.abs(h) <= 25) & (np.abs(g) <= 25)
    exact = expit(h + np.logaddexp(0, g + weight) - np.logaddexp(0, g))
    np.testing.assert_allclose(found[near], exact[near], rtol=1e-4, atol=2e-6)
    assert ((found >= 0) & (found <= 1)).all()


def test_uniform_numbers_come_from_the_streams():
    streams = gibbs.new_streams(500, np.random.default_rng(3))
    others, uniform = streams.copy(), np.zeros(500, np.float32)
    drawn = []
    for _ in range(100):
        word = streams[0] + streams[3]
        block_particles.fill_uniform(streams, uniform)
        gibbs.resample(np.zeros(500, np.float32), np.zeros(500, np.float32), others)
        assert np.array_equal(streams, others)  # same generator as resample, which has its own test
        np.testing.assert_allclose(uniform, (word >> 8) / 2.0**24, atol=1e-7)
        drawn.append(uniform.copy())
    assert stats.kstest(np.concatenate(drawn), "uniform").pvalue > 1e-3


# --- all states of the others ------------------------------------------------------------------


@pytest.mark.parametrize("strength", [1.0, 8.0])
@pytest.mark.parametrize("n_nodes", [2, 3, 6, 7, 9, 13, 14])
def test_exact_tables_equal_the_marginals(n_nodes, strength):
    model, state = random_state_of(n_nodes, strength, n_nodes)
    engine, k = exact_blocks(model), block_size(n_nodes)
    rng = np.random.default_rng(n_nodes)
    # the last group of a sweep may have a single node
    for size in {min(k // 2 + 1, n_nodes), k - 1, k} - {0, 1}:
        table = np.zeros((1 << k, 1))
        nodes = rng.permutation(n_nodes)[:size]
        open_block(engine, state, nodes, table)
        found = table[: 1 << size, 0] / table[: 1 << size].sum()
        expected = marginal(model, state, nodes)
        # relative precision of rare states too: each is a sum of its own
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-290)
        wrong = state._replace(bias=1.1 * state.bias, coupling=1.1 * state.coupling)
        assert not np.allclose(found, marginal(model, wrong, nodes), rtol=1e-10, atol=0)


# --- particles ---------------------------------------------------------------------------------


def assert_lists_the_edges(engine, model, state):
    matrix = model.field(state.bias, state.coupling).coupling
    for i in range(model.n_nodes):
        listed = engine.neighbors[i, : engine.degree[i]]
        assert sorted(listed) == np.flatnonzero(matrix[i]).tolist()
        np.testing.assert_allclose(engine.weights[i, : engine.degree[i]], matrix[i, listed], 1e-6)


@pytest.mark.parametrize("strength", [1.0, 6.0])
@pytest.mark.parametrize(("n_nodes", "size", "k"), [(8, 6, 6), (8, 4, 6), (8, 5, 6), (3, 3, 3),
                                                    (7, 2, 4), (7, 3, 4)])  # fmt: skip
def test_particle_tables_are_means_of_conditionals(n_nodes, size, k, strength):
    model, state = random_state_of(n_nodes, strength, size)
    rng = np.random.default_rng(size)
    particles = rng.integers(0, 2, (n_nodes, 80)).astype(np.float32)
    engine = engine_with(model, state, particles, k)
    nodes, table = rng.permutation(n_nodes)[:size], np.zeros((1 << k, block_particles.GROUPS))
    open_block(engine, state, nodes, table)
    expected = conditional(model, state, particles, nodes)
    # single precision throughout
    for group in range(block_particles.GROUPS):
        mean = expected[:, group :: block_particles.GROUPS].mean(axis=1)
        np.testing.assert_allclose(table[: 1 << size, group] / 5, mean, rtol=2e-4, atol=3e-7)
    np.testing.assert_allclose(
        table[: 1 << size].sum(axis=1) / 80, expected.mean(axis=1), rtol=2e-4, atol=3e-7
    )
    wrong = state._replace(coupling=1.1 * state.coupling)
    wrong = conditional(model, wrong, particles, nodes).mean(axis=1)
    assert not np.allclose(table[: 1 << size].sum(axis=1) / 80, wrong, rtol=2e-4, atol=3e-7)


def p_value_of_states(particles, probability):
    """Chi-square test of the frequencies of joint states, rare ones pooled."""
    code = (particles.astype(np.int64) << np.arange(len(particles))[:, None]).sum(axis=0)
    counts = np.bincount(code, minlength=probability.size)
    order = np.argsort(probability)
    group = np.floor(np.cumsum(probability[order]) * 40).astype(int)
    expected = np.bincount(group, probability[order]) * particles.shape[1]
    observed = np.bincount(group, counts[order])
    kept = expected > 0
    return stats.chisquare(
        observed[kept], expected[kept] * (observed.sum() / expected.sum())
    ).pvalue


def change_within(model, state, nodes, factor=1.0):
    """Change a block as its update may: add an edge, remove one, change one, and move biases."""
    first, second = model.ends
    inside = np.flatnonzero(np.isin(first, nodes) & np.isin(second, nodes))
    present = [alpha for alpha in inside if state.present[alpha]]
    absent = [alpha for alpha in inside if not state.present[alpha]]
    insert(state, absent[0])
    state.coupling[absent[0]] = 1.3 * factor
    state.coupling[present[0]] = -0.8 * factor
    state.bias[nodes] += np.linspace(-1.0, 1.0, len(nodes))
    remove(state, present[1])
    state.coupling[present[1]] = 0.0


def test_leaving_a_block_redraws_it_from_its_conditional():
    model, state = random_state_of(8, 0.8, 5)
    nodes, rng = np.array([6, 0, 3, 5, 1]), np.random.default_rng(2)
    rest = rng.integers(0, 2, (8, 1))
    particles = np.repeat(rest, 40_000, axis=1).astype(np.float32)
    engine = engine_with(model, state, particles, 6)
    table = np.zeros((64, 16))
    open_block(engine, state, nodes, table)
    change_within(model, state, nodes)
    leave_block(engine, state, nodes, table, rng)
    outside = np.setdiff1d(np.arange(8), nodes)
    assert np.array_equal(engine.states[outside], particles[outside])
    probability = conditional(model, state, rest, nodes)[:, 0]
    assert p_value_of_states(engine.states[nodes], probability) > 1e-3
    assert_lists_the_edges(engine, model, state)
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
    table = np.zeros((64, 16))
    open_block(engine, state, nodes, table)
    change_within(model, state, nodes)
    leave_block(engine, state, nodes, table, rng)
    assert engine.importance.mean() == pytest.approx(1.0, abs=1e-3)
    # fewer draws than particles, so that hardly any particle is drawn twice
    share = engine.importance.astype(float) / engine.importance.sum(dtype=float)
    sample = engine.states[:, rng.choice(100_000, 4_000, p=share)]
    probability = enumeration.probabilities(model.field(state.bias, state.coupling))
    assert p_value_of_states(sample, probability) > 1e-3
    assert p_value_of_states(sample, before) < 1e-3


def test_resampling_follows_the_weights():
    n = 3 * block_particles.GROUPS
    states = np.arange(2 * n, dtype=np.float32).reshape(2, n)
    importance = np.ones(n, np.float32)
    # of the first two groups; all others stay as they are
    importance.reshape(3, -1)[:, 0] = [0.0, 3.0, 0.5]
    importance.reshape(3, -1)[:, 1] = [0.5, 0.0, 2.0]
    parents, buffer = np.zeros(n, np.int32), np.zeros(n, np.float32)
    block_particles.resample_all(states, importance, 0.4, parents, buffer)
    kept, of = np.arange(n).reshape(3, -1), parents.reshape(3, -1)
    assert of[:, 0].tolist() == [kept[1, 0], kept[1, 0], kept[1, 0]]
    assert of[:, 1].tolist() == [kept[2, 0], kept[2, 1], kept[2, 1]]
    assert np.array_equal(of[:, 2:], kept[:, 2:])
    assert np.array_equal(states, np.stack([parents, n + parents]))
    assert importance.tolist() == [1.0] * n


@pytest.mark.parametrize("n_sweeps", [0, 2])
def test_block_updates_leave_the_field_invariant(n_sweeps):
    model, state = random_state_of(7, 0.8, 9)
    rng = np.random.default_rng(4)
    particles = enumeration.sample(model.field(state.bias, state.coupling), 40_000, rng).T
    engine = engine_with(model, state, particles, 4, n_sweeps)
    table = np.zeros((16, 16))
    for _ in range(6):
        nodes = rng.permutation(7)[:4]
        open_block(engine, state, nodes, table)
        leave_block(engine, state, nodes, table, rng)
        assert_lists_the_edges(engine, model, state)
    assert np.mean(engine.states == particles) < 0.9
    probability = enumeration.probabilities(model.field(state.bias, state.coupling))
    assert p_value_of_states(engine.states, probability) > 1e-3
    wrong = enumeration.probabilities(model.field(state.bias, 1.1 * state.coupling))
    assert p_value_of_states(engine.states, wrong) < 1e-3


@pytest.mark.parametrize("n_sweeps", [0.0, 0.25, 1.0])
def test_a_fractional_number_of_sweeps_is_right_on_average(n_sweeps):
    model, state = random_state_of(8, 0.8, 5)
    rng = np.random.default_rng(6)
    engine = engine_with(model, state, rng.integers(0, 2, (8, 160)).astype(np.float32), 4, n_sweeps)
    nodes, table = np.array([6, 0, 3, 5]), np.zeros((16, 16))
    outside, times = np.setdiff1d(np.arange(8), nodes), 0
    for _ in range(400):
        before = engine.states[outside].copy()
        open_block(engine, state, nodes, table)
        leave_block(engine, state, nodes, table, rng)
        times += not np.array_equal(engine.states[outside], before)
    # five standard deviations
    assert times == pytest.approx(400 * n_sweeps, abs=5 * np.sqrt(400 * n_sweeps * (1 - n_sweeps)))


def test_a_block_on_particles_has_six_nodes_at_most():
    with pytest.raises(ValueError, match="at most 6 nodes, not 7"):
        particle_blocks(BinaryPairwise(9), 32, 1, 7, False, np.random.default_rng(0))


def test_more_and_fewer_particles_begin_as_copies():
    model, state = random_state_of(5, 1.0, 1)
    particles = np.random.default_rng(0).integers(0, 2, (5, 32)).astype(np.float32)
    engine = engine_with(model, state, particles, 4)
    more = more_particles(engine, 64, np.random.default_rng(1))
    # the two halves, which had different starts, are not mixed
    one, other = particles[:, :16], particles[:, 16:]
    assert np.array_equal(more.states, np.hstack([one, one, other, other]))
    fewer = more_particles(engine, 16, np.random.default_rng(1))
    assert np.array_equal(fewer.states, np.hstack([one[:, :8], other[:, :8]]))
    assert_lists_the_edges(more, model, state)
    # copies diverge: each has its own random stream
    assert not np.array_equal(more.streams[:, :32], more.streams[:, 32:])


# --- noise -------------------------------------------------------------------------------------

N_ROWS, N_PARTICLES, N_REPEATS = 400, 64, 1500
# nodes of the block, and the edge that is evaluated
NODES, LOW, HIGH = np.array([2, 5, 0, 3]), 0, 1


def sd_of(precision, around):
    """Standard deviation from the curvature at the mode, given the shares of the four states."""
    t0, t1, t2, t3, u, v, mean, _ = around
    feature = np.array([0.0, -u, -v, 1 - u - v])
    return (N_ROWS * (np.array([t0, t1, t2, t3]) @ (feature - mean) ** 2) + precision) ** -0.5


@cache
def noisy_case():
    """Evidence of an edge of a field, exact and from many independent sets of particles.

    Returns the exact result, and that of every set of particles: evidence, noise, mode, the share
    of the draw's variance that noise replaces, and the draw's standard deviation (for the exact one
    only).
    """
    model, state = random_state_of(7, 1.5, 3)
    field, rng = model.field(state.bias, state.coupling), np.random.default_rng(8)
    sums = model.sums(enumeration.sample(field, N_ROWS, rng))
    mean = sums.bias / N_ROWS
    i, j = NODES[LOW], NODES[HIGH]
    edge = Edge(block_table.edge_number(7, i, j), LOW, HIGH, i, j, mean[j], mean[i])
    scale = scale_of(float(N_ROWS), 1.0, 0.01)

    def evaluate(engine, n_groups):
        table, groups, residual = (
            np.zeros((16, n_groups)),
            np.zeros((4, n_groups)),
            np.zeros(n_groups),
        )
        open_block(engine, state, NODES, table)
        evidence, noise, shift, edge_conditional = edge_evidence(
            table, 4, groups, residual, edge, sums.coupling, sums.bias, state.coupling, state.bias,
            scale,
        )  # fmt: skip
        sd = sd_of(edge_conditional[1], edge_conditional[3])
        return (
            evidence,
            noise / (1 + shift),
            edge_conditional.mode,
            edge_conditional.noise_share,
            sd,
        )

    exact = evaluate(exact_blocks(model)._replace(work=block_table.new_exact_workspace(7, 4, 4)), 1)
    engine = engine_with(model, state, np.zeros((7, N_PARTICLES), np.float32), 4)
    found = []
    for _ in range(N_REPEATS):
        engine.states[:] = enumeration.sample(field, N_PARTICLES, rng).T
        found.append(evaluate(engine, block_particles.GROUPS))
    return exact, np.array(found).T[:4]


def test_noise_from_groups_is_the_variance_over_sets_of_particles():
    exact, (evidence, noise, _, _) = noisy_case()
    assert 0.7 < noise.mean() < 1.5  # neither nothing nor out of bounds
    # the variance of 1500 numbers is known to 4 percent, their mean to .03
    assert evidence.var() == pytest.approx(noise.mean(), rel=0.12)
    assert evidence.mean() == pytest.approx(exact[0], abs=0.1)


def test_noise_of_the_gradient_is_the_variance_of_the_mode():
    exact, (_, _, mode, share) = noisy_case()
    assert mode.mean() == pytest.approx(exact[2], abs=0.2 * mode.std())
    # in units of the conditional's own variance, which the exact evaluation gives
    assert mode.var() / exact[4] ** 2 == pytest.approx(share.mean(), rel=0.15)


def test_noise_of_groups_that_are_random_numbers():
    groups = np.random.default_rng(1).gamma(30.0, size=(4, block_particles.GROUPS, 4000))
    pair = (*(groups.sum(axis=1).mean(axis=1) / groups.sum(axis=(0, 1)).mean()), 0.4, 0.3)
    observed, estimated = [], []
    for t in range(4000):
        residual = np.zeros(block_particles.GROUPS)
        evidence, gradient = noise_at(groups[:, :, t].copy(), 50.0, pair, 0.8, residual)
        estimated.append((evidence, gradient))
        observed.append(log_mean_and_gradient(groups[:, :, t].sum(axis=1), 50.0, pair, 0.8))
    np.testing.assert_allclose(np.var(observed, axis=0), np.mean(estimated, axis=0), rtol=0.1)


def log_mean_and_gradient(weights, n_rows, pair, a):
    """N log of M(a) / M(0), and N times the feature's mean at a, from weights of four states."""
    u, v = pair[4], pair[5]
    feature = np.array([0.0, -u, -v, 1 - u - v])
    tilted = weights * np.exp(feature * a)
    return (
        n_rows * np.log(tilted.sum() / weights.sum()), n_rows * (tilted @ feature) / tilted.sum()
    )  # fmt: skip


@pytest.mark.parametrize("exact_probability", [0.003, 0.02, 0.15, 0.5, 0.9])
def test_inclusion_probabilities_are_corrected_for_noise(exact_probability):
    """On average over particles, corrected probabilities are exact; uncorrected ones are not."""
    exact, (evidence, noise, _, _) = noisy_case()
    odds = evidence + logit(exact_probability) - exact[0]
    found = np.array([corrected_probability(one, v) for one, v in zip(odds, noise, strict=True)])
    error, bias = found.std() / np.sqrt(found.size), abs(found.mean() - exact_probability)
    assert error < 0.05 * exact_probability
    assert bias < min(3 * error, 0.018)
    if exact_probability != 0.5:
        assert abs(expit(odds).mean() - exact_probability) > 9 * error


def test_probabilities_from_noisy_odds_are_right_on_average():
    x, weight = np.polynomial.hermite_e.hermegauss(60)
    weight /= weight.sum()
    # largest absolute error of a probability, and relative error of the smaller of p and 1 - p
    limits = ((0.1, 1e-5, 1e-4), (0.25, 1e-4, 1e-3), (1.0, 1e-3, 5e-3), (2.0, 4e-3, 0.1))
    for noise, most, part in limits:
        plain = []
        for odds in np.linspace(-12, 12, 49):
            noisy = odds + np.sqrt(noise) * x
            plain.append(abs(weight @ expit(noisy) - expit(odds)))
            found = weight @ np.array([corrected_probability(one, noise) for one in noisy])
            assert abs(found - expit(odds)) < most
            least = min(found, 1 - found)
            assert least == pytest.approx(expit(-abs(odds)), rel=part)
        assert max(plain) > 5 * most
    for odds in (-3.0, -0.5, 2.0):
        assert corrected_probability(odds, 0.0) == pytest.approx(expit(odds), rel=1e-14)
        assert corrected_probability(odds, 50.0) == corrected_probability(odds, 2.0)
        for noise in np.linspace(0.0, 2.0, 21):
            assert 0.0 < corrected_probability(odds, noise) < 1.0
            assert corrected_probability(-odds, noise) == pytest.approx(
                1.0 - corrected_probability(odds, noise)
            )
