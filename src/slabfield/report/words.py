"""A posterior in plain words: what was found, whether to trust it, how it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from slabfield.posterior import Posterior

ABSENT, SUPPORTED = 0.1, 0.9
MOST_NAMED = 5
# Columns of which is said how they were read
MOST_NOTES = 20
LONGEST_LIST = 12

ENGINES = {
    "exact": "the exact likelihood, summed over all states",
    "particles": "the likelihood, from averages over Gibbs particles",
    "pseudo": "half the pseudo-likelihood, a fast approximation",
}


class Counts(NamedTuple):
    """How many edges are supported, undecided and likely absent."""

    supported: int
    undecided: int
    absent: int


def count_edges(posterior: Posterior) -> Counts:
    """Count edges by what their inclusion probability says."""
    probability = posterior.edge_probability
    supported = int(np.sum(probability >= SUPPORTED))
    absent = int(np.sum(probability <= ABSENT))
    return Counts(supported, probability.size - supported - absent, absent)


def sentences(posterior: Posterior) -> list[str]:
    """Say what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> from slabfield.report.words import sentences
    >>> one = np.ones((2, 4))
    >>> draws = Draws.from_dense(
    ...     one[..., None], one[..., None] == 1, np.zeros((2, 4, 2)), one / 2, one, one
    ... )
    >>> for sentence in sentences(Posterior(draws, ["sleep", "work"], {"engine": "exact"})):
    ...     print(sentence)
    Of 1 possible edge between 2 nodes, 1 is supported by the data (inclusion probability 0.9 or \
more), 0 are undecided and 0 likely absent (0.1 or less).
    The strongest supported edge: sleep - work (coupling 1.00).
    """
    counts, n_edges = count_edges(posterior), posterior.draws.n_edges
    found = [
        f"Of {n_edges:,} possible {'edge' if n_edges == 1 else 'edges'} between "
        f"{posterior.n_nodes} nodes, {counts.supported:,} {_are(counts.supported)} supported by "
        f"the data (inclusion probability {SUPPORTED:g} or more), {counts.undecided:,} "
        f"{_are(counts.undecided)} undecided and {counts.absent:,} likely absent ({ABSENT:g} or "
        "less)."
    ]
    named = _strongest(posterior)
    if named:
        edges = "edge" if len(named) == 1 else "edges"
        found.append(f"The strongest supported {edges}: {', '.join(named)}.")
    return found


def verdict(posterior: Posterior) -> str:
    """Say whether the run can be trusted, and what to do if not."""
    if posterior.converged:
        fine = "The chains agree and are long enough: more draws would change these figures little."
        approximate = posterior.settings.get("engine") == "pseudo"
        return f"{fine} They are those of {ENGINES['pseudo']}." if approximate else fine
    n_draws = posterior.draws.n_draws
    return (
        "The chains have not converged: take these figures as provisional. Below is what is wrong. "
        f"Where it says to run longer: slabfield fit ... --draws {4 * n_draws}, or "
        f"SpikeSlabMRF(n_draws={4 * n_draws})."
    )


def how_made(posterior: Posterior) -> list[tuple[str, str]]:
    """List the settings that matter, with what they are called."""
    told, draws = posterior.settings, posterior.draws
    engine = str(told.get("engine", "unknown"))
    rows = [
        ("Rows of data", _counted(told.get("n_rows"))),
        ("How columns were read", _coding(told.get("coding"))),
        ("Nodes", str(posterior.n_nodes)),
        ("Engine", f"{engine}: {ENGINES[engine]}" if engine in ENGINES else engine),
        ("Chains", str(draws.n_chains)),
        ("Draws kept of each chain", f"{draws.n_draws:,}"),
        ("Draws of warm-up", _counted(told.get("n_warmup"))),
        ("Iterations between draws", _plain(told.get("thin"))),
        ("Prior of an edge", _inclusion_prior(told.get("inclusion_prior"))),
        ("Prior of a coupling", _slab_prior(told.get("slab_prior"))),
        ("Prior of a bias", f"normal with mean 0 and sd {_plain(told.get('bias_scale'))}"),
        ("CPU time", _cpu_time(posterior.info)),
        ("Preset", _plain(told.get("preset"))),
        ("Seed", _plain(told.get("seed"))),
        ("Fingerprint of the data (SHA-256)", _plain(told.get("data_fingerprint"))),
    ]
    versions = told.get("versions")
    if isinstance(versions, dict):
        named = ", ".join(f"{name} {number}" for name, number in versions.items())
        rows.append(("Versions", named))
    return [(name, value) for name, value in rows if "unknown" not in value or name == "Engine"]


def all_settings(posterior: Posterior) -> str:
    """Lay out all that the run was told as JSON, long lists cut."""
    return json.dumps(_shortened(posterior.settings), indent=2, ensure_ascii=False, default=str)


def _strongest(posterior: Posterior) -> list[str]:
    names, mean = posterior.feature_names, np.nan_to_num(posterior.edge_mean)
    supported = np.flatnonzero(posterior.edge_probability >= SUPPORTED)
    chosen = supported[np.argsort(-np.abs(mean[supported]), kind="stable")][:MOST_NAMED]
    first, second = np.triu_indices(posterior.n_nodes, 1)
    return [f"{names[first[e]]} - {names[second[e]]} (coupling {mean[e]:.2f})" for e in chosen]


def _coding(notes: Any) -> str:
    if not isinstance(notes, list):
        return "unknown"
    if not notes:
        return "as they are, 0 and 1"
    more = f" And {len(notes) - MOST_NOTES} more." if len(notes) > MOST_NOTES else ""
    return " ".join(map(str, notes[:MOST_NOTES])) + more


def _inclusion_prior(facts: Any) -> str:
    if not isinstance(facts, dict):
        return "unknown"
    learnt = f"p0, learnt, with prior Beta({_plain(facts.get('a'))}, {_plain(facts.get('b'))})"
    own = facts.get("edges")
    if own is None:
        return learnt
    if isinstance(own, (int, float)):
        return f"probability {own:g}, fixed"
    return f"given edge by edge; elsewhere {learnt}"


def _slab_prior(facts: Any) -> str:
    if not isinstance(facts, dict):
        return "unknown"
    fixed = facts.get("sigma0")
    if fixed is not None:
        return f"normal with mean 0 and sd {_plain(fixed)}"
    shape = f"Gamma({_plain(facts.get('c'))}, {_plain(facts.get('d'))})"
    return f"normal with mean 0 and sd sigma0, learnt; 1 / sigma0\N{SUPERSCRIPT TWO} ~ {shape}"


def _cpu_time(info: list[dict[str, Any]]) -> str:
    seconds = [chain["cpu_seconds"] for chain in info if "cpu_seconds" in chain]
    return f"{sum(seconds):,.1f} s in all chains" if seconds else "unknown"


def _plain(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _counted(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _plain(value)


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _shortened(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if len(value) > LONGEST_LIST:
            return f"{len(value):,} values"
        return [_shortened(each) for each in value]
    return value


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
