"""How much memory there is, and how much a user says a run may take."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

from slabfield.checks.errors import InputError, shown_value
from slabfield.checks.parameters import is_number

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGT]?B)\s*", re.IGNORECASE)
MEMINFO = Path("/proc/meminfo")
# Limit and use of the memory of a container, by the second and the first version of control groups
GROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def check_memory_limit(max_memory: object) -> int | None:
    """Return a number of bytes from a number, or from words such as "4 GB"; None stays None.

    Examples
    --------
    >>> from slabfield.checks.machine import check_memory_limit
    >>> check_memory_limit("1.5GB"), check_memory_limit(2e6)
    (1500000000, 2000000)
    """
    if max_memory is None:
        return None
    if isinstance(max_memory, str):
        match = SIZE.fullmatch(max_memory)
        if match and float(match[1]) > 0:
            return int(float(match[1]) * UNITS[match[2].upper()])
    elif is_number(max_memory) and 0 < float(max_memory) < 2**63:  # type: ignore[arg-type]
        return int(max_memory)  # type: ignore[call-overload, no-any-return]
    raise InputError(
        "max_memory must be a number of bytes above 0, or one with a unit (kB, MB, GB, TB); got "
        f"{shown_value(max_memory)}. Pass for example max_memory='4GB', or leave it out."
    )


def available_memory() -> int | None:
    """Return how many bytes can still be had, in this container or machine; None if unknown.

    Examples
    --------
    >>> from slabfield.checks.machine import available_memory
    >>> found = available_memory()
    >>> found is None or found > 0
    True
    """
    found = [_of_machine(), *(_left_in(*group) for group in GROUPS)]
    known = [number for number in found if number is not None]
    return min(known) if known else None


def give_back_memory() -> None:
    """Give what was freed back to the system, where the C library can be asked to.

    Otherwise arrays of some megabytes that come and go, in several threads, leave gaps that stay.

    Examples
    --------
    >>> from slabfield.checks.machine import give_back_memory
    >>> give_back_memory()
    """
    # only glibc has it; on Windows there is no library of that name to ask
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def shown_bytes(n_bytes: float) -> str:
    """Write a number of bytes in the unit that suits it.

    Examples
    --------
    >>> from slabfield.checks.machine import shown_bytes
    >>> shown_bytes(3.21e9), shown_bytes(4e5)
    ('3.2 GB', '0.4 MB')
    """
    for unit in ("TB", "GB"):
        if n_bytes >= UNITS[unit]:
            return f"{n_bytes / UNITS[unit]:.1f} {unit}"
    return f"{n_bytes / 1e6:.{0 if n_bytes >= 1e7 else 1}f} MB"


def _of_machine() -> int | None:
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


def _left_in(limit: Path, used: Path) -> int | None:
    """Return what is left of a limit; pages of files that can be dropped count as used, alas."""
    try:
        return max(int(limit.read_text()) - int(used.read_text()), 0)
    except (OSError, ValueError):  # no such group, or "max": no limit
        return None
