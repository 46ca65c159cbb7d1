"""A paragraph on methods for a paper, with its references; every number is taken from the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from slabfield.encoding import Variable
from slabfield.encoding.column_notes import coding_rules
from slabfield.posterior.methods_convergence import convergence_sentences
from slabfield.posterior.methods_levels import (
    bias_prior_sentence,
    level_sentences,
    slab_sentences,
    variables_text,
)
from slabfield.posterior.wording import counted, in_words, joined, were
from slabfield.validation.errors import listed

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

# Names of variables that are listed for each rule of coding
MAX_NAMES = 8
# Rules of coding that are described
MAX_RULES = 6
# Different prior inclusion probabilities of single edges that are listed
MAX_PROBABILITIES = 4

SOFTWARE_NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "Numba"}

SAMPLERS = {
    "collapsed": (
        "by collapsed Gibbs sampling, in which the presence of an edge is drawn with its coupling "
        "integrated out"
    ),
    "approximate": (
        "with Algorithm 1 of Chen and Welling (2012), which combines Langevin steps with "
        "reversible jumps that add and delete edges"
    ),
    "adjusted": (
        "with the Langevin steps and reversible jumps of Chen and Welling (2012), each followed by "
        "an exact acceptance step"
    ),
}

CHEN_WELLING = (
    "Chen, Y., & Welling, M. (2012). Bayesian structure learning for Markov random fields with a "
    "spike and slab prior. In Proceedings of the Twenty-Eighth Conference on Uncertainty in "
    "Artificial Intelligence (UAI 2012)."
)
VEHTARI = (
    "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., & Bürkner, P.-C. (2021). "
    "Rank-normalization, folding, and localization: An improved R-hat for assessing convergence of "
    "MCMC. Bayesian Analysis, 16(2), 667-718."
)


def methods_text(posterior: Posterior) -> str:
    """Describe an analysis in a paragraph, followed by its references after blank lines.

    What is not stored with the posterior is left out.
    """
    settings = posterior.settings
    sentences = [
        *_data(posterior),
        *_coding(posterior.encoder.variables),
        *level_sentences(posterior),
        *_missing(settings, posterior.n_nodes),
        *_prior(posterior),
        *_likelihood(posterior),
        *_sampling(posterior),
        *convergence_sentences(posterior),
        *_software(settings),
    ]
    version = settings.get("versions", {}).get("slabfield")
    of_version = f" (Version {version})" if version else ""
    software = f"The slabfield developers. slabfield{of_version} [Computer software]."
    return "\n\n".join([" ".join(sentences), CHEN_WELLING, software, VEHTARI])


def _data(posterior: Posterior) -> list[str]:
    settings = posterior.settings
    n_rows = settings.get("n_rows")
    observations = "" if n_rows is None else f" from {counted(n_rows, 'observation')}"
    field = "a pairwise Markov random field"
    if not posterior.has_levels:
        field += " (an Ising model with couplings on the 0/1 scale)"
    found = [
        f"The conditional dependencies among {variables_text(posterior.variables)} were "
        f"estimated{observations} with {field}."
    ]
    if settings.get("weighted"):
        found.append(
            f"Observations were weighted; the weights sum to {settings['total_weight']:,.10g}."
        )
    return found


def _coding(variables: Sequence[Variable]) -> list[str]:
    rules = list(coding_rules(variables).items())
    n_unchanged = len(variables) - sum(len(names) for _, names in rules)
    if not rules:
        return ["All variables had the values 0 and 1 in the data."]
    if len(rules) == 1 and n_unchanged == 0:
        return [f"All variables were coded {rules[0][0]}."]
    described = [f"{rule} for {listed(names, MAX_NAMES)}" for rule, names in rules[:MAX_RULES]]
    n_others = sum(len(names) for _, names in rules[MAX_RULES:])
    if n_others:
        described.append(f"{counted(n_others, 'further variable')} in other ways")
    found = [f"Variables were coded as follows: {'; '.join(described)}."]
    if n_unchanged:
        others = "variable" if n_unchanged == 1 else f"{n_unchanged:,} variables"
        found.append(f"The other {others} had the values 0 and 1 in the data.")
    return found


def _missing(settings: Mapping[str, Any], n_nodes: int) -> list[str]:
    n_missing, n_dropped = settings.get("n_missing"), settings.get("n_dropped")
    if n_missing is None or n_dropped is None:
        return []
    if n_dropped:
        observations = "observation" if n_dropped == 1 else f"{n_dropped:,} observations"
        return [
            f"A further {observations} with missing entries {were(n_dropped)} excluded (listwise "
            "deletion)."
        ]
    if not n_missing:
        return ["There were no missing entries."]
    share = n_missing / (settings["n_rows"] * n_nodes)
    percent = f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
    entries, unknowns, their = ("entries", "unknowns", "their")
    if n_missing == 1:
        entries, unknowns, their = ("entry", "an unknown", "its")
    return [
        f"The {in_words(n_missing)} missing {entries} ({percent} of all entries) "
        f"{were(n_missing)} treated as {unknowns} and drawn in every iteration from {their} "
        "conditional distribution given all else, which assumes that entries are missing at random."
    ]


def _prior(posterior: Posterior) -> list[str]:
    settings, n_edges = posterior.settings, posterior.draws.n_edges
    if "inclusion_prior" not in settings or "slab_prior" not in settings:
        return []
    slab = settings["slab_prior"]
    bound = f" and sigma0 at most {slab['max']:.3g}" if "max" in slab else ""
    scale = (
        f"sigma0, with a Gamma prior of shape {slab['c']:g} and rate {slab['d']:g} on 1/sigma0^2"
        f"{bound}"
        if slab["sigma0"] is None
        else f"{slab['sigma0']:g}"
    )
    found = [
        "Edges had a spike-and-slab prior (Chen & Welling, 2012): the coupling of an absent edge "
        f"is exactly zero, and that of a present edge is normal with mean 0 and standard deviation "
        f"{scale}.",
        *slab_sentences(posterior),
        _edge_prior(settings["inclusion_prior"], n_edges),
    ]
    if "bias_scale" in settings:
        found.append(bias_prior_sentence(posterior, settings["bias_scale"]))
    return found


def _edge_prior(inclusion: Mapping[str, Any], n_edges: int) -> str:
    """Describe which edges share p0, and which have a probability of their own."""
    shared = f"p0, which had a Beta({inclusion['a']:g}, {inclusion['b']:g}) prior"
    given = inclusion["edges"]
    if not isinstance(given, list):
        only = n_edges == 1
        every = "The only possible edge" if only else f"Each of the {n_edges:,} possible edges"
        if given is None:
            return f"{every} had the {'' if only else 'same '}prior inclusion probability {shared}."
        if given in (0, 1):
            return f"{every} was {'included' if given else 'excluded'} a priori."
        return f"{every} had a prior inclusion probability of {given:g}."
    counts = Counter(given)
    parts = [
        f"{in_words(counts[value])} {were(counts[value])} {what} a priori"
        for value, what in ((0, "excluded"), (1, "included"))
        if counts[value]
    ]
    own = sorted(value for value in counts if value not in (None, 0, 1))
    if len(own) > MAX_PROBABILITIES:
        n_own = sum(counts[value] for value in own)
        parts.append(
            f"{in_words(n_own)} had prior inclusion probabilities of their own, from {own[0]:g} to "
            f"{own[-1]:g}"
        )
    else:
        parts += [
            f"{in_words(counts[value])} had a prior inclusion probability of {value:g}"
            for value in own
        ]
    if counts[None]:
        others = "other one" if counts[None] == 1 else f"other {in_words(counts[None])}"
        parts.append(f"the {others} had the prior inclusion probability {shared}")
    return f"Of the {n_edges:,} possible edges, {joined(parts)}."


def _likelihood(posterior: Posterior) -> list[str]:
    settings = posterior.settings
    engine = settings.get("engine")
    if engine == "exact":
        n_states = prod(variable.n_levels for variable in posterior.variables)
        return [f"The likelihood was computed exactly, as a sum over all {n_states:,} states."]
    if engine == "particles":
        return [
            "The likelihood was approximated by averages over particles, the states of Gibbs "
            f"samplers{_particles(posterior)}."
        ]
    if engine != "pseudo":
        return []
    weight = settings.get("pseudo_weight", 1.0)
    power = "" if weight == 1 else f", raised to the power {weight:g}"
    found = [
        "The likelihood was approximated by the pseudo-likelihood, the product of the conditional "
        f"probabilities of each variable given all others{power}."
    ]
    if settings.get("fell_back"):
        found.append(
            "This approximation was chosen automatically, because particles proved unreliable "
            "during warm-up."
        )
    return found


def _particles(posterior: Posterior) -> str:
    """State the number of particles, which warm-up may have chosen for each chain."""
    settings = posterior.settings
    adapted = {int(chain["n_particles"]) for chain in posterior.info if "n_particles" in chain}
    numbers = adapted or {settings.get("n_particles", 0)}
    low, high = min(numbers), max(numbers)
    parts = []
    if high:
        parts.append(f"{high:,} in each chain" if low == high else f"{low:,} to {high:,} by chain")
        if settings.get("n_particles") == 0:
            parts.append("a number chosen during warm-up")
    if settings.get("restart"):
        parts.append("restarted from observations in every iteration")
    return f" ({', '.join(parts)})" if parts else ""


def _sampling(posterior: Posterior) -> list[str]:
    settings, draws = posterior.settings, posterior.draws
    found = []
    if settings.get("scheme") in SAMPLERS:
        found.append(
            "The joint posterior distribution of network and parameters was sampled "
            f"{SAMPLERS[settings['scheme']]}."
        )
    n_chains, n_warmup, thin = draws.n_chains, settings.get("n_warmup"), settings.get("thin", 1)
    number = in_words(n_chains).capitalize() if n_chains <= 10 else f"A total of {n_chains:,}"
    chains = f"{number} {'chain' if n_chains == 1 else 'independent chains'} {were(n_chains)}"
    kept = f"{counted(draws.n_draws, 'draw')} kept{'' if n_chains == 1 else ' in each'}"
    thinned = f" (one every {thin:,} iterations)" if thin > 1 else ""
    warmup = ""
    if n_warmup is not None:
        discarded = counted(n_warmup, "discarded warm-up draw")
        warmup = f" after {discarded}" if n_warmup else " and no warm-up"
    total = "" if n_chains == 1 else f", {n_chains * draws.n_draws:,} draws in total"
    return [*found, f"{chains} run, with {kept}{thinned}{warmup}{total}.", *_end_of_run(posterior)]


def _end_of_run(posterior: Posterior) -> list[str]:
    """State why the run ended, unless it had the number of draws that was asked for."""
    settings, found = posterior.settings, []
    reason = settings.get("stopped_by")
    if reason == "converged":
        found.append(
            "The number of draws was increased until the criteria below on R-hat and effective "
            "draws held."
        )
    elif reason == "time":
        found.append("The run was ended by a time limit.")
    elif reason == "interrupt":
        planned = counted(settings["n_chains"], "chain")
        found.append(f"The run, planned with {planned}, was interrupted before its end.")
    warmups = [int(chain["warmed_up_for"]) for chain in posterior.info if "warmed_up_for" in chain]
    if warmups:
        least = "" if len(set(warmups)) == 1 else " or more"
        found.append(
            f"In {counted(len(warmups), 'chain')}, the time limit ended warm-up after "
            f"{counted(min(warmups), 'draw')}{least}."
        )
    return found


def _software(settings: Mapping[str, Any]) -> list[str]:
    versions = dict(settings.get("versions", {}))
    if "slabfield" not in versions:
        return []
    own = versions.pop("slabfield")
    others = [f"{SOFTWARE_NAMES.get(name, name)} {number}" for name, number in versions.items()]
    beside = f" with {joined(others)}" if others else ""
    seed = f"; the random seed was {settings['seed']}" if "seed" in settings else ""
    return [f"The analysis was run in slabfield {own}{beside}{seed}."]
