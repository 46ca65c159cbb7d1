"""Missing entries: redrawn within the chain, checked by enumeration over what they may be."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from slabfield.models.binary import BinaryPairwise
from slabfield.moves.impute import new_unknown
from slabfield.priors import Prior
from slabfield.sampler.run import run_chain
from slabfield.sampler.settings import Settings, bayes_exact, default_particles, gold_standard
from slabfield.sampler.warmup import Problem, complete

MODEL = BinaryPairwise(2)
PRIOR = Prior.standard(1, 0.4, 1.5, bias_scale=2.0)
ROWS = np.array([[1, 1]] * 7 + [[0, 0]] * 5 + [[0, 1], [1, 0]] + [[1, 0]] * 5, np.uint8)
MISSING = np.zeros(ROWS.shape, np.bool_)
MISSING[-5:, 1] = True
MISSING[0, 0] = True


def exact_answer(rows: np.ndarray, missing: np.ndarray) -> tuple[float, float]:
    """Inclusion probability of the only edge, and its mean given presence, by quadrature.

    The likelihood of a row is the sum over what its missing entries may be.
    """
    points = np.linspace(-7.0, 7.0, 141)
    first, second, coupling = np.meshgrid(points, points, points, indexing="ij")
    log_z = np.log(1 + np.exp(first) + np.exp(second) + np.exp(first + second + coupling))
    gaussian = -(first**2 + second**2) / (2 * 2.0**2)

    def log_likelihood(a: np.ndarray) -> np.ndarray:
        norm = np.log(1 + np.exp(first) + np.exp(second) + np.exp(first + second + a))
        total = gaussian.copy()
        for row, holes in zip(rows, missing, strict=True):
            choices = [(0, 1) if hole else (value,) for value, hole in zip(row, holes, strict=True)]
            weight = sum(np.exp(first * x + second * y + a * x * y) for x, y in product(*choices))
            total += np.log(weight) - norm
        return total

    assert np.isfinite(log_z).all()
    with_edge = log_likelihood(coupling) - coupling**2 / (2 * 1.5**2)
    top = with_edge.max()
    dense = np.exp(with_edge - top)
    step = points[1] - points[0]
    present = 0.4 * dense.sum() * step / (1.5 * np.sqrt(2 * np.pi))
    without = log_likelihood(np.zeros((1, 1, 1)))[:, :, 0]
    absent = 0.6 * np.exp(without - top).sum()
    return present / (present + absent), float((dense * coupling).sum() / dense.sum())


def problem_with(missing: np.ndarray) -> Problem:
    return Problem(MODEL, ROWS, MODEL.sums(ROWS), PRIOR, new_unknown(MODEL, ROWS, missing))


def long(settings: Settings, n_draws: int, thin: int = 1) -> Settings:
    return replace(settings, n_draws=n_draws, n_warmup=200, thin=thin)


def probability_and_mean(problem: Problem, settings: Settings) -> tuple[float, float]:
    result = run_chain(problem, settings, 1, 0, lambda _: None)
    present, coupling = result.record.present[:, 0], result.record.coupling[:, 0]
    return float(present.mean()), float(coupling[present].mean())


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [
        (long(gold_standard(), 40_000), 0.01),
        (long(bayes_exact(len(ROWS)), 40_000), 0.02),
        (long(default_particles(), 6_000), 0.03),
    ],
    ids=["collapsed", "bayes exact", "particles"],
)
def test_missing_entries_are_summed_over(settings: Settings, tolerance: float) -> None:
    probability, mean = exact_answer(ROWS, MISSING)
    found = probability_and_mean(problem_with(MISSING), settings)
    assert found[0] == pytest.approx(probability, abs=tolerance)
    assert found[1] == pytest.approx(mean, abs=5 * tolerance)
    # and it matters: taken as they stand in the table, or their rows dropped, they give another
    complete_answer = exact_answer(ROWS, np.zeros_like(MISSING))[0]
    whole = ~MISSING.any(axis=1)
    dropped_answer = exact_answer(ROWS[whole], MISSING[whole])[0]
    assert abs(complete_answer - probability) > 3 * tolerance
    assert abs(dropped_answer - probability) > tolerance


def test_completing_leaves_the_data_alone() -> None:
    problem = problem_with(MISSING)
    before = ROWS.copy()
    own = complete(problem, np.random.default_rng(0))
    own.rows[MISSING] = 1 - own.rows[MISSING]
    np.testing.assert_array_equal(ROWS, before)
    np.testing.assert_array_equal(own.rows[~MISSING], ROWS[~MISSING])
    assert own.unknown.x is own.rows
    assert complete(problem_with(np.zeros_like(MISSING)), np.random.default_rng(0)).rows is ROWS
