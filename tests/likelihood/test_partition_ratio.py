"""The particles' estimate of the ratio of partition functions, against enumeration.

Over a grid of a, N and n, the expectation is a sum over all counts that n particles can have, so
that nothing here is random.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import helpers
from slabfield.inference import enumeration
from slabfield.kernels.pair_counts import pack
from slabfield.likelihood.particle_moments import particle_engine
from slabfield.models.binary import BinaryPairwise
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Sums
from slabfield.moves.chain_state import new_state
from slabfield.priors import Prior

MODEL = BinaryPairwise(2)
BIAS = np.array([0.4, -0.3])
PRIOR = Prior.standard(1)


def exact_log_partition(a: float) -> float:
    return enumeration.log_partition(BinaryField(BIAS, np.array([[0, a], [a, 0]])))


def estimates(a: float, n_rows: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corrected and uncorrected estimate over the exact value, per count, and its probability."""
    mean = enumeration.moments(BinaryField(BIAS, np.zeros((2, 2))))[1][0, 1]
    state = new_state(2, 1, 1)
    sums = Sums(float(n_rows), np.zeros(2), np.zeros(1))
    engine = particle_engine(MODEL, n, 1, None, np.random.default_rng(0))
    exact = n_rows * (exact_log_partition(0.0) - exact_log_partition(a))
    corrected, uncorrected = np.zeros(n + 1), np.zeros(n + 1)
    for count in range(n + 1):
        engine.states[:] = (np.arange(n) < count).astype(np.float32)
        pack(engine.states, engine.packed)
        gain, variance = helpers.one_ratio(engine, sums, PRIOR, state, 0, np.array([a]))
        uncorrected[count] = np.exp(gain - exact)
        corrected[count] = uncorrected[count] / (1 + variance / 2)
    return corrected, uncorrected, stats.binom.pmf(np.arange(n + 1), n, mean)


def variance_of_feature() -> float:
    mean = enumeration.moments(BinaryField(BIAS, np.zeros((2, 2))))[1][0, 1]
    return float(mean * (1 - mean))


@pytest.mark.parametrize("n_rows", [50, 100, 1000])
@pytest.mark.parametrize("n", [50, 100, 400])
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("sign", [-1, 1])
def test_ratio_is_unbiased_to_second_order_with_the_stated_variance(n_rows, n, noise, sign):
    feature = variance_of_feature()
    a = sign * noise * np.sqrt(n / feature) / n_rows  # so that N^2 a^2 Var f / n = noise^2
    corrected, uncorrected, probability = estimates(a, n_rows, n)
    bias = abs(probability @ corrected - 1)
    uncorrected_bias = abs(probability @ uncorrected - 1)
    third_order = n_rows * abs(a) ** 3 + noise**3 / np.sqrt(n) + noise**4 + noise**2 / n
    assert bias < third_order
    if n_rows * abs(a) ** 3 < 0.01 * noise**2:
        # the correction removes noise^2 / 2
        assert uncorrected_bias > 4 * bias
    variance = probability @ (corrected - probability @ corrected) ** 2
    assert variance == pytest.approx(noise**2, rel=0.15 + 4 * noise)


def test_bias_falls_faster_than_the_second_power():
    feature = variance_of_feature()
    noises = np.array([0.2, 0.1, 0.05])
    biases = []
    for noise in noises:
        a = noise * np.sqrt(100 / feature) / 1000
        corrected, _, probability = estimates(a, 1000, 100)
        biases.append(abs(probability @ corrected - 1))
    # a second-order bias would fall by four each time noise (that is, a) is halved
    assert biases[0] / biases[2] > 30
