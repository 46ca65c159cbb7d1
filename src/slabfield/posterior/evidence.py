"""Evidence for graphs: Bayes factors, edge sets, visited graphs, degrees."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.posterior.bayes_factors import from_indicators, least_attainable
from slabfield.posterior.evidence_classes import classify
from slabfield.posterior.summaries import LIKELY, Summaries
from slabfield.validation import InputError, check_number, check_positive_int

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

# Tolerance for rounding errors in sums of probabilities
ROUNDING = 1e-12


class VisitedGraph(NamedTuple):
    """A graph, and the share of draws with exactly its edges.

    Parameters
    ----------
    edges : array of bool, shape (D, D)
        Which edges are present, symmetric.
    share : float
        Share of all draws.
    """

    edges: Graph
    share: float


class Structure(Summaries):
    """Graphs and their probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> present = np.array([[[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]]], dtype=bool)
    >>> one = np.ones((1, 4))
    >>> draws = Draws.from_dense(1.0 * present, present, np.zeros((1, 4, 3)), one, one, one)
    >>> settings = {"inclusion_prior": {"a": 1.0, "b": 3.0, "edges": None}}
    >>> posterior = Posterior(draws, ["sleep", "work", "joy"], settings)
    >>> posterior.bayes_factor[0].round(2)
    array([ nan, 8.92, 1.13])
    >>> posterior.edge_evidence.tolist()
    ['moderate for', 'inconclusive', 'inconclusive']
    >>> posterior.median_graph()[0]
    array([False,  True, False])
    >>> posterior.edges_at_fdr(0.2)[0]
    array([False, False, False])
    >>> posterior.edges_at_fdr(0.25)[0]
    array([False,  True, False])
    >>> posterior.top_graphs(1)[0].share
    0.5
    >>> posterior.degree[0].tolist()
    [[1, 1, 0], [2, 1, 1], [1, 1, 0], [0, 0, 0]]
    """

    @property
    def inclusion_prior(self) -> dict[str, Any] | None:
        """Prior of the edges: ``a`` and ``b`` of p0, and fixed ``edges``; None if not recorded."""
        prior = self.settings.get("inclusion_prior")
        known = isinstance(prior, dict) and {"a", "b", "edges"} <= prior.keys()
        return prior if known else None

    @cached_property
    def prior_inclusion(self) -> Array:
        """Prior probability of every edge, (D, D), zero on the diagonal.

        Where p0 is learned, the prior probability is the mean a / (a + b) of Beta(a, b); elsewhere
        it is the probability that was given.
        """
        prior = self.inclusion_prior
        if prior is None:
            raise InputError(
                "prior-not-recorded",
                "The prior of the edges must be known (settings['inclusion_prior']); this "
                "posterior does not record it. Fit again with this version of slabfield.",
            )
        mean = prior["a"] / (prior["a"] + prior["b"])
        given = self._fixed_inclusion(prior)
        return self.interactions.as_matrix(np.where(np.isnan(given), mean, given))

    def _fixed_inclusion(self, prior: dict[str, Any]) -> Array:
        """Fixed prior probability of every edge; NaN where it is p0."""
        given = np.asarray(prior["edges"], dtype=np.float64)
        return np.broadcast_to(given, (self.draws.n_edges,))

    @cached_property
    def bayes_factor(self) -> Array:
        r"""Bayes factor for the presence of every edge, (D, D): ratio of marginal likelihoods.

        .. math:: B_{ij} = \frac{\sum_Y P(X \mid Y_{ij} = 1, Y) P(Y)}
            {\sum_Y P(X \mid Y_{ij} = 0, Y) P(Y)}

        where Y are the other edges, with their own prior in both sums. What the other edges say
        about the density of the graph, through p0, is thus not part of it; with a fixed prior
        probability it is the inclusion Bayes factor, posterior odds over prior odds. Above 1 the
        data support the edge, below 1 its absence. It is finite; NaN on the diagonal, and for
        edges that the prior forces or forbids.
        """
        _ = self.prior_inclusion  # raises an error if the prior is not recorded
        factor = self.interactions.as_matrix(self.edge_bayes_factor)
        np.fill_diagonal(factor, np.nan)
        return factor

    @cached_property
    def log_bayes_factor_mcse(self) -> Array:
        """Monte Carlo standard error of the log of :attr:`bayes_factor`, (D, D).

        Estimated from batches of draws, and from the differences between chains.
        """
        error = self.interactions.as_matrix(self._log_bayes_factor[1])
        np.fill_diagonal(error, np.nan)
        return error

    @cached_property
    def edge_bayes_factor(self) -> Array:
        """Bayes factor of every edge, in the order of the interactions.

        NaN for edges that the prior forces or forbids, and if the prior is not recorded.
        """
        return np.asarray(np.exp(self._log_bayes_factor[0]))

    @cached_property
    def edge_evidence(self) -> NDArray[np.str_]:
        """Class of the evidence for every edge, in the order of the interactions.

        "strong for" (Bayes factor above 10), "moderate for" (3 to 10), "inconclusive" (1/3 to 3),
        "moderate against" (1/10 to 1/3), "strong against" (below 1/10), or "not assessed" for
        edges that the prior forces or forbids.
        """
        return classify(self.edge_bayes_factor)

    @cached_property
    def _log_bayes_factor(self) -> tuple[Array, Array]:
        """Log Bayes factor of every edge and its Monte Carlo standard error.

        From conditional probabilities where the sampler recorded them, else from indicators.
        """
        prior, draws = self.inclusion_prior, self.draws
        if prior is None:
            nothing = np.full(draws.n_edges, np.nan)
            return nothing, nothing
        given = self._fixed_inclusion(prior)
        assessed = (given != 0) & (given != 1)
        factor, error = draws.log_bayes_factor, draws.log_bayes_factor_mcse
        recorded = np.isfinite(factor)
        if not np.all(recorded | ~assessed):
            counted = from_indicators(draws, given, prior["a"], prior["b"])
            factor = np.where(recorded, factor, counted[0])
            error = np.where(recorded, error, counted[1])
        return np.where(assessed, factor, np.nan), np.where(assessed, error, np.nan)

    @cached_property
    def edge_least_bayes_factor(self) -> Array:
        """About the smallest Bayes factor within reach of every edge, given the rows and the slab.

        An edge whose coupling is estimated as exactly zero would get it; however clearly an edge is
        absent, there is no stronger evidence against it. NaN where it cannot be computed: the edge
        is present in few draws, and the shares of the levels of its nodes are not recorded, or it
        has several parameters.
        """
        variance, n_rows = np.full(self.n_nodes, np.nan), self.settings.get("total_weight")
        shares = self.level_shares
        if shares is not None and n_rows is not None:
            variance = np.sqrt(n_rows) * np.array(
                [
                    _variance(np.array(variable.scores), share) if variable.is_scored else np.nan
                    for variable, share in zip(self.variables, shares, strict=True)
                ]
            )
        first, second = self.interactions.ends
        return least_attainable(self.draws, variance[first] * variance[second])

    def median_graph(self) -> Graph:
        """Return the edges of probability 0.5 or more, symmetric (D, D).

        This is the median probability model of Barbieri and Berger (2004); it minimizes the
        expected number of wrong edges.
        """
        return np.asarray(self.inclusion_probability >= LIKELY)

    def edges_at_fdr(self, rate: float) -> Graph:
        """Return the largest set of edges whose Bayesian false discovery rate is at most ``rate``.

        Parameters
        ----------
        rate : float
            Largest allowed mean of 1 - probability over the selected edges.

        Returns
        -------
        array of bool, shape (D, D)
            The most probable edges, symmetric; ties are broken by edge order.
        """
        rate = check_number("rate", rate, 0, 1)
        order = np.argsort(-self.edge_probability, kind="stable")
        fdr = np.cumsum(1 - self.edge_probability[order]) / np.arange(1, order.size + 1)
        chosen = np.zeros(order.size, np.bool_)
        chosen[order[: np.count_nonzero(fdr <= rate + ROUNDING)]] = True
        return self.interactions.as_matrix(chosen)

    def top_graphs(self, n: int = 10) -> list[VisitedGraph]:
        """Return the most frequent graphs, with their shares of draws.

        If even the largest share is small, no single graph represents the posterior; use the
        inclusion probabilities of single edges instead.

        Parameters
        ----------
        n : int
            Maximum number of graphs.

        Returns
        -------
        list of VisitedGraph
            Most frequent first; ties are broken by the first visit.
        """
        n = check_positive_int("n", n)
        edges, start = self.draws.values.indices, self.draws.values.indptr
        visits = Counter(
            np.sort(edges[begin:end]).astype(np.int64).tobytes()
            for begin, end in pairwise(start.tolist())
        )
        n_draws = self.draws.n_chains * self.draws.n_draws
        return [
            VisitedGraph(self._graph(np.frombuffer(key, np.int64)), count / n_draws)
            for key, count in visits.most_common(n)
        ]

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """Number of edges at every node, (chain, draw, node)."""
        return self._at_nodes(np.ones(self.draws.values.nnz)).astype(np.int64)

    @cached_property
    def strength(self) -> Array:
        """Sum of absolute couplings, or strengths, at every node, (chain, draw, node)."""
        return self._at_nodes(np.abs(self.draws.values.data))

    def _graph(self, edges: NDArray[np.int64]) -> Graph:
        present = np.zeros(self.draws.n_edges, np.bool_)
        present[edges] = True
        return self.interactions.as_matrix(present)

    def _at_nodes(self, weights: Array) -> Array:
        """Sum the weights of present edges at each of their nodes, draw by draw."""
        draws, size = self.draws, self.n_nodes
        n_rows = draws.n_chains * draws.n_draws
        begin = np.repeat(np.arange(n_rows) * size, np.diff(draws.values.indptr))
        total = np.zeros(n_rows * size)
        for ends in self.interactions.ends:
            at = begin + ends[draws.values.indices]
            total += np.bincount(at, weights, minlength=total.size)
        return total.reshape(draws.n_chains, draws.n_draws, size)


def _variance(scores: Array, share: Array) -> float:
    """Variance of a node's score in the data."""
    return float(share @ scores**2 - (share @ scores) ** 2)
