"""Problem and start of a chain, and the preconditioner that the paper's chain learns in warm-up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.configuration import Settings
from slabfield.likelihood.feature_moments import Engine, feature_covariance, feature_variances
from slabfield.models.protocol import Model, Sums
from slabfield.moves.chain_state import ChainState, insert, new_state
from slabfield.moves.imputation import MissingEntries, new_missing_entries
from slabfield.moves.langevin import LangevinSettings
from slabfield.moves.reversible_jump import JumpSettings, jump_order
from slabfield.priors import Prior

Array = NDArray[np.float64]

# Seconds that one call of compiled code should take
CHUNK_SECONDS = 0.2


def chunks(total: int, most: int = 1 << 30) -> Iterator[int]:
    """Cut work into chunks of about ``CHUNK_SECONDS``, by the time that the last one took."""
    done, size = 0, 1
    while done < total:
        size = min(size, total - done, most)
        clock = time.perf_counter()
        yield size
        elapsed = time.perf_counter() - clock
        done += size
        size = max(1, min(2 * size, int(size * CHUNK_SECONDS / max(elapsed, 1e-6))))


class Problem(NamedTuple):
    """A model, the rows and sums of the data, the prior, and the missing entries.

    All engines but the pseudo-likelihood use the sums alone; particles and the pseudo-likelihood
    pilot run start from the rows, which may then be a sample. Row t counts ``times[t]``, or once if
    ``times`` is empty.
    """

    model: Any
    rows: NDArray[Any]
    sums: Sums
    prior: Prior
    missing_entries: MissingEntries = new_missing_entries(
        None, np.zeros((0, 0)), np.zeros((0, 0), np.bool_)
    )
    times: NDArray[np.float64] = np.zeros(0)


def complete(problem: Problem, rng: np.random.Generator) -> Problem:
    """Fill in missing entries from the frequencies of their columns, in a copy of the data."""
    known = problem.missing_entries
    if known.row.size == 0:
        return problem
    rows, missing = problem.rows.copy(), np.zeros(problem.rows.shape, np.bool_)
    missing[known.row, known.node] = True
    share = np.average(rows, axis=0, weights=~missing)
    rows[known.row, known.node] = rng.random(known.row.size) < share[known.node]
    missing_entries = new_missing_entries(problem.model, rows, missing)
    return problem._replace(
        rows=rows, sums=problem.model.sums(rows), missing_entries=missing_entries
    )


def random_state(problem: Problem, rng: np.random.Generator, most: float = np.inf) -> ChainState:
    """Draw a start: structure and couplings from the prior, biases and momenta from N(0, 1).

    Inclusion probabilities are scaled down so that at most ``most`` edges are expected besides
    those that are forced.
    """
    model, prior = problem.model, problem.prior
    n_interactions, n_parameters = len(model.interactions), model.interactions.n_parameters
    state = new_state(model.n_biases, n_parameters, n_interactions)
    state.hyper[0] = rng.beta(prior.beta_a, prior.beta_b)
    state.hyper[1] = np.sqrt(prior.gamma_rate / rng.gamma(prior.gamma_shape))
    if not prior.learned.any():
        same = np.all(prior.inclusion == prior.inclusion[:1])
        state.hyper[0] = prior.inclusion[0] if same else np.nan
    if not np.isnan(prior.slab_scale):
        state.hyper[1] = prior.slab_scale
    probability = np.where(prior.learned, state.hyper[0], prior.inclusion)
    free = prior.inclusion != 1.0
    probability[free] *= min(most / max(float(probability[free].sum()), 1e-9), 1.0)
    for alpha in np.flatnonzero(rng.random(probability.size) < probability):
        insert(state, alpha)
        group = model.group(int(alpha))
        state.coupling[group] = state.hyper[1] * rng.standard_normal(group.stop - group.start)
        state.coupling_momentum[group] = rng.standard_normal(group.stop - group.start)
    state.bias[:] = rng.standard_normal(state.bias.size)
    state.bias_momentum[:] = rng.standard_normal(state.bias.size)
    return state


class Averages:
    """Running averages of feature variances (or covariances) and of the slab's precision."""

    def __init__(self, variances: Array, slab_precision: float, full: bool) -> None:
        self.full = full
        self.count = 0
        self.variances = variances
        self.covariance = np.diag(variances) if full else np.zeros((0, 0))
        self.slab_precision = slab_precision

    def restart(self) -> None:
        """Start new averages at the next addition."""
        self.count = 0

    def add(self, engine: Engine, model: Model, state: ChainState) -> None:
        """Add the engine's current moments and the slab's precision."""
        self.count += 1
        weight = 1.0 / self.count
        if self.full:
            now = feature_covariance(engine, model)
            self.covariance = self.covariance + weight * (now - self.covariance)
            self.variances = np.diag(self.covariance).copy()
        else:
            variances = feature_variances(engine, model)
            self.variances = self.variances + weight * (variances - self.variances)
        self.slab_precision += weight * (float(state.hyper[1]) ** -2 - self.slab_precision)

    def langevin(self, settings: Settings, problem: Problem) -> LangevinSettings:
        """Preconditioner H = Cov f + prior precision, averaged (equation 15)."""
        n_biases = problem.model.n_biases
        prior_precision = np.full(self.variances.size, self.slab_precision)
        prior_precision[:n_biases] = problem.prior.bias_precision
        scale = 1.0 / np.sqrt(self.variances + prior_precision)
        hessian = self.covariance + np.diag(prior_precision) if self.full else np.zeros((0, 0))
        return LangevinSettings(
            settings.step_size,
            settings.persistence,
            scale[:n_biases].copy(),
            scale[n_biases:].copy(),
            self.full,
            hessian,
        )

    def jumps(self, settings: Settings, problem: Problem) -> JumpSettings:
        """Windows of jumps, and the order in which births are proposed."""
        model, sums, prior = problem.model, problem.sums, problem.prior
        variances = self.variances[model.n_biases :]
        width = settings.jump_scale / np.sqrt(sums.n_rows * variances)
        order, n_learned, log_bound = jump_order(
            prior.inclusion, width, model.group_start, sums.coupling, sums.n_rows,
            lazy=settings.scheme == "approximate" and model.single_binary,
        )  # fmt: skip
        return JumpSettings(
            width,
            settings.add_probability,
            settings.delete_probability,
            order,
            n_learned,
            log_bound,
        )
