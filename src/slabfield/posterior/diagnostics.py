"""Convergence diagnostics: R-hat, effective draws, the criteria of "converged", and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.configuration import DISCREPANCY_LIMIT, MISFIT_LIMIT, NOISE_LIMIT

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

Array = NDArray[np.float64]

# Criteria of "converged": R-hat below and effective draws above these limits, for the global
# quantities (p0, sigma0, density, log potential) and for biases and undecided edges
GLOBAL_RHAT_LIMIT, GLOBAL_ESS_LIMIT = 1.01, 400.0
RHAT_LIMIT, ESS_LIMIT = 1.05, 100.0
# Inclusion probabilities of edges that count as undecided
UNDECIDED_RANGE = (0.05, 0.95)
# Diagnostics of an edge are computed if at least this share of draws has it
MIN_VISIT_SHARE = 0.01
MIN_CHAINS = 4
# Draws per chain that R-hat and effective draws need
MIN_DRAWS = 4
RUN_LONGER = "Run longer (n_draws, n_warmup)"


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


def find_problems(posterior: Posterior) -> list[str]:
    """Reasons not to trust a result, in plain words; empty if there are none."""
    chains = posterior.draws.n_chains
    problems = []
    if chains < MIN_CHAINS:
        problems.append(
            "Convergence cannot be judged from fewer than four chains; this run has "
            f"{chains}. Run more chains (n_chains)."
        )
    return problems + particle_warnings(posterior.info) + unconverged_summaries(posterior)


def unconverged_summaries(posterior: Posterior) -> list[str]:
    """Problems that more draws would solve, in plain words; empty if there are none."""
    problems = []
    draws = posterior.draws.n_draws
    if draws < MIN_DRAWS:
        return [f"{draws} draws per chain are too few to judge convergence. {RUN_LONGER}."]
    for name, (rhats, esses) in posterior._global_diagnostics.items():
        rhat, ess = rhats[0], esses[0]
        if rhat > GLOBAL_RHAT_LIMIT or ess < GLOBAL_ESS_LIMIT:
            rhat_text = (
                ""
                if np.isnan(rhat)
                else f"R-hat {rhat:.3f} (should be below {GLOBAL_RHAT_LIMIT}), "
            )
            problems.append(
                f"{name} has not converged: {rhat_text}{ess:.0f} effective draws (should be at "
                f"least {GLOBAL_ESS_LIMIT:.0f}). {RUN_LONGER}."
            )
    names = posterior.feature_names
    nodes = unconverged_biases(posterior)
    if nodes.size:
        shown = ", ".join(names[i] for i in nodes[:3])
        problems.append(
            f"The bias{'' if nodes.size == 1 else 'es'} of {nodes.size} "
            f"node{' has' if nodes.size == 1 else 's have'} too few effective draws, or the chains "
            f"disagree (worst: {shown}). Couplings at these nodes are imprecise, too. {RUN_LONGER}."
        )
    edges = unconverged_edges(posterior)
    if edges.size:
        shown = ", ".join(posterior.interactions.labels(names, edges[:3]))
        problems.append(
            f"{edges.size} undecided {'edge has' if edges.size == 1 else 'edges have'} too few "
            f"effective draws, or the chains disagree (worst: {shown}). These inclusion "
            f"probabilities are imprecise. {RUN_LONGER}."
        )
    return problems


def unconverged_biases(posterior: Posterior) -> NDArray[np.intp]:
    """Nodes whose bias has not converged, worst first; a constant bias has not converged."""
    rhat, ess = posterior._bias_diagnostics
    worst: NDArray[np.intp] = np.flatnonzero((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
    return worst[np.argsort(ess[worst], kind="stable")]


def unconverged_edges(posterior: Posterior) -> NDArray[np.intp]:
    """Edges whose inclusion probability has not converged, worst first."""
    low, high = UNDECIDED_RANGE
    probability = posterior.edge_probability
    undecided = (probability >= low) & (probability <= high)
    rhat, ess = posterior._indicator_diagnostics
    unconverged = undecided & ((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
    # Constant chains that disagree count, however few of the chains they are.
    always, never = np.zeros(unconverged.size, np.bool_), np.zeros(unconverged.size, np.bool_)
    for chain in range(posterior.draws.n_chains):
        visits = posterior.draws.visits_of(chain)
        always |= visits == posterior.draws.n_draws
        never |= visits == 0
    unconverged |= always & never
    worst: NDArray[np.intp] = np.flatnonzero(unconverged)
    return worst[np.argsort(ess[worst], kind="stable")]


def particle_warnings(info: list[dict[str, Any]]) -> list[str]:
    """Warnings about restarts, the dense mode, and particles (too few, not mixing, lagging)."""
    problems = []
    restarted = sum("not_finite" in chain for chain in info)
    if restarted:
        problems.append(
            f"{restarted} of {len(info)} chains reached values that are not finite and had to be "
            "restarted. Some columns may imply or exclude others; drop such columns, or compare "
            "with likelihood='pseudo'."
        )
    in_dense_mode = sum(bool(chain.get("in_dense_mode", False)) for chain in info)
    if in_dense_mode:
        problems.append(
            f"{in_dense_mode} of {len(info)} chains ended in the dense mode: most edges are "
            "present and all of them are weak. Particles that lag behind the parameters can hold a "
            "chain there. Do not trust this result; use likelihood='pseudo', or more particles or "
            "sweeps (n_particles, n_sweeps)."
        )
    noise = max((chain.get("noise", 0.0) for chain in info), default=0.0)
    discrepancy = (
        np.median([chain.get("two_start_discrepancy", 1.0) for chain in info]) if info else 1.0
    )
    if noise > NOISE_LIMIT:
        problems.append(
            "There are too few particles: the noise in the log odds of edges has variance "
            f"{noise:.2f} (should be below {NOISE_LIMIT:g}). Use more particles (n_particles), or "
            "likelihood='pseudo'."
        )
    if discrepancy > DISCREPANCY_LIMIT:
        problems.append(
            "The particles do not mix: particles started from the data and particles started from "
            "random states still differ; the squared difference of their means is "
            f"{discrepancy:.0f} times what sampling error explains. Do not trust strong couplings "
            "here; compare with likelihood='pseudo'."
        )
    moment_misfit = np.median([chain.get("moment_misfit", 1.0) for chain in info]) if info else 1.0
    if moment_misfit > MISFIT_LIMIT:
        problems.append(
            "The particles lag behind the parameters: with parameters held fixed, the model's pair "
            f"frequencies differ from the data {np.sqrt(moment_misfit):.1f} times more than "
            f"sampling error explains (should be below {np.sqrt(MISFIT_LIMIT):.1f}). Do not trust "
            "strong couplings here; use more sweeps (n_sweeps), or compare with "
            "likelihood='pseudo'."
        )
    return problems
