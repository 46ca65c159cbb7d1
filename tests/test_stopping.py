"""How long chains run, where they start, and when particles are given up."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from slabfield import SpikeSlabMRF, datasets
from slabfield.estimator import FIRST_DRAWS
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.state import insert
from slabfield.posterior.convergence import sick_particles
from slabfield.priors import Prior
from slabfield.sampler.collapsed import begun_anew, start_collapsed, trapped
from slabfield.sampler.parallel import Limits, Unfit, refuse_unfit, run_chains
from slabfield.sampler.run import chain_rng
from slabfield.sampler.settings import (
    HALVES_LIMIT,
    MISFIT_LIMIT,
    default_particles,
    gold_standard,
)
from slabfield.sampler.starts import (
    KINDS,
    kind_of,
    modest_state,
    sketch_of,
    small_field_state,
    state_of,
)
from slabfield.sampler.warmup import Problem

QUICK = replace(gold_standard(), n_draws=20, n_warmup=5, thin=1)


def problem_of(rows, **prior):
    model = BinaryPairwise(rows.shape[1])
    return Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions, **prior))


@pytest.fixture(scope="module")
def small():
    return problem_of(datasets.make_block(60, n_groups=1, random_state=0).rows)


@pytest.fixture(scope="module")
def large():
    return problem_of(datasets.make_random(200, n_nodes=26, mean_degree=2, random_state=0).rows)


# --- how long ---------------------------------------------------------------------------------


def test_there_are_a_quarter_more_draws_until_they_are_enough(small):
    seen = []

    def enough(results):
        seen.append(len(results[0].record.bias))
        return len(seen) == 3

    outcome = run_chains(small, QUICK, 2, seed=1, limits=Limits(1_000, enough))
    assert seen == [20, 25, 31]
    assert outcome.stopped_by == "converged"
    at_once = run_chains(small, replace(QUICK, n_draws=31), 2, seed=1).results
    for one, other in zip(outcome.results, at_once, strict=True):
        assert np.array_equal(one.record.coupling, other.record.coupling)
        assert np.array_equal(one.chance, other.chance)


def test_draws_end_at_the_most_that_may_be(small):
    outcome = run_chains(small, QUICK, 2, seed=1, limits=Limits(50, lambda _: False))
    assert outcome.stopped_by == "draws"
    assert [len(result.record.bias) for result in outcome.results] == [50, 50]


def test_time_ends_a_run_with_as_many_draws_of_every_chain(small):
    # its first revision, after one draw, changes nothing yet
    endless = replace(QUICK, n_draws=10**9, n_warmup=20)
    begin = time.monotonic()
    outcome = run_chains(small, endless, 3, seed=1, limits=Limits(deadline=begin + 1.0))
    assert outcome.stopped_by == "time"
    lengths = {len(result.record.bias) for result in outcome.results}
    assert len(lengths) == 1
    assert lengths.pop() > 1
    late = run_chains(small, endless, 3, seed=1, limits=Limits(deadline=begin))
    assert {len(result.record.bias) for result in late.results} == {1}
    # warm-up ends too: its chunks have one draw, then two
    assert [result.settled["warmed_up_for"] for result in late.results] == [1, 1, 1]
    after_one = run_chains(small, replace(QUICK, n_draws=1, n_warmup=1), 3, seed=1)
    first = after_one.results[1].record.bias
    assert np.array_equal(late.results[1].record.bias, first)


@pytest.mark.parametrize(
    ("likelihood", "preset"),
    [("exact", "default"), ("particles", "default"), ("pseudo", "default"), ("particles", "paper")],
)
def test_a_time_budget_ends_warm_up_and_that_is_told_of(likelihood, preset):
    rows = datasets.make_block(60, n_groups=1, random_state=0).rows
    told = {"likelihood": likelihood, "preset": preset, "n_warmup": 10**9, "random_state": 0}
    clock = time.monotonic()
    model = SpikeSlabMRF(**told, n_draws=10**9, max_memory="900TB", time_budget=2.0).fit(rows)
    # compiling may come before, which does not depend on the budget
    assert time.monotonic() - clock < 300.0
    posterior = model.posterior_
    assert posterior.draws.n_draws >= 1
    assert posterior.draws.chance.shape == (6,)
    assert "ended the warm-up of 4 of 4 chains" in posterior.warnings[1]
    if preset == "default":
        # what was seen in warm-up is not counted
        assert np.all(posterior.draws.chance <= 1)


def test_auto_runs_until_converged_and_says_so():
    rows = datasets.make_block(200, n_groups=1, random_state=1).rows
    model = SpikeSlabMRF(n_draws="auto", random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.converged
    assert posterior.settings["stopped_by"] == "converged"
    assert posterior.settings["n_draws"] == posterior.draws.n_draws >= FIRST_DRAWS


def test_auto_stops_at_max_draws_and_names_the_hold_outs():
    rows = datasets.make_block(100, random_state=2).rows
    model = SpikeSlabMRF(n_draws="auto", max_draws=30, n_warmup=10, random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.draws.n_draws == 30
    assert posterior.settings["stopped_by"] == "draws"
    assert not posterior.converged
    assert any("worst:" in text for text in posterior.warnings)


def test_a_time_budget_is_told_of():
    rows = datasets.make_block(60, n_groups=1, random_state=0).rows
    model = SpikeSlabMRF(n_draws=2 * 10**6, time_budget=1.0, random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.settings["stopped_by"] == "time"
    assert f"after {posterior.draws.n_draws} draws" in posterior.warnings[0]


# --- where from -------------------------------------------------------------------------------


def test_kinds_of_start_come_by_turns():
    assert [kind_of(c) for c in range(5)] == [*KINDS, KINDS[0]]


def test_starts_are_as_they_are_called(small, large):
    rng = np.random.default_rng(0)
    assert small_field_state(small, "empty", rng).n_members[0] == 0
    shares = [small_field_state(small, "half", rng).present.mean() for _ in range(200)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.1)
    assert modest_state(large, "empty", rng).n_members[0] == 0
    counts = [modest_state(large, "random", rng).n_members[0] for _ in range(100)]
    assert 0.3 * 26 < np.mean(counts) < 0.7 * 26


def test_a_sketch_has_all_of_a_state_and_shares_nothing_with_it(large):
    state = modest_state(large, "random", np.random.default_rng(3))
    assert state.n_members[0] > 0
    sketch = sketch_of(state)
    back = state_of(sketch, state.present.size)
    for one, other, name in zip(state, back, state._fields, strict=True):
        listed = state.n_members[0] if name == "members" else None
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert np.array_equal(one[:listed], other[:listed])
    before = [part.copy() for part in sketch]
    for part in (*state, *back):
        part[:] = 1
    assert all(np.array_equal(one, other) for one, other in zip(sketch, before, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_forced_edges_are_there_from_the_start_and_forbidden_ones_are_not(small, kind):
    inclusion = np.array([0.0, 1.0, 0.5, 0.5, 1.0, 0.0])
    problem = small._replace(prior=small.prior._replace(inclusion=inclusion))
    for draw in (small_field_state, modest_state):
        for seed in range(20):
            state = draw(problem, kind, np.random.default_rng(seed))
            assert state.present[[1, 4]].all()
            assert not state.present[[0, 5]].any()


# --- when not ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain(large):
    settings = replace(default_particles(), n_particles=64, n_sweeps=1)
    return start_collapsed(large, settings, chain_rng(1, 0), "pseudo")


def test_a_chain_starts_from_the_pseudo_likelihood(chain):
    assert 5 < chain.rough.edges.size < 60
    assert np.array_equal(np.flatnonzero(chain.state.present), np.sort(chain.rough.edges))
    assert not trapped(chain)


def test_the_dense_trap_is_noticed_and_left(chain):
    for alpha in np.flatnonzero(chain.state.present == 0):
        insert(chain.state, int(alpha))
    assert trapped(chain)
    fresh = begun_anew(chain)
    assert not trapped(fresh)
    assert fresh.n_restarts == 1
    assert np.array_equal(fresh.state.coupling[chain.rough.edges], chain.rough.coupling)
    assert np.count_nonzero(fresh.state.coupling) == chain.rough.edges.size
    fresh.state.coupling[:] = 7.0
    assert not np.any(chain.rough.coupling == 7.0)


class Run:
    """A chain after warm-up, as :func:`refuse_unfit` sees it."""

    def __init__(self, **found):
        self.found = found

    def settled(self):
        return self.found


HEALTHY = {"half_against_half": 1.0, "noise": 0.3, "trapped": False}


@pytest.mark.parametrize(
    ("sick", "word"),
    [({"half_against_half": 2 * HALVES_LIMIT}, "mix"), ({"noise": 3.0}, "noisy"),
     ({"trapped": True}, "trap")],
)  # fmt: skip
def test_particles_that_do_not_do_are_refused(sick, word):
    refuse_unfit([Run(**HEALTHY)] * 4)
    refuse_unfit([Run(**HEALTHY)] * 3 + [Run(**HEALTHY | sick)])
    refuse_unfit([Run()] * 4)
    with pytest.raises(Unfit, match=word):
        refuse_unfit([Run(**HEALTHY | sick)] * 4)


@pytest.mark.parametrize(
    ("sick", "word", "how_many"),
    [({"half_against_half": 2 * HALVES_LIMIT}, "do not mix", 2), ({"noise": 3.0}, "too few", 1),
     ({"misfit": 2 * MISFIT_LIMIT}, "lag behind", 2), ({"trapped": True}, "dense trap", 1)],
)  # fmt: skip
def test_sick_particles_are_told_of(sick, word, how_many):
    healthy = HEALTHY | {"misfit": 1.5}
    assert sick_particles([{}] * 4) == []
    assert sick_particles([healthy] * 4) == []
    for n_sick in range(5):
        told = sick_particles([healthy | sick] * n_sick + [healthy] * (4 - n_sick))
        assert len(told) == (n_sick >= how_many)
        assert all(word in text for text in told)


def test_auto_falls_back_on_the_pseudo_likelihood_and_says_so(monkeypatch):
    from slabfield import estimator

    def refuse(runs):
        if runs[0].settled().get("n_particles"):
            raise Unfit("The particles are tired.")

    monkeypatch.setattr(estimator, "refuse_unfit", refuse)
    rows = datasets.make_random(100, n_nodes=21, mean_degree=2, random_state=0).rows
    model = SpikeSlabMRF(n_warmup=4, n_draws=20, n_particles=64, random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.settings["engine"] == "pseudo"
    assert posterior.warnings[0].startswith("The particles are tired.")
    asked = SpikeSlabMRF(
        likelihood="particles", n_warmup=4, n_draws=20, n_particles=64, random_state=0
    )
    assert asked.fit(rows).posterior_.settings["engine"] == "particles"
