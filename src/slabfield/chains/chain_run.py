"""One chain: start, warm-up, draws. Compiled code runs in chunks; Python reports in between."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slabfield.adaptation.preconditioner import Averages
from slabfield.adaptation.starts import SparseState
from slabfield.chains import collapsed_warmup, paper_chain
from slabfield.chains.checkpoint import (
    RESTART_ADVICE,
    Arrays,
    ChainFile,
    pack,
    plain_failures,
    unpack,
)
from slabfield.chains.chunks import chunks
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.draw_buffer import DrawBuffer
from slabfield.chains.paper_chain import PaperChain
from slabfield.chains.run_clock import NEVER, Deadline
from slabfield.chains.validate_state import check_state, template_of
from slabfield.configuration import Settings
from slabfield.draws import ChainDraws
from slabfield.kernels.laplace import Laplace
from slabfield.models.protocol import Sums
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import ChainState, Info
from slabfield.moves.edge_gibbs import Block, InclusionStats
from slabfield.moves.evidence_sums import EvidenceSums
from slabfield.moves.imputation import MissingEntries
from slabfield.moves.iteration import NotFinite, check_finite
from slabfield.problem import Problem, complete
from slabfield.validation import InputWarning, NotFiniteError, Parameter

Report = Callable[[int], None]
Packed = tuple[Any, Arrays]


class ChainResult(NamedTuple):
    """Draws of a chain, counts of its moves, and a summary of its adaptation.

    ``inclusion_stats`` is the chain's own object, if it has one, and changes when the chain
    continues. ``adaptation`` has the adapted settings and the diagnostics of the particles.
    """

    record: ChainDraws
    info: Info
    cpu_seconds: float
    widths: Any
    inclusion_stats: InclusionStats | None
    adaptation: dict[str, Any]

    @property
    def conditional_probability(self) -> NDArray[np.float64]:
        """Means of the conditional probabilities of presence; NaN where there are none."""
        if self.inclusion_stats is None:
            return np.full(self.record.indicators.shape[1], np.nan)
        return np.where(
            self.inclusion_stats.visits > 0, self.inclusion_stats.mean_probability, np.nan
        )

    @property
    def evidence_means(self) -> NDArray[np.float64]:
        """Sums of :class:`EvidenceSums` per visit, (batches, edges, 5); NaN if there are none."""
        if self.inclusion_stats is None:
            return np.full((1, self.record.indicators.shape[1], 5), np.nan)
        visits = self.inclusion_stats.visits[:, None]
        sums = self.inclusion_stats.evidence.begun
        return np.where(visits > 0, sums / np.maximum(visits, 1), np.nan)


class Scheme(Protocol):
    """What a run asks of a kind of chain; the two schemes are modules with these functions."""

    def start(self, problem: Problem, settings: Settings, rng: Any, chain_index: int) -> Any:
        """Return a chain at its start."""

    def first_averages(self, chain: Any) -> Averages | None:
        """Return the averages of warm-up, initialized from the data, if there are any."""

    def warming(
        self, chain: Any, averages: Any, done: int, report: Report
    ) -> Iterator[tuple[Any, int]]:
        """Continue the warm-up; yield the chain and the number of draws done."""

    def freeze(self, chain: Any) -> Any:
        """End warm-up early, with what was adapted so far."""

    def summary(self, chain: Any) -> dict[str, Any]:
        """Return the adapted settings, and diagnostics of the engine."""

    def diagnostics(self, chain: Any) -> dict[str, Any]:
        """Return diagnostics that are computed when a chain has ended."""

    def move_statistics(self, chain: Any) -> tuple[Any, InclusionStats | None]:
        """Return the widths of jumps, or the sums of conditional inclusion probabilities."""

    def engine_bytes(self, n_rows: int, n_levels: Sequence[int], settings: Settings) -> int:
        """Bytes of one chain's engine, for the estimate of a run's memory."""


def scheme_of(settings: Settings) -> Scheme:
    """Return the scheme of a run: collapsed sweeps, or else the paper's iterations."""
    return collapsed_warmup if settings.scheme == "collapsed" else paper_chain


