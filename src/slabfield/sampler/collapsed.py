"""One chain of collapsed sweeps: its parts, its start, and what warm-up settles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.checks.machine import give_back_memory
from slabfield.kernels.cloud import GROUPS
from slabfield.likelihood.bowl import lay
from slabfield.likelihood.cubes import (
    ExactCubes,
    ParticleCubes,
    block_size,
    exact_cubes,
    more_particles,
    particle_cubes,
    with_chances,
)
from slabfield.likelihood.pseudo import PseudoRows, pseudo_rows
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.pair import Block, Tally, new_block, new_tally
from slabfield.moves.state import ChainState, Info
from slabfield.moves.sweep import Plan
from slabfield.sampler.iteration import Record, check_finite, collapsed, new_record, settle
from slabfield.sampler.particles import (
    FIRST_SWEEPS,
    MOST_PARTICLES,
    PLAIN_SWEEPS,
    apart,
    first_number,
    half_against_half,
    misfit,
    noise_of,
    revised_particles,
    whole_lanes,
)
from slabfield.sampler.patterns import find_clusters
from slabfield.sampler.plan import (
    FLIPS_A_BLOCK,
    FLIPS_A_SWEEP,
    FLIPS_PER_NODE,
    FULL_NODES,
    FULL_NODES_ON_ROWS,
    PARTICLE_BLOCK,
    WATCHED_FLIPS,
    flips_worth,
    make_plan,
    no_plan,
    planned,
    planned_for_particles,
    screen,
    with_moves,
)
from slabfield.sampler.rivals import LOOKS, Rivals, field_covariance, find_rivals, found_again
from slabfield.sampler.settings import Settings
from slabfield.sampler.starts import (
    Sketch,
    modest_state,
    remove_free,
    sketch_of,
    small_field_state,
    state_of,
)
from slabfield.sampler.warmup import Problem, chunks

Array = NDArray[np.float64]

# Sweeps of the pseudo-likelihood's sampler before plans, and again before starts, are made of it
ROUGH_SWEEPS = 20
# A chain with this share of all edges, and this many times as many as the pseudo-likelihood has, is
# in the dense trap
TRAP_SHARE, TRAP_RATIO = 0.25, 3.0
# The parts of warm-up after which plan and particles are settled anew, as shares of it
REVISIONS = (0.05, 0.15, 0.35, 0.65)
# Sweeps before each look for edges that change only together
SWEEPS_A_LOOK = 2
# States that a bowl is laid along, and sweeps before each
STATES_LAID, SWEEPS_A_STATE = 32, 4
# Leaps in the place of sweeps: shares of those tried that must be made, and how many are then tried
LEAPS_WORTH = ((0.4, 0.5), (0.05, 0.25))


class CollapsedChain(NamedTuple):
    """Everything that a chain's next sweep needs.

    ``rough`` is the state that the pseudo-likelihood's sampler ended in, where it was asked first,
    ``n_restarts`` how often the chain began anew from it, and ``noise`` that of open log odds in
    the last part of warm-up.
    """

    problem: Problem
    settings: Settings
    engine: ExactCubes | ParticleCubes | PseudoRows
    state: ChainState
    block: Block
    plan: Plan
    tally: Tally
    rng: np.random.Generator
    rough: Sketch | None = None
    n_restarts: int = 0
    noise: float = 0.0

    def iterate(self, record: Record, first: int, n_draws: int, thin: int) -> Info:
        """Run compiled sweeps; keep ``n_draws`` states, ``thin`` sweeps apart.

        Raises :class:`NotFinite` where the chain comes to numbers that are not finite.
        """
        problem, engine = self.problem, self.engine
        if isinstance(engine, ParticleCubes):
            engine = with_chances(engine)
        info: Info = collapsed(
            engine, problem.sums, problem.prior, problem.model.group_start, self.state,
            self.block, self.plan, self.tally, problem.unknown, record, first, n_draws, thin,
            self.rng,
        )  # fmt: skip
        check_finite(self.state, record)
        return info


def start_collapsed(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str = "random"
) -> CollapsedChain:
    """Return a chain at a start of the given kind (see :mod:`slabfield.sampler.starts`)."""
    starts = {"exact": start_exact, "pseudo": start_pseudo, "particles": start_particles}
    chain = starts[settings.engine](problem, settings, rng, kind)
    settle(chain.engine, chain.state, rng)
    return chain


def start_exact(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain that sums over all states of a small field."""
    model = problem.model
    state, k = small_field_state(problem, kind, rng), block_size(model.n_nodes)
    block = new_block(problem.sums.bias / problem.sums.n_rows, k, 1)
    return CollapsedChain(
        problem, settings, exact_cubes(model), state, block,
        no_plan(k, problem.sums, model.ends), new_tally(model.n_interactions), rng,
    )  # fmt: skip


