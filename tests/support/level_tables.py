"""Small tables of columns with levels, whose neighbors depend on each other."""

from __future__ import annotations

import numpy as np
import pandas as pd


def chain_codes(n_levels: list[int], n_rows: int, seed: int, share: float = 0.5) -> np.ndarray:
    """Codes of columns, each of which follows the one before it in a share of the rows."""
    rng = np.random.default_rng(seed)
    latent = rng.random(n_rows)
    columns = []
    for n in n_levels:
        latent = np.where(rng.random(n_rows) < share, latent, rng.random(n_rows))
        columns.append((latent * n).astype(int))
    return np.column_stack(columns)


def mixed_table(n_rows: int = 60, seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """A column of every kind: ordinal, nominal, binary and Blume-Capel (by `MIXED_KINDS`)."""
    codes = chain_codes([3, 3, 2, 4], n_rows, seed)
    table = pd.DataFrame(
        {
            "mood": 1 + codes[:, 0],
            "place": np.array(["north", "south", "west"])[codes[:, 1]],
            "work": np.array(["no", "yes"])[codes[:, 2]],
            "opinion": codes[:, 3] - 1,
        }
    )
    holes = np.random.default_rng(seed + 1).random(table.shape) < missing
    return table.mask(holes) if missing else table


MIXED_KINDS = {"opinion": "blume-capel"}
"""What is to be said of the columns of `mixed_table`; the others are recognized."""


def ordinal_table(n_nodes: int, n_rows: int, seed: int = 0, n_levels: int = 3) -> np.ndarray:
    """Rows of ordinal columns with values 1, 2, ..."""
    return 1 + chain_codes([n_levels] * n_nodes, n_rows, seed)
