"""Base classes of the estimators, with scikit-learn's interface.

Examples
--------
>>> from slabfield.baselines import ChowLiuTree
>>> from slabfield.estimators import FieldModel
>>> issubclass(ChowLiuTree, FieldModel)
True
"""

from __future__ import annotations

from slabfield.estimators.base import FieldModel
from slabfield.estimators.compile_notice import notify_compiling
from slabfield.estimators.posterior_base import PosteriorModel

__all__ = ["FieldModel", "PosteriorModel", "notify_compiling"]
