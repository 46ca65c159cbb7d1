"""Log-likelihoods of whole rows: exact where feasible, else estimates with standard errors."""

from __future__ import annotations

from functools import singledispatch
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from slabfield import validation
from slabfield.datasets.gibbs_runs import neighbor_lists
from slabfield.evaluate.fields import Array, Evaluable, as_fields, check_rows, log_mean_exp
from slabfield.inference import elimination, enumeration
from slabfield.inference.level_gibbs_runs import neighbor_table
from slabfield.kernels.annealing import anneal
from slabfield.kernels.energy_gibbs import anneal_levels
from slabfield.kernels.gibbs import new_streams
from slabfield.models.energy_field import EnergyField
from slabfield.models.field import BinaryField
from slabfield.models.protocol import Field, n_joint_states

Method = Literal["auto", "enumeration", "elimination", "annealing"]
RandomState = int | np.random.Generator | None

N_PARTICLES = 512
"""Default number of annealed particles."""

N_TEMPERATURES = 2_000
"""Default number of steps of the temperature ladder."""

MAX_BASE_BIAS = 4.0
"""Largest magnitude of a bias of the independent field at the start of annealing, in log odds."""


class LogPartition(NamedTuple):
    """A log normalizing constant and its standard error.

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
    """Standard error of the value; 0 if it is exact."""
    method: str
    """'enumeration', 'elimination' or 'annealing'."""
    effective_particles: float
    """Effective sample size of the annealed weights; infinite if the value is exact."""


class LogLikelihood(NamedTuple):
    """Log probabilities of rows and their standard errors.

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
    """Standard error of each, shape (N,). The errors of all rows stem from the same log Z."""
    method: str
    """'enumeration', 'elimination' or 'annealing'; for a mixture, the least exact one used."""


