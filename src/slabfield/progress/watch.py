"""What is known of chains while they run: how far, how fast, how many edges, how well mixed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from math import inf, nan
from typing import NamedTuple

import numpy as np

from slabfield.sampler.run import ChainRun

# Seconds over which a rate is taken
WINDOW = 5.0
# R-hat is looked at no more often than this, and for no more than this share of the time
SECONDS_APART, SHARE = 2.0, 0.05
FEWEST_DRAWS = 20


class ChainView(NamedTuple):
    """How far one chain is; ``n_edges`` is -1 before its first draw."""

    warmup: int
    draws: int
    rate: float
    n_edges: int


class View(NamedTuple):
    """How far all chains are.

    ``share`` is that of the draws now asked for; ``seconds_left`` is NaN where it is not known;
    ``rhat`` is the largest and ``ess`` the least of p0, sigma0, number of edges and log potential,
    NaN before there is any.
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
        """Whether any chain has told of itself: before, code is being compiled or loaded."""
        return any(chain.warmup or chain.draws for chain in self.chains)

    @property
    def n_edges(self) -> float:
        """Mean number of edges now present, NaN before there are draws."""
        known = [chain.n_edges for chain in self.chains if chain.n_edges >= 0]
        return sum(known) / len(known) if known else nan


class Watch:
    """Takes reports of chains, from any thread, and says what is known.

    Parameters
    ----------
    n_chains, n_warmup, n_draws, auto, deadline
        As :func:`slabfield.progress.chain_progress` takes them.

    Examples
    --------
    >>> from slabfield.progress import Watch
    >>> watch = Watch(n_chains=2, n_warmup=10, n_draws=10, auto=False)
    >>> watch(1)(10)
    >>> watch.look().share
    0.25
    """

    def __init__(
        self, n_chains: int, n_warmup: int, n_draws: int, auto: bool, deadline: float = inf
    ) -> None:
        self.n_warmup, self.n_draws, self.auto = n_warmup, n_draws, auto
        self.deadline = deadline
        self.runs: Sequence[ChainRun] = ()
        self.begun = time.monotonic()
        self._done = [0] * n_chains
        self._past: list[deque[tuple[float, int]]] = [deque(maxlen=400) for _ in range(n_chains)]
        self._mixing, self._mixing_next = (nan, nan), 0.0

    def __call__(self, chain: int) -> Callable[[int], None]:
        """Return what one chain reports its draws to, those of warm-up included."""

        def report(n_done: int) -> None:
            self._done[chain] += n_done
            self._past[chain].append((time.monotonic(), self._done[chain]))

        return report

    def watch(self, runs: Sequence[ChainRun], n_draws: int) -> None:
        """Take the chains themselves, after warm-up, and how many draws they are to have now."""
        self.runs, self.n_draws = runs, n_draws

    def look(self) -> View:
        """Say how far the chains are."""
        now = time.monotonic()
        chains = [self._look_at(chain, now) for chain in range(len(self._done))]
        goal = len(chains) * (self.n_warmup + self.n_draws)
        done = sum(c.warmup + min(c.draws, self.n_draws) for c in chains)
        rate = sum(c.rate for c in chains)
        left = (goal - done) / rate if rate > 0 else nan
        if self.deadline < inf:
            left = min(left, self.deadline - now) if rate > 0 else self.deadline - now
        rhat, ess = self._look_at_mixing(now)
        return View(
            chains, self.n_warmup, self.n_draws, self.auto, now - self.begun,
            done / goal if goal else 1.0, rate, max(left, 0.0), rhat, ess,
        )  # fmt: skip

    def ending(self) -> str:
        """Say in one line what was done."""
        draws = min((run.keeper.n_draws for run in self.runs), default=0)
        seconds = time.monotonic() - self.begun
        n = len(self.runs)
        return f"{n} chain{'s' if n != 1 else ''} of {draws:,} draws in {seconds:.1f} s."

    def _look_at(self, chain: int, now: float) -> ChainView:
        done = self._done[chain]
        if not self.runs:
            return ChainView(min(done, self.n_warmup), 0, self._rate(chain, now), -1)
        run = self.runs[chain]
        draws = run.keeper.n_draws
        n_edges = int(run.chain.state.n_members[0]) if draws else -1
        return ChainView(self.n_warmup, draws, self._rate(chain, now), n_edges)

    def _rate(self, chain: int, now: float) -> float:
        """Draws a second since the beginning of the window, or since the chain's first report."""
        past = list(self._past[chain])
        if not past:
            return 0.0
        before = [k for k, (at, _) in enumerate(past) if at < now - WINDOW]
        at, done = past[before[-1]] if before else past[0]
        # a chain that waited while others ran is as fast as it has been since
        at = max(at, now - 2 * WINDOW)
        return (past[-1][1] - done) / max(now - at, 1e-3)

    def _look_at_mixing(self, now: float) -> tuple[float, float]:
        """R-hat and effective draws of what there is, looked at now and then."""
        if not self.runs or now < self._mixing_next:
            return self._mixing
        series = [run.keeper.series() for run in self.runs]
        n_draws = min(len(chain) for chain in series)
        if n_draws >= FEWEST_DRAWS:
            from slabfield.posterior.convergence import array_stats, rhat_and_ess

            array_stats()  # imported on first use, which takes long and is no cost of this
            begin = time.monotonic()
            rhat, ess = rhat_and_ess(np.stack([chain[:n_draws] for chain in series]))
            self._mixing = _largest(rhat), -_largest(-ess)
            cost = time.monotonic() - begin
            self._mixing_next = now + max(SECONDS_APART, cost / SHARE)
        return self._mixing


def _largest(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else nan
