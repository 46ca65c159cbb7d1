"""What every learned model does with rows: score, predict, sample. One implementation for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield import encoding, validation
from slabfield.evaluate.conditional_likelihood import (
    conditional_log_likelihood,
    pseudo_log_likelihood,
)
from slabfield.evaluate.prediction import node_probabilities
from slabfield.evaluate.sampling import sample_rows
from slabfield.models.protocol import Field

Array = NDArray[np.float64]


class PredictiveModel:
    """A field or a mixture of fields, with the encoder of the table that it was learned from.

    Fitted estimators and posteriors inherit from this class. Rows that they are given are encoded
    like the fitted table. Arrays that they return hold codes, 0 for the first label of a variable,
    1 for the second, and so on; data frames hold labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from slabfield.baselines import ChowLiuTree
    >>> table = pd.DataFrame({"sleep": ["no", "yes"] * 20, "work": [5, 7] * 20})
    >>> tree = ChowLiuTree().fit(table)
    >>> tree.score_samples(table[:2]).shape
    (2,)
    >>> new = pd.DataFrame({"sleep": [None, "no"], "work": [7, 5]})
    >>> tree.predict(new, nodes="sleep", as_frame=True)
      sleep
    0   yes
    1    no
    >>> tree.predict(new, nodes="sleep")
    array([[1],
           [0]], dtype=uint8)
    """

    # --- what a subclass defines ---

    def _encoder(self) -> encoding.Encoder:
        """Return the encoder of the fitted table."""
        raise NotImplementedError

    def _fields(self) -> Sequence[Field]:
        """Return the fields whose probabilities are averaged."""
        raise NotImplementedError

    def _sampled_fields(self) -> Sequence[Field]:
        """Return the fields from which new rows are sampled."""
        return self._fields()

    # --- methods for users ---

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
        return float(self.score_samples(X).mean())

    def score_samples(self, X: Any) -> Array:
        """Pseudo-log-likelihood of each row, of which ``score`` is the mean.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.

        Returns
        -------
        array of shape (N,)
            In nats.
        """
        rows = self._encode(X).rows
        return pseudo_log_likelihood(self._fields(), rows)

    def sample(self, n: int = 1, random_state: Any = None, *, as_frame: bool = False) -> Any:
        """Sample new rows; with a posterior, from its predictive distribution.

        Every row comes from the field of one posterior draw (of at most 500, chosen at random);
        a baseline has one field. Rows are exact samples where the field has at most 4,096 joint
        states (12 binary nodes) or a small treewidth; elsewhere each is the last state of a Gibbs
        run of 1,000 sweeps.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, RandomState, Generator or None
            Source of randomness.
        as_frame : bool
            Return a pandas data frame of labels, with the names of the nodes.

        Returns
        -------
        array of uint8, shape (n, D), or DataFrame
            Codes 0, 1, ... in an array, labels in a data frame.
        """
        variables = self._encoder().variables
        n = validation.check_positive_int("n", n)
        rows = sample_rows(self._sampled_fields(), n, random_state)
        return _labeled(rows, variables) if as_frame else rows

    def predict_proba(
        self,
        X: Any,
        nodes: Any = None,
        mask: ArrayLike | None = None,
        *,
        as_frame: bool = False,
        progress: bool = False,
    ) -> Any:
        """Probabilities of the levels of nodes, given the known entries of the rest of their row.

        Entries are unknown if they are missing (NaN or None), True in the mask, or of one of
        ``nodes``; the prediction of a node sums out the other unknown entries: exactly where those
        connected by edges have at most 65,536 joint states (16 binary nodes, 10 of three levels),
        and else by Gibbs sampling. With no unknown entries, every node is predicted from all
        others. With a posterior, probabilities are averaged over draws.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table. Entries may be missing.
        nodes : name, number or list of these, optional
            The nodes to predict jointly; their entries in X are ignored. None predicts every node.
        mask : array of bool, shape (N, D), optional
            True for entries to be treated as unknown.
        as_frame : bool
            Return a pandas data frame with the names of the nodes and the index of X. Where some
            node has more than two levels, its columns are pairs of a node and a label.
        progress : bool
            Write the time left to standard error, every five seconds.

        Returns
        -------
        array of shape (N, D), or (N, number of named nodes), or DataFrame
            If all nodes of the model have two levels: probabilities of the label coded 1, the
            second of the variable's labels.
        array of shape (N, K), list of such arrays, or DataFrame
            If some node of the model has more levels: probabilities of all levels of each node, in
            the order of the variable's labels. A single node, ``nodes="mood"``, has an array;
            several nodes, ``nodes=["mood"]`` or None, have a list of arrays, as in scikit-learn's
            classifiers of several outputs.
        """
        variables = self._encoder().variables
        indices = None if nodes is None else self._node_indices("nodes", nodes)
        rows, unknown = self._encode(X, ignored=indices or (), allow_missing=True)
        if mask is not None:
            unknown |= _check_mask(mask, unknown.shape)
        # The seed is fixed so that the same rows give the same predictions; it matters only where
        # many unknown nodes are connected, which are then sampled.
        found = node_probabilities(
            self._fields(), rows, unknown, indices, random_state=0, progress=progress
        )
        if as_frame:
            return _as_frame(found, [variables[i] for i in indices or range(len(variables))], X)
        if isinstance(found, list) and not _is_several(nodes) and nodes is not None:
            return found[0]
        return found

    def predict(
        self,
        X: Any,
        nodes: Any = None,
        mask: ArrayLike | None = None,
        *,
        as_frame: bool = False,
        progress: bool = False,
    ) -> Any:
        """Most probable value of nodes, given the known entries of the rest of their row.

        ``X.fillna(model.predict(X, as_frame=True))`` fills the gaps of a data frame, each with its
        own most probable label.

        Parameters
        ----------
        X, nodes, mask, progress
            As for ``predict_proba``.
        as_frame : bool
            Return a pandas data frame of labels, with the names of the nodes and the index of X.

        Returns
        -------
        array of uint8, shape (N, D), or (N, number of named nodes), or DataFrame
            Codes 0, 1, ... in an array, labels in a data frame.
        """
        variables = self._encoder().variables
        named = None if nodes is None else self._node_indices("nodes", nodes)
        found = self.predict_proba(X, named, mask, progress=progress)
        if isinstance(found, list):
            codes = np.column_stack([each.argmax(axis=1) for each in found]).astype(np.uint8)
        else:
            codes = (found > 0.5).astype(np.uint8)
        if not as_frame:
            return codes
        shown = variables if named is None else [variables[i] for i in named]
        return _labeled(codes, shown, _index_of(X))

    def conditional_log_likelihood(self, X: Any, group: Any = None) -> Array:
        """Log probability of a group of nodes of each row, given the rest of the row.

        With a posterior, probabilities are averaged over draws before the logarithm is taken.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows, with the same columns as the fitted table.
        group : name, number, list of these, or int array of shape (N, g), optional
            The nodes of the group, the same for all rows or one set per row, with at most 65,536
            joint states (16 binary nodes, 10 of three levels). None takes all nodes, which gives
            the log-likelihood.

        Returns
        -------
        array of shape (N,)
            Log probabilities, in nats.
        """
        rows = self._encode(X).rows
        if group is None or np.ndim(group) == 2:
            return conditional_log_likelihood(self._fields(), rows, group)
        return conditional_log_likelihood(self._fields(), rows, self._node_indices("group", group))

    # --- names and codes ---

    def _encode(self, X: Any, **options: Any) -> encoding.EncodedRows:
        return self._encoder().transform(X, model=type(self).__name__, **options)

    def _node_indices(self, what: str, nodes: Any) -> list[int]:
        names = [variable.name for variable in self._encoder().variables]
        asked = nodes if _is_several(nodes) else [nodes]
        indices = [validation.find_node(what, node, names) for node in asked]
        if not indices or len(set(indices)) < len(indices):
            raise validation.InputError(
                "nodes-not-distinct",
                "{parameter} must name at least one node, and each once; got {value}. Pass for "
                "example {example}.",
                parameter=validation.Parameter(what),
                value=repr(nodes),
                example=validation.Parameter(what, [names[0]]),
            )
        return indices


def _is_several(nodes: Any) -> bool:
    """Whether nodes are a list of nodes, and not the name or number of one."""
    return isinstance(nodes, (Sequence, np.ndarray)) and not isinstance(nodes, str)


def _as_frame(found: Any, variables: Sequence[encoding.Variable], X: Any) -> Any:
    """Return a data frame of probabilities: a column for each node, or for each of its levels."""
    import pandas as pd

    names = [variable.name for variable in variables]
    if not isinstance(found, list):
        return pd.DataFrame(found, columns=names, index=_index_of(X))
    pairs = [(variable.name, label) for variable in variables for label in variable.labels]
    columns = pd.MultiIndex.from_tuples(pairs, names=["node", "label"])
    return pd.DataFrame(np.hstack(found), columns=columns, index=_index_of(X))


def _labeled(
    codes: NDArray[np.uint8], variables: Sequence[encoding.Variable], index: Any = None
) -> Any:
    """Return a data frame of the labels of codes."""
    import pandas as pd

    columns = {}
    for k, variable in enumerate(variables):
        labels = np.empty(variable.n_levels, dtype=object)
        labels[:] = variable.labels
        columns[variable.name] = labels[codes[:, k]]
    return pd.DataFrame(columns, index=index).infer_objects()


def _index_of(X: Any) -> Any:
    import pandas as pd

    index = getattr(X, "index", None)
    return index if isinstance(index, pd.Index) else None


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
