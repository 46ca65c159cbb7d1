"""Available memory, the user's limit on it, and its return to the operating system."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

from slabfield.validation.errors import InputError, Parameter, shown_value
from slabfield.validation.parameters import is_number

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGT]?B)\s*", re.IGNORECASE)
MEMINFO = Path("/proc/meminfo")
# Memory limit and memory use of a container: control groups version 2, then version 1
CGROUP_FILES = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def check_memory_limit(max_memory: object) -> int | None:
    """Return a limit in bytes from a number, or from text such as "4 GB"; None stays None."""
    if max_memory is None:
        return None
    if isinstance(max_memory, str):
        match = SIZE.fullmatch(max_memory)
        if match and float(match[1]) > 0:
            return int(float(match[1]) * UNITS[match[2].upper()])
    elif is_number(max_memory) and 0 < float(max_memory) < 2**63:  # type: ignore[arg-type]
        return int(max_memory)  # type: ignore[call-overload, no-any-return]
    raise InputError(
        "invalid-memory-limit",
        "{parameter} must be a number of bytes above 0, or one with a unit (kB, MB, GB, TB); got "
        "{value}. Pass for example {example}, or leave it out.",
        parameter=Parameter("max_memory"),
        value=shown_value(max_memory),
        example=Parameter("max_memory", "4GB"),
    )


def available_memory() -> int | None:
    """Return the available memory of this container or machine, in bytes; None if unknown."""
    found = [_machine_memory(), *(_container_memory(*files) for files in CGROUP_FILES)]
    known = [number for number in found if number is not None]
    return min(known) if known else None


def give_back_memory() -> None:
    """Return freed memory to the system (malloc_trim), where the C library supports it.

    Otherwise the heap stays fragmented after arrays of a few megabytes in several threads.
    """
    # only glibc has malloc_trim; on Windows, CDLL(None) raises
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def shown_bytes(n_bytes: float) -> str:
    """Format a number of bytes with a suitable unit.

    Examples
    --------
    >>> from slabfield.validation.memory_limit import shown_bytes
    >>> shown_bytes(3.21e9), shown_bytes(4e5)
    ('3.2 GB', '0.4 MB')
    """
    for unit in ("TB", "GB"):
        if n_bytes >= UNITS[unit]:
            return f"{n_bytes / UNITS[unit]:.1f} {unit}"
    return f"{n_bytes / 1e6:.{0 if n_bytes >= 1e7 else 1}f} MB"


def _machine_memory() -> int | None:
    try:
        text = MEMINFO.read_text(encoding="ascii")
        match = re.search(r"^MemAvailable:\s+([0-9]+) kB", text, re.MULTILINE)
        if match:
            return 1024 * int(match[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _container_memory(limit: Path, used: Path) -> int | None:
    """Return the limit minus the use; the use includes the page cache, which could be dropped."""
    try:
        return max(int(limit.read_text()) - int(used.read_text()), 0)
    except (OSError, ValueError):  # no such group, or "max": no limit
        return None
