"""Finished pieces of work, kept on disk under a name made from what they are."""

from __future__ import annotations

import hashlib
import inspect
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.files import write_atomically

Result = dict[str, NDArray[Any]]

PACKAGE = Path(__file__).parents[1]
DRAWING = ("plots", "cli", "reproduce")
"""Parts of the package that no number depends on, but for the files that pieces are in."""


class Piece(NamedTuple):
    """A call whose result is worth keeping: a function of a module and its arguments.

    Arguments are numbers, words, None, and tuples of these; the result is named arrays.

    Examples
    --------
    >>> from slabfield.reproduce.cache import Piece
    >>> def double(x):
    ...     return {"y": 2 * x}
    >>> Piece(double, {"x": 2}).call()["y"]
    array(4)
    """

    function: Callable[..., Mapping[str, Any]]
    arguments: dict[str, Any]

    def call(self) -> Result:
        """Do the work."""
        found = self.function(**self.arguments)
        return {name: np.asarray(values) for name, values in found.items()}

    @property
    def key(self) -> str:
        """Name of the result: the function, its arguments, and the sources they run."""
        told = json.dumps(self.arguments, sort_keys=True, default=list)
        source = inspect.getsourcefile(self.function)
        text = f"{self.function.__qualname__} {told} {fingerprint(source or '')}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]


class Cache:
    """A folder of results; a result is one file that appears whole or not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from slabfield.reproduce.cache import Cache
    >>> with TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.store("some-key", {"y": np.arange(3)})
    ...     cache.has("some-key"), cache.load("some-key")["y"]
    (True, array([0, 1, 2]))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """File of a result."""
        return self.folder / f"{key}.npz"

    def has(self, key: str) -> bool:
        """Whether a result is there, and whole."""
        return self.path(key).exists() and zipfile.is_zipfile(self.path(key))

    def load(self, key: str) -> Result:
        """Read a result."""
        with np.load(self.path(key)) as kept:
            return dict(kept)

    def store(self, key: str, result: Result) -> None:
        """Keep a result."""
        self.folder.mkdir(parents=True, exist_ok=True)

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez_compressed(file, **result)  # type: ignore[arg-type]

        write_atomically(self.path(key), write)


@cache
def fingerprint(source: str) -> str:
    """Name of the sources that numbers come from: the package but for drawing, and one file."""
    kept = [path for path in PACKAGE.rglob("*.py") if part_of(path) not in DRAWING]
    digest = hashlib.sha256()
    for path in [*sorted(kept), PACKAGE / "reproduce" / "worlds.py", Path(source)]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def part_of(path: Path) -> str:
    """Return the part of the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0]
