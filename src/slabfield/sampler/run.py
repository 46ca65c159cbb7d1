"""One chain: start, warm-up, draws. Compiled code runs in chunks; Python reports in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from slabfield.draws import ChainDraws
from slabfield.likelihood.exact import exact_engine
from slabfield.likelihood.moments import Engine, row_variances
from slabfield.likelihood.particles import particle_engine
from slabfield.moves.jump import JumpSettings, JumpWork, new_jump_work
from slabfield.moves.langevin import LangevinSettings, LangevinWork, new_work
from slabfield.moves.state import ChainState, Info
from slabfield.sampler.collapsed import (
    CollapsedChain,
    sizes_of,
    start_collapsed,
    warm_up_collapsed,
    what_was_settled,
)
from slabfield.sampler.iteration import Record, adjusted, approximate, new_record
from slabfield.sampler.keep import Keeper
from slabfield.sampler.settings import Settings
from slabfield.sampler.starts import kind_of
from slabfield.sampler.warmup import Averages, Problem, random_state

SCHEMES: dict[str, Callable[..., Any]] = {
    "approximate": approximate,
    "adjusted": adjusted,
}
CHUNK_SECONDS = 0.2
WARMUP_SEGMENTS = 120

Report = Callable[[int], None]


class Chain(NamedTuple):
    """Everything that a chain's next iteration needs."""

    problem: Problem
    settings: Settings
    engine: Engine
    state: ChainState
    langevin: LangevinSettings
    jumps: JumpSettings
    work: LangevinWork
    jump_work: JumpWork
    rng: np.random.Generator

    def iterate(self, record: Record, first: int, n_draws: int, thin: int) -> Info:
        """Run compiled iterations; keep ``n_draws`` states, ``thin`` iterations apart."""
        problem = self.problem
        info: Info = SCHEMES[self.settings.scheme](
            self.engine, problem.sums, problem.prior, problem.model.group_start, self.langevin,
            self.jumps, self.state, self.work, self.jump_work, record, first, n_draws, thin,
            self.rng,
        )  # fmt: skip
        return info


class ChainResult(NamedTuple):
    """Draws of a chain, what happened while they were made, and what warm-up settled on.

    ``chance`` is the mean of the conditional probabilities of presence (NaN where there are none),
    ``settled`` what warm-up found, and the health of the particles.
    """

    record: ChainDraws
    info: Info
    cpu_seconds: float
    widths: Any
    chance: Any
    settled: dict[str, Any]


def chain_rng(seed: int, chain: int) -> np.random.Generator:
    """Random numbers of one chain; they do not depend on how many chains there are."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(chain,)))


def start_chain(problem: Problem, settings: Settings, rng: np.random.Generator) -> Chain:
    """Return a chain at a random start, with variances taken from the data."""
    model = problem.model
    starts = model.group_start
    n_biases, n_couplings, n_interactions = model.n_biases, int(starts[-1]), starts.size - 1
    full = settings.preconditioner == "full"
    state = random_state(problem, rng)
    engine: Engine
    if settings.engine == "exact":
        engine = exact_engine(model, problem.sums.bias / problem.sums.n_rows)
    else:
        restart = problem.rows if settings.restart else None
        engine = particle_engine(model, settings.n_particles, settings.n_sweeps, restart, rng)
    averages = Averages(row_variances(model, problem.rows), float(state.hyper[1]) ** -2, full)
    largest = int(np.diff(starts).max(initial=1))
    return Chain(
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


def warm_up(chain: Chain, report: Report) -> Chain:
    """Run the warm-up, averaging variances over its last two thirds; return the frozen chain."""
    problem, settings = chain.problem, chain.settings
    empty = new_record(0, *sizes_of(problem))
    averages = Averages(
        row_variances(problem.model, problem.rows),
        float(chain.state.hyper[1]) ** -2,
        chain.langevin.full,
    )
    n_segments = min(settings.n_warmup, WARMUP_SEGMENTS)
    bounds = np.linspace(0, settings.n_warmup, n_segments + 1).astype(int)
    for segment in range(n_segments):
        length = int(bounds[segment + 1] - bounds[segment])
        chain.iterate(empty, 0, 0, length * settings.thin)
        report(length)
        if segment == n_segments // 3:
            averages.restart()
        averages.add(chain.engine, problem.model, chain.state)
        chain = chain._replace(
            langevin=averages.langevin(settings, problem),
            jumps=averages.jumps(settings, problem),
        )
        # a root made from older averages must not be used again
        chain.work.root_present[:] = 2
    return chain


class ChainRun:
    """One chain that can be run on: warmed up when it is made, then extended by draws."""

    def __init__(
        self, problem: Problem, settings: Settings, seed: int, chain_index: int, report: Report
    ) -> None:
        begin = time.thread_time()
        rng = chain_rng(seed, chain_index)
        self.settings = settings
        self.chain: Chain | CollapsedChain
        if settings.scheme == "collapsed":
            start = start_collapsed(problem, settings, rng, kind_of(chain_index))
            self.chain = warm_up_collapsed(start, report)
        else:
            self.chain = warm_up(start_chain(problem, settings, rng), report)
        self.keeper = Keeper(sizes_of(problem))
        self.totals = np.zeros(len(Info._fields), dtype=np.int64)
        self.cpu_seconds = time.thread_time() - begin

    def extend(self, n_draws: int, report: Report, deadline: float = inf) -> ChainRun:
        """Make more draws; stop early, but not before the first, when the clock is past a time."""
        begin = time.thread_time()
        done, chunk = 0, 1
        while done < n_draws and (self.keeper.n_draws == 0 or time.monotonic() < deadline):
            chunk = min(chunk, n_draws - done, self.keeper.most)
            clock = time.perf_counter()
            record = self.keeper.room(chunk)
            self.totals += self.chain.iterate(record, 0, chunk, self.settings.thin)
            self.keeper.take(record)
            elapsed = time.perf_counter() - clock
            done += chunk
            report(chunk)
            chunk = max(1, min(2 * chunk, int(chunk * CHUNK_SECONDS / max(elapsed, 1e-6))))
        self.cpu_seconds += time.thread_time() - begin
        return self

    def result(self, n_draws: int | None = None) -> ChainResult:
        """Return what was drawn so far, or only the first so many draws."""
        record = self.keeper.draws()
        if n_draws is not None and n_draws < len(record.bias):
            record = ChainDraws(*(part[:n_draws] for part in record))
        info = Info(*(int(t) for t in self.totals))
        widths, chance = None, np.full(record.shown.shape[1], np.nan)
        if isinstance(self.chain, CollapsedChain):
            tally = self.chain.tally
            chance = np.where(tally.visits > 0, tally.mean_chance, np.nan)
        else:
            widths = self.chain.jumps.width
        return ChainResult(record, info, self.cpu_seconds, widths, chance, self.settled())

    def settled(self) -> dict[str, Any]:
        """Return what warm-up settled, the noise met since, and the health of the particles."""
        chain = self.chain
        return what_was_settled(chain) if isinstance(chain, CollapsedChain) else {}


def run_chain(
    problem: Problem, settings: Settings, seed: int, chain_index: int, report: Report
) -> ChainResult:
    """Run one chain from its random start to its last draw."""
    run = ChainRun(problem, settings, seed, chain_index, report)
    return run.extend(settings.n_draws, report).result()
