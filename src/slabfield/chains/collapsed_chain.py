"""One chain of collapsed sweeps: its parts, its start, and its adaptation in warm-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.adaptation.block_schedule import (
    FLIPS_PER_NODE,
    FULL_NODES,
    FULL_NODES_ON_ROWS,
    MIXED_FLIPS_PER_BLOCK,
    MIXED_FLIPS_PER_SWEEP,
    PARTICLE_BLOCK,
    SCOUTING_FLIPS,
    all_pairs_plan,
    flips_needed,
    make_plan,
    planned,
    planned_for_particles,
    screen,
    with_moves,
)
from slabfield.adaptation.edge_swaps import (
    SEARCH_STATES,
    SwapCandidate,
    field_covariance,
    find_swaps,
    found_repeatedly,
)
from slabfield.adaptation.particle_tuning import (
    FIRST_SWEEPS,
    MOST_PARTICLES,
    PLAIN_SWEEPS,
    copied_particles,
    first_number,
    moment_misfit,
    noise_of,
    tuned_particles,
    two_start_discrepancy,
    whole_groups,
)
from slabfield.adaptation.pattern_clusters import find_clusters
from slabfield.adaptation.preconditioner import Problem, chunks
from slabfield.adaptation.starts import (
    SparseState,
    remove_free,
    small_field_state,
    sparse_state_of,
    start_from_data,
    state_of,
)
from slabfield.configuration import Settings
from slabfield.kernels.block_particles import GROUPS
from slabfield.likelihood.blocks import (
    ExactBlocks,
    ParticleBlocks,
    block_size,
    exact_blocks,
    more_particles,
    particle_blocks,
    with_conditionals,
)
from slabfield.likelihood.pseudolikelihood import PseudoRows, pseudo_rows
from slabfield.likelihood.quadratic_surrogate import fit_surrogate
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import ChainState, Info
from slabfield.moves.edge_gibbs import Block, InclusionStats, new_block, new_inclusion_stats
from slabfield.moves.iteration import Record, advance_engine, check_finite, collapsed, new_record
from slabfield.validation.memory_limit import give_back_memory

Array = NDArray[np.float64]

# Sweeps of each of the two halves of the pseudo-likelihood pilot run
PILOT_SWEEPS = 20
# A chain in the dense mode has more than this share of all edges
DENSE_SHARE = 0.25
# It also has more than this many times the edges of the pilot state
DENSE_RATIO = 3.0
# Shares of warm-up after which the plan and the particles are adapted
ADAPTATION_POINTS = (0.05, 0.15, 0.35, 0.65)
# Sweeps before each search for swaps
SWEEPS_PER_SEARCH = 2
# States of the chain to which the quadratic surrogate is fitted
SURROGATE_STATES = 32
# Sweeps before each of these states
SWEEPS_PER_STATE = 4
# Acceptance rates that surrogate transitions must exceed, and the share of sweeps they then replace
TRANSITION_RATES = ((0.4, 0.5), (0.05, 0.25))


class CollapsedChain(NamedTuple):
    """Everything that a chain's next sweep needs.

    ``pilot`` is the last state of the pseudo-likelihood pilot run, if there was one, ``n_restarts``
    the number of restarts from it, and ``noise`` the noise variance of undecided log odds in the
    last warm-up stage.
    """

    problem: Problem
    settings: Settings
    engine: ExactBlocks | ParticleBlocks | PseudoRows
    state: ChainState
    block: Block
    plan: Plan
    inclusion_stats: InclusionStats
    rng: np.random.Generator
    pilot: SparseState | None = None
    n_restarts: int = 0
    noise: float = 0.0

    def iterate(self, record: Record, first: int, n_draws: int, thin: int) -> Info:
        """Run compiled sweeps; keep ``n_draws`` states, ``thin`` sweeps apart.

        Raises :class:`NotFinite` if the state or a draw is not finite.
        """
        problem, engine = self.problem, self.engine
        if isinstance(engine, ParticleBlocks):
            engine = with_conditionals(engine)
        info: Info = collapsed(
            engine, problem.sums, problem.prior, problem.model.group_start, self.state,
            self.block, self.plan, self.inclusion_stats, problem.missing_entries, record, first,
            n_draws, thin, self.rng,
        )  # fmt: skip
        check_finite(self.state, record)
        return info


def start_collapsed(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str = "random"
) -> CollapsedChain:
    """Return a chain at a start of the given kind (see :mod:`slabfield.adaptation.starts`)."""
    starts = {"exact": start_exact, "pseudo": start_pseudo, "particles": start_particles}
    chain = starts[settings.engine](problem, settings, rng, kind)
    advance_engine(chain.engine, chain.state, rng)
    return chain


def start_exact(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with the exact likelihood of a small field."""
    model = problem.model
    state, k = small_field_state(problem, kind, rng), block_size(model.n_nodes)
    block = new_block(problem.sums.bias / problem.sums.n_rows, k, 1)
    return CollapsedChain(
        problem, settings, exact_blocks(model), state, block,
        all_pairs_plan(k, problem.sums, model.ends), new_inclusion_stats(model.n_interactions), rng,
    )  # fmt: skip


