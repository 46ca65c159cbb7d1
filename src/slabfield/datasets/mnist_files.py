"""MNIST images from an npz file, from idx files, or from OpenML."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]

IDX_NAMES = {"train": "train-images-idx3-ubyte", "test": "t10k-images-idx3-ubyte"}
IDX_MAGIC = 0x00000803
"""First four bytes of an idx file of unsigned bytes in three dimensions."""

SIDE = 28
"""Height and width of an image, in pixels."""

N_TRAIN = 60_000
"""Number of training images, which come first on OpenML."""


def find_images(path: Path) -> tuple[Images, Images] | None:
    """Training and test images from an npz file, or from a folder with one or with idx files.

    Parameters
    ----------
    path : pathlib.Path
        An npz file with arrays x_train and x_test; a folder with such a file named mnist.npz; or
        a folder with the two idx files of images, .gz or not.

    Returns
    -------
    train, test : arrays of shape (n, 28, 28), uint8; or None
        None if there are no such files.
    """
    if path.is_file():
        return _from_npz(path)
    if (path / "mnist.npz").is_file():
        return _from_npz(path / "mnist.npz")
    files = [_idx_file(path, name) for name in IDX_NAMES.values()]
    if files[0] is None or files[1] is None:
        return None
    return _from_idx(files[0]), _from_idx(files[1])


def from_openml() -> tuple[Images, Images]:
    """Download MNIST from openml.org; scikit-learn caches it in its data folder.

    Returns
    -------
    train, test : arrays of shape (60000, 28, 28) and (10000, 28, 28), uint8
        The images.
    """
    from sklearn.datasets import fetch_openml

    try:
        data = fetch_openml("mnist_784", version=1, as_frame=False).data
    except OSError as error:
        raise OSError(
            f"MNIST could not be downloaded from openml.org; the attempt ended with {error!r}. "
            "Check the network, or pass source=FOLDER with mnist.npz or the idx files."
        ) from error
    images = np.asarray(data).astype(np.uint8).reshape(-1, SIDE, SIDE)
    return images[:N_TRAIN], images[N_TRAIN:]


def _from_npz(path: Path) -> tuple[Images, Images]:
    with np.load(path) as file:
        missing = sorted({"x_train", "x_test"} - set(file.files))
        if missing:
            raise ValueError(
                f"{path.name} must hold the arrays x_train and x_test; {' and '.join(missing)} "
                f"missing, found {file.files}. Save the images under these names."
            )
        return _checked(file["x_train"], path.name), _checked(file["x_test"], path.name)


def _idx_file(folder: Path, name: str) -> Path | None:
    """Find a standard file; some copies have a dot in place of the second hyphen."""
    stems = [name, name.replace("-idx3", ".idx3")]
    files = (folder / (stem + ending) for stem in stems for ending in ("", ".gz"))
    return next((file for file in files if file.is_file()), None)


def _from_idx(path: Path) -> Images:
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    header = np.frombuffer(raw[:16], dtype=">u4").tolist() if len(raw) >= 16 else []
    expected = [IDX_MAGIC, (len(raw) - 16) // SIDE**2, SIDE, SIDE]
    if header != expected or len(raw) != 16 + expected[1] * SIDE**2:
        raise ValueError(
            f"{path.name} must be an idx file of {SIDE} x {SIDE} images; found {len(raw):,} bytes "
            f"that begin with the numbers {header}. Download the file again."
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=16).reshape(-1, SIDE, SIDE)


def _checked(images: NDArray[np.generic], name: str) -> Images:
    if images.ndim != 3 or images.shape[1:] != (SIDE, SIDE) or images.dtype != np.uint8:
        raise ValueError(
            f"The images of {name} must be of shape (n, {SIDE}, {SIDE}) and type uint8; found "
            f"{images.shape} and {images.dtype}. Save the gray values 0 to 255 in that shape."
        )
    return images.astype(np.uint8, copy=False)
