"""Replicated data from posterior draws, for posterior predictive checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.encoding import Variable
from slabfield.evaluate.sampling import new_gibbs_runs
from slabfield.inference import enumeration
from slabfield.models.protocol import n_joint_states

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

Array = NDArray[np.float64]

# Up to this number of joint states, rows are exact draws
MAX_EXACT_STATES = 2**16
# Gibbs sweeps before the first replicate, and between replicates
FIRST_SWEEPS, MORE_SWEEPS = 500, 100


class TableSummary(NamedTuple):
    """What a data set, or each of several, shows of single nodes and of pairs of nodes.

    Parameters
    ----------
    nodes : array (..., D) or (..., S)
        Of binary variables, the share of rows in which each is 1; else the share of rows in each
        level of each node.
    pairs : array (..., D, D)
        Of binary variables, the share of rows in which both are 1; else the association of the two
        nodes, as `associations` computes it.
    """

    nodes: Array
    pairs: Array


class PredictiveReplicates(NamedTuple):
    """Summaries of replicated data, and whether their rows are exact draws."""

    summary: TableSummary
    exact: bool


def replicate_tables(
    posterior: Posterior, n_rows: int, n_draws: int, seed: int
) -> PredictiveReplicates:
    """Draw replicated data sets, each from the field of one posterior draw.

    Rows are exact draws up to 65,536 joint states (16 binary nodes). Above, they are states of
    Gibbs runs that start from uniformly random states and continue from one posterior draw to the
    next.

    Parameters
    ----------
    posterior : Posterior
        Posterior to draw from.
    n_rows, n_draws : int
        Rows of a data set, and number of data sets, from evenly spaced draws.
    """
    rng = np.random.default_rng(seed)
    fields, variables = posterior.fields(n_draws), posterior.encoder.variables
    exact = n_joint_states(fields[0]) <= MAX_EXACT_STATES
    runs = new_gibbs_runs(fields[0], n_rows, rng)
    sizes = summarize(np.zeros((1, len(variables)), np.uint8), variables)
    nodes, pairs = (np.empty((len(fields), *each.shape)) for each in sizes)
    for k, field in enumerate(fields):
        if exact:
            rows = enumeration.sample(field, n_rows, rng)
        else:
            runs.advance(field, MORE_SWEEPS if k else FIRST_SWEEPS)
            rows = runs.states.T.astype(np.uint8)
        nodes[k], pairs[k] = summarize(rows, variables)
    return PredictiveReplicates(TableSummary(nodes, pairs), exact)


def summarize(rows: NDArray[np.uint8], variables: Sequence[Variable]) -> TableSummary:
    """Return the shares and associations of a data set."""
    if all(variable.kind == "binary" for variable in variables):
        x = rows.astype(np.float64)
        both = np.asarray(x.T @ x / len(x))
        return TableSummary(np.diagonal(both).copy(), both)
    shares = [
        np.bincount(rows[:, k], minlength=variable.n_levels) / len(rows)
        for k, variable in enumerate(variables)
    ]
    return TableSummary(np.concatenate(shares), associations(rows, variables))


def associations(rows: NDArray[np.uint8], variables: Sequence[Variable]) -> Array:
    r"""Association of every two nodes, (D, D).

    The correlation of the scores of two nodes, or Cramer's V where one of them is nominal:
    :math:`\sqrt{\phi^2 / (\min(K_i, K_j) - 1)}` with
    :math:`\phi^2 = \sum_{ab} p_{ab}^2 / (p_a p_b) - 1`. It is 0 where a node is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.encoding import Variable
    >>> from slabfield.posterior.predictive import associations
    >>> rows = np.array([[0, 2], [1, 0], [2, 1]] * 5, dtype=np.uint8)
    >>> mood = Variable("mood", "ordinal", (1, 2, 3), (0.0, 1.0, 2.0))
    >>> place = Variable("place", "nominal", ("n", "s", "w"), ())
    >>> associations(rows, [mood, place])[0, 1].round(3)
    np.float64(1.0)
    >>> associations(rows, [mood, mood])[0, 1].round(3)
    np.float64(-0.5)
    """
    n_levels = np.array([variable.n_levels for variable in variables])
    start = np.cumsum(n_levels) - n_levels
    indicators = np.zeros((len(rows), n_levels.sum()))
    np.put_along_axis(indicators, start + rows, 1.0, axis=1)
    share, both = indicators.mean(axis=0), indicators.T @ indicators / len(rows)
    expected = np.outer(share, share)
    cells = np.divide(both**2, expected, out=np.zeros(both.shape), where=expected > 0)
    phi_squared = np.add.reduceat(np.add.reduceat(cells, start, axis=0), start, axis=1) - 1.0
    fewest = np.maximum(np.minimum.outer(n_levels, n_levels) - 1, 1)
    found: Array = np.sqrt(np.maximum(phi_squared, 0.0) / fewest)
    scored = np.flatnonzero([variable.is_scored for variable in variables])
    if scored.size:
        scores = [np.array(variables[k].scores)[rows[:, k]] for k in scored.tolist()]
        found[np.ix_(scored, scored)] = _correlations(np.column_stack(scores))
    return found


def _correlations(values: Array) -> Array:
    """Correlations of columns, 0 where a column is constant."""
    centered = values - values.mean(axis=0)
    centered[:, np.all(values == values[0], axis=0)] = 0.0  # not up to rounding
    scale = np.sqrt((centered**2).sum(axis=0))
    standard = np.divide(centered, scale, out=np.zeros(values.shape), where=scale > 0)
    return np.asarray(standard.T @ standard)