def start_pseudo(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain on the weighted pseudo-likelihood."""
    model = problem.model
    d, n_edges = model.n_nodes, model.n_interactions
    k = min(PARTICLE_BLOCK, d)
    block = new_block(problem.sums.bias / problem.sums.n_rows, k, 1)
    times = problem.times if problem.times.size else None
    return CollapsedChain(
        problem, settings, pseudo_rows(model, problem.rows, settings.pseudo_weight, times),
        modest_state(problem, "empty" if kind == "pseudo" else kind, rng), block,
        first_plan(problem, k), new_tally(n_edges), rng,
    )  # fmt: skip


def start_particles(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
) -> CollapsedChain:
    """Return a chain on particles, half of them from rows of the data and half from noise.

    Where not all pairs are looked at in every sweep, the pseudo-likelihood says first which are
    promising.
    """
    model, sums = problem.model, problem.sums
    d, n_edges = model.n_nodes, model.n_interactions
    k = min(PARTICLE_BLOCK, d)
    state, rough = modest_state(problem, kind, rng), None
    if d <= FULL_NODES:
        plan = no_plan(k, sums, model.ends)
    else:
        guess = rough_answer(problem, rng)
        plan = planned_for_particles(problem, guess.tally, k, guess.state)
        rough = sketch_of(guess.state)
        del guess
        give_back_memory()
        if kind in ("pseudo", "half"):
            state = state_of(rough, n_edges)
            remove_free(state, problem, 0.5 if kind == "half" else 0.0, rng)
    n = whole_lanes(settings.n_particles or first_number(sums.n_rows))
    engine = particle_cubes(model, n, settings.n_sweeps or FIRST_SWEEPS, k, d <= FULL_NODES, rng)
    engine = engine._replace(centre=sums.bias / sums.n_rows)
    if d > FULL_NODES:
        engine = engine._replace(clusters=find_clusters(problem.rows, sums, model.ends))
    scatter(engine, problem, rng)
    block = new_block(sums.bias / sums.n_rows, k, GROUPS)
    tally = new_tally(n_edges) if rough is None else watching_tally(model)
    return CollapsedChain(problem, settings, engine, state, block, plan, tally, rng, rough)


def rough_answer(problem: Problem, rng: np.random.Generator) -> CollapsedChain:
    """Run the pseudo-likelihood's sampler for a short while; its tally is of the second half.

    It works on rows; where they are only a sample of the data, their own sums go with them.
    """
    own = problem.model.sums(problem.rows)
    same = own.n_rows == problem.sums.n_rows and np.array_equal(own.bias, problem.sums.bias)
    if not same or not np.array_equal(own.coupling, problem.sums.coupling):
        problem = problem._replace(sums=own)
    settings = Settings(engine="pseudo", scheme="collapsed", thin=1)
    chain = start_collapsed(problem, settings, rng, "empty")
    empty = new_record(0, *sizes_of(problem))
    chain.iterate(empty, 0, 0, ROUGH_SWEEPS)
    chain = revise(chain)
    chain.iterate(empty, 0, 0, ROUGH_SWEEPS)
    return chain


def scatter(engine: ParticleCubes, problem: Problem, rng: np.random.Generator) -> None:
    """Put half of the particles at rows of the data, and the others at random."""
    d, n = engine.states.shape
    engine.states[:, : n // 2] = problem.rows[rng.integers(0, len(problem.rows), n // 2)].T
    engine.states[:, n // 2 :] = rng.integers(0, 2, (d, n - n // 2))
    engine.importance[:] = 1.0


def sizes_of(problem: Problem) -> tuple[int, int, int]:
    """Biases, parameters of interactions, and interactions."""
    starts = problem.model.group_start
    return problem.model.n_biases, int(starts[-1]), starts.size - 1


def warm_up_collapsed(chain: CollapsedChain, report: Any) -> CollapsedChain:
    """Run the warm-up from its beginning to its end."""
    for warmer, _ in warming_collapsed(chain, 0, report):
        chain = warmer
    return chain


def warming_collapsed(
    chain: CollapsedChain, done: int, report: Any
) -> Iterator[tuple[CollapsedChain, int]]:
    """Run the warm-up from where it is; yields the chain and how much was done, again and again.

    The plan and the number of particles are settled on the way, then frozen. A chain that has
    fallen into the dense trap begins anew.
    """
    settings = chain.settings
    empty = new_record(0, *sizes_of(chain.problem))
    total = settings.n_warmup
    marks = sorted({int(total * share) for share in REVISIONS} | {total})
    for part, mark in enumerate(marks, 1):
        for n in chunks(mark - done):
            chain.iterate(empty, 0, 0, n * settings.thin)
            report(n)
            done += n
            if done == mark:
                chain = begun_anew(chain) if trapped(chain) else revise(chain, len(marks) - part)
                give_back_memory()
            yield chain, done


def trapped(chain: CollapsedChain) -> bool:
    """Whether a chain is in the dense trap.

    When particles lag behind, many pairs explain the same residual; the chain goes to a graph with
    most edges, all weak, and stays there. The pseudo-likelihood has no such noise: far more edges
    than it has, and a large share of all, are a sign of the trap.
    """
    if chain.rough is None:
        return False
    n_edges, n_rough = int(chain.state.n_members[0]), chain.rough.edges.size
    return n_edges > max(TRAP_SHARE * chain.state.present.size, TRAP_RATIO * n_rough)


def begun_anew(chain: CollapsedChain) -> CollapsedChain:
    """Return the chain at the pseudo-likelihood's answer, with more particles, swept more often."""
    assert chain.rough is not None
    assert isinstance(chain.engine, ParticleCubes)
    n, sweeps = chain.engine.states.shape[1], chain.engine.n_sweeps
    if chain.settings.n_particles == 0:
        n = min(2 * n, MOST_PARTICLES)
    if chain.settings.n_sweeps == 0:
        sweeps = float(PLAIN_SWEEPS)
    engine = more_particles(chain.engine, n, chain.rng)._replace(n_sweeps=sweeps)
    scatter(engine, chain.problem, chain.rng)
    fresh = chain._replace(
        engine=engine,
        state=state_of(chain.rough, chain.state.present.size),
        tally=watching_tally(chain.problem.model),
        n_restarts=chain.n_restarts + 1,
    )
    settle(engine, fresh.state, chain.rng)
    return fresh


def revise(chain: CollapsedChain, parts_left: int = 0) -> CollapsedChain:
    """Settle plan and particles by what was seen since the last time; forget what was seen.

    In the last part of warm-up it is seen which flips have a chance; when none is left these are
    planned for the same blocks.
    """
    problem, tally, plan = chain.problem, chain.tally, chain.plan
    model, n_planned = problem.model, len(plan.blocks)
    rivals: list[Rivals] = []
    if isinstance(chain.engine, ParticleCubes) and n_planned > 0 and parts_left == 1:
        rivals = search_for_rivals(chain, chain.engine)
    fresh = chain._replace(tally=new_tally(model.n_interactions), noise=noise_of(tally))
    if isinstance(chain.engine, ParticleCubes):
        engine = revised_particles(
            chain.engine, chain.settings, chain.state, tally, parts_left, chain.rng
        )
        fresh = fresh._replace(engine=engine)
    if isinstance(chain.engine, ExactCubes):
        fresh = fresh._replace(engine=with_leaps(chain, chain.engine, parts_left))
    if n_planned == 0:
        wanted = FLIPS_A_BLOCK if isinstance(chain.engine, PseudoRows) else FLIPS_A_SWEEP
        return fresh._replace(plan=plan._replace(n_flips=flips_worth(tally.mean_chance, wanted)))
    k = plan.blocks.shape[1]
    # on rows edges that stand for each other mix well as it is, and trying more costs more
    if not isinstance(chain.engine, ParticleCubes):
        return fresh._replace(plan=planned(problem, tally, k))
    if parts_left == 0:
        return fresh._replace(plan=with_moves(plan, tally))
    plan = planned_for_particles(problem, tally, k, chain.state, rivals)
    if parts_left == 1:
        plan = plan._replace(n_flips=WATCHED_FLIPS)
    return fresh._replace(plan=plan, tally=watching_tally(model))


def with_leaps(chain: CollapsedChain, engine: ExactCubes, parts_left: int) -> ExactCubes:
    """Lay the bowl that leaps go by along states that the chain comes to, where that is worth it.

    First in the midst of warm-up; at its end, if leaps by that bowl were made, once more.
    """
    problem, bowl = chain.problem, engine.bowl
    if parts_left not in (0, 2):
        return engine
    chance = LEAPS_WORTH[0][1]
    if parts_left == 0:
        tried, made = bowl.count
        chance = next((often for share, often in LEAPS_WORTH if made > share * tried), 0.0)
    if chance == 0.0:
        return engine._replace(leap_chance=0.0)
    seen = new_record(STATES_LAID, *sizes_of(problem))
    chain.iterate(seen, 0, STATES_LAID, SWEEPS_A_STATE)
    n_rows, precision = problem.sums.n_rows, problem.prior.bias_precision
    holds = lay(bowl, seen.bias, seen.coupling, n_rows, precision)
    bowl.count[:] = 0
    return engine._replace(leap_chance=chance if holds else 0.0)


def search_for_rivals(chain: CollapsedChain, particles: ParticleCubes) -> list[Rivals]:
    """Run a chain of particles on for a few sweeps, and look for rivals in what it comes to.

    How likely edges are together depends on all the others: one state tells little of them.
    """
    problem, looks = chain.problem, []
    for _ in range(LOOKS):
        chain.iterate(new_record(0, *sizes_of(problem)), 0, 0, SWEEPS_A_LOOK)
        fitted = field_covariance(particles, chain.state, chain.rng)
        looks.append(find_rivals(problem.sums, fitted, chain.state, problem.model.ends))
    return found_again(looks)


def watching_tally(model: BinaryPairwise) -> Tally:
    """Return empty sums with room for the flips that have a chance."""
    return new_tally(model.n_interactions, FLIPS_PER_NODE * model.n_nodes)


def first_plan(problem: Problem, k: int) -> Plan:
    """Return the plan of a chain on rows that knows nothing yet: of all pairs if they are few."""
    model = problem.model
    if model.n_nodes <= FULL_NODES_ON_ROWS:
        return no_plan(k, problem.sums, model.ends)
    score = screen(problem.sums, model.ends)
    return make_plan(score, np.zeros(score.size), model.ends, model.n_nodes, k)


def what_was_settled(chain: CollapsedChain) -> dict[str, Any]:
    """Return what warm-up found, the noise met since, and the health of the particles."""
    plan = chain.plan
    found: dict[str, Any] = {"planned_blocks": len(plan.blocks), "random_blocks": plan.n_random}
    if isinstance(chain.engine, ExactCubes):
        tried, made = chain.engine.bowl.count.tolist()
        found |= {"leap_chance": chain.engine.leap_chance, "leap_share": made / max(tried, 1)}
    if isinstance(chain.engine, ParticleCubes):
        found |= {
            "n_particles": int(chain.engine.states.shape[1]),
            "n_sweeps": chain.engine.n_sweeps,
            "n_forests": chain.engine.n_forests,
            "noise": noise_of(chain.tally) if chain.tally.noise[1] > 0 else chain.noise,
            "half_against_half": half_against_half(chain.engine),
            "restarts": chain.n_restarts,
            "trapped": trapped(chain),
        }
    return found


def last_look(chain: CollapsedChain) -> dict[str, Any]:
    """Return what is looked into only when a chain has ended: whether its particles lag behind."""
    engine = chain.engine
    if not isinstance(engine, ParticleCubes) or engine.weighted:
        return {}
    rng = np.random.default_rng(0)
    return {"misfit": misfit(apart(engine), chain.state, chain.problem.sums, rng)}
