"""Validation of a state that was read from a file, before compiled code uses it.

Compiled code does not check bounds: an invalid index would read other memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from slabfield.adaptation.block_schedule import FULL_NODES
from slabfield.adaptation.particle_tuning import MOST_PARTICLES, whole_groups
from slabfield.adaptation.pattern_clusters import MOST_NODES as MOST_CLUSTERED
from slabfield.adaptation.starts import SparseState, parameters_of
from slabfield.chains import exact_chain, pseudo_chain
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.engine_parts import particle_parts
from slabfield.chains.paper_chain import start_chain
from slabfield.configuration import Settings
from slabfield.kernels.block_particles import GROUPS
from slabfield.kernels.pattern_gibbs import Clusters
from slabfield.likelihood.blocks import ExactBlocks
from slabfield.likelihood.exact_moments import StateTable
from slabfield.likelihood.level_blocks import LevelTable
from slabfield.likelihood.level_particles import LevelParticles
from slabfield.likelihood.level_rows import LevelRows
from slabfield.likelihood.particle_moments import CliqueParticles
from slabfield.likelihood.protocols import more_particles
from slabfield.likelihood.pseudolikelihood import PseudoRows
from slabfield.models.protocol import Model
from slabfield.moves.chain_state import ChainState
from slabfield.moves.edge_gibbs import MOST_EDGES, InclusionStats, new_inclusion_stats
from slabfield.moves.evidence_sums import N_BATCHES
from slabfield.moves.level_gibbs import LevelBlock
from slabfield.moves.level_pseudo_gibbs import LevelRowBlock
from slabfield.problem import Problem


def check_state(chain: Any, template: Any) -> None:
    """Raise ValueError unless a chain has the form of a template and its indices are in bounds."""
    problem, settings = template.problem, template.settings
    n_edges, n_nodes = problem.model.n_interactions, problem.model.n_nodes
    collapsed = settings.scheme == "collapsed"
    _expect(type(chain) is type(template), "another kind of chain")
    if collapsed:
        template = template._replace(
            plan=_plan_template(chain, template),
            inclusion_stats=_stats_template(chain, template),
            pilot=_pilot_template(chain, problem.model),
        )
        if settings.engine == "particles":
            template = template._replace(engine=_particles_template(chain, template))
        blocks = np.sort(chain.plan.blocks, axis=1)
        _expect(
            _within(blocks, 0, n_nodes) and bool(np.all(np.diff(blocks) > 0)), "an invalid plan"
        )
        _expect(bool(np.all(np.sort(chain.block.order) == np.arange(n_nodes))), "an invalid order")
        _expect(_within(chain.block.nodes, 0, n_nodes), "an invalid block")
        if chain.pilot is not None:
            edges = chain.pilot.edges
            good = _within(edges, 0, n_edges) and np.unique(edges).size == edges.size
            _expect(good, "an invalid pilot state")
    else:
        _expect(_within(chain.jumps.order, 0, n_edges), "an invalid order of jumps")
        _expect(0 <= chain.jumps.n_learned <= chain.jumps.order.size, "an invalid number of jumps")
    _check_form(chain, template, "the chain")
    if collapsed:
        _check_moves(chain)
        check_block(chain.block, template.block)
    _check_data(chain.problem, problem)
    _check_state(chain.state, n_edges)
    check_engine_state(chain.engine, template.engine)


def _check_data(problem: Problem, template: Problem) -> None:
    """Check the imputed values of a chain's own data, and where they are."""
    entries: Any = problem.missing_entries
    expected: Any = template.missing_entries
    for name in ("row", "node", "first", "second"):
        if hasattr(expected, name):
            _expect_same(entries, expected, (name,))
    if hasattr(expected, "features"):
        _expect_same_integers(entries.features, expected.features)
    for rows in (problem.rows, entries.x):
        within = rows.size == 0 or np.all((rows >= 0) & (rows < template.model.n_states))
        _expect(bool(within), "invalid levels")


@singledispatch
def check_block(block: Any, template: Any) -> None:
    """Check what a block's workspace holds from one update to the next; by default nothing."""


@check_block.register
def _check_level_block(block: LevelBlock, template: Any) -> None:
    _expect_same(block.group, template.group, ("order",))


@check_block.register
def _check_level_row_block(block: LevelRowBlock, template: Any) -> None:
    _expect_same(block.laplace, template.laplace, ("order",))


@singledispatch
def check_engine_state(engine: Any, template: Any) -> None:
    """Check the indices of an engine that has the form of a template."""
    n_nodes = template.states.shape[0] if hasattr(template, "states") else 0
    for name in ("first", "second", "neighbors", "degree"):
        numbers = getattr(engine, name, np.zeros(0))
        _expect(n_nodes == 0 or _within(numbers, 0, n_nodes), f"an invalid {name}")


