"""Chains: reproducible, faithful to the prior, consistent, and exact where they claim to be."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arviz_stats.base.array import array_stats
from numpy.typing import NDArray
from scipy import stats

from helpers_jit import count_births
from slabfield.adaptation.preconditioner import Averages
from slabfield.chains import chunks as chunk_sizes
from slabfield.chains import paper_chain as paper_chain
from slabfield.chains.chain_run import ChainResult, run_chain
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.collapsed_warmup import start_collapsed, warm_up_collapsed
from slabfield.chains.paper_chain import PaperChain, start_chain, warm_up
from slabfield.chains.parallel import run_chains
from slabfield.configuration import Settings, bayes_exact, default_exact, default_particles, paper
from slabfield.datasets import make_block
from slabfield.likelihood.feature_moments import row_variances
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import ChainState
from slabfield.moves.reversible_jump import jump_order
from slabfield.priors import Prior
from slabfield.problem import Problem

NAN = float("nan")
N_ROWS = 60
SCHEMES = {
    "default_exact": replace(default_exact(), n_draws=30, n_warmup=10, thin=2),
    "bayes_exact": replace(bayes_exact(N_ROWS), n_draws=30, n_warmup=10, thin=5),
    "paper": replace(paper(), n_draws=30, n_warmup=10, thin=50),
    "default_particles": replace(default_particles(), n_draws=30, n_warmup=10, thin=2),
}
FULL = {
    f"{name}, full": replace(SCHEMES[name], preconditioner="full")
    for name in ("bayes_exact", "paper")
}
every_scheme = pytest.mark.parametrize("name", SCHEMES)


def problem_of(n_nodes: int = 5, n_rows: int = N_ROWS, **prior: Any) -> Problem:
    """Rows of one block, and a prior."""
    rows = make_block(n_rows, random_state=3, n_groups=1, group_size=n_nodes).rows
    model = BinaryPairwise(n_nodes)
    return Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions, **prior))


def with_inclusion(problem: Problem, inclusion: list[float]) -> Problem:
    """Give each edge its own probability, NaN for p0."""
    return problem._replace(prior=problem.prior._replace(inclusion=np.array(inclusion)))


def with_wide_jumps(name: str) -> Settings:
    """Settings with windows in which many edges come and go in a short run."""
    settings = (SCHEMES | FULL)[name]
    return replace(settings, jump_scale=max(settings.jump_scale, 0.3))


def assert_same(one: ChainResult, other: ChainResult) -> None:
    for name in ("coupling", "present", "bias", "hyper"):
        mine, theirs = getattr(one.record, name), getattr(other.record, name)
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.widths, other.widths)
    np.testing.assert_array_equal(one.conditional_probability, other.conditional_probability)
    np.testing.assert_array_equal(one.evidence_means, other.evidence_means)
    assert one.info == other.info


def warm_chain(problem: Problem, settings: Settings, seed: int) -> PaperChain | CollapsedChain:
    """Return a chain after its warm-up; its start is checked too."""
    rng = np.random.default_rng(seed)
    if settings.scheme == "collapsed":
        start = start_collapsed(problem, settings, rng)
        assert_consistent(start.state)
        return warm_up_collapsed(start, lambda _: None)
    chain = start_chain(problem, settings, rng)
    assert_consistent(chain.state)
    return warm_up(chain, lambda _: None)


def stacked(results: list[ChainResult], field: str) -> NDArray[Any]:
    """Draws of all chains: (chain, draw, ...)."""
    return np.stack([getattr(result.record, field) for result in results])


def largest_gap(one: list[ChainResult], other: list[ChainResult]) -> tuple[float, float]:
    """Largest difference of inclusion probabilities in Monte Carlo errors, and largest error."""
    means, errors = [], []
    for results in (one, other):
        present = stacked(results, "present").astype(float)
        means.append(present.mean(axis=(0, 1)))
        ess = array_stats.ess(present, chain_axis=0, draw_axis=1, method="mean")
        # an edge that is almost always or never present counts as if it were in one draw of 100
        share = np.clip(means[-1], 0.01, 0.99)
        errors.append(np.sqrt(share * (1 - share) / np.minimum(ess, present[..., 0].size)))
    error = np.hypot(*errors)
    return float(np.max(np.abs(means[0] - means[1]) / error)), float(error.max())


def uniform_p_value(values: NDArray[np.float64]) -> float:
    return float(stats.kstest(values, "uniform").pvalue)


# --- a run is a function of data, settings and seed -------------------------------------------


@pytest.mark.parametrize("name", [*SCHEMES, *FULL])
def test_a_chain_does_not_depend_on_the_others_nor_on_the_number_of_workers(name: str) -> None:
    problem, settings = problem_of(), (SCHEMES | FULL)[name]
    one_by_one = run_chains(problem, settings, 4, seed=7, n_jobs=1).results
    for others in (
        run_chains(problem, settings, 4, seed=7, n_jobs=2).results,
        run_chains(problem, settings, 2, seed=7, n_jobs=2).results,
        run_chains(problem, settings, 3, seed=7).results,
    ):
        for one, other in zip(one_by_one, others, strict=False):
            assert_same(one, other)
    assert_same(one_by_one[3], run_chain(problem, settings, 7, 3, lambda _: None))


@every_scheme
def test_the_seed_and_the_index_of_the_chain_determine_the_draws(name: str) -> None:
    problem, settings = problem_of(), SCHEMES[name]
    seven, also_seven, eight = (
        run_chains(problem, settings, 2, seed, n_jobs=1).results for seed in (7, 7, 8)
    )
    assert_same(seven[0], also_seven[0])
    for other in (eight[0], seven[1]):
        assert not np.any(seven[0].record.bias == other.record.bias)


@every_scheme
def test_how_draws_are_cut_into_chunks_does_not_matter(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, settings = problem_of(), SCHEMES[name]
    runs, chunks = [], []
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(chunk_sizes, "CHUNK_SECONDS", seconds)
        reports: list[int] = []
        runs.append(run_chain(problem, settings, 7, 0, reports.append))
        assert sum(reports) == settings.n_warmup + settings.n_draws
        n_reports = int(np.searchsorted(np.cumsum(reports), settings.n_warmup)) + 1
        assert sum(reports[:n_reports]) == settings.n_warmup
        chunks.append(reports[n_reports:])
    assert chunks == [[1] * 30, [1, 2, 4, 8, 15]]
    assert_same(*runs)


def test_no_warm_up_and_a_warm_up_of_one_run() -> None:
    for n_warmup in (0, 1):
        for settings in SCHEMES.values():
            short = replace(settings, n_warmup=n_warmup, n_draws=2)
            result = run_chain(problem_of(), short, 7, 0, lambda _: None)
            assert np.isfinite(result.record.coupling).all()
            if settings.scheme == "collapsed":
                assert np.all(
                    (result.conditional_probability > 0) & (result.conditional_probability < 1)
                )
            else:
                assert np.all(result.widths > 0)
                assert np.isnan(result.conditional_probability).all()


# --- the prior is respected -------------------------------------------------------------------


@every_scheme
def test_forced_edges_are_in_every_draw_and_forbidden_ones_in_none(name: str) -> None:
    inclusion = [1, 0, NAN, 0.3, NAN, 0, 1, NAN, 0.9, NAN]
    problem = with_inclusion(problem_of(), inclusion)
    settings = replace(with_wide_jumps(name), n_draws=100)
    for result in run_chains(problem, settings, 2, seed=1).results:
        present, coupling = result.record.present, result.record.coupling
        assert present[:, [0, 6]].all()
        assert (coupling[:, [0, 6]] != 0).all()
        assert not present[:, [1, 5]].any()
        assert not coupling[:, [1, 5]].any()
        assert np.any(present != present[0])  # the others change


@every_scheme
@pytest.mark.parametrize("counted", ["the free edges", "all edges"])
def test_p0_follows_the_free_edges_alone(name: str, counted: str) -> None:
    """With one iteration per draw, p0 is from Beta(a + ones, b + zeros) of the previous draw.

    Collapsed sweeps draw it last: there it is from those of the same draw.
    """
    inclusion = [1, 1, 1, 1, 1, NAN, 0, 1, NAN, NAN]
    problem = with_inclusion(problem_of(), inclusion)
    settings = replace(with_wide_jumps(name), n_draws=500, thin=1)
    result = run_chain(problem, settings, 1, 0, lambda _: None)
    taken = np.isnan(inclusion) if counted == "the free edges" else np.ones(10, dtype=bool)
    lag = 0 if settings.scheme == "collapsed" else 1
    before, p0 = result.record.present[: 500 - lag, taken], result.record.hyper[lag:, 0]
    ones, zeros = before.sum(axis=1), (~before).sum(axis=1)
    p_value = uniform_p_value(stats.beta.cdf(p0, 5 + ones, 5 + zeros))
    mean = float(np.mean((5 + ones) / (10 + ones + zeros)))
    if counted == "the free edges":
        assert p_value > 1e-3
        assert p0.mean() == pytest.approx(mean, abs=0.025)
    else:  # the power of the test
        assert p_value < 1e-6
        assert p0.mean() != pytest.approx(mean, abs=0.025)


@every_scheme
def test_sigma0_follows_the_couplings_of_all_present_edges(name: str) -> None:
    problem = with_inclusion(problem_of(), [1, 0, *(8 * [NAN])])
    settings = replace(with_wide_jumps(name), n_draws=500, thin=1)
    result = run_chain(problem, settings, 1, 0, lambda _: None)
    lag = 0 if settings.scheme == "collapsed" else 1
    before, sigma0 = result.record.coupling[: 500 - lag], result.record.hyper[lag:, 1]
    shape = 5 + 0.5 * result.record.present[: 500 - lag].sum(axis=1)
    rate = 5 + 0.5 * (before**2).sum(axis=1)
    assert uniform_p_value(stats.gamma.cdf(sigma0**-2, shape, scale=1 / rate)) > 1e-3
    assert uniform_p_value(stats.gamma.cdf(sigma0**-2, shape, scale=1.2 / rate)) < 1e-4


@every_scheme
def test_fixed_p0_and_sigma0_are_recorded_in_every_draw(name: str) -> None:
    fixed = run_chain(problem_of(inclusion=0.1, slab=0.7), SCHEMES[name], 1, 0, lambda _: None)
    np.testing.assert_array_equal(fixed.record.hyper[:, :2], np.tile([0.1, 0.7], (30, 1)))
    learned = run_chain(problem_of(), SCHEMES[name], 1, 0, lambda _: None)
    # a rejected surrogate transition of the collapsed scheme leaves the potential unchanged
    changing = learned.record.hyper[:, :2] if name == "default_exact" else learned.record.hyper
    assert np.all(np.diff(changing, axis=0) != 0)
    mixed = with_inclusion(problem_of(slab=0.7), [0.1, 0.2, *(8 * [0.3])])
    no_p0 = run_chain(mixed, SCHEMES[name], 1, 0, lambda _: None)
    assert np.isnan(no_p0.record.hyper[:, 0]).all()
    assert no_p0.record.present.any()


# --- the state stays consistent ---------------------------------------------------------------


@pytest.mark.parametrize("name", [*SCHEMES, *FULL])
def test_the_state_is_consistent_after_a_run(name: str) -> None:
    settings = with_wide_jumps(name)
    chain = warm_chain(problem_of(), settings, 2)
    record = paper_chain.new_record(20, 5, 10, 10)
    structures = set()
    for draw in range(20):
        chain.iterate(record, draw, 1, settings.thin)
        assert_consistent(chain.state)
        if settings.scheme != "collapsed":  # where momenta play no part
            moving = chain.state.coupling_momentum != 0
            np.testing.assert_array_equal(moving, chain.state.present != 0)
        structures.add(chain.state.present.tobytes())
    assert len(structures) > 3
    np.testing.assert_array_equal(record.present, record.coupling != 0)


def assert_consistent(state: ChainState) -> None:
    """Members and presence agree; couplings are zero just where edges are absent."""
    members = state.members[: state.n_members[0]]
    np.testing.assert_array_equal(np.sort(members), np.flatnonzero(state.present))
    np.testing.assert_array_equal(state.coupling != 0, state.present != 0)
    for values in (state.coupling, state.coupling_momentum, state.bias, state.bias_momentum):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ["default_exact", "default_particles"])
@pytest.mark.parametrize("n_nodes", range(2, 18))
def test_a_sweep_visits_every_edge_once_and_every_bias(name: str, n_nodes: int) -> None:
    """Also where the last group of nodes is smaller than the others."""
    problem = problem_of(n_nodes=n_nodes)
    chain = start_collapsed(problem, SCHEMES[name], np.random.default_rng(n_nodes))
    before = chain.state.bias.copy()
    m = problem.model.n_interactions
    for sweep in range(1, 4):
        chain.iterate(paper_chain.new_record(0, n_nodes, m, m), 0, 0, 1)
        np.testing.assert_array_equal(chain.inclusion_stats.visits, sweep)
        assert_consistent(chain.state)
    assert np.all(chain.state.bias != before)


def extreme_rows() -> dict[str, NDArray[np.uint8]]:
    rows = make_block(N_ROWS, random_state=3, n_groups=2, group_size=4).rows
    constant, twins, opposite, all_ones = rows.copy(), rows.copy(), rows.copy(), rows.copy()
    constant[:, 0], constant[:, 5] = 0, 1
    twins[:, :3] = twins[:, 3:4]
    opposite[:, 1] = 1 - opposite[:, 0]
    all_ones[:] = 1
    many = np.tile(twins, (500, 1))
    return {"constant": constant, "twins": twins, "opposite": opposite, "all ones": all_ones,
            "one row": rows[:1], "many twins": many}  # fmt: skip


@pytest.mark.parametrize("name", ["default_exact", "default_particles"])
@pytest.mark.parametrize("kind", extreme_rows())
def test_extreme_rows_give_finite_draws(name: str, kind: str) -> None:
    rows, model = extreme_rows()[kind], BinaryPairwise(8)
    problem = Problem(model, rows, model.sums(rows), Prior.standard(28))
    settings = replace(SCHEMES[name], n_draws=200, n_warmup=60)
    result = run_chain(problem, settings, 1, 0, lambda _: None)
    for values in (
        result.record.bias,
        result.record.coupling,
        result.record.hyper,
        result.conditional_probability,
    ):
        assert np.isfinite(values).all()
    assert np.abs(result.record.coupling).max() < 50
    assert np.ptp(result.record.bias, axis=0).min() > 0


# --- warm-up ----------------------------------------------------------------------------------


class Recorder(Averages):
    """Averages that record what is added to them."""

    seen: list[NDArray[np.float64]]

    def add(self, engine: Any, model: Any, state: Any) -> None:
        fresh = Averages(self.variances, self.slab_precision, self.full)
        fresh.add(engine, model, state)
        self.seen.append(fresh.variances)
        super().add(engine, model, state)


@pytest.mark.parametrize("name", ["bayes_exact", "paper", *FULL])
def test_variances_are_averaged_over_warm_up_and_then_frozen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of()
    settings = replace((SCHEMES | FULL)[name], n_warmup=12, jump_scale=0.01)
    monkeypatch.setattr(Recorder, "seen", [], raising=False)
    monkeypatch.setattr(paper_chain, "Averages", Recorder)
    result = run_chain(problem, settings, 5, 0, lambda _: None)
    assert len(Recorder.seen) == 12  # none while draws were kept
    variances = np.mean(Recorder.seen[4:], axis=0)
    expected = 0.01 / np.sqrt(N_ROWS * variances[5:])
    np.testing.assert_allclose(result.widths, expected, rtol=1e-12)
    assert np.ptp([seen[5:] for seen in Recorder.seen], axis=0).min() > 0
    longer = run_chain(problem, replace(settings, n_draws=60), 5, 0, lambda _: None)
    np.testing.assert_array_equal(longer.widths, result.widths)


def test_a_chain_starts_with_variances_of_the_data() -> None:
    problem = problem_of()
    chain = start_chain(problem, SCHEMES["paper"], np.random.default_rng(0))
    variances = row_variances(problem.model, problem.rows)
    share = (problem.rows[:, 0].sum() + 0.5) / (N_ROWS + 1)
    assert variances[0] == pytest.approx(share * (1 - share))
    np.testing.assert_allclose(chain.jumps.width, 0.01 / np.sqrt(N_ROWS * variances[5:]))


# --- brief Langevin ---------------------------------------------------------------------------


def test_brief_particles_restart_from_rows_drawn_evenly() -> None:
    rows = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=np.uint8)
    model = BinaryPairwise(6)
    problem = Problem(model, rows, model.sums(rows), Prior.standard(15))
    # with no sweep the particles are where they restarted
    settings = replace(paper(), restart=True, n_sweeps=0, n_particles=3000, n_warmup=0)
    chain = start_chain(problem, settings, np.random.default_rng(0))
    states = [advanced(chain) for _ in range(2)]
    assert np.any(states[0] != states[1])
    for state in states:
        matches = (state[:, None, :] == rows).all(axis=2)
        assert np.all(matches.sum(axis=1) == 1)
        assert stats.chisquare(matches.sum(axis=0)).pvalue > 1e-3
    persistent = start_chain(problem, replace(settings, restart=False), np.random.default_rng(0))
    before = persistent.engine.states.copy()
    advanced(persistent)
    np.testing.assert_array_equal(persistent.engine.states, before)


def advanced(chain: PaperChain) -> NDArray[Any]:
    """Particles after one iteration, a row each."""
    chain.iterate(paper_chain.new_record(0, 6, 15, 15), 0, 0, 1)
    particles: NDArray[Any] = chain.engine.states.T.copy()
    return particles


def test_brief_langevin_runs_and_depends_on_restarting() -> None:
    problem = problem_of()
    brief = replace(SCHEMES["paper"], restart=True)
    results = run_chains(problem, brief, 2, seed=1).results
    for result in results:
        assert np.isfinite(result.record.coupling).all()
        assert result.info.added > 0
    (persistent,) = run_chains(problem, SCHEMES["paper"], 1, seed=1).results
    assert np.any(results[0].record.bias != persistent.record.bias)


# --- Bayes Exact stays exact whatever its settings --------------------------------------------


def long_run(problem: Problem, settings: Settings, **own: Any) -> list[ChainResult]:
    return run_chains(problem, replace(settings, **own), 4, seed=11).results


@pytest.fixture(scope="module")
def four_nodes() -> Problem:
    return problem_of(n_nodes=4, inclusion=0.4)


@pytest.fixture(scope="module")
def gold_of_four(four_nodes: Problem) -> list[ChainResult]:
    return long_run(four_nodes, default_exact(), n_draws=3000)


@pytest.mark.parametrize(("add", "delete"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3), (0.5, 0.5)])
def test_proposal_probabilities_leave_the_posterior_unchanged(
    add: float, delete: float, four_nodes: Problem, gold_of_four: list[ChainResult]
) -> None:
    results = long_run(
        four_nodes, bayes_exact(N_ROWS), n_draws=3000, n_warmup=100,
        add_probability=add, delete_probability=delete,
    )  # fmt: skip
    gap, error = largest_gap(results, gold_of_four)
    assert gap < 4
    assert error < 0.025


def test_another_prior_is_detected(four_nodes: Problem, gold_of_four: list[ChainResult]) -> None:
    """The power of the test above: odds wrong by a half."""
    wrong = with_inclusion(four_nodes, 6 * [0.5])
    results = long_run(wrong, bayes_exact(N_ROWS), n_draws=3000, n_warmup=100)
    assert largest_gap(results, gold_of_four)[0] > 6


def test_the_full_preconditioner_leaves_the_posterior_unchanged() -> None:
    problem, settings = problem_of(), bayes_exact(N_ROWS)
    full, diagonal = (
        long_run(problem, settings, n_draws=1000, n_warmup=100, preconditioner=kind)
        for kind in ("full", "diagonal")
    )
    gap, error = largest_gap(full, diagonal)
    assert gap < 4
    assert error < 0.04
    # it follows the correlations of couplings, so that more steps are accepted
    assert full[0].info.langevin_accepted > diagonal[0].info.langevin_accepted


# --- lazy births ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def particle_chain() -> PaperChain:
    """Seven nodes with a few weak edges, some of which may die, and all kinds of edge priors."""
    problem = problem_of(n_nodes=7, n_rows=20)
    inclusion = 14 * [NAN] + [0.2, 0.5, 0.7, 0.1, 0.4] + [0.0, 1.0]
    problem = with_inclusion(problem, inclusion)
    settings = replace(paper(), jump_scale=0.05, n_warmup=20, thin=50)
    chain = warm_up(start_chain(problem, settings, np.random.default_rng(4)), lambda _: None)
    chain.state.hyper[:] = 0.4, 0.1
    assert 3 <= chain.state.n_members[0] <= 18
    return chain


def births(
    chain: PaperChain, lazy: bool, seed: int, add: float, delete: float, lower: float = 0.0
) -> tuple[NDArray[np.int64], int]:
    """Births of each edge, and the number of evaluations, with log bounds lowered by ``lower``."""
    problem, width = chain.problem, chain.jumps.width
    order, n_learned, log_bound = jump_order(
        problem.prior.inclusion, width, problem.model.group_start, problem.sums.coupling,
        problem.sums.n_rows, lazy=lazy,
    )  # fmt: skip
    jumps = chain.jumps._replace(
        order=order, n_learned=n_learned, log_bound=log_bound - lower,
        add_probability=add, delete_probability=delete,
    )  # fmt: skip
    saved = ChainState(*(values.copy() for values in chain.state))
    counts = np.zeros(21, dtype=np.int64)
    n_evaluated = count_births(
        chain.engine, problem.sums, problem.prior, problem.model.group_start, jumps, chain.state,
        chain.jump_work, saved, counts, N_PASSES, np.random.default_rng(seed),
    )  # fmt: skip
    return counts, n_evaluated


N_PASSES = 50_000


def p_value_of(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Two-sample test of all edges that were born in either."""
    share = (one + other) / (2 * N_PASSES)
    seen = share > 0
    squares = (one - other)[seen] ** 2 / (2 * N_PASSES * (share * (1 - share))[seen])
    return float(stats.chi2.sf(squares.sum(), seen.sum()))


@pytest.mark.parametrize(("add", "delete"), [(1.0, 1.0), (0.6, 0.9)])
def test_lazy_births_are_as_frequent_as_births_evaluated_everywhere(
    add: float, delete: float, particle_chain: PaperChain
) -> None:
    everywhere, n_everywhere = births(particle_chain, False, 1, add, delete)
    lazily, n_lazily = births(particle_chain, True, 2, add, delete)
    assert n_lazily < 0.6 * n_everywhere
    absent = (particle_chain.state.present == 0) & (particle_chain.problem.prior.inclusion != 0)
    assert np.all((everywhere > 500) == absent)
    assert p_value_of(everywhere, lazily) > 1e-3
    too_low, _ = births(particle_chain, True, 3, add, delete, lower=1.0)
    assert p_value_of(everywhere, too_low) < 1e-6
