"""One chain of collapsed sweeps: its parts, its start, and what warm-up settles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.likelihood.cubes import (
    ExactCubes,
    ParticleCubes,
    block_size,
    exact_cubes,
    more_particles,
    particle_cubes,
)
from slabfield.likelihood.pseudo import PseudoRows, pseudo_rows
from slabfield.moves.pair import Block, Tally, new_block, new_tally
from slabfield.moves.state import ChainState, Info, remove
from slabfield.moves.sweep import Plan
from slabfield.sampler.iteration import Record, collapsed, new_record, settle
from slabfield.sampler.plan import (
    FULL_NODES,
    FULL_NODES_ON_ROWS,
    make_plan,
    no_plan,
    open_edges,
    screen,
)
from slabfield.sampler.settings import Settings
from slabfield.sampler.warmup import Problem, random_state

Array = NDArray[np.float64]

N_LANES = 16
PARTICLE_BLOCK = 6
FEWEST_PARTICLES, MOST_PARTICLES = 512, 16_384
FIRST_SWEEPS = 2
SEEN_SWEEPS, SEEN_NODES, SEEN_PARTICLES = 48, 64, 256
# Mean autocorrelation of nodes that counts as forgotten
FORGOTTEN = 0.3
# Noise variance of open log odds that warm-up aims to stay below, and Gibbs sweeps at most: with
# weights, in small fields where most edges hang together; and without
WEIGHTED_NOISE, WEIGHTED_SWEEPS = 0.06, 2
NOISE_LIMIT, MOST_SWEEPS = 0.5, 8
# The parts of warm-up after which plan and particles are settled anew, as shares of it
REVISIONS = (0.05, 0.15, 0.35, 0.65)


class CollapsedChain(NamedTuple):
    """Everything that a chain's next sweep needs."""

    problem: Problem
    settings: Settings
    engine: ExactCubes | ParticleCubes | PseudoRows
    state: ChainState
    block: Block
    plan: Plan
    tally: Tally
    rng: np.random.Generator

    def iterate(self, record: Record, first: int, n_draws: int, thin: int) -> Info:
        """Run compiled sweeps; keep ``n_draws`` states, ``thin`` sweeps apart."""
        problem = self.problem
        info: Info = collapsed(
            self.engine, problem.sums, problem.prior, problem.model.group_start, self.state,
            self.block, self.plan, self.tally, record, first, n_draws, thin, self.rng,
        )  # fmt: skip
        return info


