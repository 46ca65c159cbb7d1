"""One chain: start, warm-up, draws. Compiled code runs in chunks; Python reports in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any, NamedTuple

import numpy as np

from slabfield.draws import ChainDraws
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes, ParticleWork
from slabfield.likelihood.exact import BinaryTable, StateTable, exact_engine
from slabfield.likelihood.moments import Engine, row_variances
from slabfield.likelihood.particles import BinaryParticles, CliqueParticles, particle_engine
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.models.loglinear import Cliques
from slabfield.models.protocol import Sums
from slabfield.moves.impute import Unknown
from slabfield.moves.jump import JumpSettings, JumpWork, new_jump_work
from slabfield.moves.langevin import LangevinSettings, LangevinWork, new_work
from slabfield.moves.pair import Block, Tally
from slabfield.moves.state import ChainState, Info
from slabfield.moves.sweep import Plan
from slabfield.sampler.checkpoint import BEGIN_ANEW, Arrays, ChainFile, pack, plain_failures, unpack
from slabfield.sampler.collapsed import (
    CollapsedChain,
    sizes_of,
    start_collapsed,
    warming_collapsed,
    what_was_settled,
)
from slabfield.sampler.iteration import Record, adjusted, approximate, new_record
from slabfield.sampler.keep import Keeper
from slabfield.sampler.settings import Settings
from slabfield.sampler.sound import check_sound, collapsed_like
from slabfield.sampler.starts import kind_of
from slabfield.sampler.warmup import Averages, Problem, chunks, complete, random_state

SCHEMES: dict[str, Callable[..., Any]] = {
    "approximate": approximate,
    "adjusted": adjusted,
}
WARMUP_SEGMENTS = 120

Report = Callable[[int], None]
Packed = tuple[Any, Arrays]


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
            self.jumps, self.state, self.work, self.jump_work, problem.unknown, record, first,
            n_draws, thin, self.rng,
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


KINDS: tuple[type, ...] = (
    *(Chain, CollapsedChain, ChainState, Block, Plan, Tally),
    *(BinaryTable, StateTable, BinaryParticles, CliqueParticles, Cliques),
    *(ExactCubes, ParticleCubes, ParticleWork, PseudoRows),
    *(LangevinSettings, LangevinWork, JumpSettings, JumpWork, Problem, Sums, Unknown),
)
"""The named tuples that a chain's state is made of."""


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


def first_averages(chain: Chain) -> Averages:
    """Return what warm-up averages, as the data have it."""
    problem = chain.problem
    return Averages(
        row_variances(problem.model, problem.rows),
        float(chain.state.hyper[1]) ** -2,
        chain.langevin.full,
    )


def warm_up(chain: Chain, report: Report) -> Chain:
    """Run the warm-up from its beginning to its end; return the frozen chain."""
    for warmer, _ in warming(chain, first_averages(chain), 0, report):
        chain = warmer
    return chain


def warming(
    chain: Chain, averages: Averages, done: int, report: Report
) -> Iterator[tuple[Chain, int]]:
    """Run the warm-up from where it is; yields the chain and how much was done, again and again.

    Variances are averaged over the last two thirds.
    """
    problem, settings = chain.problem, chain.settings
    empty = new_record(0, *sizes_of(problem))
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
                # a root made from older averages must not be used again
                chain.work.root_present[:] = 2
            yield chain, done