def log_partition(
    field: Field,
    method: Method = "auto",
    random_state: RandomState = None,
    *,
    memory_limit: int = elimination.MEMORY_LIMIT,
    n_particles: int = N_PARTICLES,
    n_temperatures: int = N_TEMPERATURES,
    n_sweeps: int = 1,
) -> LogPartition:
    """Logarithm of the normalizing constant of a field.

    Parameters
    ----------
    field : BinaryField or LevelField
        The field.
    method : {"auto", "enumeration", "elimination", "annealing"}
        "auto" enumerates up to 1,048,576 joint states (20 binary nodes, 12 of three levels), else
        uses variable elimination if the tables fit the memory limit, and else annealed importance
        sampling.
    random_state : int, numpy.random.Generator or None
        Source of randomness of "annealing".
    memory_limit : int
        Upper limit on the bytes of the tables of "elimination".
    n_particles, n_temperatures, n_sweeps : int
        Annealed importance sampling (Neal 2001): number of particles, of steps of the temperature
        ladder from an independent field, and of Gibbs sweeps at each step. The standard error is
        that of the mean weight. If only a few particles carry the weight
        (``effective_particles`` below about a tenth of them), the value is likely too low and its
        standard error too small; more temperatures are then needed.

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
    validation.check_choice("method", method, get_args(Method))
    small = n_joint_states(field) <= enumeration.MAX_STATES
    if method == "enumeration" or (method == "auto" and small):
        return LogPartition(enumeration.log_partition(field), 0.0, "enumeration", np.inf)
    if method != "annealing":
        try:
            value = elimination.log_partition(field, memory_limit)
            return LogPartition(value, 0.0, "elimination", np.inf)
        except elimination.TableTooLargeError:
            if method == "elimination":
                raise
    n_particles = validation.check_positive_int("n_particles", n_particles, low=2)
    n_temperatures = validation.check_positive_int("n_temperatures", n_temperatures)
    n_sweeps = validation.check_positive_int("n_sweeps", n_sweeps)
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
    model : BinaryField or LevelField, fitted estimator, or sequence of these
        A sequence is a mixture: probabilities are averaged, not their logarithms.
    rows : array of shape (N, D)
        States: codes 0, 1, ...
    method, random_state, memory_limit, n_particles, n_temperatures, n_sweeps
        How normalizing constants are computed, as in `log_partition`.

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
    states = check_rows(rows, fields[0].n_states)
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
    # to first order, the error of each field is weighted by its share of the row's probability
    shares = np.exp(logs - mixed) / len(fields)
    errors = np.array([c.standard_error for c in constants])
    used = {c.method for c in constants}
    least_exact = next(m for m in ("annealing", "elimination", "enumeration") if m in used)
    standard_error = np.sqrt(((shares * errors[:, None]) ** 2).sum(axis=0))
    return LogLikelihood(mixed, standard_error, least_exact)


def _annealed(
    field: Field,
    rng: np.random.Generator,
    n_particles: int,
    n_temperatures: int,
    n_sweeps: int,
) -> LogPartition:
    ladder = np.linspace(0.0, 1.0, n_temperatures + 1)
    base_value, log_weight = anneal_weights(field, rng, n_particles, ladder, n_sweeps)
    relative = np.exp(log_weight - log_weight.max())
    mean = relative.mean()
    error = relative.std(ddof=1) / (mean * np.sqrt(n_particles))
    value = base_value + log_weight.max() + np.log(mean)
    effective = relative.sum() ** 2 / (relative**2).sum()
    return LogPartition(float(value), float(error), "annealing", float(effective))


@singledispatch
def anneal_weights(
    field: Field, rng: np.random.Generator, n_particles: int, ladder: Array, n_sweeps: int
) -> tuple[float, Array]:
    """Return log Z of the independent field at the start, and log weights of annealed particles.

    In that field every node has the energies of its levels with each neighbor averaged over its own
    levels, so that it does not depend on how levels are coded. A mean-field start would converge to
    one of several modes: on lattices with Ising couplings of standard deviation 1, the resulting
    log Z was too low by 1. Energies are clipped because a start that is too concentrated does not
    cover the field.
    """
    energies = EnergyField.of(field)
    sizes = energies.n_states
    averaged = energies.pair @ (1.0 / np.repeat(sizes, sizes))
    base = energies.node + averaged
    base -= np.repeat(np.maximum.reduceat(base, energies.start[:-1]), sizes)
    base = np.maximum(base, -MAX_BASE_BIAS)
    states = np.empty((energies.n_nodes, n_particles), np.uint8)
    for i, (begin, end) in enumerate(zip(energies.start[:-1], energies.start[1:], strict=True)):
        share = np.exp(base[begin:end])
        states[i] = rng.choice(end - begin, n_particles, p=share / share.sum())
    log_weight = np.zeros(n_particles)
    anneal_levels(
        states, energies.start, base, energies.node, energies.pair,
        *neighbor_table(energies.edges), ladder, n_sweeps, rng, log_weight,
    )  # fmt: skip
    return float(np.log(np.add.reduceat(np.exp(base), energies.start[:-1])).sum()), log_weight


@anneal_weights.register
def _(
    field: BinaryField, rng: np.random.Generator, n_particles: int, ladder: Array, n_sweeps: int
) -> tuple[float, Array]:
    # the same independent field: couplings are dropped on the Ising scale
    base = np.clip(2 * field.to_ising()[0], -MAX_BASE_BIAS, MAX_BASE_BIAS)
    probability = 1 / (1 + np.exp(-base))
    states = (rng.random((field.n_nodes, n_particles)) < probability[:, None]).astype(np.float32)
    neighbors, weights, degree = neighbor_lists(field)
    log_weight = np.zeros(n_particles)
    anneal(
        states, base, np.array(field.bias), neighbors, weights, degree, ladder, n_sweeps,
        new_streams(n_particles, rng), log_weight,
    )  # fmt: skip
    return float(np.logaddexp(0.0, base).sum()), log_weight