def start_pseudo(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with the weighted pseudo-likelihood."""
    model = problem.model
    d, n_edges = model.n_nodes, model.n_interactions
    k = min(PARTICLE_BLOCK, d)
    block = new_block(problem.sums.bias / problem.sums.n_rows, k, 1)
    times = problem.times if problem.times.size else None
    return CollapsedChain(
        problem, settings, pseudo_rows(model, problem.rows, settings.pseudo_weight, times),
        start_from_data(problem, "empty" if kind == "pseudo" else kind, rng), block,
        first_plan(problem, k), new_inclusion_stats(n_edges), rng,
    )  # fmt: skip


def start_particles(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain with particles, half of them started from rows and half from noise.

    Where a sweep does not visit all pairs, a pseudo-likelihood pilot run makes the first plan.
    """
    model, sums = problem.model, problem.sums
    d, n_edges = model.n_nodes, model.n_interactions
    k = min(PARTICLE_BLOCK, d)
    state, pilot = start_from_data(problem, kind, rng), None
    if d <= FULL_NODES:
        plan = all_pairs_plan(k, sums, model.ends)
    else:
        pilot_chain = pseudo_pilot(problem, rng)
        plan = planned_for_particles(problem, pilot_chain.inclusion_stats, k, pilot_chain.state)
        pilot = sparse_state_of(pilot_chain.state)
        del pilot_chain
        give_back_memory()
        if kind in ("pseudo", "half"):
            state = state_of(pilot, n_edges)
            remove_free(state, problem, 0.5 if kind == "half" else 0.0, rng)
    n = whole_groups(settings.n_particles or first_number(sums.n_rows))
    engine = particle_blocks(model, n, settings.n_sweeps or FIRST_SWEEPS, k, d <= FULL_NODES, rng)
    engine = engine._replace(center=sums.bias / sums.n_rows)
    if d > FULL_NODES:
        engine = engine._replace(clusters=find_clusters(problem.rows, sums, model.ends))
    initialize_particles(engine, problem, rng)
    block = new_block(sums.bias / sums.n_rows, k, GROUPS)
    inclusion_stats = new_inclusion_stats(n_edges) if pilot is None else flip_recording_stats(model)
    return CollapsedChain(
        problem, settings, engine, state, block, plan, inclusion_stats, rng, pilot
    )


def pseudo_pilot(problem: Problem, rng: np.random.Generator) -> CollapsedChain:
    """Run a short chain with the pseudo-likelihood; its statistics are of the second half.

    It uses the rows of the problem; where they are a sample of the data, it uses their own sums.
    """
    own = problem.model.sums(problem.rows)
    same = own.n_rows == problem.sums.n_rows and np.array_equal(own.bias, problem.sums.bias)
    if not same or not np.array_equal(own.coupling, problem.sums.coupling):
        problem = problem._replace(sums=own)
    settings = Settings(engine="pseudo", scheme="collapsed", thin=1)
    chain = start_collapsed(problem, settings, rng, "empty")
    empty = new_record(0, *sizes_of(problem))
    chain.iterate(empty, 0, 0, PILOT_SWEEPS)
    chain = adapt(chain)
    chain.iterate(empty, 0, 0, PILOT_SWEEPS)
    return chain


def initialize_particles(
    engine: ParticleBlocks, problem: Problem, rng: np.random.Generator
) -> None:
    """Start half of the particles at rows of the data, and the others at random."""
    d, n = engine.states.shape
    engine.states[:, : n // 2] = problem.rows[rng.integers(0, len(problem.rows), n // 2)].T
    engine.states[:, n // 2 :] = rng.integers(0, 2, (d, n - n // 2))
    engine.importance[:] = 1.0


def sizes_of(problem: Problem) -> tuple[int, int, int]:
    """Numbers of biases, of parameters of interactions, and of interactions."""
    starts = problem.model.group_start
    return problem.model.n_biases, int(starts[-1]), starts.size - 1


def warm_up_collapsed(chain: CollapsedChain, report: Any) -> CollapsedChain:
    """Run the whole warm-up."""
    for warmer, _ in warming_collapsed(chain, 0, report):
        chain = warmer
    return chain


def warming_collapsed(
    chain: CollapsedChain, done: int, report: Any
) -> Iterator[tuple[CollapsedChain, int]]:
    """Continue the warm-up; yield the chain and the number of draws done after every chunk.

    The plan and the particles are adapted between stages, then frozen. A chain in the dense mode is
    restarted.
    """
    settings = chain.settings
    empty = new_record(0, *sizes_of(chain.problem))
    total = settings.n_warmup
    marks = sorted({int(total * share) for share in ADAPTATION_POINTS} | {total})
    for part, mark in enumerate(marks, 1):
        for n in chunks(mark - done):
            chain.iterate(empty, 0, 0, n * settings.thin)
            report(n)
            done += n
            if done == mark:
                chain = (
                    restarted(chain) if in_dense_mode(chain) else adapt(chain, len(marks) - part)
                )
                give_back_memory()
            yield chain, done


def in_dense_mode(chain: CollapsedChain) -> bool:
    """Whether a chain is in the dense mode.

    When particles lag behind, many pairs explain the same residual; the chain moves to a graph with
    most edges, all weak, and stays there. The pseudo-likelihood has no such noise: far more edges
    than in its pilot state, and a large share of all, indicate the dense mode.
    """
    if chain.pilot is None:
        return False
    n_edges, n_pilot = int(chain.state.n_members[0]), chain.pilot.edges.size
    return n_edges > max(DENSE_SHARE * chain.state.present.size, DENSE_RATIO * n_pilot)


def restarted(chain: CollapsedChain) -> CollapsedChain:
    """Return the chain at its pilot state, with more particles and more sweeps of them."""
    assert chain.pilot is not None
    assert isinstance(chain.engine, ParticleBlocks)
    n, sweeps = chain.engine.states.shape[1], chain.engine.n_sweeps
    if chain.settings.n_particles == 0:
        n = min(2 * n, MOST_PARTICLES)
    if chain.settings.n_sweeps == 0:
        sweeps = float(PLAIN_SWEEPS)
    engine = more_particles(chain.engine, n, chain.rng)._replace(n_sweeps=sweeps)
    initialize_particles(engine, chain.problem, chain.rng)
    fresh = chain._replace(
        engine=engine,
        state=state_of(chain.pilot, chain.state.present.size),
        inclusion_stats=flip_recording_stats(chain.problem.model),
        n_restarts=chain.n_restarts + 1,
    )
    advance_engine(engine, fresh.state, chain.rng)
    return fresh


def adapt(chain: CollapsedChain, parts_left: int = 0) -> CollapsedChain:
    """Adapt the plan and the particles to the statistics since the last time; reset these.

    Before the last warm-up stage swaps are searched, and during it likely flips are recorded; at
    the end of warm-up these are scheduled in the same blocks.
    """
    problem, inclusion_stats, plan = chain.problem, chain.inclusion_stats, chain.plan
    model, n_planned = problem.model, len(plan.blocks)
    swaps: list[SwapCandidate] = []
    if isinstance(chain.engine, ParticleBlocks) and n_planned > 0 and parts_left == 1:
        swaps = search_for_swaps(chain, chain.engine)
    fresh = chain._replace(
        inclusion_stats=new_inclusion_stats(model.n_interactions), noise=noise_of(inclusion_stats)
    )
    if isinstance(chain.engine, ParticleBlocks):
        engine = tuned_particles(
            chain.engine, chain.settings, chain.state, inclusion_stats, parts_left, chain.rng
        )
        fresh = fresh._replace(engine=engine)
    if isinstance(chain.engine, ExactBlocks):
        fresh = fresh._replace(engine=with_surrogate(chain, chain.engine, parts_left))
    if n_planned == 0:
        wanted = (
            MIXED_FLIPS_PER_BLOCK if isinstance(chain.engine, PseudoRows) else MIXED_FLIPS_PER_SWEEP
        )
        return fresh._replace(
            plan=plan._replace(n_flips=flips_needed(inclusion_stats.mean_probability, wanted))
        )
    k = plan.blocks.shape[1]
    # with the pseudo-likelihood, substitutes mix well without scheduled flips, which cost more
    if not isinstance(chain.engine, ParticleBlocks):
        return fresh._replace(plan=planned(problem, inclusion_stats, k))
    if parts_left == 0:
        return fresh._replace(plan=with_moves(plan, inclusion_stats))
    plan = planned_for_particles(problem, inclusion_stats, k, chain.state, swaps)
    if parts_left == 1:
        plan = plan._replace(n_flips=SCOUTING_FLIPS)
    return fresh._replace(plan=plan, inclusion_stats=flip_recording_stats(model))


def with_surrogate(chain: CollapsedChain, engine: ExactBlocks, parts_left: int) -> ExactBlocks:
    """Fit the quadratic surrogate to states of the chain, if its transitions are accepted.

    First in the middle of warm-up; then again at its end, if the acceptance rate was high enough.
    """
    problem, surrogate = chain.problem, engine.surrogate
    if parts_left not in (0, 2):
        return engine
    probability = TRANSITION_RATES[0][1]
    if parts_left == 0:
        proposed, accepted = surrogate.count
        probability = next(
            (share for rate, share in TRANSITION_RATES if accepted > rate * proposed), 0.0
        )
    if probability == 0.0:
        return engine._replace(transition_probability=0.0)
    states = new_record(SURROGATE_STATES, *sizes_of(problem))
    chain.iterate(states, 0, SURROGATE_STATES, SWEEPS_PER_STATE)
    n_rows, precision = problem.sums.n_rows, problem.prior.bias_precision
    fitted = fit_surrogate(surrogate, states.bias, states.coupling, n_rows, precision)
    surrogate.count[:] = 0
    return engine._replace(transition_probability=probability if fitted else 0.0)


def search_for_swaps(chain: CollapsedChain, particles: ParticleBlocks) -> list[SwapCandidate]:
    """Run a chain with particles for a few sweeps, and search its states for swaps.

    The log odds of a set of edges depend on all other edges, so that one state is not enough.
    """
    problem, searches = chain.problem, []
    for _ in range(SEARCH_STATES):
        chain.iterate(new_record(0, *sizes_of(problem)), 0, 0, SWEEPS_PER_SEARCH)
        fitted = field_covariance(particles, chain.state, chain.rng)
        searches.append(find_swaps(problem.sums, fitted, chain.state, problem.model.ends))
    return found_repeatedly(searches)


def flip_recording_stats(model: BinaryPairwise) -> InclusionStats:
    """Return empty statistics with a buffer for likely flips."""
    return new_inclusion_stats(model.n_interactions, FLIPS_PER_NODE * model.n_nodes)


def first_plan(problem: Problem, k: int) -> Plan:
    """Return the first plan of a chain with the pseudo-likelihood: of all pairs if they are few."""
    model = problem.model
    if model.n_nodes <= FULL_NODES_ON_ROWS:
        return all_pairs_plan(k, problem.sums, model.ends)
    score = screen(problem.sums, model.ends)
    return make_plan(score, np.zeros(score.size), model.ends, model.n_nodes, k)


def adaptation_summary(chain: CollapsedChain) -> dict[str, Any]:
    """Return the adapted settings, the noise since then, and diagnostics of the particles."""
    plan = chain.plan
    found: dict[str, Any] = {"planned_blocks": len(plan.blocks), "random_blocks": plan.n_random}
    if isinstance(chain.engine, ExactBlocks):
        proposed, accepted = chain.engine.surrogate.count.tolist()
        found |= {
            "transition_probability": chain.engine.transition_probability,
            "acceptance_rate": accepted / max(proposed, 1),
        }
    if isinstance(chain.engine, ParticleBlocks):
        found |= {
            "n_particles": int(chain.engine.states.shape[1]),
            "n_sweeps": chain.engine.n_sweeps,
            "n_tree_sweeps": chain.engine.n_tree_sweeps,
            "noise": noise_of(chain.inclusion_stats)
            if chain.inclusion_stats.noise[1] > 0
            else chain.noise,
            "two_start_discrepancy": two_start_discrepancy(chain.engine),
            "restarts": chain.n_restarts,
            "in_dense_mode": in_dense_mode(chain),
        }
    return found


def final_diagnostics(chain: CollapsedChain) -> dict[str, Any]:
    """Return the diagnostics of an ended chain: whether its particles lag behind."""
    engine = chain.engine
    if not isinstance(engine, ParticleBlocks) or engine.weighted:
        return {}
    rng = np.random.default_rng(0)
    return {
        "moment_misfit": moment_misfit(
            copied_particles(engine), chain.state, chain.problem.sums, rng
        )
    }
