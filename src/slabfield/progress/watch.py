"""State of running chains: draws, rate, number of edges, R-hat and effective draws."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from math import nan
from typing import NamedTuple

import numpy as np

from slabfield.chains.chain_run import ChainRun
from slabfield.chains.draw_buffer import SERIES
from slabfield.chains.run_clock import NEVER, Deadline
from slabfield.posterior.convergence import (
    Convergence,
    Worst,
    array_stats,
    global_diagnostics,
    worst_of,
)

# Seconds over which a rate is averaged
WINDOW = 5.0
# Shortest time between computations of R-hat, in seconds
RHAT_SECONDS = 2.0
# Largest share of the time spent on computing R-hat
RHAT_SHARE = 0.05
# Fewest draws from which R-hat is computed
MIN_DRAWS = 20


class ChainView(NamedTuple):
    """Progress of one chain; ``n_edges`` is -1 before its first draw."""

    warmup: int
    draws: int
    rate: float
    n_edges: int


class View(NamedTuple):
    """Progress of all chains.

    ``n_draws`` is None if chains run until they have converged. ``share`` is the completed share of
    warm-up and requested draws, or of warm-up only; ``seconds_left`` is NaN if unknown;
    ``unconverged`` has the biases and edges that alone had not converged at the last check.
    """

    chains: list[ChainView]
    n_warmup: int
    n_draws: int | None
    elapsed: float
    share: float
    rate: float
    seconds_left: float
    worst: Worst
    unconverged: str

    @property
    def until_converged(self) -> bool:
        """Whether chains run until they have converged."""
        return self.n_draws is None

    @property
    def warming_up(self) -> bool:
        """Whether no chain has a draw yet."""
        return not any(chain.draws for chain in self.chains)

    @property
    def started(self) -> bool:
        """Whether any chain has reported; until then, code is being compiled or loaded."""
        return any(chain.warmup or chain.draws for chain in self.chains)

    @property
    def n_edges(self) -> float:
        """Mean number of edges currently present, NaN before there are draws."""
        known = [chain.n_edges for chain in self.chains if chain.n_edges >= 0]
        return sum(known) / len(known) if known else nan


class Watch:
    """Collects reports of chains, from any thread, and summarizes their progress.

    Parameters
    ----------
    n_chains, n_warmup, n_draws, deadline
        As for :func:`slabfield.progress.chain_progress`.
    """

    def __init__(
        self, n_chains: int, n_warmup: int, n_draws: int | None, deadline: Deadline = NEVER
    ) -> None:
        self.n_warmup, self.target, self.deadline = n_warmup, n_draws, deadline
        self.runs: Sequence[ChainRun] = ()
        self.unconverged, self.stopped_by = "", ""
        self.started_at = time.monotonic()
        self._done = [0] * n_chains
        self._history: list[deque[tuple[float, int]]] = [deque(maxlen=400) for _ in range(n_chains)]
        self._worst, self._worst_next = Worst(), 0.0

    def __call__(self, chain: int) -> Callable[[int], None]:
        """Return the callback to which one chain reports its draws, warm-up included."""

        def report(n_done: int) -> None:
            self._done[chain] += n_done
            self._history[chain].append((time.monotonic(), self._done[chain]))

        return report

    def watch(self, runs: Sequence[ChainRun]) -> None:
        """Set the chains, after warm-up."""
        self.runs = runs

    def checked(self, convergence: Convergence) -> None:
        """Receive a convergence check."""
        pending = convergence.unconverged_quantities
        self.unconverged = "" if pending else convergence.unconverged_parameters

    def end(self, stopped_by: str) -> None:
        """Receive the reason why the run ended."""
        self.stopped_by = stopped_by

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started_at

    @property
    def n_draws(self) -> int:
        """Draws that every chain has."""
        return min((run.buffer.n_draws for run in self.runs), default=0)

    def snapshot(self) -> View:
        """Return the current progress of the chains."""
        now = time.monotonic()
        chains = [self._chain_view(chain, now) for chain in range(len(self._done))]
        target = self.target or 0
        goal = len(chains) * (self.n_warmup + target)
        done = sum(c.warmup + min(c.draws, target) for c in chains)
        rate = sum(c.rate for c in chains)
        left = (goal - done) / rate if rate > 0 and self.target is not None else nan
        if self.deadline.limited:
            # the first: NaN is not less than anything
            left = min(self.deadline.left(), left)
        return View(
            chains, self.n_warmup, self.target, now - self.started_at,
            done / goal if goal else 1.0, rate, max(left, 0.0), self._update_worst(now),
            self.unconverged,
        )  # fmt: skip

    def summary(self) -> str:
        """Summarize the finished run in one line."""
        n, seconds = len(self.runs), self.elapsed()
        worst = self._compute_worst()
        figures = f": {worst}" if worst.known else ""
        return (
            f"{n} chain{'s' if n != 1 else ''} of {self.n_draws:,} draws in {seconds:.1f} s"
            f"{figures}."
        )

    def _chain_view(self, chain: int, now: float) -> ChainView:
        done = self._done[chain]
        if not self.runs:
            return ChainView(min(done, self.n_warmup), 0, self._rate(chain, now), -1)
        run = self.runs[chain]
        draws = run.buffer.n_draws
        n_edges = int(run.chain.state.n_members[0]) if draws else -1
        return ChainView(self.n_warmup, draws, self._rate(chain, now), n_edges)

    def _rate(self, chain: int, now: float) -> float:
        """Draws per second since the start of the window, or since the chain's first report."""
        history = list(self._history[chain])
        if not history:
            return 0.0
        before = [k for k, (at, _) in enumerate(history) if at < now - WINDOW]
        at, done = history[before[-1]] if before else history[0]
        # a chain that waited while others ran is measured over the last two windows only
        at = max(at, now - 2 * WINDOW)
        return (history[-1][1] - done) / max(now - at, 1e-3)

    def _update_worst(self, now: float) -> Worst:
        """Return R-hat and effective draws so far, recomputed from time to time."""
        if self.n_draws >= MIN_DRAWS and now >= self._worst_next:
            array_stats()  # the slow import on first use is not part of the cost
            begin = time.monotonic()
            self._worst = self._compute_worst()
            cost = time.monotonic() - begin
            self._worst_next = now + max(RHAT_SECONDS, cost / RHAT_SHARE)
        return self._worst

    def _compute_worst(self) -> Worst:
        series = [run.buffer.series() for run in self.runs]
        n_draws = min(len(chain) for chain in series)
        values = np.stack([chain[:n_draws] for chain in series])
        return worst_of(global_diagnostics({name: values[..., k] for k, name in enumerate(SERIES)}))
