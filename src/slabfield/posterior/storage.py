"""Storage of posteriors as NetCDF-4 files, which xarray and ArviZ open without slabfield."""

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

from slabfield.draws import DENSE_LIMIT, Draws, sparse_where
from slabfield.encoding import Encoder
from slabfield.io.atomic import check_target, write_atomically
from slabfield.models.interactions import Interactions
from slabfield.models.pairwise import pairwise_model
from slabfield.posterior.datatree import make_tree, sparse_number
from slabfield.posterior.integrity import SAVE_AGAIN, append_checksum, check_checksum
from slabfield.validation import InputError

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

POSTERIOR_FILE = "posterior.nc"
"""Name of the file with the posterior in the output folder of a run."""

# Upper bound on the compression ratio: deflate reaches at most 1032
MAX_COMPRESSION_RATIO = 1_100
# Arrays with fewer entries are not compressed
MIN_COMPRESSED_SIZE = 1_000


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
        append_checksum(temporary)

    write_atomically(target, write)


def _encoding(values: Any) -> dict[str, Any]:
    if values.dtype.kind in "UO":
        # HDF5 stores variable-length text in a heap, and reading a damaged heap may never end
        return {"dtype": "S1"}
    plain: dict[str, Any] = {"_FillValue": None}
    return plain | {"zlib": True, "complevel": 4} if values.size >= MIN_COMPRESSED_SIZE else plain


def load_posterior(path: str | os.PathLike[str]) -> Posterior:
    """Read a posterior that :meth:`Posterior.save` wrote, bit for bit.

    It predicts, scores and samples like the one that was saved.

    Parameters
    ----------
    path : str or path
        The file, or the output folder of a run, which holds ``posterior.nc``.

    Returns
    -------
    Posterior
        Equal to the one that was saved.

    Raises
    ------
    InputError
        If the file is missing, damaged or not a posterior, or has the format of another version.

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
    ...     load_posterior(path).feature_names
    ['sleep', 'work']
    """
    from slabfield.posterior.posterior import Posterior

    source = find_posterior(path)
    check_checksum(source)
    with _as_input_errors(source):
        import h5py

        with h5py.File(source, "r") as file:
            reader = _Reader(file, source.stat().st_size)
            record, settings, info = (
                json.loads(reader.text(f"run/{name}")) for name in ("encoder", "settings", "info")
            )
            encoder = Encoder.from_record(record)
            names = [variable.name for variable in encoder.variables]
            _expect(
                isinstance(settings, dict) and _is_list_of(info, dict),
                "settings or info of the wrong type",
            )
            return Posterior(_draws(reader, encoder), names, settings, info, encoder)


def find_posterior(path: str | os.PathLike[str]) -> Path:
    """Return the file of a posterior, which may be given by its folder."""
    source = Path(path)
    if not source.is_dir():
        return source
    if not (source / POSTERIOR_FILE).exists():
        raise InputError(
            "folder-without-posterior",
            "{path} must be a posterior, or a folder that holds {file}; found a folder without it. "
            "Name the output folder of a run that has ended, or a file that Posterior.save wrote.",
            path=path,
            file=POSTERIOR_FILE,
        )
    return source / POSTERIOR_FILE


def _draws(reader: _Reader, encoder: Encoder) -> Draws:
    n_chains, n_draws = reader.shape("posterior/p0", 2)
    model = pairwise_model(encoder.variables)
    interactions, n_edges = model.interactions, model.n_interactions
    shape = (n_chains, n_draws)
    read = reader.numbers
    if reader.has("sparse"):
        parameters = _sparse(reader, shape, interactions)
    else:
        parameters = _dense(reader, shape, interactions)
    scale = "posterior/sigma0_nominal"
    return Draws(
        n_chains,
        n_draws,
        parameters,
        read("posterior/bias", (*shape, model.n_biases)),
        read("posterior/p0", shape),
        read("posterior/sigma0", shape),
        read("sample_stats/potential", shape),
        read("inclusion/conditional_probability", (n_edges,)),
        read("inclusion/probability_mcse", (n_edges,)),
        read("inclusion/log_bayes_factor", (n_edges,)),
        read("inclusion/log_bayes_factor_mcse", (n_edges,)),
        interactions,
        read(scale, shape) if reader.has(scale) else None,
    )


