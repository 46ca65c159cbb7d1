"""Messages about a run: deviations from what was asked for, and reasons not to trust it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slabfield.configuration import DISCREPANCY_LIMIT, MISFIT_LIMIT, NOISE_LIMIT
from slabfield.posterior.convergence import ESS_LIMIT, MIN_DRAWS, RHAT_LIMIT
from slabfield.posterior.wording import counted, of_chains
from slabfield.validation import Message, Parameter

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

Array = NDArray[np.float64]

# Chains from which convergence can be judged
MIN_CHAINS = 4
RUN_LONGER = Message("run-longer", "Resume the run")
PSEUDO = Parameter("likelihood", "pseudo", in_words="the pseudo-likelihood")
ENOUGH_CHAINS = Parameter("n_chains", MIN_CHAINS, in_words="at least four chains")
MORE_PARTICLES = Parameter(
    "sampler",
    in_python="more particles with sampler={'n_particles': ...}",
    in_words="more particles",
)
MORE_SWEEPS = Parameter(
    "sampler",
    in_python="more sweeps with sampler={'n_sweeps': ...}",
    in_words="more sweeps of the particles",
)
# Codes of the problems that more draws would solve
MORE_DRAWS_HELP = (
    *("too-few-draws", "unconverged-quantity", "unconverged-biases", "unconverged-edges"),
)


def find_deviations(posterior: Posterior) -> list[Message]:
    """Deviations from the requested run: another engine, or an early stop."""
    settings, draws = posterior.settings, posterior.draws
    found = []
    if settings.get("fell_back"):
        found.append(
            Message(
                "fell-back",
                "{reason} The result is based on half the pseudo-likelihood instead.",
                {"reason": settings["fell_back"]},
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
                "The time budget ended the warm-up of {chains} after {n_draws} of {n_warmup} "
                "draws. {They} may mix more slowly, and {their} first draws may still depend on "
                "the starting point.",
                {
                    "chains": of_chains(len(warmups), len(posterior.info)),
                    "n_draws": min(warmups),
                    "n_warmup": settings["n_warmup"],
                    "They": "It" if len(warmups) == 1 else "They",
                    "their": "its" if len(warmups) == 1 else "their",
                },
            )
        )
    if settings.get("stopped_by") == "interrupt":
        found.append(
            Message(
                "stopped-by-interrupt",
                "Ctrl-C ended the run after {n_draws} draws of {chains}.",
                {
                    "n_draws": draws.n_draws,
                    "chains": of_chains(draws.n_chains, settings["n_chains"]),
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
                "Run with {enough}.",
                {"found": posterior.draws.n_chains, "enough": ENOUGH_CHAINS},
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
    for name, (rhat, ess) in posterior.convergence.unconverged_quantities.items():
        limit = f"R-hat {rhat:.3f} (should be below {RHAT_LIMIT}), "
        yield Message(
            "unconverged-quantity",
            "{name} has not converged: {rhat}{ess:.0f} effective draws (should be at least "
            "{limit:.0f}). {advice}.",
            {
                "name": name,
                "rhat": "" if np.isnan(rhat) else limit,
                "ess": ess,
                "limit": ESS_LIMIT,
                "advice": RUN_LONGER,
            },
        )


def _bias_problems(posterior: Posterior) -> Iterator[Message]:
    biases = posterior.convergence.unconverged_biases
    if biases.size:
        yield Message(
            "unconverged-biases",
            "{what} too few effective draws{or_disagree} (worst: {worst}). Couplings at these "
            "nodes are imprecise, too. {advice}.",
            {
                "what": _unconverged_biases(int(biases.size), posterior.has_levels),
                "or_disagree": _or_disagree(posterior),
                "worst": ", ".join(posterior.bias_names[i] for i in biases[:3]),
                "advice": RUN_LONGER,
            },
        )


def _unconverged_biases(n_biases: int, has_levels: bool) -> str:
    if has_levels:
        return "1 threshold has" if n_biases == 1 else f"{n_biases} thresholds have"
    return "The bias of 1 node has" if n_biases == 1 else f"The biases of {n_biases} nodes have"


def _edge_problems(posterior: Posterior) -> Iterator[Message]:
    convergence, edges = posterior.convergence, posterior.convergence.unconverged_edges
    if edges.size:
        yield Message(
            "unconverged-edges",
            "The inclusion {probabilities} of {edges} {are} imprecise (worst: {worst}): too few "
            "effective draws{or_disagree}, or a Monte Carlo standard error above {tolerance:g} "
            "(the largest is {error:.4f}). {advice}.",
            {
                "probabilities": "probability" if edges.size == 1 else "probabilities",
                "edges": counted(int(edges.size), "edge"),
                "are": "is" if edges.size == 1 else "are",
                "or_disagree": _or_disagree(posterior),
                "worst": ", ".join(
                    posterior.interactions.labels(posterior.feature_names, edges[:3])
                ),
                "tolerance": convergence.tolerance,
                "error": float(np.max(convergence.probability_mcse)),
                "advice": RUN_LONGER,
            },
        )


def _or_disagree(posterior: Posterior) -> str:
    return "" if posterior.draws.n_chains == 1 else ", or the chains disagree"


def particle_warnings(info: list[dict[str, Any]]) -> list[Message]:
    """Warnings about restarts, the dense mode, and particles (too few, not mixing, lagging)."""
    problems = []
    restarted = sum("not_finite" in chain for chain in info)
    if restarted:
        problems.append(
            Message(
                "chains-restarted",
                "{Chains} reached values that are not finite and had to be restarted. Some columns "
                "may imply or exclude others; drop such columns, or compare with {pseudo}.",
                {"Chains": of_chains(restarted, len(info)).capitalize(), "pseudo": PSEUDO},
            )
        )
    in_dense_mode = sum(bool(chain.get("in_dense_mode", False)) for chain in info)
    if in_dense_mode:
        problems.append(
            Message(
                "dense-mode",
                "{Chains} ended in the dense mode: most edges are present and all of them are "
                "weak. Particles that lag behind the parameters can hold a chain there. Do not "
                "trust this result; use {pseudo}, or {particles}, or {sweeps}.",
                {
                    "Chains": of_chains(in_dense_mode, len(info)).capitalize(),
                    "pseudo": PSEUDO,
                    "particles": MORE_PARTICLES,
                    "sweeps": MORE_SWEEPS,
                },
            )
        )
    noise = max((chain.get("noise", 0.0) for chain in info), default=0.0)
    if noise > NOISE_LIMIT:
        problems.append(
            Message(
                "too-few-particles",
                "There are too few particles: the noise in the log odds of edges has variance "
                "{noise:.2f} (should be below {limit:g}). Use {particles}, or {pseudo}.",
                {
                    "noise": noise,
                    "limit": NOISE_LIMIT,
                    "particles": MORE_PARTICLES,
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
                "{sweeps}, or compare with {pseudo}.",
                {
                    "misfit": np.sqrt(moment_misfit),
                    "limit": np.sqrt(MISFIT_LIMIT),
                    "sweeps": MORE_SWEEPS,
                    "pseudo": PSEUDO,
                },
            )
        )
    return problems


def _median(info: list[dict[str, Any]], name: str) -> float:
    """Return the median of a diagnostic over chains; 1, which is healthy, where it is not known."""
    return float(np.median([chain.get(name, 1.0) for chain in info])) if info else 1.0
