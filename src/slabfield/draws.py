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
    chains : list of arrays (batches, edges, 2 or more)
        For each chain, the contributions of its batches to the numerator and the denominator.

    Returns
    -------
    log_ratio, error : array (edges,)
        NaN where a sum is; the error also if there is only one batch.
    """
    chains = [chain[..., :2] for chain in chains]
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


def mean_error(chains: Sequence[Array]) -> Array:
    r"""Monte Carlo standard error of a mean over chains, from batches and chains (equation 39).

    Two estimates of its variance, one from the deviations of all batches from the mean, the other
    from those of whole chains, are averaged with their degrees of freedom as weights.

    Parameters
    ----------
    chains : list of arrays (batches, edges, 2)
        For each chain, what its batches contribute to its mean, and their shares of its visits.

    Returns
    -------
    array (edges,)
        NaN where a contribution is, and if there is only one batch.
    """
    n_chains = len(chains)
    mean = sum(chain[..., 0].sum(axis=0) for chain in chains) / n_chains
    deviations = [(chain[..., 0] - chain[..., 1] * mean) / n_chains for chain in chains]
    by_chain = np.array([part.sum(axis=0) for part in deviations])
    variance, degrees = np.zeros_like(mean), 0
    for found in (np.concatenate(deviations), by_chain):
        n = len(found)
        variance += n * np.sum(found**2, axis=0)
        degrees += n - 1
    return np.sqrt(variance / degrees) if degrees else np.full(mean.shape, np.nan)


class ChainDraws(NamedTuple):
    """Draws of one chain, one per row.

    ``edges`` is sparse, (draws, parameters), and holds the parameters of present interactions;
    ``indicators`` is sparse and boolean, (draws, interactions). The columns of ``hyper`` are p0,
    the scale or scales of the slab, and the log potential of the data.
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


def edge_strengths(parameters: Any, interactions: Interactions) -> Any:
    """Sparse array of one number for each present edge, from the parameters of present edges.

    The only parameter of an edge, with its sign, or the norm of several. All parameters of a
    present edge are stored, even zeros.
    """
    if interactions.n_parameters == len(interactions):
        return parameters
    start, sizes = interactions.group_start, np.diff(interactions.group_start)
    edge = np.repeat(np.arange(len(interactions)), sizes)[parameters.indices]
    first = np.flatnonzero(parameters.indices == start[edge])
    several = sizes[edge[first]] > 1
    norms = np.sqrt(np.add.reduceat(parameters.data**2, first)) if first.size else np.zeros(0)
    values = np.where(several, norms, parameters.data[first])
    indptr = np.searchsorted(first, parameters.indptr)
    shape = (parameters.shape[0], len(interactions))
    return sparse.csr_array((values, edge[first], indptr), shape=shape)


class Draws:
    """Draws of all chains. Edges are in the order of ``interactions``.

    Only present edges are stored. ``present`` and ``coupling`` are dense arrays of all edges, and
    :meth:`dense` returns those of some edges. Their first two axes are chain and draw. The coupling
    of an edge with several parameters is their norm; :meth:`group` returns the parameters.

    Parameters
    ----------
    n_chains, n_draws : int
    parameters : sparse array (chains * draws, n_parameters)
        Parameters of present edges, all of each, even zeros.
    bias : array (chains, draws, n_biases)
    p0, sigma0, potential : array (chains, draws)
        ``potential`` is the log potential of the data: the log-likelihood without the log Z term.
    conditional_probability : array (n_edges,)
        Mean conditional probability of presence (Rao-Blackwellized); NaN where not recorded.
    probability_mcse : array (n_edges,)
        Monte Carlo standard error of ``conditional_probability``; NaN where not recorded.
    log_bayes_factor, log_bayes_factor_mcse : array (n_edges,)
        Log Bayes factor of presence from conditional probabilities, and its Monte Carlo standard
        error; NaN where not recorded.
    interactions : Interactions, optional
        The candidate edges; by default all pairs of as many nodes as there are biases.
    sigma0_nominal : array (chains, draws), optional
        Slab scale of the edges with several parameters, where ``sigma0`` is that of the others.

    Attributes
    ----------
    values : sparse array (chains * draws, n_edges)
        Couplings of present edges. An edge is present where an entry is stored, even a zero.
    """

    def __init__(
        self,
        n_chains: int,
        n_draws: int,
        parameters: Any,
        bias: Array,
        p0: Array,
        sigma0: Array,
        potential: Array,
        conditional_probability: Array,
        probability_mcse: Array,
        log_bayes_factor: Array,
        log_bayes_factor_mcse: Array,
        interactions: Interactions | None = None,
        sigma0_nominal: Array | None = None,
    ) -> None:
        self.n_chains, self.n_draws, self.parameters = n_chains, n_draws, parameters
        self.interactions = interactions or Interactions.pairs(bias.shape[-1])
        self.values = edge_strengths(parameters, self.interactions)
        self.sigma0_nominal = sigma0_nominal
        self.bias, self.p0, self.sigma0, self.potential = bias, p0, sigma0, potential
        self.conditional_probability = conditional_probability
        self.probability_mcse = probability_mcse
        self.log_bayes_factor = log_bayes_factor
        self.log_bayes_factor_mcse = log_bayes_factor_mcse

    @classmethod
    def from_chains(
        cls,
        chains: Sequence[ChainDraws],
        conditional_probabilities: Iterable[Array],
        evidence_means: Sequence[Array],
        interactions: Interactions | None = None,
    ) -> Draws:
        """Combine the draws of several chains, and the statistics of their edges.

        These are the mean conditional probabilities, and the sums of batches per visit, (batches,
        edges, 5).
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
            hyper[..., -1],
            total / len(chains),
            mean_error([means[..., 2:4] for means in evidence_means]),
            *log_ratio_and_error(evidence_means),
            interactions,
            hyper[..., 2] if hyper.shape[-1] > 3 else None,
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
        interactions: Interactions | None = None,
        sigma0_nominal: Array | None = None,
    ) -> Draws:
        """Make draws from dense arrays whose first axes are chain and draw.

        ``coupling`` has the parameters of all edges, and ``present`` the edges.
        """
        n_chains, n_draws, n_edges = present.shape
        if interactions is not None:
            stored = np.repeat(present, np.diff(interactions.group_start), axis=-1)
        else:
            stored = present
        n_parameters = stored.shape[-1]
        parameters = sparse_where(
            stored.reshape(-1, n_parameters), coupling.reshape(-1, n_parameters)
        )
        nan = np.full(n_edges, np.nan)
        return cls(
            n_chains, n_draws, parameters, bias, p0, sigma0, potential, nan, nan.copy(),
            nan.copy(), nan.copy(), interactions, sigma0_nominal,
        )  # fmt: skip

    @property
    def n_edges(self) -> int:
        """Number of candidate edges."""
        return int(self.values.shape[1])

    def group(self, edge: int) -> Array:
        """Parameters of one edge, dense, (chains, draws, size of its group)."""
        part = self.parameters[:, self.interactions.group(edge)].toarray()
        return np.asarray(part).reshape(self.n_chains, self.n_draws, -1)

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
