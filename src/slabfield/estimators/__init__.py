"""Estimators with scikit-learn's interface: base classes, and SpikeSlabMRF in spike_slab.py."""

from __future__ import annotations

from slabfield.estimators.base import FieldModel, TableModel
from slabfield.estimators.compile_notice import notify_compiling
from slabfield.estimators.posterior_base import PosteriorModel

__all__ = ["FieldModel", "PosteriorModel", "TableModel", "notify_compiling"]
