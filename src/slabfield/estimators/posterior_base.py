"""Base class of estimators with a posterior: predictions are averages over its draws."""

from __future__ import annotations

from slabfield.estimators.base import FieldModel
from slabfield.evaluate import draw_fields
from slabfield.models.field import BinaryField
from slabfield.posterior import Posterior
from slabfield.posterior.edge_support import count_edges

N_FIELDS = 100
"""Posterior draws over which predictions are averaged."""

MAX_ENTRIES = 25_000_000
"""Upper limit on the entries of all their coupling matrices; larger fields use fewer draws."""


class PosteriorModel(FieldModel):
    """An estimator whose fit sets ``posterior_``, draws of fields.

    Scores and predictions are averages over 100 evenly spaced posterior draws (fewer above 500
    nodes, at least 10). Each new row is sampled from the field of one draw.
    """

    posterior_: Posterior

    def _mixture(self) -> Posterior:
        return self.posterior_

    def _fields(self) -> list[BinaryField]:
        most = MAX_ENTRIES // self.n_features_in_**2
        return draw_fields(self.posterior_, max(10, min(N_FIELDS, most)))

    def _summary_items(self) -> list[tuple[str, str]]:
        counts = count_edges(self.posterior_.edge_probability)
        return [
            ("edges supported", f"{counts.supported} of {self.posterior_.draws.n_edges}"),
            ("undecided", f"{counts.undecided}"),
            ("converged", "yes" if self.posterior_.converged else "no"),
        ]

    def _notes(self) -> list[str]:
        return [*self.coding_notes_, *self.posterior_.warnings]
