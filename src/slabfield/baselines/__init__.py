"""Baseline estimators: independent nodes, the Chow-Liu tree, L1-penalized likelihoods.

Examples
--------
>>> from slabfield import baselines, datasets
>>> rows = datasets.make_block(200, random_state=1).rows
>>> baselines.L1PseudoLikelihood(strength=0.05).fit(rows).bias_.shape
(12,)
"""

from __future__ import annotations

from slabfield.baselines.independent import Independent
from slabfield.baselines.multinomial import L1Multinomial
from slabfield.baselines.neighborhood import L1Neighborhood
from slabfield.baselines.path import RegularizationPath
from slabfield.baselines.pseudo_likelihood import L1PseudoLikelihood
from slabfield.baselines.tree import ChowLiuTree

__all__ = [
    "ChowLiuTree",
    "Independent",
    "L1Multinomial",
    "L1Neighborhood",
    "L1PseudoLikelihood",
    "RegularizationPath",
]
