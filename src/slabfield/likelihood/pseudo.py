"""The engine of a weighted pseudo-likelihood: fields and probabilities of all rows, no noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner
from slabfield.kernels.rows import SEGMENTS, fill_probability, shift_field, total_powers
from slabfield.likelihood import engine as interface
from slabfield.models.binary import BinaryPairwise


class PseudoRows(NamedTuple):
    """The weight, the data, and what the conditionals of every node are in every row.

    ``x``, ``field`` and ``p`` are (D, SEGMENTS, m): the data, the fields h, and sigma(h). ``total``
    holds, for every node, the sums of p, p^2, p^3 and p^4. The rest is workspace; ``none`` has no
    rows.
    """

    weight: float
    n_rows: int
    first: Any
    second: Any
    x: Any
    field: Any
    p: Any
    total: Any
    room: Any
    zeros: Any
    none: Any


def pseudo_rows(model: BinaryPairwise, rows: NDArray[Any], weight: float) -> PseudoRows:
    """Return the engine of a binary field, with all parameters zero."""
    n_rows, d = rows.shape
    m = -(-n_rows // SEGMENTS)
    x = np.zeros((d, SEGMENTS * m))
    x[:, :n_rows] = rows.T
    shape = (d, SEGMENTS, m)
    first, second = model.ends
    return PseudoRows(
        float(weight), n_rows, first, second, x.reshape(shape), np.zeros(shape), np.zeros(shape),
        np.zeros((d, 4)), np.zeros(SEGMENTS * m), np.zeros((SEGMENTS, m)),
        np.zeros((SEGMENTS, 0)),
    )  # fmt: skip


@interface.advance.register(PseudoRows)
def advance(engine, state, rng):
    """Work out all fields anew."""
    for i in range(state.bias.size):
        engine.field[i] = state.bias[i]
    for place in range(state.n_members[0]):
        alpha = state.members[place]
        i, j, a = engine.first[alpha], engine.second[alpha], state.coupling[alpha]
        shift_field(flat(engine.field, i), flat(engine.x, j), 0.0, a)
        shift_field(flat(engine.field, j), flat(engine.x, i), 0.0, a)
    for i in range(state.bias.size):
        refresh(engine.field, engine.p, engine.total, engine.room, engine.n_rows, i)


@inner
def flat(rows, i):
    """All rows of a node, in one line."""
    return rows[i].reshape(rows.shape[1] * rows.shape[2])


@inner
def refresh(field, p, total, room, n_rows, i):
    """Work out the probabilities of a node, and their sums, from its fields."""
    line = flat(p, i)
    fill_probability(flat(field, i), line, room, n_rows)
    total_powers(line, total[i])
