"""The engine of the weighted pseudo-likelihood for nodes with levels: conditionals of all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.level_row_sums import (
    clear_padding,
    fill_conditional,
    fill_cumulants,
    fill_even_conditional,
    relative_weights,
)
from slabfield.kernels.level_table import level_bias
from slabfield.kernels.pseudo_sums import shift_field
from slabfield.likelihood import protocols as interface
from slabfield.likelihood.pseudolikelihood import place_rows
from slabfield.models.levels import LevelFeatures, PairwiseLevels


class LevelRows(NamedTuple):
    r"""The weight, the data, and the conditional of every node in every row.

    Arrays over rows are flat, in lines of ``n`` positions. ``codes`` has one line per node, its
    level, and one more of zeros. ``deviation`` and ``field`` have one per coordinate of an
    embedding, those of node i from position ``coordinate[i]`` on: the centered embedding, and the
    sum over the other nodes of couplings times embeddings. ``probability`` has one per level of a
    node, in the order of ``features.level_start``. ``cumulant`` has four per node with one
    coordinate, from position ``line[i]`` on: the first four cumulants of its centered score times
    the counts of rows.

    ``place`` is the position of every row; ``counted``, ``bounds``, ``times`` and ``empty`` are as
    in :class:`slabfield.likelihood.pseudolikelihood.PseudoRows`. ``n_rows`` holds the sum of the
    counts, and ``level_count`` those of the rows in every level. ``even`` marks nodes with equally
    spaced scores, and ``score`` holds the centered scores of nodes with one coordinate. The other
    arrays are workspace.
    """

    features: LevelFeatures
    weight: float
    n_rows: Any
    n: int
    first: Any
    second: Any
    coordinate: Any
    line: Any
    even: Any
    score: Any
    place: Any
    codes: Any
    deviation: Any
    counted: Any
    bounds: Any
    times: Any
    empty: Any
    level_count: Any
    field: Any
    probability: Any
    cumulant: Any
    log_weight: Any
    ratio: Any
    powers: Any


def level_rows(
    model: PairwiseLevels, rows: NDArray[Any], weight: float, times: NDArray[Any] | None = None
) -> LevelRows:
    """Return the engine of a field of nodes with levels, before it is brought to any state.

    Row t counts ``times[t]`` times, or once by default.
    """
    x = np.asarray(rows, dtype=np.int64)
    each = np.ones(len(x)) if times is None else np.asarray(times, dtype=np.float64)
    features = model.features(x, each)
    place, bounds, values, counted = place_rows(each)
    d, n = model.n_nodes, counted.size
    sizes = features.embedding_size
    coordinate = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    single = sizes == 1
    even = np.array([evenly_spaced(node.embedding) for node in model.nodes])
    codes = np.zeros((d + 1, n), np.uint8)
    codes[:d, place] = x.T
    deviation = np.zeros((int(coordinate[-1]), n))
    for i, node in enumerate(model.nodes):
        deviation[coordinate[i] : coordinate[i + 1], place] = (
            node.embedding[x[:, i]] - features.center[i, : sizes[i]]
        ).T
    count = [np.bincount(x[:, i], each, node.n_levels) for i, node in enumerate(model.nodes)]
    n_all, (first, second) = int(features.level_start[-1]), model.ends
    return LevelRows(
        features, float(weight), np.array([each.sum()]), n, first, second, coordinate * n,
        np.where(single, 4 * n * (np.cumsum(single) - 1), 0), even, features.centered[:, 0].copy(),
        place, codes.ravel(), deviation.ravel(), counted, bounds, values,
        np.flatnonzero(counted == 0), np.concatenate(count), np.zeros(deviation.size),
        np.zeros(n_all * n), np.zeros(4 * n * int(single.sum())),
        np.zeros(int(features.n_levels.max())), np.zeros(n), np.zeros(n),
    )  # fmt: skip


def evenly_spaced(scores: NDArray[np.float64]) -> bool:
    """Return whether levels have one score each, and consecutive ones differ by the same step."""
    steps = np.diff(scores, axis=0)
    return scores.shape[1] == 1 and bool(np.allclose(steps, steps[0], rtol=1e-12, atol=0))


@interface.advance.register(LevelRows)
def advance(engine, state, rng):
    """Recompute all fields and conditionals."""
    features = engine.features
    engine.field[:] = 0.0
    for place in range(state.n_members[0]):
        alpha = state.members[place]
        group = state.coupling[features.group_start[alpha] : features.group_start[alpha + 1]]
        shift_fields(engine, engine.first[alpha], engine.second[alpha], group, 1.0)
    for i in range(features.n_levels.size):
        refresh(engine, state.bias, i)


@interface.refresh_data.register(LevelRows)
def copy_entries(engine, missing_entries, state, rng):
    """Copy the entries that were redrawn, and recompute all fields."""
    features, n = engine.features, engine.n
    for m in range(missing_entries.row.size):
        row, i = missing_entries.row[m], missing_entries.node[m]
        t, level = engine.place[row], int(missing_entries.x[row, i])
        start = features.level_start[i]
        engine.level_count[start + engine.codes[i * n + t]] -= engine.counted[t]
        engine.level_count[start + level] += engine.counted[t]
        engine.codes[i * n + t] = level
        for u in range(features.embedding_size[i]):
            place = engine.coordinate[i] + u * n + t
            engine.deviation[place] = features.centered[start + level, u]
    interface.advance(engine, state, rng)


@interface.n_bias_updates.register(LevelRows)
def update_first_bias(engine, k):
    """One: each takes passes over the rows, and every node is the first in a block of its own."""
    return 1


@inner
def shift_fields(engine, i, j, group, sign):
    """Add the parameters of a pair, or subtract them, to the fields on both of its nodes."""
    features, n, field, deviation = engine.features, engine.n, engine.field, engine.deviation
    size_j = features.embedding_size[j]
    for u in range(features.embedding_size[i]):
        line_i = engine.coordinate[i] + u * n
        for v in range(size_j):
            line_j, change = engine.coordinate[j] + v * n, sign * group[u * size_j + v]
            shift_field(
                field[line_i : line_i + n], deviation[line_j : line_j + n],
                change * features.center[j, v], change,
            )  # fmt: skip
            shift_field(
                field[line_j : line_j + n], deviation[line_i : line_i + n],
                change * features.center[i, u], change,
            )  # fmt: skip


@inner
def refresh(engine, bias, i):
    """Recompute the conditional of a node, and its cumulants, from its fields and biases."""
    features, n, field, probability = engine.features, engine.n, engine.field, engine.probability
    start, n_levels, line = features.level_start[i], features.n_levels[i], engine.coordinate[i]
    log_weight = engine.log_weight[:n_levels]
    for a in range(n_levels):
        log_weight[a] = level_bias(features, bias, i, a)
    if engine.even[i]:
        relative_weights(log_weight)
        step = features.embedding[start + 1, 0] - features.embedding[start, 0]
        fill_even_conditional(
            field[line : line + n], step, log_weight, probability, start * n, engine.ratio,
            engine.powers,
        )  # fmt: skip
    else:
        fill_conditional(
            field, line, n, features.embedding_size[i],
            features.embedding[start : start + n_levels], log_weight, probability, start * n,
            engine.ratio, engine.powers,
        )  # fmt: skip
    clear_padding(probability, start * n, n, n_levels, engine.empty)
    if features.embedding_size[i] == 1:
        score = engine.score[start : start + n_levels]
        fill_cumulants(
            probability, start * n, n, score, engine.counted, engine.cumulant, engine.line[i]
        )
