"""When chains stop, where they start, and when particles are rejected."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from slabfield import SpikeSlabMRF, datasets
from slabfield.adaptation.starts import (
    KINDS,
    kind_of,
    small_field_state,
    sparse_state_of,
    start_from_data,
    state_of,
)
from slabfield.chains.chain_run import chain_rng
from slabfield.chains.collapsed_warmup import start_collapsed
from slabfield.chains.parallel import Limits, Unfit, refuse_unfit, run_chains
from slabfield.chains.particle_chain import in_dense_mode, restarted
from slabfield.chains.run_clock import Deadline
from slabfield.configuration import (
    DISCREPANCY_LIMIT,
    MISFIT_LIMIT,
    default_exact,
    default_particles,
)
from slabfield.estimators.run_goal import FIRST_DRAWS
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import insert
from slabfield.posterior.diagnostics import particle_warnings
from slabfield.priors import Prior
from slabfield.problem import Problem

QUICK = replace(default_exact(), n_draws=20, n_warmup=5, thin=1)


def problem_of(rows, **prior):
    model = BinaryPairwise(rows.shape[1])
    return Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions, **prior))


@pytest.fixture(scope="module")
def small():
    return problem_of(datasets.make_block(60, n_groups=1, random_state=0).rows)


@pytest.fixture(scope="module")
def large():
    return problem_of(datasets.make_random(200, n_nodes=26, mean_degree=2, random_state=0).rows)


# --- stopping ---------------------------------------------------------------------------------


def test_draws_grow_by_a_quarter_until_they_are_enough(small):
    lengths = []

    def enough(results):
        lengths.append(len(results[0].record.bias))
        return len(lengths) == 3

    outcome = run_chains(small, QUICK, 2, seed=1, limits=Limits(1_000, enough))
    assert lengths == [20, 25, 31]
    assert outcome.stopped_by == "converged"
    at_once = run_chains(small, replace(QUICK, n_draws=31), 2, seed=1).results
    for one, other in zip(outcome.results, at_once, strict=True):
        assert np.array_equal(one.record.coupling, other.record.coupling)
        assert np.array_equal(one.conditional_probability, other.conditional_probability)
        assert np.array_equal(one.evidence_means, other.evidence_means)


def test_draws_stop_at_their_largest_number(small):
    outcome = run_chains(small, QUICK, 2, seed=1, limits=Limits(50, lambda _: False))
    assert outcome.stopped_by == "draws"
    assert [len(result.record.bias) for result in outcome.results] == [50, 50]


def test_a_deadline_ends_a_run_with_equal_numbers_of_draws(small):
    # the first adaptation, after one draw, changes nothing yet
    endless = replace(QUICK, n_draws=10**9, n_warmup=20)
    outcome = run_chains(small, endless, 3, seed=1, limits=Limits(deadline=Deadline(1.0)))
    assert outcome.stopped_by == "time"
    lengths = {len(result.record.bias) for result in outcome.results}
    assert len(lengths) == 1
    assert lengths.pop() > 1
    late = run_chains(small, endless, 3, seed=1, limits=Limits(deadline=Deadline(-1.0)))
    assert {len(result.record.bias) for result in late.results} == {1}
    # warm-up ends too: its chunks have one draw, then two
    assert [result.adaptation["warmed_up_for"] for result in late.results] == [1, 1, 1]
    after_one = run_chains(small, replace(QUICK, n_draws=1, n_warmup=1), 3, seed=1)
    first = after_one.results[1].record.bias
    assert np.array_equal(late.results[1].record.bias, first)


@pytest.mark.parametrize(
    ("likelihood", "preset"),
    [("exact", "default"), ("particles", "default"), ("pseudo", "default"), ("particles", "paper")],
)
def test_a_time_budget_ends_warm_up_with_a_warning(likelihood, preset):
    rows = datasets.make_block(60, n_groups=1, random_state=0).rows
    parameters = {"likelihood": likelihood, "preset": preset, "n_warmup": 10**9, "random_state": 0}
    clock = time.monotonic()
    model = SpikeSlabMRF(**parameters, n_draws=10**9, max_memory="900TB", time_budget=2.0).fit(rows)
    # compiling may come before, which does not depend on the budget
    assert time.monotonic() - clock < 300.0
    posterior = model.posterior_
    assert posterior.draws.n_draws >= 1
    assert posterior.draws.conditional_probability.shape == (6,)
    assert "ended the warm-up of all 4 chains" in posterior.warnings[1]
    if preset == "default":
        # the statistics of warm-up are dropped
        assert np.all(posterior.draws.conditional_probability <= 1)


def test_auto_runs_until_converged_and_says_so():
    rows = datasets.make_block(200, n_groups=1, random_state=1).rows
    model = SpikeSlabMRF(n_draws="auto", random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.converged
    assert posterior.settings["stopped_by"] == "converged"
    assert posterior.settings["n_draws"] == posterior.draws.n_draws >= FIRST_DRAWS


def test_auto_stops_at_max_draws_and_names_the_worst_edges():
    rows = datasets.make_block(100, random_state=2).rows
    model = SpikeSlabMRF(n_draws="auto", max_draws=30, n_warmup=10, random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.draws.n_draws == 30
    assert posterior.settings["stopped_by"] == "draws"
    assert not posterior.converged
    assert any("worst:" in text for text in posterior.warnings)


def test_a_time_budget_that_ended_a_run_is_reported():
    rows = datasets.make_block(60, n_groups=1, random_state=0).rows
    model = SpikeSlabMRF(n_draws=2 * 10**6, time_budget=1.0, random_state=0).fit(rows)
    posterior = model.posterior_
    assert posterior.settings["stopped_by"] == "time"
    assert f"after {posterior.draws.n_draws} draws" in posterior.warnings[0]


# --- starts -----------------------------------------------------------------------------------


def test_kinds_of_start_rotate():
    assert [kind_of(c) for c in range(5)] == [*KINDS, KINDS[0]]


def test_starts_are_of_their_kind(small, large):
    rng = np.random.default_rng(0)
    assert small_field_state(small, "empty", rng).n_members[0] == 0
    shares = [small_field_state(small, "half", rng).present.mean() for _ in range(200)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.1)
    assert start_from_data(large, "empty", rng).n_members[0] == 0
    counts = [start_from_data(large, "random", rng).n_members[0] for _ in range(100)]
    assert 0.3 * 26 < np.mean(counts) < 0.7 * 26


def test_a_sparse_state_is_complete_and_shares_no_memory(large):
    state = start_from_data(large, "random", np.random.default_rng(3))
    assert state.n_members[0] > 0
    sparse = sparse_state_of(state, large.model)
    back = state_of(sparse, large.model)
    for one, other, name in zip(state, back, state._fields, strict=True):
        listed = state.n_members[0] if name == "members" else None
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert np.array_equal(one[:listed], other[:listed])
    before = [part.copy() for part in sparse]
    for part in (*state, *back):
        part[:] = 1
    assert all(np.array_equal(one, other) for one, other in zip(sparse, before, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_forced_edges_are_present_at_the_start_and_forbidden_ones_are_not(small, kind):
    inclusion = np.array([0.0, 1.0, 0.5, 0.5, 1.0, 0.0])
    problem = small._replace(prior=small.prior._replace(inclusion=inclusion))
    for draw in (small_field_state, start_from_data):
        for seed in range(20):
            state = draw(problem, kind, np.random.default_rng(seed))
            assert state.present[[1, 4]].all()
            assert not state.present[[0, 5]].any()


# --- particles that fail ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain(large):
    settings = replace(default_particles(), n_particles=64, n_sweeps=1)
    return start_collapsed(large, settings, chain_rng(1, 0), "pseudo")


def test_a_chain_starts_from_the_pseudo_likelihood(chain):
    assert 5 < chain.pilot.edges.size < 60
    assert np.array_equal(np.flatnonzero(chain.state.present), np.sort(chain.pilot.edges))
    assert not in_dense_mode(chain)


def test_the_dense_mode_is_detected_and_left(chain):
    for alpha in np.flatnonzero(chain.state.present == 0):
        insert(chain.state, int(alpha))
    assert in_dense_mode(chain)
    fresh = restarted(chain)
    assert not in_dense_mode(fresh)
    assert fresh.n_restarts == 1
    assert np.array_equal(fresh.state.coupling[chain.pilot.edges], chain.pilot.coupling)
    assert np.count_nonzero(fresh.state.coupling) == chain.pilot.edges.size
    fresh.state.coupling[:] = 7.0
    assert not np.any(chain.pilot.coupling == 7.0)


class Run:
    """The part of a chain after warm-up that :func:`refuse_unfit` uses."""

    def __init__(self, **summary):
        self.summary = summary

    def adaptation(self):
        return self.summary


HEALTHY = {"two_start_discrepancy": 1.0, "noise": 0.3, "in_dense_mode": False}


@pytest.mark.parametrize(
    ("bad", "word"),
    [({"two_start_discrepancy": 2 * DISCREPANCY_LIMIT}, "mix"), ({"noise": 3.0}, "noisy"),
     ({"in_dense_mode": True}, "dense mode")],
)  # fmt: skip
def test_unfit_particles_are_refused(bad, word):
    refuse_unfit([Run(**HEALTHY)] * 4)
    refuse_unfit([Run(**HEALTHY)] * 3 + [Run(**HEALTHY | bad)])
    refuse_unfit([Run()] * 4)
    with pytest.raises(Unfit, match=word):
        refuse_unfit([Run(**HEALTHY | bad)] * 4)


@pytest.mark.parametrize(
    ("bad", "code", "how_many"),
    [({"two_start_discrepancy": 2 * DISCREPANCY_LIMIT}, "particles-do-not-mix", 2),
     ({"noise": 3.0}, "too-few-particles", 1),
     ({"moment_misfit": 2 * MISFIT_LIMIT}, "particles-lag", 2),
     ({"in_dense_mode": True}, "dense-mode", 1)],
)  # fmt: skip
def test_bad_diagnostics_of_particles_are_reported(bad, code, how_many):
    healthy = HEALTHY | {"moment_misfit": 1.5}
    assert particle_warnings([{}] * 4) == []
    assert particle_warnings([healthy] * 4) == []
    for n_bad in range(5):
        found = particle_warnings([healthy | bad] * n_bad + [healthy] * (4 - n_bad))
        assert [message.code for message in found] == [code] * (n_bad >= how_many)


def test_auto_falls_back_on_the_pseudo_likelihood_and_says_so(monkeypatch):
    from slabfield.estimators import spike_slab

    def refuse(runs):
        if runs[0].adaptation().get("n_particles"):
            raise Unfit("The particles are tired.")

    monkeypatch.setattr(spike_slab, "refuse_unfit", refuse)
    rows = datasets.make_random(100, n_nodes=21, mean_degree=2, random_state=0).rows
    model = SpikeSlabMRF(n_warmup=4, n_draws=20, sampler={"n_particles": 64}, random_state=0).fit(
        rows
    )
    posterior = model.posterior_
    assert posterior.settings["engine"] == "pseudo"
    assert posterior.warnings[0].startswith("The particles are tired.")
    asked = SpikeSlabMRF(
        likelihood="particles", n_warmup=4, n_draws=20, sampler={"n_particles": 64}, random_state=0
    )
    assert asked.fit(rows).posterior_.settings["engine"] == "particles"
