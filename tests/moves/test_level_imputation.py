"""Missing entries of nodes with levels: drawn from the field, and summed over by the chain."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from level_fields import MIXED, random_field
from level_loops import redraw_entries
from level_runs import model_of
from level_tables import MIXED_KINDS, mixed_table
from slabfield import SpikeSlabMRF
from slabfield.chains.chain_run import ChainRun, run_chain
from slabfield.configuration import (
    Settings,
    bayes_exact,
    default_exact,
    default_particles,
    paper,
    pseudo,
)
from slabfield.likelihood.level_rows import level_rows
from slabfield.models.level_field import LevelField
from slabfield.models.pairwise import log_linear
from slabfield.moves.chain_state import ChainState, insert, new_state
from slabfield.moves.imputation import new_missing_entries
from slabfield.moves.iteration import advance_engine
from slabfield.priors import Prior
from slabfield.problem import Problem, complete

# One update


def state_at(field: LevelField) -> ChainState:
    """Return the state of a chain at the parameters of a field."""
    model = field.model
    state = new_state(
        model.n_biases, model.interactions.n_parameters, model.n_interactions, model.n_scales
    )
    state.bias[:], state.coupling[:] = field.bias, field.coupling
    for alpha in range(model.n_interactions):
        insert(state, alpha)
    return state


def redrawn_values(field: LevelField, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Draws of three missing entries of a row, and the probabilities of all their values.

    The couplings of the chain are those of the field times a factor.
    """
    model, rng = field.model, np.random.default_rng(4)
    rows = np.array([[0, 2, 1, 3], [2, 1, 0, 0], [1, 0, 1, 2]], np.uint8)
    missing = np.zeros(rows.shape, np.bool_)
    missing[0, [0, 1, 3]] = True
    state = state_at(field)
    state.coupling[:] *= factor
    sums, engine = model.sums(rows), level_rows(model, rows, 0.5)
    entries = new_missing_entries(model, rows, missing)
    advance_engine(engine, state, rng)
    found = []
    for _ in range(6_000):
        redraw_entries(entries, engine, sums, state, 3, rng)
        found.append(rows[0, missing[0]])
    values = np.array(list(product(range(3), range(3), range(4))))
    full = np.tile(rows[0], (len(values), 1))
    full[:, missing[0]] = values
    weight = np.exp(field.log_potential(full))
    np.testing.assert_allclose(sums.bias, model.sums(rows).bias, atol=1e-9)
    np.testing.assert_allclose(sums.coupling, model.sums(rows).coupling, atol=1e-9)
    fresh = level_rows(model, rows, 0.5)
    advance_engine(fresh, state, rng)
    np.testing.assert_array_equal(engine.level_count, fresh.level_count)
    for part in ("codes", "field", "probability"):
        one, other = (getattr(e, part).reshape(-1, e.n)[:, e.place] for e in (engine, fresh))
        np.testing.assert_allclose(one, other, atol=1e-9)
    counts = np.bincount(np.array(found) @ [12, 4, 1], minlength=len(values))
    return counts, weight / weight.sum()


def p_value(counts: np.ndarray, probability: np.ndarray) -> float:
    """P-value of counts; rare values are counted together."""
    expected = counts.sum() * probability
    rare = (expected < 10) | (expected == expected.min())
    join = [np.append(x[~rare], x[rare].sum()) for x in (counts, expected)]
    return float(chisquare(join[0], join[1]).pvalue)


def test_entries_are_drawn_from_the_field_and_the_engine_follows() -> None:
    field = random_field(MIXED, seed=1)
    assert p_value(*redrawn_values(field, 1.0)) > 1e-3
    assert p_value(*redrawn_values(field, 1.3)) < 1e-3


# Whole chains

MODEL = model_of([("ordinal", 3), ("ordinal", 2)])
SLAB, P0, BIAS_SCALE = 1.5, 0.4, 2.0
ROWS = np.array(
    [[2, 1]] * 6 + [[0, 0]] * 5 + [[1, 1]] * 2 + [[1, 0]] * 2 + [[0, 1], [2, 0]] + [[2, 0]] * 5,
    np.uint8,
)
MISSING = np.zeros(ROWS.shape, np.bool_)
MISSING[-5:, 1] = True
MISSING[:2, 0] = True


