"""Base classes of the estimators, with scikit-learn's interface."""

from __future__ import annotations

from slabfield.estimators.base import FieldModel
from slabfield.estimators.compile_notice import notify_compiling
from slabfield.estimators.posterior_base import PosteriorModel

__all__ = ["FieldModel", "PosteriorModel", "notify_compiling"]
