"""The face of a model whose answer is a posterior: predictions are averaged over its draws."""

from __future__ import annotations

import numpy as np

from slabfield.evaluate import draw_fields
from slabfield.face.model import FieldModel
from slabfield.models.field import BinaryField
from slabfield.posterior import Posterior

SURE, UNLIKELY = 0.9, 0.1
"""Inclusion probabilities from which an edge is supported, and up to which likely absent."""

FIELDS = 100
"""Posterior draws that predictions are averaged over."""

FIELD_ENTRIES = 25_000_000
"""Numbers that the couplings of these may take together; fewer draws of larger fields are used."""


class PosteriorModel(FieldModel):
    """A learner that keeps a ``posterior_`` of fields.

    Scores and predictions are averages over 100 evenly spaced posterior draws (fewer above 500
    nodes, at least 10); new rows come from the field of a draw each.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF
    >>> from slabfield.face import PosteriorModel
    >>> issubclass(SpikeSlabMRF, PosteriorModel)
    True
    """

    posterior_: Posterior

    def _mixture(self) -> Posterior:
        return self.posterior_

    def _fields(self) -> list[BinaryField]:
        most = FIELD_ENTRIES // self.n_features_in_**2
        return draw_fields(self.posterior_, max(10, min(FIELDS, most)))

    def _facts(self) -> list[tuple[str, str]]:
        chance = self.posterior_.edge_probability
        undecided = np.count_nonzero((chance > UNLIKELY) & (chance < SURE))
        return [
            ("edges supported", f"{np.count_nonzero(chance >= SURE)} of {chance.size}"),
            ("undecided", f"{undecided}"),
            ("converged", "yes" if self.posterior_.converged else "no"),
        ]

    def _told(self) -> list[str]:
        return [*self.coding_notes_, *self.posterior_.warnings]
