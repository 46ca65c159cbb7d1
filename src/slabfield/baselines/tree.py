"""The maximum likelihood tree of Chow and Liu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from slabfield import encoding, validation
from slabfield.baselines.complete_rows import code_complete
from slabfield.baselines.table_fields import field_of_tables, keep_field
from slabfield.estimators import FieldModel
from slabfield.models.field import BinaryField
from slabfield.models.level_field import LevelField

Array = NDArray[np.float64]


class ChowLiuTree(FieldModel):
    r"""The maximum likelihood field among trees (Chow & Liu 1968).

    The edges are a spanning tree of maximum total mutual information. The field has exactly the
    marginals of the (smoothed) data on every node and on every edge of the tree:

    .. math:: P(x) = \prod_i P_i(x_i) \prod_{(i,j)} \frac{P_{ij}(x_i, x_j)}{P_i(x_i) P_j(x_j)}

    so couplings are log odds ratios of the pair tables. Columns may have more than two levels; all
    are then nominal nodes, whatever the order of their levels.

    Parameters
    ----------
    smoothing : float
        Number of pseudo-rows of independent nodes with equally likely levels added to the data:
        of two binary columns, a quarter of it goes to each cell of their table, half of it to each
        value of a node. At 0 the fit is plain maximum likelihood, for which every cell of every
        edge of the tree must occur.
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
    field_ : BinaryField or LevelField
        The field; a LevelField where a column has more than two levels.
    coupling_ : array of shape (D, D)
        D - 1 couplings are nonzero, unless the nodes of an edge are exactly independent; on the
        0/1 scale. With more than two levels, the norm of the parameters of each edge.
    bias_ : array
        The biases of the field, one for each binary node.
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

    takes_levels = True
    _field: BinaryField | LevelField

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

    @property
    def field_(self) -> Any:
        """The fitted field."""
        return self._field

    def fit(self, X: Any, y: Any = None) -> ChowLiuTree:
        """Find the tree and its parameters; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            A column for each node.
        y : ignored

        Returns
        -------
        ChowLiuTree
            Itself, fitted.
        """
        validation.check_number("smoothing", self.smoothing, 0.0)
        table = code_complete(self, X)
        n_levels = [variable.n_levels for variable in table.variables]
        cells = pair_tables(table.rows, n_levels, float(self.smoothing))
        self.edges_ = _spanning_tree(mutual_information(cells))
        keep_field(self, _field_of(cells, self.edges_, table.variables))
        encoding.keep_names(self, table)
        return self


def pair_tables(rows: NDArray[np.uint8], n_levels: Sequence[int], smoothing: float) -> Array:
    """Smoothed joint probabilities of every pair of columns.

    Parameters
    ----------
    rows : array of shape (N, D)
        Codes of levels.
    n_levels : sequence of int
        Number of levels of each column.
    smoothing : float
        Number of pseudo-rows of equally likely levels.

    Returns
    -------
    array of shape (K, K, D, D)
        P(x_i = a, x_j = b) at [a, b, i, j]; where i = j, the marginal probabilities of the node.
        K is the largest number of levels; levels that a node does not have are 0.
    """
    n_rows, d = rows.shape
    codes = np.arange(max(n_levels))
    x = (rows[:, :, None] == codes).astype(np.float64).reshape(n_rows, -1)
    counts = (x.T @ x).reshape(d, codes.size, d, codes.size).transpose(1, 3, 0, 2)
    exists = (codes[:, None] < np.asarray(n_levels)).astype(np.float64)
    uniform = exists / np.sum(exists, axis=0)
    added = uniform[:, None, :, None] * uniform[None, :, None, :]
    diagonal = np.arange(d)
    added[:, :, diagonal, diagonal] = np.eye(codes.size)[:, :, None] * uniform
    return np.asarray((counts + smoothing * added) / (n_rows + smoothing))


def mutual_information(cells: Array) -> Array:
    """Mutual information of every pair, in nats; 0 on the diagonal.

    Parameters
    ----------
    cells : array of shape (K, K, D, D)
        As `pair_tables` returns them.

    Returns
    -------
    array of shape (D, D)
        The mutual information.
    """
    node = _node_marginals(cells)
    total = np.zeros(cells.shape[2:])
    for a, b in np.ndindex(*cells.shape[:2]):
        independent = np.outer(node[a], node[b])
        present = cells[a, b] > 0
        ratio = np.divide(cells[a, b], independent, out=np.ones_like(total), where=present)
        total += cells[a, b] * np.log(ratio)
    np.fill_diagonal(total, 0.0)
    return total


def _node_marginals(cells: Array) -> Array:
    """Probabilities of the levels of every node, (K, D)."""
    return np.stack([np.diag(table[a]) for a, table in enumerate(cells)])


def _spanning_tree(information: Array) -> NDArray[np.intp]:
    # scipy finds the minimum spanning tree and reads 0 as "no edge"
    cost = 1.0 + information.max() - np.triu(information, 1)
    tree = minimum_spanning_tree(np.triu(cost, 1)).tocoo()
    order = np.lexsort((tree.col, tree.row))
    return np.stack([tree.row[order], tree.col[order]], axis=1).astype(np.intp)


def _field_of(
    cells: Array, edges: NDArray[np.intp], variables: Sequence[encoding.Variable]
) -> BinaryField | LevelField:
    """Return the tree with these marginals."""
    n_levels, node = [variable.n_levels for variable in variables], _node_marginals(cells)
    degree = np.bincount(edges.ravel(), minlength=len(n_levels))
    tables = {(i, j): cells[: n_levels[i], : n_levels[j], i, j] for i, j in edges.tolist()}
    for (i, j), table in tables.items():
        if np.any(table <= 0):
            _refuse_empty(variables[i].name, variables[j].name)
    # log P = sum of log P_ij over edges, less all but one of the log P_i that these contain
    energies = [(1 - degree[i]) * np.log(node[:n, i]) for i, n in enumerate(n_levels)]
    return field_of_tables(energies, {pair: np.log(table) for pair, table in tables.items()})


def _refuse_empty(first: str, second: str) -> None:
    raise validation.InputError(
        "combination-never-occurs",
        "Without smoothing, every combination of values of two nodes joined by the tree must "
        "occur; of {first!r} and {second!r} one never does, which makes their coupling infinite. "
        "Pass {smoothing}.",
        first=first,
        second=second,
        smoothing=validation.Parameter("smoothing", 1),
    )
