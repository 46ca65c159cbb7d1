"""Log-likelihoods of whole rows: exact where that can be, else with an error bar."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from slabfield import checks
from slabfield.datasets.runs import neighbour_lists
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows, log_mean_exp
from slabfield.exact import elimination, enumeration
from slabfield.kernels.annealing import anneal
from slabfield.kernels.gibbs import new_lanes
from slabfield.models.field import BinaryField

Method = Literal["auto", "enumeration", "elimination", "annealing"]
RandomState = int | np.random.Generator | None

N_PARTICLES = 512
N_TEMPERATURES = 2_000
LARGEST_BASE = 4.0


class LogPartition(NamedTuple):
    """A normalising constant and how well it is known.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import log_partition
    >>> from slabfield.models.field import BinaryField
    >>> coins = BinaryField(np.zeros(3), np.zeros((3, 3)))
    >>> log_partition(coins).method
    'enumeration'
    """

    value: float
    """log Z."""
    standard_error: float
    """Standard error of the value; 0 where it is exact."""
    method: str
    """'enumeration', 'elimination' or 'annealing'."""
    effective_particles: float
    """Particles that the annealed weights are worth; infinite where the value is exact."""


class LogLikelihood(NamedTuple):
    """Log probabilities of rows and how well they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.evaluate import log_likelihood
    >>> from slabfield.models.field import BinaryField
    >>> coins = BinaryField(np.zeros(3), np.zeros((3, 3)))
    >>> log_likelihood(coins, [[0, 1, 1]]).values.round(3)
    array([-2.079])
    """

    values: Array
    """log P(row), shape (N,)."""
    standard_error: Array
    """Standard error of each, shape (N,). The errors of the rows are those of the same log Z."""
    method: str
    """'enumeration', 'elimination' or 'annealing'; of a mixture, the least exact one used."""


def log_partition(
    field: BinaryField,
    method: Method = "auto",
    random_state: RandomState = None,
    *,
    memory_limit: int = elimination.MEMORY_LIMIT,
    n_particles: int = N_PARTICLES,
    n_temperatures: int = N_TEMPERATURES,
    n_sweeps: int = 1,
) -> LogPartition:
    """Logarithm of the normalising constant of a field.

    Parameters
    ----------
    field : BinaryField
        The field.
    method : {"auto", "enumeration", "elimination", "annealing"}
        "auto" enumerates up to 20 nodes, else eliminates variables where the tables fit the
        memory limit, and else anneals.
    random_state : int, numpy.random.Generator or None
        Source of randomness of "annealing".
    memory_limit : int
        Most bytes of tables of "elimination".
    n_particles, n_temperatures, n_sweeps : int
        Annealed importance sampling (Neal 2001): particles, steps of the ladder from an
        independent field, and Gibbs sweeps at each. The error bar is that of the mean of the
        weights; where only a few particles carry the weight (``effective_particles`` below about
        a tenth of them) the value is likely too low and the bar too small, and more temperatures
        are needed.

    Returns
    -------
    LogPartition
        Value, standard error, method, and effective particles.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets import make_block
    >>> from slabfield.evaluate import log_partition
    >>> field = make_block(10, random_state=1).field
    >>> exact = log_partition(field)
    >>> annealed = log_partition(field, "annealing", random_state=0)
    >>> bool(abs(annealed.value - exact.value) < 4 * annealed.standard_error)
    True
    """
    checks.check_choice("method", method, get_args(Method))
    if method == "enumeration" or (method == "auto" and field.n_nodes <= enumeration.MAX_NODES):
        return LogPartition(enumeration.log_partition(field), 0.0, "enumeration", np.inf)
    if method != "annealing":
        try:
            value = elimination.log_partition(field, memory_limit)
            return LogPartition(value, 0.0, "elimination", np.inf)
        except elimination.TableTooLargeError:
            if method == "elimination":
                raise
    n_particles = checks.check_positive_int("n_particles", n_particles, low=2)
    n_temperatures = checks.check_positive_int("n_temperatures", n_temperatures)
    n_sweeps = checks.check_positive_int("n_sweeps", n_sweeps)
    rng = np.random.default_rng(random_state)
    return _annealed(field, rng, n_particles, n_temperatures, n_sweeps)


def log_likelihood(
    model: Evaluable,
    rows: ArrayLike,
    method: Method = "auto",
    random_state: RandomState = None,
    *,
    memory_limit: int = elimination.MEMORY_LIMIT,
    n_particles: int = N_PARTICLES,
    n_temperatures: int = N_TEMPERATURES,
    n_sweeps: int = 1,
) -> LogLikelihood:
    """Log probability of each row.

    Parameters
    ----------
    model : BinaryField, fitted estimator, or sequence of these
        A sequence is a mixture: probabilities are averaged, not their logarithms.
    rows : array of shape (N, D)
        States, 0 or 1.
    method, random_state, memory_limit, n_particles, n_temperatures, n_sweeps
        How normalising constants are found, as in `log_partition`.

    Returns
    -------
    LogLikelihood
        Values and standard errors of the rows.

    Examples
    --------
    >>> from slabfield.datasets import make_lattice
    >>> from slabfield.evaluate import log_likelihood
    >>> field, rows, _ = make_lattice(5, shape=(6, 6), random_state=1)
    >>> result = log_likelihood(field, rows)
    >>> result.method, result.values.shape, float(result.standard_error.max())
    ('elimination', (5,), 0.0)
    """
    fields = as_fields(model)
    states = check_rows(rows, fields[0].n_nodes)
    rng = np.random.default_rng(random_state)
    constants = [
        log_partition(
            field, method, rng, memory_limit=memory_limit, n_particles=n_particles,
            n_temperatures=n_temperatures, n_sweeps=n_sweeps,
        )
        for field in fields
    ]  # fmt: skip
    logs = np.stack(
        [f.log_potential(states) - c.value for f, c in zip(fields, constants, strict=True)]
    )
    mixed = log_mean_exp(logs)
    # to first order, each field's error counts by its share of the row's probability
    shares = np.exp(logs - mixed) / len(fields)
    errors = np.array([c.standard_error for c in constants])
    used = {c.method for c in constants}
    worst = next(m for m in ("annealing", "elimination", "enumeration") if m in used)
    return LogLikelihood(mixed, np.sqrt(((shares * errors[:, None]) ** 2).sum(axis=0)), worst)


def _annealed(
    field: BinaryField,
    rng: np.random.Generator,
    n_particles: int,
    n_temperatures: int,
    n_sweeps: int,
) -> LogPartition:
    base = _independent(field)
    chance = 1 / (1 + np.exp(-base))
    states = (rng.random((field.n_nodes, n_particles)) < chance[:, None]).astype(np.float32)
    neighbours, weights, degree = neighbour_lists(field)
    log_weight = np.zeros(n_particles)
    anneal(
        states, base, np.array(field.bias), neighbours, weights, degree,
        np.linspace(0.0, 1.0, n_temperatures + 1), n_sweeps, new_lanes(n_particles, rng),
        log_weight,
    )  # fmt: skip
    relative = np.exp(log_weight - log_weight.max())
    mean = relative.mean()
    error = relative.std(ddof=1) / (mean * np.sqrt(n_particles))
    value = np.logaddexp(0.0, base).sum() + log_weight.max() + np.log(mean)
    effective = relative.sum() ** 2 / (relative**2).sum()
    return LogPartition(float(value), float(error), "annealing", float(effective))


def _independent(field: BinaryField) -> Array:
    """Biases of the field on the Ising scale, its couplings taken away there.

    Taken away on the 0/1 scale, couplings would leave biases that lean far to one side. A mean
    field would settle in one mode of several: on lattices with Ising couplings of sd 1 the values
    found from it were too low by 1. A base that is too sure does not cover the field.
    """
    return np.asarray(np.clip(2 * field.to_ising()[0], -LARGEST_BASE, LARGEST_BASE))
