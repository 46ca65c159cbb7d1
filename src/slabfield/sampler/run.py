"""One chain: start, warm-up, draws. Compiled code runs in chunks; Python reports in between."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.checks import InputWarning, NotFiniteError
from slabfield.draws import ChainDraws
from slabfield.kernels.hill import Hill
from slabfield.kernels.patterns import Clusters
from slabfield.likelihood.bowl import Bowl
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes, ParticleWork
from slabfield.likelihood.exact import BinaryTable, StateTable
from slabfield.likelihood.particles import BinaryParticles, CliqueParticles
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.models.loglinear import Cliques
from slabfield.models.protocol import Sums
from slabfield.moves.impute import Unknown
from slabfield.moves.jump import JumpSettings, JumpWork
from slabfield.moves.langevin import LangevinSettings, LangevinWork
from slabfield.moves.pair import Block, Tally
from slabfield.moves.state import ChainState, Info
from slabfield.moves.sweep import Plan
from slabfield.sampler.checkpoint import BEGIN_ANEW, Arrays, ChainFile, pack, plain_failures, unpack
from slabfield.sampler.collapsed import (
    CollapsedChain,
    last_look,
    revise,
    sizes_of,
    start_collapsed,
    warming_collapsed,
    what_was_settled,
)
from slabfield.sampler.iteration import NotFinite, check_finite
from slabfield.sampler.keep import Keeper
from slabfield.sampler.paper import Chain, first_averages, start_chain, warming
from slabfield.sampler.settings import Settings
from slabfield.sampler.sound import check_sound, collapsed_like
from slabfield.sampler.starts import Sketch, kind_of
from slabfield.sampler.warmup import Averages, Problem, chunks, complete

Report = Callable[[int], None]
Packed = tuple[Any, Arrays]


class ChainResult(NamedTuple):
    """Draws of a chain, what happened while they were made, and what warm-up settled on.

    ``tally`` is the chain's own, if it has one, not a copy: it holds until the chain runs on.
    ``settled`` is what warm-up found, and the health of the particles.
    """

    record: ChainDraws
    info: Info
    cpu_seconds: float
    widths: Any
    tally: Tally | None
    settled: dict[str, Any]

    @property
    def chance(self) -> NDArray[np.float64]:
        """Means of the conditional probabilities of presence; NaN where there are none."""
        if self.tally is None:
            return np.full(self.record.shown.shape[1], np.nan)
        return np.where(self.tally.visits > 0, self.tally.mean_chance, np.nan)


KINDS: tuple[type, ...] = (
    *(Chain, CollapsedChain, ChainState, Block, Hill, Plan, Tally),
    *(BinaryTable, StateTable, BinaryParticles, CliqueParticles, Cliques),
    *(Bowl, Clusters, ExactCubes, ParticleCubes, ParticleWork, PseudoRows, Sketch),
    *(LangevinSettings, LangevinWork, JumpSettings, JumpWork, Problem, Sums, Unknown),
)
"""The named tuples that a chain's state is made of."""


