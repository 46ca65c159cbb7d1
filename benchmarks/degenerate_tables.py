"""Tables that ask too much or too little of a sampler, and what its results must be on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.uint8]


def _fair(n_rows: int, n_nodes: int) -> Rows:
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (n_rows, n_nodes)).astype(np.uint8)


def _with_last(change: Callable[[Rows], Any], n_rows: int = 100, n_nodes: int = 5) -> Rows:
    """Fair coins, whose last column is made from the others."""
    rows = _fair(n_rows, n_nodes)
    rows[:, -1] = change(rows)
    return rows


def _rare(n_rows: int, share: float, n_nodes: int = 4) -> Rows:
    """Columns with few ones, of which the first two share half."""
    rng = np.random.default_rng(0)
    n_ones = max(round(share * n_rows), 1)
    rows = np.zeros((n_rows, n_nodes), np.uint8)
    for k in range(n_nodes):
        rows[rng.choice(n_rows, n_ones, replace=False), k] = 1
    rows[: n_ones // 2, :2] = 1
    return rows


def _one_row_of_ones(n_nodes: int) -> Rows:
    rows = np.zeros((100, n_nodes), np.uint8)
    rows[0] = 1
    return rows


def one_hot(seed: int, n_nodes: int, n_rows: int = 1000) -> Rows:
    """One-hot codes of categories that depend on a hidden class, some implied by the one before.

    Columns with fewer than five ones in a thousand rows are left out.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, n_rows)
    codes: list[Rows] = []
    level = np.zeros(n_rows, np.int64)
    while sum(code.shape[1] for code in codes) < n_nodes:
        n_levels = int(rng.integers(3, 13))
        probability = rng.dirichlet(np.full(n_levels, 0.5), 4).cumsum(axis=1)
        free = (rng.random(n_rows)[:, None] > probability[hidden]).sum(axis=1)
        free = np.minimum(free, n_levels - 1)
        implied, implies = rng.integers(0, n_levels, 12), rng.random(12) < 0.5
        if codes and rng.random() < 0.5:
            free = np.where(implies[level], implied[level], free)
        level = free
        codes.append(np.eye(n_levels, dtype=np.uint8)[level])
    rows = np.hstack(codes)[:, :n_nodes]
    n_ones = rows.sum(axis=0)
    return rows[:, (n_ones > 0.004 * n_rows) & (n_ones < n_rows)]


def _tables(n: int) -> dict[str, Callable[[], Rows]]:
    """Tables of n columns, or about so many."""
    return {
        "a column twice": lambda: _with_last(lambda rows: rows[:, 0], n_nodes=n),
        "a column and its complement": lambda: _with_last(lambda rows: 1 - rows[:, 0], n_nodes=n),
        "all columns the same": lambda: np.repeat(_fair(100, 1), n, axis=1),
        "a pair perfectly separated (never both 1)": lambda: _with_last(
            lambda rows: rows[:, -1] * (1 - rows[:, 0]), n_nodes=n
        ),
        "a column that is the exclusive or of two": lambda: _with_last(
            lambda rows: rows[:, 0] ^ rows[:, 1], n_nodes=n
        ),
        "a column of zeros": lambda: _with_last(lambda rows: 0, n_nodes=n),
        "a column of ones": lambda: _with_last(lambda rows: 1, n_nodes=n),
        "all zeros": lambda: np.zeros((100, n), np.uint8),
        "all ones": lambda: np.ones((100, n), np.uint8),
        "all rows zero but one, of ones": lambda: _one_row_of_ones(n),
        "two rows": lambda: _fair(2, n),
        "two equal rows": lambda: np.repeat(_fair(1, n), 2, axis=0),
        "more columns than rows": lambda: _fair(3, max(n, 12)),
        "0.01% ones (2 in 20,000)": lambda: _rare(20_000, 1e-4, n),
        "a million rows": lambda: _with_last(lambda rows: rows[:, 0] & rows[:, 1], 1_000_000, n),
        "one-hot codes": lambda: one_hot(1, max(n, 12)),
    }


SMALL, LARGE = 5, 30
TABLES: dict[str, Callable[[], Rows]] = {
    **_tables(SMALL),
    "two columns": lambda: _fair(100, 2),
    "two rows, two columns": lambda: np.eye(2, dtype=np.uint8),
}
LARGE_TABLES = {f"{name}, {LARGE} columns": make for name, make in _tables(LARGE).items()}


def find_bad(model: Any, rows: Rows) -> list[str]:
    """Name the results of a fitted model that hold NaN or infinity and should not.

    The mean coupling of an edge that no draw has, and R-hat and effective draws of what never
    changes, are NaN by definition.
    """
    posterior, draws = model.posterior_, model.posterior_.draws
    few = rows[:50]
    results = {
        "biases": draws.bias,
        "p0": draws.p0,
        "sigma0": draws.sigma0,
        "potential": draws.potential,
        "couplings": draws.values.data,
        "inclusion_probability_": model.inclusion_probability_,
        "coupling_": model.coupling_,
        "bias_": model.bias_,
        "inclusion_probability": posterior.to_dataframe()["inclusion_probability"],
        "score": model.score(few),
        "predict_proba": model.predict_proba(few),
        "coupling_averaged": posterior.coupling_averaged,
    }
    bad = [name for name, values in results.items() if not np.all(np.isfinite(values))]
    mean, probability = posterior.coupling_given_presence, draws.visits
    first, second = np.triu_indices(rows.shape[1], 1)
    if np.any(np.isnan(mean[first, second]) & (probability > 0)):
        bad.append("mean coupling of an edge that draws have")
    return bad
