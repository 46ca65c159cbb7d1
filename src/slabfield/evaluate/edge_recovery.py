"""Recovery of known edges, and calibration of inclusion probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slabfield import validation
from slabfield.models.interactions import Interactions

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

INTERVAL = 0.95
"""Confidence level of the intervals in `calibration`."""


class EdgeRecovery(NamedTuple):
    """Agreement of a set of found edges with the true ones.

    Examples
    --------
    >>> from slabfield.evaluate import edge_recovery
    >>> edge_recovery([[0, 1], [1, 0]], [[0, 1], [1, 0]]).f1
    1.0
    """

    precision: float
    """Share of the found edges that are true; NaN if none were found."""
    recall: float
    """Share of the true edges that were found; NaN if there are no true edges."""
    f1: float
    """Harmonic mean of the two, 2 * hits / (found + true); NaN if there are no edges at all."""
    density: float
    """Share of all pairs that have a found edge."""
    n_edges: int
    """Number of found edges."""


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall as edges are selected in order of decreasing score.

    Examples
    --------
    >>> from slabfield.evaluate import precision_recall
    >>> truth = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> score = [[0, 0.9, 0.2], [0.9, 0, 0.1], [0.2, 0.1, 0]]
    >>> precision_recall(truth, score).average_precision
    1.0
    """

    precision: Array
    """By increasing threshold, with a last entry of 1, as in scikit-learn."""
    recall: Array
    """By increasing threshold, with a last entry of 0."""
    thresholds: Array
    """Edges of at least this score are selected; one entry fewer than ``precision``."""
    average_precision: float
    """Area under the step function of the curve."""
    auc: float
    """Area under the ROC curve: the share of (true, false) pairs of edges in the right order."""


def edge_density(edges: Any) -> float:
    """Share of pairs of nodes that have an edge.

    Parameters
    ----------
    edges : BinaryField or LevelField, fitted estimator, or array of shape (D, D)
        An edge is present where the entry, or the coupling, is not 0.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from slabfield.evaluate import edge_density
    >>> edge_density([[0, 0.3, 0], [0.3, 0, 0], [0, 0, 0]]) == 1 / 3
    True
    """
    return float((_upper(edges, "edges") != 0).mean())


def edge_recovery(truth: Any, found: Any) -> EdgeRecovery:
    """Precision, recall and F1 of the found edges.

    Parameters
    ----------
    truth, found : BinaryField or LevelField, fitted estimator, or array of shape (D, D)
        An edge is present where the entry, or the coupling, is not 0. For inclusion probabilities
        pass ``probability >= 0.5``.

    Returns
    -------
    EdgeRecovery
        The measures.

    Examples
    --------
    >>> from slabfield.evaluate import edge_recovery
    >>> truth = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> found = [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 0]]
    >>> edge_recovery(truth, found)[:2]
    (1.0, 0.5)
    """
    true_values, found_values = _pair(truth, found)
    true, selected = true_values != 0, found_values != 0
    hits, n_selected, n_true = int((true & selected).sum()), int(selected.sum()), int(true.sum())
    return EdgeRecovery(
        hits / n_selected if n_selected else np.nan,
        hits / n_true if n_true else np.nan,
        2 * hits / (n_selected + n_true) if n_selected + n_true else np.nan,
        float(selected.mean()),
        n_selected,
    )


