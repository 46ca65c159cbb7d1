"""Base class of all estimators: score, sample, predict, and the representation of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from slabfield import encoding, validation
from slabfield.estimators import representation
from slabfield.evaluate import (
    conditional_log_likelihood,
    node_probabilities,
    pseudo_log_likelihood,
    sample_rows,
)
from slabfield.models.field import BinaryField

Array = NDArray[np.float64]


class FieldModel(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator of a binary field; a subclass has ``fit``, which sets the fitted attributes.

    These are ``coupling_``, ``bias_`` and those that :func:`slabfield.encoding.keep_names` sets.
    Rows passed later are encoded like the fitted table, with its variables.

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

    coupling_: Array
    bias_: Array
    variables_: tuple[encoding.Variable, ...]
    node_names_: list[str]
    n_features_in_: int
    n_rows_: int

    def score(self, X: Any, y: Any = None) -> float:
        r"""Mean pseudo-log-likelihood of a row; higher is better.

        .. math:: \frac1N \sum_r \sum_i \log P(x_{ri} \mid x_{r,-i})

        With a posterior, conditional probabilities are averaged over draws before the logarithm is
        taken. On held-out rows the score compares models of any kind, and `GridSearchCV` maximizes
        it.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.
        y : ignored

        Returns
        -------
        float
            In nats per row; 0 is perfect.
        """
        rows = self._encode_complete(X)
        return pseudo_log_likelihood(self._fields(), rows)

    def sample(self, n: int = 1, random_state: Any = None, *, as_frame: bool = False) -> Any:
        """Sample new rows; with a posterior, from its predictive distribution.

        Every row comes from the field of one posterior draw (of at most 500, chosen at random);
        a baseline has one field. Rows are exact samples where the field has at most 12 nodes or a
        small treewidth; elsewhere each is the last state of a Gibbs run of 1,000 sweeps.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, RandomState, Generator or None
            Source of randomness.
        as_frame : bool
            Return a pandas data frame with the names of the nodes.

        Returns
        -------
        array of uint8, shape (n, D), or DataFrame
            0 and 1, coded as ``coding_notes_`` says.
        """
        check_is_fitted(self)
        n = validation.check_positive_int("n", n)
        rows = sample_rows(self._mixture(), n, random_state)
        return self._as_frame(rows, range(self.n_features_in_), None) if as_frame else rows

    def predict_proba(
        self,
        X: Any,
        nodes: Any = None,
        mask: ArrayLike | None = None,
        *,
        as_frame: bool = False,
    ) -> Any:
        """Probability that nodes are 1, given the known entries of the rest of their row.

        Entries are unknown if they are missing (NaN or None), True in the mask, or of one of
        ``nodes``; the prediction of a node sums out the other unknown entries. With no unknown
        entries, every node is predicted from all others. With a posterior, probabilities are
        averaged over draws.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table. Entries may be missing.
        nodes : name, number or list of these, optional
            The nodes to predict jointly; their entries in X are ignored. None predicts every node.
        mask : array of bool, shape (N, D), optional
            True for entries to be treated as unknown.
        as_frame : bool
            Return a pandas data frame with the names of the nodes and the index of X.

        Returns
        -------
        array of shape (N, D), or (N, number of named nodes), or DataFrame
            Probabilities of 1, coded as ``coding_notes_`` says.
        """
        check_is_fitted(self)
        indices = None if nodes is None else self._node_indices("nodes", nodes)
        rows, unknown = self._encode(X, ignored=indices or (), allow_missing=True)
        if mask is not None:
            unknown |= _check_mask(mask, unknown.shape)
        # The seed is fixed so that the same rows give the same predictions; it matters only where
        # many unknown nodes are connected, which are then sampled.
        found = node_probabilities(self._fields(), rows, unknown, indices, random_state=0)
        if not as_frame:
            return found
        return self._as_frame(
            found, indices or range(self.n_features_in_), getattr(X, "index", None)
        )

    def conditional_log_likelihood(self, X: Any, group: Any = None) -> Array:
        """Log probability of a group of nodes of each row, given the rest of the row.

        With a posterior, probabilities are averaged over draws before the logarithm is taken.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.
        group : name, number, list of these, or int array of shape (N, g), optional
            The nodes of the group, the same for all rows or one set per row; at most 16. None
            takes all nodes, which gives the log-likelihood.

        Returns
        -------
        array of shape (N,)
            Log probabilities, in nats.
        """
        rows = self._encode_complete(X)
        if group is None or np.ndim(group) == 2:
            return conditional_log_likelihood(self._fields(), rows, group)
        return conditional_log_likelihood(self._fields(), rows, self._node_indices("group", group))

    # --- methods that a subclass may override ---

    def _mixture(self) -> Any:
        """Return the field, fields or posterior from which new rows are sampled."""
        return self._fields()

    def _fields(self) -> list[BinaryField]:
        """Return the fields whose probabilities are averaged."""
        return [BinaryField(self.bias_, self.coupling_)]

    def _summary_items(self) -> list[tuple[str, str]]:
        """Return names and values for the representation of the fitted estimator."""
        n_edges = int(np.count_nonzero(np.triu(self.coupling_, 1)))
        n_pairs = self.n_features_in_ * (self.n_features_in_ - 1) // 2
        return [("edges", f"{n_edges} of {n_pairs}")]

    def _notes(self) -> list[str]:
        """Return notes and warnings for the representation of the fitted estimator."""
        return []

    # --- node names, encoding, representation ---

    def _node_indices(self, what: str, nodes: Any) -> list[int]:
        several = isinstance(nodes, (Sequence, np.ndarray)) and not isinstance(nodes, str)
        asked = nodes if several else [nodes]
        indices = [validation.find_node(what, node, self.node_names_) for node in asked]
        if not indices or len(set(indices)) < len(indices):
            raise validation.InputError(
                "nodes-not-distinct",
                "{parameter} must name at least one node, and each once; got {value}. Pass for "
                "example {example}.",
                parameter=validation.Parameter(what),
                value=repr(nodes),
                example=validation.Parameter(what, [self.node_names_[0]]),
            )
        return indices

    def _encode(self, X: Any, **options: Any) -> encoding.EncodedRows:
        check_is_fitted(self)
        encoder = encoding.Encoder(self.variables_, hasattr(self, "feature_names_in_"))
        return encoder.transform(X, model=type(self).__name__, **options)

    def _encode_complete(self, X: Any) -> NDArray[np.uint8]:
        """Encode rows without missing entries."""
        return self._encode(X).rows

    def _as_frame(self, values: Any, nodes: Any, index: Any) -> Any:
        import pandas as pd

        index = index if isinstance(index, pd.Index) else None
        return pd.DataFrame(values, columns=[self.node_names_[i] for i in nodes], index=index)

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


def _check_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    hidden = np.asarray(mask)
    if hidden.shape != shape or hidden.dtype != np.bool_:
        raise validation.InputError(
            "invalid-mask",
            "{parameter} must hold True and False and have the shape of {X}, {shape}; got an array "
            "of shape {found} and type {kind}. Pass for example mask=(X == -1).",
            parameter=validation.Parameter("mask"),
            X=validation.Parameter("X"),
            shape=shape,
            found=hidden.shape,
            kind=str(hidden.dtype),
        )
    return hidden