def start_collapsed(
    problem: Problem, settings: Settings, rng: np.random.Generator
) -> CollapsedChain:
    """Return a chain at a random start."""
    model, sums = problem.model, problem.sums
    d = model.n_nodes
    engine: Any
    exact, on_rows = settings.engine == "exact", settings.engine == "pseudo"
    k = block_size(d) if exact else min(PARTICLE_BLOCK, d)
    if exact:
        state = random_state(problem, rng)
        engine = exact_cubes(model)
    elif on_rows:
        state = empty_state(problem, rng)
        engine = pseudo_rows(model, problem.rows, settings.pseudo_weight)
    else:
        state = modest_state(problem, rng)
        n = whole_lanes(settings.n_particles or first_number(sums.n_rows))
        weighted = d <= FULL_NODES
        engine = particle_cubes(model, n, settings.n_sweeps or FIRST_SWEEPS, k, weighted, rng)
        from_data = rng.integers(0, len(problem.rows), n // 2)
        engine.states[:, : n // 2] = problem.rows[from_data].T
    block = new_block(sums.bias / sums.n_rows, k, 1 if exact or on_rows else N_LANES)
    plan = no_plan(k, model.n_interactions)
    if not exact and d > (FULL_NODES_ON_ROWS if on_rows else FULL_NODES):
        score = screen(sums, model.ends)
        plan = make_plan(score, np.zeros(score.size), model.ends, d, k)
    settle(engine, state, rng)
    return CollapsedChain(
        problem, settings, engine, state, block, plan, new_tally(model.n_interactions), rng
    )


def first_number(n_rows: float) -> int:
    """Particles to begin with: as many as rows, as a power of two within bounds."""
    wanted = 2 ** int(np.ceil(np.log2(max(n_rows, 1.0))))
    return int(min(max(wanted, 2 * FEWEST_PARTICLES), MOST_PARTICLES // 4))


def whole_lanes(n_particles: int) -> int:
    """Round a number of particles up, so that all lanes have as many and none is left over."""
    return -(-n_particles // N_LANES) * N_LANES


def empty_state(problem: Problem, rng: np.random.Generator) -> ChainState:
    """Draw a start without edges but those forced, and biases from the data with noise."""
    state = modest_state(problem, rng)
    for alpha in state.members[: state.n_members[0]].copy():
        if problem.prior.inclusion[alpha] != 1.0:
            forget(state, int(alpha))
    return state


def modest_state(problem: Problem, rng: np.random.Generator) -> ChainState:
    """Draw a start that particles can follow: few edges, biases from the data, all with noise."""
    state = random_state(problem, rng)
    sums = problem.sums
    mean = (sums.bias + 0.5) / (sums.n_rows + 1.0)
    state.bias[:] = np.log(mean / (1 - mean)) + 0.3 * rng.standard_normal(mean.size)
    prior = problem.prior
    kept = prior.inclusion == 1.0
    wanted = rng.uniform(0.0, 1.0) * mean.size
    for alpha in state.members[: state.n_members[0]].copy():
        if not kept[alpha] and rng.random() * prior.inclusion.size * state.hyper[0] > wanted:
            forget(state, int(alpha))
    state.coupling[:] *= 0.5
    return state


def forget(state: ChainState, alpha: int) -> None:
    """Take an edge out of a state."""
    remove(state, alpha)
    state.coupling[alpha] = 0.0


def warm_up_collapsed(chain: CollapsedChain, report: Any) -> CollapsedChain:
    """Run the warm-up; settle the plan and the number of particles on the way, then freeze."""
    problem, settings = chain.problem, chain.settings
    model = problem.model
    empty = new_record(0, model.n_biases, model.n_interactions, model.n_interactions)
    total = settings.n_warmup
    marks = sorted({int(total * share) for share in REVISIONS} | {total})
    done = 0
    for mark in marks:
        if mark > done:
            chain.iterate(empty, 0, 0, (mark - done) * settings.thin)
            report(mark - done)
            done = mark
            chain = revise(chain)
    return chain


def autocorrelation(engine: ParticleCubes, state: ChainState, rng: np.random.Generator) -> Array:
    """Autocorrelation of nodes over Gibbs sweeps of the particles, mean over nodes and particles.

    Measured by sweeping the particles at the state's parameters; entry m is for m sweeps.
    """
    states = engine.states
    nodes = rng.permutation(states.shape[0])[:SEEN_NODES]
    path = np.empty((SEEN_SWEEPS, nodes.size, min(states.shape[1], SEEN_PARTICLES)), np.float32)
    for t in range(SEEN_SWEEPS):
        settle(engine, state, rng)
        path[t] = states[nodes, : path.shape[2]]
    path -= path.mean(axis=(0, 2), keepdims=True)
    spread = (path**2).mean(axis=(0, 2))
    seen = spread > 1e-3
    shared = [
        (path[: SEEN_SWEEPS - m] * path[m:]).mean(axis=(0, 2))[seen] / spread[seen]
        for m in range(SEEN_SWEEPS // 2)
    ]
    return np.array([np.mean(row) if row.size else 0.0 for row in shared])


def sweeps_to_forget(engine: ParticleCubes, state: ChainState, rng: np.random.Generator) -> int:
    """Gibbs sweeps after which nodes have mostly forgotten where they were, within bounds."""
    most = WEIGHTED_SWEEPS if engine.weighted else MOST_SWEEPS
    forgotten = np.flatnonzero(autocorrelation(engine, state, rng)[: most + 1] < FORGOTTEN)
    return int(forgotten[0]) if forgotten.size else most


def revise(chain: CollapsedChain) -> CollapsedChain:
    """Settle plan and particles by what was seen since the last time; forget what was seen."""
    problem, tally = chain.problem, chain.tally
    model = problem.model
    fresh = chain._replace(tally=new_tally(model.n_interactions))
    if isinstance(chain.engine, ParticleCubes):
        fresh = fresh._replace(engine=revised_particles(chain, chain.engine))
    chance = tally.chance / np.maximum(tally.visits, 1)
    if chain.plan.blocks.shape[0] == 0:
        return fresh._replace(plan=chain.plan._replace(open=open_edges(chance)))
    score = screen(problem.sums, model.ends)
    worth = np.where(tally.visits > 0, chance * (1 - chance), score / (1e3 + score))
    worth = np.maximum(worth, 1e-3 * chance)
    plan = make_plan(worth, chance, model.ends, model.n_nodes, chain.plan.blocks.shape[1])
    return fresh._replace(plan=plan)


def revised_particles(chain: CollapsedChain, engine: ParticleCubes) -> ParticleCubes:
    """Settle how many particles there are, and how often they are swept."""
    settings, tally = chain.settings, chain.tally
    noise = tally.noise[0] / max(tally.noise[1], 1.0)
    limit = WEIGHTED_NOISE if engine.weighted else NOISE_LIMIT
    n = engine.states.shape[1]
    if settings.n_particles == 0 and noise > limit and n < MOST_PARTICLES:
        factor = 2 if noise < 2 * limit else 4
        engine = more_particles(engine, min(factor * n, MOST_PARTICLES), chain.rng)
    elif settings.n_particles == 0 and noise < limit / 3 and n > FEWEST_PARTICLES:
        engine = more_particles(engine, n // 2, chain.rng)
    if settings.n_sweeps == 0:
        engine = engine._replace(n_sweeps=sweeps_to_forget(engine, chain.state, chain.rng))
    return engine


def half_against_half(engine: ParticleCubes) -> float:
    """How much the two halves of the particles differ, beside how much chance would have them.

    One half started from rows of the data and the other from noise. The mean over nodes of the
    squared difference of their means over its variance: one where both halves have forgotten.
    """
    states, importance = engine.states, engine.importance
    half = states.shape[1] // 2
    one = np.average(states[:, :half], axis=1, weights=importance[:half])
    other = np.average(states[:, half:], axis=1, weights=importance[half:])
    mean = np.average(states, axis=1, weights=importance)
    variance = np.maximum(mean * (1 - mean), 1.0 / states.shape[1]) * 2 / half
    return float(np.mean((one - other) ** 2 / variance))


def what_was_settled(chain: CollapsedChain) -> dict[str, Any]:
    """Return what warm-up found, the noise met since, and the health of the particles."""
    found: dict[str, Any] = {
        "planned_blocks": int(chain.plan.blocks.shape[0]), "random_blocks": chain.plan.n_random
    }  # fmt: skip
    if isinstance(chain.engine, ParticleCubes):
        seen = chain.tally.noise
        found |= {
            "n_particles": int(chain.engine.states.shape[1]),
            "n_sweeps": chain.engine.n_sweeps,
            "noise": float(seen[0] / max(seen[1], 1.0)),
            "half_against_half": half_against_half(chain.engine),
        }
    return found
