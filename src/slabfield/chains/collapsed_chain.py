"""One chain of collapsed sweeps, the default: its parts, and what it asks of a kind of engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from slabfield.adaptation.particle_tuning import noise_of
from slabfield.adaptation.starts import SparseState
from slabfield.chains.draw_buffer import sizes_of
from slabfield.configuration import Settings
from slabfield.likelihood.protocols import with_buffers
from slabfield.moves.block_sweep import Plan
from slabfield.moves.chain_state import ChainState, Info
from slabfield.moves.edge_gibbs import Block, InclusionStats, new_inclusion_stats
from slabfield.moves.iteration import Record, check_finite, collapsed, new_record
from slabfield.problem import Problem


class CollapsedChain(NamedTuple):
    """Everything that a chain's next sweep needs.

    ``pilot`` is the last state of the pseudo-likelihood pilot run, if there was one, ``n_restarts``
    the number of restarts from it, and ``noise`` the noise variance of undecided log odds in the
    last warm-up stage.
    """

    problem: Problem
    settings: Settings
    engine: Any
    state: ChainState
    block: Block
    plan: Plan
    inclusion_stats: InclusionStats
    rng: np.random.Generator
    pilot: SparseState | None = None
    n_restarts: int = 0
    noise: float = 0.0

    def iterate(self, record: Record, first: int, n_draws: int, thin: int) -> Info:
        """Run compiled sweeps; keep ``n_draws`` states, ``thin`` sweeps apart.

        Raises :class:`NotFinite` if the state or a draw is not finite.
        """
        problem = self.problem
        info: Info = collapsed(
            with_buffers(self.engine), problem.sums, problem.prior, problem.model.group_start,
            self.state, self.block, self.plan, self.inclusion_stats, problem.missing_entries,
            record, first, n_draws, thin, self.rng,
        )  # fmt: skip
        check_finite(self.state, record)
        return info


class CollapsedEngine(Protocol):
    """What the default chain asks of a kind of engine, besides its compiled functions.

    Each kind is a module with these functions. ``KINDS`` are the named tuples of its state.
    """

    KINDS: tuple[type, ...]

    def start(
        self, problem: Problem, settings: Settings, rng: np.random.Generator, kind: str
    ) -> CollapsedChain:
        """Return a chain at a start of the given kind."""

    def adapt(self, chain: CollapsedChain, parts_left: int) -> CollapsedChain:
        """Adapt plan and engine to the statistics since the last time; reset these."""

    def summary(self, chain: CollapsedChain) -> dict[str, Any]:
        """Return the adapted settings of the engine, and its diagnostics."""

    def diagnostics(self, chain: CollapsedChain) -> dict[str, Any]:
        """Return diagnostics that are computed when a chain has ended."""

    def engine_bytes(self, n_rows: int, n_levels: Sequence[int], settings: Settings) -> int:
        """Bytes of one chain's engine, for the estimate of a run's memory."""


def run_sweeps(chain: CollapsedChain, n_sweeps: int) -> None:
    """Run sweeps without keeping any state."""
    chain.iterate(new_record(0, *sizes_of(chain.problem.model)), 0, 0, n_sweeps)


def with_new_stats(chain: CollapsedChain) -> CollapsedChain:
    """Return the chain with empty statistics, and the noise of the previous ones."""
    return chain._replace(
        inclusion_stats=new_inclusion_stats(chain.problem.model.n_interactions),
        noise=noise_of(chain.inclusion_stats),
    )
