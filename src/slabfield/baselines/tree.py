"""The maximum likelihood tree of Chow and Liu."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from slabfield import encoding, validation
from slabfield.baselines.complete_rows import code_complete
from slabfield.estimators import FieldModel

Array = NDArray[np.float64]


class ChowLiuTree(FieldModel):
    r"""The maximum likelihood field among trees (Chow & Liu 1968).

    The edges are a spanning tree of maximum total mutual information. The field has exactly the
    marginals of the (smoothed) data on every node and on every edge of the tree:

    .. math:: P(x) = \prod_i P_i(x_i) \prod_{(i,j)} \frac{P_{ij}(x_i, x_j)}{P_i(x_i) P_j(x_j)}

    so couplings are log odds ratios of the pair tables.

    Parameters
    ----------
    smoothing : float
        Number of pseudo-rows of fair, independent coins added to the data: a quarter of it goes to
        each cell of a pair's table, half of it to each value of a node. At 0 the fit is plain
        maximum likelihood, for which every cell of every edge of the tree must occur.
    binarize : number, "median" or dict, optional
        Turn numeric columns into 1 where the value is at least this; a dict names columns.
    na : {"error", "drop"}
        Refuse missing entries, or drop the rows that have any.
    na_values : value, list or dict, optional
        Values that stand for missing answers, such as 99; a dict names columns.
    levels : dict, optional
        All answers of the columns it names, in their order.

    Attributes
    ----------
    coupling_ : array of shape (D, D)
        D - 1 couplings are nonzero, unless the nodes of an edge are exactly independent; on the
        0/1 scale.
    bias_ : array of shape (D,)
    edges_ : array of shape (D - 1, 2)
        The tree.
    coding_notes_ : list of str
    variables_ : tuple of Variable
        For each column its name, its labels, and its cut point or None.
    node_names_ : list of str
        The column names of the table, or x0, x1, ...
    n_rows_, n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table had column names.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.datasets import make_block
    >>> tree = ChowLiuTree().fit(make_block(100, random_state=1).rows)
    >>> tree.edges_.shape
    (11, 2)
    """

    def __init__(
        self,
        smoothing: float = 1.0,
        binarize: Any = None,
        na: str = "error",
        na_values: Any = None,
        levels: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.binarize = binarize
        self.na = na
        self.na_values = na_values
        self.levels = levels

    def fit(self, X: Any, y: Any = None) -> ChowLiuTree:
        """Find the tree and its parameters; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            Two-valued columns.
        y : ignored

        Returns
        -------
        ChowLiuTree
            Itself, fitted.
        """
        validation.check_number("smoothing", self.smoothing, 0.0)
        table = code_complete(self, X)
        cells = pair_tables(table.rows, float(self.smoothing))
        self.edges_ = _spanning_tree(mutual_information(cells))
        _refuse_empty(cells, self.edges_, table.names)
        self.bias_, self.coupling_ = _field_of(cells, self.edges_)
        encoding.keep_names(self, table)
        return self


def pair_tables(rows: NDArray[np.uint8], smoothing: float) -> Array:
    """Smoothed joint probabilities of every pair of columns.

    Parameters
    ----------
    rows : array of shape (N, D)
        States, 0 or 1.
    smoothing : float
        Number of pseudo-rows of fair coins.

    Returns
    -------
    array of shape (2, 2, D, D)
        P(x_i = a, x_j = b) at [a, b, i, j]; where i = j, the marginal probabilities of the node.
    """
    x = rows.astype(np.float64)
    both, ones = x.T @ x, x.sum(axis=0)
    counts = np.empty((2, 2, *both.shape))
    counts[1, 1] = both
    counts[1, 0], counts[0, 1] = ones[:, None] - both, ones[None, :] - both
    counts[0, 0] = len(x) - ones[:, None] - ones[None, :] + both
    diagonal = np.arange(x.shape[1])
    counts += smoothing / 4
    for a in range(2):  # a node has only two cells
        counts[a, a, diagonal, diagonal] += smoothing / 4
        counts[a, 1 - a, diagonal, diagonal] = 0.0
    return counts / (len(x) + smoothing)


def mutual_information(cells: Array) -> Array:
    """Mutual information of every pair, in nats; 0 on the diagonal.

    Parameters
    ----------
    cells : array of shape (2, 2, D, D)
        As `pair_tables` returns them.

    Returns
    -------
    array of shape (D, D)
        The mutual information.
    """
    node = _node_marginals(cells)
    total = np.zeros(cells.shape[2:])
    for a in range(2):
        for b in range(2):
            independent = np.outer(node[a], node[b])
            present = cells[a, b] > 0
            ratio = np.divide(cells[a, b], independent, out=np.ones_like(total), where=present)
            total += cells[a, b] * np.log(ratio)
    np.fill_diagonal(total, 0.0)
    return total


def _node_marginals(cells: Array) -> Array:
    return np.stack([np.diag(cells[0, 0]), np.diag(cells[1, 1])])


def _spanning_tree(information: Array) -> NDArray[np.intp]:
    # scipy finds the minimum spanning tree and reads 0 as "no edge"
    cost = 1.0 + information.max() - np.triu(information, 1)
    tree = minimum_spanning_tree(np.triu(cost, 1)).tocoo()
    order = np.lexsort((tree.col, tree.row))
    return np.stack([tree.row[order], tree.col[order]], axis=1).astype(np.intp)


def _refuse_empty(cells: Array, edges: NDArray[np.intp], names: list[str]) -> None:
    for i, j in edges:
        if np.any(cells[:, :, i, j] <= 0):
            raise validation.InputError(
                "combination-never-occurs",
                "Without smoothing, every combination of values of two nodes joined by the tree "
                "must occur; of {first!r} and {second!r} one never does, which makes their "
                "coupling infinite. Pass {smoothing}.",
                first=names[i],
                second=names[j],
                smoothing=validation.Parameter("smoothing", 1),
            )


def _field_of(cells: Array, edges: NDArray[np.intp]) -> tuple[Array, Array]:
    """Biases and couplings of the tree with these marginals."""
    node = _node_marginals(cells)
    own = np.log(node[1] / node[0])
    bias, coupling = own.copy(), np.zeros(cells.shape[2:])
    for i, j in edges:
        log = np.log(cells[:, :, i, j])
        # log P_ij - log P_i - log P_j as biases and a coupling, from its values at x = 0 and 1
        bias[i] += log[1, 0] - log[0, 0] - own[i]
        bias[j] += log[0, 1] - log[0, 0] - own[j]
        coupling[i, j] = coupling[j, i] = log[1, 1] - log[1, 0] - log[0, 1] + log[0, 0]
    return bias, coupling
