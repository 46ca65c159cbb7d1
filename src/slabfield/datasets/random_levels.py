"""Fields of nodes with levels, ordinal or nominal, on random graphs."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets.random_graph import random_edges
from slabfield.datasets.simulated import N_SWEEPS, RandomState, two_streams
from slabfield.datasets.simulated_levels import LevelMethod, draw_level_rows
from slabfield.encoding import Variable
from slabfield.encoding.scores import standard_scores
from slabfield.models.level_field import LevelField
from slabfield.models.levels import PairwiseLevels
from slabfield.models.pairwise import FEATURES
from slabfield.models.protocol import Array
from slabfield.validation import InputError, Parameter, check_number, check_positive_int

MOST_LEVELS = len(ascii_lowercase)
"""Largest number of levels of a node: nominal ones are letters."""


class SimulatedLevels(NamedTuple):
    """A field of nodes with levels, and rows drawn from it.

    Examples
    --------
    >>> from slabfield.datasets import make_nominal
    >>> data = make_nominal(100, n_nodes=5, random_state=1)
    >>> data.variables[0].labels, data.edges.shape
    (('a', 'b', 'c'), (5, 5))
    >>> data.table.shape
    (100, 5)
    """

    field: LevelField
    """The true field."""
    rows: NDArray[np.uint8]
    """Independent draws from it, as codes 0, 1, ... of levels, shape (n, D)."""
    variables: tuple[Variable, ...]
    """What the codes of each column stand for."""
    method: str
    """How the rows were sampled: 'enumeration', which is exact, or 'gibbs'."""

    @property
    def edges(self) -> NDArray[np.bool_]:
        """The true edges, as a symmetric (D, D) matrix."""
        return self.field.edges

    @property
    def table(self) -> Any:
        """The rows as a data frame of labels: whole numbers from 1, or letters."""
        import pandas as pd

        return pd.DataFrame(
            {
                variable.name: np.array(variable.labels)[self.rows[:, k]]
                for k, variable in enumerate(self.variables)
            }
        )


def make_ordinal(
    n_rows: int,
    n_nodes: int = 10,
    n_levels: int = 5,
    mean_degree: float = 4.0,
    random_state: RandomState = None,
    *,
    coupling_scale: float = 0.5,
    bias_scale: float = 0.1,
    method: LevelMethod = "auto",
    n_sweeps: int = N_SWEEPS,
) -> SimulatedLevels:
    """Draw a field of ordinal nodes on a random graph, and rows from it.

    Levels have equally spaced scores (:func:`slabfield.encoding.scores.standard_scores`), and edges
    one normal coupling each, of centered scores. Log weights of the levels are normal, so that all
    levels occur in a few hundred rows.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_nodes, n_levels : int
        Number of nodes, and number of levels of each, from 2 to 26.
    mean_degree : float
        Expected number of neighbors of a node, at most ``n_nodes - 1``.
    random_state : int, numpy.random.Generator or None
        Source of randomness. The field of a given seed does not depend on ``n_rows``.
    coupling_scale, bias_scale : float
        Standard deviations of couplings and biases, on the Ising scale as in `make_random`: the
        couplings of standard scores, which ``field`` has, are four times as large. The same value
        makes about the same correlations whatever the number of levels.
    method : {'auto', 'enumeration', 'elimination', 'gibbs'}
        'enumeration' samples exactly, up to 2^20 joint states: 8 nodes of 5 levels. 'elimination'
        does so for more nodes on a graph of small treewidth. 'gibbs' samples approximately, at any
        size: every row is the last state of its own Gibbs run from a uniformly random state. 'auto'
        takes the first of these that it can; the result says which.
    n_sweeps : int
        Number of sweeps of each run of 'gibbs'. With 50 nodes, 3 or 5 levels and the other
        defaults, runs that began with all nodes at the lowest and at the highest level had the
        same marginals after 300 sweeps, within the sampling error of 1,000 rows. Stronger
        couplings may need far more than the default of 1,000.

    Returns
    -------
    SimulatedLevels
        ``field``, ``rows`` of codes, ``variables``, ``method``; also ``edges`` and ``table``.

    Examples
    --------
    >>> from slabfield.datasets import make_ordinal
    >>> data = make_ordinal(200, n_nodes=6, random_state=0)
    >>> data.rows.shape, int(data.rows.max()), data.method
    ((200, 6), 4, 'enumeration')
    >>> data.variables[0].labels
    (1, 2, 3, 4, 5)
    """
    n_levels = _check_levels(n_levels)
    scores = tuple(standard_scores(n_levels).tolist())
    variables = tuple(
        Variable(f"x{k}", "ordinal", tuple(range(1, n_levels + 1)), scores)
        for k in range(check_positive_int("n_nodes", n_nodes, low=2))
    )
    field_rng, row_rng = two_streams(random_state)
    field = _random_field(variables, mean_degree, coupling_scale, bias_scale, field_rng)
    rows, used = draw_level_rows(field, n_rows, row_rng, method, n_sweeps)
    return SimulatedLevels(field, rows, variables, used)


def make_nominal(
    n_rows: int,
    n_nodes: int = 10,
    n_levels: int = 3,
    mean_degree: float = 4.0,
    random_state: RandomState = None,
    *,
    coupling_scale: float = 0.5,
    bias_scale: float = 0.1,
    method: LevelMethod = "auto",
    n_sweeps: int = N_SWEEPS,
) -> SimulatedLevels:
    r"""Draw a field of nominal nodes on a random graph, and rows from it.

    An edge has :math:`(K - 1)^2` normal parameters, in the embedding in which all levels are alike
    (:func:`slabfield.models.levels.nominal_features`): every log odds ratio of two levels of one
    node and two of another has the same distribution. Log weights of the levels are normal.

    Parameters
    ----------
    n_rows, n_nodes, n_levels, mean_degree, random_state, bias_scale, method, n_sweeps
        As in `make_ordinal`.
    coupling_scale : float
        Standard deviation of the log odds ratios over four: on the Ising scale, as in
        `make_random`.

    Returns
    -------
    SimulatedLevels
        ``field``, ``rows`` of codes, ``variables``, ``method``; also ``edges`` and ``table``.

    Examples
    --------
    >>> from slabfield.datasets import make_nominal
    >>> data = make_nominal(200, n_nodes=6, n_levels=4, random_state=0)
    >>> data.variables[0].labels, data.field.pair_energy(0, 1).shape
    (('a', 'b', 'c', 'd'), (4, 4))
    """
    labels = tuple(ascii_lowercase[: _check_levels(n_levels)])
    variables = tuple(
        Variable(f"x{k}", "nominal", labels, ())
        for k in range(check_positive_int("n_nodes", n_nodes, low=2))
    )
    field_rng, row_rng = two_streams(random_state)
    field = _random_field(variables, mean_degree, coupling_scale, bias_scale, field_rng)
    rows, used = draw_level_rows(field, n_rows, row_rng, method, n_sweeps)
    return SimulatedLevels(field, rows, variables, used)


def _random_field(
    variables: tuple[Variable, ...],
    mean_degree: float,
    coupling_scale: float,
    bias_scale: float,
    rng: np.random.Generator,
) -> LevelField:
    check_number("coupling_scale", coupling_scale, low=0)
    check_number("bias_scale", bias_scale, low=0)
    model = PairwiseLevels([FEATURES[variable.kind](variable) for variable in variables])
    edges = random_edges(len(variables), mean_degree, rng)
    coupling = np.zeros(model.interactions.n_parameters)
    for i, j in np.argwhere(edges).tolist():
        group = model.group(model.interactions.find(i, j))
        # 4 from the Ising scale to that of standard scores
        coupling[group] = rng.normal(0.0, 4 * coupling_scale, group.stop - group.start)
    without_bias = model.field(np.zeros(model.n_biases), coupling)
    biases = []
    for i, n_levels in enumerate(model.n_states):
        # differences of two levels have the variance of a bias on the 0/1 scale
        weights = rng.normal(0.0, np.sqrt(2.0) * bias_scale, n_levels)
        biases.append(_centered(without_bias, i, weights))
    return model.field(np.concatenate(biases), coupling)


def _centered(field: LevelField, node: int, weights: Array) -> Array:
    """Biases with which these are the log weights of levels, averaged over those of neighbors."""
    for other in np.flatnonzero(field.edges[node]).tolist():
        weights = weights - field.pair_energy(node, other).mean(axis=1)
    return np.asarray(weights[1:] - weights[0])


def _check_levels(n_levels: object) -> int:
    number = check_positive_int("n_levels", n_levels, low=2)
    if number > MOST_LEVELS:
        raise InputError(
            "too-many-levels",
            "{parameter} must be from 2 to {limit}; got {value}. Pass fewer levels.",
            parameter=Parameter("n_levels"),
            limit=MOST_LEVELS,
            value=number,
        )
    return number
