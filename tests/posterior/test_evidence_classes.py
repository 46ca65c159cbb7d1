"""Classes of evidence, and the summary in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from made_up_posteriors import make_up
from slabfield.posterior import Posterior
from slabfield.posterior.evidence_classes import (
    CLASSES,
    NOT_ASSESSED,
    classify,
    count_classes,
    evidence_sentences,
    factor_text,
)

NAMES = ["sleep", "work", "joy", "rest"]


def posterior_with(*factors: float, **settings: Any) -> Posterior:
    """Make up a posterior with these Bayes factors."""
    posterior = make_up(names=NAMES)
    posterior.draws.log_bayes_factor = np.log(factors)
    posterior.draws.p0[:] = 0.25
    posterior.draws.sigma0[:] = 1.0
    posterior.draws.values.data[:] = 0.5
    posterior.settings.clear()
    posterior.settings.update({"inclusion_prior": {"a": 1.0, "b": 4.0, "edges": None}}, **settings)
    return posterior


def test_classes_at_their_limits() -> None:
    factor = [1e9, 10.01, 10, 3.01, 3, 1, 1 / 3, 0.33, 0.1, 0.0999, 1e-9, np.nan]
    strong_for, moderate_for, inconclusive, moderate_against, strong_against = CLASSES
    expected = [strong_for] * 2 + [moderate_for] * 2 + [inconclusive] * 3
    expected += [moderate_against] * 2 + [strong_against] * 2 + [NOT_ASSESSED]
    assert classify(factor).tolist() == expected
    assert list(count_classes(factor).values()) == [2, 2, 3, 2, 2, 1]


@pytest.mark.parametrize(
    ("factor", "text"),
    [(1e7, "> 10⁶"), (1e-7, "< 1/10⁶"), (12_345, "12,345"), (2.0, "2.0"),
     (0.5, "0.50"), (0.25, "1/4.0"), (1e-4, "1/10,000"), (np.nan, "")],
)  # fmt: skip
def test_factors_in_words(factor: float, text: str) -> None:
    assert factor_text(factor) == text


def test_the_summary_counts_every_edge_once() -> None:
    first, prior, *rest = evidence_sentences(posterior_with(20, 5, 1, 1, 0.2, 0.05))
    assert first.startswith("Of 6 possible edges, the data give strong evidence for 1 (")
    for part in ("moderate evidence for 1 (3 to 10)", "moderate evidence against 1 (1/10 to 1/3)",
                 "strong evidence against 1 (below 1/10)", "2 are inconclusive"):  # fmt: skip
        assert part in first
    assert "0.2 (p0, learned: its mean given the data is 0.25)" in prior
    assert rest == []


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        (0.3, "was 0.3, fixed"),
        ([0.1] * 5 + [0.7], "was 0.1 to 0.7 for all 6 edges, fixed"),
        ([None] * 5 + [0.7], "was 0.7 for 1 edge, fixed, and 0.2 (p0, learned"),
    ],
)
def test_the_summary_states_the_prior(edges: Any, text: str) -> None:
    prior = {"a": 1.0, "b": 4.0, "edges": edges}
    posterior = posterior_with(*[1.0] * 6, inclusion_prior=prior)
    if None not in np.atleast_1d(np.array(edges, dtype=object)):
        posterior.draws.p0[:] = np.nan  # no edge shares it
    found = evidence_sentences(posterior)
    assert text in found[1]


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [
        (100, ["about 0.37 (median", "moderate evidence against was out of reach for all"]),
        (1_000, ["about 1/8.0 (median", "out of reach for all edges. It takes"]),
        (10_000, []),
    ],
)  # fmt: skip
def test_the_summary_says_what_was_out_of_reach(n_rows: int, expected: list[str]) -> None:
    rows = {"n_rows": n_rows, "total_weight": float(n_rows), "level_shares": [[0.5, 0.5]] * 4}
    found = evidence_sentences(posterior_with(*[1.0] * 6, **rows))
    assert len(found) == (3 if expected else 2)
    for part in expected:
        assert part in found[-1]


def test_without_a_prior_nothing_is_assessed() -> None:
    posterior = posterior_with(*[1.0] * 6)
    posterior.settings.clear()
    (sentence,) = evidence_sentences(posterior)
    assert sentence == "The evidence for the 6 possible edges was not assessed."
    assert set(posterior.edge_evidence) == {NOT_ASSESSED}