def exact_answer(rows: np.ndarray, missing: np.ndarray) -> tuple[float, float]:
    """Inclusion probability of the only edge, and its mean given presence, by quadrature.

    The likelihood of a row is the sum over the possible values of its missing entries.
    """
    points = np.linspace(-6.5, 6.5, 53)
    first, second, other = np.meshgrid(points, points, points, indexing="ij")
    scores = MODEL.nodes[0].embedding[:, 0]
    # thresholds of the first node have covariance bias_scale^2 / 2 (I + J)
    precision = MODEL.nodes[0].bias_precision / BIAS_SCALE**2
    log_prior = -0.5 * (
        precision[0, 0] * first**2 + 2 * precision[0, 1] * first * second
        + precision[1, 1] * second**2 + other**2 / BIAS_SCALE**2
    )  # fmt: skip
    patterns, counts = np.unique(
        np.column_stack([np.where(missing, 9, rows)]), axis=0, return_counts=True
    )

    def log_likelihood(a: float) -> np.ndarray:
        energy = {
            (x, y): (0.0, first, second)[x] + y * (other + a * scores[x])
            for x, y in product(range(3), range(2))
        }
        norm = np.logaddexp.reduce(list(energy.values()))
        total = log_prior.copy()
        for (x, y), count in zip(patterns, counts, strict=True):
            levels = product(range(3) if x == 9 else [x], range(2) if y == 9 else [y])
            total += count * (np.logaddexp.reduce([energy[level] for level in levels]) - norm)
        return total

    logs = np.array(
        [np.logaddexp.reduce(log_likelihood(a), axis=None) - a**2 / (2 * SLAB**2) for a in points]
    )
    density = np.exp(logs - logs.max())
    step = points[1] - points[0]
    present = P0 * density.sum() * step / (SLAB * np.sqrt(2 * np.pi))
    absent = (1 - P0) * np.exp(np.logaddexp.reduce(log_likelihood(0.0), axis=None) - logs.max())
    return present / (present + absent), float(density @ points / density.sum())


def problem_with(missing: np.ndarray) -> Problem:
    prior = Prior.standard(1, P0, SLAB, bias_scale=BIAS_SCALE)
    entries = new_missing_entries(MODEL, ROWS, missing)
    return Problem(MODEL, ROWS, MODEL.sums(ROWS), prior, entries)


@pytest.mark.parametrize(
    ("settings", "n_draws", "tolerance"),
    [(default_exact(), 12_000, 0.015), (default_particles(), 5_000, 0.03)],
    ids=["exact", "particles"],
)
def test_missing_entries_are_summed_over(
    settings: Settings, n_draws: int, tolerance: float
) -> None:
    probability, mean = exact_answer(ROWS, MISSING)
    settings = replace(settings, n_draws=n_draws, n_warmup=200, thin=1)
    record = run_chain(problem_with(MISSING), settings, 1, 0, lambda _: None).record
    present = record.present[:, 0]
    assert present.mean() == pytest.approx(probability, abs=tolerance)
    assert record.coupling[present, 0].mean() == pytest.approx(mean, abs=5 * tolerance)
    # it matters: treating entries as observed, or dropping their rows, gives another answer
    whole = ~MISSING.any(axis=1)
    assert abs(exact_answer(ROWS, np.zeros_like(MISSING))[0] - probability) > 3 * tolerance
    assert abs(exact_answer(ROWS[whole], MISSING[whole])[0] - probability) > tolerance


SETTINGS: dict[str, Settings] = {
    "exact": default_exact(),
    "particles": default_particles(),
    "pseudo": pseudo(),
    "paper": replace(paper(), thin=5),
    "Bayes Exact": bayes_exact(60),
}
ORDINAL_AND_NOMINAL = [("ordinal", 3), ("nominal", 3), ("ordinal", 2), ("nominal", 4)]


@pytest.mark.parametrize("name", SETTINGS)
def test_sums_are_those_of_the_imputed_rows(name: str) -> None:
    settings, levels = replace(SETTINGS[name], n_warmup=10), model_of(ORDINAL_AND_NOMINAL)
    rng = np.random.default_rng(3)
    rows = (rng.random((60, 4)) * levels.n_states).astype(np.uint8)
    missing = rng.random(rows.shape) < 0.2
    model: Any = levels if settings.scheme == "collapsed" else log_linear(levels)
    problem = Problem(
        model, np.where(missing, 0, rows).astype(np.uint8), model.sums(rows),
        Prior.standard(model.n_interactions), new_missing_entries(levels, rows, missing),
    )  # fmt: skip
    run = ChainRun(problem, settings, 1, 0, lambda _: None).extend(20, lambda _: None)
    own, start = run.chain.problem, complete(problem, np.random.default_rng(0))
    assert np.any(own.rows[missing] != start.rows[missing])
    np.testing.assert_array_equal(own.rows[~missing], rows[~missing])
    assert np.all(own.rows < levels.n_states)
    for part in ("bias", "coupling"):
        expected = getattr(model.sums(own.rows), part)
        np.testing.assert_allclose(getattr(own.sums, part), expected, atol=1e-9)
        assert not np.allclose(getattr(start.sums, part), expected)


def test_imputing_in_a_fit() -> None:
    table = mixed_table(80, missing=0.1)
    model = SpikeSlabMRF(na="impute", kinds=MIXED_KINDS, n_draws=50, n_chains=2, random_state=0)
    model.fit(table)
    assert model.posterior_.settings["n_missing"] == table.isna().sum().sum()
    shares = model.posterior_.settings["level_shares"][0]
    expected = table["mood"].value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(shares, expected)
    with pytest.raises(ValueError, match="takes every row once"):
        model.fit(table, sample_weight=np.ones(80))
