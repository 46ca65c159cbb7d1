"""Sentences on convergence for a section on methods: criteria, whether they hold, and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from slabfield.posterior.convergence import (
    ESS_LIMIT,
    RHAT_LIMIT,
    UNDECIDED_RANGE,
)
from slabfield.posterior.diagnostics import MIN_CHAINS
from slabfield.posterior.wording import counted, in_words, joined

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

QUANTITIES = {
    "p0": "p0",
    "sigma0": "sigma0",
    "sigma0_nominal": "sigma0 of pairs with several parameters",
    "density": "the density of the network",
    "potential": "the log potential of the data",
}

# Why the criteria do not hold, by code of the problem; unconverged quantities are named in _reasons
REASONS = {
    "too-few-chains": "there were too few chains to judge convergence",
    "too-few-draws": "there were too few draws to judge convergence",
    "chains-restarted": "some chains reached values that were not finite and were restarted",
    "dense-mode": "some chains ended in a mode with most edges present, all of them weak",
    "too-few-particles": "there were too few particles",
    "particles-do-not-mix": "the particles did not mix",
    "particles-lag": "the particles lagged behind the parameters",
}


def convergence_sentences(posterior: Posterior) -> list[str]:
    """State the criteria, whether they hold, and R-hat and effective draws."""
    return [_criteria(posterior), _verdict(posterior), _largest_and_fewest(posterior)]


def bias_word(posterior: Posterior) -> tuple[str, str]:
    """Return what biases are called, one and several: thresholds, if nodes have levels."""
    return ("threshold", "thresholds") if posterior.has_levels else ("bias", "biases")


def _criteria(posterior: Posterior) -> str:
    settings, (low, high) = posterior.settings, UNDECIDED_RANGE
    fixed = set()
    edges = settings.get("inclusion_prior", {}).get("edges")
    if edges is not None and not (isinstance(edges, list) and None in edges):
        fixed.add("p0")
    if settings.get("slab_prior", {}).get("sigma0") is not None:
        fixed |= {"sigma0", "sigma0_nominal"}
    known = posterior.convergence.quantities
    sampled = joined([QUANTITIES[name] for name in known if name not in fixed])
    particles = "particles that passed checks of their number, mixing and lag; "
    return (
        "Convergence was judged by rank-normalized R-hat and effective sample size (Vehtari et "
        f"al., 2021). The criteria were, from at least {in_words(MIN_CHAINS)} chains, an R-hat of "
        f"at most {RHAT_LIMIT:g} and at least {ESS_LIMIT:g} effective draws for the global "
        f"quantities ({sampled}), for each {bias_word(posterior)[0]} and for the inclusion "
        f"indicator of each edge with an inclusion probability from {low:g} to {high:g}; a Monte "
        "Carlo standard error of each inclusion probability of at most "
        f"{posterior.convergence.tolerance:g}; "
        f"{particles if settings.get('engine') == 'particles' else ''}and no edge that was always "
        "present in one chain and never in another."
    )


def _verdict(posterior: Posterior) -> str:
    if posterior.converged:
        return "All criteria were met."
    return (
        f"The criteria were not all met: {'; '.join(_reasons(posterior))}. The results are "
        "therefore provisional."
    )


def _reasons(posterior: Posterior) -> list[str]:
    """State which criteria do not hold."""
    convergence = posterior.convergence
    codes = {message.code for message in posterior.messages}
    found = [reason for code, reason in REASONS.items() if code in codes]
    unconverged = []
    if "unconverged-quantity" in codes:
        unconverged += [QUANTITIES[name] for name in convergence.unconverged_quantities]
    if "unconverged-biases" in codes:
        unconverged.append(counted(convergence.unconverged_biases.size, *bias_word(posterior)))
    if "unconverged-edges" in codes:
        unconverged.append(counted(convergence.unconverged_edges.size, "edge"))
    if unconverged:
        found.append(f"{joined(unconverged)} had not converged")
    return found


def _largest_and_fewest(posterior: Posterior) -> str:
    """State the largest R-hat and error, and the fewest effective draws, of the criteria."""
    convergence = posterior.convergence
    undecided = convergence.undecided_edges
    quantities = convergence.quantities.values()
    of_edges = [values[undecided] for values in convergence.indicators]
    rhat, ess = (
        {
            "the global quantities": np.concatenate([pair[k] for pair in quantities]),
            f"{bias_word(posterior)[1]} and such edges": np.concatenate(
                [convergence.biases[k], of_edges[k]]
            ),
        }
        for k in range(2)
    )
    largest = [
        f"{max(values):.3f} for {name}" for name, each in rhat.items() if (values := _known(each))
    ]
    fewest = [
        f"{min(values):,.0f} for {name}" for name, each in ess.items() if (values := _known(each))
    ]
    if not fewest:
        return "R-hat and effective sample sizes could not be computed."
    of_rhat = (
        f"The largest R-hat was {joined(largest)}" if largest else "R-hat could not be computed"
    )
    error = float(np.max(convergence.probability_mcse, initial=0.0))
    return (
        f"{of_rhat}; the smallest effective sample size was {joined(fewest)}; the largest Monte "
        f"Carlo standard error of an inclusion probability was {error:.3f}."
    )


def _known(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values if not np.isnan(value)]
