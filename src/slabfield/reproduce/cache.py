"""Cache of the results of pieces of work, on disk, under a hash of function, arguments, sources."""

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

from slabfield.io.atomic import write_atomically

Result = dict[str, NDArray[Any]]

PACKAGE = Path(__file__).parents[1]
# Subpackages that no result depends on, except for the modules with the functions of pieces
DRAWING = ("plots", "cli", "reproduce")


class Piece(NamedTuple):
    """A call whose result is cached: a module-level function and its arguments.

    Arguments are numbers, strings, None, and tuples of these; the result is a dict of arrays.
    """

    function: Callable[..., Mapping[str, Any]]
    arguments: dict[str, Any]

    def call(self) -> Result:
        """Call the function."""
        result = self.function(**self.arguments)
        return {name: np.asarray(values) for name, values in result.items()}

    @property
    def key(self) -> str:
        """Hash of the function, its arguments and the sources that the result depends on."""
        arguments = json.dumps(self.arguments, sort_keys=True, default=list)
        source = inspect.getsourcefile(self.function)
        text = f"{self.function.__qualname__} {arguments} {fingerprint(source or '')}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]


class Cache:
    """A folder of results; each is a file that is written atomically."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """File of a result."""
        return self.folder / f"{key}.npz"

    def has(self, key: str) -> bool:
        """Whether a result exists and its file is complete."""
        return self.path(key).exists() and zipfile.is_zipfile(self.path(key))

    def load(self, key: str) -> Result:
        """Read a result."""
        with np.load(self.path(key)) as stored:
            return dict(stored)

    def store(self, key: str, result: Result) -> None:
        """Write a result."""
        self.folder.mkdir(parents=True, exist_ok=True)

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez_compressed(file, **result)  # type: ignore[arg-type]

        write_atomically(self.path(key), write)


@cache
def fingerprint(source: str) -> str:
    """Hash of the sources that results depend on: the package without DRAWING, and one module."""
    paths = [path for path in PACKAGE.rglob("*.py") if part_of(path) not in DRAWING]
    digest = hashlib.sha256()
    for path in [*sorted(paths), PACKAGE / "reproduce" / "data_sets.py", Path(source)]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def part_of(path: Path) -> str:
    """Return the subpackage that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0]
