"""State of running chains: draws, rate, number of edges, R-hat and effective draws."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from math import inf, nan
from typing import NamedTuple

import numpy as np

from slabfield.chains.chain_run import ChainRun

# Seconds over which a rate is averaged
WINDOW = 5.0
# Shortest time between computations of R-hat, in seconds
MIXING_SECONDS = 2.0
# Largest share of the time spent on computing R-hat
MIXING_SHARE = 0.05
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

    ``share`` is the completed share of the requested draws; ``seconds_left`` is NaN if unknown;
    ``rhat`` is the largest and ``ess`` the smallest over p0, sigma0, the number of edges and the
    log potential, NaN before they are computed.
    """

    chains: list[ChainView]
    n_warmup: int
    n_draws: int
    auto: bool
    elapsed: float
    share: float
    rate: float
    seconds_left: float
    rhat: float
    ess: float

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
    n_chains, n_warmup, n_draws, auto, deadline
        As for :func:`slabfield.progress.chain_progress`.
    """

    def __init__(
        self, n_chains: int, n_warmup: int, n_draws: int, auto: bool, deadline: float = inf
    ) -> None:
        self.n_warmup, self.n_draws, self.auto = n_warmup, n_draws, auto
        self.deadline = deadline
        self.runs: Sequence[ChainRun] = ()
        self.started_at = time.monotonic()
        self._done = [0] * n_chains
        self._history: list[deque[tuple[float, int]]] = [deque(maxlen=400) for _ in range(n_chains)]
        self._mixing, self._mixing_next = (nan, nan), 0.0

    def __call__(self, chain: int) -> Callable[[int], None]:
        """Return the callback to which one chain reports its draws, warm-up included."""

        def report(n_done: int) -> None:
            self._done[chain] += n_done
            self._history[chain].append((time.monotonic(), self._done[chain]))

        return report

    def watch(self, runs: Sequence[ChainRun], n_draws: int) -> None:
        """Set the chains, after warm-up, and the number of draws they are to reach."""
        self.runs, self.n_draws = runs, n_draws

    def snapshot(self) -> View:
        """Return the current progress of the chains."""
        now = time.monotonic()
        chains = [self._chain_view(chain, now) for chain in range(len(self._done))]
        goal = len(chains) * (self.n_warmup + self.n_draws)
        done = sum(c.warmup + min(c.draws, self.n_draws) for c in chains)
        rate = sum(c.rate for c in chains)
        left = (goal - done) / rate if rate > 0 else nan
        if self.deadline < inf:
            left = min(left, self.deadline - now) if rate > 0 else self.deadline - now
        rhat, ess = self._update_mixing(now)
        return View(
            chains, self.n_warmup, self.n_draws, self.auto, now - self.started_at,
            done / goal if goal else 1.0, rate, max(left, 0.0), rhat, ess,
        )  # fmt: skip

    def summary(self) -> str:
        """Summarize the finished run in one line."""
        draws = min((run.buffer.n_draws for run in self.runs), default=0)
        seconds = time.monotonic() - self.started_at
        n = len(self.runs)
        return f"{n} chain{'s' if n != 1 else ''} of {draws:,} draws in {seconds:.1f} s."

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

    def _update_mixing(self, now: float) -> tuple[float, float]:
        """Return R-hat and effective draws so far, recomputed from time to time."""
        if not self.runs or now < self._mixing_next:
            return self._mixing
        series = [run.buffer.series() for run in self.runs]
        n_draws = min(len(chain) for chain in series)
        if n_draws >= MIN_DRAWS:
            from slabfield.posterior.convergence import array_stats, rhat_and_ess

            array_stats()  # the slow import on first use is not part of the cost
            begin = time.monotonic()
            rhat, ess = rhat_and_ess(np.stack([chain[:n_draws] for chain in series]))
            self._mixing = _largest(rhat), -_largest(-ess)
            cost = time.monotonic() - begin
            self._mixing_next = now + max(MIXING_SECONDS, cost / MIXING_SHARE)
        return self._mixing


def _largest(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else nan
