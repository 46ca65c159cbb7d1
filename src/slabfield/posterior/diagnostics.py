"""Convergence diagnostics: R-hat, effective draws, the criteria of "converged", and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.configuration import DISCREPANCY_LIMIT, MISFIT_LIMIT, NOISE_LIMIT
from slabfield.validation import Message, Parameter

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
RUN_LONGER = Message(
    "run-longer",
    "Run longer ({n_draws}, {n_warmup})",
    {"n_draws": Parameter("n_draws"), "n_warmup": Parameter("n_warmup")},
)
PSEUDO = Parameter("likelihood", "pseudo")


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


def find_deviations(posterior: Posterior) -> list[Message]:
    """Deviations from the requested run: another engine, or an early stop."""
    settings, draws = posterior.settings, posterior.draws
    found = []
    if settings.get("fell_back"):
        found.append(
            Message(
                "fell-back",
                "{reason} The result is based on half the pseudo-likelihood instead ({pseudo}).",
                {"reason": settings["fell_back"], "pseudo": PSEUDO},
            )
        )
    if settings.get("stopped_by") == "time":
        found.append(
            Message(
                "stopped-by-time",
                "The time budget ended the run after {n_draws} draws per chain.",
                {"n_draws": draws.n_draws},
            )
        )
    warmups = [chain["warmed_up_for"] for chain in posterior.info if "warmed_up_for" in chain]
    if warmups:
        found.append(
            Message(
                "warmup-stopped-by-time",
                "The time budget ended the warm-up of {n_stopped} of {n_chains} chains after "
                "{n_draws} of {n_warmup} draws. They may mix more slowly, and their first draws "
                "may still depend on the starting point.",
                {
                    "n_stopped": len(warmups),
                    "n_chains": len(posterior.info),
                    "n_draws": min(warmups),
                    "n_warmup": settings["n_warmup"],
                },
            )
        )
    if settings.get("stopped_by") == "interrupt":
        found.append(
            Message(
                "stopped-by-interrupt",
                "Ctrl-C ended the run after {n_draws} draws of {n_chains} of its {n_planned} "
                "chains.",
                {
                    "n_draws": draws.n_draws,
                    "n_chains": draws.n_chains,
                    "n_planned": settings["n_chains"],
                },
            )
        )
    return found


def find_problems(posterior: Posterior) -> list[Message]:
    """Reasons not to trust a result; empty if there are none."""
    problems = []
    if posterior.draws.n_chains < MIN_CHAINS:
        problems.append(
            Message(
                "too-few-chains",
                "Convergence cannot be judged from fewer than four chains; this run has {found}. "
                "Run more chains ({n_chains}).",
                {"found": posterior.draws.n_chains, "n_chains": Parameter("n_chains")},
            )
        )
    return problems + particle_warnings(posterior.info) + unconverged_summaries(posterior)


def unconverged_summaries(posterior: Posterior) -> list[Message]:
    """Problems that more draws would solve; empty if there are none."""
    n_draws = posterior.draws.n_draws
    if n_draws < MIN_DRAWS:
        return [
            Message(
                "too-few-draws",
                "{n_draws} draws per chain are too few to judge convergence. {advice}.",
                {"n_draws": n_draws, "advice": RUN_LONGER},
            )
        ]
    return [*_global_problems(posterior), *_bias_problems(posterior), *_edge_problems(posterior)]


def _global_problems(posterior: Posterior) -> Iterator[Message]:
    for name, (rhats, esses) in posterior._global_diagnostics.items():
        rhat, ess = rhats[0], esses[0]
        if rhat > GLOBAL_RHAT_LIMIT or ess < GLOBAL_ESS_LIMIT:
            rhat_text = (
                ""
                if np.isnan(rhat)
                else f"R-hat {rhat:.3f} (should be below {GLOBAL_RHAT_LIMIT}), "
            )
            yield Message(
                "unconverged-quantity",
                "{name} has not converged: {rhat}{ess:.0f} effective draws (should be at least "
                "{limit:.0f}). {advice}.",
                {
                    "name": name,
                    "rhat": rhat_text,
                    "ess": ess,
                    "limit": GLOBAL_ESS_LIMIT,
                    "advice": RUN_LONGER,
                },
            )


def _bias_problems(posterior: Posterior) -> Iterator[Message]:
    nodes = unconverged_biases(posterior)
    if nodes.size:
        one = nodes.size == 1
        yield Message(
            "unconverged-biases",
            "{what} too few effective draws, or the chains disagree (worst: {worst}). Couplings at "
            "these nodes are imprecise, too. {advice}.",
            {
                "what": "The bias of 1 node has"
                if one
                else f"The biases of {nodes.size} nodes have",
                "worst": ", ".join(posterior.feature_names[i] for i in nodes[:3]),
                "advice": RUN_LONGER,
            },
        )


def _edge_problems(posterior: Posterior) -> Iterator[Message]:
    names, edges = posterior.feature_names, unconverged_edges(posterior)
    if edges.size:
        yield Message(
            "unconverged-edges",
            "{n_edges} undecided {have} too few effective draws, or the chains disagree (worst: "
            "{worst}). These inclusion probabilities are imprecise. {advice}.",
            {
                "n_edges": edges.size,
                "have": "edge has" if edges.size == 1 else "edges have",
                "worst": ", ".join(posterior.interactions.labels(names, edges[:3])),
                "advice": RUN_LONGER,
            },
        )


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


def particle_warnings(info: list[dict[str, Any]]) -> list[Message]:
    """Warnings about restarts, the dense mode, and particles (too few, not mixing, lagging)."""
    problems = []
    restarted = sum("not_finite" in chain for chain in info)
    if restarted:
        problems.append(
            Message(
                "chains-restarted",
                "{n_restarted} of {n_chains} chains reached values that are not finite and had to "
                "be restarted. Some columns may imply or exclude others; drop such columns, or "
                "compare with {pseudo}.",
                {"n_restarted": restarted, "n_chains": len(info), "pseudo": PSEUDO},
            )
        )
    in_dense_mode = sum(bool(chain.get("in_dense_mode", False)) for chain in info)
    if in_dense_mode:
        problems.append(
            Message(
                "dense-mode",
                "{n_dense} of {n_chains} chains ended in the dense mode: most edges are present "
                "and all of them are weak. Particles that lag behind the parameters can hold a "
                "chain there. Do not trust this result; use {pseudo}, or more particles or sweeps "
                "({n_particles}, {n_sweeps}).",
                {
                    "n_dense": in_dense_mode,
                    "n_chains": len(info),
                    "pseudo": PSEUDO,
                    "n_particles": Parameter("n_particles"),
                    "n_sweeps": Parameter("n_sweeps"),
                },
            )
        )
    noise = max((chain.get("noise", 0.0) for chain in info), default=0.0)
    if noise > NOISE_LIMIT:
        problems.append(
            Message(
                "too-few-particles",
                "There are too few particles: the noise in the log odds of edges has variance "
                "{noise:.2f} (should be below {limit:g}). Use more particles ({n_particles}), or "
                "{pseudo}.",
                {
                    "noise": noise,
                    "limit": NOISE_LIMIT,
                    "n_particles": Parameter("n_particles"),
                    "pseudo": PSEUDO,
                },
            )
        )
    discrepancy = _median(info, "two_start_discrepancy")
    if discrepancy > DISCREPANCY_LIMIT:
        problems.append(
            Message(
                "particles-do-not-mix",
                "The particles do not mix: particles started from the data and particles started "
                "from random states still differ; the squared difference of their means is "
                "{discrepancy:.0f} times what sampling error explains. Do not trust strong "
                "couplings here; compare with {pseudo}.",
                {"discrepancy": discrepancy, "pseudo": PSEUDO},
            )
        )
    moment_misfit = _median(info, "moment_misfit")
    if moment_misfit > MISFIT_LIMIT:
        problems.append(
            Message(
                "particles-lag",
                "The particles lag behind the parameters: with parameters held fixed, the model's "
                "pair frequencies differ from the data {misfit:.1f} times more than sampling error "
                "explains (should be below {limit:.1f}). Do not trust strong couplings here; use "
                "more sweeps ({n_sweeps}), or compare with {pseudo}.",
                {
                    "misfit": np.sqrt(moment_misfit),
                    "limit": np.sqrt(MISFIT_LIMIT),
                    "n_sweeps": Parameter("n_sweeps"),
                    "pseudo": PSEUDO,
                },
            )
        )
    return problems


def _median(info: list[dict[str, Any]], name: str) -> float:
    """Return the median of a diagnostic over chains; 1, which is healthy, where it is not known."""
    return float(np.median([chain.get(name, 1.0) for chain in info])) if info else 1.0
