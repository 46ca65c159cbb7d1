"""Text of the report: findings, convergence and settings in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slabfield.posterior.diagnostics import MORE_DRAWS_HELP
from slabfield.posterior.evidence_classes import CLASSES, evidence_sentences
from slabfield.posterior.methods_levels import bias_prior_sentence, variables_text
from slabfield.validation import Parameter

if TYPE_CHECKING:
    from slabfield.posterior import Posterior

# Edges named in the summary
MAX_NAMED = 5
# Columns whose coding is described
MAX_NOTES = 20
# Longer lists of settings are summarized by their length
MAX_LIST_LENGTH = 12

ENGINES = {
    "exact": "the exact likelihood, summed over all states",
    "particles": "the likelihood, from averages over Gibbs particles",
    "pseudo": "half the pseudo-likelihood, an approximation",
}

BINARY_COUPLING = (
    "A positive coupling makes the two variables 1 together more often, a negative one less often. "
    "A coupling of 1 multiplies the odds of one variable by 2.7 if the other is 1."
)
SCORED_COUPLING = (
    "A positive coupling makes the two variables high together more often, a negative one less "
    "often. It multiplies scores of the levels, which are scaled so that couplings can be compared "
    "whatever the number of levels. The log odds ratio of adjacent levels is the coupling per step "
    "of the levels: one of 1 multiplies the odds of one step up by 2.7 if the other variable is "
    "one step higher."
)
STRENGTH = (
    "A pair with a nominal variable has a strength instead, which has no sign: the norm of several "
    "parameters. Select such an edge in the network to see which levels go together."
)
THRESHOLD = (
    "A threshold is the log weight of a level relative to the first level of the variable, the "
    "other variables held fixed."
)


def sentences(posterior: Posterior) -> list[str]:
    """Summarize the findings in sentences."""
    found = evidence_sentences(posterior)
    named = _strongest(posterior)
    if named:
        edges = "edge" if len(named) == 1 else "edges"
        found.insert(1, f"The strongest of the supported {edges}: {', '.join(named)}.")
    return found


def warnings_in_words(posterior: Posterior) -> list[str]:
    """Return the messages about a run without names of parameters or options.

    A report is read by people who may have used Python, the command line, or neither.
    """
    return [message.render(_in_words) for message in posterior.messages]


def _in_words(parameter: Parameter) -> str:
    return parameter.in_words or _words(parameter.name)


def _words(name: str) -> str:
    """Turn the name of a parameter or setting into words."""
    return re.sub(r"^n_", "number of ", name).replace("_", " ")


def verdict(posterior: Posterior) -> str:
    """State whether the run has converged, and what to do if not."""
    if posterior.converged:
        good = "The chains agree and are long enough: more draws would change these numbers little."
        approximate = posterior.settings.get("engine") == "pseudo"
        return f"{good} They are based on {ENGINES['pseudo']}." if approximate else good
    more_draws = any(problem.code in MORE_DRAWS_HELP for problem in posterior.problems)
    remedy = ", and resume the run" if more_draws else ""
    return (
        f"This run has not been shown to converge: treat these numbers as provisional{remedy}. The "
        "reasons are below."
    )


def main_settings(posterior: Posterior) -> list[tuple[str, str]]:
    """List the main settings as pairs of name and value."""
    settings, draws = posterior.settings, posterior.draws
    engine = str(settings.get("engine", "unknown"))
    rows = [
        ("Rows of data", _counted(settings.get("n_rows"))),
        ("Coding of columns", _coding(settings.get("coding"))),
        ("Nodes", _nodes(posterior)),
        ("Engine", f"{engine}: {ENGINES[engine]}" if engine in ENGINES else engine),
        ("Chains", str(draws.n_chains)),
        ("Draws per chain", f"{draws.n_draws:,}"),
        ("Warm-up draws per chain", _counted(settings.get("n_warmup"))),
        ("Iterations per draw", _plain(settings.get("thin"))),
        ("Prior of an edge", _inclusion_prior(settings.get("inclusion_prior"))),
        ("Prior of a coupling", _slab_prior(settings.get("slab_prior"))),
        _bias_prior(posterior),
        ("CPU time", _cpu_time(posterior.info)),
        ("Preset", _plain(settings.get("preset"))),
        ("Seed", _plain(settings.get("seed"))),
        ("Fingerprint of the data (SHA-256)", _plain(settings.get("data_fingerprint"))),
    ]
    versions = settings.get("versions")
    if isinstance(versions, dict):
        named = ", ".join(f"{name} {number}" for name, number in versions.items())
        rows.append(("Versions", named))
    return [(name, value) for name, value in rows if "unknown" not in value or name == "Engine"]


def all_settings(posterior: Posterior) -> str:
    """Return all settings as text, one per line, with long lists shortened."""
    return "\n".join(_lines(posterior.settings))


def _strongest(posterior: Posterior) -> list[str]:
    mean = np.nan_to_num(posterior.edge_mean)
    supported = np.flatnonzero(posterior.edge_evidence == CLASSES[0])
    chosen = supported[np.argsort(-np.abs(mean[supported]), kind="stable")][:MAX_NAMED]
    labels = posterior.interactions.labels(posterior.feature_names, chosen)
    words = ["coupling" if signed else "strength" for signed in posterior.edge_is_signed[chosen]]
    return [
        f"{label} ({word} {mean[edge]:.2f})"
        for label, word, edge in zip(labels, words, chosen, strict=True)
    ]


def coupling_help(posterior: Posterior) -> dict[str, str]:
    """Explain what couplings, and with levels strengths and thresholds, mean, by these terms."""
    interval = "The interval is the 95% highest-density interval, given that the edge is present."
    coupling = SCORED_COUPLING if posterior.has_levels else BINARY_COUPLING
    found = {"coupling": f"{coupling} {interval}"}
    if not posterior.edge_is_signed.all():
        found["strength"] = STRENGTH
    if posterior.has_levels:
        found["threshold"] = THRESHOLD
    return found


def _nodes(posterior: Posterior) -> str:
    if not posterior.has_levels:
        return str(posterior.n_nodes)
    return variables_text(posterior.variables)


def _bias_prior(posterior: Posterior) -> tuple[str, str]:
    scale = posterior.settings.get("bias_scale")
    if not posterior.has_levels:
        return "Prior of a bias", f"normal with mean 0 and sd {_plain(scale)}"
    if not isinstance(scale, (int, float)):
        return "Prior of thresholds", "unknown"
    return "Prior of thresholds", bias_prior_sentence(posterior, scale)


def _coding(notes: Any) -> str:
    if not isinstance(notes, list):
        return "unknown"
    if not notes:
        return "0 and 1, unchanged"
    more = f" And {len(notes) - MAX_NOTES} more." if len(notes) > MAX_NOTES else ""
    return " ".join(map(str, notes[:MAX_NOTES])) + more


def _inclusion_prior(prior: Any) -> str:
    if not isinstance(prior, dict):
        return "unknown"
    learned = f"p0, learned, with prior Beta({_plain(prior.get('a'))}, {_plain(prior.get('b'))})"
    given = prior.get("edges")
    if given is None:
        return learned
    if isinstance(given, (int, float)):
        return f"probability {given:g}, fixed"
    return f"given for single edges; for the others {learned}"


def _slab_prior(prior: Any) -> str:
    if not isinstance(prior, dict):
        return "unknown"
    fixed = prior.get("sigma0")
    if fixed is not None:
        return f"normal with mean 0 and sd {_plain(fixed)}"
    shape = f"Gamma({_plain(prior.get('c'))}, {_plain(prior.get('d'))})"
    return f"normal with mean 0 and sd sigma0, learned; 1 / sigma0\N{SUPERSCRIPT TWO} ~ {shape}"


def _cpu_time(info: list[dict[str, Any]]) -> str:
    seconds = [chain["cpu_seconds"] for chain in info if "cpu_seconds" in chain]
    return f"{sum(seconds):,.1f} s in all chains" if seconds else "unknown"


def _plain(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _counted(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _plain(value)


def _lines(settings: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield f"{indent}{_words(str(name))}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{_words(str(name))}: {_shortened(value)}"


def _shortened(value: Any) -> str:
    if isinstance(value, (np.ndarray, list, tuple)):
        if len(value) > MAX_LIST_LENGTH:
            return f"{len(value):,} values"
        return ", ".join(map(_shortened, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else str(value)
