"""The small handwritten digits that come with scikit-learn, as binary pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

THRESHOLD = 4
"""Smallest gray value, from 0 to 16, at which a pixel is 1: a quarter of the maximum."""


def load_digits_binary(pool: int | None = None) -> pd.DataFrame:
    """Load 1,797 handwritten digits of 8 x 8 pixels, binarized; no network is needed.

    A pixel is 1 where its gray value, from 0 to 16, is at least 4. At that threshold 8 of the 64
    pixels are 0 in every image: r0c0, r1c0, r2c0, r3c0, r3c7, r4c0, r4c7 and r7c0. They are not
    dropped. None of the 16 pooled pixels is constant; their means range from 0.008 (r3c0) to 0.94
    (r2c2).

    Parameters
    ----------
    pool : None or 2
        2 pools blocks of 2 x 2 binary pixels, which gives 4 x 4 pixels. A pooled pixel is 1 where
        the mean of its block is at least one half.

    Returns
    -------
    pandas.DataFrame
        One image in each of 1,797 rows, in scikit-learn's order; uint8 columns of 0 and 1. Column
        ``r2c5`` is the pixel in row 2 and column 5, both counted from 0 at the top left.

    Examples
    --------
    >>> from slabfield.datasets import load_digits_binary
    >>> load_digits_binary().shape
    (1797, 64)
    >>> list(load_digits_binary(pool=2).columns[:5])
    ['r0c0', 'r0c1', 'r0c2', 'r0c3', 'r1c0']
    """
    if pool not in (None, 2):
        raise ValueError(
            f"pool must be None or 2; found {pool!r}. "
            "Pass pool=2 for 4 x 4 pixels, or leave it out for 8 x 8."
        )
    import pandas as pd
    from sklearn.datasets import load_digits

    pixels = np.asarray(load_digits().images) >= THRESHOLD
    if pool is not None:
        pixels = pixels.reshape(-1, 4, pool, 4, pool).mean(axis=(2, 4)) >= 0.5
    _, height, width = pixels.shape
    names = [f"r{row}c{column}" for row in range(height) for column in range(width)]
    return pd.DataFrame(pixels.reshape(-1, height * width).astype(np.uint8), columns=names)