@check_engine_state.register
def _check_exact(engine: ExactBlocks, template: Any) -> None:
    order = np.sort(engine.surrogate.order)
    _expect(np.array_equal(order, np.arange(order.size)), "an invalid order of edges")


@check_engine_state.register
def _check_rows(engine: PseudoRows, template: Any) -> None:
    _expect_same(engine, template, ("bounds", "times", "empty", "counted"))


@check_engine_state.register
def _check_level_table(engine: LevelTable, template: Any) -> None:
    _expect_same_integers(engine.features, template.features)
    _expect_same(engine, template, ("stride",))


@check_engine_state.register
def _check_level_rows(engine: LevelRows, template: Any) -> None:
    _expect_same_integers(engine.features, template.features)
    names = ("n", "first", "second", "coordinate", "line", "even", "place", "bounds", "times",
             "empty", "counted")  # fmt: skip
    _expect_same(engine, template, names)
    codes = engine.codes.reshape(-1, engine.n)[:-1]
    _expect(bool(np.all(codes < engine.features.n_levels[:, None])), "invalid levels")


@check_engine_state.register
def _check_level_particles(engine: LevelParticles, template: Any) -> None:
    _expect_same_integers(engine.features, template.features)
    _expect_same(engine, template, ("first", "second", "row_start"))
    _expect(bool(np.all(engine.states < engine.features.n_levels[:, None])), "invalid levels")
    n_rows = len(engine.embedded)
    for name in ("neighbors", "degree"):
        _expect(_within(getattr(engine, name), 0, n_rows), f"an invalid {name}")


@check_engine_state.register
def _check_state_table(engine: StateTable, template: Any) -> None:
    _expect_same_integers(engine.cliques, template.cliques)
    _expect_same(engine, template, ("states",))


@check_engine_state.register
def _check_clique_particles(engine: CliqueParticles, template: Any) -> None:
    _expect_same_integers(engine.cliques, template.cliques)
    for states in (engine.states, engine.restart.T):
        within = (states >= 0) & (states < template.cliques.n_states[:, None])
        _expect(bool(np.all(within)), "invalid levels")


def _expect_same_integers(value: Any, template: Any) -> None:
    """Check the integers of a named tuple of arrays, by which compiled code finds its way."""
    integers = [
        name for name, part in template._asdict().items() if np.issubdtype(part.dtype, np.integer)
    ]
    _expect_same(value, template, integers)


def _expect_same(value: Any, template: Any, names: Iterable[str]) -> None:
    for name in names:
        same = np.array_equal(getattr(value, name), getattr(template, name))
        _expect(same, f"an invalid {name}")


def template_of(problem: Problem, settings: Settings) -> Any:
    """Return a cheap chain at its start, of which only the form matters."""
    rng = np.random.default_rng(0)
    if settings.scheme != "collapsed":
        return start_chain(problem, settings, rng)
    if settings.engine == "exact":
        return exact_chain.start(problem, settings, rng, "empty")
    template = pseudo_chain.start(problem, settings, rng, "empty")
    if settings.engine == "pseudo":
        return template
    weighted = problem.model.n_nodes <= FULL_NODES
    engine, block = parts = particle_parts(problem.model, problem, GROUPS, 1, weighted, rng)
    plan = template.plan._replace(blocks=np.zeros((0, parts.block_nodes), np.int64))
    return template._replace(engine=engine, block=block, plan=plan)


def _plan_template(chain: CollapsedChain, template: CollapsedChain) -> Any:
    blocks, moves = chain.plan.blocks, chain.plan.moves
    for array in (blocks, moves):
        _expect(isinstance(array, np.ndarray) and array.ndim == 2, "an invalid plan")
    n_nodes, k = template.problem.model.n_nodes, template.plan.blocks.shape[1]
    return template.plan._replace(
        blocks=np.zeros((blocks.shape[0], k), np.int64),
        together=np.zeros((0 if blocks.size else n_nodes, k), np.int64),
        moves=np.zeros((moves.shape[0], MOST_EDGES), np.int64),
        move_start=np.zeros(blocks.shape[0] + 1, np.int64),
    )


def _stats_template(chain: CollapsedChain, template: CollapsedChain) -> InclusionStats:
    flips = chain.inclusion_stats.flips
    _expect(isinstance(flips, np.ndarray) and flips.ndim == 2, "invalid flips")
    return new_inclusion_stats(template.inclusion_stats.evidence.sums.shape[1], flips.shape[0])


def _pilot_template(chain: CollapsedChain, model: Model) -> SparseState | None:
    if chain.pilot is None:
        return None
    edges: Any = getattr(chain.pilot, "edges", None)
    _expect(isinstance(edges, np.ndarray) and edges.ndim == 1, "an invalid pilot state")
    _expect(_within(edges, 0, model.n_interactions), "an invalid pilot state")
    n_parameters, n_scales = parameters_of(edges, model).size, model.n_scales
    return SparseState(
        np.zeros(model.n_biases), np.zeros(edges.size, np.int32), np.zeros(n_parameters),
        np.zeros(1 + n_scales),
    )  # fmt: skip


