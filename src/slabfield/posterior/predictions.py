"""The fields of posterior draws, and predictions averaged over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws
from slabfield.encoding import Encoder
from slabfield.evaluate import PredictiveModel
from slabfield.models.binary import BinaryPairwise
from slabfield.models.field import BinaryField
from slabfield.models.level_field import LevelField
from slabfield.models.levels import PairwiseLevels
from slabfield.models.pairwise import FEATURES, pairwise_model
from slabfield.posterior.nearest_field import Parameters, nearest_to_mixture
from slabfield.posterior.summaries import Summaries
from slabfield.validation import check_positive_int

N_FIELDS = 100
"""Posterior draws over which predictions are averaged."""

MIN_FIELDS = 10
"""Fewest draws over which predictions of large fields are averaged."""

MAX_ENTRIES = 25_000_000
"""Upper limit on the entries of all their coupling matrices; larger fields use fewer draws."""

NEAREST_ROWS = 1_000
"""Rows of the mixture over which its divergence from a single field is averaged."""

PairwiseModel = BinaryPairwise | PairwiseLevels
PairwiseField = BinaryField | LevelField


class DrawnFields(Sequence[PairwiseField]):
    """Fields of some posterior draws, each made when it is asked for."""

    def __init__(self, model: PairwiseModel, draws: Draws, chosen: NDArray[np.int64]) -> None:
        self.model, self.draws, self.chosen = model, draws, chosen

    def __len__(self) -> int:
        return int(self.chosen.size)

    @overload
    def __getitem__(self, index: int) -> PairwiseField: ...
    @overload
    def __getitem__(self, index: slice) -> DrawnFields: ...
    def __getitem__(self, index: int | slice) -> PairwiseField | DrawnFields:
        if isinstance(index, slice):
            return DrawnFields(self.model, self.draws, self.chosen[index])
        draw, values = self.chosen[index], self.draws.parameters
        begin, end = values.indptr[draw : draw + 2]
        parameters = np.zeros(values.shape[1])
        parameters[values.indices[begin:end]] = values.data[begin:end]
        bias = self.draws.bias.reshape(-1, self.draws.bias.shape[-1])[draw]
        return self.model.field(bias, parameters)


class Predictions(Summaries, PredictiveModel):
    """Scores, predictions and new rows.

    Scores and predictions are averages over 100 evenly spaced posterior draws (fewer above 500
    nodes, at least 10). Each new row is sampled from the field of one draw.
    """

    encoder: Encoder

    @cached_property
    def model(self) -> PairwiseModel:
        """The pairwise model of the variables, of which every draw is a field."""
        return pairwise_model(self.encoder.variables)

    def fields(self, n_fields: int | None = None) -> Sequence[PairwiseField]:
        """Fields of evenly spaced posterior draws, for a mixture (the paper's "Bayes").

        Parameters
        ----------
        n_fields : int, optional
            Number of draws; by default, and if there are fewer, all are used.

        Returns
        -------
        sequence of BinaryField or LevelField
            One for each of these draws, those of the first chain first.

        Examples
        --------
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> from slabfield.evaluate import log_likelihood
        >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
        >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(rows).posterior_
        >>> len(posterior.fields(20))
        20
        >>> log_likelihood(posterior.fields(20), rows).values.shape
        (60,)
        """
        n_fields = check_positive_int("n_fields", n_fields, allow_none=True)
        n_all = self.draws.n_chains * self.draws.n_draws
        return DrawnFields(self.model, self.draws, self.draws.evenly_spaced(n_fields or n_all))

    def nearest_field(self, edges: NDArray[np.bool_] | None = None) -> PairwiseField:
        """One field for the posterior: of those with these edges, the nearest to the mixture.

        Its conditional distributions of single nodes given all others are closest to those of the
        mixture of 100 draws, in Kullback-Leibler divergence averaged over 1,000 rows of the
        mixture (equation 40 of the mathematics). Its couplings make up for edges that it does not
        have; means of couplings given presence are in ``coupling_given_presence``.

        Parameters
        ----------
        edges : array of bool, shape (n_edges,), optional
            Which edges the field has, in the order of the interactions; by default those of
            inclusion probability 0.5 or more.

        Returns
        -------
        BinaryField or LevelField

        Examples
        --------
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> from slabfield.evaluate import pseudo_log_likelihood
        >>> data = datasets.make_block(300, random_state=0, n_groups=1)
        >>> posterior = SpikeSlabMRF(n_draws=100, random_state=0).fit(data.rows).posterior_
        >>> one = pseudo_log_likelihood(posterior.nearest_field(), data.rows).mean()
        >>> bool(abs(one - posterior.score(data.rows)) < 0.02)
        True
        """
        chosen = self.edge_probability >= 0.5 if edges is None else np.asarray(edges, np.bool_)
        fields, rows = self._fields(), self.sample(NEAREST_ROWS, random_state=0)
        start = Parameters(self.bias_mean, np.nan_to_num(self.parameter_mean))
        levels = PairwiseLevels([FEATURES[variable.kind](variable) for variable in self.variables])
        return self.model.field(*nearest_to_mixture(levels, chosen, fields, rows, start))

    def _encoder(self) -> Encoder:
        return self.encoder

    def _fields(self) -> list[PairwiseField]:
        # a binary field has D^2 couplings, and the energies of other fields are of all levels
        size = self.n_nodes if self.model.single_binary else int(self.model.n_states.sum())
        most = MAX_ENTRIES // size**2
        return list(self.fields(max(MIN_FIELDS, min(N_FIELDS, most))))

    def _sampled_fields(self) -> Sequence[PairwiseField]:
        return self.fields()
