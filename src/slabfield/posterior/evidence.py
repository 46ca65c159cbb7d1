"""Evidence for graphs: Bayes factors, edge sets, visited graphs, degrees."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.posterior.edge_support import LIKELY
from slabfield.posterior.summaries import Summaries
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
    >>> posterior.bayes_factor[0]
    array([nan,  9.,  1.])
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

    @cached_property
    def prior_inclusion(self) -> Array:
        """Prior probability of every edge, (D, D), zero on the diagonal.

        Where p0 is learned, the prior probability is the mean a / (a + b) of Beta(a, b); elsewhere
        it is the probability that was given.
        """
        prior = self.settings.get("inclusion_prior")
        if not isinstance(prior, dict) or not {"a", "b", "edges"} <= prior.keys():
            raise InputError(
                "prior-not-recorded",
                "The prior of the edges must be known (settings['inclusion_prior']); this "
                "posterior does not record it. Fit again with this version of slabfield.",
            )
        given = np.asarray(prior["edges"], dtype=np.float64)
        mean = prior["a"] / (prior["a"] + prior["b"])
        probability = np.broadcast_to(np.where(np.isnan(given), mean, given), (self.draws.n_edges,))
        return self.interactions.as_matrix(probability)

    @cached_property
    def bayes_factor(self) -> Array:
        r"""Bayes factor for the presence of every edge, (D, D): posterior odds over prior odds.

        .. math:: B_{ij} = \frac{P(Y_{ij} = 1 \mid X)}{P(Y_{ij} = 0 \mid X)}
            \bigg/ \frac{P(Y_{ij} = 1)}{P(Y_{ij} = 0)}

        The prior odds are those of :attr:`prior_inclusion`. Above 1 the data support the edge,
        below 1 its absence. 0 and infinity mean more evidence than the draws can quantify. NaN on
        the diagonal, and for edges that the prior forces or forbids.
        """
        prior, posterior = self.prior_inclusion, self.inclusion_probability
        uncertain = (prior > 0) & (prior < 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = posterior / (1 - posterior) / (prior / (1 - prior))
        return np.where(uncertain, factor, np.nan)

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
        """Sum of absolute couplings at every node, (chain, draw, node)."""
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
