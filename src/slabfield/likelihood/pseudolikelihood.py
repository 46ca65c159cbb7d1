"""The engine of the weighted pseudo-likelihood: fields and conditionals of all rows, noise-free."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.pseudo_sums import WIDTH, fill_probability, shift_field, total_powers
from slabfield.likelihood import protocols as interface
from slabfield.models.binary import BinaryPairwise


class PseudoRows(NamedTuple):
    """The weight, the data, and the conditional of every node in every row.

    ``x``, ``field`` and ``p`` are the data, the fields h, and sigma(h), with one line of rows per
    node; the data has one more node, which is 0 in all rows. Rows with equal counts form a part,
    padded to whole vectors. ``counted`` holds the count of every position (0 where padded), and
    ``ones`` is x times that (x itself if every row counts once). ``bounds`` and ``times`` are the
    limits and the counts of the parts, and ``empty`` lists the padded positions. ``n_rows`` is the
    sum of the counts. ``total`` holds, for every node, the sums of p, p^2, p^3 and p^4. ``powers``
    is workspace.
    """

    weight: float
    n_rows: float
    first: Any
    second: Any
    x: Any
    ones: Any
    counted: Any
    bounds: Any
    times: Any
    empty: Any
    field: Any
    p: Any
    total: Any
    powers: Any


def place_rows(
    times: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the positions of rows, and limits, counts of rows and counts of positions of parts.

    Rows with equal counts are contiguous, and padded to whole vectors.
    """
    values, part = np.unique(times, return_inverse=True)
    order = np.argsort(part, kind="stable")
    lengths = -(-np.bincount(part) // WIDTH) * WIDTH
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rank = np.arange(times.size) - np.searchsorted(part[order], part[order])
    place = np.empty(times.size, np.int64)
    place[order] = bounds[part[order]] + rank
    counted = np.zeros(int(bounds[-1]))
    counted[place] = times
    return place, bounds, values, counted


def pseudo_rows(
    model: BinaryPairwise, rows: NDArray[Any], weight: float, times: NDArray[Any] | None = None
) -> PseudoRows:
    """Return the engine of a binary field, with all parameters zero.

    Row t counts ``times[t]`` times, or once by default.
    """
    n_rows, d = rows.shape
    each = np.ones(n_rows) if times is None else np.asarray(times, dtype=np.float64)
    place, bounds, values, counted = place_rows(each)
    n_places = counted.size
    x, p = np.zeros((d + 1, n_places)), np.zeros((d, n_places))
    x[:d, place] = rows.T
    first, second = model.ends
    return PseudoRows(
        float(weight), float(each.sum()), first, second, x,
        x if np.all(values == 1.0) else x * counted, counted, bounds, values,
        np.flatnonzero(counted == 0), np.zeros_like(p), p, np.zeros((d, 4)), np.zeros(n_places),
    )  # fmt: skip


@interface.advance.register(PseudoRows)
def advance(engine, state, rng):
    """Recompute all fields and conditionals."""
    x, field = engine.x, engine.field
    for i in range(state.bias.size):
        field[i] = state.bias[i]
    for place in range(state.n_members[0]):
        alpha = state.members[place]
        i, j, a = engine.first[alpha], engine.second[alpha], state.coupling[alpha]
        shift_field(field[i], x[j], 0.0, a)
        shift_field(field[j], x[i], 0.0, a)
    for i in range(state.bias.size):
        refresh(field, engine.p, engine.counted, engine.total, engine.powers, engine.empty, i)


@interface.refresh_data.register(PseudoRows)
def copy_entries(engine, missing_entries, state, rng):
    """Copy the entries that were redrawn, and recompute all fields."""
    for m in range(missing_entries.row.size):
        row, i = missing_entries.row[m], missing_entries.node[m]
        engine.x[i, row] = missing_entries.x[row, i]
    interface.advance(engine, state, rng)


@interface.n_bias_updates.register(PseudoRows)
def update_first_bias(engine, k):
    """One: each takes a pass over the rows, and every node is the first in a block of its own."""
    return 1


@inner
def refresh(field, p, counted, total, powers, empty, i):
    """Recompute the conditionals of a node, and the sums of their powers, from its fields."""
    fill_probability(field[i], p[i], powers, empty)
    total_powers(p[i], counted, total[i])
