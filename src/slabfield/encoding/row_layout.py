"""Rows of codes packed into bytes: as many bits for each column as its codes need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]

WIDTHS = (1, 2, 4, 8)
"""Bits that the codes of a column may take."""


class RowLayout:
    """The bits of each column in packed rows. Packed rows sort in the order of the rows.

    Parameters
    ----------
    n_codes : sequence of int
        Number of codes of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding.row_layout import RowLayout
    >>> layout = RowLayout([2, 5, 2])
    >>> packed = layout.pack(np.array([[1, 4, 0], [0, 3, 1]], np.uint8))
    >>> packed.shape, layout.unpack(packed).tolist()
    ((2, 1), [[1, 4, 0], [0, 3, 1]])
    """

    def __init__(self, n_codes: Sequence[int]) -> None:
        self.widths = tuple(
            next(width for width in WIDTHS if number <= 1 << width) for number in n_codes
        )
        self.n_bits = sum(self.widths)
        self.column = np.repeat(np.arange(len(self.widths)), self.widths)
        shifts = [np.arange(width - 1, -1, -1, dtype=np.uint8) for width in self.widths]
        self.shift: Bits = np.concatenate(shifts) if shifts else np.zeros(0, np.uint8)

    @property
    def n_bytes(self) -> int:
        """Bytes of a packed row."""
        return -(-self.n_bits // 8)

    @property
    def single(self) -> bool:
        """Whether every column takes one bit."""
        return self.n_bits == len(self.widths)

    def pack(self, rows: Bits) -> Bits:
        """Return rows, packed."""
        if not self.single:
            rows = (rows[:, self.column] >> self.shift) & np.uint8(1)
        return np.packbits(rows, axis=1)

    def unpack(self, packed: Bits) -> Bits:
        """Return the rows that were packed."""
        if packed.shape[1] != self.n_bytes:
            raise ValueError(f"packed rows of {packed.shape[1]} bytes in place of {self.n_bytes}")
        bits = np.unpackbits(packed, axis=1, count=self.n_bits)
        if self.single:
            return bits
        starts = np.cumsum([0, *self.widths[:-1]])
        rows: Bits = np.add.reduceat(bits << self.shift, starts, axis=1, dtype=np.uint8)
        return rows
