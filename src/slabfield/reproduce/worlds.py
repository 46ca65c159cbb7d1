"""Data sets of the experiments: training rows, test rows with a group each, and the truth."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets import draw_rows, load_mnist_patches, make_block, make_lattice
from slabfield.evaluate import lattice_patches
from slabfield.models.field import BinaryField

TEST_SEED = 1_000_000
"""Seeds of test rows come after this; those of training rows before."""


class World(NamedTuple):
    """Name of a data set: what it is drawn from, by which seed, and how many rows.

    Examples
    --------
    >>> from slabfield.reproduce.worlds import World, open_world
    >>> data = open_world(World("lattice", seed=1, n_rows=50, n_test=10, side=4))
    >>> data.train.shape, data.test.shape, data.groups.shape, data.truth.n_edges
    ((50, 16), (10, 16), (10, 9), 24)
    """

    kind: str
    seed: int
    n_rows: int
    n_test: int
    side: int = 10


class Data(NamedTuple):
    """A data set, opened. ``groups`` are the nodes predicted in each test row, None for all."""

    train: NDArray[np.uint8]
    test: NDArray[np.uint8]
    groups: NDArray[np.int64] | None
    truth: BinaryField | None
    shape: tuple[int, int]


def open_world(world: Any) -> Data:
    """Draw or load a data set.

    Parameters
    ----------
    world : World
        Which one: ``kind`` is "block", "lattice" or "mnist".

    Returns
    -------
    Data
        The same for the same world.
    """
    return _open(World(*world))


@lru_cache(maxsize=4)
def _open(world: World) -> Data:
    seed = TEST_SEED + world.seed
    if world.kind == "mnist":
        patches = load_mnist_patches(world.n_rows, random_state=world.seed)
        test = patches.test[: world.n_test]
        groups = lattice_patches(patches.shape, len(test), seed)
        return Data(patches.train, test, groups, None, patches.shape)
    if world.kind == "block":
        made = make_block(world.n_rows, random_state=world.seed)
        test = draw_rows(made.field, world.n_test, seed)
        return Data(made.rows, test, None, made.field, (1, made.field.n_nodes))
    shape = (world.side, world.side)
    made = make_lattice(world.n_rows, shape, random_state=world.seed)
    test = draw_rows(made.field, world.n_test, seed)
    return Data(made.rows, test, lattice_patches(shape, world.n_test, seed), made.field, shape)