KINDS: tuple[type, ...] = (
    *(CollapsedChain, PaperChain, ChainState, Problem, Sums, MissingEntries, SparseState),
    *(Block, Laplace, Plan, InclusionStats, EvidenceSums),
    *(kind for engine in collapsed_warmup.ENGINES.values() for kind in engine.KINDS),
    *paper_chain.KINDS,
)
"""The named tuples that a chain's state is made of."""


def chain_rng(seed: int, chain: int, attempt: int = 0) -> np.random.Generator:
    """Return the random stream of a chain, which does not depend on the number of chains.

    A restarted chain has another stream; ``attempt`` counts the restarts.
    """
    key = (chain, attempt) if attempt else (chain,)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class ChainRun:
    """One chain that can be continued: warmed up when it is created, then extended by draws.

    With a file it continues from the state in it, writes its state there from time to time, and
    stops between two chunks on request. Warm-up ends early if it takes longer than ``patience``, in
    seconds without compilation.

    The state is checked after every chunk. A chain whose state is not finite is restarted, once,
    with other random numbers; nothing of such a state is kept or written.
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
    buffer: DrawBuffer
    chain: Any
    averages: Averages | None

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
        begin, until = time.thread_time(), Deadline(patience)
        found = ChainRun.from_file(problem, settings, file) if file is not None else None
        if found is not None:
            vars(self).update(vars(found))
            report(self.n_warmed + self.buffer.n_draws)
        else:
            self.problem, self.settings, self.file = problem, settings, file
            self.seed, self.chain_index, self.attempt = seed, chain_index, 0
            self.cpu_seconds = 0.0
            try:
                self._start()
            except NotFinite:
                self._restart(report)
        self.warm_up(report, begin, until)

    def _start(self) -> None:
        """Set the chain to its start, with no draws."""
        problem, settings = self.problem, self.settings
        self.n_warmed, self.n_warmup = 0, settings.n_warmup
        self.totals = np.zeros(len(Info._fields), dtype=np.int64)
        self.buffer = DrawBuffer(problem.model)
        rng = chain_rng(self.seed, self.chain_index, self.attempt)
        own = complete(problem, rng)
        self.chain = self.scheme.start(own, settings, rng, self.chain_index)
        self.averages = self.scheme.first_averages(self.chain)

    def _restart(self, report: Report) -> None:
        """Restart a chain that is not finite; raise an error if it was restarted before."""
        if self.attempt > 0:
            raise self._not_finite_error()
        warnings.warn(
            InputWarning(
                "chain-restarted",
                "Chain {chain} reached values that are not finite; it is restarted from another "
                "state.",
                chain=self.chain_index,
            ),
            stacklevel=2,
        )
        report(-self.n_warmed - self.buffer.n_draws)
        self.n_written = self.buffer.n_draws
        self.attempt += 1
        try:
            self._start()
        except NotFinite:
            raise self._not_finite_error() from None

    def _not_finite_error(self) -> NotFiniteError:
        return NotFiniteError(
            "not-finite",
            "The values of a chain must be finite; those of chain {chain} were not, not even after "
            "a restart.{kept} Drop columns that others imply or exclude (the codes of one "
            "category), or use {pseudo}.",
            chain=self.chain_index,
            kept="" if self.file is None else f" Its last finite state is in {self.file.path}.",
            pseudo=Parameter("likelihood", "pseudo"),
        )

    @classmethod
    def from_file(cls, problem: Problem, settings: Settings, file: ChainFile) -> ChainRun | None:
        """Read the chain from its file, without further warm-up; None if there is no file."""
        found = file.load()
        if found is None:
            return None
        with plain_failures(file.path, RESTART_ADVICE):
            run = cls.from_state(problem, settings, file, found)
            run._check()
            return run

    @classmethod
    def from_state(
        cls, problem: Problem, settings: Settings, file: ChainFile | None, packed: Packed
    ) -> ChainRun:
        """Return the chain from the output of :meth:`packed`."""
        run = cls.__new__(cls)
        context = {"problem": problem, "settings": settings, "file": file}
        run.__setstate__(context | {"packed": packed})
        return run

    @property
    def scheme(self) -> Scheme:
        """The scheme of the run."""
        return scheme_of(self.settings)

    @property
    def warm(self) -> bool:
        """Whether warm-up is over."""
        return self.n_warmed >= self.n_warmup

    def end_warm_up(self, report: Report) -> None:
        """End warm-up now, if it is under way; a chain that is not finite is restarted."""
        try:
            self._freeze()
        except NotFinite:
            self._restart(report)

    def _freeze(self) -> None:
        """End warm-up, if it is under way, with what was adapted so far."""
        if 0 < self.n_warmed < self.n_warmup:
            self.n_warmup = self.n_warmed
            self.chain = self.scheme.freeze(self.chain)

    def warm_up(self, report: Report, begin: float, until: Deadline = NEVER) -> None:
        """Continue the warm-up; ``begin`` is its start on the thread's CPU clock.

        It ends early at the deadline ``until``.
        """
        if self.warm:
            return
        warming = self.scheme.warming
        steps = warming(self.chain, self.averages, self.n_warmed, report)
        before = self.cpu_seconds
        while not self.warm and not self._stop_requested():
            try:
                self.chain, self.n_warmed = next(steps)
                if until.passed():
                    self._freeze()
            except NotFinite:
                self._restart(report)
                steps = warming(self.chain, self.averages, self.n_warmed, report)
            self.cpu_seconds = before + time.thread_time() - begin
            self.save_if_due()
        self.save()

    def extend(self, n_draws: int, report: Report, deadline: Deadline = NEVER) -> ChainRun:
        """Make more draws; stop early, but not before the first, once past the deadline."""
        before, goal = self.buffer.n_draws, self.buffer.n_draws + n_draws
        try:
            self._draw(n_draws, report, deadline)
        except NotFinite:
            self._restart(report)
            self.warm_up(report, time.thread_time())
            return self.extend(goal, report, deadline)
        # with a deadline rounds are too short for a file after each
        if self.buffer.n_draws != before and not deadline.limited:
            self.save()
        return self

    def _draw(self, n_draws: int, report: Report, deadline: Deadline) -> None:
        begin, before = time.thread_time(), self.cpu_seconds
        for chunk in chunks(n_draws if self.warm else 0, self.buffer.most):
            late = self.buffer.n_draws > 0 and deadline.passed()
            if late or self._stop_requested():
                break
            record = self.buffer.new_part(chunk)
            self.totals += self.chain.iterate(record, 0, chunk, self.settings.thin)
            self.buffer.add(record)
            report(chunk)
            self.cpu_seconds = before + time.thread_time() - begin
            self.save_if_due()

    def _stop_requested(self) -> bool:
        return self.file is not None and self.file.stop.requested()

    def save_if_due(self) -> None:
        """Write the state to the chain's file, if it has one and the interval is over."""
        if self.file is not None and self.file.due():
            self.save()

    def save(self) -> None:
        """Write the state to the chain's file, if it has one.

        A restarted chain leaves the file unchanged until it has as many draws as the file.
        """
        if self.file is not None and self.buffer.n_draws >= self.n_written:
            self.file.save(*self.packed())

    def packed(self, with_draws: bool = True) -> Packed:
        """Return the state as a JSON-compatible tree and arrays."""
        arrays: Arrays = {}
        state = {
            "seed": self.seed,
            "chain_index": self.chain_index,
            "attempt": self.attempt,
            "chain": self.chain,
            "averages": None if self.averages is None else vars(self.averages),
            "n_warmed": self.n_warmed,
            "n_warmup": self.n_warmup,
            "totals": self.totals,
            "cpu_seconds": self.cpu_seconds,
            "draws": self.buffer.arrays() if with_draws else {},
        }
        return pack(state, arrays, self._given()), arrays

    def _given(self) -> dict[str, Any]:
        """Return the objects that are not packed with a chain, by name.

        The data can be its own, with missing entries filled in, and are then packed.
        """
        problem = self.problem
        return {
            "problem": problem, "model": problem.model, "prior": problem.prior,
            "settings": self.settings,
        }  # fmt: skip

    def _unpack(self, tree: Any, arrays: Arrays) -> None:
        state = unpack(tree, arrays, self._given(), KINDS)
        self.seed, self.chain_index = state["seed"], state["chain_index"]
        self.attempt, self.chain = state["attempt"], state["chain"]
        self.averages = None
        if state["averages"] is not None:
            self.averages = Averages(np.zeros(0), 1.0, False)
            vars(self.averages).update(state["averages"])
        self.n_warmed, self.n_warmup = state["n_warmed"], state["n_warmup"]
        self.totals = state["totals"]
        self.cpu_seconds = state["cpu_seconds"]
        self.buffer.restore(state["draws"])

    def _check(self) -> None:
        """Raise ValueError unless what was read is a valid state of this run."""
        check_state(self.chain, template_of(self.problem, self.settings))
        check_finite(self.chain.state)
        counts = (self.n_warmed, self.n_warmup, self.settings.n_warmup)
        integers = (*counts, self.seed, self.chain_index, self.attempt)
        whole = all(type(number) is int for number in integers)
        shape = getattr(self.totals, "shape", None)
        if not whole or not 0 <= counts[0] <= counts[1] <= counts[2]:
            raise ValueError("invalid counts")
        if shape != (len(Info._fields),) or type(self.cpu_seconds) is not float:
            raise ValueError("invalid counts")

    # Arrays that share memory have to share it in another process too: hence packing.

    def __getstate__(self) -> dict[str, Any]:
        context = {"problem": self.problem, "settings": self.settings, "file": self.file}
        return context | {"packed": self.packed()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = state.pop("packed")
        vars(self).update(state)
        self.buffer = DrawBuffer(self.problem.model)
        self._unpack(*packed)

    def update(self, packed: Packed) -> None:
        """Replace the state by a later one, which has only the draws made since."""
        later = ChainRun.from_state(self.problem, self.settings, self.file, packed)
        if later.attempt == self.attempt:
            later.buffer.parts = self.buffer.parts + later.buffer.parts
        else:
            self.n_written = self.buffer.n_draws
        vars(self).update(vars(later))

    def result(self, n_draws: int | None = None) -> ChainResult:
        """Return all draws so far, or the first ``n_draws`` of them."""
        record = self.buffer.draws()
        if n_draws is not None and n_draws < len(record.bias):
            record = ChainDraws(*(part[:n_draws] for part in record))
        info = Info(*(int(t) for t in self.totals))
        widths, inclusion_stats = self.scheme.move_statistics(self.chain)
        return ChainResult(
            record, info, self.cpu_seconds, widths, inclusion_stats, self.adaptation()
        )

    def adaptation(self) -> dict[str, Any]:
        """Return the adapted settings, the noise since, and diagnostics of the particles."""
        found = self.scheme.summary(self.chain)
        if self.n_warmup < self.settings.n_warmup:
            found["warmed_up_for"] = self.n_warmup
        if self.attempt:
            found["not_finite"] = self.attempt
        return found

    def ended(self, result: ChainResult) -> ChainResult:
        """Add the diagnostics of an ended chain to its last result."""
        found = self.scheme.diagnostics(self.chain)
        return result._replace(adaptation=result.adaptation | found)


def run_chain(
    problem: Problem, settings: Settings, seed: int, chain_index: int, report: Report
) -> ChainResult:
    """Run one chain from its start to its last draw."""
    run = ChainRun(problem, settings, seed, chain_index, report)
    return run.extend(settings.n_draws, report).result()
