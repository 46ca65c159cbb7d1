"""What a chain samples from: model, data, prior and missing entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.models.protocol import Sums
from slabfield.moves.imputation import MissingEntries, new_missing_entries
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
    missing_entries: MissingEntries = new_missing_entries(
        None, np.zeros((0, 0)), np.zeros((0, 0), np.bool_)
    )
    times: NDArray[np.float64] = np.zeros(0)


def complete(problem: Problem, rng: np.random.Generator) -> Problem:
    """Fill in missing entries from the frequencies of their columns, in a copy of the data."""
    known = problem.missing_entries
    if known.row.size == 0:
        return problem
    rows, missing = problem.rows.copy(), np.zeros(problem.rows.shape, np.bool_)
    missing[known.row, known.node] = True
    share = np.average(rows, axis=0, weights=~missing)
    rows[known.row, known.node] = rng.random(known.row.size) < share[known.node]
    missing_entries = new_missing_entries(problem.model, rows, missing)
    return problem._replace(
        rows=rows, sums=problem.model.sums(rows), missing_entries=missing_entries
    )
