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
FORMAT = 4
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
        with open(path, "rb") as file:
            _check(path, file)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        strerror = getattr(error, "strerror", None)
        found = "no such file" if isinstance(error, FileNotFoundError) else strerror or error
        raise InputError(
            "unreadable-posterior",
            "{path} cannot be read; found {found}. Name a file that Posterior.save wrote, or "
            "the output folder of a run.",
            path=path,
            found=str(found),
        ) from None


def _kind_of_file(begin: bytes) -> str:
    """Describe a file by its first bytes."""
    if not begin:
        return "an empty file"
    text = "".join(begin.decode("latin-1").split())
    return "a text file" if text.isascii() and text.isprintable() else "a file of another kind"


def _check(path: Path, file: BinaryIO) -> None:
    begin = file.read(len(HDF5_SIGNATURE))
    if begin != HDF5_SIGNATURE:
        raise InputError(
            "not-netcdf",
            "{path} must be a posterior, a NetCDF-4 file such as posterior.nc in the output folder "
            "of a run; found {found}. Name that file, or its folder.",
            path=path,
            found=_kind_of_file(begin),
        )
    last_line = checksum.read_checksum(file, KIND)
    if last_line is None:
        raise InputError(
            "posterior-without-checksum",
            "{path} must end with the checksum line that Posterior.save writes; found something "
            "else. The file was cut short, or another program wrote or changed it "
            "(xarray.open_datatree may still open it). {advice}.",
            path=path,
            advice=SAVE_AGAIN,
        )
    if not last_line.intact:
        size = file.seek(0, os.SEEK_END)
        raise InputError(
            "damaged-posterior",
            "{path} is damaged: the checksum does not match its {size:,} bytes. {advice}.",
            path=path,
            size=size,
            advice=SAVE_AGAIN,
        )
    if last_line.version != FORMAT:
        raise InputError(
            "posterior-of-another-format",
            "{path} has format {found}; this version of slabfield reads format {format}. Use the "
            "version that wrote it, or fit and save again.",
            path=path,
            found=last_line.version,
            format=FORMAT,
        )
