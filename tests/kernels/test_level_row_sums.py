"""Sums over rows for nodes with levels, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield._jit import jit
from slabfield.kernels import level_row_sums as sums

N = 1_304
BOUNDS, TIMES = np.array([0, 400, N]), np.array([1.0, 2.5])
COUNTS = np.repeat(TIMES, np.diff(BOUNDS))


@jit
def all_sums(probability, n_levels, even, table, codes, n_other, score, deviation, bounds, times,
             counts, first, second):  # fmt: skip
    """The three sums of one conditional after a change."""
    n, share = counts.size, np.zeros(n_levels * 8)
    partial = np.zeros(n_other * n_levels * (n_levels + 3) // 2 * 8)
    log_sum = sums.level_log_sum(
        probability, 0, n, n_levels, even, table, codes, 0, n_other, bounds, times
    )
    scores = sums.tilted_score_sums(
        probability, 0, n, n_levels, even, table, codes, 0, n_other, score, deviation, 0, counts
    )
    sums.level_moments(
        probability,
        0,
        n,
        n_levels,
        table,
        codes,
        0,
        n_other,
        counts,
        first,
        second,
        share,
        partial,
    )
    return log_sum, scores


@jit
def fill(field, even, step, weight, embedding, score, padding, counts, probability, cumulant):
    """Fill in a conditional and its cumulants."""
    n, n_levels = counts.size, weight.size
    if even:
        sums.relative_weights(weight)
        sums.fill_even_conditional(field, step, weight, probability, 0, np.zeros(n), np.zeros(n))
    else:
        sums.fill_conditional(
            field, 0, n, embedding.shape[1], embedding, weight, probability, 0, np.zeros(n),
            np.zeros(n),
        )  # fmt: skip
    sums.clear_padding(probability, 0, n, n_levels, padding)
    sums.fill_cumulants(probability, 0, n, score, counts, cumulant, 0)
    return sums.cumulant_sums(cumulant, 0, n, field, 0)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize(("n_levels", "n_other"), [(2, 2), (5, 3), (3, 5), (4, 1)])
def test_sums_after_a_change(n_levels, n_other, even):
    rng = np.random.default_rng(n_levels)
    probability = rng.dirichlet(np.ones(n_levels), N).T.copy()
    codes = rng.integers(0, n_other, N).astype(np.uint8)
    deviation, score = rng.normal(size=n_other)[codes], np.arange(n_levels) - 1.3
    if not even:
        score = np.cumsum(rng.random(n_levels))
    for size in (0.3, 30.0):
        at = np.linspace(-1, 1, n_other) * size / n_levels
        table = np.exp((score - score[0])[:, None] * at)
        first = np.zeros((n_other, n_levels))
        second = np.zeros((n_other, n_levels * (n_levels + 1) // 2))
        log_sum, scores = all_sums(
            probability.ravel(), n_levels, even, table.ravel(), codes, n_other, score, deviation,
            BOUNDS, TIMES, COUNTS, first, second,
        )  # fmt: skip
        weight = probability * table[:, codes]
        total = weight.sum(axis=0)
        share = weight / total
        assert log_sum == pytest.approx((COUNTS * np.log(total)).sum(), rel=1e-10)
        mean = score @ share
        variance = (score**2) @ share - mean**2
        expected = (COUNTS * deviation * mean).sum(), (COUNTS * deviation**2 * variance).sum()
        np.testing.assert_allclose(scores, expected, rtol=1e-8)
        pairs = [share[a] * share[b] for a in range(n_levels) for b in range(a + 1)]
        for b in range(n_other):
            rows = COUNTS * (codes == b)
            np.testing.assert_allclose(first[b], share @ rows, rtol=1e-10)
            np.testing.assert_allclose(second[b], np.array(pairs) @ rows, rtol=1e-10)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("n_levels", [2, 3, 6])
def test_conditionals_and_cumulants(n_levels, even):
    rng = np.random.default_rng(n_levels)
    field = rng.normal(0, 3, N)
    field[:4] = 300.0, -300.0, 1e6, -1e6
    log_weight, step = rng.normal(0, 2, n_levels), 0.4
    score = step * np.arange(n_levels)
    padding, counts = np.array([7, N - 1]), COUNTS.copy()
    counts[padding] = 0.0
    probability, cumulant = np.zeros(n_levels * N), np.zeros(4 * N)
    found = fill(
        field, even, step, log_weight.copy(), score[:, None].copy(), score, padding, counts,
        probability, cumulant,
    )  # fmt: skip
    logits = log_weight[:, None] + score[:, None] * field
    expected = np.exp(logits - logits.max(axis=0))
    expected /= expected.sum(axis=0)
    expected[:, padding] = 0.0
    expected[0, padding] = 1.0
    np.testing.assert_allclose(probability.reshape(n_levels, N), expected, atol=1e-12)
    mean = score @ expected
    moments = [((score[:, None] - mean) ** k * expected).sum(axis=0) for k in (2, 3, 4)]
    cumulants = counts * np.array([mean, moments[0], moments[1], moments[2] - 3 * moments[0] ** 2])
    np.testing.assert_allclose(cumulant.reshape(4, N), cumulants, atol=1e-11)
    powers = field ** np.arange(1, 5)[:, None]
    np.testing.assert_allclose(found, (powers * cumulants).sum(axis=1), rtol=1e-9, atol=1e-9)


def test_several_coordinates():
    rng = np.random.default_rng(0)
    field, embedding, log_weight = rng.normal(size=(2, N)), rng.normal(size=(4, 2)), np.zeros(4)
    probability = np.zeros(4 * N)
    fill(
        field.ravel(), False, 0.0, log_weight, embedding, embedding[:, 0].copy(),
        np.zeros(0, np.int64), COUNTS, probability, np.zeros(4 * N),
    )  # fmt: skip
    expected = np.exp(embedding @ field)
    np.testing.assert_allclose(
        probability.reshape(4, N), expected / expected.sum(axis=0), rtol=1e-12
    )
