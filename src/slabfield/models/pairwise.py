"""The pairwise model of a table's variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from slabfield.models.binary import BinaryPairwise
from slabfield.models.levels import (
    NodeFeatures,
    PairwiseLevels,
    blume_capel_features,
    nominal_features,
    ordinal_features,
)
from slabfield.models.loglinear import LogLinear
from slabfield.models.protocol import Model


class NodeVariable(Protocol):
    """What a model asks of a variable (:class:`slabfield.encoding.Variable`)."""

    @property
    def kind(self) -> str:
        """Kind of variable."""

    @property
    def n_levels(self) -> int:
        """Number of levels."""

    @property
    def scores(self) -> tuple[float, ...]:
        """Score of each level; none if it is nominal."""

    @property
    def positions(self) -> tuple[int, ...]:
        """Place of each level in the order of all levels."""

    @property
    def reference(self) -> int | None:
        """Position of the reference level, if it has one."""


FEATURES: dict[str, Callable[[NodeVariable], NodeFeatures]] = {
    "binary": lambda variable: ordinal_features(variable.scores),
    "ordinal": lambda variable: ordinal_features(variable.scores),
    "blume-capel": lambda variable: blume_capel_features(
        variable.scores, variable.positions, variable.reference or 0
    ),
    "nominal": lambda variable: nominal_features(variable.n_levels),
}
"""Features of a node, by the kind of its variable."""


def log_linear(model: BinaryPairwise | PairwiseLevels) -> Model:
    """Return a model in the form that the paper's moves need: features as tables, free biases.

    Examples
    --------
    >>> from slabfield.models.levels import PairwiseLevels, nominal_features
    >>> from slabfield.models.pairwise import log_linear
    >>> log_linear(PairwiseLevels([nominal_features(3)] * 2)).interactions.n_parameters
    4
    """
    if model.single_binary:
        return model
    assert isinstance(model, PairwiseLevels)
    return LogLinear(model.n_states.tolist(), model.feature_tables())


def pairwise_model(variables: Sequence[NodeVariable]) -> BinaryPairwise | PairwiseLevels:
    """Return the model in which all pairs of the variables are candidate edges.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.models.pairwise import pairwise_model
    >>> sleep = Variable.binary("sleep", (0, 1))
    >>> pairwise_model([sleep, sleep])
    BinaryPairwise(n_nodes=2)
    >>> place = Variable("place", "nominal", ("north", "south", "west"), ())
    >>> pairwise_model([sleep, place]).interactions.n_parameters
    2
    """
    if all(variable.kind == "binary" for variable in variables):
        return BinaryPairwise(len(variables))
    return PairwiseLevels([FEATURES[variable.kind](variable) for variable in variables])
