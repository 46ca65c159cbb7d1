"""Classes of evidence for and against edges, by Bayes factor, and the summary in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from slabfield.posterior.posterior import Posterior

# Bayes factors above which evidence is moderate and strong; below their inverses, against the edge
MODERATE, STRONG = 3.0, 10.0
# The classes, from the most to the least supported edges
CLASSES = ("strong for", "moderate for", "inconclusive", "moderate against", "strong against")
# Edges without a Bayes factor: the prior forces or forbids them
NOT_ASSESSED = "not assessed"
# Largest Bayes factor, and inverse of the smallest, that is shown as a number
MOST_SHOWN = 1e6
# Bayes factors that each class spans, in words
RANGES = {
    "strong for": f"above {STRONG:g}",
    "moderate for": f"{MODERATE:g} to {STRONG:g}",
    "inconclusive": f"1/{MODERATE:g} to {MODERATE:g}",
    "moderate against": f"1/{STRONG:g} to 1/{MODERATE:g}",
    "strong against": f"below 1/{STRONG:g}",
}


def classify(bayes_factor: ArrayLike) -> NDArray[np.str_]:
    """Return the class of evidence of every Bayes factor.

    Examples
    --------
    >>> from slabfield.posterior.evidence_classes import classify
    >>> classify([20, 4, 1, 0.2, 0.05, float("nan")]).tolist()[:3]
    ['strong for', 'moderate for', 'inconclusive']
    """
    factor = np.asarray(bayes_factor, dtype=np.float64)
    conditions = [
        np.isnan(factor), factor > STRONG, factor > MODERATE, factor >= 1 / MODERATE,
        factor >= 1 / STRONG,
    ]  # fmt: skip
    return np.select(conditions, [NOT_ASSESSED, *CLASSES[:-1]], CLASSES[-1])


def factor_text(bayes_factor: float) -> str:
    """Format a Bayes factor; evidence against an edge is shown as a fraction.

    Examples
    --------
    >>> from slabfield.posterior.evidence_classes import factor_text
    >>> [factor_text(value) for value in (1e9, 123.4, 12.3, 0.9, 0.05)]
    ['> 10⁶', '123', '12', '0.90', '1/20']
    """
    if np.isnan(bayes_factor):
        return ""
    if not 1 / MOST_SHOWN <= bayes_factor <= MOST_SHOWN:
        return "> 10\N{SUPERSCRIPT SIX}" if bayes_factor > 1 else "< 1/10\N{SUPERSCRIPT SIX}"
    if bayes_factor < 1 / MODERATE:
        return f"1/{factor_text(1 / bayes_factor)}"
    return f"{bayes_factor:,.0f}" if bayes_factor >= STRONG else f"{bayes_factor:#.2g}"


def count_classes(bayes_factor: ArrayLike) -> dict[str, int]:
    """Count the edges of each class, and of those not assessed."""
    found = classify(bayes_factor)
    return {name: int(np.sum(found == name)) for name in (*CLASSES, NOT_ASSESSED)}


def evidence_sentences(posterior: Posterior) -> list[str]:
    """Summarize in words the evidence for and against edges, its prior, and its reach."""
    found = [_count_sentence(posterior), _prior_sentence(posterior), _reach_sentence(posterior)]
    return [sentence for sentence in found if sentence]


def _count_sentence(posterior: Posterior) -> str:
    counts = count_classes(posterior.edge_bayes_factor)
    n_edges = posterior.draws.n_edges
    strong_for, moderate_for, inconclusive, moderate_against, strong_against = (
        f"{counts[name]:,}" for name in CLASSES
    )
    edges = "edge" if n_edges == 1 else "edges"
    if counts[NOT_ASSESSED] == n_edges:
        return f"The evidence for the {n_edges:,} possible {edges} was not assessed."
    text = (
        f"Of {n_edges:,} possible {edges}, the data give strong evidence for {strong_for} (Bayes "
        f"factor {RANGES['strong for']}), moderate evidence for {moderate_for} "
        f"({RANGES['moderate for']}), moderate evidence against {moderate_against} "
        f"({RANGES['moderate against']}) and strong evidence against {strong_against} "
        f"({RANGES['strong against']}); {inconclusive} {_are(counts['inconclusive'])} inconclusive."
    )
    fixed = counts[NOT_ASSESSED]
    return f"{text} The prior fixes the other {fixed:,}." if fixed else text


def _prior_sentence(posterior: Posterior) -> str:
    """State the prior inclusion probability, and p0 given the data."""
    prior = posterior.inclusion_prior
    if prior is None:
        return ""
    given = prior["edges"]
    if isinstance(given, int | float):
        return f"The prior inclusion probability of every edge was {given:g}, fixed."
    some = np.array([value for value in given or () if value is not None])
    learned = (
        f"{prior['a'] / (prior['a'] + prior['b']):.2g} (p0, learned: its mean given the data is "
        f"{posterior.draws.p0.mean():.2f})"
    )
    if some.size == 0:
        return (
            f"The prior inclusion probability of an edge was {learned}; an edge with a Bayes "
            f"factor of 1 has a probability of about {posterior.draws.p0.mean():.2f}."
        )
    span = f"{some.min():g}" + (f" to {some.max():g}" if some.max() > some.min() else "")
    text = f"The prior inclusion probability was {span} for "
    if some.size == len(given):
        return f"{text}all {some.size:,} edges, fixed."
    edges = "edge" if some.size == 1 else "edges"
    return f"{text}{some.size:,} {edges}, fixed, and {learned} for the others."


def _reach_sentence(posterior: Posterior) -> str:
    """State where evidence against an edge was out of reach with these rows and this slab."""
    factor, least = posterior.edge_bayes_factor, posterior.edge_least_bayes_factor
    known = ~np.isnan(factor) & ~np.isnan(least)
    factor, least = factor[known], least[known]
    strong, moderate = (
        int(np.sum((least > 1 / limit) & (factor > 1 / limit))) for limit in (STRONG, MODERATE)
    )
    if strong == 0:
        return ""
    n_rows = posterior.settings.get("n_rows")
    rows = f"With {n_rows:,} rows, the" if isinstance(n_rows, int) else "The"
    text = (
        f"{rows} Bayes factor of an edge whose coupling is exactly zero cannot fall below about "
        f"{factor_text(float(np.median(least)))} (median over edges): "
    )
    which, others = (
        "all edges" if count == least.size else f"{count:,} of them" for count in (strong, moderate)
    )
    if moderate == strong:
        text += f"strong or even moderate evidence against was out of reach for {which}"
    else:
        text += f"strong evidence against was out of reach for {which}"
        text += f", and moderate evidence against for {others}" if moderate else ""
    return f"{text}. It takes more rows to tell absence from weak dependence."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
