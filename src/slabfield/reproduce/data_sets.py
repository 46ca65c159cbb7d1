"""Data sets of the experiments: training rows, test rows with their groups, true fields."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets import draw_rows, load_mnist_patches, make_block, make_lattice
from slabfield.evaluate import lattice_patches
from slabfield.models.field import BinaryField

# Offset of the seeds of test rows; seeds of training rows are smaller
TEST_SEED = 1_000_000


class DataSet(NamedTuple):
    """Specification of a data set: kind, seed and numbers of rows."""

    kind: str
    seed: int
    n_rows: int
    n_test: int
    side: int = 10


class Data(NamedTuple):
    """Rows of a data set. ``groups`` are the nodes to predict in each test row, None for all."""

    train: NDArray[np.uint8]
    test: NDArray[np.uint8]
    groups: NDArray[np.int64] | None
    truth: BinaryField | None
    shape: tuple[int, int]


def open_data_set(data_set: Any) -> Data:
    """Draw or load a data set.

    Parameters
    ----------
    data_set : DataSet
        Specification; ``kind`` is "block", "lattice" or "mnist".

    Returns
    -------
    Data
        The same for the same specification.
    """
    return _open(DataSet(*data_set))


@lru_cache(maxsize=4)
def _open(data_set: DataSet) -> Data:
    seed = TEST_SEED + data_set.seed
    if data_set.kind == "mnist":
        patches = load_mnist_patches(data_set.n_rows, random_state=data_set.seed)
        test = patches.test[: data_set.n_test]
        groups = lattice_patches(patches.shape, len(test), seed)
        return Data(patches.train, test, groups, None, patches.shape)
    if data_set.kind == "block":
        made = make_block(data_set.n_rows, random_state=data_set.seed)
        test = draw_rows(made.field, data_set.n_test, seed)
        return Data(made.rows, test, None, made.field, (1, made.field.n_nodes))
    shape = (data_set.side, data_set.side)
    made = make_lattice(data_set.n_rows, shape, random_state=data_set.seed)
    test = draw_rows(made.field, data_set.n_test, seed)
    return Data(made.rows, test, lattice_patches(shape, data_set.n_test, seed), made.field, shape)
