"""Posteriors as networkx graphs, and posterior samples of network measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.posterior.exports import write_graph
from slabfield.posterior.level_summaries import Levels
from slabfield.posterior.node_names import level_names
from slabfield.validation import InputError, check_number, check_positive_int

Array = NDArray[np.float64]

# Smallest weight of a present edge: a coupling of exactly zero needs a finite distance
MIN_WEIGHT = 1e-12


class Networks(Levels):
    """Methods that return or use networkx graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> present = np.array([[[1, 0, 1], [1, 1, 1], [1, 0, 1], [0, 0, 0]]], dtype=bool)
    >>> one = np.ones((1, 4))
    >>> draws = Draws.from_dense(-2.0 * present, present, np.zeros((1, 4, 3)), one, one, one)
    >>> posterior = Posterior(draws, ["sleep", "work", "joy"], {})
    >>> posterior.to_networkx().edges["sleep", "work"]
    {'inclusion_probability': 0.75, 'coupling_given_presence': -2.0, 'coupling_averaged': -1.5, \
'odds_ratio': 0.1353352832366127, 'weight': 2.0}
    >>> posterior.measure(lambda graph: graph.number_of_edges())
    array([2, 3, 2, 0])
    >>> posterior.betweenness().mean(axis=0)
    array([0. , 0.5, 0. ])
    >>> posterior.shared_community()[0]
    array([1.  , 0.75, 0.75])
    """

    def to_networkx(self, threshold: float = 0.5) -> Any:
        """Return the graph of the edges whose inclusion probability reaches a threshold.

        Parameters
        ----------
        threshold : float
            Smallest inclusion probability of an edge of the graph.

        Returns
        -------
        networkx.Graph
            Nodes, by name, have ``expected_degree`` (sum of the inclusion probabilities of their
            edges), ``kind`` and ``levels`` (of the variable), and binary ones ``bias`` (posterior
            mean). Edges have ``inclusion_probability``, ``coupling_given_presence``,
            ``coupling_averaged`` and ``odds_ratio``, as in :meth:`Posterior.to_dataframe`, and
            ``weight``, the absolute coupling given presence. Edges without a sign have
            ``strength``, which is their weight, and neither couplings nor an odds ratio. An edge
            that was never present has coupling 0.
        """
        threshold = check_number("threshold", threshold, 0, 1)
        graph = self._empty_graph()
        expected_degree = self.inclusion_probability.sum(axis=1)
        for k, (name, variable) in enumerate(zip(self.feature_names, self.variables, strict=True)):
            attributes = graph.nodes[name]
            if variable.kind == "binary":
                attributes["bias"] = float(self.bias_mean[self.bias_start[k]])
            attributes["expected_degree"] = float(expected_degree[k])
            attributes |= {"kind": variable.kind, "levels": ", ".join(level_names(variable))}
        chosen, names = np.flatnonzero(self.edge_probability >= threshold), self.feature_names
        for i, j in self.interactions.cliques(chosen):
            graph.add_edge(names[i], names[j], **self._edge_attributes(i, j))
        return graph

    def _edge_attributes(self, i: int, j: int) -> dict[str, float]:
        """Attributes of an edge: its coupling, or its strength if it has no sign."""
        coupling = float(np.nan_to_num(self.coupling_given_presence[i, j]))
        found = {"inclusion_probability": float(self.inclusion_probability[i, j])}
        if self.has_sign[i, j]:
            found["coupling_given_presence"] = coupling
            found["coupling_averaged"] = float(self.coupling_averaged[i, j])
            found["odds_ratio"] = float(np.nan_to_num(self.odds_ratio[i, j], nan=1.0))
        else:
            found["strength"] = coupling
        return found | {"weight": abs(coupling)}

    def write_graphml(self, path: str | os.PathLike[str], threshold: float = 0.5) -> None:
        """Write :meth:`to_networkx` as GraphML, which igraph, Cytoscape and Gephi read.

        Nodes also have ``name``, which igraph takes as their name, and ``label``, which Gephi and
        Cytoscape show. Weights of edges are positive, as all three require.

        Parameters
        ----------
        path : str or path
            The file, in an existing folder.
        threshold : float
            Smallest inclusion probability of an edge of the graph.
        """
        write_graph(self.to_networkx(threshold), path, "graphml")

    def write_gexf(self, path: str | os.PathLike[str], threshold: float = 0.5) -> None:
        """Write :meth:`to_networkx` as GEXF, which Gephi reads.

        Parameters
        ----------
        path : str or path
            The file, in an existing folder.
        threshold : float
            Smallest inclusion probability of an edge of the graph.
        """
        write_graph(self.to_networkx(threshold), path, "gexf")

    def measure(self, function: Callable[[Any], Any], n_draws: int = 100) -> NDArray[Any]:
        """Apply a function to the graphs of evenly spaced draws.

        Parameters
        ----------
        function : callable
            Takes a networkx graph, whose edges have ``coupling`` (unless they have no sign),
            ``weight`` (its absolute value, or the strength) and ``distance`` (one over the weight),
            and returns a number, an array, or a dict of numbers by node, as the measures of
            networkx do.
        n_draws : int
            Number of draws, from all chains together; at most the number available.

        Returns
        -------
        array
            One entry, or row of nodes, per draw: a posterior sample of the measure.
        """
        n_draws = check_positive_int("n_draws", n_draws)
        values = (function(graph) for graph in self._graphs(n_draws))
        names = self.feature_names
        rows = [
            [value[name] for name in names] if isinstance(value, dict) else value
            for value in values
        ]
        return np.asarray(rows)

    def betweenness(self, n_draws: int = 100, weighted: bool = True) -> Array:
        """Betweenness centrality of every node: the share of shortest paths that pass through it.

        Parameters
        ----------
        n_draws : int
            Number of evenly spaced draws.
        weighted : bool
            Whether the length of an edge is one over its absolute coupling; otherwise it is 1.

        Returns
        -------
        array of shape (n_draws, D)
            A posterior sample.
        """
        import networkx as nx

        weight = "distance" if weighted else None
        return self.measure(lambda graph: nx.betweenness_centrality(graph, weight=weight), n_draws)

    def communities(self, n_draws: int = 100) -> NDArray[np.int64]:
        """Communities of the graph of each draw, by the Louvain method on absolute couplings.

        Parameters
        ----------
        n_draws : int
            Number of evenly spaced draws.

        Returns
        -------
        array of int, shape (n_draws, D)
            Community labels by draw and node, numbered from 0 in node order. Labels of different
            draws cannot be compared; see :meth:`shared_community`.
        """
        return self.measure(_community_labels, n_draws).astype(np.int64)

    def shared_community(self, n_draws: int = 100) -> Array:
        """Probability that two nodes are in the same community, (D, D).

        Parameters
        ----------
        n_draws : int
            Number of evenly spaced draws.

        Returns
        -------
        array of shape (D, D)
            Symmetric, 1 on the diagonal.
        """
        shared = np.zeros((self.n_nodes, self.n_nodes))
        labels = self.communities(n_draws)
        for row in labels:
            shared += row[:, None] == row
        return shared / len(labels)

    def _empty_graph(self) -> Any:
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.feature_names)
        if len(graph) < self.n_nodes:
            raise InputError(
                "nodes-share-names",
                "The nodes of a graph must have distinct names; there are {n_nodes} nodes and "
                "{n_names} names. Rename the duplicates.",
                n_nodes=self.n_nodes,
                n_names=len(graph),
            )
        return graph

    def _graphs(self, n_draws: int) -> Iterator[Any]:
        """Graphs of evenly spaced draws."""
        values, names = self.draws.values, self.feature_names
        for row in self.draws.evenly_spaced(n_draws):
            graph = self._empty_graph()
            part = slice(values.indptr[row], values.indptr[row + 1])
            edges, signed = values.indices[part], self.edge_is_signed[values.indices[part]]
            ends = self.interactions.cliques(edges)
            for (i, j), coupling, has_sign in zip(ends, values.data[part], signed, strict=True):
                weight = max(abs(float(coupling)), MIN_WEIGHT)
                sign = {"coupling": float(coupling)} if has_sign else {}
                graph.add_edge(names[i], names[j], **sign, weight=weight, distance=1 / weight)
            yield graph


def _community_labels(graph: Any) -> dict[str, int]:
    import networkx as nx

    position = {name: k for k, name in enumerate(graph)}
    found = nx.community.louvain_communities(graph, weight="weight", seed=0)
    found.sort(key=lambda members: min(position[name] for name in members))
    return {name: label for label, members in enumerate(found) for name in members}
