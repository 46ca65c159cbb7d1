"""Checksums of files: a last line with the kind of file, its format and the SHA-256 of the rest."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import BinaryIO, NamedTuple

# Bytes hashed at a time
CHUNK_BYTES = 1 << 20
# Hexadecimal digits of a SHA-256
DIGEST_LENGTH = 64


class Checksum(NamedTuple):
    """What the checksum line of a file says: its format, and whether the content matches."""

    version: int
    intact: bool


def checksum_length(kind: str) -> int:
    """Length of the checksum line in bytes, with the line breaks before and after it."""
    return len(_head(kind, 0)) + DIGEST_LENGTH + 1


def append_checksum(path: Path, kind: str, version: int) -> None:
    """Append the checksum line to a file that is otherwise complete."""
    head = _head(kind, version)
    with open(path, "rb+") as file:
        digest = _digest(file, path.stat().st_size, head)
        file.write(head + digest + b"\n")


def read_checksum(file: BinaryIO, kind: str) -> Checksum | None:
    """Verify the checksum line of a file; None if the file does not end with one of its kind."""
    size, length = file.seek(0, os.SEEK_END), checksum_length(kind)
    file.seek(max(size - length, 0))
    line = file.read()
    mark = rb"\nslabfield %s format ([0-9]{4}) sha256 ([0-9a-f]{64})\n" % kind.encode()
    match = re.fullmatch(mark, line)
    if match is None:
        return None
    digest = _digest(file, size - length, line[: match.start(2)])
    return Checksum(int(match[1]), digest == match[2])


def _head(kind: str, version: int) -> bytes:
    return b"\nslabfield %s format %04d sha256 " % (kind.encode(), version)


def _digest(file: BinaryIO, size: int, head: bytes) -> bytes:
    """SHA-256 of the first ``size`` bytes of a file, followed by the head of its checksum line.

    The file is left at the end of these bytes.
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
    return digest.hexdigest().encode()
