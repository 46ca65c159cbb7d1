"""Kept states of chains: of each draw, which interactions are present and their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

# More entries than this are not made dense at once
DENSE_LIMIT = 400_000_000


def sparse_where(present: NDArray[np.bool_], values: Array) -> Any:
    """Sparse array of the values of what is present, stored even where they happen to be zero."""
    shown = sparse.csr_array(present)
    rows = np.repeat(np.arange(shown.shape[0]), np.diff(shown.indptr))
    return sparse.csr_array(
        (values[rows, shown.indices], shown.indices, shown.indptr), shape=shown.shape
    )


def where_stored(values: Any) -> Any:
    """Sparse array that is true where another has a value stored; both hold the same places."""
    marks = np.ones(values.data.size, np.bool_)
    return sparse.csr_array((marks, values.indices, values.indptr), shape=values.shape)


class ChainDraws(NamedTuple):
    """Draws of one chain; a row a draw.

    ``edges`` is sparse, (draws, parameters), and holds the parameters of what is present, ``shown``
    likewise (draws, interactions) and true. ``hyper`` has p0, sigma0 and the data's log potential.
    """

    edges: Any
    shown: Any
    bias: Array
    hyper: Array

    @property
    def coupling(self) -> Array:
        """All parameters, zero where absent."""
        return np.asarray(self.edges.toarray())

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which interactions are present."""
        return np.asarray(self.shown.toarray())


class Draws:
    """Draws of all chains. Edges are in the order of ``numpy.triu_indices(D, 1)``.

    Only what is present is stored; ``present`` and ``coupling`` make all of it dense, and
    :meth:`of_edges` what is asked for. Their first two axes are chain and draw.

    Parameters
    ----------
    n_chains, n_draws : int
    values : sparse array (chains * draws, n_edges)
        Couplings of present edges; one stored is present, even if it is zero.
    bias : array (chains, draws, D)
    p0, sigma0, potential : array (chains, draws)
        The last is the log potential of the data, up to log Z the log-likelihood.
    chance : array (n_edges,)
        Means of the conditional probability of presence; NaN where there are none.
    """

    def __init__(
        self,
        n_chains: int,
        n_draws: int,
        values: Any,
        bias: Array,
        p0: Array,
        sigma0: Array,
        potential: Array,
        chance: Array,
    ) -> None:
        self.n_chains, self.n_draws, self.values = n_chains, n_draws, values
        self.bias, self.p0, self.sigma0, self.potential = bias, p0, sigma0, potential
        self.chance = chance

    @classmethod
    def from_chains(cls, chains: Sequence[ChainDraws], chances: Iterable[Array]) -> Draws:
        """Put the draws of several chains together; ``chances`` are means of each, one by one."""
        total = np.zeros(chains[0].shown.shape[1])
        for chance in chances:
            total += chance
        hyper = np.stack([chain.hyper for chain in chains])
        return cls(
            len(chains),
            len(chains[0].bias),
            sparse.csr_array(sparse.vstack([chain.edges for chain in chains], format="csr")),
            np.stack([chain.bias for chain in chains]),
            hyper[..., 0],
            hyper[..., 1],
            hyper[..., 2],
            total / len(chains),
        )

    @classmethod
    def from_dense(
        cls,
        coupling: Array,
        present: NDArray[np.bool_],
        bias: Array,
        p0: Array,
        sigma0: Array,
        potential: Array,
    ) -> Draws:
        """Take draws from dense arrays whose first axes are chain and draw."""
        n_chains, n_draws, n_edges = present.shape
        values = sparse_where(present.reshape(-1, n_edges), coupling.reshape(-1, n_edges))
        nothing = np.full(n_edges, np.nan)
        return cls(n_chains, n_draws, values, bias, p0, sigma0, potential, nothing)

    @property
    def n_edges(self) -> int:
        """Number of candidate edges."""
        return int(self.values.shape[1])

    @property
    def n_present(self) -> NDArray[np.int64]:
        """Number of present edges, (chains, draws)."""
        counts: NDArray[np.int64] = np.diff(self.values.indptr).astype(np.int64)
        return counts.reshape(self.n_chains, self.n_draws)

    def of_edges(self, edges: Any) -> tuple[NDArray[np.bool_], Array]:
        """Presence and couplings of some edges, dense: (chains, draws, edges) each."""
        chosen = np.atleast_1d(np.asarray(edges))
        if self.n_chains * self.n_draws * chosen.size > DENSE_LIMIT:
            raise MemoryError(
                f"{chosen.size} edges of {self.n_chains * self.n_draws} draws are too many to be "
                "made dense at once. Ask for fewer edges (draws.of_edges)."
            )
        part = self.values[:, chosen]
        shape = (self.n_chains, self.n_draws, chosen.size)
        return where_stored(part).toarray().reshape(shape), part.toarray().reshape(shape)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each edge is present, (chains, draws, edges)."""
        return self.of_edges(np.arange(self.n_edges))[0]

    @property
    def coupling(self) -> Array:
        """A where an edge is present, else 0, (chains, draws, edges)."""
        return self.of_edges(np.arange(self.n_edges))[1]

    def evenly_spaced(self, n: int) -> NDArray[np.int64]:
        """Rows of ``values`` of so many draws, or all, evenly spaced over all chains."""
        n_all = self.n_chains * self.n_draws
        return np.unique(np.linspace(0, n_all - 1, min(n, n_all)).round().astype(np.int64))

    def visits_of(self, chain: int) -> NDArray[np.int64]:
        """In how many draws of one chain every edge is present."""
        begin, end = self.values.indptr[[chain * self.n_draws, (chain + 1) * self.n_draws]]
        return np.bincount(self.values.indices[begin:end], minlength=self.n_edges)

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """In how many draws of all chains every edge is present."""
        found = np.bincount(self.values.indices, minlength=self.n_edges)
        found.flags.writeable = False
        return found

    def total(self) -> Array:
        """Sum of the couplings of every edge over all draws."""
        found = np.bincount(self.values.indices, self.values.data, minlength=self.n_edges)
        return found.astype(np.float64)