def chain_rng(seed: int, chain: int, attempt: int = 0) -> np.random.Generator:
    """Random numbers of one chain; they do not depend on how many chains there are.

    A chain that begins again has others: ``attempt`` counts.
    """
    key = (chain, attempt) if attempt else (chain,)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class ChainRun:
    """One chain that can be run on: warmed up when it is made, then extended by draws.

    With a file it goes on from the state in it, writes its state there now and then, and stops
    between two chunks when asked to. Warm-up ends early where it takes longer than ``patience``,
    in seconds.

    After every chunk the state is looked at. A chain that has come to numbers that are not finite
    begins again, once, with other random numbers; nothing of such a state is kept or written.
    """

    problem: Problem
    settings: Settings
    file: ChainFile | None
    seed: int
    chain_index: int
    attempt: int
    n_written: int = 0
    n_warmed: int
    n_warmup: int
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
        patience: float = inf,
    ) -> None:
        begin, until = time.thread_time(), time.monotonic() + patience
        found = ChainRun.from_file(problem, settings, file) if file is not None else None
        if found is not None:
            vars(self).update(vars(found))
            report(self.n_warmed + self.keeper.n_draws)
        else:
            self.problem, self.settings, self.file = problem, settings, file
            self.seed, self.chain_index, self.attempt = seed, chain_index, 0
            self.cpu_seconds = 0.0
            try:
                self._start()
            except NotFinite:
                self._begin_again(report)
        self.warm_up(report, begin, until)

    def _start(self) -> None:
        """Put the chain at its start, with no draws."""
        problem, settings = self.problem, self.settings
        self.n_warmed, self.n_warmup = 0, settings.n_warmup
        self.totals = np.zeros(len(Info._fields), dtype=np.int64)
        self.keeper = Keeper(sizes_of(problem))
        rng = chain_rng(self.seed, self.chain_index, self.attempt)
        own = complete(problem, rng)
        self.chain: Chain | CollapsedChain = (
            start_collapsed(own, settings, rng, kind_of(self.chain_index))
            if settings.scheme == "collapsed"
            else start_chain(own, settings, rng)
        )
        self.averages = first_averages(self.chain) if isinstance(self.chain, Chain) else None

    def _begin_again(self, report: Report) -> None:
        """Put a chain that is not finite back to a start, or end the run if it was so before."""
        if self.attempt > 0:
            raise NotFiniteError(self._what_to_do())
        warnings.warn(
            f"Chain {self.chain_index} came to numbers that are not finite, and begins again from "
            "another start.",
            InputWarning,
            stacklevel=2,
        )
        report(-self.n_warmed - self.keeper.n_draws)
        self.n_written = self.keeper.n_draws
        self.attempt += 1
        try:
            self._start()
        except NotFinite:
            raise NotFiniteError(self._what_to_do()) from None

    def _what_to_do(self) -> str:
        kept = "" if self.file is None else f" What it was before is in {self.file.path}."
        return (
            f"Chains must come to finite numbers; chain {self.chain_index} did not, and again not "
            f"after a new start.{kept} Leave out columns that others imply or exclude (the codes "
            "of one category), or take another likelihood ('pseudo')."
        )

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
        return self.n_warmed >= self.n_warmup

    def end_warm_up(self) -> None:
        """Have warm-up end here, if it has begun and is not over: what it learnt is frozen."""
        if 0 < self.n_warmed < self.n_warmup:
            self.n_warmup = self.n_warmed
            if isinstance(self.chain, CollapsedChain) and self.chain.tally.visits.any():
                self.chain = revise(self.chain)

    def warm_up(self, report: Report, begin: float, until: float = inf) -> None:
        """Go on with the warm-up; ``begin`` is when that began, on the clock of the thread.

        It ends early when the clock is past ``until``.
        """
        if self.warm:
            return
        steps, before = self._warming(report), self.cpu_seconds
        while not self.warm and not self._asked_to_stop():
            try:
                self.chain, self.n_warmed = next(steps)
            except NotFinite:
                self._begin_again(report)
                steps = self._warming(report)
            if time.monotonic() >= until:
                self.end_warm_up()
            self.cpu_seconds = before + time.thread_time() - begin
            self.save_if_due()
        self.save()

    def _warming(self, report: Report) -> Any:
        """Return the steps of warm-up, from where the chain is."""
        if isinstance(self.chain, CollapsedChain):
            return warming_collapsed(self.chain, self.n_warmed, report)
        assert self.averages is not None
        return warming(self.chain, self.averages, self.n_warmed, report)

    def extend(self, n_draws: int, report: Report, deadline: float = inf) -> ChainRun:
        """Make more draws; stop early, but not before the first, when the clock is past a time."""
        before, goal = self.keeper.n_draws, self.keeper.n_draws + n_draws
        try:
            self._draw(n_draws, report, deadline)
        except NotFinite:
            self._begin_again(report)
            self.warm_up(report, time.thread_time())
            try:
                self._draw(goal, report, deadline)
            except NotFinite:
                self._begin_again(report)
        # against the clock rounds are short
        if self.keeper.n_draws != before and deadline == inf:
            self.save()
        return self

    def _draw(self, n_draws: int, report: Report, deadline: float) -> None:
        begin, before = time.thread_time(), self.cpu_seconds
        for chunk in chunks(n_draws if self.warm else 0, self.keeper.most):
            late = self.keeper.n_draws > 0 and time.monotonic() >= deadline
            if late or self._asked_to_stop():
                break
            record = self.keeper.room(chunk)
            self.totals += self.chain.iterate(record, 0, chunk, self.settings.thin)
            self.keeper.take(record)
            report(chunk)
            self.cpu_seconds = before + time.thread_time() - begin
            self.save_if_due()

    def _asked_to_stop(self) -> bool:
        return self.file is not None and self.file.stop.asked()

    def save_if_due(self) -> None:
        """Write the state to the chain's file, if it has one and it is time to."""
        if self.file is not None and self.file.due():
            self.save()

    def save(self) -> None:
        """Write the state to the chain's file, if it has one.

        A chain that has begun again leaves the file alone until it has as many draws as are in it.
        """
        if self.file is not None and self.keeper.n_draws >= self.n_written:
            self.file.save(*self.packed())

    def packed(self, with_draws: bool = True) -> Packed:
        """Describe the state in what JSON can hold, and arrays."""
        arrays: Arrays = {}
        held = {
            "seed": self.seed,
            "chain_index": self.chain_index,
            "attempt": self.attempt,
            "chain": self.chain,
            "averages": None if self.averages is None else vars(self.averages),
            "n_warmed": self.n_warmed,
            "n_warmup": self.n_warmup,
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
        self.seed, self.chain_index = held["seed"], held["chain_index"]
        self.attempt, self.chain = held["attempt"], held["chain"]
        self.averages = None
        if held["averages"] is not None:
            self.averages = Averages(np.zeros(0), 1.0, False)
            vars(self.averages).update(held["averages"])
        self.n_warmed, self.n_warmup = held["n_warmed"], held["n_warmup"]
        self.totals = held["totals"]
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
        counts = (self.n_warmed, self.n_warmup, self.settings.n_warmup)
        whole = (*counts, self.seed, self.chain_index, self.attempt)
        if any(type(count) is not int for count in whole) or not 0 <= counts[0] <= counts[1]:
            raise ValueError("no counts")
        check_finite(self.chain.state)
        shape = getattr(self.totals, "shape", None)
        if counts[1] > counts[2] or shape != (len(Info._fields),):
            raise ValueError("wrong counts")
        if type(self.cpu_seconds) is not float:
            raise ValueError("no time")

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
        if later.attempt == self.attempt:
            later.keeper.parts = self.keeper.parts + later.keeper.parts
        vars(self).update(vars(later))

    def result(self, n_draws: int | None = None) -> ChainResult:
        """Return what was drawn so far, or only the first so many draws."""
        record = self.keeper.draws()
        if n_draws is not None and n_draws < len(record.bias):
            record = ChainDraws(*(part[:n_draws] for part in record))
        info = Info(*(int(t) for t in self.totals))
        widths, tally = None, None
        if isinstance(self.chain, CollapsedChain):
            tally = self.chain.tally
        else:
            widths = self.chain.jumps.width
        return ChainResult(record, info, self.cpu_seconds, widths, tally, self.settled())

    def settled(self) -> dict[str, Any]:
        """Return what warm-up settled, the noise met since, and the health of the particles."""
        chain = self.chain
        found = what_was_settled(chain) if isinstance(chain, CollapsedChain) else {}
        if self.n_warmup < self.settings.n_warmup:
            found["warmed_up_for"] = self.n_warmup
        if self.attempt:
            found["not_finite"] = self.attempt
        return found

    def ended(self, result: ChainResult) -> ChainResult:
        """Return a result, now that it is the last, with what is looked into only then."""
        if not isinstance(self.chain, CollapsedChain):
            return result
        return result._replace(settled=result.settled | last_look(self.chain))


def run_chain(
    problem: Problem, settings: Settings, seed: int, chain_index: int, report: Report
) -> ChainResult:
    """Run one chain from its random start to its last draw."""
    run = ChainRun(problem, settings, seed, chain_index, report)
    return run.extend(settings.n_draws, report).result()
