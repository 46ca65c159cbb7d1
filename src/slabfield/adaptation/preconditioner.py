"""The preconditioner that the paper's chain learns in warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.configuration import Settings
from slabfield.likelihood.feature_moments import feature_covariance, feature_variances
from slabfield.models.protocol import Model
from slabfield.moves.chain_state import ChainState
from slabfield.moves.langevin import LangevinSettings
from slabfield.moves.reversible_jump import JumpSettings, jump_order
from slabfield.problem import Problem

Array = NDArray[np.float64]


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

    def add(self, engine: Any, model: Model, state: ChainState) -> None:
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
