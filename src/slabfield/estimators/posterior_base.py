"""Base class of estimators with a posterior, which predicts for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from slabfield import encoding
from slabfield.estimators.base import FieldModel
from slabfield.posterior import Posterior
from slabfield.posterior.evidence_classes import count_classes
from slabfield.posterior.predictions import PairwiseField


class PosteriorModel(FieldModel):
    """An estimator whose fit sets ``posterior_``, draws of fields, which it predicts with."""

    posterior_: Posterior

    def _encoder(self) -> encoding.Encoder:
        check_is_fitted(self)
        return self.posterior_._encoder()

    @property
    def field_(self) -> PairwiseField:
        """The fitted field: mean parameters of the edges in ``coupling_``, and fitting biases."""
        chosen = self.posterior_.interactions.of_matrix(self.coupling_ != 0)
        return self.posterior_.mean_field(chosen)

    def _fields(self) -> Sequence[Any]:
        return self.posterior_._fields()

    def _sampled_fields(self) -> Sequence[Any]:
        return self.posterior_._sampled_fields()

    def _summary_items(self) -> list[tuple[str, str]]:
        counts = count_classes(self.posterior_.edge_bayes_factor)
        return [
            ("edges", f"{self.posterior_.draws.n_edges}"),
            *((f"evidence {side}", _counted(counts, side)) for side in ("for", "against")),
            ("inconclusive", f"{counts['inconclusive']}"),
            ("converged", "yes" if self.posterior_.converged else "no"),
        ]

    def _notes(self) -> list[str]:
        return [*self.coding_notes_, *self.posterior_.warnings]


def _counted(counts: dict[str, int], side: str) -> str:
    """Number of edges with evidence for or against them."""
    strong = counts[f"strong {side}"]
    return f"{strong + counts[f'moderate {side}']} ({strong} strong)"
