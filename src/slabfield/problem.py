"""What a chain samples from: model, data, prior and missing entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.models.protocol import Sums
from slabfield.moves.imputation import (
    MissingEntries,
    MissingLevels,
    new_missing_entries,
    with_table,
)
from slabfield.priors import Prior


class Problem(NamedTuple):
    """A model, the rows and sums of the data, the prior, and the missing entries.

    All engines but the pseudo-likelihood use the sums alone; particles and the pseudo-likelihood
    pilot run start from the rows, which may then be a sample. Row t counts ``times[t]``, or once if
    ``times`` is empty.
    """

    model: Any
    rows: NDArray[Any]
    sums: Sums
    prior: Prior
    missing_entries: MissingEntries | MissingLevels = new_missing_entries(
        None, np.zeros((0, 0)), np.zeros((0, 0), np.bool_)
    )
    times: NDArray[np.float64] = np.zeros(0)


def level_shares(
    rows: NDArray[Any],
    missing: NDArray[np.bool_],
    n_levels: Iterable[int],
    times: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]:
    """Share of each level of every node in the rows in which it is observed.

    Row t counts ``times[t]``, or once.
    """
    shares = []
    for i, n in enumerate(n_levels):
        weights = (~missing[:, i]).astype(np.float64)
        if times is not None:
            weights *= times
        counts = np.bincount(rows[:, i], weights, int(n))
        shares.append(counts / counts.sum())
    return shares


def _missing(problem: Problem) -> NDArray[np.bool_]:
    missing = np.zeros(problem.rows.shape, np.bool_)
    missing[problem.missing_entries.row, problem.missing_entries.node] = True
    return missing


def complete(problem: Problem, rng: np.random.Generator) -> Problem:
    """Fill in missing entries from the frequencies of their columns, in a copy of the data."""
    known = problem.missing_entries
    if known.row.size == 0:
        return problem
    rows = problem.rows.copy()
    # of a bit, the level is 1 where the number lies below the share of 1: hence from the last level
    shares = level_shares(rows, _missing(problem), problem.model.n_states)
    upper = [np.cumsum(share[::-1]) for share in shares]
    for row, node, number in zip(known.row, known.node, rng.random(known.row.size), strict=True):
        places = upper[node].size - 1
        rows[row, node] = places - min(int(np.searchsorted(upper[node], number, "right")), places)
    return problem._replace(
        rows=rows, sums=problem.model.sums(rows), missing_entries=with_table(known, rows)
    )
