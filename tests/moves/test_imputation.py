"""Missing entries: sampled within the chain, checked by summing over their possible values."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from slabfield import SpikeSlabMRF, datasets
from slabfield.chains.chain_run import run_chain
from slabfield.configuration import Settings, bayes_exact, default_exact, default_particles
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.imputation import new_missing_entries
from slabfield.priors import Prior
from slabfield.problem import Problem, complete

MODEL = BinaryPairwise(2)
PRIOR = Prior.standard(1, 0.4, 1.5, bias_scale=2.0)
ROWS = np.array([[1, 1]] * 7 + [[0, 0]] * 5 + [[0, 1], [1, 0]] + [[1, 0]] * 5, np.uint8)
MISSING = np.zeros(ROWS.shape, np.bool_)
MISSING[-5:, 1] = True
MISSING[0, 0] = True


def exact_answer(rows: np.ndarray, missing: np.ndarray) -> tuple[float, float]:
    """Inclusion probability of the only edge, and its mean given presence, by quadrature.

    The likelihood of a row is the sum over the possible values of its missing entries.
    """
    points = np.linspace(-7.0, 7.0, 101)
    first, second, coupling = np.meshgrid(points, points, points, indexing="ij")
    gaussian = -(first**2 + second**2) / (2 * 2.0**2)

    def log_likelihood(a: np.ndarray) -> np.ndarray:
        norm = np.log(1 + np.exp(first) + np.exp(second) + np.exp(first + second + a))
        total = gaussian.copy()
        for row, holes in zip(rows, missing, strict=True):
            choices = [(0, 1) if hole else (value,) for value, hole in zip(row, holes, strict=True)]
            weight = sum(np.exp(first * x + second * y + a * x * y) for x, y in product(*choices))
            total += np.log(weight) - norm
        return total

    with_edge = log_likelihood(coupling) - coupling**2 / (2 * 1.5**2)
    maximum = with_edge.max()
    density = np.exp(with_edge - maximum)
    step = points[1] - points[0]
    present = 0.4 * density.sum() * step / (1.5 * np.sqrt(2 * np.pi))
    without = log_likelihood(np.zeros((1, 1, 1)))[:, :, 0]
    absent = 0.6 * np.exp(without - maximum).sum()
    return present / (present + absent), float((density * coupling).sum() / density.sum())


def problem_with(missing: np.ndarray) -> Problem:
    return Problem(MODEL, ROWS, MODEL.sums(ROWS), PRIOR, new_missing_entries(MODEL, ROWS, missing))


def long(settings: Settings, n_draws: int, thin: int = 1) -> Settings:
    return replace(settings, n_draws=n_draws, n_warmup=200, thin=thin)


def probability_and_mean(problem: Problem, settings: Settings) -> tuple[float, float]:
    result = run_chain(problem, settings, 1, 0, lambda _: None)
    present, coupling = result.record.present[:, 0], result.record.coupling[:, 0]
    return float(present.mean()), float(coupling[present].mean())


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [
        (long(default_exact(), 20_000), 0.015),
        (long(bayes_exact(len(ROWS)), 20_000), 0.025),
        (long(default_particles(), 6_000), 0.03),
    ],
    ids=["collapsed", "bayes exact", "particles"],
)
def test_missing_entries_are_summed_over(settings: Settings, tolerance: float) -> None:
    probability, mean = exact_answer(ROWS, MISSING)
    found = probability_and_mean(problem_with(MISSING), settings)
    assert found[0] == pytest.approx(probability, abs=tolerance)
    assert found[1] == pytest.approx(mean, abs=5 * tolerance)
    # it matters: treating entries as observed, or dropping their rows, gives another answer
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
    assert own.missing_entries.x is own.rows
    assert complete(problem_with(np.zeros_like(MISSING)), np.random.default_rng(0)).rows is ROWS


def holes_in(rows: np.ndarray, share: float, seed: int) -> pd.DataFrame:
    """Return the rows with a share of their entries removed at random."""
    missing = np.random.default_rng(seed).random(rows.shape) < share
    return pd.DataFrame(np.where(missing, np.nan, rows))


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
def test_imputing_continues_from_a_checkpoint(tmp_path: Path, likelihood: str) -> None:
    table = holes_in(datasets.make_block(40, random_state=0, n_groups=1).rows, 0.1, 0)
    settings = {"likelihood": likelihood, "na": "impute", "n_chains": 2, "random_state": 3}
    whole = SpikeSlabMRF(n_draws=30, n_warmup=10, **settings).fit(table)
    half = SpikeSlabMRF(n_draws=10, n_warmup=10, **settings).fit(table, checkpoint=tmp_path / "run")
    more = half.resume(20)
    np.testing.assert_array_equal(whole.posterior_.draws.coupling, more.posterior_.draws.coupling)
    assert "missing entries" in whole.coding_notes_[0]


@pytest.mark.slow
def test_imputing_is_closer_to_complete_data_than_dropping_rows() -> None:
    """Block data with 10% removed at random, ten seeds: mean distance to the complete answer."""
    distance = {"impute": [], "drop": []}
    for seed in range(10):
        rows = datasets.make_block(100, random_state=seed).rows
        whole = SpikeSlabMRF(n_draws=1000, random_state=seed).fit(rows).inclusion_probability_
        for na, found in distance.items():
            model = SpikeSlabMRF(n_draws=1000, random_state=seed, na=na).fit(
                holes_in(rows, 0.1, seed)
            )
            found.append(np.sqrt(np.mean((model.inclusion_probability_ - whole) ** 2)))
    print({na: np.round(found, 3) for na, found in distance.items()})
    assert np.mean(distance["impute"]) < np.mean(distance["drop"])
