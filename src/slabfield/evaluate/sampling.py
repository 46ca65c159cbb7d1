"""New rows sampled from a field or from a mixture of fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slabfield import validation
from slabfield.datasets.gibbs_runs import GibbsRuns
from slabfield.evaluate.fields import Evaluable, as_fields
from slabfield.inference import elimination, enumeration
from slabfield.inference.level_gibbs_runs import LevelGibbsRuns
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field, n_joint_states

MOST_FIELDS = 500
"""Upper limit on the fields of a mixture that are sampled."""

MOST_STATES = 2**12
"""Largest number of joint states that are enumerated; larger fields use variable elimination."""

MEMORY_LIMIT = 2**24
"""Bytes of elimination tables above which a field is sampled by Gibbs runs."""

N_SWEEPS = 1_000
"""Sweeps of each Gibbs run."""


def sample_rows(model: Evaluable, n_rows: int, random_state: Any = None) -> NDArray[np.uint8]:
    """Sample rows from a field, or from a mixture of fields.

    Samples are exact where the field has at most 4,096 joint states, or a treewidth small enough
    for variable elimination in 16 MB. Elsewhere each row is the last state of its own Gibbs run, of
    1,000 sweeps from a uniformly random state.

    Parameters
    ----------
    model : BinaryField or LevelField, fitted estimator, or sequence of these
        A sequence is a mixture, of which up to 500 fields, chosen at random, are used.
    n_rows : int
        Number of rows.
    random_state : int, RandomState, Generator or None
        Source of randomness.

    Returns
    -------
    array of uint8, shape (n_rows, D)
        The rows, in random order: codes 0, 1, ...

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
    # the fields of a posterior are made when they are needed: all at once may not fit into memory
    members = model if isinstance(model, Sequence) and len(model) else as_fields(model)
    (first,) = as_fields(members[:1])
    chosen = rng.permutation(len(members))[: min(n_rows, MOST_FIELDS)]
    which = rng.permutation(np.arange(n_rows) % max(chosen.size, 1))
    rows = np.empty((n_rows, first.n_nodes), dtype=np.uint8)
    for k, index in enumerate(chosen.tolist()):
        here = np.flatnonzero(which == k)
        _, field = as_fields([first, members[index]])
        rows[here] = _sample(field, here.size, rng)
    return rows


class Runs(Protocol):
    """Gibbs runs; ``states`` is (D, n_runs)."""

    states: Any

    def advance(self, field: Any, n_sweeps: int) -> None:
        """Run Gibbs sweeps of all states under the field."""


@singledispatch
def new_gibbs_runs(field: Field, n_runs: int, rng: np.random.Generator) -> Runs:
    """Return Gibbs runs for a field and others over the same nodes."""
    return LevelGibbsRuns(field.n_states, n_runs, rng)


@new_gibbs_runs.register
def _(field: BinaryField, n_runs: int, rng: np.random.Generator) -> Runs:
    return GibbsRuns(field.n_nodes, n_runs, rng)


def _sample(field: Field, n_rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    if n_joint_states(field) <= MOST_STATES:
        return enumeration.sample(field, n_rows, rng)
    try:
        return elimination.sample(field, n_rows, rng, memory_limit=MEMORY_LIMIT)
    except elimination.TableTooLargeError:
        runs = new_gibbs_runs(field, n_rows, rng)
        runs.advance(field, N_SWEEPS)
        return np.ascontiguousarray(runs.states.T.astype(np.uint8))
