"""Base class of estimators with a posterior, which predicts for them."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.utils.validation import check_is_fitted

from slabfield import encoding
from slabfield.estimators.base import FieldModel
from slabfield.models.field import BinaryField
from slabfield.posterior import Posterior
from slabfield.posterior.edge_support import count_edges


class PosteriorModel(FieldModel):
    """An estimator whose fit sets ``posterior_``, draws of fields, which it predicts with."""

    posterior_: Posterior

    def _encoder(self) -> encoding.Encoder:
        check_is_fitted(self)
        return self.posterior_._encoder()

    def _fields(self) -> Sequence[BinaryField]:
        return self.posterior_._fields()

    def _sampled_fields(self) -> Sequence[BinaryField]:
        return self.posterior_._sampled_fields()

    def _summary_items(self) -> list[tuple[str, str]]:
        counts = count_edges(self.posterior_.edge_probability)
        return [
            ("edges supported", f"{counts.supported} of {self.posterior_.draws.n_edges}"),
            ("undecided", f"{counts.undecided}"),
            ("converged", "yes" if self.posterior_.converged else "no"),
        ]

    def _notes(self) -> list[str]:
        return [*self.coding_notes_, *self.posterior_.warnings]
