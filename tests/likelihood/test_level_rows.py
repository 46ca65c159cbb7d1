"""The engine of the weighted pseudo-likelihood for nodes with levels."""

from __future__ import annotations

import numpy as np

from slabfield._jit import jit
from slabfield.encoding.scores import standard_scores
from slabfield.likelihood.level_rows import evenly_spaced, level_rows
from slabfield.likelihood.protocols import check_engine, refresh_data
from slabfield.models.levels import (
    PairwiseLevels,
    blume_capel_features,
    nominal_features,
    ordinal_features,
)
from slabfield.moves.block_sweep import requirements
from slabfield.moves.chain_state import insert, new_state
from slabfield.moves.imputation import new_missing_entries
from slabfield.moves.iteration import advance_engine

MODEL = PairwiseLevels(
    [
        ordinal_features(standard_scores(4)),
        nominal_features(3),
        ordinal_features([0.0, 0.1, 1.0]),
        blume_capel_features(standard_scores(3), range(3), 1),
    ]
)


def state_of(rng: np.random.Generator):
    state = new_state(MODEL.n_biases, MODEL.interactions.n_parameters, 6, MODEL.n_scales)
    state.bias[:] = rng.normal(size=MODEL.n_biases)
    for alpha in (0, 2, 3, 5):
        insert(state, alpha)
        group = MODEL.group(alpha)
        state.coupling[group] = rng.normal(0, 0.7, group.stop - group.start)
    return state


def conditionals(engine) -> list[np.ndarray]:
    lines = engine.probability.reshape(-1, engine.n)[:, engine.place]
    return np.split(lines.T, engine.features.level_start[1:-1], axis=1)


def test_the_engine_meets_the_requirements_of_sweeps():
    engine = level_rows(MODEL, np.zeros((3, 4), np.int64), 0.5)
    check_engine(engine, requirements(engine))
    assert engine.even.tolist() == [True, False, False, True]
    assert not evenly_spaced(np.array([[0.0], [1.0], [3.0]]))


def test_conditionals_are_those_of_the_model():
    rng = np.random.default_rng(0)
    rows, state = rng.integers(0, MODEL.n_states, (45, 4)), state_of(rng)
    engine = level_rows(MODEL, rows, 0.5, rng.integers(1, 3, 45))
    advance_engine(engine, state, rng)
    for i, found in enumerate(conditionals(engine)):
        expected = MODEL.conditional(i, rows, state.bias, state.coupling)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@jit
def copy(engine, missing_entries, state, rng):
    """Bring the engine up to date after entries were redrawn."""
    refresh_data(engine, missing_entries, state, rng)


def test_imputed_entries_reach_conditionals_and_counts():
    rng = np.random.default_rng(1)
    rows, state = rng.integers(0, MODEL.n_states, (30, 4)), state_of(rng)
    missing = rng.random(rows.shape) < 0.2
    times = rng.integers(1, 3, 30).astype(float)
    engine = level_rows(MODEL, rows, 0.5, times)
    changed = np.where(missing, rng.integers(0, MODEL.n_states, rows.shape), rows)
    copy(engine, new_missing_entries(MODEL, changed, missing), state, rng)
    fresh = level_rows(MODEL, changed, 0.5, times)
    for i, found in enumerate(conditionals(engine)):
        expected = MODEL.conditional(i, changed, state.bias, state.coupling)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(engine.codes, fresh.codes)
    np.testing.assert_allclose(engine.level_count, fresh.level_count)
    # embeddings stay centered where they were
    shift = (engine.deviation - fresh.deviation).reshape(-1, engine.n)[:, engine.place]
    np.testing.assert_allclose(shift, np.repeat(shift[:, :1], 30, axis=1), atol=1e-12)
