"""The default scheme, collapsed Gibbs: its engines, and start and warm-up of its chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from slabfield.adaptation.starts import draw_start_p0, kind_of
from slabfield.chains import exact_chain, particle_chain, pseudo_chain
from slabfield.chains.chunks import chunks
from slabfield.chains.collapsed_chain import CollapsedChain, CollapsedEngine, run_sweeps
from slabfield.chains.particle_chain import in_dense_mode, restarted
from slabfield.configuration import Settings
from slabfield.likelihood.protocols import advance, check_engine, refresh_data
from slabfield.moves.block_sweep import requirements
from slabfield.moves.edge_gibbs import InclusionStats
from slabfield.moves.iteration import advance_engine
from slabfield.problem import Problem
from slabfield.validation.memory_limit import give_back_memory

ENGINES: dict[str, CollapsedEngine] = {
    "exact": exact_chain,
    "particles": particle_chain,
    "pseudo": pseudo_chain,
}
# Shares of warm-up after which the plan and the engine are adapted
ADAPTATION_POINTS = (0.05, 0.15, 0.35, 0.65)


def start_collapsed(
    problem: Problem, settings: Settings, rng: np.random.Generator, kind: str = "random"
) -> CollapsedChain:
    """Return a chain at a start of the given kind (see :mod:`slabfield.adaptation.starts`)."""
    chain = ENGINES[settings.engine].start(problem, settings, rng, kind)
    check_engine(chain.engine, (advance, refresh_data, *requirements(chain.engine)))
    draw_start_p0(chain.state, problem, rng)
    advance_engine(chain.engine, chain.state, rng)
    return chain


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator, chain_index: int
) -> CollapsedChain:
    """Return a chain of a run; the kind of its start depends on its index."""
    return start_collapsed(problem, settings, rng, kind_of(chain_index))


def adapt(chain: CollapsedChain, parts_left: int = 0) -> CollapsedChain:
    """Adapt the plan and the engine to the statistics since the last time; reset these."""
    return ENGINES[chain.settings.engine].adapt(chain, parts_left)


def freeze(chain: CollapsedChain) -> CollapsedChain:
    """End warm-up early, with what was adapted so far."""
    return adapt(chain) if chain.inclusion_stats.visits.any() else chain


def first_averages(chain: CollapsedChain) -> None:
    """Return nothing: the preconditioner is the paper's."""


def warm_up_collapsed(chain: CollapsedChain, report: Any) -> CollapsedChain:
    """Run the whole warm-up."""
    for warmer, _ in warming(chain, None, 0, report):
        chain = warmer
    return chain


def warming(
    chain: CollapsedChain, averages: None, done: int, report: Any
) -> Iterator[tuple[CollapsedChain, int]]:
    """Continue the warm-up; yield the chain and the number of draws done after every chunk.

    The plan and the particles are adapted between stages, then frozen. A chain in the dense mode is
    restarted.
    """
    settings = chain.settings
    total = settings.n_warmup
    marks = sorted({int(total * share) for share in ADAPTATION_POINTS} | {total})
    for part, mark in enumerate(marks, 1):
        for n in chunks(mark - done):
            run_sweeps(chain, n * settings.thin)
            report(n)
            done += n
            if done == mark:
                chain = (
                    restarted(chain) if in_dense_mode(chain) else adapt(chain, len(marks) - part)
                )
                give_back_memory()
            yield chain, done


def summary(chain: CollapsedChain) -> dict[str, Any]:
    """Return the adapted settings, the noise since then, and diagnostics of the engine."""
    found = {"planned_blocks": len(chain.plan.blocks), "random_blocks": chain.plan.n_random}
    return found | ENGINES[chain.settings.engine].summary(chain)


def diagnostics(chain: CollapsedChain) -> dict[str, Any]:
    """Return the diagnostics of an ended chain."""
    return ENGINES[chain.settings.engine].diagnostics(chain)


def move_statistics(chain: CollapsedChain) -> tuple[None, InclusionStats]:
    """Return the statistics of the moves: sums of conditional inclusion probabilities."""
    return None, chain.inclusion_stats


def engine_bytes(n_rows: int, n_levels: Sequence[int], settings: Settings) -> int:
    """Bytes of one chain's engine."""
    return ENGINES[settings.engine].engine_bytes(n_rows, n_levels, settings)
