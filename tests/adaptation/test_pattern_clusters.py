"""Clusters of nodes that exclude or imply each other: finding them, and redrawing them jointly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from degenerate_tables import one_hot
from level_runs import problem_of
from random_fields import lists_of, random_state_of
from slabfield import SpikeSlabMRF
from slabfield.adaptation.pattern_clusters import MOST_NODES, MOST_PATTERNS, find_clusters
from slabfield.inference import enumeration
from slabfield.kernels.gibbs import new_streams
from slabfield.kernels.pattern_gibbs import draw_patterns
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.bounded_updates import leaves_support

NODES = np.array([4, 1, 3])
# the codes of one category, and none of them: bit b is node NODES[b]
PATTERNS = np.array([1, 2, 4, 0], np.int64)
N_PARTICLES = 20_000


def redraw(states: np.ndarray, state: Any, coupling: np.ndarray, seed: int = 0) -> None:
    """Redraw the pattern of the cluster in all particles."""
    d, n = states.shape
    whole, single = np.zeros(n, np.int32), np.zeros(n, np.float32)
    buffers = (
        whole, whole.copy(), single, np.zeros(d, np.bool_), np.zeros(d, np.int32),
        np.zeros(d, np.float32),
    )  # fmt: skip
    streams = new_streams(n, np.random.default_rng(seed))
    rows = np.zeros((NODES.size + 4, n), np.float32)
    draw_patterns(
        NODES,
        PATTERNS,
        states,
        state.bias,
        state.coupling,
        *lists_of(coupling),
        streams,
        rows,
        buffers,
    )


def field_and_particles(seed: int = 3) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    model, state = random_state_of(6, 1.0, seed)
    field = model.field(state.bias, state.coupling)
    rng = np.random.default_rng(seed)
    states = enumeration.sample(field, N_PARTICLES, rng).T.astype(np.uint8)
    return model, state, np.ascontiguousarray(states), np.asarray(field.coupling)


def p_value(states: np.ndarray, probability: np.ndarray) -> float:
    codes = (states.astype(np.int64) << np.arange(len(states))[:, None]).sum(axis=0)
    counts = np.bincount(codes, minlength=probability.size)
    common = probability * N_PARTICLES >= 5
    found = np.append(counts[common], counts[~common].sum())
    expected = np.append(probability[common], probability[~common].sum()) * N_PARTICLES
    return float(stats.chisquare(found, expected).pvalue)


def test_pattern_updates_leave_the_field_invariant():
    model, state, states, coupling = field_and_particles()
    probability = enumeration.probabilities(model.field(state.bias, state.coupling))
    before = states.copy()
    redraw(states, state, coupling)
    assert (before != states).any(axis=1)[NODES].all()
    assert np.array_equal(np.delete(before, NODES, axis=0), np.delete(states, NODES, axis=0))
    assert p_value(states, probability) > 1e-3
    # with couplings a tenth too strong the distribution is another
    state.coupling[:] *= 1.1
    redraw(states, state, 1.1 * coupling)
    assert p_value(states, probability) < 1e-3


def test_other_patterns_do_not_change():
    _, state, states, coupling = field_and_particles()
    codes = (states[NODES].astype(np.int64) << np.arange(3)[:, None]).sum(axis=0)
    before = states.copy()
    redraw(states, state, coupling)
    others = ~np.isin(codes, PATTERNS)
    assert others.sum() > 100
    assert np.array_equal(before[:, others], states[:, others])
    after = (states[NODES].astype(np.int64) << np.arange(3)[:, None]).sum(axis=0)
    assert np.isin(after[~others], PATTERNS).all()


def test_patterns_move_between_separated_modes():
    """Codes that exclude each other by couplings of -40: single nodes could never change."""
    model = BinaryPairwise(6)
    _, state, states, _ = field_and_particles()
    state.bias[:], state.coupling[:] = 0.0, 0.0
    state.bias[NODES] = 30.0
    coupling = np.zeros((6, 6))
    coupling[np.ix_(NODES, NODES)] = -40.0
    np.fill_diagonal(coupling, 0.0)
    first, second = model.ends
    state.coupling[:] = coupling[first, second]
    states[NODES] = 0
    states[NODES[0]] = 1
    redraw(states, state, coupling)
    shares = states[NODES].mean(axis=1)
    assert shares == pytest.approx(1 / 3, abs=0.02)
    assert (states[NODES].sum(axis=0) == 1).all()


# --- clusters ----------------------------------------------------------------------------------


def clusters_of(rows: np.ndarray) -> list[tuple[set[int], set[int]]]:
    model = BinaryPairwise(rows.shape[1])
    found = find_clusters(problem_of(model, rows))
    starts = zip(
        found.node_start[:-1], found.node_start[1:], found.pattern_start[:-1],
        found.pattern_start[1:], strict=True,
    )  # fmt: skip
    return [
        (set(found.nodes[a:b].tolist()), set(found.patterns[c:d].tolist())) for a, b, c, d in starts
    ]


def test_codes_of_a_category_are_a_cluster():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (500, 12)).astype(np.uint8)
    rows[:, 4:8] = np.eye(4, dtype=np.uint8)[rng.integers(0, 4, 500)]
    [(nodes, patterns)] = clusters_of(rows)
    assert nodes == {4, 5, 6, 7}
    assert patterns == {1, 2, 4, 8}


def test_merely_dependent_nodes_are_no_cluster():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (500, 30)).astype(np.uint8)
    rows[:, 1] ^= rows[:, 0] & (rng.random(500) < 0.5)
    rows[:, 2] = np.where(rng.random(500) < 0.3, rows[:, 0], rows[:, 2])
    assert clusters_of(rows) == []


def test_clusters_are_bounded_and_cover_most_nodes():
    rows = one_hot(1, 120)
    found = clusters_of(rows)
    assert len(found) > 5
    for nodes, patterns in found:
        assert 2 <= len(nodes) <= MOST_NODES
        assert 2 <= len(patterns) <= MOST_PATTERNS
    assert len(set().union(*(nodes for nodes, _ in found))) > 0.8 * rows.shape[1]


# --- support of particles ----------------------------------------------------------------------


def test_a_flip_may_not_leave_the_support_of_particles():
    weights = np.array([0.5, 0.3, 0.2, 1e-5])
    assert not leaves_support(weights, np.array([0.2, 0.3, 0.5, 1e-5]))
    assert leaves_support(weights, np.array([0.5, 0.3, 0.2, 0.1]))
    assert leaves_support(np.array([0.5, 0.3, 0.2, 0.1]), weights)
    # supported states may change by any factor, others by a limited one
    assert not leaves_support(weights, np.array([2e-3, 0.3, 0.7, 1e-5]))
    assert not leaves_support(weights, np.array([0.5, 0.3, 0.2, 3e-3]))
    # a common factor does not matter
    assert not leaves_support(weights, 1e6 * weights)


# --- one-hot codes -----------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"likelihood": "particles"}, {"preset": "paper"}])
@pytest.mark.parametrize("seed", [1, 4])
def test_one_hot_codes_stay_within_the_slab(seed: int, given: dict[str, str]):
    """Of 400 couplings that only the slab bounds, none exceeds five of its standard deviations."""
    rows = one_hot(seed, 30)
    model = SpikeSlabMRF(
        n_chains=1, n_warmup=40, n_draws=20, n_jobs=1, random_state=seed, **given
    ).fit(rows)
    draws = model.posterior_.draws
    for values in (draws.bias, draws.values.data, draws.sigma0):
        assert np.isfinite(values).all()
    largest = np.abs(draws.coupling).reshape(20, -1).max(axis=1)
    assert (largest < 5 * draws.sigma0.ravel()).all()


def test_one_hot_codes_have_the_exact_posterior():
    rows = one_hot(2, 12)
    means, errors, sizes = [], [], []
    for likelihood, n_draws in (("exact", 3000), ("particles", 2500)):
        model = SpikeSlabMRF(
            likelihood, n_chains=4, n_warmup=700, n_draws=n_draws, n_jobs=1, random_state=0
        ).fit(rows)
        couplings = np.abs(model.posterior_.draws.coupling).reshape(4, n_draws, -1)
        by_chain = (couplings > 0).mean(axis=1)
        means.append(by_chain.mean(axis=0))
        errors.append(by_chain.var(axis=0, ddof=1) / 4)
        sizes.append(couplings.mean(axis=(1, 2)))
    error, expected = np.sqrt(np.mean((means[0] - means[1]) ** 2)), np.sqrt(np.mean(sum(errors)))
    assert error < 2 * expected + 0.005
    assert expected < 0.03
    difference = abs(sizes[0].mean() - sizes[1].mean())
    assert difference < 4 * np.sqrt((sizes[0].var(ddof=1) + sizes[1].var(ddof=1)) / 4) + 0.1


@pytest.mark.parametrize("value", [0, 1])
def test_copies_and_complements_stay_within_the_slab(value: int):
    """Two nodes that only change together: an error of one bias is not corrected by the other."""
    rows = np.random.default_rng(0).integers(0, 2, (100, 26)).astype(np.uint8)
    rows[:, -1] = rows[:, 0] ^ value
    [(nodes, patterns)] = clusters_of(rows)
    assert nodes == {0, 25}
    assert len(patterns) == 2
    model = SpikeSlabMRF("particles", n_chains=1, n_warmup=100, n_draws=400, random_state=3).fit(
        rows
    )
    assert np.abs(model.posterior_.draws.values.data).max() < 30
