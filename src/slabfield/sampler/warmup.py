"""Warm-up: how a chain starts, and what it learns before it is kept: variances, then frozen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.likelihood.moments import Engine, feature_covariance, feature_variances
from slabfield.models.protocol import Model, Sums
from slabfield.moves.impute import Unknown, new_unknown
from slabfield.moves.jump import JumpSettings, jump_order
from slabfield.moves.langevin import LangevinSettings
from slabfield.moves.state import ChainState, insert, new_state
from slabfield.priors import Prior
from slabfield.sampler.settings import Settings

Array = NDArray[np.float64]

CHUNK_SECONDS = 0.2


def chunks(total: int, most: int = 1 << 30) -> Iterator[int]:
    """Cut work into pieces of about ``CHUNK_SECONDS`` each, by how long the one before took."""
    done, size = 0, 1
    while done < total:
        size = min(size, total - done, most)
        clock = time.perf_counter()
        yield size
        elapsed = time.perf_counter() - clock
        done += size
        size = max(1, min(2 * size, int(size * CHUNK_SECONDS / max(elapsed, 1e-6))))


class Problem(NamedTuple):
    """What is to be learnt: a model, the data's rows and sums, the prior, and missing entries.

    All but the pseudo-likelihood know the data by the sums; rows are where particles, and the
    pseudo-likelihood's rough answer, start from. They may be a sample where there are many. Row t
    counts ``times[t]``, or once where that is empty.
    """

    model: Any
    rows: NDArray[Any]
    sums: Sums
    prior: Prior
    unknown: Unknown = new_unknown(None, np.zeros((0, 0)), np.zeros((0, 0), np.bool_))
    times: NDArray[np.float64] = np.zeros(0)


def complete(problem: Problem, rng: np.random.Generator) -> Problem:
    """Return the problem with rows and sums of its own, missing entries drawn column by column.

    They are drawn as often 1 as the others of their column are.
    """
    known = problem.unknown
    if known.row.size == 0:
        return problem
    rows, missing = problem.rows.copy(), np.zeros(problem.rows.shape, np.bool_)
    missing[known.row, known.node] = True
    share = np.average(rows, axis=0, weights=~missing)
    rows[known.row, known.node] = rng.random(known.row.size) < share[known.node]
    unknown = new_unknown(problem.model, rows, missing)
    return problem._replace(rows=rows, sums=problem.model.sums(rows), unknown=unknown)


def random_state(problem: Problem, rng: np.random.Generator, most: float = np.inf) -> ChainState:
    """Draw a start: structure and couplings from the prior, biases and momenta from N(0, 1).

    Where the prior expects more edges than ``most`` only that many are expected, besides those
    that are forced.
    """
    model, prior = problem.model, problem.prior
    starts = model.group_start
    state = new_state(model.n_biases, int(starts[-1]), starts.size - 1)
    state.hyper[0] = rng.beta(prior.beta_a, prior.beta_b)
    state.hyper[1] = np.sqrt(prior.gamma_rate / rng.gamma(prior.gamma_shape))
    if not prior.learnt.any():
        same = np.all(prior.inclusion == prior.inclusion[:1])
        state.hyper[0] = prior.inclusion[0] if same else np.nan
    if not np.isnan(prior.slab_scale):
        state.hyper[1] = prior.slab_scale
    chance = np.where(prior.learnt, state.hyper[0], prior.inclusion)
    free = prior.inclusion != 1.0
    chance[free] *= min(most / max(float(chance[free].sum()), 1e-9), 1.0)
    for alpha in np.flatnonzero(rng.random(chance.size) < chance):
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
        """Forget what was averaged so far at the next addition."""
        self.count = 0

    def add(self, engine: Engine, model: Model, state: ChainState) -> None:
        """Take in what the engine shows now."""
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
        """Windows of jumps, and the order of births that they bring."""
        model, sums, prior = problem.model, problem.sums, problem.prior
        variances = self.variances[model.n_biases :]
        width = settings.jump_scale / np.sqrt(sums.n_rows * variances)
        order, n_learnt, log_bound = jump_order(
            prior.inclusion, width, model.group_start, sums.coupling, sums.n_rows,
            lazy=settings.scheme == "approximate" and model.single_binary,
        )  # fmt: skip
        return JumpSettings(
            width,
            settings.add_probability,
            settings.delete_probability,
            order,
            n_learnt,
            log_bound,
        )