def _check_moves(chain: CollapsedChain) -> None:
    """Check that scheduled and recorded flips refer to existing nodes, edges and blocks."""
    plan, inclusion_stats = chain.plan, chain.inclusion_stats
    n_blocks, k = plan.blocks.shape
    n_places = k * (k - 1) // 2
    together = np.sort(plan.together, axis=1)
    n_nodes = chain.problem.model.n_nodes
    good = _within(together, 0, n_nodes) and bool(np.all(np.diff(together) > 0))
    own = np.array_equal(plan.together[:, 0], np.arange(len(together)))
    _expect(good and own, "invalid groups of nodes")
    _expect(_within(plan.moves, -1, n_places), "an invalid flip")
    _expect(_within(plan.moves[:, :1], 0, n_places), "an empty flip")
    start = plan.move_start
    whole = start[0] == 0 and start[-1] == len(plan.moves) and bool(np.all(np.diff(start) >= 0))
    _expect(whole, "invalid starts of flips")
    _expect(_within(inclusion_stats.flips[:, 0], 0, max(n_blocks, 1)), "flips of an invalid block")
    _expect(_within(inclusion_stats.flips[:, 1:], -1, n_places), "flips of invalid edges")
    _expect(int(inclusion_stats.n_flips[0]) >= 0, "an invalid number of flips")
    number, n_sweeps, full = inclusion_stats.evidence.batch.tolist()
    _expect(0 <= number < N_BATCHES and 0 <= n_sweeps < full, "an invalid batch")


def _particles_template(chain: CollapsedChain, template: CollapsedChain) -> Any:
    """Return an engine with as many particles as the chain has."""
    engine, settings = chain.engine, template.settings
    _expect(type(engine) is type(template.engine), "another engine")
    _expect(getattr(engine.states, "ndim", 0) == 2, "invalid particles")
    n = engine.states.shape[1]
    most = max(MOST_PARTICLES, whole_groups(settings.n_particles))
    _expect(0 < n <= most and n % GROUPS == 0, f"{n} particles")
    sized = more_particles(template.engine, n, np.random.default_rng(0))
    if hasattr(engine, "clusters"):
        n_nodes = template.problem.model.n_nodes
        sized = sized._replace(clusters=_checked_clusters(engine.clusters, n_nodes))
    return sized


def _checked_clusters(clusters: Any, n_nodes: int) -> Clusters:
    """Return clusters after checking that their nodes and patterns exist."""
    _expect(isinstance(clusters, Clusters), "invalid clusters")
    for array in clusters:
        good = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == np.int64
        _expect(good, "invalid clusters")
    sizes, counts = np.diff(clusters.node_start), np.diff(clusters.pattern_start)
    for start, numbers in ((clusters.node_start, clusters.nodes),
                           (clusters.pattern_start, clusters.patterns)):  # fmt: skip
        whole = start.size > 0 and start[0] == 0 and start[-1] == numbers.size
        _expect(whole and bool(np.all(np.diff(start) > 0)), "invalid clusters")
    _expect(sizes.size == counts.size and _within(sizes, 0, MOST_CLUSTERED + 1), "invalid clusters")
    _expect(_within(clusters.nodes, 0, n_nodes), "clusters of invalid nodes")
    beyond = np.repeat(1 << sizes, counts)
    _expect(
        bool(np.all((clusters.patterns >= 0) & (clusters.patterns < beyond))), "invalid patterns"
    )
    checked: Clusters = clusters
    return checked


def _check_state(state: ChainState, n_edges: int) -> None:
    """Check that the list of present interactions agrees with their indicators."""
    n = int(state.n_members[0])
    _expect(0 <= n <= n_edges, f"{n} interactions present")
    _expect(_within(state.members, 0, n_edges), "invalid interactions")
    listed = state.members[:n]
    _expect(np.array_equal(np.sort(listed), np.flatnonzero(state.present)), "an inconsistent list")


def _check_form(value: Any, template: Any, where: str) -> None:
    """Check types, shapes and dtypes recursively."""
    _expect(type(value) is type(template), f"{type(value).__name__} in {where}")
    if isinstance(value, np.ndarray):
        same = value.shape == template.shape and value.dtype == template.dtype
        _expect(same, f"an array of shape {value.shape} and type {value.dtype} in {where}")
    elif isinstance(value, tuple):
        _expect(len(value) == len(template), f"another number of parts in {where}")
        for name, part, other in zip(
            getattr(value, "_fields", range(len(value))), value, template, strict=True
        ):
            _check_form(part, other, f"{where}, {name}")


def _within(numbers: Any, low: int, high: int) -> bool:
    return numbers.size == 0 or bool(numbers.min() >= low and numbers.max() < high)


def _expect(holds: bool, found: str) -> None:
    if not holds:
        raise ValueError(found)
