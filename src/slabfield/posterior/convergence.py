"""Convergence of chains, from their draws: R-hat, effective draws, Monte Carlo errors, criteria."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.draws import Draws

Array = NDArray[np.float64]

# Criteria of "converged": R-hat below and effective draws above these limits, for the global
# quantities (p0, sigma0 of each slab, density, log potential), biases and undecided edges
RHAT_LIMIT, ESS_LIMIT = 1.05, 100.0
# and a Monte Carlo standard error of every inclusion probability of at most this, by default
TOLERANCE = 0.02
# Inclusion probabilities of edges that count as undecided
UNDECIDED_RANGE = (0.05, 0.95)
# Diagnostics of an edge are computed if at least this share of draws has it
MIN_VISIT_SHARE = 0.01
# Draws per chain that R-hat and effective draws need
MIN_DRAWS = 4
# Edges whose diagnostics are computed at a time
BATCH = 500


def array_stats() -> Any:
    """Import arviz-stats on first use: the import takes a second."""
    from arviz_stats.base.array import array_stats

    return array_stats


def rhat_and_ess(values: NDArray[Any]) -> tuple[Array, Array]:
    """Rank-normalized R-hat and bulk effective draws along the last axis; NaN where constant.

    R-hat splits every chain in two and drops the middle draw of an odd number; a quantity that
    changes only in that draw counts as constant. R-hat is infinite if every half is constant but
    the halves differ.
    """
    n_chains, n_draws, size = values.shape
    rhat, ess = np.full(size, np.nan), np.full(size, np.nan)
    if n_draws < MIN_DRAWS:
        return rhat, ess
    half = n_draws // 2
    for k in range(size):
        series = values[:, :, k].astype(np.float64)
        split = np.concatenate([series[:, :half], series[:, -half:]])
        if not np.ptp(split) > 0:
            continue
        ess[k] = array_stats().ess(series)
        if n_chains > 1 and np.any(np.ptp(split, axis=1) > 0):
            # If exactly half of the draws are 1, folding them about their median gives 0 / 0.
            with np.errstate(divide="ignore", invalid="ignore"):
                rhat[k] = array_stats().rhat(series)
        elif n_chains > 1:
            rhat[k] = np.inf
    return rhat, ess


class Worst(NamedTuple):
    """The largest R-hat and the fewest effective draws of the global quantities, and of which.

    This is the one R-hat that the progress of a run and its summary show. Both are NaN if they
    are unknown.

    Examples
    --------
    >>> from slabfield.posterior.convergence import Worst
    >>> print(Worst(1.0123, "sigma0", 310.4, "p0"))
    largest R-hat 1.012 (sigma0), fewest effective draws 310 (p0)
    """

    rhat: float = nan
    rhat_of: str = ""
    ess: float = nan
    ess_of: str = ""

    @property
    def known(self) -> bool:
        """Whether R-hat or the effective draws are known."""
        return not (isnan(self.rhat) and isnan(self.ess))

    def describe(self, limits: bool = False) -> str:
        """Return both in words, optionally with the limits of convergence."""
        low, high = ("; wanted below {:g}", "; wanted at least {:g}") if limits else ("", "")
        parts = []
        if not isnan(self.rhat):
            limit = low.format(RHAT_LIMIT)
            parts.append(f"largest R-hat {self.rhat:.3f} ({self.rhat_of}{limit})")
        if not isnan(self.ess):
            limit = high.format(ESS_LIMIT)
            parts.append(f"fewest effective draws {self.ess:,.0f} ({self.ess_of}{limit})")
        return ", ".join(parts) or "R-hat and effective draws cannot be computed"

    def __str__(self) -> str:
        return self.describe()


def worst_of(found: Mapping[str, tuple[Array, Array]]) -> Worst:
    """Return the worst of the diagnostics of :func:`global_diagnostics`."""
    rhat = {name: float(one[0]) for name, (one, _) in found.items() if not isnan(one[0])}
    ess = {name: float(one[0]) for name, (_, one) in found.items() if not isnan(one[0])}
    largest = max(rhat, key=rhat.__getitem__, default="")
    fewest = min(ess, key=ess.__getitem__, default="")
    return Worst(rhat.get(largest, nan), largest, ess.get(fewest, nan), fewest)


def global_diagnostics(series: Mapping[str, Array]) -> dict[str, tuple[Array, Array]]:
    """R-hat and effective draws of named quantities, each an array (chains, draws).

    Effective draws are those of the bulk or of the tails, whichever are fewer.
    """
    found = {name: rhat_and_ess(values[..., None]) for name, values in series.items()}
    for name, (_, ess) in found.items():
        if np.isfinite(ess[0]):
            ess[0] = min(ess[0], array_stats().ess(series[name], method="tail", prob=(0.05, 0.95)))
    return found


def global_series(draws: Draws) -> dict[str, Array]:
    """Draws of p0, of the scale of each slab, of the density and of the log potential, by name."""
    series = {"p0": draws.p0, "sigma0": draws.sigma0}
    if draws.sigma0_nominal is not None:
        series["sigma0_nominal"] = draws.sigma0_nominal
    return series | {"density": draws.density, "potential": draws.potential}


class Convergence:
    """R-hat and effective draws of all quantities, each computed when it is first asked for.

    All pairs are (R-hat, effective draws).

    Parameters
    ----------
    draws : Draws
    tolerance : float
        Largest Monte Carlo standard error that an inclusion probability may have.
    """

    def __init__(self, draws: Draws, tolerance: float = TOLERANCE) -> None:
        self.draws, self.tolerance = draws, tolerance

    @property
    def reached(self) -> bool:
        """Whether every quantity meets the criteria."""
        if self.draws.n_draws < MIN_DRAWS or self.unconverged_quantities:
            return False
        return self.unconverged_biases.size == 0 and self.unconverged_edges.size == 0

    @cached_property
    def quantities(self) -> dict[str, tuple[Array, Array]]:
        """Diagnostics of p0, sigma0, the density and the log potential of the data."""
        return global_diagnostics(global_series(self.draws))

    @property
    def worst(self) -> Worst:
        """The largest R-hat and the fewest effective draws of the global quantities."""
        return worst_of(self.quantities)

    @cached_property
    def biases(self) -> tuple[Array, Array]:
        """Diagnostics of every bias."""
        return rhat_and_ess(self.draws.bias)

    @cached_property
    def indicators(self) -> tuple[Array, Array]:
        """Diagnostics of the inclusion indicator of every edge; NaN if it hardly ever changes."""
        return self._of_edges(0, 1 - MIN_VISIT_SHARE)

    @cached_property
    def couplings(self) -> tuple[Array, Array]:
        """Diagnostics of the coupling of every edge; NaN if it is hardly ever present."""
        return self._of_edges(1, 1.0)

    def _of_edges(self, which: int, max_share: float) -> tuple[Array, Array]:
        """R-hat and effective draws of presence (0) or coupling (1)."""
        rhat, ess = np.full(self.draws.n_edges, np.nan), np.full(self.draws.n_edges, np.nan)
        share = self.draws.visit_share
        edges = np.flatnonzero((share >= MIN_VISIT_SHARE) & (share <= max_share))
        for begin in range(0, edges.size, BATCH):
            part = edges[begin : begin + BATCH]
            rhat[part], ess[part] = rhat_and_ess(self.draws.dense(part)[which])
        return rhat, ess

    @cached_property
    def probability_mcse(self) -> Array:
        """Monte Carlo standard error of every inclusion probability.

        From batches of conditional probabilities (equation 39), where the sampler recorded them;
        otherwise from the effective draws of the indicators, 0 if they hardly ever change.
        """
        recorded = self.draws.probability_mcse
        known = np.isfinite(recorded)
        if known.all():
            return recorded
        share, ess = self.draws.visit_share, self.indicators[1]
        from_draws = np.sqrt(share * (1 - share) / np.where(np.isnan(ess), np.inf, ess))
        return np.where(known, recorded, from_draws)

    @property
    def unconverged_quantities(self) -> dict[str, tuple[float, float]]:
        """The global quantities that have not converged."""
        return {
            name: (float(rhat[0]), float(ess[0]))
            for name, (rhat, ess) in self.quantities.items()
            if rhat[0] > RHAT_LIMIT or ess[0] < ESS_LIMIT
        }

    @property
    def unconverged_parameters(self) -> str:
        """How many biases and edges have not converged, in words; empty if all have."""
        if self.draws.n_draws < MIN_DRAWS:
            return ""
        has_levels = self.draws.bias.shape[-1] > self.draws.interactions.n_nodes
        biases = ("threshold", "s") if has_levels else ("bias", "es")
        found = ((self.unconverged_biases, *biases), (self.unconverged_edges, "edge", "s"))
        parts = [
            f"{which.size} {name}{'' if which.size == 1 else plural}"
            for which, name, plural in found
            if which.size
        ]
        return " and ".join(parts)

    @property
    def unconverged_biases(self) -> NDArray[np.intp]:
        """Biases that have not converged, worst first; a constant bias has not converged."""
        rhat, ess = self.biases
        worst: NDArray[np.intp] = np.flatnonzero((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
        return worst[np.argsort(ess[worst], kind="stable")]

    @property
    def undecided_edges(self) -> NDArray[np.bool_]:
        """Whether the inclusion probability of each edge is in ``UNDECIDED_RANGE``."""
        probability, (low, high) = self.draws.edge_probability, UNDECIDED_RANGE
        return np.asarray((probability >= low) & (probability <= high))

    @property
    def unconverged_edges(self) -> NDArray[np.intp]:
        """Edges whose inclusion probability has not converged, worst first."""
        draws = self.draws
        rhat, ess = self.indicators
        unconverged = self.undecided_edges & ((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
        # Constant chains that disagree count, however few of the chains they are.
        always, never = np.zeros(unconverged.size, np.bool_), np.zeros(unconverged.size, np.bool_)
        for chain in range(draws.n_chains):
            visits = draws.visits_of(chain)
            always |= visits == draws.n_draws
            never |= visits == 0
        unconverged |= (always & never) | (self.probability_mcse > self.tolerance)
        worst: NDArray[np.intp] = np.flatnonzero(unconverged)
        return worst[np.argsort(ess[worst], kind="stable")]
