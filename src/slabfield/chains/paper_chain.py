"""The paper's scheme: a chain, its start, warm-up and summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from slabfield.adaptation.preconditioner import Averages
from slabfield.adaptation.starts import random_state
from slabfield.chains import exact_chain
from slabfield.chains.chunks import chunks
from slabfield.chains.draw_buffer import sizes_of
from slabfield.configuration import Settings
from slabfield.likelihood.exact_moments import BinaryTable, StateTable, exact_engine
from slabfield.likelihood.feature_moments import row_variances
from slabfield.likelihood.particle_moments import (
    BinaryParticles,
    CliqueParticles,
    particle_engine,
)
from slabfield.likelihood.protocols import check_engine
from slabfield.models.loglinear import Cliques
from slabfield.moves.chain_state import ChainState, Info
from slabfield.moves.iteration import (
    REQUIRES,
    Record,
    adjusted,
    approximate,
    check_finite,
    new_record,
)
from slabfield.moves.langevin import LangevinSettings, LangevinWork, new_work
from slabfield.moves.reversible_jump import JumpSettings, JumpWork, new_jump_work
from slabfield.problem import Problem

ITERATIONS: dict[str, Callable[..., Any]] = {
    "approximate": approximate,
    "adjusted": adjusted,
}
KINDS = (
    BinaryTable,
    StateTable,
    BinaryParticles,
    CliqueParticles,
    Cliques,
    LangevinSettings,
    LangevinWork,
    JumpSettings,
    JumpWork,
)
# Updates of the preconditioner in warm-up, at most
WARMUP_SEGMENTS = 120


class PaperChain(NamedTuple):
    """Everything that a chain's next iteration needs."""

    problem: Problem
    settings: Settings
    engine: Any
    state: ChainState
    langevin: LangevinSettings
    jumps: JumpSettings
    work: LangevinWork
    jump_work: JumpWork
    rng: np.random.Generator

    def iterate(self, record: Record, first: int, n_draws: int, thin: int) -> Info:
        """Run compiled iterations; keep ``n_draws`` states, ``thin`` iterations apart.

        Raises :class:`NotFinite` if the state or a draw is not finite.
        """
        problem = self.problem
        info: Info = ITERATIONS[self.settings.scheme](
            self.engine, problem.sums, problem.prior, problem.model.group_start, self.langevin,
            self.jumps, self.state, self.work, self.jump_work, problem.missing_entries, record,
            first, n_draws, thin, self.rng,
        )  # fmt: skip
        check_finite(self.state, record)
        return info


def start_chain(problem: Problem, settings: Settings, rng: np.random.Generator) -> PaperChain:
    """Return a chain at a random start, preconditioned by the variances of the data."""
    model = problem.model
    starts = model.group_start
    n_biases, n_couplings, n_interactions = model.n_biases, int(starts[-1]), starts.size - 1
    full = settings.preconditioner == "full"
    state = random_state(problem, rng)
    engine: Any
    if settings.engine == "exact":
        engine = exact_engine(model, problem.sums.bias / problem.sums.n_rows)
    else:
        restart = problem.rows if settings.restart else None
        engine = particle_engine(model, settings.n_particles, settings.n_sweeps, restart, rng)
    check_engine(engine, REQUIRES[settings.scheme])
    averages = Averages(row_variances(model, problem.rows), float(state.hyper[1]) ** -2, full)
    largest = int(np.diff(starts).max(initial=1))
    return PaperChain(
        problem,
        settings,
        engine,
        state,
        averages.langevin(settings, problem),
        averages.jumps(settings, problem),
        new_work(n_biases, n_couplings, n_interactions, full),
        new_jump_work(largest, n_interactions),
        rng,
    )


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator, chain_index: int
) -> PaperChain:
    """Return a chain of a run; all start from the prior, whatever their index."""
    return start_chain(problem, settings, rng)


def freeze(chain: PaperChain) -> PaperChain:
    """End warm-up early: the preconditioner stays as it is."""
    return chain


def summary(chain: PaperChain) -> dict[str, Any]:
    """Return nothing: all settings are the user's."""
    return {}


def diagnostics(chain: PaperChain) -> dict[str, Any]:
    """Return nothing besides the counts of the moves."""
    return {}


def move_statistics(chain: PaperChain) -> tuple[Any, None]:
    """Return the statistics of the moves: the widths of the windows of jumps."""
    return chain.jumps.width, None


def first_averages(chain: PaperChain) -> Averages:
    """Return the averages of warm-up, initialized from the data."""
    problem = chain.problem
    return Averages(
        row_variances(problem.model, problem.rows),
        float(chain.state.hyper[1]) ** -2,
        chain.langevin.full,
    )


def warm_up(chain: PaperChain, report: Callable[[int], None]) -> PaperChain:
    """Run the whole warm-up; return the chain with its preconditioner frozen."""
    for warmer, _ in warming(chain, first_averages(chain), 0, report):
        chain = warmer
    return chain


def warming(
    chain: PaperChain, averages: Averages, done: int, report: Callable[[int], None]
) -> Iterator[tuple[PaperChain, int]]:
    """Continue the warm-up; yield the chain and the number of draws done after every chunk.

    Variances are averaged over the last two thirds.
    """
    problem, settings = chain.problem, chain.settings
    empty = new_record(0, *sizes_of(problem.model))
    n_segments = min(settings.n_warmup, WARMUP_SEGMENTS)
    bounds = np.linspace(0, settings.n_warmup, n_segments + 1).astype(int).tolist()
    for segment in range(n_segments):
        for n in chunks(bounds[segment + 1] - done):
            chain.iterate(empty, 0, 0, n * settings.thin)
            report(n)
            done += n
            if done == bounds[segment + 1]:
                if segment == n_segments // 3:
                    averages.restart()
                averages.add(chain.engine, problem.model, chain.state)
                chain = chain._replace(
                    langevin=averages.langevin(settings, problem),
                    jumps=averages.jumps(settings, problem),
                )
                # invalidates the root of the previous preconditioner
                chain.work.root_present[:] = 2
            yield chain, done


def engine_bytes(n_rows: int, n_levels: Sequence[int], settings: Settings) -> int:
    """Bytes of the engine: tables of all states, or particles and the rows they restart from."""
    n_nodes = len(n_levels)
    if settings.engine == "exact":
        return exact_chain.engine_bytes(n_rows, n_levels, settings)
    restart = 4 * n_nodes * n_rows if settings.restart else 0
    return settings.n_particles * (8 * n_nodes + 64) + restart
