"""What chains are given of a table: the sums of all its rows, and rows to start from."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from slabfield import checks
from slabfield.kernels.rows import WIDTH
from slabfield.models.binary import BinaryPairwise
from slabfield.models.protocol import Sums

ROWS_AT_A_TIME = 1 << 15
# Rows at most that particles, and the pseudo-likelihood's rough answer, start from
MOST_ROWS = 10_000
# Rows at most where all are needed, and weights that are not whole have them drawn
MOST_RESTARTS = 1_000_000


def weighted_rows(table: checks.CodedTable) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the different rows of a table, and what each weighs.

    Examples
    --------
    >>> from slabfield.checks import code_binary
    >>> from slabfield.sampler.data import weighted_rows
    >>> rows, weights = weighted_rows(code_binary([[0, 1], [1, 0], [0, 1]]))
    >>> weights
    array([2., 1.])
    """
    if table.counts is not None:
        return table.rows, table.counts
    return checks.merge_rows(table.rows, table.weights)


def rows_and_sums(
    model: BinaryPairwise, table: checks.CodedTable, engine: str, restart: bool
) -> tuple[NDArray[np.uint8], NDArray[np.float64], Sums]:
    """Return the rows that chains of an engine are given, what each counts, and the sums of all.

    Equal rows are merged, so that data are the same data whatever the order of their rows is, and
    whether a row is repeated or has a weight. The pseudo-likelihood gets them so where that is
    worth it; else, as particles that are restarted from the data, every row as often as it weighs;
    others get at most ``MOST_ROWS`` of them, evenly spread, since they only start from there. Where
    rows are repeated, nothing is said of what each counts.

    Parameters
    ----------
    model : BinaryPairwise
    table : CodedTable
    engine : {"exact", "particles", "pseudo"}
    restart : bool
        Whether particles are restarted from rows in every iteration.

    Examples
    --------
    >>> from slabfield.checks import code_binary
    >>> from slabfield.models.binary import BinaryPairwise
    >>> from slabfield.sampler.data import rows_and_sums
    >>> table = code_binary([[0, 1], [1, 0]], sample_weight=[2, 0.5])
    >>> rows_and_sums(BinaryPairwise(2), table, "exact", restart=False)[2].n_rows
    2.5
    """
    none = np.zeros(0)
    if table.missing.any():  # these are redrawn row by row
        return table.rows, none, model.sums(table.rows)
    rows, weights = weighted_rows(table)
    sums = weighted_sums(model, rows, weights)
    if engine == "pseudo":
        if worth_counting(weights):
            return rows, weights, sums
        return checks.spread_rows(rows, weights, int(sums.n_rows)), none, sums
    most = max(MOST_RESTARTS, table.n_rows) if restart else MOST_ROWS
    return checks.spread_rows(rows, weights, most), none, sums


def worth_counting(weights: NDArray[np.float64]) -> bool:
    """Whether to hold rows once, with what they weigh, for sums over rows: where it halves them.

    Rows of every other weight take up to ``WIDTH`` places more. Weights that are not whole can
    be held in no other way.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.sampler.data import worth_counting
    >>> worth_counting(np.full(100, 5.0)), worth_counting(np.ones(100))
    (True, False)
    """
    if np.any(weights != np.floor(weights)):
        return True
    places = weights.size + WIDTH * np.unique(weights).size
    return bool(weights.sum() > 2 * places)


def weighted_sums(
    model: BinaryPairwise, rows: NDArray[np.uint8], weights: NDArray[np.float64]
) -> Sums:
    """Return the weighted sums of all features, from so many rows at a time.

    ``n_rows`` of the sums is the sum of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.models.binary import BinaryPairwise
    >>> from slabfield.sampler.data import weighted_sums
    >>> rows = np.array([[1, 1, 0], [1, 0, 1]], dtype=np.uint8)
    >>> weighted_sums(BinaryPairwise(3), rows, np.array([2.0, 0.5])).coupling
    array([2. , 0.5, 0. ])
    """
    bias, pairs = np.zeros(model.n_nodes), np.zeros((model.n_nodes, model.n_nodes))
    # more threads would change the last bits of sums of weights that are not whole
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            x = rows[start : start + ROWS_AT_A_TIME].astype(np.float64)
            weighted = x * weights[start : start + ROWS_AT_A_TIME, None]
            bias += weighted.sum(axis=0)
            pairs += weighted.T @ x
    return Sums(float(weights.sum()), bias, pairs[model.ends])


def fingerprint(table: checks.CodedTable) -> str:
    """Return the SHA-256 of the rows, and of their counts or weights where there are any.

    Examples
    --------
    >>> from slabfield.checks import code_binary
    >>> from slabfield.sampler.data import fingerprint
    >>> len(fingerprint(code_binary([[0, 1], [1, 0]])))
    64
    """
    found = sha256(table.rows)
    if table.missing.any():
        found.update(np.packbits(table.missing).tobytes())
    for more in (table.counts, table.weights):
        if more is not None:
            found.update(more)
    return found.hexdigest()
