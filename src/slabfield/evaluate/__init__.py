"""Evaluation of learned fields: likelihoods of held-out rows, and recovery of known edges.

Examples
--------
>>> from slabfield import baselines, datasets, evaluate
>>> field, rows, _ = datasets.make_block(200, random_state=1)
>>> tree = baselines.ChowLiuTree().fit(rows[:100])
>>> evaluate.conditional_log_likelihood(tree, rows[100:], groups=[0, 1, 2]).shape
(100,)
>>> evaluate.edge_recovery(field, tree).n_edges
11
"""

from __future__ import annotations

from slabfield.evaluate.conditional_likelihood import (
    conditional_log_likelihood,
    lattice_patches,
    pseudo_log_likelihood,
)
from slabfield.evaluate.edge_recovery import (
    EdgeRecovery,
    PrecisionRecallCurve,
    calibration,
    edge_density,
    edge_recovery,
    precision_recall,
)
from slabfield.evaluate.likelihood import LogLikelihood, LogPartition, log_likelihood, log_partition
from slabfield.evaluate.prediction import node_probabilities
from slabfield.evaluate.predictive_model import PredictiveModel
from slabfield.evaluate.sampling import sample_rows

__all__ = [
    "EdgeRecovery",
    "LogLikelihood",
    "LogPartition",
    "PrecisionRecallCurve",
    "PredictiveModel",
    "calibration",
    "conditional_log_likelihood",
    "edge_density",
    "edge_recovery",
    "lattice_patches",
    "log_likelihood",
    "log_partition",
    "node_probabilities",
    "precision_recall",
    "pseudo_log_likelihood",
    "sample_rows",
]
