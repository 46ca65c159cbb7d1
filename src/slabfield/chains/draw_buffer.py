"""Buffer of the draws of a chain, stored sparsely in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slabfield.draws import ChainDraws, sparse_where, where_stored
from slabfield.models.protocol import Model
from slabfield.moves.iteration import Record, new_record

# Entries of the dense array that compiled code writes draws into, at most
PART_ENTRIES = 1_000_000


# Quantities of which a buffer returns the series, in this order
SERIES = ("p0", "sigma0", "potential", "density")


def sizes_of(model: Model) -> tuple[int, int, int, int]:
    """Numbers of biases, of parameters of interactions, of interactions, and of slab scales."""
    interactions = model.interactions
    return model.n_biases, interactions.n_parameters, len(interactions), model.n_scales


class DrawBuffer:
    """Collects draws from compiled code in parts, and joins them on request."""

    def __init__(self, model: Model) -> None:
        self.sizes = sizes_of(model)
        self.group_sizes = np.diff(model.group_start)
        self.most = max(1, PART_ENTRIES // max(self.sizes[1], 1))
        self.parts: list[ChainDraws] = []

    def new_part(self, n_draws: int) -> Record:
        """Return a dense record for the next draws, at most ``most`` of them."""
        return new_record(n_draws, *self.sizes)

    def add(self, record: Record) -> None:
        """Store the draws of a record."""
        if record.coupling.shape == record.present.shape:
            edges = sparse_where(record.present, record.coupling)
            indicators = where_stored(edges)
        else:
            stored = np.repeat(record.present, self.group_sizes, axis=1)
            edges = sparse_where(stored, record.coupling)
            indicators = sparse.csr_array(record.present)
        self.parts.append(ChainDraws(edges, indicators, record.bias, record.hyper))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all draws so far as plain arrays, for :meth:`restore`."""
        if not self.parts:
            return {}
        draws = self.draws()
        found = {"bias": draws.bias, "hyper": draws.hyper}
        for name in ("edges", "indicators"):
            for part in ("data", "indices", "indptr"):
                found[f"{name}_{part}"] = getattr(getattr(draws, name), part)
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the draws by those of :meth:`arrays`; raise ValueError if they are invalid."""
        self.parts = []
        if not arrays:
            return
        n_draws, whole = len(arrays["bias"]), []
        for name, width in (("edges", self.sizes[1]), ("indicators", self.sizes[2])):
            parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            whole.append(sparse.csr_array(parts, shape=(n_draws, width)))
            whole[-1].check_format(full_check=True)
        hyper_shape = (n_draws, self.sizes[3] + 2)
        if arrays["bias"].shape[1:] != self.sizes[:1] or arrays["hyper"].shape != hyper_shape:
            raise ValueError("draws of another size")
        self.parts = [ChainDraws(whole[0], whole[1], arrays["bias"], arrays["hyper"])]

    @property
    def n_draws(self) -> int:
        """Number of draws so far."""
        return sum(len(part.bias) for part in self.parts)

    def series(self) -> NDArray[np.float64]:
        """Return the quantities of ``SERIES`` of each draw; potential is that of the data."""
        parts = list(self.parts)  # another thread may be adding to it
        if not parts:
            return np.zeros((0, 4))
        counts = [np.diff(part.indicators.indptr)[:, None] for part in parts]
        hyper = [part.hyper[:, [0, 1, -1]] for part in parts]
        return np.hstack([np.concatenate(hyper), np.concatenate(counts) / max(self.sizes[2], 1)])

    def draws(self) -> ChainDraws:
        """Return all draws so far, which are stored as one part from now on."""
        if len(self.parts) != 1:
            self.parts = [stacked(self.parts)]
        return self.parts[0]


def stacked(parts: list[ChainDraws]) -> ChainDraws:
    """Concatenate parts of draws."""
    edges = sparse.csr_array(sparse.vstack([p.edges for p in parts], format="csr"))
    if all(p.edges.shape == p.indicators.shape for p in parts):
        indicators = where_stored(edges)
    else:
        indicators = sparse.csr_array(sparse.vstack([p.indicators for p in parts], format="csr"))
    bias, hyper = (np.concatenate([getattr(p, name) for p in parts]) for name in ("bias", "hyper"))
    return ChainDraws(edges, indicators, bias, hyper)
