"""Base class of estimators with a posterior, which predicts for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from sklearn.utils.validation import check_is_fitted

from slabfield import encoding
from slabfield.estimators.base import Array, TableModel
from slabfield.evaluate import PredictiveModel
from slabfield.posterior import Posterior
from slabfield.posterior.evidence_classes import count_classes
from slabfield.posterior.predictions import PairwiseField


class PosteriorModel(PredictiveModel, TableModel):
    """An estimator whose fit sets ``posterior_``, draws of fields, which it predicts with."""

    has_field = True
    posterior_: Posterior
    edge_threshold: float

    def _encoder(self) -> encoding.Encoder:
        check_is_fitted(self)
        return self.posterior_._encoder()

    @cached_property
    def field_(self) -> PairwiseField:
        """The field of the likely edges that is nearest to the posterior."""
        check_is_fitted(self)
        draws = self.posterior_.draws
        likely = (draws.edge_probability >= self.edge_threshold) & (draws.visits > 0)
        return self.posterior_.nearest_field(likely)

    @cached_property
    def coupling_(self) -> Array:
        """Couplings of ``field_``: of pairs with several parameters, their norms."""
        return self.field_.edge_strengths

    @cached_property
    def bias_(self) -> Array:
        """Biases of ``field_``."""
        return self.field_.bias

    def _forget_field(self) -> None:
        """Forget the field of an earlier fit."""
        for name in ("field_", "coupling_", "bias_"):
            self.__dict__.pop(name, None)

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
