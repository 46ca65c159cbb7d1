"""Draws of chains, stored sparsely: which interactions are present, and their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slabfield.models.interactions import Interactions

Array = NDArray[np.float64]

DENSE_LIMIT = 400_000_000
"""Largest dense array that draws are expanded to, in entries."""


def sparse_where(present: NDArray[np.bool_], values: Array) -> Any:
    """Sparse array of the values where present; a present value of zero is stored explicitly."""
    pattern = sparse.csr_array(present)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return sparse.csr_array(
        (values[rows, pattern.indices], pattern.indices, pattern.indptr), shape=pattern.shape
    )


def where_stored(values: Any) -> Any:
    """Sparse boolean array with the sparsity pattern of another; the two share index arrays."""
    marks = np.ones(values.data.size, np.bool_)
    return sparse.csr_array((marks, values.indices, values.indptr), shape=values.shape)


def log_ratio_and_error(chains: Sequence[Array]) -> tuple[Array, Array]:
    r"""Log ratio of two sums over all chains, and its Monte Carlo standard error (equation 32).

    The standard error is estimated from the batches and, if that is larger, from the chains as
    wholes: batches of chains that have not converged agree too well.

    Parameters
    ----------
    chains : list of arrays (batches, edges, 2)
        For each chain, the contributions of its batches to the numerator and the denominator.

    Returns
    -------
    log_ratio, error : array (edges,)
        NaN where a sum is; the error also if there is only one batch.
    """
    total = sum(chain.sum(axis=0) for chain in chains)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(total[:, 0]) - np.log(total[:, 1])
        parts = [chain[..., 0] / total[:, 0] - chain[..., 1] / total[:, 1] for chain in chains]
    by_chain = np.array([part.sum(axis=0) for part in parts])
    variances = [
        n / (n - 1) * np.sum(deviations**2, axis=0)
        for deviations in (np.concatenate(parts), by_chain)
        if (n := len(deviations)) > 1
    ]
    if not variances:
        return log_ratio, np.full(log_ratio.shape, np.nan)
    return log_ratio, np.sqrt(np.max(variances, axis=0))


class ChainDraws(NamedTuple):
    """Draws of one chain, one per row.

    ``edges`` is sparse, (draws, parameters), and holds the parameters of present interactions;
    ``indicators`` is sparse and boolean, (draws, interactions). The columns of ``hyper`` are p0,
    sigma0 and the log potential of the data.
    """

    edges: Any
    indicators: Any
    bias: Array
    hyper: Array

    @property
    def coupling(self) -> Array:
        """All parameters, dense, zero where absent."""
        return np.asarray(self.edges.toarray())

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which interactions are present, dense."""
        return np.asarray(self.indicators.toarray())


