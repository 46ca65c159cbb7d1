"""Atomic file writes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from slabfield.validation import InputError, Parameter


def make_folder(folder: Path, name: str = "out") -> None:
    """Create the output folder, and check that it is writable, before any work is done.

    ``name`` is that of the parameter, for the message.
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
    """Write a temporary file beside `path`, then rename it to `path` in one step."""
    temporary = path.with_name(f".slabfield-{os.getpid()}-{secrets.token_hex(4)}.tmp{path.suffix}")
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path to write to, if it names a file in an existing folder."""
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