def precision_recall(truth: Any, score: Any) -> PrecisionRecallCurve:
    """Precision-recall curve of edges ranked by a score, its average precision, and the ROC AUC.

    Parameters
    ----------
    truth : BinaryField or LevelField, fitted estimator, or array of shape (D, D)
        An edge is present where the entry, or the coupling, is not 0.
    score : BinaryField or LevelField, fitted estimator, or array of shape (D, D)
        Edges are ranked by its magnitude: couplings or inclusion probabilities.

    Returns
    -------
    PrecisionRecallCurve
        The curve as computed by scikit-learn, its average precision and the ROC AUC.

    Examples
    --------
    >>> from slabfield.datasets import make_block
    >>> from slabfield.evaluate import precision_recall
    >>> field = make_block(10, random_state=1).field
    >>> precision_recall(field, field.coupling).auc
    1.0
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

    true, scores = _pair(truth, score)
    present, magnitude = true != 0, np.abs(scores)
    if present.all() or not present.any():
        raise validation.InputError(
            "nothing-to-rank",
            "A ranking of edges needs pairs with and pairs without an edge in the truth; found "
            "{n_edges} edges among {n_pairs} pairs. Use edge_recovery instead.",
            n_edges=int(present.sum()),
            n_pairs=present.size,
        )
    precision, recall, thresholds = precision_recall_curve(present, magnitude)
    area = float(average_precision_score(present, magnitude))
    auc = float(roc_auc_score(present, magnitude))
    return PrecisionRecallCurve(precision, recall, thresholds, area, auc)


def calibration(truth: Any, probability: ArrayLike, n_bins: int = 10) -> pd.DataFrame:
    """Compare inclusion probabilities with the observed shares of true edges.

    Parameters
    ----------
    truth : BinaryField or LevelField, fitted estimator, array of shape (D, D), or sequence of these
        True edges; a sequence (list or tuple of matrices or fields) pools several data sets.
    probability : array of shape (D, D), or sequence of the same length
        Inclusion probabilities.
    n_bins : int
        Number of bins of equal width on [0, 1].

    Returns
    -------
    pandas.DataFrame
        One row for each bin that holds a pair: its bounds ``low`` and ``high``, ``n_pairs``,
        ``mean_probability``, ``share_present``, and the exact (Clopper-Pearson) 95% confidence
        interval of that share, ``share_low`` to ``share_high``, as if pairs were independent.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import calibration
    >>> truth = np.ones((5, 5)) - np.eye(5)
    >>> table = calibration(truth, 0.93 * truth)
    >>> int(table.n_pairs[0]), float(table.mean_probability[0].round(3)), table.share_present[0]
    (10, 0.93, np.float64(1.0))
    """
    import pandas as pd
    from scipy import stats

    n_bins = validation.check_positive_int("n_bins", n_bins)
    present, pooled = _pooled(truth, probability)
    if pooled.min() < 0 or pooled.max() > 1:
        raise validation.InputError(
            "not-probabilities",
            "Inclusion probabilities must lie between 0 and 1; found values from {lowest:.3g} to "
            "{highest:.3g}. Pass probabilities, not couplings.",
            lowest=pooled.min(),
            highest=pooled.max(),
        )
    bins = np.minimum((pooled * n_bins).astype(int), n_bins - 1)
    rows = []
    for k in np.unique(bins):
        inside = bins == k
        n, hits = int(inside.sum()), int(present[inside].sum())
        interval = stats.binomtest(hits, n).proportion_ci(INTERVAL)
        rows.append({
            "low": k / n_bins, "high": (k + 1) / n_bins, "n_pairs": n,
            "mean_probability": pooled[inside].mean(), "share_present": hits / n,
            "share_low": interval.low, "share_high": interval.high,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _pooled(truth: Any, probability: Any) -> tuple[NDArray[np.bool_], Array]:
    """Presence and probability of all pairs of one data set, or of several concatenated."""
    several = isinstance(truth, (list, tuple)) and np.ndim(probability) == 3
    truths, probabilities = (truth, probability) if several else ([truth], [probability])
    if len(truths) != len(probabilities):
        raise validation.InputError(
            "unequal-numbers-of-matrices",
            "There must be as many truths as matrices of probabilities; found {n_truths} and "
            "{n_probabilities}. Pass one of each for every data set.",
            n_truths=len(truths),
            n_probabilities=len(probabilities),
        )
    pairs = [_pair(one, other) for one, other in zip(truths, probabilities, strict=True)]
    present = np.concatenate([true != 0 for true, _ in pairs])
    return present, np.concatenate([values for _, values in pairs])


def _pair(truth: Any, other: Any) -> tuple[Array, Array]:
    true_values, other_values = _upper(truth, "truth"), _upper(other, "the other")
    if true_values.size != other_values.size:
        raise validation.InputError(
            "matrices-of-different-nodes",
            "Both matrices must be over the same nodes; found {n_true} pairs in the truth and "
            "{n_other} in the other. Pass two matrices of the same shape.",
            n_true=true_values.size,
            n_other=other_values.size,
        )
    return true_values, other_values


def _upper(matrix: Any, name: str) -> Array:
    """Entries above the diagonal of a symmetric matrix, or of the strengths of edges."""
    strengths = getattr(matrix, "edge_strengths", None)  # of a field
    if strengths is None:
        strengths = getattr(matrix, "coupling_", matrix)
    values = np.asarray(strengths, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        found = f"shape {values.shape}"
    elif not np.array_equal(values, values.T):
        found = "one that is not"
    else:
        return Interactions.pairs(len(values)).of_matrix(values)
    raise validation.InputError(
        "not-a-symmetric-matrix",
        "{name} must be a symmetric matrix over at least two nodes; found {found}. Pass an array "
        "of shape (D, D), a field or a fitted estimator.",
        name=name,
        found=found,
    )
