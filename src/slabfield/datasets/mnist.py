"""Patches of handwritten digits: the real data of the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets.mnist_files import find_images, from_openml
from slabfield.datasets.simulated import RandomState
from slabfield.validation import check_positive_int

DATA_VARIABLE = "SLABFIELD_DATA"
"""Environment variable that names the folder of real data."""

THRESHOLD = 50
"""Gray value, from 0 to 255, above which a pixel is 1."""

PATCH = (9, 12)
"""Height and width of the patch, or the reverse, in pooled pixels."""

SMALLEST_MEAN = 1e-4
"""Smallest distance from 0 and 1 of the training mean of every pixel of the patch."""

WAYS = (
    "Either (1) set the environment variable SLABFIELD_DATA to a folder that holds mnist.npz "
    "(arrays x_train, y_train, x_test, y_test), or (2) pass source=FOLDER with the idx files "
    "(train-images-idx3-ubyte and t10k-images-idx3-ubyte, .gz or not), or (3) pass "
    'source="openml" to download MNIST from openml.org.'
)


class MnistPatches(NamedTuple):
    """Binary patches of MNIST images, as `load_mnist_patches` returns them.

    Examples
    --------
    >>> from slabfield.datasets import MnistPatches
    >>> MnistPatches._fields
    ('train', 'test', 'shape', 'corner', 'names')
    """

    train: NDArray[np.uint8]
    """Training rows, 0 or 1, shape (n_train, 108)."""
    test: NDArray[np.uint8]
    """Test rows, all of them, in the order of the source."""
    shape: tuple[int, int]
    """Height and width of the patch: (9, 12) or (12, 9)."""
    corner: tuple[int, int]
    """Row and column of its top left pixel in the 14 x 14 image."""
    names: list[str]
    """Node names: ``r3c1`` is row 3 and column 1 of the 14 x 14 image."""


def load_mnist_patches(
    n_train: int | None = None,
    source: str | os.PathLike[str] | None = None,
    random_state: RandomState = None,
) -> MnistPatches:
    """Load the binary 9 x 12 patches of MNIST digits, 108 nodes.

    A pixel of the 28 x 28 image is 1 where its gray value is above 50. Blocks of 2 x 2 of these
    are pooled: a block is 1 where its mean is at least one half, which gives 14 x 14 pixels. The
    patch, 9 x 12 or 12 x 9, is the most central one in which the mean of every pixel over all
    training images is within [0.0001, 0.9999]: the one whose center is nearest to the image's. Of
    equally central ones, 9 x 12 comes before 12 x 9, and then the one nearest to the top left.

    Parameters
    ----------
    n_train : int, optional
        Number of training rows, drawn without replacement; None takes all. The patch does not
        depend on it, because it is chosen from all training images.
    source : str or path, optional
        Where MNIST is. None: the folder in the environment variable ``SLABFIELD_DATA``. A path: a
        folder with ``mnist.npz`` or with the standard idx files (.gz or not; labels are not read),
        or an npz file. ``"openml"``: download it; the network is used in no other case.
    random_state : int, numpy.random.Generator or None
        Source of randomness for the choice of training rows.

    Returns
    -------
    MnistPatches
        ``train``, ``test``, ``shape``, ``corner`` and ``names``.

    Examples
    --------
    >>> from slabfield.datasets import load_mnist_patches
    >>> data = load_mnist_patches(1000, random_state=0)  # doctest: +SKIP
    >>> data.train.shape, data.shape, data.corner  # doctest: +SKIP
    ((1000, 108), (9, 12), (3, 1))
    """
    n_rows = check_positive_int("n_train", n_train, allow_none=True)
    train, test = (_small_and_binary(images) for images in _images(source))
    if n_rows is not None and n_rows > len(train):
        raise ValueError(
            f"n_train must be at most the number of training images, {len(train)}; found "
            f"{n_rows}. Ask for fewer, or leave it out to take them all."
        )
    shape, corner = _most_central_patch(train.mean(axis=0))
    if n_rows is not None:
        train = train[np.random.default_rng(random_state).permutation(len(train))[:n_rows]]
    rows, columns = (range(start, start + side) for start, side in zip(corner, shape, strict=True))
    names = [f"r{row}c{column}" for row in rows for column in columns]
    return MnistPatches(_cut(train, shape, corner), _cut(test, shape, corner), shape, corner, names)


def _images(source: str | os.PathLike[str] | None) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Training and test images, (n, 28, 28), from the given source."""
    if source == "openml":
        return from_openml()
    where = "the path given as source"
    if source is None:
        source, where = os.environ.get(DATA_VARIABLE) or None, f"the folder in {DATA_VARIABLE}"
    if source is None:
        raise FileNotFoundError(
            f"MNIST was not found; no source was given and {DATA_VARIABLE} is not set. {WAYS}"
        )
    images = find_images(Path(source))
    if images is None:
        raise FileNotFoundError(
            f"MNIST was not found; {where}, {os.fspath(source)!r}, holds neither mnist.npz nor "
            f"the idx files. {WAYS}"
        )
    return images


def _small_and_binary(images: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Threshold the images, and pool them to half the height and width."""
    blocks = (images > THRESHOLD).reshape(-1, 14, 2, 14, 2)
    pooled: NDArray[np.bool_] = blocks.sum(axis=(2, 4), dtype=np.uint8) >= 2
    return pooled


def _most_central_patch(mean: NDArray[np.float64]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shape and corner of the most central patch whose pixels all vary enough."""
    varies = (mean >= SMALLEST_MEAN) & (mean <= 1 - SMALLEST_MEAN)
    image_height, image_width = mean.shape
    found = []
    for order, (height, width) in enumerate((PATCH, PATCH[::-1])):
        for row in range(image_height - height + 1):
            for column in range(image_width - width + 1):
                if varies[row : row + height, column : column + width].all():
                    # Twice the distances between centers, to keep whole numbers.
                    down = 2 * row + height - image_height
                    right = 2 * column + width - image_width
                    found.append((down**2 + right**2, order, (row, column), (height, width)))
    if not found:
        raise ValueError(
            f"No {PATCH[0]} x {PATCH[1]} patch has the training mean of every pixel within "
            f"[{SMALLEST_MEAN}, {1 - SMALLEST_MEAN}]; {int(varies.sum())} of {varies.size} pixels "
            "have. Check that the source holds all of MNIST: a small part of it varies too little."
        )
    _, _, corner, shape = min(found)
    return shape, corner


def _cut(
    images: NDArray[np.bool_], shape: tuple[int, int], corner: tuple[int, int]
) -> NDArray[np.uint8]:
    (height, width), (row, column) = shape, corner
    patches = images[:, row : row + height, column : column + width]
    return patches.reshape(-1, height * width).astype(np.uint8)
