"""Independent nodes: the field without edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from slabfield import encoding
from slabfield.baselines.complete_rows import code_complete
from slabfield.baselines.table_fields import field_of_tables, keep_field
from slabfield.estimators import FieldModel
from slabfield.models.field import BinaryField
from slabfield.models.level_field import LevelField


class Independent(FieldModel):
    r"""A field without edges: the frequencies of the levels of each column, one row added to each.

    .. math:: P(x) = \prod_i \frac{n_i(x_i) + 1}{N + K_i}

    What a network is worth is seen by comparison with it.

    Parameters
    ----------
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
    bias_ : array
        Log odds of every level but the first, of one node after the other.
    coupling_ : array of shape (D, D)
        Zeros.
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
    >>> from slabfield.baselines import Independent
    >>> Independent().fit([[0, 1], [1, 1], [0, 0]]).bias_.round(3)
    array([-0.405,  0.405])
    """

    takes_levels = True
    _field: BinaryField | LevelField

    def __init__(
        self, binarize: Any = None, na: str = "error", na_values: Any = None, levels: Any = None
    ) -> None:
        self.binarize = binarize
        self.na = na
        self.na_values = na_values
        self.levels = levels

    @property
    def field_(self) -> Any:
        """The fitted field."""
        return self._field

    def fit(self, X: Any, y: Any = None) -> Independent:
        """Count the levels of each column; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            A column for each node.
        y : ignored

        Returns
        -------
        Independent
            Itself, fitted.
        """
        table = code_complete(self, X)
        counts = [
            np.bincount(codes, minlength=variable.n_levels)
            for codes, variable in zip(table.rows.T, table.variables, strict=True)
        ]
        keep_field(self, field_of_tables([np.log(count + 1.0) for count in counts], {}))
        encoding.keep_names(self, table)
        return self
