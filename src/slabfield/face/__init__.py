"""What every fitted model of rows answers, in the ways of scikit-learn.

Examples
--------
>>> from slabfield.baselines import ChowLiuTree
>>> from slabfield.face import FieldModel
>>> issubclass(ChowLiuTree, FieldModel)
True
"""

from __future__ import annotations

from slabfield.face.compiling import tell_of_compiling
from slabfield.face.model import FieldModel
from slabfield.face.sampled import PosteriorModel

__all__ = ["FieldModel", "PosteriorModel", "tell_of_compiling"]
