"""Atomic file writes, and checksums of files."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from slabfield.validation import InputError, Parameter

# Bytes hashed at a time
CHUNK_BYTES = 1 << 20


def make_folder(folder: Path, name: str = "out") -> None:
    """Create the output folder, and check that it is writable, before any work is done.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        Name of the parameter, for the message.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.io.atomic import make_folder
    >>> with TemporaryDirectory() as folder:
    ...     make_folder(Path(folder) / "results")
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".slabfield-{os.getpid()}.tmp"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            "folder-not-writable",
            "{parameter} must be a folder that can be written in; {folder} cannot: {error}. Name "
            "another folder.",
            parameter=Parameter(name),
            folder=folder,
            error=str(error.strerror or error),
        ) from None


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Write a temporary file beside `path`, then rename it to `path` in one step.

    Parameters
    ----------
    path : Path
        Destination.
    write : callable
        Writes the file to a given path.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.io.atomic import write_atomically
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
    """Return the path to write to, if it names a file in an existing folder.

    Parameters
    ----------
    path : str or path
        The destination.

    Returns
    -------
    Path
        The destination, as a path.

    Examples
    --------
    >>> from slabfield.io.atomic import check_target
    >>> check_target("edges.csv").name
    'edges.csv'
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(
            "target-is-folder",
            "{parameter} must name a file; {path} is a folder. Add a name to it.",
            parameter=Parameter("path"),
            path=target,
        )
    if not target.parent.is_dir():
        raise InputError(
            "target-folder-missing",
            "{parameter} must lie in a folder that exists; {folder} does not. Make it first.",
            parameter=Parameter("path"),
            folder=target.parent,
        )
    return target


def digest_of(file: BinaryIO, size: int, head: bytes) -> str:
    """SHA-256 of the first `size` bytes of a file, followed by the head of its checksum line.

    Examples
    --------
    >>> from io import BytesIO
    >>> from slabfield.io.atomic import digest_of
    >>> digest_of(BytesIO(b"done, and more"), 4, b"")[:8]
    'a4c3ed04'
    """
    digest = hashlib.sha256()
    remaining = size
    file.seek(0)
    while remaining > 0:
        chunk = file.read(min(CHUNK_BYTES, remaining))
        if not chunk:
            break
        digest.update(chunk)
        remaining -= len(chunk)
    digest.update(head)
    return digest.hexdigest()
