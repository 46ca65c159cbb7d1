"""Base classes of all estimators: score, sample, predict, and the representation of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from slabfield import encoding
from slabfield.estimators import representation
from slabfield.evaluate import PredictiveModel
from slabfield.models.field import BinaryField

Array = NDArray[np.float64]


class TableModel(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator of a table; a subclass has ``fit``, which sets the fitted attributes.

    These are ``coupling_``, not 0 where two nodes have an edge, and those that
    :func:`slabfield.encoding.keep_names` sets. Rows passed later are encoded like the fitted
    table, with its variables.

    Examples
    --------
    >>> from slabfield.baselines import L1Multinomial
    >>> L1Multinomial(strength=1.0).fit([[0, 1], [1, 1], [0, 0]])
    <L1Multinomial, fitted: nodes 2, rows 3, edges 0 of 1>
    """

    takes_levels = False
    """Whether columns may have more than two levels."""
    has_field = False
    """Whether there is a joint distribution, not only conditionals of single nodes."""

    variables_: tuple[encoding.Variable, ...]
    node_names_: list[str]
    n_features_in_: int
    n_rows_: int

    def _encoder(self) -> encoding.Encoder:
        check_is_fitted(self)
        return encoding.Encoder(self.variables_, hasattr(self, "feature_names_in_"))

    # --- representation; a subclass may override these two ---

    def _summary_items(self) -> list[tuple[str, str]]:
        """Return names and values for the representation of the fitted estimator."""
        n_edges = int(np.count_nonzero(np.triu(vars(self)["coupling_"], 1)))
        n_pairs = self.n_features_in_ * (self.n_features_in_ - 1) // 2
        return [("edges", f"{n_edges} of {n_pairs}")]

    def _notes(self) -> list[str]:
        """Return notes and warnings for the representation of the fitted estimator."""
        return []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not representation.is_fitted(self):
            return str(super().__repr__(N_CHAR_MAX=N_CHAR_MAX))
        return representation.as_text(self)

    def _repr_html_inner(self) -> str:
        plain = str(super()._repr_html_inner())
        return representation.as_html(self, plain) if representation.is_fitted(self) else plain

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


class FieldModel(PredictiveModel, TableModel):
    """An estimator of a field; its ``fit`` sets ``bias_`` besides what a `TableModel` has.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.datasets import make_block
    >>> rows = make_block(200, random_state=1).rows
    >>> tree = ChowLiuTree().fit(rows[:100])
    >>> tree.score(rows[100:]) < 0
    True
    >>> tree.sample(3, random_state=0).shape
    (3, 12)
    >>> tree.predict_proba(rows[100:], nodes=["x0"]).shape
    (100, 1)
    >>> tree.conditional_log_likelihood(rows[100:], group=["x0", "x1"]).shape
    (100,)
    """

    has_field = True
    bias_: Array
    coupling_: Array

    @property
    def field_(self) -> Any:
        """The fitted field."""
        return BinaryField(self.bias_, self.coupling_)

    def _encoder(self) -> encoding.Encoder:
        return TableModel._encoder(self)

    def _fields(self) -> Sequence[BinaryField]:
        return [self.field_]
