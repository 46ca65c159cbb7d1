"""Chunks of work: Python reports progress and saves states between calls of compiled code."""

from __future__ import annotations

import time
from collections.abc import Iterator

# Seconds that one call of compiled code should take
CHUNK_SECONDS = 0.2


def chunks(total: int, most: int = 1 << 30) -> Iterator[int]:
    """Cut work into chunks of about ``CHUNK_SECONDS``, by the time that the last one took."""
    done, size = 0, 1
    while done < total:
        size = min(size, total - done, most)
        clock = time.perf_counter()
        yield size
        elapsed = time.perf_counter() - clock
        done += size
        size = max(1, min(2 * size, int(size * CHUNK_SECONDS / max(elapsed, 1e-6))))
