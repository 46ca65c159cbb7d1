"""New rows sampled from a field or from a mixture of fields."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield import validation
from slabfield.datasets.gibbs_runs import GibbsRuns
from slabfield.evaluate.fields import as_fields, field_of_draw
from slabfield.inference import elimination, enumeration
from slabfield.models.field import BinaryField
from slabfield.posterior import Posterior

MOST_FIELDS = 500
"""Upper limit on the posterior draws whose fields are sampled."""

MOST_ENUMERATED = 12
"""Largest number of nodes that is enumerated; larger fields use variable elimination."""

MEMORY_LIMIT = 2**24
"""Bytes of elimination tables above which a field is sampled by Gibbs runs."""

N_SWEEPS = 1_000
"""Sweeps of each Gibbs run."""


def sample_rows(model: Any, n_rows: int, random_state: Any = None) -> NDArray[np.uint8]:
    """Sample rows from a field, or from a mixture of fields.

    Samples are exact where the field has at most 12 nodes, or a treewidth small enough for
    variable elimination in 16 MB. Elsewhere each row is the last state of its own Gibbs run, of
    1,000 sweeps from a uniformly random state.

    Parameters
    ----------
    model : BinaryField, fitted estimator, Posterior, or sequence of fields
        A posterior is the mixture of its draws (the posterior predictive distribution), of which
        up to 500, chosen at random, are used.
    n_rows : int
        Number of rows.
    random_state : int, RandomState, Generator or None
        Source of randomness.

    Returns
    -------
    array of uint8, shape (n_rows, D)
        The rows, in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import sample_rows
    >>> from slabfield.models.field import BinaryField
    >>> field = BinaryField([-50.0, 50.0], np.zeros((2, 2)))
    >>> sample_rows(field, 2, random_state=0)
    array([[0, 1],
           [0, 1]], dtype=uint8)
    """
    n_rows = validation.check_positive_int("n_rows", n_rows, low=0)
    rng = np.random.default_rng(validation.seed_of(random_state))
    if isinstance(model, Posterior):
        n_fields, n_nodes = model.draws.n_chains * model.draws.n_draws, model.n_nodes
    else:
        fields = as_fields(model)
        n_fields, n_nodes = len(fields), fields[0].n_nodes
    chosen = rng.permutation(n_fields)[: min(n_rows, MOST_FIELDS)]
    which = rng.permutation(np.arange(n_rows) % max(chosen.size, 1))
    rows = np.empty((n_rows, n_nodes), dtype=np.uint8)
    for k, index in enumerate(chosen.tolist()):
        here = np.flatnonzero(which == k)
        one = field_of_draw(model, index) if isinstance(model, Posterior) else fields[index]
        rows[here] = _sample(one, here.size, rng)
    return rows


def _sample(field: BinaryField, n_rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    if field.n_nodes <= MOST_ENUMERATED:
        return enumeration.sample(field, n_rows, rng)
    try:
        return elimination.sample(field, n_rows, rng, memory_limit=MEMORY_LIMIT)
    except elimination.TableTooLargeError:
        runs = GibbsRuns(field.n_nodes, n_rows, rng)
        runs.advance(field, N_SWEEPS)
        return np.ascontiguousarray(runs.states.T.astype(np.uint8))