def _dense(reader: _Reader, shape: tuple[int, int], interactions: Interactions) -> Any:
    """Read dense draws as sparse ones."""
    n_edges, n_parameters = len(interactions), interactions.n_parameters
    _expect(shape[0] * shape[1] * n_parameters <= DENSE_LIMIT, "too many dense draws")
    present = reader.numbers("posterior/present", (*shape, n_edges), np.int8) != 0
    name = "coupling" if n_parameters == n_edges else "parameters"
    values = reader.numbers(f"posterior/{name}", (*shape, n_parameters))
    if n_parameters > n_edges:
        present = np.repeat(present, np.diff(interactions.group_start), axis=-1)
    return sparse_where(present.reshape(-1, n_parameters), values.reshape(-1, n_parameters))


def _sparse(reader: _Reader, shape: tuple[int, int], interactions: Interactions) -> Any:
    """Read sparse draws and validate the indices: wrong ones would access memory out of bounds."""
    n_rows, n_parameters = shape[0] * shape[1], interactions.n_parameters
    (n_entries,) = reader.shape("sparse/value", 1)
    start = reader.numbers("sparse/start", (n_rows + 1,), np.int64)
    number = reader.numbers(f"sparse/{sparse_number(interactions)}", (n_entries,), np.int32)
    value = reader.numbers("sparse/value", (n_entries,))
    in_order = start[0] == 0 and start[-1] == n_entries and np.all(np.diff(start) >= 0)
    in_bounds = n_entries == 0 or (number.min() >= 0 and number.max() < n_parameters)
    _expect(bool(in_order and in_bounds), "sparse draws out of order")
    _expect(_whole_groups(number, start, interactions), "edges with only some of their parameters")
    return sparse.csr_array((value, number, start), shape=(n_rows, n_parameters))


def _whole_groups(
    number: NDArray[np.int32], start: NDArray[np.int64], interactions: Interactions
) -> bool:
    """Whether sparse draws have all parameters of their edges, in order, within one draw."""
    if interactions.n_parameters == len(interactions):
        return True
    first = interactions.group_start
    sizes = np.diff(first)
    edge = np.repeat(np.arange(len(interactions)), sizes)[number]
    begins = np.flatnonzero(number == first[edge])
    lengths = sizes[edge[begins]]
    if lengths.sum() != number.size:
        return False
    within = np.arange(number.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    whole = np.array_equal(number, np.repeat(first[edge[begins]], lengths) + within)
    return whole and bool(np.all(np.isin(start[:-1][np.diff(start) > 0], begins)))


class _Reader:
    """Reads arrays of the expected type and shape, none larger than the file can hold."""

    def __init__(self, file: Any, size: int) -> None:
        self.file, self.max_bytes = file, size * MAX_COMPRESSION_RATIO

    def has(self, name: str) -> bool:
        return name in self.file

    def dataset(self, name: str) -> Any:
        import h5py

        node = self.file
        for part in name.split("/"):
            # A soft or external link may lead to another file
            _expect(isinstance(node.get(part, getlink=True), h5py.HardLink), f"no {name}")
            node = node[part]
        plain = isinstance(node, h5py.Dataset) and not node.is_virtual and not node.external
        _expect(plain, f"no numbers or text in {name}")
        return node

    def shape(self, name: str, n_axes: int) -> tuple[int, ...]:
        shape = self.dataset(name).shape
        _expect(shape is not None and len(shape) == n_axes, f"{name} of shape {shape}")
        return tuple(int(length) for length in shape)

    def numbers(
        self, name: str, shape: tuple[int, ...], kind: type[np.number[Any]] = np.float64
    ) -> NDArray[Any]:
        found = self.dataset(name)
        fits = found.shape == shape and found.dtype == kind and found.nbytes <= self.max_bytes
        _expect(fits, f"{name} of shape {found.shape} and type {found.dtype}")
        return np.asarray(found[...])

    def text(self, name: str) -> str:
        found = self.dataset(name)
        is_text = found.ndim == 1 and found.dtype == np.dtype("S1")
        _expect(is_text and found.nbytes <= self.max_bytes, f"{name}, which is not text")
        return bytes(found[...].tobytes()).decode("utf-8")


class _UnexpectedError(Exception):
    """Raised if the content of a file is not that of a posterior."""


def _expect(holds: bool, found: str) -> None:
    if not holds:
        raise _UnexpectedError(found)


def _is_list_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


@contextmanager
def _as_input_errors(path: Path) -> Iterator[None]:
    """Report failures to read a file with a valid checksum as :class:`InputError`."""
    try:
        yield
    except (
        _UnexpectedError, OSError, KeyError, ValueError, TypeError, RuntimeError, OverflowError
    ) as error:  # fmt: skip
        raise InputError(
            "invalid-posterior",
            "{path} has a valid checksum but is not a posterior; found {error}. {advice} with this "
            "version of slabfield.",
            path=path,
            error=str(error),
            advice=SAVE_AGAIN,
        ) from None
