"""Fields with given log weights of levels and of pairs of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.models.field import BinaryField
from slabfield.models.level_field import LevelField
from slabfield.models.levels import PairwiseLevels, nominal_features

Array = NDArray[np.float64]


def field_of_tables(
    energies: Sequence[Array], tables: Mapping[tuple[int, int], Array]
) -> BinaryField | LevelField:
    r"""Return the field whose log potential is a sum of log weights, up to a constant.

    .. math:: \log P(x) = \sum_i E_i[x_i] + \sum_{(i,j)} T_{ij}[x_i, x_j] - \log Z

    Parameters
    ----------
    energies : sequence of arrays (K_i,)
        Log weights of the levels of each node.
    tables : mapping from (i, j), i < j, to array (K_i, K_j)
        Log weights of two levels of each edge.

    Returns
    -------
    BinaryField or LevelField
        A BinaryField where every node has two levels, else a field of nominal nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.baselines.table_fields import field_of_tables
    >>> agree = field_of_tables([np.zeros(3), np.zeros(3)], {(0, 1): np.eye(3)})
    >>> agree.conditional(0, [[0, 2]]).round(3)
    array([[0.212, 0.212, 0.576]])
    """
    if all(energy.size == 2 for energy in energies):
        return _binary_field(energies, tables)
    own = [energy.copy() for energy in energies]
    model = PairwiseLevels([nominal_features(energy.size) for energy in own])
    coupling = np.zeros(model.interactions.n_parameters)
    for (i, j), table in tables.items():
        own[i] += table.mean(axis=1)
        own[j] += table.mean(axis=0)
        # columns of an embedding V have sum 0, are orthogonal and of square norm 1/2: V'V = I/2
        group = 4 * model.nodes[i].embedding.T @ table @ model.nodes[j].embedding
        coupling[model.group(model.interactions.find(i, j))] = group.ravel()
    return model.field(np.concatenate([energy[1:] - energy[0] for energy in own]), coupling)


def _binary_field(
    energies: Sequence[Array], tables: Mapping[tuple[int, int], Array]
) -> BinaryField:
    bias = np.array([energy[1] - energy[0] for energy in energies])
    coupling = np.zeros((bias.size, bias.size))
    for (i, j), table in tables.items():
        bias[i] += table[1, 0] - table[0, 0]
        bias[j] += table[0, 1] - table[0, 0]
        ratio = table[1, 1] - table[1, 0] - table[0, 1] + table[0, 0]
        coupling[i, j] = coupling[j, i] = ratio
    return BinaryField(bias, coupling)


def keep_field(estimator: Any, field: BinaryField | LevelField) -> None:
    """Set the attributes of a fitted estimator that describe its field."""
    estimator._field = field
    estimator.bias_ = field.bias
    estimator.coupling_ = edge_strengths(field)


def edge_strengths(field: Any) -> Array:
    """Couplings of a binary field; of nodes with levels, norms of the parameters of each pair."""
    if field.coupling.ndim == 2:
        return np.asarray(field.coupling)
    model: PairwiseLevels = field.model
    squares = np.add.reduceat(field.coupling**2, model.group_start[:-1])
    return np.asarray(model.interactions.as_matrix(np.sqrt(squares)))
