"""Draws of a chain as they come, in parts, kept sparsely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slabfield.draws import ChainDraws, sparse_where, where_stored
from slabfield.sampler.iteration import Record, new_record

# Entries of the dense part that compiled code writes draws into
PART_ENTRIES = 1_000_000


class Keeper:
    """Takes draws from compiled code in parts, and puts them together at the end."""

    def __init__(self, sizes: tuple[int, int, int]) -> None:
        self.sizes = sizes
        self.most = max(1, PART_ENTRIES // max(sizes[1], 1))
        self.parts: list[ChainDraws] = []

    def room(self, n_draws: int) -> Record:
        """Return where the next draws, at most ``most``, are to be written."""
        return new_record(n_draws, *self.sizes)

    def take(self, record: Record) -> None:
        """Keep what was written."""
        if record.coupling.shape == record.present.shape:
            edges = sparse_where(record.present, record.coupling)
            shown = where_stored(edges)
        else:
            edges, shown = sparse.csr_array(record.coupling), sparse.csr_array(record.present)
        self.parts.append(ChainDraws(edges, shown, record.bias, record.hyper))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All draws taken so far as plain arrays, for :meth:`restore`."""
        if not self.parts:
            return {}
        draws = self.draws()
        found = {"bias": draws.bias, "hyper": draws.hyper}
        for name in ("edges", "shown"):
            for part in ("data", "indices", "indptr"):
                found[f"{name}_{part}"] = getattr(getattr(draws, name), part)
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take draws back in place of what there is; raises ValueError if they are not draws."""
        self.parts = []
        if not arrays:
            return
        n_draws, whole = len(arrays["bias"]), []
        for name, width in (("edges", self.sizes[1]), ("shown", self.sizes[2])):
            parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            whole.append(sparse.csr_array(parts, shape=(n_draws, width)))
            whole[-1].check_format(full_check=True)
        if arrays["bias"].shape[1:] != self.sizes[:1] or arrays["hyper"].shape != (n_draws, 3):
            raise ValueError("draws of another size")
        self.parts = [ChainDraws(whole[0], whole[1], arrays["bias"], arrays["hyper"])]

    @property
    def n_draws(self) -> int:
        """How many draws were taken so far."""
        return sum(len(part.bias) for part in self.parts)

    def series(self) -> NDArray[np.float64]:
        """Of each draw taken so far p0, sigma0, the data's log potential and the edges present."""
        parts = list(self.parts)  # another thread may be adding to them
        if not parts:
            return np.zeros((0, 4))
        counts = [np.diff(part.shown.indptr)[:, None] for part in parts]
        hyper = [part.hyper[:, :3] for part in parts]
        return np.hstack([np.concatenate(hyper), np.concatenate(counts).astype(np.float64)])

    def draws(self) -> ChainDraws:
        """All draws taken so far, which are held in one piece from now on."""
        if len(self.parts) != 1:
            self.parts = [stacked(self.parts)]
        return self.parts[0]


def stacked(parts: list[ChainDraws]) -> ChainDraws:
    """Put draws together, one part after the other."""
    edges = sparse.csr_array(sparse.vstack([p.edges for p in parts], format="csr"))
    if all(p.edges.shape == p.shown.shape for p in parts):
        shown = where_stored(edges)
    else:
        shown = sparse.csr_array(sparse.vstack([p.shown for p in parts], format="csr"))
    bias, hyper = (np.concatenate([getattr(p, name) for p in parts]) for name in ("bias", "hyper"))
    return ChainDraws(edges, shown, bias, hyper)
