"""The data as chains use them: sums of all rows, rows to start from, and their fingerprint."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from slabfield import encoding
from slabfield.configuration import Settings
from slabfield.kernels.pseudo_sums import WIDTH
from slabfield.models.protocol import Model, Sums

# Rows that are summed at a time
ROWS_AT_A_TIME = 1 << 15
# Most rows from which particles and the pseudo-likelihood pilot run start
MOST_ROWS = 10_000
# Most rows, with repeats, from which particles restart, unless the table itself has more
MOST_RESTART_ROWS = 1_000_000


def weighted_rows(table: encoding.CodedTable) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the distinct rows of a table, and their weights.

    Examples
    --------
    >>> from slabfield.encoding import code_table
    >>> from slabfield.chains.row_sums import weighted_rows
    >>> rows, weights = weighted_rows(code_table([[0, 1], [1, 0], [0, 1]]))
    >>> weights
    array([2., 1.])
    """
    if table.counts is not None:
        return table.rows, table.counts
    return encoding.merge_rows(table.rows, table.weights)


def rows_and_sums(
    model: Model, table: encoding.CodedTable, settings: Settings
) -> tuple[NDArray[np.uint8], NDArray[np.float64], Sums]:
    """Return the rows that chains use, their counts, and the sums of all rows.

    Equal rows are merged, so that neither their order matters nor whether a row is repeated or has
    a weight. An engine that needs all rows gets merged rows with their counts where that saves
    enough, and otherwise every row as often as it weighs, as do particles that are restarted from
    the data. The other engines only start from rows, and get an even selection of at most
    ``MOST_ROWS``. Counts are empty where rows are repeated.
    """
    none = np.zeros(0)
    if table.missing.any():  # missing entries are redrawn row by row
        return table.rows, none, model.sums(table.rows)
    rows, weights = weighted_rows(table)
    sums = weighted_sums(model, rows, weights)
    if settings.needs_rows:
        if use_counts(weights):
            return rows, weights, sums
        return encoding.replicate_rows(rows, weights, int(sums.n_rows)), none, sums
    most = max(MOST_RESTART_ROWS, table.n_rows) if settings.restart else MOST_ROWS
    return encoding.replicate_rows(rows, weights, most), none, sums


def use_counts(weights: NDArray[np.float64]) -> bool:
    """Whether to store distinct rows with their weights: if that at least halves the storage.

    Each distinct weight takes up to ``WIDTH`` places of padding. Weights that are not integers can
    be stored in no other way.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.chains.row_sums import use_counts
    >>> use_counts(np.full(100, 5.0)), use_counts(np.ones(100))
    (True, False)
    """
    if np.any(weights != np.floor(weights)):
        return True
    places = weights.size + WIDTH * np.unique(weights).size
    return bool(weights.sum() > 2 * places)


def weighted_sums(model: Model, rows: NDArray[np.uint8], weights: NDArray[np.float64]) -> Sums:
    """Return the weighted sums of all features.

    ``n_rows`` of the sums is the sum of the weights.
    """
    bias, coupling = np.zeros(model.n_biases), np.zeros(model.interactions.n_parameters)
    # more BLAS threads would change the last bits of sums of non-integer weights
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            chunk = slice(start, start + ROWS_AT_A_TIME)
            part = model.weighted_sums(rows[chunk], weights[chunk])
            bias += part.bias
            coupling += part.coupling
    return Sums(float(weights.sum()), bias, coupling)


def fingerprint(table: encoding.CodedTable) -> str:
    """Return the SHA-256 of the rows, and of their counts or weights if there are any."""
    found = sha256(table.rows)
    if table.missing.any():
        found.update(np.packbits(table.missing).tobytes())
    for more in (table.counts, table.weights):
        if more is not None:
            found.update(more)
    return found.hexdigest()
