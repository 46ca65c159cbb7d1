"""The face that the sampler and the baselines share: score, sample, predict, show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from slabfield import checks
from slabfield.evaluate import (
    conditional_log_likelihood,
    draw_rows,
    node_probabilities,
    pseudo_log_likelihood,
)
from slabfield.face import summary
from slabfield.models.field import BinaryField

Array = NDArray[np.float64]


class FieldModel(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A learner of binary fields: a subclass has ``fit`` and sets what a fit leaves.

    A fit leaves ``coupling_``, ``bias_`` and what :func:`slabfield.checks.keep_names` writes. Rows
    handed in later are coded as the fitted table was: by its labels, and by the numbers it was cut
    at.

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
    coding_: list[tuple[tuple[object, object], float | None]]
    node_names_: list[str]
    n_features_in_: int
    n_rows_: int

    def score(self, X: Any, y: Any = None) -> float:
        r"""Mean pseudo-log-likelihood of a row: the higher, the better the rows are foretold.

        .. math:: \frac1N \sum_r \sum_i \log P(x_{ri} \mid x_{r,-i})

        Of a posterior, conditional probabilities are averaged over draws before the logarithm is
        taken. On rows that were not fitted it compares models of any kind, and is what
        `GridSearchCV` maximises.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.
        y : ignored

        Returns
        -------
        float
            In nats a row; 0 is perfect.
        """
        rows = self._known_rows(X)
        return pseudo_log_likelihood(self._fields(), rows)

    def sample(self, n: int = 1, random_state: Any = None, *, as_frame: bool = False) -> Any:
        """Draw new rows: of a posterior, from its predictive distribution.

        Every row comes from the field of one posterior draw (of at most 500, chosen at random);
        a baseline has one field. Rows are exact draws where the field has at most 12 nodes or a
        small tree-width; elsewhere each is the last state of a Gibbs run of 1,000 sweeps.

        Parameters
        ----------
        n : int
            How many rows.
        random_state : int, RandomState, Generator or None
            Source of randomness.
        as_frame : bool
            Return a pandas data frame with the names of the nodes.

        Returns
        -------
        array of uint8, shape (n, D), or DataFrame
            0 and 1, as ``coding_notes_`` says.
        """
        check_is_fitted(self)
        n = checks.check_positive_int("n", n)
        rows = draw_rows(self._mixture(), n, random_state)
        return self._framed(rows, range(self.n_features_in_), None) if as_frame else rows

    def predict_proba(
        self,
        X: Any,
        nodes: Any = None,
        mask: ArrayLike | None = None,
        *,
        as_frame: bool = False,
    ) -> Any:
        """Probability that nodes are 1, given what is known of the rest of their row.

        Entries that are missing (NaN or None), or True in the mask, are not known, nor are named
        nodes; they are summed out where they stand beside what is predicted. So with neither,
        every node is predicted from all others. Of a posterior, probabilities are averaged over
        draws.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table. Entries may be missing.
        nodes : name, number or list of these, optional
            The nodes to predict, all at once: their entries in X are not looked at. None predicts
            every node.
        mask : array of bool, shape (N, D), optional
            True for entries that are to be taken for unknown.
        as_frame : bool
            Return a pandas data frame with the names of the nodes and the index of X.

        Returns
        -------
        array of shape (N, D), or (N, number of named nodes), or DataFrame
            Probabilities of 1, as ``coding_notes_`` says.
        """
        check_is_fitted(self)
        asked = None if nodes is None else self._places("nodes", nodes)
        rows, unknown = self._coded(X, ignored=asked or (), allow_missing=True)
        if mask is not None:
            unknown |= _check_mask(mask, unknown.shape)
        # the seed matters only where many unknown nodes hang together; the same rows, the same
        found = node_probabilities(self._fields(), rows, unknown, asked, random_state=0)
        if not as_frame:
            return found
        return self._framed(found, asked or range(self.n_features_in_), getattr(X, "index", None))

    def conditional_log_likelihood(self, X: Any, group: Any = None) -> Array:
        """Log probability of a group of nodes of each row, given the rest of the row.

        Of a posterior, probabilities are averaged over draws before the logarithm is taken.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.
        group : name, number, list of these, or int array of shape (N, g), optional
            Nodes of every row's group, or of each row's own; at most 16. None takes all nodes,
            which makes it the log-likelihood.

        Returns
        -------
        array of shape (N,)
            Log probabilities, in nats.
        """
        rows = self._known_rows(X)
        if group is None or np.ndim(group) == 2:
            return conditional_log_likelihood(self._fields(), rows, group)
        return conditional_log_likelihood(self._fields(), rows, self._places("group", group))

    # --- what a subclass may say otherwise ---

    def _mixture(self) -> Any:
        """Return what rows are drawn from."""
        return self._fields()

    def _fields(self) -> list[BinaryField]:
        """Return the fields whose probabilities are averaged."""
        return [BinaryField(self.bias_, self.coupling_)]

    def _facts(self) -> list[tuple[str, str]]:
        """Return what there is to say after a fit, as names and values."""
        n_edges = int(np.count_nonzero(np.triu(self.coupling_, 1)))
        n_pairs = self.n_features_in_ * (self.n_features_in_ - 1) // 2
        return [("edges", f"{n_edges} of {n_pairs}")]

    def _told(self) -> list[str]:
        """Return what to know before trusting the fit."""
        return []

    # --- names, codes, pictures ---

    def _places(self, what: str, nodes: Any) -> list[int]:
        several = isinstance(nodes, (Sequence, np.ndarray)) and not isinstance(nodes, str)
        asked = nodes if several else [nodes]
        places = [checks.find_node(what, node, self.node_names_) for node in asked]
        if not places or len(set(places)) < len(places):
            raise checks.InputError(
                f"{what} must name at least one node, and each once; got {nodes!r}. Pass for "
                f"example {what}=[{self.node_names_[0]!r}]."
            )
        return places

    def _coded(self, X: Any, **options: Any) -> checks.RecodedTable:
        check_is_fitted(self)
        named = getattr(self, "feature_names_in_", None)
        names = None if named is None else list(named)
        return checks.code_alike(X, self.coding_, names=names, model=type(self).__name__, **options)

    def _known_rows(self, X: Any) -> NDArray[np.uint8]:
        return self._coded(X).rows

    def _framed(self, values: Any, places: Any, index: Any) -> Any:
        import pandas as pd

        index = index if isinstance(index, pd.Index) else None
        return pd.DataFrame(values, columns=[self.node_names_[k] for k in places], index=index)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not summary.is_fitted(self):
            return str(super().__repr__(N_CHAR_MAX=N_CHAR_MAX))
        return summary.as_text(self)

    def _repr_html_inner(self) -> str:
        plain = str(super()._repr_html_inner())
        return summary.as_html(self, plain) if summary.is_fitted(self) else plain

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def _check_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    hidden = np.asarray(mask)
    if hidden.shape != shape or hidden.dtype != np.bool_:
        raise checks.InputError(
            f"mask must hold True and False, one for each entry of X, {shape}; got an array of "
            f"shape {hidden.shape} and type {hidden.dtype}. Pass for example mask=(X == -1)."
        )
    return hidden