class ChainRun:
    """One chain that can be run on: warmed up when it is made, then extended by draws.

    With a file it goes on from the state in it, writes its state there now and then, and stops
    between two chunks when asked to.
    """

    problem: Problem
    settings: Settings
    file: ChainFile | None
    n_warmed: int
    cpu_seconds: float
    keeper: Keeper

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        chain_index: int,
        report: Report,
        file: ChainFile | None = None,
    ) -> None:
        begin = time.thread_time()
        found = ChainRun.from_file(problem, settings, file) if file is not None else None
        if found is not None:
            vars(self).update(vars(found))
            report(self.n_warmed + self.keeper.n_draws)
        else:
            self.problem, self.settings, self.file = problem, settings, file
            self.n_warmed, self.cpu_seconds = 0, 0.0
            self.totals = np.zeros(len(Info._fields), dtype=np.int64)
            self.keeper = Keeper(sizes_of(problem))
            rng = chain_rng(seed, chain_index)
            own = complete(problem, rng)
            self.chain: Chain | CollapsedChain = (
                start_collapsed(own, settings, rng, kind_of(chain_index))
                if settings.scheme == "collapsed"
                else start_chain(own, settings, rng)
            )
            self.averages = first_averages(self.chain) if isinstance(self.chain, Chain) else None
        self.warm_up(report, begin)

    @classmethod
    def from_file(cls, problem: Problem, settings: Settings, file: ChainFile) -> ChainRun | None:
        """Return the chain as it is in its file, not warmed up further; None if there is none."""
        found = file.load()
        if found is None:
            return None
        with plain_failures(file.path, BEGIN_ANEW):
            run = cls.from_state(problem, settings, file, found)
            run._check()
            return run

    @classmethod
    def from_state(
        cls, problem: Problem, settings: Settings, file: ChainFile | None, packed: Packed
    ) -> ChainRun:
        """Return the chain that :meth:`packed` described."""
        run = cls.__new__(cls)
        held = {"problem": problem, "settings": settings, "file": file}
        run.__setstate__(held | {"packed": packed})
        return run

    @property
    def warm(self) -> bool:
        """Whether warm-up is over."""
        return self.n_warmed >= self.settings.n_warmup

    def warm_up(self, report: Report, begin: float) -> None:
        """Go on with the warm-up; ``begin`` is when that began, on the clock of the thread."""
        if self.warm:
            return
        steps: Any
        if isinstance(self.chain, CollapsedChain):
            steps = warming_collapsed(self.chain, self.n_warmed, report)
        else:
            assert self.averages is not None
            steps = warming(self.chain, self.averages, self.n_warmed, report)
        before = self.cpu_seconds
        while not self.warm and not self._asked_to_stop():
            self.chain, self.n_warmed = next(steps)
            self.cpu_seconds = before + time.thread_time() - begin
            self.save_if_due()
        self.save()

    def extend(self, n_draws: int, report: Report, deadline: float = inf) -> ChainRun:
        """Make more draws; stop early, but not before the first, when the clock is past a time."""
        begin, before = time.thread_time(), self.cpu_seconds
        made = 0
        for chunk in chunks(n_draws if self.warm else 0, self.keeper.most):
            late = self.keeper.n_draws > 0 and time.monotonic() >= deadline
            if late or self._asked_to_stop():
                break
            record = self.keeper.room(chunk)
            self.totals += self.chain.iterate(record, 0, chunk, self.settings.thin)
            self.keeper.take(record)
            made += chunk
            report(chunk)
            self.cpu_seconds = before + time.thread_time() - begin
            self.save_if_due()
        # against the clock rounds are short
        if made > 0 and deadline == inf:
            self.save()
        return self

    def _asked_to_stop(self) -> bool:
        return self.file is not None and self.file.stop.asked()

    def save_if_due(self) -> None:
        """Write the state to the chain's file, if it has one and it is time to."""
        if self.file is not None and self.file.due():
            self.save()

    def save(self) -> None:
        """Write the state to the chain's file, if it has one."""
        if self.file is not None:
            self.file.save(*self.packed())

    def packed(self, with_draws: bool = True) -> Packed:
        """Describe the state in what JSON can hold, and arrays."""
        arrays: Arrays = {}
        held = {
            "chain": self.chain,
            "averages": None if self.averages is None else vars(self.averages),
            "n_warmed": self.n_warmed,
            "totals": self.totals,
            "cpu_seconds": self.cpu_seconds,
            "draws": self.keeper.arrays() if with_draws else {},
        }
        return pack(held, arrays, self._given()), arrays

    def _given(self) -> dict[str, Any]:
        """Return what is not written with a chain, whose data may be its own (missing entries)."""
        problem = self.problem
        return {
            "problem": problem, "model": problem.model, "prior": problem.prior,
            "settings": self.settings,
        }  # fmt: skip

    def _unpack(self, tree: Any, arrays: Arrays) -> None:
        held = unpack(tree, arrays, self._given(), KINDS)
        self.chain = held["chain"]
        self.averages = None
        if held["averages"] is not None:
            self.averages = Averages(np.zeros(0), 1.0, False)
            vars(self.averages).update(held["averages"])
        self.n_warmed, self.totals = held["n_warmed"], held["totals"]
        self.cpu_seconds = held["cpu_seconds"]
        self.keeper.restore(held["draws"])

    def _check(self) -> None:
        """Raise ValueError unless what was read is a state of this run."""
        like: Chain | CollapsedChain
        if self.settings.scheme == "collapsed":
            like = collapsed_like(self.problem, self.settings)
        else:
            like = start_chain(self.problem, self.settings, np.random.default_rng(0))
        check_sound(self.chain, like)
        if type(self.n_warmed) is not int or self.totals.shape != (len(Info._fields),):
            raise ValueError("no counts")

    # On the way to another process, arrays that are the same memory have to stay so.

    def __getstate__(self) -> dict[str, Any]:
        found = {"problem": self.problem, "settings": self.settings, "file": self.file}
        return found | {"packed": self.packed()}

    def __setstate__(self, held: dict[str, Any]) -> None:
        packed = held.pop("packed")
        vars(self).update(held)
        self.keeper = Keeper(sizes_of(self.problem))
        self._unpack(*packed)

    def take(self, packed: Packed) -> None:
        """Take over a later state, which holds only the draws made since."""
        later = ChainRun.from_state(self.problem, self.settings, self.file, packed)
        later.keeper.parts = self.keeper.parts + later.keeper.parts
        vars(self).update(vars(later))

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
