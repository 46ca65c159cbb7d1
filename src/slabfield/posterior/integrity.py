"""Checksum of a stored posterior: the last line of its file.

HDF5 ignores trailing bytes, so other programs open such a file like any other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from slabfield.io import checksum
from slabfield.validation import InputError

# Version of the file format
FORMAT = 1
# Kind of file in the checksum line
KIND = "posterior"
CHECKSUM_LENGTH = checksum.checksum_length(KIND)
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
SAVE_AGAIN = "Take another copy, or fit and save again"


def append_checksum(path: Path, version: int = FORMAT) -> None:
    """Append the checksum line to a posterior that is otherwise complete."""
    checksum.append_checksum(path, KIND, version)


def check_checksum(path: Path) -> None:
    """Raise an InputError unless the file is an undamaged posterior that this version can read."""
    try:
        if path.is_dir():
            raise InputError(f"{path} must be a posterior file; found a folder. Name a file.")
        with open(path, "rb") as file:
            _check(path, file)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        strerror = getattr(error, "strerror", None)
        found = "no such file" if isinstance(error, FileNotFoundError) else strerror or error
        raise InputError(
            f"{path} cannot be read; found {found}. Name a file that Posterior.save wrote."
        ) from None


def _check(path: Path, file: BinaryIO) -> None:
    begin = file.read(len(HDF5_SIGNATURE))
    if begin != HDF5_SIGNATURE:
        found = "an empty file" if not begin else f"a file that begins with {begin!r}"
        raise InputError(
            f"{path} must be a posterior that Posterior.save wrote, which is a NetCDF-4 file; "
            f"found {found}. Name another file."
        )
    last_line = checksum.read_checksum(file, KIND)
    if last_line is None:
        raise InputError(
            f"{path} must end with the checksum line that Posterior.save writes; found something "
            "else. The file was cut short, or another program wrote or changed it "
            f"(xarray.open_datatree may still open it). {SAVE_AGAIN}."
        )
    if not last_line.intact:
        size = file.seek(0, os.SEEK_END)
        raise InputError(
            f"{path} is damaged: the checksum does not match its {size:,} bytes. {SAVE_AGAIN}."
        )
    if last_line.version > FORMAT:
        raise InputError(
            f"{path} has format {last_line.version}; this version of slabfield reads up to "
            f"format {FORMAT}. Install a newer slabfield."
        )
