"""Checksum of a stored posterior: a final line with the SHA-256 digest of everything before it.

HDF5 ignores trailing bytes, so other programs open such a file like any other.
"""

from __future__ import annotations

import re
from pathlib import Path

from slabfield.io.atomic import digest_of
from slabfield.validation import InputError

# Version of the file format
FORMAT = 1
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
CHECKSUM_MARK = re.compile(rb"\nslabfield posterior format ([0-9]{4}) sha256 ([0-9a-f]{64})\n")
# Length of the checksum line in bytes
CHECKSUM_LENGTH = 105
SAVE_AGAIN = "Take another copy, or fit and save again"


def append_checksum(path: Path, version: int = FORMAT) -> None:
    """Append the line with the digest of the file.

    Parameters
    ----------
    path : Path
        A file that is otherwise complete.
    version : int
        Version of the file format.
    """
    head = b"\nslabfield posterior format %04d sha256 " % version
    with open(path, "rb+") as file:
        digest = digest_of(file, path.stat().st_size, head)
        file.write(head + digest.encode() + b"\n")


def check_checksum(path: Path) -> None:
    """Raise an InputError unless the file is an undamaged posterior that this version can read.

    Parameters
    ----------
    path : Path
        The file.
    """
    try:
        if path.is_dir():
            raise InputError(
                "posterior-is-folder",
                "{path} must be a posterior file; found a folder. Name a file.",
                path=path,
            )
        size = path.stat().st_size
        with open(path, "rb") as file:
            begin = file.read(len(HDF5_SIGNATURE))
            file.seek(max(size - CHECKSUM_LENGTH, 0))
            last_line = file.read(CHECKSUM_LENGTH)
        _check(path, begin, last_line, size)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        strerror = getattr(error, "strerror", None)
        found = "no such file" if isinstance(error, FileNotFoundError) else strerror or error
        raise InputError(
            "unreadable-posterior",
            "{path} cannot be read; found {found}. Name a file that Posterior.save wrote.",
            path=path,
            found=str(found),
        ) from None


def _check(path: Path, begin: bytes, last_line: bytes, size: int) -> None:
    if begin != HDF5_SIGNATURE:
        found = "an empty file" if not begin else f"a file that begins with {begin!r}"
        raise InputError(
            "not-netcdf",
            "{path} must be a posterior that Posterior.save wrote, which is a NetCDF-4 file; found "
            "{found}. Name another file.",
            path=path,
            found=found,
        )
    match = CHECKSUM_MARK.fullmatch(last_line)
    if match is None:
        raise InputError(
            "posterior-without-checksum",
            "{path} must end with the checksum line that Posterior.save writes; found something "
            "else. The file was cut short, or another program wrote or changed it "
            "(xarray.open_datatree may still open it). {advice}.",
            path=path,
            advice=SAVE_AGAIN,
        )
    head = last_line[: match.start(2)]
    with open(path, "rb") as file:
        digest = digest_of(file, size - CHECKSUM_LENGTH, head)
    if digest != match[2].decode():
        raise InputError(
            "damaged-posterior",
            "{path} is damaged: the checksum does not match its {size:,} bytes. {advice}.",
            path=path,
            size=size,
            advice=SAVE_AGAIN,
        )
    if int(match[1]) > FORMAT:
        raise InputError(
            "posterior-of-newer-format",
            "{path} has format {found}; this version of slabfield reads up to format {format}. "
            "Install a newer slabfield.",
            path=path,
            found=int(match[1]),
            format=FORMAT,
        )
