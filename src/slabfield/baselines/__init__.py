"""Other ways to learn a binary field, to compare with: L1 penalties and the best tree.

Examples
--------
>>> from slabfield import baselines, datasets
>>> rows = datasets.make_block(200, random_state=1).rows
>>> baselines.L1PseudoLikelihood(strength=0.05).fit(rows).bias_.shape
(12,)
"""

from __future__ import annotations

from slabfield.baselines.neighbourhood import L1Neighbourhood
from slabfield.baselines.path import RegularisationPath
from slabfield.baselines.pseudo_likelihood import L1PseudoLikelihood
from slabfield.baselines.tree import ChowLiuTree

__all__ = ["ChowLiuTree", "L1Neighbourhood", "L1PseudoLikelihood", "RegularisationPath"]
