"""Which graphs the data speak for: evidence, sets of edges, whole graphs, degrees."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.checks import InputError, check_number, check_positive_int
from slabfield.posterior.summaries import Summaries

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

# As much as adding probabilities up may be off
ROUNDING = 1e-12


class VisitedGraph(NamedTuple):
    """A graph, and the share of draws that have just its edges.

    Parameters
    ----------
    edges : array of bool, shape (D, D)
        Which edges are there, symmetric.
    share : float
        The share of all draws.
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
    >>> told = {"inclusion_prior": {"a": 1.0, "b": 3.0, "edges": None}}
    >>> posterior = Posterior(draws, ["sleep", "work", "joy"], told)
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

        Where p0 is learnt it is integrated over its prior Beta(a, b), which leaves a / (a + b);
        elsewhere it is the probability that was given.
        """
        facts = self.settings.get("inclusion_prior")
        if not isinstance(facts, dict) or not {"a", "b", "edges"} <= facts.keys():
            raise InputError(
                "The prior of the edges must be known (settings['inclusion_prior']); this "
                "posterior does not have it. Fit again with this version of slabfield."
            )
        own = np.asarray(facts["edges"], dtype=np.float64)
        learnt = facts["a"] / (facts["a"] + facts["b"])
        every = np.broadcast_to(np.where(np.isnan(own), learnt, own), (self.draws.n_edges,))
        return self.matrix(every)

    @cached_property
    def bayes_factor(self) -> Array:
        r"""Evidence of the data for every edge, (D, D): posterior odds over prior odds.

        .. math:: B_{ij} = \frac{P(Y_{ij} = 1 \mid X)}{P(Y_{ij} = 0 \mid X)}
            \bigg/ \frac{P(Y_{ij} = 1)}{P(Y_{ij} = 0)}

        The prior odds are those of :attr:`prior_inclusion`. Above 1 the data speak for the edge,
        below 1 against it. 0 and infinity mean more evidence than the draws can tell. NaN on the
        diagonal, and where an edge is forced or forbidden, on which data have no say.
        """
        prior, posterior = self.prior_inclusion, self.inclusion_probability
        open_to_data = (prior > 0) & (prior < 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = posterior / (1 - posterior) / (prior / (1 - prior))
        return np.where(open_to_data, factor, np.nan)

    def median_graph(self) -> Graph:
        """Return the edges of probability 0.5 or more, symmetric (D, D).

        It is the median probability model of Barbieri and Berger (2004), and has the fewest wrong
        edges in expectation.
        """
        return np.asarray(self.inclusion_probability >= 0.5)

    def edges_at_fdr(self, rate: float) -> Graph:
        """Return the most edges of which no more than this share is expected to be wrong.

        Parameters
        ----------
        rate : float
            The most that the mean of 1 - probability over the chosen edges may be: their
            (Bayesian) false discovery rate.

        Returns
        -------
        array of bool, shape (D, D)
            The most probable edges, symmetric; of equally probable ones the first in order.
        """
        rate = check_number("rate", rate, 0, 1)
        order = np.argsort(-self.edge_probability, kind="stable")
        wrong = np.cumsum(1 - self.edge_probability[order]) / np.arange(1, order.size + 1)
        chosen = np.zeros(order.size, np.bool_)
        chosen[order[: np.count_nonzero(wrong <= rate + ROUNDING)]] = True
        return self._graph(np.flatnonzero(chosen))

    def top_graphs(self, n: int = 10) -> list[VisitedGraph]:
        """Return the graphs that most draws have, with the share of draws that have them.

        Where the share of even the first is small, no single graph stands for the posterior; look
        at the edges one by one instead.

        Parameters
        ----------
        n : int
            How many graphs at most.

        Returns
        -------
        list of VisitedGraph
            The most frequent first; of equally frequent ones the first met.
        """
        n = check_positive_int("n", n)
        edges, start = self.draws.values.indices, self.draws.values.indptr
        seen = Counter(
            np.sort(edges[begin:end]).astype(np.int64).tobytes()
            for begin, end in pairwise(start.tolist())
        )
        n_draws = self.draws.n_chains * self.draws.n_draws
        return [
            VisitedGraph(self._graph(np.frombuffer(found, np.int64)), count / n_draws)
            for found, count in seen.most_common(n)
        ]

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """Number of edges at every node, (chain, draw, node)."""
        return self._at_nodes(np.ones(self.draws.values.nnz)).astype(np.int64)

    @cached_property
    def strength(self) -> Array:
        """Sum of absolute couplings at every node, (chain, draw, node)."""
        return self._at_nodes(np.abs(self.draws.values.data))

    def _graph(self, edges: NDArray[np.intp] | NDArray[np.int64]) -> Graph:
        there = np.zeros(self.draws.n_edges)
        there[edges] = 1.0
        return np.asarray(self.matrix(there) == 1)

    def _at_nodes(self, weights: Array) -> Array:
        """Sum the weights of what is present at both its ends, draw by draw."""
        draws, size = self.draws, self.n_nodes
        n_rows = draws.n_chains * draws.n_draws
        begin = np.repeat(np.arange(n_rows) * size, np.diff(draws.values.indptr))
        total = np.zeros(n_rows * size)
        for ends in np.triu_indices(size, 1):
            at = begin + ends[draws.values.indices]
            total += np.bincount(at, weights, minlength=total.size)
        return total.reshape(draws.n_chains, draws.n_draws, size)
