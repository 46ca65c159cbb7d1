"""Whether to trust a run: R-hat, effective draws, what "converged" means, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.sampler.settings import HALVES_LIMIT, MISFIT_LIMIT, NOISE_LIMIT

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

Array = NDArray[np.float64]

# What "converged" means, everywhere: of the whole, of biases and of open edges
WHOLE_RHAT, WHOLE_ESS = 1.01, 400.0
RHAT_LIMIT, ESS_LIMIT = 1.05, 100.0
OPEN_RANGE = (0.05, 0.95)
LOOKED_AT = 0.01
CHAINS_NEEDED = 4
MIN_DRAWS = 4
RUN_LONGER = "Run longer (n_draws, n_warmup)"


def array_stats() -> Any:
    """Import arviz-stats, which takes a second, when it is needed."""
    from arviz_stats.base.array import array_stats

    return array_stats


def rhat_and_ess(values: NDArray[Any]) -> tuple[Array, Array]:
    """Rank-normalised R-hat and bulk effective draws along the last axis; NaN where constant.

    R-hat splits every chain in two, without the middle draw where their number is odd; what never
    changes but there is constant too. It is infinite where no half changes but they differ.
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
            # Where just half of the draws are 1, folding them about their median leaves 0 / 0.
            with np.errstate(divide="ignore", invalid="ignore"):
                rhat[k] = array_stats().rhat(series)
        elif n_chains > 1:
            rhat[k] = np.inf
    return rhat, ess


def find_problems(posterior: Posterior) -> list[str]:
    """When not to trust a result, in plain words; empty where nothing is wrong."""
    chains = posterior.draws.n_chains
    problems = []
    if chains < CHAINS_NEEDED:
        problems.append(
            "Convergence is judged from four chains or more; there "
            f"{'is' if chains == 1 else 'are'} {chains}. Run more (n_chains)."
        )
    return problems + sick_particles(posterior.info) + unsettled(posterior)


def unsettled(posterior: Posterior) -> list[str]:
    """What more draws would mend, in plain words; empty where there are enough."""
    problems = []
    draws = posterior.draws.n_draws
    if draws < MIN_DRAWS:
        return [f"{draws} draws a chain are too few to judge convergence. {RUN_LONGER}."]
    for name, (rhats, esses) in posterior._of_the_whole.items():
        rhat, ess = rhats[0], esses[0]
        if rhat > WHOLE_RHAT or ess < WHOLE_ESS:
            agree = "" if np.isnan(rhat) else f"R-hat {rhat:.3f} (should be below {WHOLE_RHAT}), "
            problems.append(
                f"{name} has not settled: {agree}{ess:.0f} effective draws (should be "
                f"{WHOLE_ESS:.0f} or more). {RUN_LONGER}."
            )
    names = posterior.feature_names
    moving = unsettled_biases(posterior)
    if moving.size:
        shown = ", ".join(names[i] for i in moving[:3])
        problems.append(
            f"The bias{'' if moving.size == 1 else 'es'} of {moving.size} "
            f"node{' has' if moving.size == 1 else 's have'} too few effective draws or chains "
            f"that disagree (worst: {shown}). Their couplings are rough too. {RUN_LONGER}."
        )
    rough = rough_edges(posterior)
    if rough.size:
        first, second = np.triu_indices(posterior.n_nodes, 1)
        shown = ", ".join(f"{names[first[e]]} - {names[second[e]]}" for e in rough[:3])
        problems.append(
            f"{rough.size} undecided {'edge has' if rough.size == 1 else 'edges have'} too few "
            f"effective draws or chains that disagree (worst: {shown}). Their probabilities are "
            f"rough. {RUN_LONGER}."
        )
    return problems


def unsettled_biases(posterior: Posterior) -> NDArray[np.intp]:
    """Nodes whose bias has not settled, the worst first; in a stuck chain it never moves."""
    rhat, ess = posterior._of_biases
    worst: NDArray[np.intp] = np.flatnonzero((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
    return worst[np.argsort(ess[worst], kind="stable")]


def rough_edges(posterior: Posterior) -> NDArray[np.intp]:
    """Edges whose probability is not to be trusted, the worst first."""
    low, high = OPEN_RANGE
    probability = posterior.edge_probability
    undecided = (probability >= low) & (probability <= high)
    rhat, ess = posterior._of_indicators
    rough = undecided & ((rhat > RHAT_LIMIT) | ~(ess >= ESS_LIMIT))
    # Chains that never change and do not agree count however few of many chains they are.
    always, never = np.zeros(rough.size, np.bool_), np.zeros(rough.size, np.bool_)
    for chain in range(posterior.draws.n_chains):
        visits = posterior.draws.visits_of(chain)
        always |= visits == posterior.draws.n_draws
        never |= visits == 0
    rough |= always & never
    worst: NDArray[np.intp] = np.flatnonzero(rough)
    return worst[np.argsort(ess[worst], kind="stable")]


def sick_particles(info: list[dict[str, Any]]) -> list[str]:
    """Say where the particles were too few, did not mix, or led into the dense trap."""
    problems = []
    again = sum("not_finite" in chain for chain in info)
    if again:
        problems.append(
            f"{again} of {len(info)} chains came to numbers that are not finite and began again. "
            "Some columns may imply or exclude others; leave such out, or compare with "
            "likelihood='pseudo'."
        )
    trapped = sum(bool(chain.get("trapped", False)) for chain in info)
    if trapped:
        problems.append(
            f"{trapped} of {len(info)} chains ended with most edges present and all of them weak, "
            "where stale particles can lead and hold a chain (the dense trap). Do not trust this "
            "result; use likelihood='pseudo', or more particles (n_particles, n_sweeps)."
        )
    noise = max((chain.get("noise", 0.0) for chain in info), default=0.0)
    halves = np.median([chain.get("half_against_half", 1.0) for chain in info]) if info else 1.0
    if noise > NOISE_LIMIT:
        problems.append(
            f"The particles are too few: the noise of log odds has variance {noise:.2f} (should be "
            f"below {NOISE_LIMIT:g}). Use more (n_particles), or likelihood='pseudo'."
        )
    if halves > HALVES_LIMIT:
        problems.append(
            "The particles do not mix: those that started from the data and those that started "
            f"from noise still differ, {halves:.0f} times as much as chance would have it. Do not "
            "trust strong couplings here; compare with likelihood='pseudo'."
        )
    misfit = np.median([chain.get("misfit", 1.0) for chain in info]) if info else 1.0
    if misfit > MISFIT_LIMIT:
        problems.append(
            "The particles lag behind: the fields of the chains, held still, differ from the data "
            f"{np.sqrt(misfit):.1f} times as much as chance would have it (should be below "
            f"{np.sqrt(MISFIT_LIMIT):.1f}). Do not trust strong couplings here; sweep more "
            "(n_sweeps), or compare with likelihood='pseudo'."
        )
    return problems
