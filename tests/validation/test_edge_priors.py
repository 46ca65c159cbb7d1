"""Prior knowledge about edges: accepted forms, errors, and effects on the posterior."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from slabfield import SpikeSlabMRF
from slabfield.datasets import make_block
from slabfield.models.interactions import Interactions
from slabfield.validation import InputError, check_edge_prior

NAMES = ["a", "b", "c", "d"]
PAIRS = Interactions.pairs(4)
FRAME = pd.DataFrame(make_block(60, random_state=3, n_groups=1).rows, columns=NAMES)
NAN = np.nan


def edges(inclusion_prior: Any = (5, 5), **known: Any) -> list[float | None]:
    """Probabilities of ab, ac, ad, bc, bd, cd; None where p0 is learned."""
    fixed = check_edge_prior(inclusion_prior, NAMES, PAIRS, **known).fixed
    return [None if np.isnan(value) else value for value in fixed.tolist()]


def test_nothing_known() -> None:
    prior = check_edge_prior((2, 7), NAMES, PAIRS)
    assert (prior.a, prior.b) == (2, 7)
    assert edges() == [None] * 6
    assert edges(0.3) == [0.3] * 6
    assert edges(forbid=[], require=()) == [None] * 6


def test_names_indices_and_either_order() -> None:
    expected = [0, None, None, None, None, 1]
    for forbid in ([("a", "b")], [("b", "a")], [(0, 1)], [("a", 1)], np.array([[0, 1]]), {(0, 1)}):
        assert edges(forbid=forbid, require=[("d", "c")]) == expected
    assert edges(forbid=pd.DataFrame({"x": ["a"], "y": ["b"]}).to_numpy()) == [0] + [None] * 5
    # a learned p0 keeps its prior, and a fixed one its value
    prior = check_edge_prior((2, 7), NAMES, PAIRS, forbid=[(0, 1)])
    assert (prior.a, prior.b) == (2, 7)
    assert edges(0.3, forbid=[(0, 1)]) == [0, *[0.3] * 5]


def test_every_pair_has_its_index() -> None:
    first, second = np.triu_indices(4, 1)
    for edge, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        found = check_edge_prior((5, 5), NAMES, PAIRS, require=[pair]).fixed
        assert np.flatnonzero(found == 1).tolist() == [edge]


def test_probabilities_by_pair() -> None:
    assert edges({("a", "b"): 0.9, (3, "a"): 0}) == [0.9, None, 0, None, None, None]
    assert edges({}) == [None] * 6


def test_communities() -> None:
    labels = ["u", "u", "v", "v"]
    assert edges(communities=labels, within=0.6, between=0.1) == [0.6, 0.1, 0.1, 0.1, 0.1, 0.6]
    named = dict(zip(NAMES, labels, strict=True))
    assert edges(communities=named, within=0.6) == [0.6, None, None, None, None, 0.6]
    assert edges(communities=np.array([0, 0, 1, 1]), between=0) == [None, 0, 0, 0, 0, None]
    assert edges(0.3, communities=labels, within=0.6) == [0.6, 0.3, 0.3, 0.3, 0.3, 0.6]


def test_specific_information_takes_precedence() -> None:
    matrix = np.full((4, 4), NAN)
    matrix[0, 1] = matrix[1, 0] = 0.7
    known: dict[str, Any] = {"communities": [0, 0, 1, 1], "within": 0.6, "between": 0.1}
    assert edges(matrix, **known) == [0.7, 0.1, 0.1, 0.1, 0.1, 0.6]
    assert edges(matrix, **known, forbid=[(0, 1)], require=[(1, 2)]) == [0, 0.1, 0.1, 1, 0.1, 0.6]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"forbid": [("a", "z")]}, r"forbid must name nodes of the table; got 'z'.*'a', 'b', 'c'"),
        ({"forbid": [(0, 4)]}, r"got 4.*number from 0 to 3"),
        ({"forbid": [(0, -1)]}, r"got -1"),
        ({"forbid": [(0, 1.0)]}, r"got 1"),
        ({"forbid": [("a", "a")]}, r"forbid must hold pairs of different nodes; got 'a' with"),
        ({"forbid": ["ab"]}, r"forbid must hold pairs of nodes; got 'ab'.*forbid=\[\('a', 'b'\)\]"),
        (
            {"require": [("a", "b", "c")]},
            r"require must hold pairs of nodes; got \('a', 'b', 'c'\)",
        ),
        ({"require": ("a", "b")}, r"require must hold pairs of nodes; got 'a'"),
        ({"require": "ab"}, r"require must be a list of pairs of nodes; got 'ab'"),
        ({"require": 3}, r"require must be a list of pairs of nodes; got 3"),
        ({"forbid": [(0, 1)], "require": [("b", "a")]}, r"same edge; found \('a', 'b'\) in both"),
        (
            {"communities": ["u"] * 3, "within": 0.5},
            r"must have a label for each of the 4 nodes",
        ),
        ({"communities": "uuvv", "within": 0.5}, r"communities must have a label .*got 'uuvv'"),
        ({"communities": {"a": 1, "b": 1}, "within": 0.5}, r"each node; 'c' and 'd' have none"),
        (
            {"communities": {"z": 1}, "within": 0.5},
            r"must name nodes of the table; got 'z'",
        ),
        ({"communities": [0, 0, 1, 1]}, r"communities need a probability.*within=0.5, between=0.1"),
        ({"within": 0.5}, r"within=0.5 without communities"),
        ({"between": 0.5}, r"between=0.5 without communities"),
        ({"communities": [0, 0, 1, 1], "within": 1.5}, r"within must be a number"),
        ({"communities": [0, 0, 1, 1], "between": "few"}, r"between must be a number"),
        ({"inclusion_prior": {("a", "z"): 0.5}}, r"inclusion_prior must name nodes"),
        ({"inclusion_prior": {"ab": 0.5}}, r"inclusion_prior must hold pairs of nodes"),
        ({"inclusion_prior": {("a", "b"): 2}}, r"inclusion_prior must be a number"),
        (
            {"inclusion_prior": {("a", "b"): 1}, "forbid": [(0, 1)]},
            r"forbid must agree with inclusion_prior; for the pair \('a', 'b'\) that says 1",
        ),
        (
            {"inclusion_prior": {("a", "b"): 0}, "require": [(0, 1)]},
            r"require must agree with inclusion_prior.*says 0",
        ),
    ],
)
def test_invalid_knowledge_is_refused(known: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SpikeSlabMRF(**known).fit(FRAME)


@pytest.mark.parametrize(
    "settings",
    [
        {"likelihood": "exact"},
        {"likelihood": "pseudo"},
        {"likelihood": "particles", "sampler": {"n_particles": 64}},
        {"preset": "paper", "sampler": {"thin": 3}},
        {"preset": "paper", "likelihood": "exact", "sampler": {"thin": 3}},
    ],
)
def test_forbidden_edges_never_appear_and_required_ones_always_do(settings: dict[str, Any]) -> None:
    quick: dict[str, Any] = {"n_chains": 2, "n_draws": 60, "n_warmup": 10, "random_state": 0}
    free = SpikeSlabMRF(**quick, **settings).fit(FRAME)
    there = free.posterior_.draws.present.mean(axis=(0, 1))
    likely, unlikely = int(np.argmax(there)), int(np.argmin(there))
    assert there[likely] > 0.5 > there[unlikely]
    pairs = np.column_stack(np.triu_indices(4, 1))
    model = SpikeSlabMRF(
        **quick, **settings, forbid=[tuple(pairs[likely])], require=[tuple(pairs[unlikely])]
    ).fit(FRAME)
    present = model.posterior_.draws.present
    assert not present[..., likely].any()
    assert present[..., unlikely].all()
    assert model.inclusion_probability_[tuple(pairs[likely])] == 0
    assert model.inclusion_probability_[tuple(pairs[unlikely])] == 1
    others = np.delete(present, [likely, unlikely], axis=2).mean(axis=(0, 1))
    assert 0 < others.mean() < 1  # left to the data
    probabilities = model.posterior_.settings["inclusion_prior"]["edges"]
    assert probabilities[likely] == 0
    assert probabilities[unlikely] == 1


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
@pytest.mark.parametrize("name", ["forbid", "require"])
def test_all_edges_forbidden_or_required(name: str, likelihood: str) -> None:
    every = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    known: dict[str, Any] = {name: every}
    model = SpikeSlabMRF(
        likelihood=likelihood, n_chains=2, n_draws=30, n_warmup=10, random_state=0, **known
    ).fit(FRAME)
    assert np.all(model.posterior_.draws.present == (name == "require"))
    assert np.isfinite(model.bias_).all()
    assert np.isfinite(model.score(FRAME))


def test_a_community_prior_changes_the_posterior() -> None:
    quick: dict[str, Any] = {"n_chains": 2, "n_draws": 200, "n_warmup": 20, "random_state": 0}
    labels = {"a": "u", "b": "u", "c": "v", "d": "v"}
    few, many = (
        SpikeSlabMRF(**quick, communities=labels, between=p).fit(FRAME).inclusion_probability_
        for p in (0.02, 0.98)
    )
    across = np.ix_([0, 1], [2, 3])
    assert np.all(few[across] < many[across] + 0.01)  # one is certain whatever the prior says
    assert many[across].mean() - few[across].mean() > 0.3
