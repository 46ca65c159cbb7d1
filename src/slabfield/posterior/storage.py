"""A posterior in a file: NetCDF-4, which xarray and ArviZ open without slabfield."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slabfield.checks import InputError
from slabfield.draws import DENSE_LIMIT, Draws, sparse_where
from slabfield.files import check_target, write_atomically
from slabfield.posterior.seal import SAVE_AGAIN, append_seal, check_seal
from slabfield.posterior.tree import make_tree

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

# Deflate makes nothing smaller than one part in 1032
MOST_SHRUNK = 1_100
COMPRESSED_FROM = 1_000


def save_posterior(
    posterior: Posterior, path: str | os.PathLike[str], dense: bool | None = None
) -> None:
    """Write a posterior to a file; see ``Posterior.save``."""
    target = check_target(path)
    tree = make_tree(posterior, dense)
    encoding = {
        group.path: {name: _encoding(values) for name, values in group.data_vars.items()}
        for group in tree.subtree
    }

    def write(temporary: Path) -> None:
        tree.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)
        append_seal(temporary)

    write_atomically(target, write)


def _encoding(values: Any) -> dict[str, Any]:
    if values.dtype.kind in "UO":
        # Text of a length of its own is kept in a heap, and HDF5 never ends reading a damaged one
        return {"dtype": "S1"}
    plain: dict[str, Any] = {"_FillValue": None}
    return plain | {"zlib": True, "complevel": 4} if values.size >= COMPRESSED_FROM else plain


def load_posterior(path: str | os.PathLike[str]) -> Posterior:
    """Read a posterior that :meth:`Posterior.save` wrote, bit for bit.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Posterior
        Equal to the one that was saved.

    Raises
    ------
    InputError
        When the file is not there, is something else, is damaged, or was written by a newer
        version in a format that this one does not know.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from slabfield import Posterior, load_posterior
    >>> from slabfield.draws import Draws
    >>> one = np.ones((2, 3))
    >>> draws = Draws.from_dense(
    ...     one[..., None], one[..., None] == 1, np.zeros((2, 3, 2)), one / 2, one, one
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "posterior.nc"
    ...     Posterior(draws, ["sleep", "work"], {"engine": "exact"}).save(path)
    ...     load_posterior(path)
    <Posterior of 2 nodes by exact: 2 chains of 3 draws, 1 edges of probability 0.5 or more>
    """
    from slabfield.posterior.posterior import Posterior

    source = Path(path)
    check_seal(source)
    with _plain_failures(source):
        import h5py

        with h5py.File(source, "r") as file:
            reader = _Reader(file, source.stat().st_size)
            names, settings, info = (
                json.loads(reader.text(f"run/{name}"))
                for name in ("feature_names", "settings", "info")
            )
            _expect(_is_list_of(names, str), "names of nodes")
            _expect(isinstance(settings, dict) and _is_list_of(info, dict), "settings and info")
            return Posterior(_draws(reader, len(names)), names, settings, info)


def _draws(reader: _Reader, n_nodes: int) -> Draws:
    n_chains, n_draws = reader.shape("posterior/p0", 2)
    n_edges = n_nodes * (n_nodes - 1) // 2
    each = (n_chains, n_draws)
    read = reader.numbers
    values = _sparse(reader, each, n_edges) if reader.has("sparse") else None
    if values is None:
        _expect(n_chains * n_draws * n_edges <= DENSE_LIMIT, "dense draws, too many of them")
        present = read("posterior/present", (*each, n_edges), np.int8).reshape(-1, n_edges) != 0
        coupling = read("posterior/coupling", (*each, n_edges)).reshape(-1, n_edges)
        values = sparse_where(present, coupling)
    return Draws(
        n_chains,
        n_draws,
        values,
        read("posterior/bias", (*each, n_nodes)),
        read("posterior/p0", each),
        read("posterior/sigma0", each),
        read("sample_stats/potential", each),
        read("inclusion/chance", (n_edges,)),
    )


def _sparse(reader: _Reader, each: tuple[int, int], n_edges: int) -> Any:
    """Sparse draws, checked: a wrong number in them would have other memory read."""
    n_rows = each[0] * each[1]
    (n_entries,) = reader.shape("sparse/value", 1)
    start = reader.numbers("sparse/start", (n_rows + 1,), np.int64)
    edge = reader.numbers("sparse/edge_number", (n_entries,), np.int32)
    value = reader.numbers("sparse/value", (n_entries,))
    in_order = start[0] == 0 and start[-1] == n_entries and np.all(np.diff(start) >= 0)
    known = n_entries == 0 or (edge.min() >= 0 and edge.max() < n_edges)
    _expect(bool(in_order and known), "sparse draws out of order")
    return sparse.csr_array((value, edge, start), shape=(n_rows, n_edges))


class _Reader:
    """Reads what is expected, of the shape expected, and nothing larger than the file can hold."""

    def __init__(self, file: Any, size: int) -> None:
        self.file, self.most_bytes = file, size * MOST_SHRUNK

    def has(self, name: str) -> bool:
        return name in self.file

    def dataset(self, name: str) -> Any:
        import h5py

        place = self.file
        for part in name.split("/"):
            # A link may lead to another file
            _expect(isinstance(place.get(part, getlink=True), h5py.HardLink), f"no {name}")
            place = place[part]
        plain = isinstance(place, h5py.Dataset) and not place.is_virtual and not place.external
        _expect(plain, f"no numbers or text in {name}")
        return place

    def shape(self, name: str, n_axes: int) -> tuple[int, ...]:
        shape = self.dataset(name).shape
        _expect(shape is not None and len(shape) == n_axes, f"{name} of shape {shape}")
        return tuple(int(length) for length in shape)

    def numbers(
        self, name: str, shape: tuple[int, ...], kind: type[np.number[Any]] = np.float64
    ) -> NDArray[Any]:
        found = self.dataset(name)
        fits = found.shape == shape and found.dtype == kind and found.nbytes <= self.most_bytes
        _expect(fits, f"{name} of shape {found.shape} and type {found.dtype}")
        return np.asarray(found[...])

    def text(self, name: str) -> str:
        found = self.dataset(name)
        is_text = found.ndim == 1 and found.dtype == np.dtype("S1")
        _expect(is_text and found.nbytes <= self.most_bytes, f"{name}, which is not text")
        return bytes(found[...].tobytes()).decode("utf-8")


class _UnexpectedError(Exception):
    """What a file holds is not what a posterior holds."""


def _expect(holds: bool, found: str) -> None:
    if not holds:
        raise _UnexpectedError(found)


def _is_list_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


@contextmanager
def _plain_failures(path: Path) -> Iterator[None]:
    """Say in words what is wrong with a file that is whole, and yet not a posterior."""
    try:
        yield
    except (
        _UnexpectedError, OSError, KeyError, ValueError, TypeError, RuntimeError, OverflowError
    ) as error:  # fmt: skip
        raise InputError(
            f"{path} is sealed like a posterior, but does not hold one; found {error}. {SAVE_AGAIN}"
            " with this version of slabfield."
        ) from None
