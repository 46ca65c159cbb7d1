"""Writing files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from slabfield.checks import InputError

PIECE = 1 << 20


def make_folder(folder: Path) -> None:
    """Make the folder for the results, before any work is done.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.files import make_folder
    >>> with TemporaryDirectory() as there:
    ...     make_folder(Path(there) / "results")
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".slabfield-{os.getpid()}.tmp"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"--out must be a folder that can be written in; {folder} cannot: "
            f"{error.strerror or error}. Name another folder."
        ) from None


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Write to a file beside `path`, then put it in its place in one step.

    Parameters
    ----------
    path : Path
        Where the file is to be.
    write : callable
        Writes the file to the path it is given.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.files import write_atomically
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note.txt"
    ...     write_atomically(path, lambda temporary: temporary.write_text("done") and None)
    ...     path.read_text()
    'done'
    """
    temporary = path.with_name(f".slabfield-{os.getpid()}-{secrets.token_hex(4)}.tmp{path.suffix}")
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return where to write, if it is the name of a file in a folder that exists.

    Parameters
    ----------
    path : str or path
        What was handed in.

    Returns
    -------
    Path
        The same as a path.

    Examples
    --------
    >>> from slabfield.files import check_target
    >>> check_target("edges.csv").name
    'edges.csv'
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"path must name a file; {target} is a folder. Add a name to it.")
    if not target.parent.is_dir():
        raise InputError(
            f"path must lie in a folder that exists; {target.parent} does not. Make it first."
        )
    return target


def digest_of(file: BinaryIO, size: int, head: bytes) -> str:
    """SHA-256 of the first bytes of a file, and of what the line that seals it begins with.

    Examples
    --------
    >>> from io import BytesIO
    >>> from slabfield.files import digest_of
    >>> digest_of(BytesIO(b"done, and more"), 4, b"")[:8]
    'a4c3ed04'
    """
    digest = hashlib.sha256()
    left = size
    file.seek(0)
    while left > 0:
        piece = file.read(min(PIECE, left))
        if not piece:
            break
        digest.update(piece)
        left -= len(piece)
    digest.update(head)
    return digest.hexdigest()