class Draws:
    """Draws of all chains. Edges are in the order of ``interactions``.

    Only present edges are stored. ``present`` and ``coupling`` are dense arrays of all edges, and
    :meth:`dense` returns those of some edges. Their first two axes are chain and draw.

    Parameters
    ----------
    n_chains, n_draws : int
    values : sparse array (chains * draws, n_edges)
        Couplings of present edges. An edge is present where an entry is stored, even a zero.
    bias : array (chains, draws, D)
    p0, sigma0, potential : array (chains, draws)
        ``potential`` is the log potential of the data: the log-likelihood without the log Z term.
    conditional_probability : array (n_edges,)
        Mean conditional probability of presence (Rao-Blackwellized); NaN where not recorded.
    log_bayes_factor, log_bayes_factor_mcse : array (n_edges,)
        Log Bayes factor of presence from conditional probabilities, and its Monte Carlo standard
        error; NaN where not recorded.
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
        conditional_probability: Array,
        log_bayes_factor: Array,
        log_bayes_factor_mcse: Array,
    ) -> None:
        self.n_chains, self.n_draws, self.values = n_chains, n_draws, values
        self.bias, self.p0, self.sigma0, self.potential = bias, p0, sigma0, potential
        self.conditional_probability = conditional_probability
        self.log_bayes_factor = log_bayes_factor
        self.log_bayes_factor_mcse = log_bayes_factor_mcse

    @classmethod
    def from_chains(
        cls,
        chains: Sequence[ChainDraws],
        conditional_probabilities: Iterable[Array],
        evidence_means: Sequence[Array],
    ) -> Draws:
        """Combine the draws of several chains, and the statistics of their edges.

        These are the mean conditional probabilities, and the sums for Bayes factors per visit,
        (batches, edges, 2).
        """
        total = np.zeros(chains[0].indicators.shape[1])
        for conditional_probability in conditional_probabilities:
            total += conditional_probability
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
            *log_ratio_and_error(evidence_means),
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
        """Make draws from dense arrays whose first axes are chain and draw."""
        n_chains, n_draws, n_edges = present.shape
        values = sparse_where(present.reshape(-1, n_edges), coupling.reshape(-1, n_edges))
        not_recorded = (np.full(n_edges, np.nan) for _ in range(3))
        return cls(n_chains, n_draws, values, bias, p0, sigma0, potential, *not_recorded)

    @cached_property
    def interactions(self) -> Interactions:
        """The candidate edges: all pairs of nodes."""
        return Interactions.pairs(self.bias.shape[-1])

    @property
    def n_edges(self) -> int:
        """Number of candidate edges."""
        return int(self.values.shape[1])

    @property
    def n_present(self) -> NDArray[np.int64]:
        """Number of present edges, (chains, draws)."""
        counts: NDArray[np.int64] = np.diff(self.values.indptr).astype(np.int64)
        return counts.reshape(self.n_chains, self.n_draws)

    def dense(self, edges: Any) -> tuple[NDArray[np.bool_], Array]:
        """Presence and couplings of some edges, by index: dense, (chains, draws, edges) each."""
        chosen = np.atleast_1d(np.asarray(edges))
        if self.n_chains * self.n_draws * chosen.size > DENSE_LIMIT:
            raise MemoryError(
                f"{chosen.size} edges of {self.n_chains * self.n_draws} draws are too many for one "
                "dense array. Ask for fewer edges with Posterior.of_edges."
            )
        part = self.values[:, chosen]
        shape = (self.n_chains, self.n_draws, chosen.size)
        return where_stored(part).toarray().reshape(shape), part.toarray().reshape(shape)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each edge is present, dense, (chains, draws, edges)."""
        return self.dense(np.arange(self.n_edges))[0]

    @property
    def coupling(self) -> Array:
        """Coupling where an edge is present, else 0, dense, (chains, draws, edges)."""
        return self.dense(np.arange(self.n_edges))[1]

    @property
    def density(self) -> Array:
        """Share of candidate edges present, (chains, draws)."""
        return np.asarray(self.n_present / self.n_edges, dtype=np.float64)

    @property
    def visit_share(self) -> Array:
        """Share of draws in which each edge is present."""
        return np.asarray(self.visits / (self.n_chains * self.n_draws), dtype=np.float64)

    @property
    def edge_probability(self) -> Array:
        """Inclusion probability of every edge.

        The mean of the conditional probabilities (a Rao-Blackwell estimate: less noisy than the
        share of draws, and not 0 if an edge was never drawn) where the sampler recorded them;
        otherwise the share of draws.
        """
        recorded = np.isfinite(self.conditional_probability)
        return np.where(recorded, self.conditional_probability, self.visit_share)

    def evenly_spaced(self, n: int) -> NDArray[np.int64]:
        """Indices into ``values`` of n evenly spaced draws of all chains, or of all if fewer."""
        n_all = self.n_chains * self.n_draws
        return np.unique(np.linspace(0, n_all - 1, min(n, n_all)).round().astype(np.int64))

    def visits_of(self, chain: int) -> NDArray[np.int64]:
        """Number of draws of one chain in which each edge is present."""
        begin, end = self.values.indptr[[chain * self.n_draws, (chain + 1) * self.n_draws]]
        return np.bincount(self.values.indices[begin:end], minlength=self.n_edges)

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """Number of draws of all chains in which each edge is present."""
        found = np.bincount(self.values.indices, minlength=self.n_edges)
        found.flags.writeable = False
        return found

    def total(self) -> Array:
        """Sum of the couplings of each edge over all draws."""
        found = np.bincount(self.values.indices, self.values.data, minlength=self.n_edges)
        return found.astype(np.float64)
