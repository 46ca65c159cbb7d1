"""Validation of a state that was read from a file, before compiled code uses it.

Compiled code does not check bounds: an invalid index would read other memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slabfield.adaptation.block_schedule import FULL_NODES
from slabfield.adaptation.particle_tuning import MOST_PARTICLES, whole_groups
from slabfield.adaptation.pattern_clusters import MOST_NODES as MOST_CLUSTERED
from slabfield.adaptation.starts import SparseState
from slabfield.chains import exact_chain, pseudo_chain
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.paper_chain import start_chain
from slabfield.configuration import Settings
from slabfield.kernels.block_particles import GROUPS
from slabfield.kernels.pattern_gibbs import Clusters
from slabfield.likelihood.blocks import ParticleBlocks, particle_blocks
from slabfield.moves.chain_state import ChainState
from slabfield.moves.edge_gibbs import MOST_EDGES, InclusionStats, new_block, new_inclusion_stats
from slabfield.moves.evidence_sums import N_BATCHES
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
            pilot=_pilot_template(chain, n_nodes),
        )
        if settings.engine == "particles":
            template = template._replace(engine=_particles_template(chain, problem, settings))
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
    _check_state(chain.state, n_edges)
    for name, bound in (("first", n_nodes), ("second", n_nodes), ("neighbors", n_nodes),
                        ("degree", n_nodes)):  # fmt: skip
        _expect(_within(getattr(chain.engine, name, np.zeros(0)), 0, bound), f"an invalid {name}")
    if collapsed and settings.engine == "exact":
        order = np.sort(chain.engine.surrogate.order)
        _expect(np.array_equal(order, np.arange(n_edges)), "an invalid order of edges")
    if settings.engine == "pseudo":
        for name in ("bounds", "times", "empty", "counted"):
            same = np.array_equal(getattr(chain.engine, name), getattr(template.engine, name))
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
    block = new_block(template.block.data_mean, template.block.nodes.size, GROUPS)
    return template._replace(block=block)


def _plan_template(chain: CollapsedChain, template: CollapsedChain) -> Any:
    blocks, moves = chain.plan.blocks, chain.plan.moves
    for array in (blocks, moves):
        _expect(isinstance(array, np.ndarray) and array.ndim == 2, "an invalid plan")
    n_nodes, k = template.state.bias.size, template.plan.blocks.shape[1]
    return template.plan._replace(
        blocks=np.zeros((blocks.shape[0], k), np.int64),
        together=np.zeros((0 if blocks.size else n_nodes, k), np.int64),
        moves=np.zeros((moves.shape[0], MOST_EDGES), np.int64),
        move_start=np.zeros(blocks.shape[0] + 1, np.int64),
    )


def _stats_template(chain: CollapsedChain, template: CollapsedChain) -> InclusionStats:
    flips = chain.inclusion_stats.flips
    _expect(isinstance(flips, np.ndarray) and flips.ndim == 2, "invalid flips")
    return new_inclusion_stats(template.inclusion_stats.probability_sum.size, flips.shape[0])


def _pilot_template(chain: CollapsedChain, n_nodes: int) -> SparseState | None:
    if chain.pilot is None:
        return None
    edges = getattr(chain.pilot, "edges", None)
    _expect(isinstance(edges, np.ndarray) and edges.ndim == 1, "an invalid pilot state")
    n = chain.pilot.edges.size
    return SparseState(np.zeros(n_nodes), np.zeros(n, np.int32), np.zeros(n), np.zeros(2))


def _check_moves(chain: CollapsedChain) -> None:
    """Check that scheduled and recorded flips refer to existing nodes, edges and blocks."""
    plan, inclusion_stats = chain.plan, chain.inclusion_stats
    n_blocks, k = plan.blocks.shape
    n_places = k * (k - 1) // 2
    together = np.sort(plan.together, axis=1)
    good = _within(together, 0, chain.state.bias.size) and bool(np.all(np.diff(together) > 0))
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


def _particles_template(
    chain: CollapsedChain, problem: Problem, settings: Settings
) -> ParticleBlocks:
    engine, model = chain.engine, problem.model
    _expect(type(engine) is ParticleBlocks and engine.states.ndim == 2, "another engine")
    n, k = engine.states.shape[1], chain.block.nodes.size
    most = max(MOST_PARTICLES, whole_groups(settings.n_particles))
    _expect(0 < n <= most and n % GROUPS == 0, f"{n} particles")
    weighted = model.n_nodes <= FULL_NODES
    template = particle_blocks(model, n, 1, k, weighted, np.random.default_rng(0))
    clusters = _checked_clusters(engine.clusters, model.n_nodes)
    return template._replace(clusters=clusters)


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
