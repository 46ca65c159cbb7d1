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


def node_means(problem: Problem) -> NDArray[np.float64]:
    """Mean of every node over the rows in which it is observed."""
    known = problem.missing_entries
    if known.row.size == 0:
        return np.asarray(problem.sums.bias / problem.sums.n_rows)
    return np.asarray(np.average(problem.rows, axis=0, weights=~_missing(problem)))


def _missing(problem: Problem) -> NDArray[np.bool_]:
    missing = np.zeros(problem.rows.shape, np.bool_)
    missing[problem.missing_entries.row, problem.missing_entries.node] = True
    return missing


def complete(problem: Problem, rng: np.random.Generator) -> Problem:
    """Fill in missing entries from the frequencies of their columns, in a copy of the data."""
    known = problem.missing_entries
    if known.row.size == 0:
        return problem
    rows, share = problem.rows.copy(), node_means(problem)
    rows[known.row, known.node] = rng.random(known.row.size) < share[known.node]
    missing_entries = new_missing_entries(problem.model, rows, _missing(problem))
    return problem._replace(
        rows=rows, sums=problem.model.sums(rows), missing_entries=missing_entries
    )
