"""A line at the end of a stored file that tells whether every byte before it is as written.

HDF5 ignores what follows its own end, so other programs open a sealed file as they open any other.
"""

from __future__ import annotations

import re
from pathlib import Path

from slabfield.checks import InputError
from slabfield.files import digest_of

FORMAT = 1
HDF5_BEGIN = b"\x89HDF\r\n\x1a\n"
SEAL = re.compile(rb"\nslabfield posterior format ([0-9]{4}) sha256 ([0-9a-f]{64})\n")
SEAL_LENGTH = 105
SAVE_AGAIN = "Take another copy, or fit and save again"


def append_seal(path: Path, version: int = FORMAT) -> None:
    """Add the line with the digest of all that precedes it.

    Parameters
    ----------
    path : Path
        A file that is otherwise complete.
    version : int
        Version of what the file holds, and where.
    """
    head = b"\nslabfield posterior format %04d sha256 " % version
    with open(path, "rb+") as file:
        digest = digest_of(file, path.stat().st_size, head)
        file.write(head + digest.encode() + b"\n")


def check_seal(path: Path) -> None:
    """Refuse whatever is not, byte by byte, a posterior that this version can read.

    Parameters
    ----------
    path : Path
        What was handed in.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path} must be a file with a posterior; found a folder. Name one.")
        size = path.stat().st_size
        with open(path, "rb") as file:
            begin = file.read(len(HDF5_BEGIN))
            file.seek(max(size - SEAL_LENGTH, 0))
            seal = file.read(SEAL_LENGTH)
        _check(path, begin, seal, size)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        strerror = getattr(error, "strerror", None)
        found = "no such file" if isinstance(error, FileNotFoundError) else strerror or error
        raise InputError(
            f"{path} cannot be read; found {found}. Name a file that Posterior.save wrote."
        ) from None


def _check(path: Path, begin: bytes, seal: bytes, size: int) -> None:
    if begin != HDF5_BEGIN:
        found = "an empty file" if not begin else f"a file that begins with {begin!r}"
        raise InputError(
            f"{path} must be a posterior that Posterior.save wrote, which is a NetCDF-4 file; "
            f"found {found}. Name another file."
        )
    match = SEAL.fullmatch(seal)
    if match is None:
        raise InputError(
            f"{path} must end with the line that Posterior.save writes last; found something else. "
            "It was cut short, or another program wrote or changed it (xarray.open_datatree may "
            f"still open it). {SAVE_AGAIN}."
        )
    head = seal[: match.start(2)]
    with open(path, "rb") as file:
        digest = digest_of(file, size - SEAL_LENGTH, head)
    if digest != match[2].decode():
        raise InputError(
            f"{path} is damaged: what it holds ({size:,} bytes) is not what was written. "
            f"{SAVE_AGAIN}."
        )
    if int(match[1]) > FORMAT:
        raise InputError(
            f"{path} has format {int(match[1])}; this version of slabfield reads up to format "
            f"{FORMAT}. Install a newer slabfield."
        )
